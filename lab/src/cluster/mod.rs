//! `lab cluster` causes faults in clusters, and checks the promises of `docs/reference/cluster.md`.
//!
//! - `lives` runs the core of `crates/cluster` in virtual time, on the models of `nowcast_sim`.
//! - `faults` runs real servers, nats-servers and clients, and kills, stops and separates them.
//! - `moves` measures how long people notice the move of a room between real servers.

mod faults;
mod lives;
mod moves;

use crate::report::Report;

pub use faults::{Event, Fault, Faults, FaultsError, Script, ScriptError};
pub use lives::Lives;
pub use moves::{Moves, MovesError};

/// The findings of a run.
#[derive(Debug)]
pub struct Outcome {
    /// The figures.
    pub report: Report,
    /// The first broken promise, with the seed and the shortest script that was found.
    pub failure: Option<String>,
}

/// Returns nats-server, and builds it first below a folder if it was not built yet (`nowcast_dev_nats::install`).
///
/// # Errors
/// Fails if there is no Go toolchain, or if the build fails.
pub fn install_nats(folder: &std::path::Path) -> Result<std::path::PathBuf, FaultsError> {
    Ok(nowcast_dev_nats::install(folder)?)
}
