//! Common parts of all charts: space for names, legends, scales, and short figures.

use std::fmt::Write;

use super::Axis;
use super::escape::escape;
use super::stats::thousands;

/// Number of colours on the page. Further series use them again.
pub(super) const SERIES_MAX: usize = 10;

pub(super) const WIDTH: f64 = 1000.0;
/// Returns the space that is left free for labels on the left. In the font of 12 units, a letter is about 7 units wide.
pub(super) fn label_room<'a>(labels: impl Iterator<Item = &'a str>) -> f64 {
    let longest = labels.map(|label| label.chars().count()).max().unwrap_or(0);
    (longest as f64 * 7.0 + 16.0).min(380.0)
}

pub(super) fn open(out: &mut String, title: &str, unit: &str, names: &[&str]) {
    let unit = if unit.is_empty() { String::new() } else { format!(" ({unit})") };
    let _ = write!(
        out,
        "<figure><figcaption>{}{}</figcaption><div class=\"legend\">",
        escape(title),
        escape(&unit)
    );
    for (at, name) in names.iter().enumerate() {
        let _ = write!(out, "<span><i class=\"f{}\"></i>{}</span>", at % SERIES_MAX, escape(name));
    }
    out.push_str("</div>");
}

pub(super) fn axis_name(axis: &Axis) -> String {
    let mut notes: Vec<&str> = Vec::new();
    if !axis.unit.is_empty() {
        notes.push(&axis.unit);
    }
    if axis.log {
        notes.push("logarithmic");
    }
    if notes.is_empty() { axis.name.clone() } else { format!("{} ({})", axis.name, notes.join(", ")) }
}

/// Maps values to positions in the drawing.
pub(super) struct Scale {
    low: f64,
    high: f64,
    log: bool,
}

impl Scale {
    pub(super) fn over(values: impl Iterator<Item = f64>, log: bool) -> Option<Self> {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values.filter(|value| value.is_finite() && (!log || *value > 0.0)) {
            low = low.min(value);
            high = high.max(value);
        }
        if low > high {
            return None;
        }
        if log {
            // The scale consists of whole decades. There is some space below the smallest bar, so that it has a visible length.
            let (low, high) = (10f64.powf((low * 0.8).log10().floor()), 10f64.powf(high.log10().ceil()));
            return Some(Self { low, high: if high <= low { low * 10.0 } else { high }, log });
        }
        Some(Self { low, high: if high <= low { low + 1.0 } else { high }, log })
    }

    /// Makes a scale without the space that whole decades leave on a logarithmic axis.
    pub(super) fn close(values: impl Iterator<Item = f64>, log: bool) -> Option<Self> {
        let mut bounds: Option<(f64, f64)> = None;
        for value in values.filter(|value| value.is_finite() && (!log || *value > 0.0)) {
            let (low, high) = bounds.unwrap_or((value, value));
            bounds = Some((low.min(value), high.max(value)));
        }
        let (low, high) = bounds?;
        if log {
            return Some(Self { low: low * 0.9, high: high * 1.1, log });
        }
        Some(Self { low, high: if high <= low { low + 1.0 } else { high }, log })
    }

    pub(super) fn shows(&self, value: f64) -> bool {
        value.is_finite() && (!self.log || value > 0.0)
    }

    pub(super) fn place(&self, value: f64, from: f64, to: f64) -> f64 {
        let share = if self.log {
            (value.max(self.low) / self.low).log10() / (self.high / self.low).log10()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        from + share * (to - from)
    }

    pub(super) fn ticks(&self) -> Vec<f64> {
        if self.log {
            // The marks are at decades. If there are few decades, they are also at 2 and 5.
            let steps: &[f64] = if self.high / self.low > 2_000.0 { &[1.0] } else { &[1.0, 2.0, 5.0] };
            let decades = self.low.log10().floor() as i32..=self.high.log10().ceil() as i32;
            return decades
                .flat_map(|decade| steps.iter().map(move |step| step * 10f64.powi(decade)))
                .filter(|tick| *tick >= self.low * 0.999 && *tick <= self.high * 1.001)
                .collect();
        }
        let rough = (self.high - self.low) / 6.0;
        let power = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0]
            .into_iter()
            .map(|factor| factor * power)
            .find(|step| *step >= rough)
            .unwrap_or(rough);
        let first = (self.low / step).ceil() as i64;
        let last = (self.high / step).floor() as i64;
        (first..=last).map(|at| at as f64 * step).collect()
    }
}

/// Returns a figure with three significant digits, which is the precision of a chart.
pub(super) fn short(value: f64) -> String {
    let size = value.abs();
    let decimals = match size {
        _ if size == 0.0 || size >= 100.0 => 0,
        _ if size >= 10.0 => 1,
        _ if size >= 1.0 => 2,
        _ => (2 - size.log10().floor() as i32).clamp(0, 9) as usize,
    };
    let text = thousands(value, decimals);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}
