//! The capacity of the narrowest hop of a link, constant or changing with time.
//!
//! The capacity is constant within a segment, and may differ between segments. If the capacity changes while a packet is in the
//! queue, the packet leaves at the new capacity, as on a real link.

use std::time::Duration;

use nowcast_queue::conformance::Random;

/// Duration of each step of a ramp.
const RAMP_STEP: Duration = Duration::from_millis(50);
/// A step of a random walk multiplies or divides the capacity by this factor.
const WALK_FACTOR: f64 = 1.3;

/// How the capacity changes between a highest value, which is [`rate_bits`](super::link::LinkConfig::rate_bits), and a lowest
/// value in bits a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Variation {
    /// The capacity does not change.
    #[default]
    Constant,
    /// The capacity alternates between the highest value for `high` and the lowest value for `low`.
    Square {
        /// The lowest capacity.
        low_bits: u64,
        /// Duration of the highest capacity.
        high: Duration,
        /// Duration of the lowest capacity.
        low: Duration,
    },
    /// Within each period, the capacity rises evenly from the lowest to the highest value. It then falls at once.
    Sawtooth {
        /// The lowest capacity.
        low_bits: u64,
        /// Time from one fall to the next.
        period: Duration,
    },
    /// The capacity begins at the highest value. At each step it rises or falls at random, by a factor of 1.3.
    Walk {
        /// The lowest capacity.
        low_bits: u64,
        /// Time from one step to the next.
        every: Duration,
    },
}

impl Variation {
    /// Returns the lowest capacity, given the highest.
    pub fn lowest(self, high_bits: u64) -> u64 {
        match self {
            Self::Constant => high_bits,
            Self::Square { low_bits, .. } | Self::Sawtooth { low_bits, .. } | Self::Walk { low_bits, .. } => {
                low_bits.min(high_bits)
            }
        }
    }

    /// Returns the mean capacity, given the highest. Returns `None` for a random walk, whose mean depends on the seed.
    pub fn mean(self, high_bits: u64) -> Option<f64> {
        let (high, low) = (high_bits as f64, self.lowest(high_bits) as f64);
        match self {
            Self::Constant => Some(high),
            Self::Square { high: long, low: short, .. } => {
                let share = long.as_secs_f64() / (long + short).as_secs_f64();
                Some(low + (high - low) * share)
            }
            Self::Sawtooth { .. } => Some(low.midpoint(high)),
            Self::Walk { .. } => None,
        }
    }
}

/// The segments of a capacity, in the order of time. Computes how long bytes take to pass the hop.
#[derive(Debug)]
pub(crate) struct Capacity {
    high_bits: u64,
    variation: Variation,
    random: Random,
    /// The number of the current segment.
    segment: u64,
    /// The time at which the current segment ends.
    ends: Duration,
    bits: f64,
}

impl Capacity {
    /// Makes the capacity from time zero on. `seed` determines the steps of a random walk.
    pub(crate) fn new(high_bits: u64, variation: Variation, seed: u64) -> Self {
        let bits = high_bits.max(1) as f64;
        let mut capacity =
            Self { high_bits, variation, random: Random::new(seed), segment: 0, ends: Duration::ZERO, bits };
        capacity.begin();
        capacity
    }

    /// Returns the time at which `bytes` have passed the hop, if the first of them enters at `start`. `start` must not decrease
    /// from call to call.
    pub(crate) fn passed(&mut self, start: Duration, bytes: usize) -> Duration {
        let mut at = start;
        let mut left = bytes as f64 * 8.0;
        loop {
            while at >= self.ends {
                self.segment += 1;
                self.begin();
            }
            let span = self.ends - at;
            let fits = self.bits * span.as_secs_f64();
            if fits >= left {
                return at + Duration::from_secs_f64(left / self.bits);
            }
            left -= fits;
            at = self.ends;
        }
    }

    /// Returns the number of bits that can pass from `from` to `to`. `from` must not decrease from call to call.
    pub(crate) fn bits_between(&mut self, from: Duration, to: Duration) -> f64 {
        let (mut at, mut bits) = (from, 0.0);
        while at < to {
            while at >= self.ends {
                self.segment += 1;
                self.begin();
            }
            let end = self.ends.min(to);
            bits += self.bits * (end - at).as_secs_f64();
            at = end;
        }
        bits
    }

    /// Begins the current segment.
    fn begin(&mut self) {
        let (high, low) = (self.high_bits.max(1) as f64, self.variation.lowest(self.high_bits).max(1) as f64);
        let began = self.ends;
        let length = match self.variation {
            Variation::Constant => Duration::MAX,
            Variation::Square { high: long, low: short, .. } => {
                let is_high = self.segment.is_multiple_of(2);
                self.bits = if is_high { high } else { low };
                if is_high { long } else { short }
            }
            Variation::Sawtooth { period, .. } => {
                let steps = (period.as_nanos() / RAMP_STEP.as_nanos()).max(2) as u64;
                let share = (self.segment % steps) as f64 / (steps - 1) as f64;
                self.bits = low + (high - low) * share;
                period / steps as u32
            }
            Variation::Walk { every, .. } => {
                if self.segment > 0 {
                    let factor = if self.random.percent(50) { WALK_FACTOR } else { WALK_FACTOR.recip() };
                    self.bits = (self.bits * factor).clamp(low, high);
                }
                every
            }
        };
        self.ends = began.saturating_add(length.max(Duration::from_millis(1)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn packets_that_wait_when_the_capacity_falls_leave_at_the_lower_one() {
        let square = Variation::Square { low_bits: 1_000_000, high: 100 * MS, low: 100 * MS };
        let mut capacity = Capacity::new(4_000_000, square, 1);
        assert_eq!(capacity.passed(Duration::ZERO, 1_000), 2 * MS);
        // In 20 ms at 4 Mbit/s, 10,000 bytes pass. The other 5,000 bytes take 40 ms at 1 Mbit/s.
        assert_eq!(capacity.passed(80 * MS, 15_000), 140 * MS);
        assert_eq!(capacity.passed(220 * MS, 1_000), 222 * MS);
    }

    #[test]
    fn a_random_walk_stays_between_its_bounds_and_reaches_both() {
        let walk = Variation::Walk { low_bits: 500_000, every: 100 * MS };
        let mut capacity = Capacity::new(4_000_000, walk, 7);
        let mut seen = [f64::INFINITY, 0.0];
        for step in 0..3_000 {
            let start = step * 100 * MS;
            let bits = 800.0 / (capacity.passed(start, 100) - start).as_secs_f64();
            seen = [seen[0].min(bits), seen[1].max(bits)];
        }
        assert!((499_000.0..501_000.0).contains(&seen[0]), "{seen:?}");
        assert!((3_990_000.0..4_010_000.0).contains(&seen[1]), "{seen:?}");
    }

    #[test]
    fn bits_between_two_times_are_those_of_all_segments() {
        let square = Variation::Square { low_bits: 1_000_000, high: 100 * MS, low: 100 * MS };
        let bits = |from, to| Capacity::new(4_000_000, square, 1).bits_between(from * MS, to * MS);
        assert!((bits(0, 200) - 500_000.0).abs() < 1.0);
        assert!((bits(50, 350) - 750_000.0).abs() < 1.0, "{}", bits(50, 350));
        let ramp = Variation::Sawtooth { low_bits: 1_000_000, period: 1_000 * MS };
        let bits = Capacity::new(3_000_000, ramp, 1).bits_between(Duration::ZERO, 10_000 * MS);
        assert!((bits / 10.0 - 2_000_000.0).abs() < 1_000.0, "{bits}");
    }
}
