//! The time for which a carrier may be silent before the client opens another one (`spec/CARRIERS.md`, section 6).

use std::time::Duration;

use nowcast_session::{Session, Time};

/// Number of probe timeouts after which a carrier counts as silent. The bounds below limit that time.
const SILENCE_PROBES: u32 = 3;
const SILENCE_MIN: Duration = Duration::from_millis(250);
const SILENCE_MAX: Duration = Duration::from_millis(400);
/// Time for an answer to the HELLO of a new carrier.
const UNANSWERED: Duration = Duration::from_secs(1);
/// Maximum number of times that the limit doubles.
const DOUBLINGS_MAX: u32 = 3;
/// After each period of this length without a silence, the limit halves once.
const DOUBLING: Duration = Duration::from_secs(10);

/// The patience of one client. Each unanswered handshake doubles the patience for a while. Otherwise an overloaded endpoint that
/// answers late would get another handshake from each client every 400 ms.
#[derive(Debug, Default)]
pub(super) struct Patience {
    doublings: u32,
    /// The time of the newest silence.
    since: Time,
}

impl Patience {
    /// Records that the carrier was silent for too long.
    pub(super) fn note_silence(&mut self, now: Time) {
        self.doublings = (self.doublings_at(now) + 1).min(DOUBLINGS_MAX);
        self.since = now;
    }

    /// Returns the time at which the carrier of a session counts as silent, if no packet arrives before. `None` while no answer is
    /// awaited.
    pub(super) fn silent_at(&self, session: &Session, now: Time) -> Option<Time> {
        let since = session.unanswered_since()?;
        // The smallest round trip is a lower limit of this time, because no answer on a long path arrives earlier.
        let shortest = session.gauges().round_trip_min.unwrap_or_default();
        let time = match session.is_open() {
            true => (SILENCE_PROBES * session.probe_timeout()).clamp(SILENCE_MIN, SILENCE_MAX),
            false => UNANSWERED,
        };
        Some(since + (time * (1 << self.doublings_at(now))).max(shortest * 3 / 2))
    }

    fn doublings_at(&self, now: Time) -> u32 {
        let ended = now.since(self.since).as_secs() / DOUBLING.as_secs();
        self.doublings.saturating_sub(ended.try_into().unwrap_or(u32::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_silence_doubles_the_patience_and_each_ten_seconds_halve_it() {
        let at = |seconds: u64| Time::from_micros(seconds * 1_000_000);
        let mut patience = Patience::default();
        assert_eq!(patience.doublings_at(at(100)), 0);
        let after: Vec<u32> = (100..105)
            .map(|second| {
                patience.note_silence(at(second));
                patience.doublings_at(at(second))
            })
            .collect();
        assert_eq!(after, [1, 2, 3, 3, 3]);
        let later = [105, 113, 114, 124, 134, 1_000].map(|second| patience.doublings_at(at(second)));
        assert_eq!(later, [3, 3, 2, 1, 0, 0]);
    }
}
