//! The report: the cost of a client, its traffic, and the delays of clients.

use std::collections::BTreeMap;
use std::time::Duration;

use super::profile::Profile;
use super::reader::ReaderProtocol;
use super::trial::{Measured, Scenario, Sight};
use super::{FailedTrial, Plan};
use crate::report::{
    Axis, BarChart, Cell, Chart, Column, LineChart, Report, Samples, Section, Series, Table,
};

/// Maximum number of crates in the profile of a trial.
const PROFILE_CRATES: usize = 16;

/// Maximum number of functions in the profile of a trial.
const PROFILE_FUNCTIONS: usize = 20;

/// Returns the name of a server in tables.
fn server_of(protocol: ReaderProtocol) -> &'static str {
    match protocol {
        ReaderProtocol::WebTransport => "Nowcast, session over WebTransport (encrypted)",
        ReaderProtocol::WebSocket => "Nowcast, session over WebSocket",
        ReaderProtocol::Plain => "Nowcast, plain protocol",
        ReaderProtocol::Colyseus => "Colyseus, WebSocket",
    }
}

/// Returns the name of a trial. The name is shown while the trial runs.
pub(super) fn name_of(protocol: ReaderProtocol, scenario: Scenario) -> String {
    let Scenario { sight, avatars, things, clients } = scenario;
    let sees = match sight {
        Sight::All => "all of",
        Sight::Near | Sight::Crowd => "the nearest of",
    };
    let clients =
        if clients == 1 { "1 client that sees".into() } else { format!("{clients} clients that see") };
    let among = if things == 0 { String::new() } else { format!(" among {things} things") };
    format!("{}: {clients} {sees} {avatars} avatars{among}", server_of(protocol))
}

pub(super) fn report(
    plan: &Plan,
    measured: &[Measured],
    is_apart: bool,
    peer: &Result<String, String>,
) -> Report {
    let mut report = Report::new("Server cost per client", plan.command.clone()).seed(plan.seed);
    note_settings(&mut report, plan, is_apart);
    let (Ok(about_peer) | Err(about_peer)) = peer;
    report.note(about_peer);
    for one in measured {
        note_trouble(&mut report, one);
    }
    let trials = Trials::of(measured);
    report.section(costs(&trials, Sight::All, "Everybody sees everything"));
    let others = [
        (Sight::Near, "Clients receive the entities near them"),
        (Sight::Crowd, "Among more things than a client sees"),
    ];
    for (sight, title) in others {
        if measured.iter().any(|one| one.scenario.sight == sight) {
            report.section(costs(&trials, sight, title));
        }
    }
    report.section(update_quality(&trials));
    if measured.iter().any(|one| one.profile.is_some()) {
        report.section(profiles(&trials));
    }
    report
}

fn note_settings(report: &mut Report, plan: &Plan, is_apart: bool) {
    let [server, readers] = plan.cores;
    report.note(format!(
        "The server is a process on core {server}, the readers are {} processes on core {readers}. Avatars walk at random, with 60 steps and {} updates a second. Each client sends input {} times a second, which moves nothing. Each trial is measured for {} s; {} of each.",
        plan.processes,
        plan.hz,
        plan.controls_hz,
        plan.measured.as_secs(),
        plan.repeats
    ));
    if server == readers {
        report.note("Server and readers share the only core, so intervals and delays are not valid.");
    }
    report.note(
        "Processor time is that of the server's process, in its own code and in the kernel's, from /proc. The time of the same server with the same avatars and one client is subtracted, and the rest is divided among the other clients. On a loopback the kernel does the receiver's work where the packet is sent, for each server alike.",
    );
    report.note(
        "Readers acknowledge updates and record their times and steps. On sessions the library does this work, with all its checks. The cost of this work is shown next to the cost for the server.",
    );
    report.note(if is_apart {
        "Packets and bytes are those of both directions, counted by the kernel in a separate network: bytes with the headers of IP, UDP and TCP. Several datagrams or segments that one system call sends to the same address count as one packet."
    } else {
        "This user cannot make a separate network, so packets and bytes include those of all programs on this machine."
    });
}

fn note_trouble(report: &mut Report, one: &Measured) {
    let name = name_of(one.protocol, one.scenario);
    let why = one.measurements.why_lost.as_deref().unwrap_or("no reason");
    if one.joined < one.scenario.clients {
        report.note(format!("{name}: {} came in ({why}).", one.joined));
    }
    if one.measurements.lost > 0 {
        report.note(format!("{name}: {} were lost ({why}).", one.measurements.lost));
    }
    if one.server.steps_skipped.is_some_and(|skipped| skipped > 0.0) {
        report.note(format!(
            "{name}: the server skipped {} steps, and delays count from a clock that stood still during them.",
            one.server.steps_skipped.unwrap_or_default()
        ));
    }
}

/// Adds a section with the trials that failed, if there are some.
pub(super) fn list_failed(report: &mut Report, failed: &[FailedTrial]) {
    if failed.is_empty() {
        return;
    }
    let mut section = Section::new("Trials that failed");
    section.text("These trials have no figures. All other tables hold only trials that finished.");
    let mut table = Table::new(vec![Column::text("trial"), Column::text("cause")]);
    for FailedTrial { name, cause } in failed {
        table.row(vec![Cell::text(name), Cell::text(cause)]);
    }
    section.table(table);
    report.section(section);
}

/// The measurements of all trials, by place, protocol, and whether there is only one client.
struct Trials<'a>(BTreeMap<(Place, ReaderProtocol, bool), Vec<&'a Measured>>);

/// The scenario of a trial without its number of clients.
type Place = (Sight, u32, u32);

fn place_of(scenario: Scenario) -> Place {
    (scenario.sight, scenario.avatars, scenario.things)
}

/// The cost of a client, from all trials of one server in one scenario.
#[derive(Default)]
struct Cost {
    /// Processor time that the world takes without its clients, in milliseconds for each second.
    alone: Samples,
    /// Processor time of the server for each client, in milliseconds for each second.
    client: Samples,
    /// Processor time of the reader of each client, in milliseconds for each second.
    reader: Samples,
    /// The server's share of its core, in percent.
    core: Samples,
    packets: Samples,
    kilobytes: Samples,
    memory_kilobytes: Samples,
    memory_left_megabytes: Samples,
    seen: Samples,
}

impl<'a> Trials<'a> {
    fn of(measured: &'a [Measured]) -> Self {
        let mut trials: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for one in measured {
            let is_alone = one.scenario.clients < one.scenario.avatars;
            trials.entry((place_of(one.scenario), one.protocol, is_alone)).or_default().push(one);
        }
        Self(trials)
    }

    /// Returns the trials with all clients.
    fn full(&self) -> impl Iterator<Item = (Scenario, ReaderProtocol, &[&'a Measured])> {
        let full = self.0.iter().filter(|((.., is_alone), _)| !is_alone);
        full.map(|((_, protocol, _), trials)| (trials[0].scenario, *protocol, trials.as_slice()))
    }

    /// Returns the trials of the same server with only one client. All carriers of our server share them.
    fn alone(&self, scenario: Scenario, protocol: ReaderProtocol) -> &[&'a Measured] {
        let protocol =
            if protocol == ReaderProtocol::Colyseus { protocol } else { ReaderProtocol::WebSocket };
        self.0.get(&(place_of(scenario), protocol, true)).map_or(&[], Vec::as_slice)
    }

    fn cost(&self, scenario: Scenario, protocol: ReaderProtocol, trials: &[&Measured]) -> Cost {
        let alone = self.alone(scenario, protocol);
        let mut cost = Cost::default();
        for one in trials {
            let seconds = one.time.as_secs_f64();
            let clients = f64::from(one.joined.max(1));
            cost.core.push(milliseconds(one.server_time) / seconds / 10.0);
            cost.reader.push(milliseconds(one.readers_time) / seconds / clients);
            let packets = one.traffic.udp_datagrams + one.traffic.tcp_segments;
            cost.packets.push(packets as f64 / seconds / clients);
            cost.kilobytes.push(one.traffic.ip_bytes as f64 / 1e3 / seconds / clients);
            if let Some(seen) = one.server.seen {
                cost.seen.push(seen);
            }
            if let Some(left) = one.resident_bytes_left {
                cost.memory_left_megabytes.push(left as f64 / 1e6);
            }
            // Each full server is compared with the server with one client that was measured in the same repetition. That trial
            // may have failed.
            let base = alone.iter().find(|base| base.repetition == one.repetition);
            let Some(base) = base else { continue };
            let others = f64::from(one.joined.saturating_sub(1).max(1));
            let base_a_second = milliseconds(base.server_time) / base.time.as_secs_f64();
            cost.alone.push(base_a_second);
            cost.client.push((milliseconds(one.server_time) / seconds - base_a_second) / others);
            let memory = one.resident_bytes as f64 - base.resident_bytes as f64;
            cost.memory_kilobytes.push(memory / 1e3 / others);
        }
        cost
    }
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Returns the median of a few runs, with the lowest and the highest, or an empty cell.
fn range(mut samples: Samples, decimals: usize) -> Cell {
    if samples.is_empty() { Cell::Missing } else { Cell::range(samples.summary(), decimals) }
}

fn costs(trials: &Trials<'_>, sight: Sight, title: &str) -> Section {
    let mut section = Section::new(title);
    if sight == Sight::Near {
        section.text(
            "Each client receives the avatars within 29 m of its own, about a fifth of all. Colyseus has a `StateView` for each client, which is updated four times a second. Nowcast selects by sections of space, so clients also receive some avatars that are farther away. Those beyond half of the radius are in every second update.",
        );
    }
    let is_crowd = sight == Sight::Crowd;
    if is_crowd {
        section.text(
            "Crates lie on a roof, 2.1 m apart, and the avatars walk below it, one on 44 square metres. So a client receives about sixty avatars and six hundred crates, and only the avatars are awake. More crates make the ground larger, but not the surroundings of a client.",
        );
    }
    let has_left = trials.full().any(|(.., these)| these.iter().any(|one| one.resident_bytes_left.is_some()));
    let heads = || {
        let mut heads = vec![Column::text("server"), Column::number("clients", "")];
        heads.extend(is_crowd.then(|| Column::number("things", "")));
        heads
    };
    let mut processor = heads();
    processor.extend([
        Column::number("network, a client and second", "ms"),
        Column::number("of a reader", "ms"),
        Column::number("world alone, a second", "ms"),
        Column::number("server's core", "%"),
    ]);
    let mut traffic = heads();
    traffic.extend([
        Column::number("packets, a client and second", ""),
        Column::number("bytes", "kB"),
        Column::number("memory a client", "kB"),
        Column::number("told of", ""),
    ]);
    if has_left {
        traffic.push(Column::number("memory after all left", "MB"));
    }
    let (mut processor, mut traffic) = (Table::new(processor), Table::new(traffic));
    let mut lines: BTreeMap<ReaderProtocol, Vec<(f64, f64)>> = BTreeMap::new();
    for (scenario, protocol, these) in trials.full().filter(|(scenario, ..)| scenario.sight == sight) {
        let mut cost = trials.cost(scenario, protocol, these);
        let Scenario { clients, things, .. } = scenario;
        let over = if is_crowd { things } else { clients };
        if !cost.client.is_empty() {
            lines.entry(protocol).or_default().push((f64::from(over), cost.client.quantile(0.5)));
        }
        let heads = || {
            let mut heads = vec![Cell::text(server_of(protocol)), Cell::count(clients as usize)];
            heads.extend(is_crowd.then(|| Cell::count(things as usize)));
            heads
        };
        let mut row = heads();
        row.extend([range(cost.client, 3), range(cost.reader, 3), range(cost.alone, 1), range(cost.core, 1)]);
        processor.row(row);
        let mut row = heads();
        row.extend([
            range(cost.packets, 1),
            range(cost.kilobytes, 2),
            range(cost.memory_kilobytes, 0),
            range(cost.seen, 0),
        ]);
        if has_left {
            row.push(range(cost.memory_left_megabytes, 1));
        }
        traffic.row(row);
    }
    let over = if is_crowd { Axis::log("things", "") } else { Axis::linear("clients", "") };
    if let Some(chart) = chart(&lines, over) {
        section.chart(chart);
    }
    section.table(processor).table(traffic);
    section
}

/// Draws the costs by the number of clients or of things. Draws bars if there is only one number.
fn chart(lines: &BTreeMap<ReaderProtocol, Vec<(f64, f64)>>, over: Axis) -> Option<Chart> {
    let title = "Processor time of the network for each client and second";
    let is_line = lines.values().any(|points| points.len() > 1);
    if is_line {
        let series = lines
            .iter()
            .map(|(protocol, points)| Series { name: server_of(*protocol).into(), values: points.clone() });
        return Some(Chart::Lines(LineChart {
            title: title.into(),
            x: over,
            y: Axis::linear("processor time", "ms"),
            series: series.collect(),
        }));
    }
    let labels: Vec<String> = lines.keys().map(|protocol| server_of(*protocol).to_owned()).collect();
    let values = lines.values().map(|points| points.first().map(|(_, cost)| *cost)).collect();
    let series = vec![Series { name: "processor time".into(), values }];
    (!labels.is_empty())
        .then(|| Chart::Bars(BarChart { title: title.into(), unit: "ms".into(), labels, series, log: false }))
}

fn update_quality(trials: &Trials<'_>) -> Section {
    let mut section = Section::new("Update intervals and delays of clients");
    section.text(
        "Intervals between updates of one client. Delays count from the step of an update, relative to the freshest update of the trial. The server's ticks: ours from its /metrics, where the 99th percentile is interpolated between the bounds of a histogram; for Colyseus its steps and patches.",
    );
    let mut table = Table::new(vec![
        Column::text("server"),
        Column::number("clients", ""),
        Column::text("see"),
        Column::number("interval p50", "ms"),
        Column::number("p99", "ms"),
        Column::number("maximum", "ms"),
        Column::number("delay p50", "ms"),
        Column::number("p99", "ms"),
        Column::number("maximum", "ms"),
        Column::number("tick p99", "ms"),
        Column::number("updates", ""),
    ]);
    for (scenario, protocol, these) in trials.full() {
        let mut intervals: Samples = these
            .iter()
            .flat_map(|one| &one.measurements.intervals_us)
            .map(|&us| f64::from(us) / 1e3)
            .collect();
        let mut delays = Samples::new();
        for one in these {
            let freshest = one.measurements.delays_us.iter().min().copied().unwrap_or(0);
            let late = one.measurements.delays_us.iter().map(|delay| (delay - freshest) as f64 / 1e3);
            late.for_each(|delay| delays.push(delay));
        }
        let ticks: Samples = these.iter().filter_map(|one| one.server.tick_p99_ms).collect();
        let mut row = vec![
            Cell::text(server_of(protocol)),
            Cell::count(scenario.clients as usize),
            Cell::text(match scenario {
                Scenario { sight: Sight::All, .. } => "all".to_owned(),
                Scenario { things: 0, .. } => "near".to_owned(),
                Scenario { things, .. } => format!("near, of {things} things"),
            }),
        ];
        for samples in [&mut intervals, &mut delays] {
            let summary = samples.summary();
            row.extend([summary.median, summary.p99, summary.max].map(|value| Cell::number(value, 1)));
        }
        row.push(range(ticks, 2));
        row.push(Cell::count(these.iter().map(|one| one.measurements.updates as usize).sum()));
        table.row(row);
    }
    section.table(table);
    section
}

/// Returns the section about the processor time of full servers.
fn profiles(trials: &Trials<'_>) -> Section {
    let mut section = Section::new("Processor time of the server by crate");
    section.text(
        "Shares of the samples of `perf` during the measurement, in percent: the mean of all trials. A function counts for the crate of its path, or of the type whose method it is; functions that the compiler put into their callers count for the callers. C and C++ are Luau, SQLite and the system's libraries without a namespace.",
    );
    for (scenario, protocol, these) in trials.full() {
        let profiles: Vec<&Profile> = these.iter().filter_map(|one| one.profile.as_ref()).collect();
        if profiles.is_empty() {
            continue;
        }
        for (head, parts, rows_max) in [
            ("crate", profiles.iter().map(|one| &one.crates).collect::<Vec<_>>(), PROFILE_CRATES),
            ("function", profiles.iter().map(|one| &one.functions).collect(), PROFILE_FUNCTIONS),
        ] {
            let mut shares: BTreeMap<&str, f64> = BTreeMap::new();
            for (name, share) in parts.iter().copied().flatten() {
                *shares.entry(name).or_default() += share / profiles.len() as f64;
            }
            let mut shares: Vec<_> = shares.into_iter().collect();
            shares.sort_by(|(_, one), (_, other)| other.total_cmp(one));
            let title = format!("{head}: {}", name_of(protocol, scenario));
            let mut table = Table::new(vec![Column::text(&title), Column::number("share", "%")]);
            for (name, share) in shares.into_iter().take(rows_max) {
                table.row(vec![Cell::text(name), Cell::number(share, 1)]);
            }
            section.table(table);
        }
    }
    section
}

#[cfg(test)]
mod tests {
    use super::super::kernel::Traffic;
    use super::super::reader::Measurements;
    use super::super::trial::ServerFigures;
    use super::*;

    fn measured(protocol: ReaderProtocol, clients: u32, server_ms: u64, resident_bytes: u64) -> Measured {
        let measurements = Measurements {
            intervals_us: vec![50_000, 52_000],
            delays_us: vec![7_000_000, 7_001_000],
            updates: 3,
            ..Measurements::default()
        };
        Measured {
            repetition: 0,
            protocol,
            scenario: Scenario { sight: Sight::All, avatars: 11, things: 0, clients },
            joined: clients,
            time: Duration::from_secs(10),
            server_time: Duration::from_millis(server_ms),
            readers_time: Duration::from_millis(100),
            traffic: Traffic { udp_datagrams: 1_100, tcp_segments: 0, ip_bytes: 220_000 },
            resident_bytes,
            resident_bytes_left: None,
            measurements,
            server: ServerFigures { seen: Some(11.0), ..ServerFigures::default() },
            profile: None,
        }
    }

    #[test]
    fn the_cost_of_a_client_is_the_difference_between_a_full_server_and_one_with_a_single_client() {
        let all = [
            measured(ReaderProtocol::WebSocket, 1, 500, 10_000_000),
            measured(ReaderProtocol::WebTransport, 11, 1_500, 11_000_000),
        ];
        let trials = Trials::of(&all);
        let (scenario, protocol, these) = trials.full().next().unwrap();
        let mut cost = trials.cost(scenario, protocol, these);
        assert_eq!(cost.client.quantile(0.5), 10.0, "a hundred ms a second, shared out among ten");
        assert_eq!(cost.alone.quantile(0.5), 50.0);
        assert_eq!(cost.memory_kilobytes.quantile(0.5), 100.0);
        assert_eq!(cost.packets.quantile(0.5), 10.0);
        assert_eq!(cost.kilobytes.quantile(0.5), 2.0);
    }

    #[test]
    fn a_server_is_compared_with_the_single_client_of_its_own_repetition() {
        let mut all = [
            measured(ReaderProtocol::WebSocket, 1, 500, 10_000_000),
            measured(ReaderProtocol::WebSocket, 11, 1_500, 11_000_000),
            measured(ReaderProtocol::WebSocket, 11, 9_000, 11_000_000),
        ];
        // In the first repetition, the trial with a single client failed.
        (all[0].repetition, all[1].repetition, all[2].repetition) = (1, 1, 0);
        let trials = Trials::of(&all);
        let (scenario, protocol, these) = trials.full().next().unwrap();
        let mut cost = trials.cost(scenario, protocol, these);
        assert_eq!((these.len(), cost.core.len(), cost.client.len()), (2, 2, 1));
        assert_eq!(cost.client.quantile(0.5), 10.0);
    }

    #[test]
    fn a_profile_is_the_mean_of_all_trials_of_a_server() {
        let mut all = [
            measured(ReaderProtocol::WebSocket, 1, 500, 10_000_000),
            measured(ReaderProtocol::WebSocket, 11, 1_500, 11_000_000),
            measured(ReaderProtocol::WebSocket, 11, 1_500, 11_000_000),
        ];
        for (one, share) in all[1..].iter_mut().zip([30.0, 50.0]) {
            let part = |name: &str| [(name.to_owned(), share), ("less".to_owned(), 1.0)].into();
            one.profile = Some(Profile { crates: part("quinn"), functions: part("quinn: poll") });
        }
        let section = profiles(&Trials::of(&all));
        assert_eq!(section.tables.len(), 2);
        let rows = &section.tables[0].rows;
        assert_eq!(rows.len(), 2);
        assert_eq!(rows[0], [Cell::text("quinn"), Cell::number(40.0, 1)]);
    }

    #[test]
    fn a_report_has_a_row_for_each_full_server_and_names_problems() {
        let plan = Plan::quick("nowcast".into(), "cargo xtask lab load".into());
        let mut all = vec![
            measured(ReaderProtocol::WebSocket, 1, 500, 10_000_000),
            measured(ReaderProtocol::WebSocket, 11, 1_500, 11_000_000),
            measured(ReaderProtocol::Plain, 11, 1_400, 11_000_000),
        ];
        all[2].measurements.lost = 2;
        all[2].measurements.why_lost = Some("it was late".into());
        let report = report(&plan, &all, true, &Err("Colyseus is left out.".into()));
        assert_eq!(report.sections[0].tables[0].rows.len(), 2);
        assert_eq!(report.sections.last().unwrap().tables[0].rows.len(), 2);
        let text = report.to_terminal();
        for told in ["Colyseus is left out.", "2 were lost (it was late)", "plain protocol"] {
            assert!(text.contains(told), "{told} is not in {text}");
        }
        assert!(report.to_json().contains("Processor time of the network"));
    }
}
