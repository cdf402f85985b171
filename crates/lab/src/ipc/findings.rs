//! The report of `lab ipc`.

use super::syscalls::Counted;
use super::{Measured, Plan};
use crate::local::child::PHASES;
use crate::local::{Carrier, LocalError};
use crate::report::{BarChart, Cell, Chart, Column, Report, Samples, Section, Table};

pub(super) fn report(
    plan: &Plan,
    mut round_trips: Samples,
    mut results: Vec<Measured>,
    syscalls: Vec<Result<Counted, LocalError>>,
) -> Report {
    let quick = if plan.quick { " --quick" } else { "" };
    let command = format!("nowcast lab ipc --rounds {}{quick}", plan.rounds);
    let mut report = Report::new("Between two processes", command);
    let trips = round_trips.summary();
    report.note(format!(
        "A cache line took {:.0} ns to the other core and back (median of {}; {:.0} to {:.0}). Cores of a virtual machine \
         are near (about 115 ns) or far (about 550 ns) by chance: compare figures within one run only.",
        trips.median, trips.samples, trips.min, trips.max
    ));
    report.note(
        "Messages of 80 bytes (time, number, 16 floats), every one checked on arrival. Sender and receiver are processes \
         pinned to two cores; figures are medians over the rounds, in which all take turns.",
    );
    report.section(latency(plan, trips.median, &mut results));
    report.section(rates(&mut results));
    report.section(calls(syscalls));
    report
}

fn latency(plan: &Plan, round_trip_ns: f64, results: &mut [Measured]) -> Section {
    let mut section = Section::new("One way");
    section.text(format!(
        "The next message leaves 1 µs after the one before was taken, so nothing queues ({} messages a round), or every \
         millisecond. \"Woken\": the receiver sleeps in the carrier's own way until the message comes.",
        if plan.quick { "5,000" } else { "50,000" }
    ));
    let mut table = Table::new(vec![
        Column::text("through"),
        Column::number("awake p50", "ns"),
        Column::number("awake p99", "ns"),
        Column::number("1 kHz p50", "ns"),
        Column::number("woken p50", "µs"),
        Column::number("woken p99", "µs"),
        Column::number("cache line there and back", "ns"),
    ]);
    let middle = |samples: &mut Samples, unit: f64, decimals| match samples.len() {
        0 => Cell::Missing,
        _ => Cell::number(samples.quantile(0.5) / unit, decimals),
    };
    for result in results.iter_mut() {
        table.row(vec![
            Cell::text(result.carrier.name()),
            middle(&mut result.awake_p50, 1.0, 0),
            middle(&mut result.awake_p99, 1.0, 0),
            middle(&mut result.khz_p50, 1.0, 0),
            middle(&mut result.woken_p50, 1e3, 1),
            middle(&mut result.woken_p99, 1e3, 1),
            Cell::number(round_trip_ns, 0),
        ]);
    }
    section.chart(Chart::Bars(
        BarChart::from_table("One way, both awake", "ns", &some(&table, 1), 0, &[1, 2]).log(),
    ));
    section.chart(Chart::Bars(
        BarChart::from_table("One way, receiver woken from sleep", "µs", &some(&table, 4), 0, &[4, 5]).log(),
    ));
    section.table(table);
    section.table(ratios(results));
    section
}

/// The rows that have a figure in a column.
fn some(table: &Table, column: usize) -> Table {
    let mut rows = Table::new(table.columns.clone());
    for row in table.rows.iter().filter(|row| row[column].value().is_some()) {
        rows.row(row.clone());
    }
    rows
}

/// Ours against the limit, in the same run.
fn ratios(results: &mut [Measured]) -> Table {
    let mut table = Table::new(vec![Column::text("against the limit"), Column::number("ratio", "")]);
    let mut figure = |carrier: Carrier, of: fn(&mut Measured) -> &mut Samples| {
        let found = results.iter_mut().find(|result| result.carrier == carrier)?;
        let samples = of(found);
        (!samples.is_empty()).then(|| samples.quantile(0.5))
    };
    let mut row = |text: &str, ours: Option<f64>, limit: Option<f64>| {
        let ratio = ours.zip(limit).map_or(Cell::Missing, |(ours, limit)| Cell::number(ours / limit, 2));
        table.row(vec![Cell::text(text), ratio]);
    };
    let (ours, raw) = (Carrier::Updates, Carrier::Mailbox);
    row(
        "awake p50: updates to raw mailbox",
        figure(ours, |r| &mut r.awake_p50),
        figure(raw, |r| &mut r.awake_p50),
    );
    row(
        "awake p99: updates to raw mailbox",
        figure(ours, |r| &mut r.awake_p99),
        figure(raw, |r| &mut r.awake_p99),
    );
    row(
        "woken p50: updates to bare futex",
        figure(ours, |r| &mut r.woken_p50),
        figure(Carrier::Futex, |r| &mut r.woken_p50),
    );
    row(
        "woken p50: events to bare futex",
        figure(Carrier::Events, |r| &mut r.woken_p50),
        figure(Carrier::Futex, |r| &mut r.woken_p50),
    );
    row(
        "updates written: to the blackboard's",
        figure(ours, |r| &mut r.per_second),
        figure(Carrier::Blackboard, |r| &mut r.per_second),
    );
    table
}

fn rates(results: &mut [Measured]) -> Section {
    let mut section = Section::new("How many");
    section.text(
        "One writer as fast as it can, one reader on the other core as fast as it can. Where only the newest message \
         counts: messages written. Elsewhere: messages delivered, every one of them. Medians over slices of 4 ms in \
         which both ran.",
    );
    let mut table = Table::new(vec![
        Column::text("through"),
        Column::text("counted"),
        Column::number("messages", "million/s"),
    ]);
    for result in results.iter_mut().filter(|result| !result.per_second.is_empty()) {
        table.row(vec![
            Cell::text(result.carrier.name()),
            Cell::text(if result.carrier.replaces() { "written" } else { "delivered" }),
            Cell::number(result.per_second.quantile(0.5) / 1e6, 2),
        ]);
    }
    section.chart(Chart::Bars(BarChart::from_table("Messages a second", "million/s", &table, 0, &[2])));
    section.table(table);
    section
}

fn calls(syscalls: Vec<Result<Counted, LocalError>>) -> Section {
    let mut section = Section::new("System calls of the sender");
    section.text(
        "Counted by following the sending thread with ptrace, which stops it at every system call; the Unix socket shows \
         that the counting works.",
    );
    let mut table = Table::new(vec![
        Column::text("through"),
        Column::text("while"),
        Column::number("messages", ""),
        Column::number("system calls", ""),
        Column::number("calls a message", ""),
    ]);
    for counted in syscalls {
        match counted {
            Ok(counted) => {
                for (phase, (sent, calls)) in counted.sent.into_iter().zip(counted.calls).enumerate() {
                    if sent > 0 {
                        table.row(vec![
                            Cell::text(counted.carrier.name()),
                            Cell::text(PHASES[phase]),
                            Cell::count(sent as usize),
                            Cell::count(calls as usize),
                            Cell::number(calls as f64 / sent as f64, 3),
                        ]);
                    }
                }
            }
            Err(error) => {
                section.text(format!("Not counted: {error}."));
            }
        }
    }
    section.table(table);
    section
}
