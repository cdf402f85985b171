//! The ids of tokens that were good for one entry and have been used.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;
use std::time::Duration;

use super::token::SKEW;

/// Keeps which tokens for one entry are used, for as long as somebody would accept them: until a moment after they expire.
pub trait UsedTokenKeeper: Send + Sync + std::fmt::Debug {
    /// The ids of the tokens that are used, with the seconds since 1970 at which they expire.
    fn used(&self) -> Vec<(String, u64)>;

    /// A token is used. The session that it begins waits for this call, so it should not wait for a disk.
    fn keep(&self, id: &str, exp: u64);
}

/// Remembers ids until their tokens have expired. When it is full it takes no more, rather than forget one.
#[derive(Debug)]
pub(super) struct UsedTokens {
    ids_max: usize,
    ids: HashSet<Arc<str>>,
    by_expiry: BTreeSet<(u64, Arc<str>)>,
}

/// What became of an attempt to use an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// It is used now, for the first time.
    First,
    /// It had been used before.
    Again,
    /// Nothing more can be remembered.
    Full,
}

impl UsedTokens {
    pub(super) fn new(ids_max: usize) -> UsedTokens {
        UsedTokens { ids_max, ids: HashSet::new(), by_expiry: BTreeSet::new() }
    }

    /// Whether an id has been used.
    pub(super) fn contains(&self, id: &str) -> bool {
        self.ids.contains(id)
    }

    /// Uses an id whose token ends at `exp`, in seconds since 1970.
    pub(super) fn use_id(&mut self, id: &str, exp: u64, now: Duration) -> Use {
        self.forget(now);
        if self.ids.contains(id) {
            return Use::Again;
        }
        if self.ids.len() >= self.ids_max {
            return Use::Full;
        }
        let id: Arc<str> = id.into();
        self.ids.insert(Arc::clone(&id));
        self.by_expiry.insert((exp, id));
        Use::First
    }

    /// Forgets the ids whose tokens nobody would accept any longer.
    fn forget(&mut self, now: Duration) {
        while let Some((exp, id)) = self.by_expiry.first() {
            if now.as_secs() < exp.saturating_add(SKEW.as_secs()) {
                break;
            }
            self.ids.remove(id);
            self.by_expiry.pop_first();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::from_secs(1_000);

    #[test]
    fn an_id_is_good_once_until_its_token_has_expired() {
        let mut used = UsedTokens::new(8);
        assert_eq!(used.use_id("a", 1_010, NOW), Use::First);
        assert_eq!(used.use_id("a", 1_010, NOW), Use::Again);
        assert_eq!(used.use_id("a", 2_000, NOW), Use::Again, "another token with the same id");
        let late = Duration::from_secs(1_010) + SKEW;
        used.forget(late);
        assert!(!used.contains("a"), "by then its token is refused anyway");
    }

    #[test]
    fn a_full_memory_refuses_rather_than_forgets() {
        let mut used = UsedTokens::new(2);
        assert_eq!(used.use_id("a", 1_001, NOW), Use::First);
        assert_eq!(used.use_id("b", 9_000, NOW), Use::First);
        assert_eq!(used.use_id("c", 9_000, NOW), Use::Full);
        assert_eq!(used.use_id("a", 1_001, NOW), Use::Again);
        let later = NOW + Duration::from_secs(60);
        assert_eq!(used.use_id("c", 9_000, later), Use::First, "the first has made room");
        assert_eq!(used.by_expiry.len(), used.ids.len());
    }
}
