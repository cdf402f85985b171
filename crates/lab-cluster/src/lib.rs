//! `lab cluster` lets the servers of a cluster live through faults, and checks the promises of `docs/CLUSTER.md`.
//!
//! - `lives` runs many lives in virtual time, on the models of `nowcast_sim`.

#![cfg(target_os = "linux")]

mod lives;

use nowcast_lab_report::Report;

pub use lives::Lives;

/// The findings of a run.
#[derive(Debug)]
pub struct Outcome {
    /// The figures.
    pub report: Report,
    /// The first broken promise, with the seed and the shortest script that was found.
    pub failure: Option<String>,
}
