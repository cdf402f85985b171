//! `cargo xtask lab script`

use std::process::ExitCode;

use nowcast_lab::script::{self, Plan};

use super::show::Show;
use crate::output;

/// Measure rules in Luau: their cost compared with Rust, runaway scripts, edits, and tests
///
/// Compares a thousand entities with ten lines of Luau each to the same rules in Rust. Runs scripts that never end or take too
/// much memory (loops, patterns, coroutines, deep calls, spawns) in one room while four other rooms step. Measures the time
/// from saving a text to the first step with it, and the speed of `nowcast test` in football. Takes about three minutes and two
/// cores.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// A quick run, in about twenty seconds
    #[arg(long)]
    quick: bool,

    /// Number of measurements of each runaway script
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=100))]
    rounds: Option<u16>,

    /// The first seed of the worlds
    #[arg(long, default_value_t = 1)]
    seed: u64,

    #[command(flatten)]
    show: Show,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    args.show.check("script")?;
    let plan = if args.quick { Plan::QUICK } else { Plan::FULL };
    let rounds = args.rounds.map_or(plan.rounds, usize::from);
    let plan = Plan { rounds, seed: args.seed, ..plan };
    let report = script::run(&plan, super::command_line(), &mut |step| output::note(step))?;
    args.show.show(&report, "script")
}
