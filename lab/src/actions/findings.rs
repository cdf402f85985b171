//! The report of `lab actions`.

use super::{Measured, Plan};
use crate::crash::ledger::Tally;
use crate::report::{Cell, Column, Report, Section, Table};

/// Returns one line for people who watch the run.
pub(super) fn line(one: &Measured) -> String {
    let mut per_second = one.per_second.clone();
    format!(
        "{}, {} clients with {} under way: {:.0} a second, p50 {:.1} ms, p99 {:.1} ms; processors busy: server {:.2}, nats-servers {:.2}, clients {:.2}",
        one.store.name(),
        one.load.clients,
        one.load.under_way,
        per_second.quantile(0.5),
        one.waits.value_at_quantile(0.5) as f64 / 1e3,
        one.waits.value_at_quantile(0.99) as f64 / 1e3,
        one.busy.server,
        one.busy.nats,
        one.busy.clients,
    )
}

pub(super) fn report(plan: &Plan, measured: &mut [Measured]) -> Report {
    let mut report = Report::new("Durable actions a second", plan.command.clone()).seed(plan.seed);
    if !report.machine.release_build {
        report.note("This is a DEBUG build: its times are not valid. The numbers of lost and doubled actions do not depend on the build.");
    }
    for (trouble, times) in measured.iter().flat_map(|one| &one.troubles) {
        report.note(format!("Clients met {times} times: {trouble}"));
    }
    report.section(of_speed(plan, measured));
    report.section(of_kills(measured));
    report
}

fn of_speed(plan: &Plan, measured: &mut [Measured]) -> Section {
    let mut section = Section::new("Confirmed durable actions");
    section.text(format!(
        "The program `nowcast serve` with clients on sessions over WebSocket, which all run on one thread of the instrument. Each client sends the next action when one is confirmed. Each sample of the rate has {:.0} s, and the server is killed after each. The processors are those that were busy on average.",
        plan.measured.as_secs_f64()
    ));
    let mut table = Table::new(vec![
        Column::text("store"),
        Column::number("clients", ""),
        Column::number("under way at each", ""),
        Column::number("confirmed a second", ""),
        Column::number("lowest", ""),
        Column::number("highest", ""),
        Column::number("confirmation p50", "ms"),
        Column::number("p99", "ms"),
        Column::number("server", "processors"),
        Column::number("nats-servers", "processors"),
        Column::number("clients", "processors"),
        Column::number("confirmations", ""),
    ]);
    for one in measured {
        let wait = |share: f64| Cell::number(one.waits.value_at_quantile(share) as f64 / 1e3, 1);
        let mut row = vec![
            Cell::text(one.store.name()),
            Cell::count(one.load.clients.into()),
            Cell::count(one.load.under_way),
        ];
        row.extend([0.5, 0.0, 1.0].map(|share| Cell::number(one.per_second.quantile(share), 0)));
        row.extend([wait(0.5), wait(0.99)]);
        row.extend([one.busy.server, one.busy.nats, one.busy.clients].map(|busy| Cell::number(busy, 2)));
        row.push(count(one.waits.len()));
        table.row(row);
    }
    section.table(table);
    section
}

fn of_kills(measured: &[Measured]) -> Section {
    let mut section = Section::new("After the kills");
    section.text(
        "Each kill is a SIGKILL while all clients wait for confirmations. Then the next server shows the counts of its rules. Each confirmed action has to be in them, and each action only once. Actions without an answer are sent again with their numbers.",
    );
    let mut table = Table::new(vec![
        Column::text("store"),
        Column::number("clients", ""),
        Column::number("under way at each", ""),
        Column::number("kills", ""),
        Column::number("confirmed", "actions"),
        Column::number("lost", "actions"),
        Column::number("doubled", "actions"),
        Column::number("no answer, kept", "actions"),
        Column::number("no answer, undone", "actions"),
    ]);
    for one in measured {
        let Tally { confirmed, lost, doubled, kept_unanswered, undone } = one.tally;
        let mut row = vec![
            Cell::text(one.store.name()),
            Cell::count(one.load.clients.into()),
            Cell::count(one.load.under_way),
            Cell::count(one.kills as usize),
        ];
        row.extend([confirmed, lost, doubled, kept_unanswered, undone].map(count));
        table.row(row);
    }
    section.table(table);
    section
}

fn count(number: u64) -> Cell {
    Cell::count(usize::try_from(number).unwrap_or(usize::MAX))
}
