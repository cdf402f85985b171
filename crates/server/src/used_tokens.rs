//! Records used single-use tokens, so that they stay invalid after a restart of the server.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use nowcast::admission::{AdmissionRefusal, SingleUse, UsedToken, UsedTokenStore};
use nowcast_room::{ClientKey, PersistenceThread, hex, now_ms, read_hex};
use nowcast_store::{Mark, MarkKind};
use tokio::sync::oneshot;
use tokio::time::timeout;
use tracing::warn;

/// Seconds by which the clocks of the issuer and the server may differ, with a margin.
const SKEW_S: u64 = 10;

/// Maximum time that a joining client waits for the disk.
const KEPT_PATIENCE: Duration = Duration::from_secs(2);

/// Stores the ids of used tokens as marks in the store.
pub(crate) struct UsedTokenMarks(pub(crate) Arc<PersistenceThread>);

impl UsedTokenStore for UsedTokenMarks {
    fn used(&self) -> Vec<UsedToken> {
        let Some(store) = self.0.store() else { return Vec::new() };
        let marks = store.marks(MarkKind::TokenUsed, now_ms()).unwrap_or_else(|error| {
            warn!(%error, "the used tokens cannot be read: each is valid once more");
            Vec::new()
        });
        let used = marks.into_iter().filter_map(|mark| {
            let exp = (mark.expires_ms / 1_000).saturating_sub(SKEW_S);
            Some(UsedToken { id: String::from_utf8(mark.key).ok()?, exp, holder: read_hex(&mark.note) })
        });
        used.collect()
    }

    fn keep(&self, token: &UsedToken, then: Box<dyn FnOnce() + Send>) {
        let Some(store) = self.0.store() else { return then() };
        let expires_ms = token.exp.saturating_add(SKEW_S).saturating_mul(1_000).min(i64::MAX as u64);
        let note = token.holder.map(|holder| hex(&holder)).unwrap_or_default();
        let mark = Mark { kind: MarkKind::TokenUsed, key: token.id.as_bytes().to_vec(), note, expires_ms };
        // If the use cannot be stored, the store counts the failure.
        let _ = store.mark(mark, now_ms(), Box::new(|kept| kept.map_or_else(|_| (), |_| then())));
    }
}

/// Completes when the use of a token is stored.
pub(crate) struct TokenKept(oneshot::Receiver<()>);

impl TokenKept {
    /// Waits until the use is stored, but only for a limited time. The store counts a failure.
    pub(crate) async fn wait(self) {
        let _ = timeout(KEPT_PATIENCE, self.0).await;
    }
}

/// Binds a single-use token to the client that joined with it, so that this client can rejoin with it.
///
/// # Errors
/// Fails if another client already joined with the token.
pub(crate) fn hold_token(token: &SingleUse, key: Option<ClientKey>) -> Result<TokenKept, AdmissionRefusal> {
    let (tell, kept) = oneshot::channel();
    // The receiver was dropped if the client has left.
    token.hold(key.map(|key| key.0), Box::new(move || _ = tell.send(())))?;
    Ok(TokenKept(kept))
}

impl fmt::Debug for UsedTokenMarks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UsedTokenMarks").finish_non_exhaustive()
    }
}
