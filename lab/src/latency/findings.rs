//! The report of `lab latency`.

use std::collections::BTreeMap;

use super::{Entry, Measured, ON_TIME, Plan, Setting};
use crate::report::{Axis, Cell, Chart, Column, HistogramChart, Report, Samples, Section, Series, Table};

pub(super) fn notes(plan: &Plan, report: &mut Report) {
    report.note(crate::peers::note_on_tcp());
    report.note(format!(
        "Messages of 64 bytes are sent without waiting, and echoed. On time: the echo arrives within the round-trip time plus {} ms. Runs of each: {}, with seeds {}, {} and so on: medians, and the lowest and highest run in brackets. The loss is that of round trips; every direction loses about half of it.",
        ON_TIME.as_millis(),
        plan.seeds,
        plan.seed,
        plan.seed + 1_000,
    ));
    report.note(
        "All hosts share one machine: real kernels in network namespaces, joined by a relay with a seeded link. The relay and the programs on the hosts run at real-time priority if the system allows it. A run in which the relay was late (p99.9 above 2 ms, or any packet above 20 ms) is repeated up to twice. Runs that are still late are marked †.",
    );
}

pub(super) fn section(
    setting: &Setting,
    entries: &[Entry],
    mut measured: BTreeMap<usize, Measured>,
) -> Section {
    let mut section = Section::new(sentence(&setting.describe()));
    let mut table = Table::new(vec![
        Column::text("through"),
        Column::number("on time", "%"),
        Column::number("p50", "ms"),
        Column::number("p90", "ms"),
        Column::number("p99", "ms"),
        Column::number("p99.9", "ms"),
        Column::number("max", "ms"),
        Column::number("not back", ""),
        Column::number("samples", ""),
    ]);
    let limit = (setting.rtt + ON_TIME).as_secs_f64() * 1e3;
    let mut rows = Vec::new();
    for (place, measured) in &mut measured {
        let entry = entries[*place];
        let name = if measured.late > 0 { format!("{} †", entry.name()) } else { entry.name() };
        if let Some(error) = &measured.error {
            section.text(format!("{}: {error}", entry.name()));
        }
        if measured.runs.is_empty() {
            let mut row = vec![Cell::text(name)];
            row.resize(table.columns.len(), Cell::Missing);
            table.row(row);
            continue;
        }
        let sent_each = measured.sent as f64 / measured.runs.len() as f64;
        let mut over_runs = |figure: &dyn Fn(&mut Samples) -> f64| -> Cell {
            let mut figures: Samples = measured.runs.iter_mut().map(figure).collect();
            Cell::range(figures.summary(), 1)
        };
        let on_time = over_runs(&|run| {
            100.0 * run.values().iter().filter(|&&ms| ms <= limit).count() as f64 / sent_each
        });
        let quantiles = [0.5, 0.9, 0.99, 0.999, 1.0].map(|p| over_runs(&|run| run.quantile(p)));
        let arrived: usize = measured.runs.iter().map(Samples::len).sum();
        let mut row = vec![Cell::text(name.clone()), on_time];
        row.extend(quantiles);
        row.extend([Cell::count(measured.sent - arrived), Cell::count(measured.sent)]);
        table.row(row);
        let all = measured.runs.iter().flat_map(|run| run.values().iter().copied()).collect();
        rows.push(Series { name, values: all });
    }
    section.chart(Chart::Histograms(HistogramChart {
        title: sentence(&setting.describe()),
        x: Axis::log("round trip", "ms"),
        mark: Some((limit, "on time".into())),
        rows,
    }));
    section.table(table);
    section
}

fn sentence(text: &str) -> String {
    let mut signs = text.chars();
    signs.next().map_or_else(String::new, |first| first.to_uppercase().chain(signs).collect())
}
