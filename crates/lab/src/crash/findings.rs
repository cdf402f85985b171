//! The report of `lab crash`.

use super::Plan;
use super::kills::Kills;
use super::luanti::Luanti;
use super::power::Survived;
use crate::report::{BarChart, Cell, Chart, Column, Report, Samples, Section, Table};

pub(super) fn report(
    plan: &Plan,
    command: String,
    power: Option<&Survived>,
    kills: Option<Kills>,
    luanti: Option<Luanti>,
) -> Report {
    let mut report = Report::new("What is left after a crash", command).seed(plan.seed);
    if !report.machine.release_build {
        report.note("This is a DEBUG build: its times mean nothing. What is kept and what is lost does not depend on it.");
    }
    if let Some(power) = power {
        report.section(of_power(power));
    }
    if let Some(kills) = kills {
        for (trouble, times) in &kills.troubles {
            report.note(format!("Clients met {times} times: {trouble}"));
        }
        let mut kills = kills;
        report.section(of_kills(plan, &mut kills));
        report.section(of_acts(&kills));
    }
    match luanti {
        Some(luanti) => drop(report.section(of_luanti(luanti))),
        None if plan.peers && plan.kills > 0 => {
            report.note(
                "Luanti's server is not installed (apt-get install minetest-server), so it was not killed.",
            );
        }
        None => {}
    }
    report
}

fn of_power(power: &Survived) -> Section {
    let mut section = Section::new("Power cuts");
    section.text(
        "A store writes through a disk that remembers what was synced. A cut keeps that, and of the rest any sectors, torn sectors \
         and lengths; then the store has to open, its check has to be clean, all that was confirmed has to be there once, and the world \
         has to be one that was, to the last bit, and to go on. In every third life writes and syncs fail besides. A broken promise would \
         have ended the run with its seed.",
    );
    let mut table = Table::new(vec![Column::text("figure"), Column::number("count", "")]);
    let actions = usize::try_from(power.actions).unwrap_or(usize::MAX);
    let failures = usize::try_from(power.failures).unwrap_or(usize::MAX);
    for (name, count) in [
        ("power cuts", power.cuts),
        ("of these beside a sync", power.cuts_at_syncs),
        ("of these before anything was kept", power.cuts_before_first),
        ("of these with more left than was confirmed", power.found_more),
        ("lives of the store", power.lives),
        ("writes, syncs and names in them", power.steps),
        ("writes and syncs that failed", failures),
        ("durable actions confirmed", actions),
        ("durable actions lost", 0),
        ("durable actions doubled", 0),
        ("stores that did not open, or were damaged", 0),
    ] {
        table.row(vec![Cell::text(name), Cell::count(count)]);
    }
    section.table(table);
    section
}

fn of_kills(plan: &Plan, kills: &mut Kills) -> Section {
    let mut section = Section::new("A server that is killed");
    section.text(format!(
        "The program itself, with {} clients who walk and act all the time, was killed {} times by SIGKILL at random moments and started \
         again at once. The clients are told of a kill, and try every 20 ms to come in: how soon a page notices by itself is not in here. \
         Movement is lost from the newest step that a client saw to the step with which the world goes on.",
        plan.clients, kills.kills
    ));
    let mut table = Table::new(vec![
        Column::text("figure"),
        Column::number("p50", "ms"),
        Column::number("p99", "ms"),
        Column::number("greatest", "ms"),
        Column::number("samples", ""),
    ]);
    let mut row = |name: String, samples: &mut Samples| {
        let [p50, p99, greatest] = [0.5, 0.99, 1.0].map(|share| Cell::number(samples.quantile(share), 0));
        table.row(vec![Cell::text(name), p50, p99, greatest, Cell::count(samples.len())]);
    };
    row("movement lost".into(), &mut kills.movement_lost_ms);
    row("start to listening".into(), &mut kills.listening_ms);
    row("start to the first tick at a client".into(), &mut kills.first_update_ms);
    for (carrier, samples) in &mut kills.moving_ms {
        row(format!("kill to moving again, {carrier:?}"), samples);
    }
    section.chart(Chart::Bars(BarChart::from_table("After a kill", "ms", &table, 0, &[1, 2])));
    section.table(table);
    section
}

fn of_luanti(luanti: Luanti) -> Section {
    let mut section = Section::new("The peer: Luanti");
    section.text(format!(
        "{} with a world that one mod counts in, killed in the same way; it keeps its count in its storage, which Luanti \
         saves every 5.3 s by default. Nobody is in it, so this is what a mod loses, and not what a player does.",
        luanti.version
    ));
    let mut table = Table::new(vec![
        Column::text("figure"),
        Column::text("unit"),
        Column::number("p50", ""),
        Column::number("p99", ""),
        Column::number("greatest", ""),
        Column::number("samples", ""),
    ]);
    for (name, unit, mut samples) in [
        ("time lost", "ms", luanti.lost_ms),
        ("counts lost", "counts", luanti.counts_lost),
        ("start to the first step", "ms", luanti.started_ms),
    ] {
        let [p50, p99, greatest] = [0.5, 0.99, 1.0].map(|share| Cell::number(samples.quantile(share), 0));
        table.row(vec![Cell::text(name), Cell::text(unit), p50, p99, greatest, Cell::count(samples.len())]);
    }
    section.table(table);
    section
}

fn of_acts(kills: &Kills) -> Section {
    let mut section = Section::new("What was done before a kill");
    section.text(
        "Each client counts in the world. What it saw at least 200 ms before a kill has to be there after it, and no more than it sent.",
    );
    let mut table = Table::new(vec![Column::text("figure"), Column::number("count", "")]);
    for (name, count) in [
        ("acts seen", kills.acts_seen),
        ("acts seen in time and lost", kills.acts_lost),
        ("acts doubled", kills.acts_doubled),
        ("faults that the store's check found in the end", kills.damage.len() as u64),
        ("steps that this check replayed", kills.steps_checked),
    ] {
        table.row(vec![Cell::text(name), Cell::count(usize::try_from(count).unwrap_or(usize::MAX))]);
    }
    section.table(table);
    section
}
