//! A steady stream of values for many keys, and each key's age at the receiver (law 5).

use std::time::Duration;

/// The lane of streams. Nothing else uses it.
pub(crate) const STREAM_LANE: u8 = 6;
/// Interval between two values of a key.
pub(crate) const STREAM_EVERY: Duration = Duration::from_millis(20);
/// Time that is not measured, because the sender finds its rate.
const WARM_UP: Duration = Duration::from_secs(1);
/// Maximum ratio of one key's mean age to all keys' mean age, before [`UNFAIR_ALLOWANCE`] is added.
const UNFAIR_MAX: f64 = 1.5;
/// Chance makes the mean ages of keys differ.
const UNFAIR_ALLOWANCE: f64 = 0.1;
/// If no key has this number of values, the sender is slow, and chance decides which key loses several values in a row.
const SHOWN_MIN: u32 = 75;

/// The ages of the keys of a stream.
#[derive(Debug)]
pub(crate) struct Stream {
    began: Duration,
    /// For each key, the time at which the newest value shown was put.
    newest: Vec<Duration>,
    /// For each key, the sum of its sampled ages in seconds.
    ages: Vec<f64>,
    samples: u32,
    /// For each key, the number of values shown.
    shown: Vec<u32>,
}

impl Stream {
    pub(crate) fn new(now: Duration, keys: u64) -> Self {
        let keys = keys as usize;
        Self { began: now, newest: vec![now; keys], ages: vec![0.0; keys], samples: 0, shown: vec![0; keys] }
    }

    /// Returns a value that is put at `now`.
    pub(crate) fn value(now: Duration, bytes: usize) -> Vec<u8> {
        let mut value = (now.as_micros() as u64).to_le_bytes().to_vec();
        value.resize(bytes.max(value.len()), 0);
        value
    }

    /// Records that a value was shown.
    pub(crate) fn got(&mut self, key: u64, value: &[u8]) {
        let micros = value.first_chunk().map_or(0, |word| u64::from_le_bytes(*word));
        let index = key as usize - 1;
        if let Some(newest) = self.newest.get_mut(index) {
            *newest = Duration::from_micros(micros).max(*newest);
            self.shown[index] += 1;
        }
    }

    /// Samples the age of each key.
    pub(crate) fn sample(&mut self, now: Duration) {
        if now < self.began + WARM_UP {
            return;
        }
        self.samples += 1;
        for (age, newest) in self.ages.iter_mut().zip(&self.newest) {
            *age += (now - *newest).as_secs_f64();
        }
    }

    /// Whether enough values were shown to check law 5.
    pub(crate) fn is_long(&self) -> bool {
        self.shown.iter().any(|&shown| shown >= SHOWN_MIN)
    }

    /// Checks law 5: no key is much older than the others.
    pub(crate) fn check(&self) -> Result<(), String> {
        let mean = |sum: f64| sum / f64::from(self.samples.max(1));
        let of_all = mean(self.ages.iter().sum()) / self.ages.len() as f64;
        let worst = self.ages.iter().copied().map(mean).fold(0.0, f64::max);
        if worst <= UNFAIR_MAX * of_all + UNFAIR_ALLOWANCE {
            return Ok(());
        }
        Err(format!(
            "law 5 broken: the mean age of a key is {worst:.3} s, and that of all keys {of_all:.3} s"
        ))
    }
}
