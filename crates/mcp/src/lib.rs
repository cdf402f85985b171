//! The tools of `nowcast mcp`. An assistant that speaks the [Model Context Protocol] reads and edits the worlds of a running
//! server through them: rooms, entities, files, tests, and earlier steps.
//!
//! The tools call the server's studio interface (`docs/reference/studio.md`) over HTTP, with the rights of the token that the
//! user gives. They read no file and write no file of a world themselves.
//!
//! ```no_run
//! # async fn example() -> Result<(), nowcast_mcp::Error> {
//! use nowcast_mcp::{Studio, serve};
//!
//! let studio = Studio::new("http://127.0.0.1:7777", None)?;
//! serve(studio, "/usr/bin/nowcast".into()).await
//! # }
//! ```
//!
//! [Model Context Protocol]: https://modelcontextprotocol.io

mod arguments;
mod edit;
mod studio;
mod test_run;
mod tools;
mod types;

use std::path::PathBuf;

use rmcp::ServiceExt as _;
use rmcp::transport::stdio;

pub use studio::{Studio, StudioError};
pub use tools::Tools;

/// The reason why the tools cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The address is not that of a server.
    #[error("'{address}' is not an address of a server: {reason}; pass HOST:PORT or http://HOST:PORT")]
    Address {
        /// The address as given.
        address: String,
        /// The reason.
        reason: String,
    },
    /// The client did not complete the handshake of the protocol.
    #[error("the client did not complete the handshake of the Model Context Protocol: {0}")]
    Handshake(String),
    /// The task that serves the client ended by a panic.
    #[error("the service ended: {0}")]
    Ended(#[from] tokio::task::JoinError),
}

/// Serves the tools to one client over standard input and output, until the client closes its end. `program` is the path of the
/// `nowcast` program, which runs the tests of worlds.
///
/// # Errors
/// [`Error::Handshake`] if the client does not speak the protocol.
pub async fn serve(studio: Studio, program: PathBuf) -> Result<(), Error> {
    let service = Tools::new(studio, program)
        .serve(stdio())
        .await
        .map_err(|error| Error::Handshake(error.to_string()))?;
    service.waiting().await?;
    Ok(())
}
