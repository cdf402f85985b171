//! The message of the paper's experiment: the time, an id, and sixteen floats, 80 bytes in all.

use rustix::time::{ClockId, clock_gettime};

use super::LocalError;

/// Size of two numbers and sixteen floats (section 6 of the paper).
pub const MESSAGE_BYTES: usize = 80;

/// One message of the measurement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Message(pub [u8; MESSAGE_BYTES]);

impl Message {
    /// Makes a message with a number, a time, and a content that depends on the number.
    #[inline]
    pub fn new(number: u64, time_ns: u64) -> Message {
        let mut bytes = [0; MESSAGE_BYTES];
        bytes[..8].copy_from_slice(&time_ns.to_le_bytes());
        bytes[8..16].copy_from_slice(&number.to_le_bytes());
        for (at, float) in bytes[16..].chunks_exact_mut(4).enumerate() {
            float.copy_from_slice(&(number as f32 + at as f32).to_le_bytes());
        }
        Message(bytes)
    }

    /// Writes the time of sending. This method is called last, so that building the message is not measured.
    #[inline]
    pub fn stamp(&mut self, time_ns: u64) {
        self.0[..8].copy_from_slice(&time_ns.to_le_bytes());
    }

    /// Returns the time of sending by the clock of [`now_ns`].
    #[inline]
    pub fn time_ns(&self) -> u64 {
        u64::from_le_bytes(std::array::from_fn(|at| self.0[at]))
    }

    /// Returns the number of the message. The first is 1.
    #[inline]
    pub fn number(&self) -> u64 {
        u64::from_le_bytes(std::array::from_fn(|at| self.0[8 + at]))
    }

    /// Checks that the content belongs to the message's number.
    ///
    /// # Errors
    /// Fails if the content belongs to another number, or is damaged.
    pub fn check(&self) -> Result<(), LocalError> {
        let whole = Message::new(self.number(), self.time_ns()) == *self;
        if whole { Ok(()) } else { Err(LocalError::Torn { number: self.number() }) }
    }
}

/// The system's monotonic clock, which all processes share.
#[inline]
pub fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
