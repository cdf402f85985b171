//! Lets each side sleep until the other side has acted. While neither sleeps, there is no system call.
//!
//! Each side has a word in the segment, its gate. Before a side sleeps, it announces the sleep in its gate. Then it checks once
//! more whether there is something to do. The other side first acts, and then reads the gate. Between its two steps, each side
//! passes a barrier. So at least one of the sides sees the first step of the other side, and no wake-up is lost. The barrier is
//! asymmetric. It is free for the working side. It costs a system call for the side that is about to sleep. That side needs a
//! system call anyway.

use crate::memory::Memory;
use crate::sync::{Ordering, heavy_barrier, light_barrier};

/// How a side waits, which determines how it must be woken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waiting {
    /// Not waiting.
    Awake,
    /// The side sleeps in the kernel, on the gate itself.
    Asleep,
    /// The side waits elsewhere. A byte on the socket between the processes wakes it.
    Listening,
}

/// The value of a gate on which a side sleeps. The kernel compares its low half.
pub(crate) const ASLEEP: u64 = 1;
const LISTENING: u64 = 2;

/// Announces that this side is about to wait. This side must then check again for something to do, before it waits.
pub(crate) fn announce(memory: &impl Memory, gate: usize, waiting: Waiting) {
    let number = match waiting {
        Waiting::Awake => 0,
        Waiting::Asleep => ASLEEP,
        Waiting::Listening => LISTENING,
    };
    memory.words()[gate].swap(number, Ordering::SeqCst);
    heavy_barrier();
}

/// Announces that this side is awake again.
pub(crate) fn withdraw(memory: &impl Memory, gate: usize) {
    memory.words()[gate].store(0, Ordering::Relaxed);
}

/// Opens the other side's gate. Returns how that side must be woken. Must be called after an action for that side.
#[inline]
pub(crate) fn open(memory: &impl Memory, gate: usize) -> Waiting {
    light_barrier();
    let word = &memory.words()[gate];
    if word.load(Ordering::Relaxed) == 0 {
        return Waiting::Awake;
    }
    match word.swap(0, Ordering::SeqCst) {
        0 => Waiting::Awake,
        LISTENING => Waiting::Listening,
        // An unknown value counts as a sleeper, because a needless wake-up does no harm.
        _ => Waiting::Asleep,
    }
}
