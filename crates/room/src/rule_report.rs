//! Reports on versions of a world's rules: whether a version runs, or why not.

use nowcast_world_protocol::session::Outcome;

/// Whether a version of a world's rules runs, or why not, for editors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleReport {
    /// The outcome.
    pub outcome: Outcome,
    /// The number of the version. Versions that were tried in the room are counted from 1.
    pub version: u64,
    /// A text with file, line and cause. Empty if there is nothing to report.
    pub text: String,
}
