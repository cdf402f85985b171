//! The figures of a run.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::report::{BarChart, Cell, Chart, Column, Report, Section, Table};

use super::script::{NATS, ROOMS, SERVERS, Script};
use super::{CLIENTS, Faults, Lived};

/// The counts of all lives.
#[derive(Debug, Default)]
pub(super) struct Total {
    lives: usize,
    faults: BTreeMap<&'static str, usize>,
    confirmed: u64,
    shown: u64,
    sessions: u64,
    followed: u64,
    owners: u64,
    waits: Vec<Duration>,
    found: Vec<Duration>,
    has_small_disk: bool,
}

impl Total {
    pub(super) fn add(&mut self, script: &Script, lived: &Lived) {
        self.lives += 1;
        for event in &script.events {
            *self.faults.entry(event.fault.name()).or_default() += 1;
        }
        self.confirmed += lived.counts.confirmed;
        self.shown += lived.counts.shown;
        self.sessions += lived.counts.sessions;
        self.followed += lived.counts.followed;
        self.owners += lived.counts.owners;
        self.waits.extend(&lived.counts.waits);
        self.found.push(lived.found);
        self.has_small_disk |= lived.has_small_disk;
    }
}

pub(super) fn report(
    run: &Faults,
    command: String,
    total: &Total,
    time: Duration,
    failure: Option<&str>,
) -> Report {
    let mut report = Report::new("A cluster under real faults", command).seed(run.seed);
    report.note(match failure {
        Some(failure) => format!("A promise was broken: {failure}"),
        None => "No promise was broken.".to_owned(),
    });
    if !total.has_small_disk {
        report.note("The disk of the first nats-server could not be made small, so fill-disk had no effect. It needs root.");
    }
    let mut section = Section::new("Lives");
    section.text(format!(
        "Each life has {NATS} nats-servers, {SERVERS} servers (nowcast serve --cluster), {ROOMS} rooms and {} clients on sessions over \
         WebSocket, all on one machine. Gates of the lab stand between the servers and NATS, and between the nats-servers. Afterwards \
         everything is repaired, each client must count again, and the owners are read from the journals.",
        ROOMS * CLIENTS
    ));
    section.text(
        "Checks: an action is confirmed with exactly its count; a session never shows a smaller count than was confirmed before it \
         began, or than it has shown, nor a greater one than was sent; the epochs of a journal rise; each room is found again.",
    );
    let mut table = Table::new(vec![Column::text("figure"), Column::number("value", "")]);
    let (waits, found) = (sorted(&total.waits), sorted(&total.found));
    for (name, value, decimals) in [
        ("lives", total.lives as f64, 0),
        ("faults", total.faults.values().sum::<usize>() as f64, 0),
        ("seconds", time.as_secs_f64(), 0),
        ("actions confirmed", total.confirmed as f64, 0),
        ("counts shown", total.shown as f64, 0),
        ("sessions", total.sessions as f64, 0),
        ("sessions that clients opened before the room moved", total.followed as f64, 0),
        ("owners in the journals, one after the other", total.owners as f64, 0),
        ("promises broken", f64::from(u8::from(failure.is_some())), 0),
        ("action until confirmed, p50, ms", at(&waits, 500), 1),
        ("action until confirmed, p99, ms", at(&waits, 990), 0),
        ("repaired until every client counts, p50, s", at(&found, 500) / 1_000.0, 1),
        ("repaired until every client counts, worst, s", at(&found, 1_000) / 1_000.0, 1),
    ] {
        table.row(vec![Cell::text(name), Cell::number(value, decimals)]);
    }
    section.table(table);
    report.section(section);
    let mut section = Section::new("Faults");
    let mut table = Table::new(vec![Column::text("fault"), Column::number("times", "")]);
    for (name, count) in &total.faults {
        table.row(vec![Cell::text(*name), Cell::count(*count)]);
    }
    section.chart(Chart::Bars(BarChart::from_table("Faults", "", &table, 0, &[1])));
    section.table(table);
    report.section(section);
    report
}

fn sorted(times: &[Duration]) -> Vec<f64> {
    let mut times: Vec<f64> = times.iter().map(|time| time.as_secs_f64() * 1_000.0).collect();
    times.sort_by(f64::total_cmp);
    times
}

fn at(sorted: &[f64], permille: usize) -> f64 {
    sorted.len().checked_sub(1).map_or(0.0, |last| sorted[last * permille / 1_000])
}
