//! Time as an argument.

use std::ops::{Add, AddAssign, Sub};
use std::time::Duration;

/// A time on a clock that starts anywhere and never runs backwards, in whole microseconds.
///
/// The driver of a session passes the time of a clock, and a simulation passes virtual time. Two sessions on two machines need no
/// common clock, because each estimates the other's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

impl Time {
    /// Makes the time `micros` after the start of the clock.
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros)
    }

    /// Makes the time `millis` after the start of the clock.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis * 1_000)
    }

    /// Microseconds since the start of the clock.
    pub const fn as_micros(self) -> u64 {
        self.0
    }

    /// Time since `earlier`; zero if it is later.
    pub const fn since(self, earlier: Time) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0))
    }

    /// Returns the time in units of 16 µs. Packets carry it modulo 2^24.
    pub(crate) const fn wire(self) -> u32 {
        ((self.0 / WIRE_UNIT_MICROS) & 0xFF_FFFF) as u32
    }
}

/// The unit of times and delays in packets.
pub(crate) const WIRE_UNIT_MICROS: u64 = 16;
/// The time of packets wraps after this number of units.
pub(crate) const WIRE_TIME_MODULUS: u64 = 1 << 24;

impl Add<Duration> for Time {
    type Output = Time;

    fn add(self, duration: Duration) -> Time {
        Time(self.0.saturating_add(duration.as_micros() as u64))
    }
}

impl AddAssign<Duration> for Time {
    fn add_assign(&mut self, duration: Duration) {
        *self = *self + duration;
    }
}

impl Sub<Duration> for Time {
    type Output = Time;

    fn sub(self, duration: Duration) -> Time {
        Time(self.0.saturating_sub(duration.as_micros() as u64))
    }
}
