//! Bounds how often something happens, and lets a burst pass.
//!
//! An I/O thread bounds its wake-ups. Two hundred clients that send twenty packets a second would wake it four thousand times a
//! second, and a wake-up costs more than a packet. So a thread that has woken too often pauses before it waits for events. The
//! events of the pause then arrive together. A thread with few wake-ups never pauses, so few clients lose no time.

use std::time::{Duration, Instant};

/// Events with a mean interval. The time is an argument.
#[derive(Debug)]
pub(crate) struct Pace {
    interval: Duration,
    burst: u32,
    /// The time of the last event, if all events had been an interval apart.
    spread_until: Instant,
}

impl Pace {
    /// Lets `burst` events pass at once, and then one in each interval.
    pub(crate) fn new(now: Instant, interval: Duration, burst: u32) -> Self {
        Self { interval, burst, spread_until: now }
    }

    /// Counts an event. Returns the pause before it.
    pub(crate) fn pause(&mut self, now: Instant) -> Duration {
        self.spread_until = self.spread_until.max(now) + self.interval;
        (self.spread_until - now).saturating_sub(self.interval * self.burst)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: Duration = Duration::from_millis(1);
    const BURST: u32 = 32;

    /// Returns the pauses before events that would be this far apart without pauses.
    fn pauses(apart: Duration, events: u32) -> Vec<Duration> {
        let mut now = Instant::now();
        let mut pace = Pace::new(now, INTERVAL, BURST);
        let pauses = (0..events).map(|_| {
            let pause = pace.pause(now);
            now += pause.max(apart);
            pause
        });
        pauses.collect()
    }

    #[test]
    fn events_that_are_an_interval_apart_never_wait() {
        assert!(pauses(INTERVAL, 1_000).iter().all(Duration::is_zero));
    }

    #[test]
    fn after_a_burst_there_is_one_event_in_each_interval() {
        let pauses = pauses(INTERVAL / 8, 1_000);
        let unpaused = pauses.iter().take_while(|pause| pause.is_zero()).count();
        assert!(unpaused >= BURST as usize && unpaused < 2 * BURST as usize, "{unpaused}");
        assert!(pauses[unpaused..].iter().all(|pause| !pause.is_zero() && *pause <= INTERVAL));
    }

    #[test]
    fn pauses_end_after_a_quiet_time() {
        let began = Instant::now();
        let mut pace = Pace::new(began, INTERVAL, BURST);
        (0..10 * BURST).for_each(|_| _ = pace.pause(began));
        assert!(pace.pause(began + 20 * INTERVAL * BURST).is_zero());
    }
}
