//! `nowcast lab lag`

use std::process::ExitCode;

use clap::ValueEnum;
use nowcast_lab::lag::{self, Plan};

use crate::show::Show;

/// Repeat the paper's experiment: how late is the last of 1,000 messages when their receiver is busy?
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Between two processes of this machine
    #[arg(long = "where", value_enum, default_value_t = Place::Local)]
    place: Place,

    /// How often each combination is measured
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=100))]
    runs: u16,

    /// Leave out what is not ours or the kernel's
    #[arg(long)]
    without_peers: bool,

    /// Draws at which moment of the receiver's work the sender begins
    #[arg(long, default_value_t = 1)]
    seed: u64,

    #[command(flatten)]
    show: Show,
}

#[derive(Clone, Copy, ValueEnum)]
enum Place {
    Local,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let Place::Local = args.place;
    let plan = Plan { runs: usize::from(args.runs), peers: !args.without_peers, seed: args.seed };
    let report = lag::run(&plan, &mut |step| eprintln!("{step}"))?;
    args.show.show(&report, Some("lab-lag.html"))
}
