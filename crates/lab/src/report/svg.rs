//! Charts as inline SVG whose colours come from the page's style, so that light and dark need one drawing.

use std::fmt::Write;

use super::html::escape;
use super::stats::thousands;
use super::{Axis, BarChart, Chart, LineChart};

/// How many colours the page has; further series repeat them.
pub(super) const SERIES_MAX: usize = 10;

pub(super) const WIDTH: f64 = 1000.0;
const BAR_HEIGHT: f64 = 15.0;
const GROUP_GAP: f64 = 9.0;
const PLOT_HEIGHT: f64 = 320.0;
/// Lines over each other stay visible: each leaves gaps through which those before it are seen.
const DASHES: [&str; 4] = ["none", "16 10", "3 7", "9 4 2 4"];

pub(super) fn render(out: &mut String, chart: &Chart) {
    match chart {
        Chart::Bars(chart) => bars(out, chart),
        Chart::Lines(chart) => lines(out, chart),
        Chart::Histograms(chart) => super::histogram::render(out, chart),
    }
}

/// How much is kept free for labels on the left: a letter is about 7 units wide in the 12-unit font.
pub(super) fn label_room<'a>(labels: impl Iterator<Item = &'a str>) -> f64 {
    let longest = labels.map(|label| label.chars().count()).max().unwrap_or(0);
    (longest as f64 * 7.0 + 16.0).min(380.0)
}

fn bars(out: &mut String, chart: &BarChart) {
    let values = || chart.series.iter().flat_map(|series| series.values.iter().flatten().copied());
    let Some(scale) = Scale::over(values().chain((!chart.log).then_some(0.0)), chart.log) else { return };
    let names: Vec<&str> = chart.series.iter().map(|series| series.name.as_str()).collect();
    let unit = if chart.log { format!("{}, logarithmic", chart.unit) } else { chart.unit.clone() };
    open(out, &chart.title, &unit, &names);
    let left = label_room(chart.labels.iter().map(String::as_str));
    // A value needs room behind its bar.
    let right = WIDTH - 90.0;
    let group = BAR_HEIGHT * chart.series.len() as f64 + GROUP_GAP;
    let height = group * chart.labels.len() as f64 + 24.0;
    let _ = write!(
        out,
        "<svg viewBox=\"0 0 {WIDTH} {height:.0}\" role=\"img\" aria-label=\"{}\">",
        escape(&chart.title)
    );
    for tick in scale.ticks() {
        let x = scale.place(tick, left, right);
        let _ = write!(
            out,
            "<line class=\"grid\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"0\" y2=\"{:.1}\"/>",
            height - 20.0
        );
        let _ = write!(
            out,
            "<text class=\"soft\" x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            height - 5.0,
            short(tick)
        );
    }
    for (row, label) in chart.labels.iter().enumerate() {
        let top = row as f64 * group;
        let middle = top + (group - GROUP_GAP) / 2.0 + 4.0;
        let _ = write!(
            out,
            "<text x=\"{:.1}\" y=\"{middle:.1}\" text-anchor=\"end\">{}</text>",
            left - 8.0,
            escape(label)
        );
        for (at, series) in chart.series.iter().enumerate() {
            let Some(value) = series.values[row] else { continue };
            let y = top + at as f64 * BAR_HEIGHT;
            let length = (scale.place(value, left, right) - left).max(1.5);
            let _ = write!(
                out,
                "<rect class=\"f{}\" x=\"{left:.1}\" y=\"{y:.1}\" width=\"{length:.1}\" height=\"{:.1}\" rx=\"2\"/>\
                 <text class=\"soft\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                at % SERIES_MAX,
                BAR_HEIGHT - 3.0,
                left + length + 5.0,
                y + 10.5,
                short(value)
            );
        }
    }
    out.push_str("</svg></figure>");
}

fn lines(out: &mut String, chart: &LineChart) {
    let points = || chart.series.iter().flat_map(|series| series.values.iter().copied());
    let x_scale = Scale::over(points().map(|point| point.0), chart.x.log);
    let y_scale =
        Scale::over(points().map(|point| point.1).chain((!chart.y.log).then_some(0.0)), chart.y.log);
    let (Some(x_scale), Some(y_scale)) = (x_scale, y_scale) else { return };
    let names: Vec<&str> = chart.series.iter().map(|series| series.name.as_str()).collect();
    open(out, &chart.title, "", &names);
    let (left, right, top, bottom) = (70.0, WIDTH - 20.0, 10.0, PLOT_HEIGHT - 45.0);
    let _ = write!(
        out,
        "<svg viewBox=\"0 0 {WIDTH} {PLOT_HEIGHT}\" role=\"img\" aria-label=\"{}\">",
        escape(&chart.title)
    );
    for tick in x_scale.ticks() {
        let x = x_scale.place(tick, left, right);
        let _ =
            write!(out, "<line class=\"grid\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{top}\" y2=\"{bottom}\"/>");
        let _ = write!(
            out,
            "<text class=\"soft\" x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            bottom + 16.0,
            short(tick)
        );
    }
    for tick in y_scale.ticks() {
        let y = y_scale.place(tick, bottom, top);
        let _ =
            write!(out, "<line class=\"grid\" x1=\"{left}\" x2=\"{right}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>");
        let _ = write!(
            out,
            "<text class=\"soft\" x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            left - 8.0,
            y + 4.0,
            short(tick)
        );
    }
    let middle = f64::midpoint(left, right);
    let _ = write!(
        out,
        "<text x=\"{middle}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
        PLOT_HEIGHT - 8.0,
        escape(&axis_name(&chart.x))
    );
    let centre = f64::midpoint(top, bottom);
    let _ = write!(
        out,
        "<text transform=\"translate(14 {centre}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
        escape(&axis_name(&chart.y))
    );
    for (at, series) in chart.series.iter().enumerate() {
        let (class, dashes) = (at % SERIES_MAX, DASHES[at % DASHES.len()]);
        let _ = write!(out, "<polyline class=\"l{class}\" stroke-dasharray=\"{dashes}\" points=\"");
        for &(x, y) in series.values.iter().filter(|&&(x, y)| x_scale.shows(x) && y_scale.shows(y)) {
            let _ = write!(out, "{:.1},{:.1} ", x_scale.place(x, left, right), y_scale.place(y, bottom, top));
        }
        out.push_str("\"/>");
    }
    out.push_str("</svg></figure>");
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

/// A mapping of values onto a stretch of the drawing.
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
            // Whole decades, with a little room so that the smallest bar still has a length.
            let (low, high) = (10f64.powf((low * 0.8).log10().floor()), 10f64.powf(high.log10().ceil()));
            return Some(Self { low, high: if high <= low { low * 10.0 } else { high }, log });
        }
        Some(Self { low, high: if high <= low { low + 1.0 } else { high }, log })
    }

    /// Without the room that whole decades leave on a logarithmic axis.
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

    fn shows(&self, value: f64) -> bool {
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
            // Decades, and with few of them also their 2 and 5.
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

/// A figure with three significant digits, which is what a chart can show.
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
