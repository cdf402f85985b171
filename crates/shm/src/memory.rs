//! The memory that two processes share, as the protocol uses it.

use crate::sync::AtomicU64;

/// Memory that another process may write at any moment.
///
/// All access uses atomics. So a write by the peer is never undefined behaviour. It can change values, but all values are
/// checked. The slice checks indexes.
pub(crate) trait Memory {
    /// Returns all words.
    fn words(&self) -> &[AtomicU64];

    /// Announces that cache lines from this word on are about to be read.
    fn will_read(&self, _index: usize, _lines: usize) {}

    /// Announces that cache lines from this word on are about to be written.
    fn will_write(&self, _index: usize, _lines: usize) {}
}

#[cfg(loom)]
impl Memory for loom::sync::Arc<Vec<AtomicU64>> {
    fn words(&self) -> &[AtomicU64] {
        self
    }
}
