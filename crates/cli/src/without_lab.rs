//! Replaces the instruments in a program that was built without them.

use std::process::ExitCode;

use anyhow::bail;

/// Any further arguments. They do not change the answer.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    _rest: Vec<String>,
}

pub(crate) fn run(_: &Args) -> anyhow::Result<ExitCode> {
    bail!(
        "this program was built without its instruments; on Linux, `cargo xtask build` builds one that has them, at \
         target/release/nowcast"
    )
}
