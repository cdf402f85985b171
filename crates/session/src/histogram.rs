//! Percentiles in constant memory.

use std::time::Duration;

/// Counts durations in 64 buckets, four for each doubling from 0.25 ms on. A percentile is therefore right within 19 %.
#[derive(Clone, Debug)]
pub struct Histogram {
    counts: [u32; BUCKETS],
    total: u64,
}

const BUCKETS: usize = 64;
const FIRST_MICROS: u64 = 250;
const PER_DOUBLING: usize = 4;
/// 2^(1/4), 2^(2/4) and 2^(3/4), in 65,536ths.
const QUARTERS: [u64; PER_DOUBLING - 1] = [77_936, 92_682, 110_218];

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: [0; BUCKETS], total: 0 }
    }
}

impl Histogram {
    /// Counts one duration.
    pub fn record(&mut self, duration: Duration) {
        let bucket = bucket_of(duration.as_micros() as u64);
        let count = &mut self.counts[bucket.min(BUCKETS - 1)];
        *count = count.saturating_add(1);
        self.total += 1;
    }

    /// Returns the number of recorded values.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The buckets that counted a value: the upper bound, and the count.
    pub fn buckets(&self) -> impl Iterator<Item = (Duration, u32)> {
        let counts = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        counts.map(|(bucket, count)| (upper_bound(bucket), *count))
    }

    /// An upper bound of the `fraction` (0 to 1) quantile; `None` if nothing was counted.
    pub fn quantile(&self, fraction: f64) -> Option<Duration> {
        let rank = (fraction.clamp(0.0, 1.0) * self.total as f64).ceil().max(1.0) as u64;
        let mut below = 0;
        let bucket = self.counts.iter().position(|&count| {
            below += u64::from(count);
            below >= rank
        })?;
        Some(upper_bound(bucket))
    }
}

fn upper_bound(bucket: usize) -> Duration {
    Duration::from_micros((FIRST_MICROS as f64 * 2f64.powf(bucket as f64 / PER_DOUBLING as f64)) as u64)
}

/// Returns the number of quarter doublings from the first bucket to `micros`, rounded up.
fn bucket_of(micros: u64) -> usize {
    const LONGEST: u64 = 1 << 40;
    let micros = micros.min(LONGEST);
    if micros <= FIRST_MICROS {
        return 0;
    }
    // How often `FIRST_MICROS` can be doubled below `micros`, and how many quarters of the next doubling are reached.
    let doublings = ((micros - 1) / FIRST_MICROS).ilog2();
    let begin = FIRST_MICROS << doublings;
    let quarters = QUARTERS.iter().filter(|&&quarter| micros << 16 > begin * quarter).count();
    doublings as usize * PER_DOUBLING + quarters + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_bound_the_recorded_values() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.quantile(0.5), None);
        (1..=1_000).for_each(|millis| histogram.record(Duration::from_millis(millis)));
        for (fraction, millis) in [(0.5, 500.0), (0.99, 990.0), (1.0, 1_000.0)] {
            let found = histogram.quantile(fraction).unwrap().as_secs_f64() * 1e3;
            assert!((millis..millis * 1.2).contains(&found), "{fraction}: {found}");
        }
        let counted: u64 = histogram.buckets().map(|(_, count)| u64::from(count)).sum();
        assert_eq!(counted, 1_000);
        assert!(histogram.buckets().is_sorted_by(|a, b| a.0 < b.0));
    }
}
