//! The memory that two processes share, in the protocol's view.

use crate::sync::AtomicU64;

/// Memory that another process may write at any moment.
///
/// All access uses atomics, so a peer's write is a value to check, never undefined behaviour. The slice checks indexes.
pub(crate) trait Memory {
    /// All words.
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
