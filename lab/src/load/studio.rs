//! `lab studio` measures the cost of the studio for a server: a room with many things and clients, with the studio closed and with
//! each of its tabs open, in one run of one server. It also measures the time to open an earlier step of a room.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::report::{Cell, Column, Report, Section, Table};
use serde_json::Value as Json;

use super::reader::ReaderProtocol;
use super::trial::{Moment, ROOM, Readers, Scenario, Server, Sight};
use super::{LoadError, Plan, in_a_thread, kernel};

/// The options of a run.
#[derive(Clone, Debug)]
pub struct StudioPlan {
    /// The programs, the rates of the clients, the cores and the seed.
    pub load: Plan,
    /// Number of clients.
    pub clients: u32,
    /// Number of things on the ground.
    pub things: u32,
    /// Number of times that each tab is measured.
    pub rounds: u32,
    /// Number of bodies in the world with history.
    pub bodies: u32,
    /// The age of the opened moment.
    pub back: Duration,
}

/// The requests of a tab with their intervals, as `packages/studio` sends them.
struct Tab {
    name: &'static str,
    requests: &'static [(&'static str, Duration)],
}

const TABS: [Tab; 4] = [
    Tab {
        name: "World",
        requests: &[
            ("rooms", Duration::from_secs(5)),
            ("rooms/load", Duration::from_secs(1)),
            ("rooms/load/state", Duration::from_secs(1)),
            ("rooms/load/entities?limit=200", Duration::from_secs(1)),
        ],
    },
    Tab { name: "Step", requests: &[("rooms/load/profile?steps=120", Duration::from_secs(1))] },
    Tab {
        name: "Clients",
        requests: &[
            ("rooms/load/clients", Duration::from_secs(1)),
            ("rooms/load/clients/1", Duration::from_secs(1)),
        ],
    },
    Tab {
        name: "Events",
        requests: &[
            ("rooms/load/log", Duration::from_millis(500)),
            ("metrics/history", Duration::from_secs(5)),
        ],
    },
];

/// The figures of one measurement.
#[derive(Clone, Copy, Debug)]
struct Cost {
    /// Processor time of the server, in percent of a core.
    core_percent: f64,
    tick_p99_ms: f64,
    resident_mb: f64,
}

/// A tab, and its costs in each round: with the studio closed, and with the tab open.
type TabCosts = (&'static str, Vec<[Cost; 2]>);

/// Runs all measurements.
///
/// # Errors
/// [`LoadError`], if a server or its clients fail, or if the studio refuses a request.
pub fn run(plan: &StudioPlan, progress: &mut (dyn FnMut(&str) + Send)) -> Result<Report, LoadError> {
    in_a_thread(|| {
        let costs = measure_tabs(plan, progress)?;
        progress(&format!("a moment of {} s ago in a world of {} bodies", plan.back.as_secs(), plan.bodies));
        let moments = measure_moments(plan)?;
        Ok(report(plan, &costs, &moments))
    })
}

/// Measures each tab between two measurements with the studio closed.
fn measure_tabs(
    plan: &StudioPlan,
    progress: &mut (dyn FnMut(&str) + Send),
) -> Result<Vec<TabCosts>, LoadError> {
    let scenario =
        Scenario { sight: Sight::Crowd, avatars: plan.clients, things: plan.things, clients: plan.clients };
    let mut server = Server::start(&plan.load, ReaderProtocol::WebSocket, scenario, None)?;
    let mut readers = Readers::start(&plan.load, ReaderProtocol::WebSocket, scenario, &server)?;
    readers.wait()?;
    // The rules place the things in the first steps.
    thread::sleep(Duration::from_secs(2));
    let mut costs: Vec<_> = TABS.iter().map(|tab| (tab.name, Vec::new())).collect();
    for round in 0..plan.rounds {
        for (tab, (_, costs)) in TABS.iter().zip(&mut costs) {
            progress(&format!("{}, round {} of {}", tab.name, round + 1, plan.rounds));
            let closed = measure(plan, &mut server, &readers)?;
            let (is_over, port) = (AtomicBool::new(false), server.port);
            let (open, polled) = thread::scope(|scope| {
                let polling = scope.spawn(|| poll(port, tab, &is_over));
                // The tab is open before the measurement begins.
                thread::sleep(Duration::from_secs(1));
                let open = measure(plan, &mut server, &readers);
                is_over.store(true, Ordering::Relaxed);
                (open, polling.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            });
            polled?;
            costs.push([closed, open?]);
            // The room measures for 10 s after the last read.
            thread::sleep(Duration::from_secs(11));
        }
    }
    Ok(costs)
}

fn measure(plan: &StudioPlan, server: &mut Server, readers: &Readers) -> Result<Cost, LoadError> {
    let before = Moment::now(server, readers)?;
    thread::sleep(plan.load.measured);
    let after = Moment::now(server, readers)?;
    let time = (after.at - before.at).as_secs_f64();
    let resident = kernel::resident_bytes(server.program.id()).map_err(LoadError::Kernel)?;
    Ok(Cost {
        core_percent: (after.server_time - before.server_time).as_secs_f64() / time * 100.0,
        tick_p99_ms: after.metrics.since(&before.metrics, plan.clients).tick_p99_ms.unwrap_or(f64::NAN),
        resident_mb: resident as f64 / f64::from(1 << 20),
    })
}

/// Sends the requests of a tab until the flag is set.
fn poll(port: u16, tab: &Tab, is_over: &AtomicBool) -> Result<(), LoadError> {
    let mut client = StudioClient::connect(port)?;
    let mut due: Vec<_> = tab.requests.iter().map(|_| Instant::now()).collect();
    while !is_over.load(Ordering::Relaxed) {
        for ((path, interval), due) in tab.requests.iter().zip(&mut due) {
            if *due <= Instant::now() {
                client.request("GET", path, "")?;
                *due += *interval;
            }
        }
        thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// The times to open a moment, and to step it back, in milliseconds.
struct MomentTimes {
    open: Vec<f64>,
    step_back: Vec<f64>,
}

fn measure_moments(plan: &StudioPlan) -> Result<MomentTimes, LoadError> {
    let avatars = plan.bodies / 8;
    let scenario = Scenario { sight: Sight::Crowd, avatars, things: plan.bodies - avatars, clients: 2 };
    let server = Server::start(&plan.load, ReaderProtocol::WebSocket, scenario, Some("data"))?;
    let mut readers = Readers::start(&plan.load, ReaderProtocol::WebSocket, scenario, &server)?;
    readers.wait()?;
    thread::sleep(plan.back + Duration::from_secs(10));
    let mut client = StudioClient::connect(server.port)?;
    let (mut times, body) = (MomentTimes { open: vec![], step_back: vec![] }, plan.back.as_secs());
    for _ in 0..plan.rounds.max(3) {
        let began = Instant::now();
        let moments = format!("rooms/{ROOM}/moments");
        let moment = client.request("POST", &moments, &format!("{{\"secondsAgo\":{body}}}"))?;
        times.open.push(began.elapsed().as_secs_f64() * 1e3);
        let id = moment["id"].as_str().unwrap_or_default().to_owned();
        let began = Instant::now();
        client.request("POST", &format!("moments/{id}/step"), r#"{"steps":-60}"#)?;
        times.step_back.push(began.elapsed().as_secs_f64() * 1e3);
        client.request("DELETE", &format!("moments/{id}"), "{}")?;
    }
    Ok(times)
}

/// A connection to the studio of a server.
struct StudioClient {
    stream: BufReader<TcpStream>,
}

impl StudioClient {
    fn connect(port: u16) -> Result<Self, LoadError> {
        let stream = TcpStream::connect(("127.0.0.1", port)).map_err(LoadError::Studio)?;
        Ok(Self { stream: BufReader::new(stream) })
    }

    fn request(&mut self, method: &str, path: &str, body: &str) -> Result<Json, LoadError> {
        let (status, body) = self.exchange(method, path, body).map_err(LoadError::Studio)?;
        if !(200..300).contains(&status) {
            let refusal = format!("{method} {path}: {status} {}", String::from_utf8_lossy(&body));
            return Err(LoadError::Studio(io::Error::other(refusal)));
        }
        serde_json::from_slice(&body).map_err(|error| LoadError::Studio(error.into()))
    }

    fn exchange(&mut self, method: &str, path: &str, body: &str) -> io::Result<(u16, Vec<u8>)> {
        let request = format!(
            "{method} /studio/api/{path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        self.stream.get_mut().write_all(request.as_bytes())?;
        let (mut status, mut length) = (0, 0);
        for number in 0.. {
            let mut line = String::new();
            if self.stream.read_line(&mut line)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let line = line.trim_end();
            if line.is_empty() {
                break;
            }
            if number == 0 {
                status = line.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or_default();
            } else if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse().map_err(io::Error::other)?;
            }
        }
        let mut answer = vec![0; length];
        self.stream.read_exact(&mut answer)?;
        Ok((status, answer))
    }
}

fn report(plan: &StudioPlan, costs: &[TabCosts], moments: &MomentTimes) -> Report {
    let mut report = Report::new("The cost of the studio", plan.load.command.clone()).seed(plan.load.seed);
    report.note(
        "Each tab is measured between two measurements with the studio closed, in one run of one server.",
    );
    let title = format!("A room of {} things with {} clients", plan.things, plan.clients);
    let mut section = Section::new(title);
    let mut table = Table::new(vec![
        Column::text("tab"),
        Column::number("closed", "% of a core"),
        Column::number("open", "% of a core"),
        Column::number("difference", "% of a core"),
        Column::number("tick p99, closed", "ms"),
        Column::number("tick p99, open", "ms"),
        Column::number("memory, open", "MB"),
    ]);
    for (name, costs) in costs {
        let of = |at: usize, figure: fn(&Cost) -> f64| {
            median(costs.iter().map(|pair| figure(&pair[at])).collect())
        };
        let difference =
            median(costs.iter().map(|[closed, open]| open.core_percent - closed.core_percent).collect());
        table.row(vec![
            Cell::text(*name),
            Cell::number(of(0, |cost| cost.core_percent), 2),
            Cell::number(of(1, |cost| cost.core_percent), 2),
            Cell::number(difference, 2),
            Cell::number(of(0, |cost| cost.tick_p99_ms), 2),
            Cell::number(of(1, |cost| cost.tick_p99_ms), 2),
            Cell::number(of(1, |cost| cost.resident_mb), 1),
        ]);
    }
    section.text("Medians of the rounds. The difference is the median of the differences of neighbouring measurements.");
    section.table(table);
    report.section(section);
    let mut section = Section::new(format!(
        "A moment of {} s ago in a world of {} bodies",
        plan.back.as_secs(),
        plan.bodies
    ));
    let mut table = Table::new(vec![
        Column::text("request"),
        Column::number("median", "ms"),
        Column::number("slowest", "ms"),
    ]);
    for (name, times) in [("open the moment", &moments.open), ("step back by 60 steps", &moments.step_back)] {
        let slowest = times.iter().copied().fold(0.0, f64::max);
        table.row(vec![Cell::text(name), Cell::number(median(times.clone()), 1), Cell::number(slowest, 1)]);
    }
    section.table(table);
    report.section(section);
    report
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_has_the_median_difference_of_neighbouring_measurements() {
        let plan = StudioPlan {
            load: Plan::quick("/bin/false".into(), "cargo xtask lab studio".into()),
            clients: 200,
            things: 10_000,
            rounds: 3,
            bodies: 340,
            back: Duration::from_secs(60),
        };
        let cost = |core_percent| Cost { core_percent, tick_p99_ms: 2.0, resident_mb: 80.0 };
        let pairs = vec![[cost(40.0), cost(41.0)], [cost(50.0), cost(52.0)], [cost(30.0), cost(30.5)]];
        let moments = MomentTimes { open: vec![30.0, 10.0, 20.0], step_back: vec![5.0] };
        let report = report(&plan, &[("Step", pairs)], &moments);
        let row = &report.sections[0].tables[0].rows[0];
        assert_eq!(row[3].value(), Some(1.0));
        assert_eq!(report.sections[1].tables[0].rows[0][1].value(), Some(20.0));
    }

    #[test]
    fn every_request_of_a_tab_names_the_room_of_the_load() {
        for path in TABS.iter().flat_map(|tab| tab.requests).map(|(path, _)| path) {
            assert!(
                !path.contains('/')
                    || path.starts_with("metrics/")
                    || path.starts_with(&format!("rooms/{ROOM}"))
            );
        }
    }
}
