//! `nowcast names`

mod list;
mod serve;

use std::process::ExitCode;

/// List service names, or serve names to other machines
///
/// Without a host, lists the names that this user's programs advertise on this machine, and those on this machine's name
/// server, if one runs. With a host, lists the names on the name server there.
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<Command>,

    #[command(flatten)]
    list: list::Args,
}

#[derive(clap::Subcommand)]
enum Command {
    List(list::Args),
    Serve(serve::Args),
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    match &args.command {
        None => list::run(&args.list),
        Some(Command::List(args)) => list::run(args),
        Some(Command::Serve(args)) => serve::run(args),
    }
}
