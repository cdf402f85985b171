//! Charts as inline SVG. Their colours come from the page's style, so one drawing serves light and dark mode.

use std::fmt::Write;

use super::drawing::{SERIES_MAX, Scale, WIDTH, axis_name, label_room, open, short};
use super::escape::escape;
use super::{BarChart, Chart, LineChart};

const BAR_HEIGHT: f64 = 15.0;
const GROUP_GAP: f64 = 9.0;
const PLOT_HEIGHT: f64 = 320.0;
/// Dash patterns of lines. If lines overlap, the lower ones are visible through the gaps of the upper ones.
const DASHES: [&str; 4] = ["none", "16 10", "3 7", "9 4 2 4"];

pub(super) fn render(out: &mut String, chart: &Chart) {
    match chart {
        Chart::Bars(chart) => bars(out, chart),
        Chart::Lines(chart) => plot(out, chart, line),
        Chart::Points(chart) => plot(out, chart, points),
        Chart::Histograms(chart) => super::histogram::render(out, chart),
    }
}

fn bars(out: &mut String, chart: &BarChart) {
    let values = || chart.series.iter().flat_map(|series| series.values.iter().flatten().copied());
    let Some(scale) = Scale::over(values().chain((!chart.log).then_some(0.0)), chart.log) else { return };
    let names: Vec<&str> = chart.series.iter().map(|series| series.name.as_str()).collect();
    let unit = if chart.log { format!("{}, logarithmic", chart.unit) } else { chart.unit.clone() };
    open(out, &chart.title, &unit, &names);
    let left = label_room(chart.labels.iter().map(String::as_str));
    // A value is written behind its bar and needs space there.
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

/// Draws one series of a chart. The arguments are the number of the series, and its points as coordinates.
type Draw = fn(&mut String, usize, &[(f64, f64)]);

fn plot(out: &mut String, chart: &LineChart, draw: Draw) {
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
        let shown = series.values.iter().filter(|&&(x, y)| x_scale.shows(x) && y_scale.shows(y));
        let place = |&(x, y): &(f64, f64)| (x_scale.place(x, left, right), y_scale.place(y, bottom, top));
        draw(out, at, &shown.map(place).collect::<Vec<_>>());
    }
    out.push_str("</svg></figure>");
}

fn line(out: &mut String, at: usize, places: &[(f64, f64)]) {
    let (class, dashes) = (at % SERIES_MAX, DASHES[at % DASHES.len()]);
    let _ = write!(out, "<polyline class=\"l{class}\" stroke-dasharray=\"{dashes}\" points=\"");
    for (x, y) in places {
        let _ = write!(out, "{x:.1},{y:.1} ");
    }
    out.push_str("\"/>");
}

fn points(out: &mut String, at: usize, places: &[(f64, f64)]) {
    for (x, y) in places {
        let _ = write!(out, "<circle class=\"f{}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\"/>", at % SERIES_MAX);
    }
}
