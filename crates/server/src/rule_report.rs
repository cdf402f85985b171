//! What those who may edit a world hear of its rules.

use crate::session::Outcome;

/// What became of one version of a world's rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RuleReport {
    pub(crate) outcome: Outcome,
    pub(crate) version: u64,
    pub(crate) text: String,
}
