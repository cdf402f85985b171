//! `cargo xtask lab freshness` measures the age of the state that a receiver shows.

use std::io::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use nowcast_lab::freshness::Plan;
use nowcast_lab::freshness::simulated::Simulated;
use nowcast_lab::peers::Peer;
use nowcast_lab::trial::Progress;

use super::links::{self, peers};
use super::show::Show;
use crate::output;

/// Measure the age of shown values, and the latency of events
///
/// The sender puts 100 keys at 60 Hz and ten events a second. The links have delay, loss, jitter, low capacity, a competing bulk
/// transfer, or an outage of two seconds. Two emulated hosts run real kernels and real protocol stacks. Needs root, or
/// unprivileged user namespaces, like `cargo xtask lab link`. With --simulated, only our own session runs, in virtual time, and each
/// result is shown beside its target.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Run in virtual time over simulated links; needs no privileges
    #[arg(long, conflicts_with_all = ["seeds", "through", "links", "at_once"])]
    simulated: bool,
    /// First seed for the loss and delay of packets
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Seconds of each run, after a warm-up
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(10..=3_600))]
    seconds: u64,
    /// Number of runs, each with another seed
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    seeds: u32,
    /// Measure only these peers [default: all that this program has]
    #[arg(long, visible_alias = "peers", value_name = "PEER", value_delimiter = ',', value_parser = peers(&Plan::measured()))]
    through: Vec<Peer>,
    /// Measure only over these links: the round trip in ms and the loss in percent, or the name of a special link
    #[arg(long = "link", value_name = "LINK", value_delimiter = ',', value_parser = clap::builder::PossibleValuesParser::new(Plan::LINKS))]
    links: Vec<String>,
    /// Number of simultaneous runs, each over its own link
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=32))]
    at_once: u8,
    #[command(flatten)]
    show: Show,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    args.show.check("freshness")?;
    if args.simulated {
        return simulated(args);
    }
    links::begin()?;
    let plan = Plan {
        measured: Duration::from_secs(args.seconds),
        seeds: args.seeds,
        seed: args.seed,
        at_once: args.at_once.into(),
        peers: args.through.clone(),
        links: args.links.clone(),
        command: super::command_line(),
    };
    let progress = Progress::shown(plan.seconds());
    let report = plan.run(&progress);
    links::finish(&progress);
    args.show.show(&report?, "freshness")
}

fn simulated(args: &Args) -> anyhow::Result<ExitCode> {
    let simulated = Simulated { seed: args.seed, duration: Duration::from_secs(args.seconds) };
    let report = simulated.run(|done, runs| {
        output::note_part(&format!("\r{done} of {runs} runs"));
        let _ = std::io::stderr().flush();
    });
    output::note("");
    args.show.show(&report, "freshness")
}
