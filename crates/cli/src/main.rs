//! The `nowcast` program: one subcommand per room of the house, no logic of its own.

use clap::{Parser, Subcommand};

/// A real-time engine for shared virtual worlds: newest state first, events never lost.
#[derive(Parser)]
#[command(name = "nowcast", version, about, propagate_version = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {}

fn main() -> anyhow::Result<()> {
    match Cli::parse().command {}
}
