//! The congestion window of competitive mode, after CUBIC (RFC 9438).
//!
//! A window in bytes follows a link whose capacity changes without delay, because acknowledgements pace it. A rate, in contrast,
//! would have to grow by the whole rise of the capacity. A competitor with a window takes that rise first.

use super::{BYTES_PER_SECOND_MIN, FLIGHT_BYTES_MIN};

/// The growth of CUBIC, in packets per cubic second.
const GROWTH: f64 = 0.4;
const PACKET_BYTES: f64 = 1_200.0;
/// Share of the window that remains after a loss. It is lower than the 0.7 of CUBIC, because a full queue that counts bytes drops
/// fewer packets if they are small. Packets of a session are smaller than those of TCP.
const KEPT_SHARE: f64 = 0.65;
/// Number of packets by which CUBIC's estimate of Reno grows in a round trip.
const RENO_PACKETS: f64 = 3.0 * (1.0 - 0.7) / (1.0 + 0.7);
/// Maximum factor by which the window grows in a round.
const GROWTH_MAX: f64 = 1.5;
/// The pacer allows this multiple of the window in a round trip, so that the window decides.
const PACING: f64 = 1.2;
/// Share of a new sample in the smoothed round trip.
const SMOOTHING: f64 = 0.125;
/// Minimum round trip in the calculations, seconds.
const ROUND_TRIP_MIN: f64 = 0.001;

#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    bytes: f64,
    /// The window before the last loss, bytes.
    max: f64,
    /// The window that Reno would have, bytes.
    reno: f64,
    /// Time since the last loss while packets were held back, seconds.
    elapsed: f64,
    /// Time from the last loss until the window is back at its maximum, seconds.
    until_max: f64,
    /// The smoothed round trip, seconds.
    round_trip: f64,
}

impl Window {
    /// Makes the window of a sender that had a rate, in bytes a second, on a path with a round trip, in seconds.
    pub(super) fn begin(rate: f64, round_trip: f64) -> Self {
        let round_trip = round_trip.max(ROUND_TRIP_MIN);
        let bytes = (rate * round_trip).max(FLIGHT_BYTES_MIN as f64);
        Self { bytes, max: bytes, reno: bytes, elapsed: 0.0, until_max: 0.0, round_trip }
    }

    pub(super) fn bytes(&self) -> f64 {
        self.bytes
    }

    /// The rate at which packets leave, bytes a second.
    pub(super) fn rate(&self) -> f64 {
        (PACING * self.bytes / self.round_trip).max(BYTES_PER_SECOND_MIN)
    }

    /// Returns the window to continue with after a break. `round_trip` is in seconds.
    pub(super) fn resume(self, round_trip: f64) -> Self {
        Self { round_trip: round_trip.max(ROUND_TRIP_MIN), ..self }
    }

    /// Records that a packet was acknowledged after `round_trip` seconds.
    pub(super) fn sample(&mut self, round_trip: f64) {
        self.round_trip += SMOOTHING * (round_trip.max(ROUND_TRIP_MIN) - self.round_trip);
    }

    /// Shrinks the window, because packets of a round were lost.
    pub(super) fn shrink(&mut self) {
        // Fast convergence: if the window did not reach its last maximum, the sender leaves room to others.
        let has_shrunk = self.bytes < self.max;
        self.max = if has_shrunk { self.bytes * (1.0 + KEPT_SHARE) / 2.0 } else { self.bytes };
        self.bytes = (KEPT_SHARE * self.bytes).max(FLIGHT_BYTES_MIN as f64);
        self.reno = self.bytes;
        self.elapsed = 0.0;
        self.until_max = ((self.max - self.bytes).max(0.0) / PACKET_BYTES / GROWTH).cbrt();
    }

    /// Grows the window after a round that held packets back, while nothing has been lost since the window began. `rate_max` is
    /// in bytes a second.
    pub(super) fn start(&mut self, rate_max: f64) {
        self.set(GROWTH_MAX * self.bytes, rate_max);
        (self.max, self.reno) = (self.bytes, self.bytes);
    }

    /// Grows the window after a round of `span` seconds that held packets back without loss. `rate_max` is in bytes a second.
    pub(super) fn grow(&mut self, span: f64, rate_max: f64) {
        self.elapsed += span;
        // RFC 9438, section 4.2: the window is compared with W_cubic one round trip later, because it governs that round trip.
        let ahead = self.elapsed + self.round_trip - self.until_max;
        let target = self.max + GROWTH * ahead.powi(3) * PACKET_BYTES;
        let packets = if self.reno < self.max { RENO_PACKETS } else { 1.0 };
        self.reno += packets * PACKET_BYTES * span / self.round_trip;
        // Section 4.3 of RFC 9438: while Reno would send more, CUBIC must not be slower than Reno.
        self.set(target.clamp(self.bytes, GROWTH_MAX * self.bytes).max(self.reno), rate_max);
    }

    fn set(&mut self, bytes: f64, rate_max: f64) {
        self.bytes = bytes.min(rate_max * self.round_trip).max(FLIGHT_BYTES_MIN as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_a_loss_the_window_returns_to_its_maximum_in_the_time_of_cubic() {
        let mut window = Window::begin(1_200_000.0, 0.1);
        window.shrink();
        assert!((window.bytes() - 78_000.0).abs() < 1e-6);
        // The cube root of (100 − 65) / 0.4 packets is 4.44 s.
        let mut rounds = 0;
        while window.bytes() < 119_000.0 {
            window.grow(0.1, f64::INFINITY);
            rounds += 1;
        }
        assert!((25..=40).contains(&rounds), "{rounds} rounds of 100 ms");
    }

    #[test]
    fn a_window_is_at_least_two_packets_and_at_most_that_of_the_highest_rate() {
        let mut window = Window::begin(1_200_000.0, 0.1);
        for _ in 0..20 {
            window.shrink();
        }
        assert!((window.bytes() - FLIGHT_BYTES_MIN as f64).abs() < 1e-6);
        for _ in 0..1_000 {
            window.grow(0.1, 50_000.0);
        }
        assert!((window.bytes() - 5_000.0).abs() < 1e-6);
    }
}
