//! `nowcast mcp`

use std::process::ExitCode;

use anyhow::Context as _;
use nowcast_mcp::{Studio, serve};

use crate::reach::runtime;

/// Give an assistant tools for a running server's worlds
///
/// Speaks the Model Context Protocol over standard input and output. An assistant's settings name the command, for example
/// `nowcast mcp 127.0.0.1:7777`. The assistant can then list rooms and entities, read and edit rules, run tests, and go back in
/// time. A server on the same machine needs no token if anyone may join. Any other server needs a token with the role
/// inspector, or editor for changes. Every change is in the server's audit log.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The server: HOST:PORT or http://HOST:PORT
    #[arg(value_name = "URL", default_value = "127.0.0.1:7777")]
    server: String,

    /// A token with the role inspector or editor [default: the environment variable NOWCAST_TOKEN]
    #[arg(long)]
    token: Option<String>,
}

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let token = args.token.or_else(|| std::env::var("NOWCAST_TOKEN").ok());
    let studio = Studio::new(&args.server, token)?;
    let program = std::env::current_exe().context("cannot find the path of this program")?;
    runtime()?.block_on(serve(studio, program))?;
    Ok(ExitCode::SUCCESS)
}
