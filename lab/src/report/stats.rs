//! Medians, quantiles, and the formatting of numbers for people.

use serde::Serialize;

/// Measurements of one quantity.
#[derive(Debug, Clone, Default)]
pub struct Samples {
    values: Vec<f64>,
    sorted: bool,
}

impl Samples {
    /// Makes an empty set of samples.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a measurement.
    pub fn push(&mut self, value: f64) {
        self.values.push(value);
        self.sorted = false;
    }

    /// Adds the measurements of another set.
    pub fn merge(&mut self, other: Samples) {
        self.values.extend(other.values);
        self.sorted = false;
    }

    /// Returns the measurements, in an unspecified order.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Returns the number of samples.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there are no samples.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Returns the value below which a share `p` (0 to 1) of the samples lies, by the nearest rank. The result is always a
    /// measured value. Returns zero if there are no samples.
    pub fn quantile(&mut self, p: f64) -> f64 {
        if self.values.is_empty() {
            return 0.0;
        }
        if !self.sorted {
            self.values.sort_by(f64::total_cmp);
            self.sorted = true;
        }
        let rank = (p * self.values.len() as f64).ceil() as usize;
        self.values[rank.clamp(1, self.values.len()) - 1]
    }

    /// Returns the median, the quartiles, the tail and the extremes.
    pub fn summary(&mut self) -> Summary {
        Summary {
            median: self.quantile(0.5),
            quartile_low: self.quantile(0.25),
            quartile_high: self.quantile(0.75),
            p99: self.quantile(0.99),
            min: self.quantile(0.0),
            max: self.quantile(1.0),
            samples: self.values.len(),
        }
    }
}

impl FromIterator<f64> for Samples {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Self {
        Self { values: values.into_iter().collect(), sorted: false }
    }
}

/// The figures of [`Samples`] that are printed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Summary {
    /// The middle sample.
    pub median: f64,
    /// A quarter of the samples is at or below this value.
    pub quartile_low: f64,
    /// A quarter of the samples is at or above this value.
    pub quartile_high: f64,
    /// One in a hundred samples is above this value.
    pub p99: f64,
    /// The smallest sample.
    pub min: f64,
    /// The largest sample.
    pub max: f64,
    /// Number of samples.
    pub samples: usize,
}

/// Returns `value` with `decimals` digits after the point, and with commas between thousands.
pub fn thousands(value: f64, decimals: usize) -> String {
    let plain = format!("{:.decimals$}", value.abs());
    let (whole, rest) =
        plain.split_once('.').map_or((plain.as_str(), None), |(whole, rest)| (whole, Some(rest)));
    let mut out = String::new();
    if value < 0.0 && plain.bytes().any(|byte| (b'1'..=b'9').contains(&byte)) {
        out.push('-');
    }
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) && whole.bytes().all(|byte| byte.is_ascii_digit()) {
            out.push(',');
        }
        out.push(digit);
    }
    if let Some(rest) = rest {
        out.push('.');
        out.push_str(rest);
    }
    out
}
