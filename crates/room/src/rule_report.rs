//! Reports on versions of a world's rules: whether a version runs, or why not.

use nowcast_world_protocol::session::Outcome;

/// Whether a version of a world's rules runs, or why not, for editors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleReport {
    /// The outcome.
    pub outcome: Outcome,
    /// The number of the version. Versions that were tried in the room are counted from 1.
    pub version: u64,
    /// A text with file, line and cause, and on further lines the calls that led there. Empty if there is nothing to report.
    pub text: String,
}

impl RuleReport {
    /// Whether both report the same, whichever calls led to it.
    pub(crate) fn is_like(&self, other: &RuleReport) -> bool {
        let facts = |report: &RuleReport| (report.outcome, report.version);
        facts(self) == facts(other) && self.text.lines().next() == other.text.lines().next()
    }
}
