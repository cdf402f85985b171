//! The clock of journals, snapshots and bans. When the system's clock is set back, this clock continues from its newest
//! time.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;

/// The newest time read in this process.
static CLOCK: Mutex<SteadyTime> = Mutex::new(SteadyTime { newest: None });

/// Returns milliseconds since 1970. The result never decreases.
pub fn now_ms() -> u64 {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    CLOCK.lock().read(since_1970, Instant::now())
}

/// A clock that never goes back. It normally shows the system's time. While the system's clock is behind an earlier reading,
/// elapsed time is added to that reading. History therefore has each moment once and in order.
struct SteadyTime {
    newest: Option<(Duration, Instant)>,
}

impl SteadyTime {
    fn read(&mut self, since_1970: Duration, now: Instant) -> u64 {
        let time = match self.newest {
            Some((newest, read_at)) if since_1970 < newest => newest + now.saturating_duration_since(read_at),
            _ => since_1970,
        };
        self.newest = Some((time, now));
        u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clock_never_goes_back_and_follows_the_system_again_once_it_has_caught_up() {
        let (mut clock, start) = (SteadyTime { newest: None }, Instant::now());
        let mut read = |wall_s: u64, passed_s: u64| {
            clock.read(Duration::from_secs(wall_s), start + Duration::from_secs(passed_s)) / 1_000
        };
        assert_eq!(read(10_000, 0), 10_000);
        assert_eq!(read(10_060, 60), 10_060);
        // The system's clock is set back by an hour. Ten seconds later, the time is ten seconds later.
        assert_eq!(read(6_470, 70), 10_070);
        assert_eq!(read(6_471, 71), 10_071);
        // Before 1970.
        assert_eq!(read(0, 72), 10_072);
        assert_eq!(read(10_073, 73), 10_073);
        // The system's clock is set forward again, and then back again.
        assert_eq!(read(20_000, 74), 20_000);
        assert_eq!(read(10_075, 75), 20_001);
    }
}
