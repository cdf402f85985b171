//! Histograms of several peers, one above the other, over a common axis.

use std::fmt::Write;

use super::drawing::{SERIES_MAX, Scale, WIDTH, axis_name, label_room, open, short};
use super::escape::escape;
use super::{Axis, Series};

/// One histogram for every row. All share the horizontal axis. Heights are logarithmic, so that one late message in a thousand is
/// visible.
#[derive(Debug, Clone)]
pub struct HistogramChart {
    /// The title.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// A value at which a line is drawn, and the name of this value.
    pub mark: Option<(f64, String)>,
    /// The measurements.
    pub rows: Vec<Series<f64>>,
}

const BINS: usize = 120;
const ROW_HEIGHT: f64 = 34.0;
const ROW_GAP: f64 = 10.0;

pub(super) fn render(out: &mut String, chart: &HistogramChart) {
    let values = || chart.rows.iter().flat_map(|row| row.values.iter().copied());
    let marks = chart.mark.iter().map(|(value, _)| *value);
    let Some(scale) = Scale::close(values().chain(marks), chart.x.log) else { return };
    open(out, &chart.title, "heights are logarithmic: messages in each of 120 bins", &[]);
    let left = label_room(chart.rows.iter().map(|row| row.name.as_str()));
    let right = WIDTH - 20.0;
    let bottom = (ROW_HEIGHT + ROW_GAP) * chart.rows.len() as f64 + 14.0;
    let _ = write!(
        out,
        "<svg viewBox=\"0 0 {WIDTH} {:.0}\" role=\"img\" aria-label=\"{}\">",
        bottom + 38.0,
        escape(&chart.title)
    );
    for tick in scale.ticks() {
        let x = scale.place(tick, left, right);
        let _ = write!(
            out,
            "<line class=\"grid\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"14\" y2=\"{bottom:.1}\"/>\
             <text class=\"soft\" x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            bottom + 14.0,
            short(tick)
        );
    }
    let _ = write!(
        out,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
        f64::midpoint(left, right),
        bottom + 32.0,
        escape(&axis_name(&chart.x))
    );
    let width = (right - left) / BINS as f64;
    for (at, row) in chart.rows.iter().enumerate() {
        let base = 14.0 + (ROW_HEIGHT + ROW_GAP) * (at + 1) as f64 - ROW_GAP / 2.0;
        let _ = write!(
            out,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>\
             <line class=\"grid\" x1=\"{left:.1}\" x2=\"{right:.1}\" y1=\"{base:.1}\" y2=\"{base:.1}\"/>",
            left - 8.0,
            base - 8.0,
            escape(&row.name)
        );
        let mut counts = [0u32; BINS];
        for &value in row.values.iter().filter(|value| value.is_finite()) {
            counts[(scale.place(value, 0.0, BINS as f64) as usize).min(BINS - 1)] += 1;
        }
        let highest = f64::from(counts.iter().copied().max().unwrap_or(1).max(1)).ln_1p();
        for (bin, &count) in counts.iter().enumerate().filter(|&(_, &count)| count > 0) {
            let height = (f64::from(count).ln_1p() / highest * ROW_HEIGHT).max(2.0);
            let _ = write!(
                out,
                "<rect class=\"f{}\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{height:.1}\"><title>{count}</title></rect>",
                at % SERIES_MAX,
                left + bin as f64 * width,
                base - height,
                width - 0.6
            );
        }
    }
    if let Some((value, name)) = &chart.mark {
        let x = scale.place(*value, left, right);
        let _ = write!(
            out,
            "<line class=\"mark\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"14\" y2=\"{bottom:.1}\"/>\
             <text class=\"soft\" x=\"{x:.1}\" y=\"10\" text-anchor=\"middle\">{}</text>",
            escape(name)
        );
    }
    out.push_str("</svg></figure>");
}
