//! `lab crash` measures losses after a power cut, and after a kill of the server.
//!
//! `power` runs a store in this process over a disk that records which data was synced. It restores the disk as a power cut would
//! leave it. `kills` kills the real program with real clients, at random moments and at named steps of the store's writing. These
//! steps exist only in a server that was built with the lab (`nowcast_store::FailPoint`). Each client has an account, whose saved
//! data counts the same actions as the state of the world.

mod findings;
mod kills;
pub(crate) mod ledger;
mod power;
pub(crate) mod process;
pub mod store;
mod witness;

use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use nowcast_store::StoreError;
use thiserror::Error;

use crate::report::Report;
pub use kills::steps;
pub use nowcast_store::FailPoint;
pub use power::{PowerError, Survived};

/// The reason why there is no report.
#[derive(Debug, Error)]
pub enum CrashError {
    /// A guarantee of the store is broken.
    #[error(transparent)]
    Power(#[from] PowerError),
    /// The server failed in another way. Its figures are not valid.
    #[error("the server: {0}")]
    Server(String),
    /// The data that the server left cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The system failed.
    #[error("the trial: {0}")]
    Io(io::Error),
}

/// The options of a trial.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The `nowcast` program.
    pub program: PathBuf,
    /// Number of kills.
    pub kills: usize,
    /// Number of power cuts.
    pub cuts: usize,
    /// Number of clients, at least 1.
    pub clients: u8,
    /// The steps of the store's writing at which the server is killed. If the list is empty, the kills go through all steps, and
    /// every second kill is at a random moment.
    pub steps: Vec<FailPoint>,
    /// Seed of the kills and of the play.
    pub seed: u64,
}

impl Plan {
    /// Number of kills in the full trial.
    pub const KILLS: usize = 100;
    /// Number of power cuts in the full trial.
    pub const CUTS: usize = 1_000;
    /// Number of kills in a quick trial.
    pub const KILLS_QUICK: usize = 5;
    /// Number of power cuts in a quick trial.
    pub const CUTS_QUICK: usize = 100;
    /// Number of clients. Half of them use WebTransport, and half use WebSocket.
    pub const CLIENTS: u8 = 8;
}

/// The findings of a trial.
#[derive(Debug)]
pub struct Outcome {
    /// The figures.
    pub report: Report,
    /// Whether required data was lost, doubled or damaged.
    pub is_broken: bool,
}

/// Cuts the power, then kills servers.
///
/// # Errors
/// If a cut breaks a guarantee of the store, if the server does not restart, or if the trial cannot be prepared.
pub fn run(plan: &Plan, command: String, progress: &mut dyn FnMut(&str)) -> Result<Outcome, CrashError> {
    let power = match plan.cuts {
        0 => None,
        cuts => Some(power::run(cuts, plan.seed, progress)?),
    };
    let kills = match plan.kills {
        0 => None,
        _ => Some(kills::run(plan, progress)?),
    };
    let is_broken = kills.as_ref().is_some_and(|kills| {
        let (acts, saved) = (kills.acts, kills.saved);
        acts.lost + acts.doubled + saved.lost + saved.doubled > 0 || !kills.damage.is_empty()
    });
    Ok(Outcome { report: findings::report(plan, command, power.as_ref(), kills), is_broken })
}

/// A temporary folder that is removed after the trial.
pub(crate) struct TrialFolder {
    pub(crate) path: PathBuf,
}

impl TrialFolder {
    pub(crate) fn new(what: &str) -> io::Result<TrialFolder> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("nowcast-{what}-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path)?;
        Ok(TrialFolder { path })
    }
}

impl Drop for TrialFolder {
    fn drop(&mut self) {
        // If the folder cannot be removed, it stays among the system's temporary files.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}
