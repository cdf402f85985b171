//! The report of `lab crash`.

use super::kills::Kills;
use super::ledger::Tally;
use super::power::Survived;
use super::{FailPoint, Plan};
use crate::report::{BarChart, Cell, Chart, Column, Report, Samples, Section, Table};

pub(super) fn report(plan: &Plan, command: String, power: Option<&Survived>, kills: Option<Kills>) -> Report {
    let mut report = Report::new("Data left after a crash", command).seed(plan.seed);
    if !report.machine.release_build {
        report.note("This is a DEBUG build: its times are not valid. The numbers of kept and lost actions do not depend on the build.");
    }
    if let Some(power) = power {
        report.section(of_power(power));
    }
    if let Some(kills) = kills {
        for (trouble, times) in &kills.troubles {
            report.note(format!("Clients met {times} times: {trouble}"));
        }
        let mut kills = kills;
        for point in &kills.missed {
            report.note(format!("A server did not reach {} in time and was killed elsewhere.", point.name()));
        }
        report.section(of_kills(plan, &mut kills));
        report.section(of_acts(&kills));
        report.section(of_places(&mut kills));
    }
    report
}

fn of_power(power: &Survived) -> Section {
    let mut section = Section::new("Power cuts");
    section.text(
        "A store writes through a disk that remembers synced data. A cut keeps synced data, and of other writes any sectors, torn sectors and lengths. Then the store has to open, its check has to be clean, and every confirmed action has to be there once. The world has to equal an earlier state to the last bit, and has to continue. In every third life writes and syncs also fail. A broken guarantee would have ended the run with its seed.",
    );
    let mut table = Table::new(vec![Column::text("figure"), Column::number("count", "")]);
    let actions = usize::try_from(power.actions).unwrap_or(usize::MAX);
    let failures = usize::try_from(power.failures).unwrap_or(usize::MAX);
    for (name, count) in [
        ("power cuts", power.cuts),
        ("of these next to a sync", power.cuts_at_syncs),
        ("of these before anything was kept", power.cuts_before_first),
        ("of these with more data than was confirmed", power.found_more),
        ("runs of the store", power.lives),
        ("writes, syncs and changes of names in these runs", power.steps),
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
        "The program, with {} clients that walk and act all the time, was killed {} times by SIGKILL and restarted at once. Every second kill was at a step of its store's writing, the others at a random moment, unless the command says otherwise. The clients are informed of a kill and try every 20 ms to rejoin as their players, so the time until a page notices is not included. Lost movement counts from the newest step that a client saw to the step with which the world continues.",
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
        let [p50, p99, greatest] = [0.5, 0.99, 1.0].map(|share| quantile(samples, share));
        table.row(vec![Cell::text(name), p50, p99, greatest, Cell::count(samples.len())]);
    };
    row("movement lost".into(), &mut kills.movement_lost_ms);
    row("start to listening".into(), &mut kills.listening_ms);
    row("start to the world's resumption, a step before its first tick".into(), &mut kills.going_on_ms);
    row("start to the first tick at a client".into(), &mut kills.first_update_ms);
    for (carrier, samples) in &mut kills.moving_ms {
        row(format!("kill to moving again, {carrier:?}"), samples);
    }
    section.chart(Chart::Bars(BarChart::from_table("After a kill", "ms", &table, 0, &[1, 2])));
    section.table(table);
    section
}

fn of_places(kills: &mut Kills) -> Section {
    let mut section = Section::new("Kills by place");
    section.text(
        "An action without an answer at a kill is sent again with its number. Either it was stored already, or it is applied then. \
         Lost movement is measured in the world's time.",
    );
    let mut table = Table::new(vec![
        Column::text("step"),
        Column::number("kills", ""),
        Column::number("lost", "actions"),
        Column::number("doubled", "actions"),
        Column::number("no answer, kept", "actions"),
        Column::number("no answer, undone", "actions"),
        Column::number("movement lost, p50", "ms"),
        Column::number("greatest", "ms"),
    ]);
    kills.places.sort_by_key(|place| place.point);
    for place in &mut kills.places {
        let Tally { lost, doubled, kept_unanswered, undone, .. } = place.acts;
        let mut row = vec![
            Cell::text(place.point.map_or("a random moment", FailPoint::name)),
            Cell::count(place.kills),
        ];
        row.extend([lost, doubled, kept_unanswered, undone].map(count));
        row.extend([0.5, 1.0].map(|share| quantile(&mut place.movement_lost_ms, share)));
        table.row(row);
    }
    section.table(table);
    section
}

fn of_acts(kills: &Kills) -> Section {
    let mut section = Section::new("Durable actions");
    section.text(
        "Each client counts by durable actions with its own numbers, in the state of the world and in the saved data of its account. After each kill all confirmed actions have to be in both, and each only once. The data of the accounts is read from the store before the next start.",
    );
    let Tally { confirmed, lost, doubled, kept_unanswered, undone } = kills.acts;
    let mut table = Table::new(vec![Column::text("figure"), Column::number("count", "")]);
    for (name, number) in [
        ("durable actions confirmed", confirmed),
        ("confirmed and lost", lost),
        ("carried out more than once", doubled),
        ("without an answer at a kill, and stored", kept_unanswered),
        ("without an answer at a kill, not stored, and applied after a retry", undone),
        ("comparisons of the data of an account", kills.saved.compared),
        ("confirmed and lost in the data of its account", kills.saved.lost),
        ("carried out more than once in the data of its account", kills.saved.doubled),
        ("faults that the final check of the store found", kills.damage.len() as u64),
        ("steps that this check replayed", kills.steps_checked),
    ] {
        table.row(vec![Cell::text(name), count(number)]);
    }
    section.table(table);
    section
}

fn quantile(samples: &mut Samples, share: f64) -> Cell {
    if samples.is_empty() { Cell::Missing } else { Cell::number(samples.quantile(share), 0) }
}

fn count(number: u64) -> Cell {
    Cell::count(usize::try_from(number).unwrap_or(usize::MAX))
}
