//! `nowcast lab …`: instruments.

mod link;

use std::process::ExitCode;

#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    instrument: Instrument,
}

#[derive(clap::Subcommand)]
enum Instrument {
    Link(link::Args),
}

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    match args.instrument {
        Instrument::Link(args) => link::run(&args),
    }
}
