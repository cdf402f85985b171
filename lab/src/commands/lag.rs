//! `cargo xtask lab lag`

use std::process::ExitCode;

use clap::ValueEnum;
use nowcast_lab::lag::{self, remote};
use nowcast_lab::trial::Progress;

use super::links;
use super::show::Show;
use crate::output;

/// Repeat the paper's experiment: the delay of the last of 1,000 messages to a busy receiver
///
/// "Updatable queues" (figure 8): the sender sends all messages at once. The receiver repeatedly reads up to ten messages and
/// then works for 0, 33, 50 or 100 ms. A queue in which the newest value replaces older ones has no delay. Takes about half a
/// minute on this machine, and some minutes between hosts.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Between two processes on this machine, or between two emulated hosts
    #[arg(long = "where", value_enum, default_value_t = Place::Local)]
    place: Place,

    /// Number of runs of each combination
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=100))]
    runs: u16,

    /// Seed for the moment of the receiver's work at which the sender starts (local), and for the loss and delay of packets
    /// (remote)
    #[arg(long, default_value_t = 1)]
    seed: u64,

    #[command(flatten)]
    show: Show,
}

#[derive(Clone, Copy, ValueEnum)]
enum Place {
    /// Figures 8a and 8c
    Local,
    /// Figures 8b and 8d, over 10 Mbit/s
    Remote,
}

const PAGE_LOCAL: &str = "lag";
const PAGE_REMOTE: &str = "lag-remote";
/// Number of simultaneous runs, each over its own link. The readers sleep most of the time.
const AT_ONCE: usize = 6;

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    match args.place {
        Place::Local => {
            args.show.check(PAGE_LOCAL)?;
            let plan = lag::Plan { runs: usize::from(args.runs), seed: args.seed };
            let report = lag::run(&plan, &mut |step| output::note(step))?;
            args.show.show(&report, PAGE_LOCAL)
        }
        Place::Remote => {
            args.show.check(PAGE_REMOTE)?;
            links::begin()?;
            let plan = remote::Plan {
                runs: args.runs.into(),
                seed: args.seed,
                at_once: AT_ONCE,
                peers: Vec::new(),
                command: super::command_line(),
            };
            let progress = Progress::shown(plan.seconds());
            let report = plan.run(&progress);
            links::finish(&progress);
            args.show.show(&report?, PAGE_REMOTE)
        }
    }
}
