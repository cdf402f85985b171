//! Round-trip estimation after Jacobson and Karels, as refined in RFC 9002, section 5, in whole microseconds.

use std::time::Duration;

/// Maximum time that a receiver waits before it acknowledges, unless the receiver itself sends regularly.
pub(crate) const ACK_DELAY_MAX: Duration = Duration::from_millis(5);
/// Maximum time that an acknowledgement waits for a data packet of the same side.
pub(crate) const HELD_ACK_DELAY_MAX: Duration = Duration::from_millis(100);
/// Both ends assume this value for the longest recent delay of acknowledgements, until they have measured this delay. The
/// assumption is high, so that an end that sends regularly can hold its first acknowledgements for its next packet. The
/// assumption decays within seconds.
pub(crate) const ACK_DELAY_FIRST_MICROS: u64 = 50_000;
const GRANULARITY_MICROS: u64 = 1_000;
const INITIAL_TIMEOUT: Duration = Duration::from_secs(1);
/// Maximum wait of the back-off, so that a peer is found soon after an outage.
pub(crate) const PROBE_TIMEOUT_MAX: Duration = Duration::from_secs(2);

/// Estimates of the round-trip time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rtt {
    estimate: Option<Estimate>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Estimate {
    latest: u64,
    adjusted: u64,
    smoothed: u64,
    variation: u64,
    minimum: u64,
    /// The peer's longest recent delay of acknowledgements.
    held: u64,
    /// Derived from the other fields. It is stored, because it is read more often than the other fields change.
    probe_timeout: Duration,
}

impl Estimate {
    fn set_probe_timeout(&mut self) {
        let spread = (4 * self.variation).max(GRANULARITY_MICROS);
        self.probe_timeout = Duration::from_micros(self.smoothed + spread) + allowance(self.held);
    }
}

impl Rtt {
    /// Takes a sample: the time from the departure of a packet to the arrival of its acknowledgement. The peer held the
    /// acknowledgement for `ack_delay`.
    pub fn sample(&mut self, sample: Duration, ack_delay: Duration) {
        let sample = sample.as_micros() as u64;
        let ack_delay = ack_delay.as_micros() as u64;
        let Some(estimate) = &mut self.estimate else {
            let mut first = Estimate {
                latest: sample,
                adjusted: sample,
                smoothed: sample,
                variation: sample / 2,
                minimum: sample,
                held: longest_lately(ACK_DELAY_FIRST_MICROS, ack_delay),
                probe_timeout: Duration::ZERO,
            };
            first.set_probe_timeout();
            self.estimate = Some(first);
            return;
        };
        estimate.latest = sample;
        estimate.minimum = estimate.minimum.min(sample);
        estimate.held = longest_lately(estimate.held, ack_delay);
        let adjusted = match sample.checked_sub(ack_delay) {
            Some(without) if without >= estimate.minimum => without,
            _ => sample,
        };
        estimate.adjusted = adjusted;
        estimate.variation = (3 * estimate.variation + estimate.smoothed.abs_diff(adjusted)) / 4;
        estimate.smoothed = (7 * estimate.smoothed + adjusted) / 8;
        estimate.set_probe_timeout();
    }

    /// The smoothed round-trip time; `None` before the first sample.
    pub fn smoothed(&self) -> Option<Duration> {
        self.estimate.map(|estimate| Duration::from_micros(estimate.smoothed))
    }

    /// The latest sample, without the delay of the acknowledgement if that delay is plausible.
    pub fn latest(&self) -> Option<Duration> {
        self.estimate.map(|estimate| Duration::from_micros(estimate.adjusted))
    }

    /// Variation of the samples.
    pub fn variation(&self) -> Option<Duration> {
        self.estimate.map(|estimate| Duration::from_micros(estimate.variation))
    }

    /// The smallest sample.
    pub fn minimum(&self) -> Option<Duration> {
        self.estimate.map(|estimate| Duration::from_micros(estimate.minimum))
    }

    /// The age at which a packet counts as lost, once a later one is acknowledged. If packets overtake each other on the path,
    /// this age is at least the time `overtaken` of an overtaken packet plus a margin, but at most two round trips.
    pub(crate) fn loss_delay(&self, overtaken: Duration) -> Duration {
        let longest = self.estimate.map_or(0, |estimate| estimate.smoothed.max(estimate.latest));
        let overtaken = (overtaken.as_micros() as u64 * 9 / 8).min(2 * longest);
        Duration::from_micros((longest * 9 / 8).max(overtaken).max(GRANULARITY_MICROS))
    }

    /// Time without an acknowledgement after which a probe is due, before back-off.
    pub(crate) fn probe_timeout(&self) -> Duration {
        self.estimate.map_or(INITIAL_TIMEOUT, |estimate| estimate.probe_timeout)
    }
}

/// Returns the longest recent delay of acknowledgements, in µs, after an acknowledgement with the delay `delay`. Both ends
/// compute the same value.
pub(crate) fn longest_lately(before: u64, delay: u64) -> u64 {
    let (usual, most) = (ACK_DELAY_MAX.as_micros() as u64, HELD_ACK_DELAY_MAX.as_micros() as u64);
    delay.max(31 * before / 32).clamp(usual, most)
}

/// Time for which an acknowledgement may be held before it counts as lost. It is a fifth longer than the longest recent delay.
pub(crate) fn allowance(longest: u64) -> Duration {
    Duration::from_micros(longest.max(ACK_DELAY_MAX.as_micros() as u64) * 6 / 5)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn on_a_steady_link_the_probe_timeout_becomes_shorter() {
        let mut rtt = Rtt::default();
        assert_eq!(rtt.probe_timeout(), INITIAL_TIMEOUT);
        (0..50).for_each(|_| rtt.sample(millis(105), millis(5)));
        assert_eq!(rtt.minimum(), Some(millis(105)));
        assert!(rtt.probe_timeout() < millis(150), "{:?}", rtt.probe_timeout());
    }

    #[test]
    fn a_delay_that_the_peer_reports_is_not_counted_as_round_trip() {
        let mut rtt = Rtt::default();
        rtt.sample(millis(50), Duration::ZERO);
        (0..100).for_each(|_| rtt.sample(millis(75), millis(25)));
        assert!(rtt.smoothed().unwrap() < millis(51));
    }

    #[test]
    fn acknowledgements_are_awaited_as_long_as_the_peer_holds_them() {
        let mut rtt = Rtt::default();
        (0..50).for_each(|_| rtt.sample(millis(60), millis(40)));
        assert!(rtt.probe_timeout() > millis(60), "{:?}", rtt.probe_timeout());
        (0..50).for_each(|_| rtt.sample(millis(20), millis(0)));
        assert!(rtt.probe_timeout() < millis(35), "{:?}", rtt.probe_timeout());
        rtt.sample(millis(20), Duration::from_secs(1_000));
        assert!(rtt.probe_timeout() < millis(150), "{:?}", rtt.probe_timeout());
    }

    #[test]
    fn a_claimed_delay_never_pushes_a_sample_below_the_minimum() {
        let mut rtt = Rtt::default();
        rtt.sample(millis(50), Duration::ZERO);
        rtt.sample(millis(60), Duration::from_secs(1_000));
        assert!(rtt.smoothed().unwrap() > millis(50));
    }
}
