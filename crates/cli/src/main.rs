//! The `nowcast` program. It has one subcommand for each crate, and no logic of its own.

mod bots;
#[cfg(feature = "cluster")]
mod cluster;
mod generate;
mod host;
mod listen;
#[cfg(feature = "mcp")]
mod mcp;
mod measuring;
mod names;
mod output;
mod ping;
mod play;
mod reach;
mod record;
mod recorder;
mod save;
mod screen;
mod send;
mod serve;
mod token;
mod top;
mod watch;
mod world;
mod world_reader;

use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

#[cfg(all(feature = "mimalloc", unix))]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// A real-time engine for shared virtual worlds: newest state first, events never lost.
#[derive(Parser)]
#[command(name = "nowcast", version, propagate_version = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Serve(Box<serve::Args>),
    Top(top::Args),
    Names(names::Args),
    Listen(listen::Args),
    Ping(ping::Args),
    Bots(bots::Args),
    Watch(watch::Args),
    Record(record::Args),
    Play(play::Args),
    Send(send::Args),
    Token(token::Args),
    Save(save::Args),
    Gen(generate::Args),
    New(world::new::Args),
    Check(world::check::Args),
    Test(world::test::Args),
    World(world::stored::Args),
    #[cfg(feature = "cluster")]
    Cluster(cluster::Args),
    #[cfg(feature = "mcp")]
    Mcp(mcp::Args),
}

fn main() -> ExitCode {
    let parsed = takes_negative_numbers(Cli::command()).try_get_matches();
    let cli = match parsed.and_then(|matches| Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        Err(error) => return explain(&error),
    };
    let outcome = match cli.command {
        Command::Serve(args) => serve::run(*args),
        Command::Top(args) => top::run(&args),
        Command::Names(args) => names::run(&args),
        Command::Listen(args) => listen::run(&args),
        Command::Ping(args) => ping::run(&args),
        Command::Bots(args) => bots::run(&args),
        Command::Watch(args) => watch::run(&args),
        Command::Record(args) => record::run(&args),
        Command::Play(args) => play::run(&args),
        Command::Send(args) => send::run(&args),
        Command::Token(args) => token::run(&args),
        Command::Save(args) => save::run(&args),
        Command::Gen(args) => generate::run(&args),
        Command::New(args) => world::new::run(&args),
        Command::Check(args) => world::check::run(&args),
        Command::Test(args) => world::test::run(&args),
        Command::World(args) => world::stored::run(args),
        #[cfg(feature = "cluster")]
        Command::Cluster(args) => cluster::run(args),
        #[cfg(feature = "mcp")]
        Command::Mcp(args) => mcp::run(args),
    };
    outcome.unwrap_or_else(|error: anyhow::Error| output::fail(&error))
}

/// Lets flags take negative numbers. So `--seed -1` is reported as an invalid seed, and not as an unknown flag.
fn takes_negative_numbers(command: clap::Command) -> clap::Command {
    command.allow_negative_numbers(true).mut_subcommands(takes_negative_numbers)
}

/// Prints help unchanged. Prints a mistake on one line: the fault, a suggestion, and the command that shows more.
fn explain(error: &clap::Error) -> ExitCode {
    if matches!(
        error.kind(),
        ErrorKind::DisplayHelp
            | ErrorKind::DisplayVersion
            | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    ) {
        let code = if error.use_stderr() { ExitCode::from(2) } else { ExitCode::SUCCESS };
        return match error.print() {
            Ok(()) => code,
            Err(lost) => output::fail(&output::OutputLost::from(lost).into()),
        };
    }
    let text = error.render().to_string();
    let lines: Vec<&str> =
        text.lines().map(str::trim).take_while(|line| !line.starts_with("Usage:")).collect();
    // The line that points to the help is added once, at the end of this function.
    let is_said = |line: &&str| !line.is_empty() && !line.starts_with("For more information");
    let said = lines.into_iter().filter(is_said).collect::<Vec<_>>().join("; ");
    let said = said
        .replace(":; ", ": ")
        .replace("invalid digit found in string", "it is not a whole number from 0 on")
        .replace("cannot parse integer from empty string", "it is empty, not a number")
        .replace("number too large to fit in target type", "it is too large")
        .replace("invalid float literal", "it is not a number");
    output::note(format_args!("{said} (see --help)"));
    ExitCode::from(2)
}
