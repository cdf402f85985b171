//! `cargo xtask lab studio`

use std::process::ExitCode;
use std::time::Duration;

use nowcast_lab::load::{Plan, StudioPlan, run_studio};
use nowcast_lab::program;

use super::show::Show;
use crate::output;

/// Measure the cost of the studio for a server
///
/// Runs `nowcast serve` on one core with a room of many things, and fills it with clients from another core. Measures processor
/// time, memory and ticks with the studio closed, and with each of its tabs open. Then opens an earlier step of a stored world, and
/// measures the time of the answer. Takes about six minutes. Compare figures only within one run on an otherwise idle machine.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Number of clients
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=4_000))]
    clients: u32,

    /// Number of things on the ground
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(0..=100_000))]
    things: u32,

    /// Number of times that each tab is measured
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,

    /// Seconds of each measurement
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u64).range(1..=600))]
    seconds: u64,

    /// Number of bodies in the stored world
    #[arg(long, default_value_t = 340, value_parser = clap::value_parser!(u32).range(8..=10_000))]
    bodies: u32,

    /// Age of the opened step, in seconds
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=3_600))]
    back: u64,

    /// Seed for the walks
    #[arg(long, default_value_t = 1)]
    seed: u64,

    #[command(flatten)]
    show: Show,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    args.show.check("studio")?;
    let program = program::nowcast()?;
    let load = Plan::quick(program, super::command_line());
    let plan = StudioPlan {
        load: Plan { measured: Duration::from_secs(args.seconds), seed: args.seed, ..load },
        clients: args.clients,
        things: args.things,
        rounds: args.rounds,
        bodies: args.bodies,
        back: Duration::from_secs(args.back),
    };
    let report = run_studio(&plan, &mut |step| output::note(step))?;
    args.show.show(&report, "studio")
}
