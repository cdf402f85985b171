//! The report of `lab script`.

use super::Plan;
use super::play::Play;
use super::reload::Reloads;
use super::runaway::{Beside, PLAYERS, ROOMS};
use super::thousand::Thousand;
use crate::report::{BarChart, Cell, Chart, Column, Report, Samples, Section, Table};

pub(super) fn report(
    plan: &Plan,
    command: String,
    thousand: Thousand,
    runaways: Vec<Beside>,
    reloads: Reloads,
    play: &Play,
) -> Report {
    let mut report =
        Report::new("Rules in Luau: their cost, and their cost for other rooms", command).seed(plan.seed);
    if !report.machine.release_build {
        report.note("This is a DEBUG build: its times are not valid.");
    }
    report.section(of_thousand(thousand));
    report.section(of_runaways(runaways));
    report.section(of_reloads(reloads));
    report.section(of_play(plan, play));
    report
}

fn of_thousand(thousand: Thousand) -> Section {
    let mut section = Section::new("A thousand entities with ten lines each, in every step");
    section.text(
        "Processor time of a whole step. The worlds take turns. The goal is 2 ms (p99 4 ms) in Luau. Rust does the same to the same entities as a `Behaviour`, and also keeps lasting data in the world.",
    );
    let mut table = Table::new(vec![
        Column::text("rules"),
        Column::number("p50", "ms"),
        Column::number("p99", "ms"),
        Column::number("greatest", "ms"),
        Column::number("steps", ""),
    ]);
    let Thousand { resting, luau, rust } = thousand;
    for (name, mut samples) in [("none", resting), ("Luau", luau), ("Rust", rust)] {
        let [p50, p99, greatest] = [0.5, 0.99, 1.0].map(|share| Cell::number(samples.quantile(share), 3));
        table.row(vec![Cell::text(name), p50, p99, greatest, Cell::count(samples.len())]);
    }
    section.chart(Chart::Bars(BarChart::from_table("Processor time of a step", "ms", &table, 0, &[1, 2])));
    section.table(table);
    section
}

fn of_runaways(runaways: Vec<Beside>) -> Section {
    let mut section = Section::new("Runaway scripts, and their effect on other rooms");
    section.text(format!(
        "{ROOMS} rooms of football with {PLAYERS} players each, a thread for each room, sixty steps a second. First another such room runs at the same time, and then one whose script runs away in every step. Times are those of the other rooms' steps, by the clock. The goal is a ratio of at most 1.2. A step that begins a whole period late counts as lost.",
    ));
    let mut table = Table::new(vec![
        Column::text("script"),
        Column::number("others' p50", "ms"),
        Column::number("p99", "ms"),
        Column::number("p99 without the script", "ms"),
        Column::number("ratio", ""),
        Column::number("lost", "steps"),
        Column::number("lost without the script", "steps"),
        Column::number("samples", "steps"),
        Column::text("the script's own room"),
    ]);
    for mut beside in runaways {
        let [before, during] = [&mut beside.before, &mut beside.during].map(|samples| samples.quantile(0.99));
        table.row(vec![
            Cell::text(beside.name),
            Cell::number(beside.during.quantile(0.5), 3),
            Cell::number(during, 3),
            Cell::number(before, 3),
            Cell::number(during / before.max(1e-9), 2),
            Cell::count(beside.late[1]),
            Cell::count(beside.late[0]),
            Cell::count(beside.during.len()),
            Cell::text(format!("{} steps, {} failures", beside.steps, beside.failed)),
        ]);
    }
    section.table(table);
    section
}

fn of_reloads(Reloads { mut live, entities }: Reloads) -> Section {
    let mut section = Section::new("From a saved text to its first step");
    section.text(format!(
        "Football with 22 players is edited: the text is loaded, the world with its {entities} entities is restored under the new rules, and it steps once. The goal is 100 ms (p95) to another browser; this is the server's part.",
    ));
    section.table(quantiles("edit", &mut live));
    section
}

fn quantiles(name: &str, samples: &mut Samples) -> Table {
    let mut table = Table::new(vec![
        Column::text("what"),
        Column::number("p50", "ms"),
        Column::number("p95", "ms"),
        Column::number("greatest", "ms"),
        Column::number("samples", ""),
    ]);
    let [p50, p95, greatest] = [0.5, 0.95, 1.0].map(|share| Cell::number(samples.quantile(share), 2));
    table.row(vec![Cell::text(name), p50, p95, greatest, Cell::count(samples.len())]);
    table
}

fn of_play(plan: &Plan, play: &Play) -> Section {
    let mut section = Section::new("`nowcast test` of football");
    section.text(format!(
        "Every case with {} seeds, on one thread, including the loading of the world. The goal is 50 times real time.",
        plan.seeds
    ));
    let mut table = Table::new(vec![
        Column::text("world"),
        Column::number("cases", ""),
        Column::number("steps", ""),
        Column::number("took", "s"),
        Column::number("times real time", ""),
    ]);
    table.row(vec![
        Cell::text("football"),
        Cell::count(play.cases),
        Cell::number(play.steps as f64, 0),
        Cell::number(play.took.as_secs_f64(), 2),
        Cell::number(play.speed(), 0),
    ]);
    section.table(table);
    section
}
