//! Stores millions of ages in little memory.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Resolution of the ages. 0.1 ms is finer than the frame of any program that shows something.
const NS_A_STEP: u64 = 100_000;

/// Counts of each age, in steps of 0.1 ms.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Ages(BTreeMap<u64, u64>);

impl Ages {
    /// Adds an age.
    pub fn push(&mut self, ns: u64) {
        *self.0.entry(ns / NS_A_STEP).or_default() += 1;
    }

    /// Number of ages.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.0.values().sum()
    }

    /// Whether there are no ages.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the age in ms that a share `p` of all ages does not exceed, rounded up to a step. Returns infinity if there are no
    /// ages.
    #[must_use]
    pub fn quantile(&self, p: f64) -> f64 {
        let rank = ((p * self.len() as f64).ceil() as u64).max(1);
        let mut seen = 0;
        for (step, count) in &self.0 {
            seen += count;
            if seen >= rank {
                return (step + 1) as f64 * NS_A_STEP as f64 / 1e6;
            }
        }
        f64::INFINITY
    }

    /// Spreads `points` thresholds from the smallest to the largest age. Returns each threshold with the percentage of ages above it.
    #[must_use]
    pub fn share_above(&self, points: usize) -> Vec<(f64, f64)> {
        let all = self.len() as f64;
        let every = (self.0.len() / points.max(1)).max(1);
        let mut above = self.len();
        let mut shares = Vec::new();
        for (index, (step, count)) in self.0.iter().enumerate() {
            above -= count;
            if index % every == 0 || above == 0 {
                shares.push(((step + 1) as f64 * NS_A_STEP as f64 / 1e6, 100.0 * above as f64 / all));
            }
        }
        shares
    }

    /// Adds the ages of another run.
    pub fn merge(&mut self, other: &Ages) {
        for (step, count) in &other.0 {
            *self.0.entry(*step).or_default() += count;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_exact_to_one_step() {
        let mut ages = Ages::default();
        (1..=1000).for_each(|ms| ages.push(ms * 1_000_000));
        for (p, expected) in [(0.5, 500.0), (0.99, 990.0), (0.999, 999.0), (1.0, 1000.0)] {
            assert!((ages.quantile(p) - expected).abs() <= 0.11, "{p}: {}", ages.quantile(p));
        }
        assert!(Ages::default().quantile(0.5).is_infinite());
    }
}
