//! The outcome of a version of a world's rules.

use nowcast_world_protocol::session::Outcome;

/// The outcome of a version of a world's rules, for editors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleReport {
    /// The outcome.
    pub outcome: Outcome,
    /// Counted from 1 for each version that was tried in the room.
    pub version: u64,
    /// With file, line and cause. Empty if there is nothing to report.
    pub text: String,
}
