//! Words that two processes share, as the protocol sees them.

use crate::sync::AtomicU64;

/// Memory that another process may write at any moment.
///
/// It is only ever touched through atomics, so that whatever a peer does to it is a value to check, never undefined
/// behaviour. Indexes are checked by the slice.
pub(crate) trait Memory {
    /// All of it.
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
