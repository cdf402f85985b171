//! The report: the measurements of the bots, and figures of the server.

use std::time::Duration;

use nowcast_server::figures::{Buckets, Figures};

use super::Plan;
use super::client::Measurements;
use crate::report::{Axis, Cell, Chart, Column, LineChart, Report, Samples, Section, Series, Table};

const TICK: &str = "nowcast_tick_seconds";
const MEMORY: &str = "process_resident_memory_bytes";
const AWAKE: &str = "nowcast_bodies_awake";
const TICK_CPU: &str = "nowcast_tick_cpu_seconds";
const CPU: &str = "process_cpu_seconds_total";

pub(super) fn report(
    plan: &Plan,
    joining: Duration,
    measurements: Measurements,
    scrapes: &[(Duration, Figures)],
) -> Report {
    let command = format!(
        "cargo xtask lab bots --count {} --seconds {} --hz {} --protocol {} --seed {} --url {}",
        plan.count, plan.seconds, plan.hz, plan.protocol, plan.seed, plan.url
    );
    let mut report = Report::new(format!("{} bots in one room", plan.count), command).seed(plan.seed);
    report.note("If the address is local, bots and server share this machine, and the figures include the work of the bots.");
    for (reason, count) in &measurements.ends {
        report.note(format!("{count} bots ended before their time: {reason}"));
    }
    report.section(clients(plan, joining, measurements));
    report.section(server(scrapes));
    report
}

fn clients(plan: &Plan, joining: Duration, mut measurements: Measurements) -> Section {
    let mut section = Section::new("Clients");
    section.text(format!(
        "{} of {} bots joined, 50 a second over {:.1} s, and played for {} s. The target interval is {:.1} ms.",
        measurements.joined(),
        plan.count,
        joining.as_secs_f64(),
        plan.seconds,
        1e3 / f64::from(plan.hz)
    ));
    let mut table = Table::new(vec![
        Column::text("quantity"),
        Column::text("unit"),
        Column::number("p50", ""),
        Column::number("p99", ""),
        Column::number("maximum", ""),
        Column::number("samples", ""),
    ]);
    let mut spread = |name: &str, samples: &mut Samples| {
        let summary = samples.summary();
        table.row(vec![
            Cell::text(name),
            Cell::text("ms"),
            Cell::number(summary.median, 2),
            Cell::number(summary.p99, 2),
            Cell::number(summary.max, 2),
            Cell::count(summary.samples),
        ]);
    };
    spread("connect to welcome", &mut measurements.connect_ms);
    spread("between two updates", &mut measurements.interval_ms);
    spread("round trip", &mut measurements.ping_ms);
    section.table(table);

    let seconds = measurements.played.as_secs_f64().max(1e-9);
    let per_bot = measurements.received_bytes as f64 / seconds;
    let mut rates = Table::new(vec![
        Column::text("each bot, a second"),
        Column::number("messages", "1/s"),
        Column::number("payload", "kB/s"),
    ]);
    rates.row(vec![
        Cell::text("received"),
        Cell::number(measurements.received as f64 / seconds, 1),
        Cell::number(per_bot / 1e3, 1),
    ]);
    rates.row(vec![Cell::text("sent"), Cell::number(measurements.sent as f64 / seconds, 1), Cell::Missing]);
    section.table(rates);
    section
}

fn server(scrapes: &[(Duration, Figures)]) -> Section {
    let mut section = Section::new("Server");
    section.text(
        "From /metrics, once a second. A step lasts 16.7 ms. If other programs use the processors, a tick takes longer than its processor time.",
    );
    let (Some((_, first)), Some((until, last))) = (scrapes.first(), scrapes.last()) else { return section };
    let ticks = since(last, first, TICK);
    let mut table =
        Table::new(vec![Column::text("figure"), Column::number("value", ""), Column::text("unit")]);
    let mut row = |name: &str, value: Option<f64>, decimals: usize, unit: &str| {
        let cell = value.map_or(Cell::Missing, |value| Cell::number(value, decimals));
        table.row(vec![Cell::text(name), cell, Cell::text(unit)]);
    };
    row("tick, p50", ticks.quantile(0.5).map(|s| s * 1e3), 3, "ms");
    row("tick, p99", ticks.quantile(0.99).map(|s| s * 1e3), 3, "ms");
    let on_cpu = since(last, first, TICK_CPU);
    row("tick without waiting for a processor, p50", on_cpu.quantile(0.5).map(|s| s * 1e3), 3, "ms");
    row("tick without waiting for a processor, p99", on_cpu.quantile(0.99).map(|s| s * 1e3), 3, "ms");
    row("ticks", Some(ticks.count()), 0, "");
    let at = |seconds: u64| scrapes.iter().find(|(time, _)| *time >= Duration::from_secs(seconds));
    let memory = |figures: &Figures| figures.value(MEMORY, &[]).map(|bytes| bytes / 1e6);
    row("memory before the first bot", memory(first), 1, "MB");
    row("memory after 10 s", at(10).and_then(|(_, figures)| memory(figures)), 1, "MB");
    row("memory at the end", memory(last), 1, "MB");
    let awake = scrapes.iter().filter_map(|(_, figures)| figures.value(AWAKE, &[])).reduce(f64::max);
    row("bodies awake, at most", awake, 0, "");
    let cpu = last
        .value(CPU, &[])
        .zip(first.value(CPU, &[]))
        .map(|(after, before)| (after - before) / until.as_secs_f64());
    row("processors used", cpu, 2, "cores");
    section.table(table);

    let per_second = |p: f64| -> Vec<(f64, f64)> {
        let seconds = scrapes.windows(2).filter_map(|pair| {
            let tick = since(&pair[1].1, &pair[0].1, TICK).quantile(p)?;
            Some((pair[1].0.as_secs_f64(), tick * 1e3))
        });
        seconds.collect()
    };
    let ticks = vec![
        Series { name: "p50".into(), values: per_second(0.5) },
        Series { name: "p99".into(), values: per_second(0.99) },
    ];
    section.chart(over_time("Time of a tick, second by second", "tick", "ms", ticks));
    let points = |figure: &str, scale: f64| -> Vec<(f64, f64)> {
        let known =
            scrapes.iter().filter_map(|(time, s)| Some((time.as_secs_f64(), s.value(figure, &[])? / scale)));
        known.collect()
    };
    let memory = vec![Series { name: "resident".into(), values: points(MEMORY, 1e6) }];
    section.chart(over_time("Memory of the server", "memory", "MB", memory));
    let awake = vec![Series { name: "awake".into(), values: points(AWAKE, 1.0) }];
    section.chart(over_time("Bodies awake", "bodies", "", awake));
    section
}

/// Returns the histogram of the values between two times.
fn since(now: &Figures, before: &Figures, name: &str) -> Buckets {
    now.histogram(name, &[]).since(&before.histogram(name, &[]))
}

fn over_time(title: &str, what: &str, unit: &str, series: Vec<Series<(f64, f64)>>) -> Chart {
    Chart::Lines(LineChart {
        title: title.into(),
        x: Axis::linear("time", "s"),
        y: Axis::linear(what, unit),
        series,
    })
}
