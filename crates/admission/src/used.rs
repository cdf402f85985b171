//! The ids of used single-use tokens.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use super::token::SKEW;

/// Identifies the client that began a session with a single-use token. The application recognises the client by this value on
/// later connections.
pub type Holder = [u8; 16];

/// A used single-use token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsedToken {
    /// The token's `jti`.
    pub id: String,
    /// The token's expiry, in seconds since 1970.
    pub exp: u64,
    /// The only client that may use the token again; `None` if the application named none.
    pub holder: Option<Holder>,
}

/// Stores used single-use tokens until shortly after they expire.
pub trait UsedTokenStore: Send + Sync + std::fmt::Debug {
    /// Returns the stored tokens.
    fn used(&self) -> Vec<UsedToken>;

    /// Stores a used token or its holder. This call should not wait for a disk. `then` is called when the token is stored, and
    /// dropped without a call if it cannot be stored.
    fn keep(&self, token: &UsedToken, then: Box<dyn FnOnce() + Send>);
}

/// Stores ids until their tokens have expired. A full table refuses further ids and forgets none.
#[derive(Debug)]
pub(super) struct UsedTokens {
    ids_max: usize,
    ids: HashMap<Arc<str>, Option<Holder>>,
    by_expiry: BTreeSet<(u64, Arc<str>)>,
}

/// The outcome of an attempt to use an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// The first use.
    First,
    /// The id was used before. If it has a holder, the holder may use it again.
    Again {
        /// Whether the id has a holder.
        is_held: bool,
    },
    /// The table is full.
    Full,
}

impl UsedTokens {
    pub(super) fn new(ids_max: usize) -> UsedTokens {
        UsedTokens { ids_max, ids: HashMap::new(), by_expiry: BTreeSet::new() }
    }

    /// Whether an id is used and has no holder.
    pub(super) fn is_spent(&self, id: &str) -> bool {
        self.ids.get(id).is_some_and(Option::is_none)
    }

    /// Uses an id whose token expires at `exp`, in seconds since 1970.
    pub(super) fn use_id(&mut self, id: &str, exp: u64, now: Duration) -> Use {
        self.forget(now);
        if let Some(holder) = self.ids.get(id) {
            return Use::Again { is_held: holder.is_some() };
        }
        if self.ids.len() >= self.ids_max {
            return Use::Full;
        }
        let id: Arc<str> = id.into();
        self.ids.insert(Arc::clone(&id), None);
        self.by_expiry.insert((exp, id));
        Use::First
    }

    /// Sets the holder of a used id. Returns false if another client holds it.
    pub(super) fn hold(&mut self, id: &str, holder: Option<Holder>) -> bool {
        match self.ids.get_mut(id) {
            // The token has expired in the meantime, so no client can use it.
            None => true,
            Some(known @ None) => {
                *known = holder;
                true
            }
            Some(known) => *known == holder,
        }
    }

    /// Removes the ids of expired tokens.
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

    const AGAIN: Use = Use::Again { is_held: false };
    const NOW: Duration = Duration::from_secs(1_000);

    #[test]
    fn an_id_is_good_once_until_its_token_has_expired() {
        let mut used = UsedTokens::new(8);
        assert_eq!(used.use_id("a", 1_010, NOW), Use::First);
        assert_eq!(used.use_id("a", 1_010, NOW), AGAIN);
        assert_eq!(used.use_id("a", 2_000, NOW), AGAIN, "another token with the same id");
        let late = Duration::from_secs(1_010) + SKEW;
        used.forget(late);
        assert!(!used.is_spent("a"), "by then its token is refused anyway");
    }

    #[test]
    fn a_full_table_refuses_ids_and_forgets_none() {
        let mut used = UsedTokens::new(2);
        assert_eq!(used.use_id("a", 1_001, NOW), Use::First);
        assert_eq!(used.use_id("b", 9_000, NOW), Use::First);
        assert_eq!(used.use_id("c", 9_000, NOW), Use::Full);
        assert_eq!(used.use_id("a", 1_001, NOW), AGAIN);
        let later = NOW + Duration::from_secs(60);
        assert_eq!(used.use_id("c", 9_000, later), Use::First, "the first id has expired and made room");
        assert_eq!(used.by_expiry.len(), used.ids.len());
    }

    #[test]
    fn an_id_has_one_holder() {
        let mut used = UsedTokens::new(8);
        used.use_id("a", 1_010, NOW);
        assert!(used.is_spent("a") && used.hold("a", None) && used.is_spent("a"), "no client holds it yet");
        assert!(used.hold("a", Some([1; 16])) && !used.is_spent("a"));
        assert!(used.hold("a", Some([1; 16])), "the holder comes back");
        assert!(!used.hold("a", Some([2; 16])) && !used.hold("a", None));
        assert_eq!(used.use_id("a", 1_010, NOW), Use::Again { is_held: true });
        assert!(used.hold("b", Some([2; 16])) && !used.is_spent("b"), "no client has used this token");
    }
}
