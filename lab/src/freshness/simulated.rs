//! Measures freshness in virtual time: the guarantees of the session for each case, and the same load in a plain queue.

use std::time::Duration;

use nowcast_sim::link::{Jitter, LinkConfig, Loss, Policer, SPIKE_MAX, Variation};

use super::tcp::Control;
use super::workload::{Outcome, Queueing, Workload, measure, quantile};
use crate::report::{BarChart, Cell, Chart, Column, Report, Section, Table};

/// The options of a run.
#[derive(Debug, Clone, Copy)]
pub struct Simulated {
    /// Seed for the loss and delay of packets.
    pub seed: u64,
    /// Virtual time of each case.
    pub duration: Duration,
}

const INTERVAL_MS: f64 = 16.667;
const NARROW_BITS: u64 = 1_000_000;
/// Bytes of a key, a payload, and the three bytes of overhead that a value may have.
const RECORD_BYTES: f64 = 1.0 + 64.0 + 3.0;
const KEYS: f64 = 100.0;

/// Links that are shared with TCP: name, bits a second, bytes of the buffer.
const SHARED: [(&str, u64, usize); 5] = [
    ("2 Mbit/s, 64 KB", 2_000_000, 64_000),
    ("10 Mbit/s, 32 KB", 10_000_000, 32_000),
    ("10 Mbit/s, 64 KB", 10_000_000, 64_000),
    ("10 Mbit/s, 128 KB", 10_000_000, 128_000),
    ("10 Mbit/s, 512 KB", 10_000_000, 512_000),
];
/// Minimum duration for the two senders to find their shares, and for measuring these shares.
const SHARED_MIN: Duration = Duration::from_secs(30);

/// The index of the case with a policer.
const POLICED: usize = 10;
/// The index of the case with a narrow uplink.
const ASYMMETRIC: usize = 11;

/// One link.
struct Case {
    name: &'static str,
    link: LinkConfig,
    /// The link back, if it differs.
    back: Option<LinkConfig>,
    /// One-way time of the slowest packet.
    one_way_ms: f64,
}

/// One case, measured with each kind of queue.
struct Measured {
    case: Case,
    outcomes: [Outcome; 3],
}

const QUEUEINGS: [(Queueing, &str); 3] = [
    (Queueing::TwoLanes, "session, events on their own lane"),
    (Queueing::OneLane, "session, events as barriers on the same lane"),
    (Queueing::Fifo, "first in, first out"),
];

impl Simulated {
    /// Measures all cases. `progress` receives the number of finished runs and the number of all runs.
    pub fn run(&self, mut progress: impl FnMut(usize, usize)) -> Report {
        let cases = self.cases();
        let runs = cases.len() * QUEUEINGS.len();
        let mut done = 0;
        let measured: Vec<Measured> = cases
            .into_iter()
            .map(|case| {
                let outcomes = QUEUEINGS.map(|(queueing, _)| {
                    let workload = Workload {
                        link: case.link.clone(),
                        back: case.back.clone(),
                        seed: self.seed,
                        duration: self.duration,
                        queueing,
                        ..Workload::default()
                    };
                    let outcome = measure(&workload);
                    done += 1;
                    progress(done, runs);
                    outcome
                });
                Measured { case, outcomes }
            })
            .collect();
        let mut report = self.report(&measured);
        report.section(self.beside_tcp());
        report
    }

    fn beside_tcp(&self) -> Section {
        let mut section = Section::new("Beside TCP");
        section.text("24 Mbit/s of values on a link with a round trip of 50 ms, shared with a bulk transfer by TCP from the beginning. Shares of the capacity from 10 s on. The age of values is mostly the standing queue of TCP.");
        let mut table = Table::new(vec![
            Column::text("link, buffer"),
            Column::text("beside"),
            Column::number("session", "%"),
            Column::number("TCP", "%"),
            Column::number("age p50", "ms"),
            Column::number("event p50", "ms"),
            Column::number("queue p50", "ms"),
        ]);
        for (name, rate_bits, queue_bytes) in SHARED {
            for (control, control_name) in [(Control::Reno, "TCP, Reno"), (Control::Cubic, "TCP, CUBIC")] {
                let link = LinkConfig {
                    delay: Duration::from_millis(25),
                    rate_bits: Some(rate_bits),
                    queue_bytes,
                    ..LinkConfig::default()
                };
                let beside = Some((control, Duration::MAX));
                let duration = self.duration.max(SHARED_MIN);
                let workload = Workload {
                    link,
                    seed: self.seed,
                    duration,
                    value_bytes: 500,
                    beside,
                    ..Workload::default()
                };
                let outcome = measure(&workload);
                table.row(vec![
                    Cell::text(name),
                    Cell::text(control_name),
                    Cell::number(outcome.session_bits * 100.0 / rate_bits as f64, 1),
                    Cell::number(outcome.tcp_bits * 100.0 / rate_bits as f64, 1),
                    Cell::number(quantile(&outcome.ages, 0.5).into(), 1),
                    Cell::number(quantile(&outcome.event_latencies, 0.5).into(), 1),
                    Cell::number(quantile(&outcome.link_queue, 0.5).into(), 1),
                ]);
            }
        }
        section.table(table);
        section
    }

    fn cases(&self) -> Vec<Case> {
        let link = |one_way: u64, loss| LinkConfig {
            delay: Duration::from_millis(one_way),
            loss,
            ..LinkConfig::default()
        };
        let outage = self.duration / 2..self.duration / 2 + Duration::from_secs(2);
        let bursts = Loss::Bursts { share: 0.05, length: 3.0 };
        let case = |name, link, one_way_ms| Case { name, link, back: None, one_way_ms };
        let jittery = |name, least, most, loss| {
            let jitter = Jitter::Uniform(Duration::from_millis(most - least));
            case(name, LinkConfig { jitter, ..link(least, loss) }, most as f64)
        };
        let mut overtaking = jittery("50 ms, each way ± 10 ms, overtaking", 15, 35, Loss::None);
        overtaking.link.overtakes = true;
        let policer = Policer { rate_bits: 2_000_000, variation: Variation::Constant, bucket_bytes: 20_000 };
        let policed = LinkConfig { policer: Some(policer), ..link(25, Loss::None) };
        // The headers are those of QUIC, UDP and IP.
        let limited =
            |rate_bits| LinkConfig { rate_bits: Some(rate_bits), header_bytes: 60, ..link(25, Loss::None) };
        let spikes = LinkConfig { jitter: Jitter::Spikes { per_10_000: 50 }, ..link(25, Loss::None) };
        vec![
            case("50 ms, no loss", link(25, Loss::None), 25.0),
            case("100 ms, 5 % random loss", link(50, Loss::Random(0.05)), 50.0),
            case("100 ms, 5 % in bursts of 3", link(50, bursts), 50.0),
            case("50 ms, outage of 2 s", LinkConfig { outages: vec![outage], ..link(25, Loss::None) }, 25.0),
            case(
                "50 ms, 1 Mbit/s, 64 KB queue",
                LinkConfig { rate_bits: Some(NARROW_BITS), queue_bytes: 64 * 1_024, ..link(25, Loss::None) },
                25.0,
            ),
            jittery("50 ms, each way ± 5 ms in order", 20, 30, Loss::None),
            jittery("50 ms, each way ± 10 ms in order", 15, 35, Loss::None),
            jittery("80 ms, each way ± 20 ms in order, 1 % loss", 20, 60, Loss::Random(0.005)),
            overtaking,
            case("50 ms and spikes of 20 to 60 ms", spikes, 25.0 + SPIKE_MAX.as_secs_f64() * 1e3),
            case("50 ms, a policer of 2 Mbit/s with a bucket of 20 KB", policed, 25.0),
            Case {
                back: Some(limited(60_000)),
                ..case("50 ms, 10 Mbit/s, and 60 kbit/s for acknowledgements", limited(10_000_000), 25.0)
            },
        ]
    }

    fn report(&self, measured: &[Measured]) -> Report {
        let command = format!(
            "cargo xtask lab freshness --simulated --seed {} --seconds {}",
            self.seed,
            self.duration.as_secs()
        );
        let mut report = Report::new("Freshness in simulation", command).seed(self.seed);
        report.note("100 keys of 64 bytes at 60 Hz and 10 events of 32 bytes a second, in virtual time, independent of the machine's speed.");
        report.note("Age of a key: now minus the time at which the shown value was produced, sampled every millisecond.");
        report.section(promises(measured));
        report.section(comparison(measured));
        report
    }
}

/// A guarantee, and the figure that was measured for it.
struct Promise {
    figure: &'static str,
    unit: &'static str,
    at_most: bool,
    bound: f64,
    found: f64,
}

fn promises(measured: &[Measured]) -> Section {
    let mut section = Section::new("Guarantees of the session");
    section.text("Events and values are on separate lanes, so events do not wait for values.");
    let mut table = Table::new(vec![
        Column::text("link"),
        Column::text("figure"),
        Column::number("measured", ""),
        Column::text("target"),
        Column::text("unit"),
        Column::text("met"),
    ]);
    for (index, Measured { case, outcomes }) in measured.iter().enumerate() {
        for promise in promises_of(index, case, &outcomes[0]) {
            let is_met =
                if promise.at_most { promise.found <= promise.bound } else { promise.found >= promise.bound };
            let sign = if promise.at_most { "≤" } else { "≥" };
            table.row(vec![
                Cell::text(case.name),
                Cell::text(promise.figure),
                Cell::number(promise.found, 1),
                Cell::text(format!("{sign} {:.1}", promise.bound)),
                Cell::text(promise.unit),
                Cell::text(if is_met { "yes" } else { "NO" }),
            ]);
        }
    }
    section.table(table);
    section
}

fn promises_of(index: usize, case: &Case, outcome: &Outcome) -> Vec<Promise> {
    let at_most = |figure, unit, bound, found| Promise { figure, unit, at_most: true, bound, found };
    let at_least = |figure, unit, bound, found| Promise { figure, unit, at_most: false, bound, found };
    let age = |fraction| f64::from(quantile(&outcome.ages, fraction));
    let event = |fraction| f64::from(quantile(&outcome.event_latencies, fraction));
    let first = |figures: &[f32]| figures.first().map_or(f64::INFINITY, |&figure| f64::from(figure));
    let intervals = |count: f64| case.one_way_ms + count * INTERVAL_MS;
    let lost = outcome.events_put.saturating_sub(outcome.event_latencies.len() as u64) as f64;
    match index {
        0 => vec![
            at_most("age of values, p99", "ms", intervals(1.0) + 1.0, age(0.99)),
            at_most(
                "overhead of a packet, in addition to 3 bytes for each value",
                "bytes",
                12.0,
                outcome.overhead_bytes_per_packet,
            ),
        ],
        1 | 2 => {
            let bound = intervals(if index == 1 { 3.0 } else { 6.0 });
            vec![
                at_most("age of values, p99.9", "ms", bound, age(0.999)),
                at_most("latency of events, p99.9", "ms", bound, event(0.999)),
            ]
        }
        3 => {
            let bound = intervals(1.0);
            vec![
                at_most(
                    "everything current after the outage",
                    "ms",
                    bound,
                    first(&outcome.current_after_outage),
                ),
                at_most("values of the outage shown, per key", "", 1.0, outcome.shown_of_outage_max as f64),
                at_most("events after the outage", "ms", 100.0, first(&outcome.events_after_outage)),
                at_most("events not arrived at the end", "", 1.0, lost),
            ]
        }
        4 => {
            let share = case.one_way_ms + KEYS * RECORD_BYTES * 8e3 / NARROW_BITS as f64 + INTERVAL_MS;
            let worst = outcome.age_p99_by_key.iter().copied().fold(0.0, f32::max);
            let queue = f64::from(quantile(&outcome.link_queue, 0.95));
            vec![
                at_most(
                    "age p99 of the worst key, relative to twice its round-robin share",
                    "ms",
                    2.0 * share,
                    worst.into(),
                ),
                at_most("standing queue of the link, p95", "ms", 30.0, queue),
                at_most("latency of events, p99", "ms", case.one_way_ms + 40.0, event(0.99)),
                at_least("use of the link", "%", 85.0, outcome.utilisation),
            ]
        }
        POLICED => vec![
            at_most("age of values, p99", "ms", 120.0, age(0.99)),
            at_most("latency of events, p99", "ms", 60.0, event(0.99)),
            at_most("mean age of the worst key, relative to all keys", "", 1.5, outcome.unfairness().into()),
        ],
        ASYMMETRIC => vec![
            at_most("age of values, p99", "ms", 50.0, age(0.99)),
            at_most("latency of events, p99", "ms", case.one_way_ms + 1.0, event(0.99)),
        ],
        // Jitter may add only the additional delay of the slowest packet.
        _ => vec![
            at_most("age of values, p99", "ms", intervals(1.0) + 1.0, age(0.99)),
            at_most("latency of events, p99", "ms", case.one_way_ms + 1.0, event(0.99)),
        ],
    }
}

fn comparison(measured: &[Measured]) -> Section {
    let mut section = Section::new("Gain from the laws of the queue");
    section.text("The same load and links, with events that wait for the values before them, and with a plain queue in which nothing becomes obsolete. The table shows the share of values that the application received. The others were replaced by newer ones, or had not arrived at the end of the run.");
    if let Some(outcome) = measured.first().map(|measured| &measured.outcomes[0]) {
        section.text(format!(
            "Each row is based on {} values and {} samples of age.",
            outcome.states_put,
            outcome.ages.len()
        ));
    }
    for Measured { case, outcomes } in measured {
        let mut table = Table::new(vec![
            Column::text(case.name),
            Column::number("age p50", "ms"),
            Column::number("age p99", "ms"),
            Column::number("age p99.9", "ms"),
            Column::number("event p50", "ms"),
            Column::number("event p99", "ms"),
            Column::number("event p99.9", "ms"),
            Column::number("shown", "%"),
        ]);
        for ((_, name), outcome) in QUEUEINGS.iter().zip(outcomes) {
            let age = |fraction| Cell::number(quantile(&outcome.ages, fraction).into(), 1);
            let event = |fraction| Cell::number(quantile(&outcome.event_latencies, fraction).into(), 1);
            table.row(vec![
                Cell::text(*name),
                age(0.5),
                age(0.99),
                age(0.999),
                event(0.5),
                event(0.99),
                event(0.999),
                Cell::number(outcome.states_shown as f64 * 100.0 / outcome.states_put as f64, 1),
            ]);
        }
        let title = format!("Age of values: {}", case.name);
        section.chart(Chart::Bars(BarChart::from_table(title, "ms", &table, 0, &[1, 2, 3]).log()));
        section.table(table);
    }
    section
}
