//! The report of `lab freshness` on real links.

use std::collections::BTreeMap;

use super::plan::{Case, Measured, Plan};
use super::stream::{EVENT_BYTES, KEYS, STATE_BYTES};
use crate::peers::Peer;
use crate::report::{
    Axis, BarChart, Cell, Chart, Column, LineChart, Report, Samples, Section, Series, Table,
};

/// Maximum number of points of a curve.
const POINTS: usize = 150;

pub(super) fn notes(plan: &Plan, rate_hz: u32, report: &mut Report) {
    report.note(format!(
        "{KEYS} keys of {STATE_BYTES} bytes at {rate_hz} Hz and 10 events of {EVENT_BYTES} bytes a second, one way. The reader samples about {rate_hz} times a second, with a drifting phase. Age of state: at every sample, for every key, now minus the time at which the shown value was produced. Latency of events: from the put to the sample. {} s each after a warm-up. Runs of each: {}, with seeds {}, {} and so on: medians, and the lowest and highest run in brackets.",
        plan.measured.as_secs(),
        plan.seeds,
        plan.seed,
        plan.seed + 1_000,
    ));
    report.note(
        "The loss is that of round trips; every direction loses about half of it. States are put in a rotating order, because on a narrow link a fixed order starves the last keys. A program that writes to a plain socket waits while the socket is full, and misses ticks meanwhile. † the relay was late even when the run was repeated.",
    );
    report.note(crate::peers::note_on_tcp());
}

pub(super) fn section(case: &Case, peers: &[Peer], measured: &BTreeMap<usize, Measured>) -> Section {
    let mut section = Section::new(case.name);
    let mut columns = vec![
        Column::text("through"),
        Column::number("age p50", "ms"),
        Column::number("age p99", "ms"),
        Column::number("age p99.9", "ms"),
        Column::number("event p50", "ms"),
        Column::number("event p99", "ms"),
        Column::number("event p99.9", "ms"),
        Column::number("worst event", "ms"),
        Column::number("events lost", ""),
    ];
    let has_outage = !case.link.outages.is_empty();
    if has_outage {
        // The chart below refers to these columns by their positions.
        columns.push(Column::number("state current after", "ms"));
        columns.push(Column::number("events in after", "ms"));
    }
    if case.link.rate_bits.is_some() {
        columns.push(Column::number("of the link used", "%"));
    }
    if case.beside.is_some() {
        columns.push(Column::number("by the bulk transfer", "%"));
    }
    columns.push(Column::number("ticks missed", ""));
    columns.push(Column::number("on the link", "kB/s"));
    columns.push(Column::number("back", "kB/s"));
    let mut table = Table::new(columns);
    for (place, measured) in measured {
        table.row(row(case, peers[*place], measured, table.columns.len()));
        if let Some(error) = &measured.error {
            section.text(error.clone());
        }
    }
    let (title, shown) = if has_outage {
        (format!("{}: until all is well again", case.name), [9, 10])
    } else {
        (format!("{}: p99", case.name), [2, 5])
    };
    section.chart(Chart::Bars(BarChart::from_table(title, "ms", &table, 0, &shown).log()));
    section.chart(ages(case, peers, measured));
    section.table(table);
    section
}

fn row(case: &Case, peer: Peer, measured: &Measured, columns: usize) -> Vec<Cell> {
    let name = if measured.late > 0 { format!("{} †", peer.name()) } else { peer.name().into() };
    let mut row = vec![Cell::text(name)];
    if measured.runs.is_empty() {
        row.resize(columns, Cell::Missing);
        return row;
    }
    let range = |mut figures: Samples, decimals| Cell::range(figures.summary(), decimals);
    for p in [0.5, 0.99, 0.999] {
        row.push(range(measured.over(|run| run.received.ages.quantile(p)), 1));
    }
    for p in [0.5, 0.99, 0.999, 1.0] {
        row.push(range(measured.over(|run| run.received.events.quantile(p)), 1));
    }
    row.push(range(measured.over(|run| run.received.events_lost.into()), 0));
    if !case.link.outages.is_empty() {
        let or_never = |ms: Option<f64>| ms.unwrap_or(f64::INFINITY);
        row.push(range(measured.over(|run| or_never(run.received.current_after_outage_ms)), 0));
        row.push(range(measured.over(|run| or_never(run.received.events_after_outage_ms)), 0));
    }
    if let Some(bits) = case.link.rate_bits {
        let mean = case.link.variation.mean(bits);
        let used = |place: usize| {
            mean.map_or(Cell::Missing, |mean| {
                range(measured.over(|run| 800.0 * run.bytes_per_second[place] / mean), 1)
            })
        };
        row.push(used(0));
        if case.beside.is_some() {
            row.push(used(2));
        }
    }
    row.push(range(measured.over(|run| run.ticks_missed.into()), 0));
    row.push(range(measured.over(|run| run.bytes_per_second[0] / 1e3), 1));
    row.push(range(measured.over(|run| run.bytes_per_second[1] / 1e3), 1));
    row
}

/// Draws the share of samples whose age is above a limit.
fn ages(case: &Case, peers: &[Peer], measured: &BTreeMap<usize, Measured>) -> Chart {
    let series =
        measured.iter().filter(|(_, measured)| !measured.runs.is_empty()).map(|(place, measured)| Series {
            name: peers[*place].name().into(),
            values: measured.ages().share_above(POINTS),
        });
    Chart::Lines(LineChart {
        title: format!("{}: share of shown values that are older", case.name),
        x: Axis::log("age of state", "ms"),
        y: Axis::log("samples with an older value", "%"),
        series: series.collect(),
    })
}
