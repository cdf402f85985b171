//! A server's monotonic clock, with an error of its rate, and jumps.

use nowcast_cluster::Time;

/// A clock.
#[derive(Debug)]
pub(super) struct Clock {
    ppm: i64,
    offset: u64,
}

impl Clock {
    pub(super) fn new(ppm: i64, offset: u64) -> Clock {
        Clock { ppm, offset }
    }

    /// The local time at a true time, in microseconds.
    pub(super) fn local(&self, true_us: u64) -> Time {
        Time::from_micros(self.offset + true_us * self.rate() / 1_000_000)
    }

    /// The earliest true time at which the clock shows a local time.
    pub(super) fn when(&self, local: Time) -> u64 {
        (local.as_micros().saturating_sub(self.offset) * 1_000_000).div_ceil(self.rate())
    }

    /// Lets the clock jump forward.
    pub(super) fn jump(&mut self, by_us: u64) {
        self.offset += by_us;
    }

    fn rate(&self) -> u64 {
        (1_000_000 + self.ppm) as u64
    }
}
