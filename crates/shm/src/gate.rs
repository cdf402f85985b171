//! Sleeping until the other side has acted, without a system call while neither sleeps.
//!
//! Each side has a word in the segment, its gate. Before it sleeps it announces that in its gate, then checks once more
//! whether there is something to do. The other side first acts, then reads the gate. Between the two steps each side
//! passes a barrier, so at least one of them sees the other's step, and no wake-up is lost. The barrier is asymmetric:
//! free for the working side, a system call for the side that is about to make a system call anyway.

use crate::memory::Memory;
use crate::sync::{Ordering, heavy_barrier, light_barrier};

/// The way a side waits, and therefore the way to wake it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waiting {
    /// Not waiting.
    Awake,
    /// In the kernel, on the gate itself.
    Asleep,
    /// Elsewhere: a byte on the socket between the processes reaches it.
    Listening,
}

/// The number on the gate of a side that sleeps on it; the kernel compares its low half.
pub(crate) const ASLEEP: u64 = 1;
const LISTENING: u64 = 2;

/// Announces that this side is about to wait. It must check again for something to do before it waits.
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

/// Opens the other side's gate, and returns how that side must be woken. Call it after acting for that side.
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
        // An unknown number counts as a sleeper: a needless wake-up does no harm.
        _ => Waiting::Asleep,
    }
}
