//! What became of a version of a world's rules.

use crate::session::Outcome;

/// What became of a version of a world's rules, as those who may edit are told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RuleReport {
    pub(crate) outcome: Outcome,
    /// Counted from 1 for each version that was tried in the room.
    pub(crate) version: u64,
    /// With file, line and cause; empty where there is nothing to say.
    pub(crate) text: String,
}
