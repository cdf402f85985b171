//! The report of `lab ipc`.

use super::measure::has_rate;
use super::syscalls::Counted;
use super::{Measured, Plan};
use crate::local::child::PHASES;
use crate::local::{Carrier, LocalError};
use crate::report::{BarChart, Cell, Chart, Column, Report, Samples, Section, Table};

pub(super) fn report(
    plan: &Plan,
    rounds: usize,
    mut round_trips: Samples,
    mut results: Vec<Measured>,
    syscalls: Vec<Result<Counted, LocalError>>,
) -> Report {
    let quick = if plan.quick { " --quick" } else { "" };
    let command = format!("cargo xtask lab ipc --rounds {}{quick}", plan.rounds);
    let mut report = Report::new("Between two processes", command);
    if rounds < plan.rounds {
        report
            .note(format!("The machine was busy, so only {rounds} of {} rounds were measured.", plan.rounds));
    }
    let trips = round_trips.summary();
    report.note(format!(
        "A cache line took {:.0} ns to the other core and back (median of {}; {:.0} to {:.0}). Cores of a virtual machine are near (about 115 ns) or far (about 550 ns) by chance, and change their places. Figures are separated by a limit of {:.0} ns.",
        trips.median,
        trips.samples,
        trips.min,
        trips.max,
        super::NEAR_NS
    ));
    report.note(
        "Messages of 80 bytes (time, number, 16 floats), every one checked on arrival. Sender and receiver are processes \
         pinned to two cores; figures are medians over the rounds, in which all take turns.",
    );
    report.section(latency(plan, &mut results));
    report.section(rates(&mut results));
    report.section(calls(syscalls));
    report
}

fn latency(plan: &Plan, results: &mut [Measured]) -> Section {
    let mut section = Section::new("One way");
    section.text(format!(
        "The next message leaves 1 µs after the previous one was taken, so nothing queues ({} messages a round), or every millisecond. \"Woken\": the receiver sleeps by the carrier's own means until the message arrives. Near and far: the distance of the cores when a round of this carrier began.",
        if plan.quick { "2,000" } else { "20,000" }
    ));
    let mut table = Table::new(vec![
        Column::text("through"),
        Column::number("near p50", "ns"),
        Column::number("near p99", "ns"),
        Column::number("far p50", "ns"),
        Column::number("far p99", "ns"),
        Column::number("1 kHz p50", "ns"),
        Column::number("woken p50", "µs"),
        Column::number("woken p99", "µs"),
    ]);
    for result in results.iter_mut() {
        table.row(vec![
            Cell::text(result.carrier.name()),
            middle(&mut result.awake_p50.near, 1.0, 0),
            middle(&mut result.awake_p99.near, 1.0, 0),
            middle(&mut result.awake_p50.far, 1.0, 0),
            middle(&mut result.awake_p99.far, 1.0, 0),
            middle(&mut result.khz_p50, 1.0, 0),
            middle(&mut result.woken_p50, 1e3, 1),
            middle(&mut result.woken_p99, 1e3, 1),
        ]);
    }
    let awake = BarChart::from_table("One way, both awake", "ns", &some(&table, 5), 0, &[1, 2, 3, 4]);
    section.chart(Chart::Bars(awake.log()));
    let woken =
        BarChart::from_table("One way, receiver woken from sleep", "µs", &some(&table, 6), 0, &[6, 7]);
    section.chart(Chart::Bars(woken.log()));
    section.table(table);
    section.table(ratios(results));
    section
}

fn middle(samples: &mut Samples, unit: f64, decimals: usize) -> Cell {
    if samples.is_empty() { Cell::Missing } else { Cell::number(samples.quantile(0.5) / unit, decimals) }
}

/// Returns the rows that have a figure in a column.
fn some(table: &Table, column: usize) -> Table {
    let mut rows = Table::new(table.columns.clone());
    for row in table.rows.iter().filter(|row| row[column].value().is_some()) {
        rows.row(row.clone());
    }
    rows
}

/// Compares our queue with the limit, in the same run and with the cores at the same distance.
fn ratios(results: &mut [Measured]) -> Table {
    use Carrier::{Events, Futex, Mailbox, Updates};
    type Of = fn(&mut Measured) -> &mut Samples;
    let mut table =
        Table::new(vec![Column::text("ratio"), Column::number("near", ""), Column::number("far", "")]);
    let mut ratio = |ours: Carrier, limit: Carrier, of: Of| {
        let mut figure = |carrier| {
            let samples = of(results.iter_mut().find(|result| result.carrier == carrier)?);
            (!samples.is_empty()).then(|| samples.quantile(0.5))
        };
        match (figure(ours), figure(limit)) {
            (Some(ours), Some(limit)) => Cell::number(ours / limit, 2),
            _ => Cell::Missing,
        }
    };
    let mut row = |text: &str, near: Cell, far: Cell| {
        table.row(vec![Cell::text(text), near, far]);
    };
    row(
        "awake p50: updates to raw mailbox",
        ratio(Updates, Mailbox, |result| &mut result.awake_p50.near),
        ratio(Updates, Mailbox, |result| &mut result.awake_p50.far),
    );
    row(
        "awake p99: updates to raw mailbox",
        ratio(Updates, Mailbox, |result| &mut result.awake_p99.near),
        ratio(Updates, Mailbox, |result| &mut result.awake_p99.far),
    );
    let woken: Of = |result| &mut result.woken_p50;
    row(
        "woken p50, any distance: updates to bare futex",
        ratio(Updates, Futex, woken),
        ratio(Updates, Futex, woken),
    );
    row(
        "woken p50, any distance: events to bare futex",
        ratio(Events, Futex, woken),
        ratio(Events, Futex, woken),
    );
    table
}

fn rates(results: &mut [Measured]) -> Section {
    let mut section = Section::new("How many");
    section.text(
        "One writer and one reader on the other core, both at full speed. If only the newest message counts, a reader need not see all messages; otherwise each one is delivered. Medians over slices of 1 ms in which both ran and neither was interrupted for other programs.",
    );
    let mut table = Table::new(vec![
        Column::text("through"),
        Column::number("near, written", "million/s"),
        Column::number("near, read", "million/s"),
        Column::number("far, written", "million/s"),
        Column::number("far, read", "million/s"),
    ]);
    for result in results.iter_mut().filter(|result| has_rate(result.carrier)) {
        // Messages in flight at the edges of a slice cause small differences between written and read messages.
        let replaces = result.carrier.replaces();
        let Measured { written, read, .. } = result;
        let counted = if replaces { &mut *written } else { &mut *read };
        let [near, far] = [&mut counted.near, &mut counted.far].map(|samples| middle(samples, 1e6, 2));
        let [read_near, read_far] = [&mut read.near, &mut read.far].map(|samples| middle(samples, 1e6, 2));
        table.row(vec![Cell::text(result.carrier.name()), near, read_near, far, read_far]);
    }
    section.chart(Chart::Bars(BarChart::from_table(
        "Messages a second",
        "million/s",
        &table,
        0,
        &[1, 2, 3, 4],
    )));
    section.table(table);
    section
}

fn calls(syscalls: Vec<Result<Counted, LocalError>>) -> Section {
    let mut section = Section::new("System calls of the sender");
    section.text(
        "Counted with ptrace, which stops the sending thread at every system call. The Unix socket shows that the counting works.",
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
