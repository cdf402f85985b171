//! `cargo xtask lab soak` runs the session at random and checks the laws.

use std::process::ExitCode;
use std::time::Duration;

use nowcast_lab::soak::{self, Soak};

use crate::output;

/// Run many random sessions in virtual time, and check the laws of the queue at both ends
///
/// A seed determines each run: values, events, commands, stalled readers, dead carriers, changing links and hostile packets. If a
/// law is broken, the seed is printed, and the shortest script that still breaks the law.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Number of seeds
    #[arg(long, default_value_t = 1_000)]
    seeds: u64,
    /// The first seed
    #[arg(long, default_value_t = 0)]
    first: u64,
    /// Stop after this many minutes, even if seeds remain
    #[arg(long)]
    minutes: Option<f64>,
    /// Use the session of the TypeScript SDK at one end, alternately at the first and the second (needs a checkout with the SDK
    /// built, and Node)
    #[arg(long)]
    typescript: bool,
    /// Sometimes also kill the process at one end. Only its disk survives, and durable actions must still happen exactly once
    #[arg(long)]
    restarts: bool,
    /// Print the outcome as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let time_max = match args.minutes {
        Some(minutes) => Some(
            Duration::try_from_secs_f64(minutes * 60.0)
                .map_err(|_| anyhow::anyhow!("--minutes {minutes} is not a time"))?,
        ),
        None => None,
    };
    let typescript = if args.typescript { Some(soak::typescript()?) } else { None };
    let soak = Soak { first: args.first, seeds: args.seeds, time_max, typescript, restarts: args.restarts };
    let mut shown = u64::MAX;
    let outcome = soak.run(|done| {
        let percent = done * 100 / args.seeds.max(1);
        if percent != shown {
            shown = percent;
            let bar = "█".repeat(percent as usize / 4);
            output::note_part(&format!("\r{bar:<25} {percent:>3} %  {done} of {} seeds", args.seeds));
        }
    });
    output::note("");
    if args.json {
        output::line(serde_json::to_string_pretty(&outcome)?)?;
    } else {
        output::line(format_args!(
            "{} seeds from {}, {}: {:.1} hours of virtual time in {:.1} s; {} packets, {} messages, {} carriers killed",
            outcome.seeds,
            outcome.first,
            if outcome.typescript { "Rust and TypeScript" } else { "Rust at both ends" },
            outcome.virtual_hours,
            outcome.seconds,
            outcome.packets,
            outcome.messages,
            outcome.carriers_killed
        ))?;
        if args.restarts {
            output::line(format_args!(
                "{} processes killed, {} durable actions",
                outcome.processes_killed, outcome.acts
            ))?;
        }
        match &outcome.failure {
            Some(failure) => output::line(format_args!("BROKEN: {failure}"))?,
            None => output::line("no law was broken")?,
        }
    }
    Ok(if outcome.failure.is_some() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
