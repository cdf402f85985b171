//! The `nowcast` program: one subcommand per room of the house, no logic of its own.

#[cfg(feature = "lab")]
mod bots;
#[cfg(feature = "lab")]
mod lab;
#[cfg(feature = "lab")]
mod show;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// A real-time engine for shared virtual worlds: newest state first, events never lost.
#[derive(Parser)]
#[command(name = "nowcast", version, about, propagate_version = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    #[cfg(feature = "lab")]
    Bots(bots::Args),
    /// Measure Nowcast, and what people use today beside it, on this machine
    #[cfg(feature = "lab")]
    Lab(lab::Args),
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        #[cfg(feature = "lab")]
        Command::Bots(args) => bots::run(&args),
        #[cfg(feature = "lab")]
        Command::Lab(args) => lab::run(args),
    };
    outcome.unwrap_or_else(|error: anyhow::Error| {
        eprintln!("error: {error:#}");
        ExitCode::FAILURE
    })
}
