//! Which tokens for one entry are used, so that the next process knows.

use std::fmt;
use std::sync::Arc;

use nowcast::entry::UsedTokenKeeper;
use nowcast_store::{Mark, MarkKind, Store};
use tracing::warn;

use super::{Keeper, now_ms};

/// Seconds by which the clocks of those who make and who read a token may differ, and some more.
const SKEW_S: u64 = 10;

/// Keeps the ids of used tokens as marks of the store.
pub(crate) struct UsedTokenMarks(pub(crate) Arc<Keeper>);

impl UsedTokenKeeper for UsedTokenMarks {
    fn used(&self) -> Vec<(String, u64)> {
        let Some(store) = self.0.store() else { return Vec::new() };
        let marks = store.marks(MarkKind::TokenUsed, now_ms()).unwrap_or_else(|error| {
            warn!(%error, "which tokens for one entry are used is not known: they are good once more");
            Vec::new()
        });
        let used = marks.into_iter().filter_map(|mark| {
            Some((String::from_utf8(mark.key).ok()?, (mark.expires_ms / 1_000).saturating_sub(SKEW_S)))
        });
        used.collect()
    }

    fn keep(&self, id: &str, exp: u64) {
        let Some(store) = self.0.store() else { return };
        let expires_ms = exp.saturating_add(SKEW_S).saturating_mul(1_000).min(i64::MAX as u64);
        let (key, note) = (id.as_bytes().to_vec(), String::new());
        let mark = Mark { kind: MarkKind::TokenUsed, key, note, expires_ms };
        // What cannot be kept is counted by the store.
        let _ = store.mark(mark, now_ms(), Box::new(|_| ()));
    }
}

impl fmt::Debug for UsedTokenMarks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UsedTokenMarks").finish_non_exhaustive()
    }
}
