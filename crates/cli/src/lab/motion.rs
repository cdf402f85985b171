//! `nowcast lab motion`: what players see of themselves and of others.

use std::process::ExitCode;

use nowcast_lab::motion::{ALL, FEW, Plan};

use super::links;
use crate::output;
use crate::show::Show;

/// Measure how far off what players see is: of themselves, predicted, and of others, over links that delay and lose
///
/// Runs `nowcast serve worlds/minimal` on one emulated host and the SDK in Node on another. Needs a checkout of Nowcast with its npm
/// packages and the SDK built, Node, and root or user namespaces.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// A first look at three links, in about a minute
    #[arg(long)]
    quick: bool,
    /// Seconds of walking over each link
    #[arg(long, value_parser = clap::value_parser!(u32).range(2..=600))]
    seconds: Option<u32>,
    /// Draws the walks and every packet's fate
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    show: Show,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    args.show.check(Some("lab-motion.html"))?;
    links::begin()?;
    let (conditions, seconds) = if args.quick { (FEW.to_vec(), 10) } else { (ALL.to_vec(), 40) };
    let plan = Plan {
        conditions,
        seconds: args.seconds.unwrap_or(seconds),
        seed: args.seed,
        server: None,
        command: links::command(),
    };
    output::note(format_args!("about {} s", plan.expected_seconds()));
    let report = plan.run(&mut |link| output::note(link))?;
    args.show.show(&report, Some("lab-motion.html"))
}
