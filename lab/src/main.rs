//! `cargo xtask lab …` runs the instruments.

mod commands;
mod output;

use std::process::ExitCode;

fn main() -> ExitCode {
    commands::run().unwrap_or_else(|error| {
        output::note(format_args!("error: {error:#}"));
        ExitCode::FAILURE
    })
}
