//! The report of `lab lag`: the paper's figures 8a and 8c.

use super::{CARRIERS, MESSAGES, Plan, Run, WORK_MS};
use crate::local::Carrier;
use crate::report::{Axis, Cell, Chart, Column, LineChart, Report, Samples, Section, Series, Table};

pub(super) fn report(plan: &Plan, runs: &[Run]) -> Report {
    let command = format!("cargo xtask lab lag --where local --runs {} --seed {}", plan.runs, plan.seed);
    let mut report = Report::new("Lag of the last message, as in the paper", command).seed(plan.seed);
    report.note(format!(
        "Section 6 of Kessler and Hodges, A Network Communication Protocol for Distributed Virtual Environment Systems (1996): {MESSAGES} messages of 80 bytes (time, id, 16 floats) are sent at once. The receiver, another process on this machine, reads up to ten, then works, and so on. {} runs each. The receiver's work is sleep, so runs can overlap, and only one sender sends at a time.",
        plan.runs
    ));
    report.note(
        "Queue of 1,024 entries, so 1,000 events fit; TCP with TCP_NODELAY and the system's buffers. Updates and \
         mailbox keep the newest message only.",
    );
    let spread = |pick: fn(&Run) -> f64| {
        move |carrier: Carrier, work_ms: u64| -> Samples {
            let of = runs.iter().filter(move |run| run.carrier == carrier && run.work_ms == work_ms);
            of.map(pick).collect()
        }
    };
    report.section(figure("Figure 8a: delay of the last message", "lag", "ms", 3, &spread(|run| run.lag_ms)));
    report.section(figure(
        "Figure 8c: how long sending takes",
        "time to send",
        "ms",
        3,
        &spread(|run| run.send_ms),
    ));
    report.section(figure(
        "Share of messages that were read",
        "read",
        "%",
        1,
        &spread(|run| 100.0 * run.read as f64 / MESSAGES as f64),
    ));
    report
}

fn figure(
    title: &str,
    what: &str,
    unit: &str,
    decimals: usize,
    samples: &dyn Fn(Carrier, u64) -> Samples,
) -> Section {
    let mut section = Section::new(title);
    section.text("Columns: the receiver's work between two reads. Medians, with the quartiles.");
    let mut columns = vec![Column::text("through")];
    columns.extend(WORK_MS.map(|work| Column::number(format!("{work} ms of work"), unit)));
    let mut table = Table::new(columns);
    let mut series = Vec::new();
    for carrier in CARRIERS {
        let mut row = vec![Cell::text(carrier.name())];
        let mut values = Vec::new();
        for work in WORK_MS {
            let summary = samples(carrier, work).summary();
            values.push((work as f64, summary.median));
            row.push(Cell::spread(summary, decimals));
        }
        table.row(row);
        series.push(Series { name: carrier.name().into(), values });
    }
    section.chart(Chart::Lines(LineChart {
        title: title.into(),
        x: Axis::linear("work between two reads", "ms"),
        y: if unit == "%" { Axis::linear(what, unit) } else { Axis::log(what, unit) },
        series,
    }));
    section.table(table);
    section
}
