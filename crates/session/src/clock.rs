//! Estimates the peer's clock (`spec/SESSION.md`, section 12).

use std::time::Duration;

use crate::time::{Time, WIRE_TIME_MODULUS, WIRE_UNIT_MICROS};

/// Offset and drift of the peer's clock against ours, after the four timestamps of NTP (RFC 5905, section 8).
#[derive(Clone, Debug)]
pub(crate) struct Clock {
    kept: [Option<Sample>; KEPT],
    next: usize,
    second: Option<Sample>,
    fallback: i64,
    best: Option<Sample>,
    drift: f64,
}

#[derive(Clone, Copy, Debug)]
struct Sample {
    at: Time,
    offset: i64,
    round_trip: u64,
}

const KEPT: usize = 16;
const KEEP_EVERY: Duration = Duration::from_secs(1);
const SLOPE_TOLERANCE_MICROS: u64 = 1_000;
const SLOPE_SPAN_MIN: Duration = Duration::from_secs(5);
/// Error of rounded times.
const ROUNDING_MICROS: u64 = 1_000;
/// The maximum difference in speed of two running clocks, as a share.
const DRIFT_MAX: f64 = 0.001;

impl Sample {
    /// Whether both samples can be true of clocks that ran between them. Each offset is exact to half of its round trip.
    fn agrees(&self, newer: &Sample) -> bool {
        let drift = (newer.at.since(self.at).as_micros() as f64 * DRIFT_MAX) as u64;
        let round_trips = self.round_trip.saturating_add(newer.round_trip);
        newer.offset.wrapping_sub(self.offset).unsigned_abs() <= round_trips / 2 + ROUNDING_MICROS + drift
    }
}

impl Clock {
    pub(crate) fn new() -> Self {
        Self { kept: [None; KEPT], next: 0, second: None, fallback: 0, best: None, drift: 0.0 }
    }

    /// Estimates the offset before the first sample, from the peer's clock at the arrival of a packet. The estimate is wrong by
    /// the one-way delay.
    pub(crate) fn guess(&mut self, now: Time, peer_micros: u64) {
        self.fallback = (peer_micros as i64).wrapping_sub(now.as_micros() as i64);
    }

    /// Takes a sample of four times: a packet left at `sent` and arrived at the peer at `arrived`. The answer left at `answered`
    /// and arrived here at `now`. `arrived` and `answered` are by the peer's clock. If a clock stood still, for example while a
    /// computer slept, the sample contradicts older ones. The older ones are discarded.
    pub(crate) fn sample(&mut self, sent: Time, arrived: i64, answered: i64, now: Time) {
        let out = arrived.wrapping_sub(sent.as_micros() as i64);
        let back = answered.wrapping_sub(now.as_micros() as i64);
        let held = answered.wrapping_sub(arrived).max(0) as u64;
        let elapsed = now.since(sent).as_micros() as u64;
        // Our clock stood still while the peer held the packet, so no offset is right for all four times.
        if held > elapsed.saturating_add(ROUNDING_MICROS) {
            return;
        }
        let round_trip = elapsed.saturating_sub(held);
        let offset = (out >> 1).wrapping_add(back >> 1);
        let sample = Sample { at: now, offset, round_trip };
        for older in self.kept.iter_mut().chain([&mut self.second]) {
            older.take_if(|older| !older.agrees(&sample));
        }
        match &mut self.second {
            Some(second) if now.since(second.at) < KEEP_EVERY => {
                if round_trip < second.round_trip {
                    *second = Sample { at: second.at, ..sample };
                }
            }
            _ => {
                self.kept[self.next] = self.second.replace(sample);
                self.next = (self.next + 1) % KEPT;
            }
        }
        self.estimate();
    }

    /// The peer's clock minus ours in µs, at `now`; `None` before the first sample.
    fn offset_micros(&self, now: Time) -> Option<i64> {
        let best = self.best?;
        let elapsed = now.since(best.at).as_micros() as f64;
        Some(best.offset.wrapping_add((elapsed * self.drift) as i64))
    }

    /// Returns the peer's full time at the departure of a packet that carries `wire` and arrived at `now`.
    pub(crate) fn unfold(&self, wire: u32, now: Time) -> i64 {
        let offset = self.offset_micros(now).unwrap_or(self.fallback);
        let expected = (now.as_micros() as i64).wrapping_add(offset).div_euclid(WIRE_UNIT_MICROS as i64);
        let modulus = WIRE_TIME_MODULUS as i64;
        let ahead = (i64::from(wire) - expected.rem_euclid(modulus)).rem_euclid(modulus);
        let difference = if ahead > modulus / 2 { ahead - modulus } else { ahead };
        (expected + difference).wrapping_mul(WIRE_UNIT_MICROS as i64)
    }

    /// Returns our time at which the peer's clock showed `peer_micros`.
    pub(crate) fn to_ours(&self, peer_micros: i64, now: Time) -> Time {
        let offset = self.offset_micros(now).unwrap_or(self.fallback);
        let ours = peer_micros.wrapping_sub(offset).clamp(0, now.as_micros() as i64);
        Time::from_micros(ours as u64)
    }

    fn estimate(&mut self) {
        let samples = || self.kept.iter().chain([&self.second]).flatten();
        self.best = samples().min_by_key(|sample| sample.round_trip).copied();
        let Some(best) = self.best else { return };
        let good = |sample: &&Sample| sample.round_trip <= best.round_trip + SLOPE_TOLERANCE_MICROS;
        let (mut count, mut sum_x, mut sum_y, mut sum_xx, mut sum_xy) = (0.0, 0.0, 0.0, 0.0, 0.0);
        let mut span = (best.at, best.at);
        for sample in samples().filter(good) {
            let x = sample.at.as_micros() as f64 - best.at.as_micros() as f64;
            let y = sample.offset.wrapping_sub(best.offset) as f64;
            (count, sum_x, sum_y) = (count + 1.0, sum_x + x, sum_y + y);
            (sum_xx, sum_xy) = (sum_xx + x * x, sum_xy + x * y);
            span = (span.0.min(sample.at), span.1.max(sample.at));
        }
        let spread = count * sum_xx - sum_x * sum_x;
        let slope = (count * sum_xy - sum_x * sum_y) / spread;
        if span.1.since(span.0) >= SLOPE_SPAN_MIN && slope.abs() <= DRIFT_MAX {
            self.drift = slope;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the clock of a peer that is 3 s ahead, runs 80 ppm fast, and is 20 ms away in each direction.
    fn peer_at(now: Time) -> i64 {
        let micros = now.as_micros() as f64;
        (3_000_000.0 + micros * 1.000_08) as i64
    }

    #[test]
    fn offset_and_drift_are_found_despite_jitter() {
        let mut clock = Clock::new();
        let mut now = Time::from_millis(1_000);
        for step in 0..3_000u64 {
            let jitter = Duration::from_micros(step * 7_919 % 3_000);
            let arrived = now + Duration::from_millis(20);
            let answered = arrived + Duration::from_millis(2);
            let back = answered + Duration::from_millis(20) + jitter;
            clock.sample(now, peer_at(arrived), peer_at(answered), back);
            now += Duration::from_millis(10);
        }
        let error = clock.offset_micros(now).unwrap() - (peer_at(now) - now.as_micros() as i64);
        assert!(error.abs() < 500, "wrong by {error} µs");
        assert!((clock.drift * 1e6 - 80.0).abs() < 30.0, "{} ppm", clock.drift * 1e6);
    }

    /// Samples each 50 ms over 16 s. After 4 s, our clock or the peer's stands still for `slept`.
    fn sleep(ours: bool, slept: Duration) {
        let mut clock = Clock::new();
        let (mut now, mut peer) = (Time::from_millis(1_000), Time::from_millis(9_000));
        for step in 0..320u64 {
            // The sleep begins at another place of the round trip in each of these packets.
            let (out, held, back) = (10, 2, 10 + step % 5);
            let (sent, mut times) = (now, Vec::new());
            for (leg, millis) in [out, held, back, 50 - out - held - back].into_iter().enumerate() {
                let passed = Duration::from_millis(millis);
                let asleep = if step == 80 + leg as u64 { slept } else { Duration::ZERO };
                (now, peer) = (now + passed, peer + passed);
                if ours {
                    peer += asleep
                } else {
                    now += asleep
                }
                times.push((now, peer));
            }
            clock.sample(sent, times[0].1.as_micros() as i64, times[1].1.as_micros() as i64, times[2].0);
            if !(80..104).contains(&step) {
                let error =
                    clock.offset_micros(now).unwrap() - (peer.as_micros() as i64 - now.as_micros() as i64);
                assert!(error.abs() < 100_000, "wrong by {error} µs at {step}");
                assert!((clock.drift * 1e6).abs() < 1_500.0, "{} ppm at {step}", clock.drift * 1e6);
            }
        }
    }

    #[test]
    fn a_clock_that_stood_still_is_right_within_a_second() {
        for slept in [1, 20, 40].map(Duration::from_secs) {
            sleep(true, slept);
            sleep(false, slept);
        }
    }

    #[test]
    fn the_time_of_a_packet_unfolds_over_its_modulus() {
        let mut clock = Clock::new();
        let now = Time::from_millis(900_000);
        clock.guess(now, 7_000_000_000);
        for back in [-100_000_000i64, -16, 0, 5_000_000] {
            let peer = 7_000_000_000 + back;
            let wire = Time::from_micros(peer as u64).wire();
            assert_eq!(clock.unfold(wire, now), peer / 16 * 16);
        }
    }
}
