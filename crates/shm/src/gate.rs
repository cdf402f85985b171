//! How one side sleeps until the other has done something, without a system call while nobody sleeps.
//!
//! Each side has a word in the segment, its gate. Before it sleeps it says so there, then looks once more whether there is
//! something to do. The other side first does something, then looks at the gate. Both steps are sequentially consistent,
//! so at least one of the two sees the other, and no wake-up is lost.

use crate::memory::Memory;
use crate::sync::{Ordering, order_swap_before_load};

/// How a side waits, and therefore how to wake it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waiting {
    /// Not at all.
    Awake,
    /// In the kernel, on the gate itself.
    Asleep,
    /// Elsewhere: a byte on the socket between the processes reaches it.
    Listening,
}

/// The number on the gate of a side that sleeps on it; the kernel compares its low half.
pub(crate) const ASLEEP: u64 = 1;
const LISTENING: u64 = 2;

/// Says that this side is about to wait. It must look again for something to do before it does.
pub(crate) fn announce(memory: &impl Memory, gate: usize, waiting: Waiting) {
    let number = match waiting {
        Waiting::Awake => 0,
        Waiting::Asleep => ASLEEP,
        Waiting::Listening => LISTENING,
    };
    memory.words()[gate].swap(number, Ordering::SeqCst);
    order_swap_before_load();
}

/// Says that this side is awake again.
pub(crate) fn withdraw(memory: &impl Memory, gate: usize) {
    memory.words()[gate].store(0, Ordering::Relaxed);
}

/// Opens the other side's gate, and says how that side has to be woken. To be called after something was done for it.
#[inline]
pub(crate) fn open(memory: &impl Memory, gate: usize) -> Waiting {
    let word = &memory.words()[gate];
    if word.load(Ordering::SeqCst) == 0 {
        return Waiting::Awake;
    }
    match word.swap(0, Ordering::SeqCst) {
        0 => Waiting::Awake,
        LISTENING => Waiting::Listening,
        // A number that nobody writes is taken for a sleeper: waking nobody does no harm.
        _ => Waiting::Asleep,
    }
}
