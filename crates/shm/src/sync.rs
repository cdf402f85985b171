//! The atomics of the protocol: the real ones, or loom's when its models run.

#[cfg(not(loom))]
pub(crate) use std::sync::atomic::{AtomicU64, Ordering};

#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicU64, Ordering};

/// The cheap half of a barrier that only the other side's [`heavy_barrier`] completes: it keeps the compiler from
/// moving accesses across it, and costs nothing at run time.
///
/// The working side (millions of times a second) passes the light barrier, the side that is about to sleep the heavy
/// one. Together they order accesses like two sequentially consistent fences. Loom has no such pair, so its models use
/// a fence here.
#[inline]
pub(crate) fn light_barrier() {
    #[cfg(not(loom))]
    std::sync::atomic::compiler_fence(Ordering::SeqCst);
    #[cfg(loom)]
    loom::sync::atomic::fence(Ordering::SeqCst);
}

/// Makes every process that has called [`register`] pass a full barrier at its current point (Linux `membarrier`).
pub(crate) fn heavy_barrier() {
    #[cfg(not(loom))]
    {
        use rustix::thread::{MembarrierCommand, membarrier};
        std::sync::atomic::fence(Ordering::SeqCst);
        // If it is not available, both sides learned that in their greetings, and poll every millisecond.
        let _ = membarrier(MembarrierCommand::GlobalExpedited);
    }
    #[cfg(loom)]
    loom::sync::atomic::fence(Ordering::SeqCst);
}

/// Lets this process take part in [`heavy_barrier`], and returns whether the kernel supports that.
#[cfg(not(loom))]
pub(crate) fn register() -> bool {
    use rustix::thread::{MembarrierCommand, membarrier};
    membarrier(MembarrierCommand::RegisterGlobalExpedited).is_ok()
}

/// A moment at which a process may die, by name; see `docs` of the crate's `steps` module. Nothing in normal builds.
#[inline]
pub(crate) fn step(_name: &'static str) {
    #[cfg(feature = "kill-steps")]
    crate::steps::pass(_name);
}
