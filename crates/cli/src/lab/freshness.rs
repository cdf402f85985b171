//! `nowcast lab freshness`: how old what a receiver shows is.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use nowcast_lab::freshness::simulated::Simulated;

/// Measure how old values are when they are shown, and how long events take
///
/// With --simulated: in virtual time, each case beside its target, and the same load first in, first out.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Run in virtual time over simulated links
    #[arg(long, required = true)]
    simulated: bool,
    /// The seed that decides every packet's fate
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Virtual seconds of each case
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(10..=3_600))]
    seconds: u64,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
    /// Also write the report as one HTML page
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let simulated = Simulated { seed: args.seed, duration: Duration::from_secs(args.seconds) };
    let report = simulated.run(|done, runs| {
        eprint!("\r{done} of {runs} runs");
        let _ = std::io::stderr().flush();
    });
    eprintln!();
    if let Some(path) = &args.html {
        std::fs::write(path, report.to_html()).with_context(|| format!("cannot write {}", path.display()))?;
    }
    println!("{}", if args.json { report.to_json() } else { report.to_terminal() });
    Ok(ExitCode::SUCCESS)
}
