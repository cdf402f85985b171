//! The atomics of the protocol: the real ones, or those of loom when its models run.

#[cfg(not(loom))]
pub(crate) use std::sync::atomic::{AtomicU64, Ordering};

#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicU64, Ordering};

/// Keeps a sequentially consistent swap before a later load of another word.
///
/// Between sequentially consistent accesses the language promises that order already. Loom treats such accesses as
/// acquire and release only, so its models get the fence spelled out.
#[inline]
pub(crate) fn order_swap_before_load() {
    #[cfg(loom)]
    loom::sync::atomic::fence(Ordering::SeqCst);
}

/// A moment at which a process may die, by name; see `docs` of the crate's `steps` module. Nothing in normal builds.
#[inline]
pub(crate) fn step(_name: &'static str) {
    #[cfg(feature = "kill-steps")]
    crate::steps::pass(_name);
}
