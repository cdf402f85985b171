//! `cargo xtask lab store`

use std::process::ExitCode;

use nowcast_lab::crash::store::{self, Plan};

use super::show::Show;
use crate::output;

/// Measure the cost of storing worlds: ticks, bytes of the journal, and the time to restore a world
///
/// Measures ticks without storage, with storage, and with a disk whose syncs take 20 ms longer. Measures the journal of a world
/// at rest, and of a world full of people. Measures the start of a server that replays one minute of the journal. Takes about
/// six minutes and two cores.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// A quick run, in about half a minute
    #[arg(long)]
    quick: bool,

    /// Bodies of the world [default: 10000; with --quick: 1000]
    #[arg(long)]
    bodies: Option<usize>,

    /// Number of people who continually walk and turn [default: 200; with --quick: 50]
    #[arg(long)]
    players: Option<u32>,

    /// Length in seconds of each measurement, and of the journal that is replayed at a start [default: 60; with --quick: 4]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=3_600))]
    seconds: Option<u64>,

    /// Seed for the turns
    #[arg(long, default_value_t = 1)]
    seed: u64,

    #[command(flatten)]
    show: Show,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    args.show.check("store")?;
    let usual = if args.quick { Plan::QUICK } else { Plan::FULL };
    let plan = Plan {
        bodies: args.bodies.unwrap_or(usual.bodies),
        players: args.players.unwrap_or(usual.players),
        seconds: args.seconds.unwrap_or(usual.seconds),
        seed: args.seed,
    };
    let report = store::run(&plan, super::command_line(), &mut |step| output::note(step))?;
    args.show.show(&report, "store")
}
