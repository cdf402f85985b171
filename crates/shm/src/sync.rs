//! The protocol's atomics: the standard library's, or loom's in models.

#[cfg(not(loom))]
pub(crate) use std::sync::atomic::{AtomicU64, Ordering};

#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicU64, Ordering};

/// The cheap half of a barrier. Only the other side's [`heavy_barrier`] completes the barrier. The light barrier prevents the
/// compiler from moving accesses across it, and costs nothing at run time.
///
/// The working side passes the light barrier, millions of times a second. The side that is about to sleep passes the heavy
/// barrier. Together they order accesses as two sequentially consistent fences do. Loom has no such pair, so its models use a
/// fence here.
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
        // If the barrier is not available, both sides know this from their greetings, and poll every millisecond.
        let _ = membarrier(MembarrierCommand::GlobalExpedited);
    }
    #[cfg(loom)]
    loom::sync::atomic::fence(Ordering::SeqCst);
}

/// Lets this process take part in [`heavy_barrier`]. Returns whether the kernel supports it.
#[cfg(not(loom))]
pub(crate) fn register() -> bool {
    use rustix::thread::{MembarrierCommand, membarrier};
    membarrier(MembarrierCommand::RegisterGlobalExpedited).is_ok()
}

/// A named moment at which a process may die; see the crate's `steps` module. It does nothing in normal builds.
#[inline]
pub(crate) fn step(_name: &'static str) {
    #[cfg(feature = "kill-steps")]
    crate::steps::pass(_name);
}
