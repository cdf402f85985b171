//! A policer: a token bucket without a queue. Many operators and clouds limit a customer's rate in this way.

use std::time::Duration;

use crate::capacity::{Capacity, Variation};

/// The limit of a policer. A packet that finds too few tokens is dropped at once. No packet is delayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policer {
    /// The highest rate at which the bucket is refilled, in bits a second.
    pub rate_bits: u64,
    /// How that rate changes with time.
    pub variation: Variation,
    /// The size of the bucket, which is full at first. A larger packet never passes.
    pub bucket_bytes: usize,
}

/// The bucket of a policer.
#[derive(Debug)]
pub(crate) struct TokenBucket {
    rate: Capacity,
    bucket_bytes: usize,
    tokens: f64,
    filled_at: Duration,
}

impl TokenBucket {
    /// Makes a full bucket at time zero. `seed` determines the steps of a random walk.
    pub(crate) fn new(policer: Policer, seed: u64) -> Self {
        Self {
            rate: Capacity::new(policer.rate_bits, policer.variation, seed),
            bucket_bytes: policer.bucket_bytes,
            tokens: policer.bucket_bytes as f64,
            filled_at: Duration::ZERO,
        }
    }

    /// Whether a packet passes at `now`. `now` must not decrease from call to call.
    pub(crate) fn passes(&mut self, now: Duration, bytes: usize) -> bool {
        let filled = self.tokens + self.rate.bits_between(self.filled_at, now) / 8.0;
        self.tokens = filled.min(self.bucket_bytes as f64);
        self.filled_at = now;
        let passes = self.tokens >= bytes as f64;
        if passes {
            self.tokens -= bytes as f64;
        }
        passes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn a_bucket_passes_its_size_at_once_and_then_its_rate() {
        let square = Variation::Square { low_bits: 400_000, high: 1_000 * MS, low: 1_000 * MS };
        let policer = Policer { rate_bits: 800_000, variation: square, bucket_bytes: 10_000 };
        let mut bucket = TokenBucket::new(policer, 1);
        let mut passed = |from: u32, to: u32| {
            (from..to).map(|ms| (0..10).filter(|_| bucket.passes(ms * MS, 1_000)).count()).sum::<usize>()
        };
        assert_eq!(passed(0, 1), 10);
        assert_eq!(passed(1, 1_001), 100);
        assert_eq!(passed(1_001, 2_001), 50);
    }
}
