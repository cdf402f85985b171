//! Time as an argument.

use std::ops::{Add, Sub};
use std::time::Duration;

/// A time on the monotonic clock of one server, in whole microseconds since any start.
///
/// The clock must run while the process is stopped and while the machine sleeps (`CLOCK_BOOTTIME` on Linux). Its rate may
/// differ from true time by at most [`RATE_ERROR_PPM_MAX`]. Times of two servers are never compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

/// Maximum rate error of a server's monotonic clock, in parts per million. Quartz clocks err by less than 100, and
/// `adjtimex` slews by at most 500.
pub const RATE_ERROR_PPM_MAX: u64 = 1_000;

impl Time {
    /// Makes the time `micros` after the start of the clock.
    #[must_use]
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros)
    }

    /// Makes the time `millis` after the start of the clock.
    #[must_use]
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis * 1_000)
    }

    /// Microseconds since the start of the clock.
    #[must_use]
    pub const fn as_micros(self) -> u64 {
        self.0
    }

    /// Time since `earlier`; zero if `earlier` is later.
    #[must_use]
    pub const fn since(self, earlier: Time) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Time {
    type Output = Time;

    fn add(self, duration: Duration) -> Time {
        Time(self.0.saturating_add(micros(duration)))
    }
}

impl Sub<Duration> for Time {
    type Output = Time;

    fn sub(self, duration: Duration) -> Time {
        Time(self.0.saturating_sub(micros(duration)))
    }
}

/// Returns the longest time that every clock within the bound measures as at most `lease` while it passes. The holder of a
/// lease counts this time.
#[must_use]
pub fn surely_within(lease: Duration) -> Duration {
    Duration::from_micros(micros(lease) / 1_000_000 * (1_000_000 - RATE_ERROR_PPM_MAX) + part(lease, false))
}

/// Returns the shortest time on a local clock after which `lease` has passed on every clock within the bound. All servers
/// except the holder of a lease count this time.
#[must_use]
pub fn surely_after(lease: Duration) -> Duration {
    // The factor 2 covers a local clock that is fast by the bound, and the second-order term of the quotient.
    Duration::from_micros(
        micros(lease) / 1_000_000 * (1_000_000 + 2 * RATE_ERROR_PPM_MAX) + part(lease, true) + 1,
    )
}

fn part(lease: Duration, is_longer: bool) -> u64 {
    let rest = micros(lease) % 1_000_000;
    let rate = if is_longer { 1_000_000 + 2 * RATE_ERROR_PPM_MAX } else { 1_000_000 - RATE_ERROR_PPM_MAX };
    (rest * rate).div_ceil(1_000_000) - u64::from(!is_longer && rest > 0)
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_ends_for_its_holder_before_it_ends_for_all_others_with_the_worst_clocks() {
        for lease_ms in [1, 999, 1_000, 2_000, 2_500, 60_000] {
            let lease = Duration::from_millis(lease_ms);
            let rate = RATE_ERROR_PPM_MAX as f64 / 1e6;
            // True time until the holder stops, with a clock that is slow, and until others start, with a clock that is fast.
            let holder = surely_within(lease).as_secs_f64() / (1.0 - rate);
            let others = surely_after(lease).as_secs_f64() / (1.0 + rate);
            assert!(holder <= lease.as_secs_f64() && lease.as_secs_f64() < others, "{holder} {others}");
        }
    }
}
