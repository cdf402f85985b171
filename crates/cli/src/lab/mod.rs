//! `nowcast lab …`: instruments.

mod freshness;
mod link;
mod soak;

use std::process::ExitCode;

#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    instrument: Instrument,
}

#[derive(clap::Subcommand)]
enum Instrument {
    Link(link::Args),
    Freshness(freshness::Args),
    Soak(soak::Args),
}

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    match args.instrument {
        Instrument::Link(args) => link::run(&args),
        Instrument::Freshness(args) => freshness::run(&args),
        Instrument::Soak(args) => soak::run(&args),
    }
}
