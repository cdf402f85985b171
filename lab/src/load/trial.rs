//! Runs one server under one load: starts it, fills it with readers, measures it from outside, and ends it.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use nowcast_server::figures::Figures;
use serde::Deserialize;

use super::kernel::{self, Traffic};
use super::process::{ProcessError, Program};
use super::profile::{Profile, Profiler};
use super::reader::{Measurements, Orders, ReaderCommand, ReaderProtocol, ReaderReply};
use super::{LoadError, Plan};
use crate::crash::TrialFolder;

/// The program of the peer. It has a room of avatars that walk at random.
const PEER: &str = include_str!("../../javascript/colyseus/server.mjs");

/// The name of the room and of the world's folder.
pub(super) const ROOM: &str = "load";

/// The figures in a server's `/metrics` that state how long its ticks take.
const TICK: &str = "nowcast_tick_seconds";

/// Maximum start time of a server, on a machine that is busy with other work.
const START_PATIENCE: Duration = Duration::from_secs(60);

/// Maximum time for all clients to join, in addition to the intervals between the joins.
const JOIN_PATIENCE: Duration = Duration::from_secs(120);

/// Maximum time for a process of readers to report.
const REPORT_PATIENCE: Duration = Duration::from_secs(60);

/// Interval between two joins.
const JOIN_INTERVAL: Duration = Duration::from_millis(10);

/// Maximum time between the last join and the measurement.
const SETTLE_MAX: Duration = Duration::from_secs(2);

/// Half of the ground's edge, in metres.
const HALF_METRES: f32 = 50.0;

/// Area of the ground for each avatar in a crowd, in square metres. A client's interest then contains sixty avatars.
const AVATAR_SQUARE_METRES: f32 = 44.0;

/// Distance between neighbouring things, in metres, in both directions.
const THING_PITCH_METRES: f32 = 2.1;

/// Radius within which a client sees a fifth of all avatars on this ground. It is an average over clients in the middle and at
/// the edges.
const NEAR_METRES: f32 = 29.0;

/// The entities that a client receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Sight {
    /// All avatars.
    All,
    /// The nearest fifth of the avatars.
    Near,
    /// Entities nearby, among many entities that rest.
    Crowd,
}

/// The number of clients, and the entities that they receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Scenario {
    pub(super) sight: Sight,
    /// Number of avatars that walk about, independently of the clients.
    pub(super) avatars: u32,
    /// Number of things that lie on the ground.
    pub(super) things: u32,
    /// Number of clients. Each client has the view of one avatar.
    pub(super) clients: u32,
}

impl Scenario {
    /// Returns the maximum distance of avatars from the middle, in metres.
    fn half_metres(&self) -> f32 {
        match self.sight {
            Sight::All | Sight::Near => HALF_METRES,
            Sight::Crowd => (self.avatars as f32 * AVATAR_SQUARE_METRES).sqrt() / 2.0,
        }
    }
}

/// The findings of one trial.
#[derive(Debug)]
pub(super) struct Measured {
    /// The number of the repetition in which the trial ran.
    pub(super) repetition: u32,
    pub(super) protocol: ReaderProtocol,
    pub(super) scenario: Scenario,
    /// Number of clients that joined.
    pub(super) joined: u32,
    /// Duration of the measurement.
    pub(super) time: Duration,
    /// Processor time of the server and of all readers during the measurement.
    pub(super) server_time: Duration,
    pub(super) readers_time: Duration,
    /// The traffic of the trial.
    pub(super) traffic: Traffic,
    /// The server's memory at the end of the measurement.
    pub(super) resident_bytes: u64,
    /// The server's memory some time after all clients had left (`Plan::linger`).
    pub(super) resident_bytes_left: Option<u64>,
    /// The updates that the clients received.
    pub(super) measurements: Measurements,
    /// The server's own figures.
    pub(super) server: ServerFigures,
    /// Processor time of the server by crate, if it was requested (`Plan::profile`).
    pub(super) profile: Option<Profile>,
}

/// The figures that a server reports about itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ServerFigures {
    /// 99th percentile of a tick in milliseconds. For Colyseus, of its steps and patches.
    #[serde(rename = "tickP99Ms")]
    pub(super) tick_p99_ms: Option<f64>,
    /// Average number of entities that a client receives.
    pub(super) seen: Option<f64>,
    /// Number of steps that the server skipped because it did not keep up.
    pub(super) steps_skipped: Option<f64>,
}

/// Measures one server under one load.
pub(super) fn run(
    plan: &Plan,
    protocol: ReaderProtocol,
    scenario: Scenario,
    repetition: u32,
) -> Result<Measured, LoadError> {
    let mut server = Server::start(plan, protocol, scenario, None)?;
    let mut readers = Readers::start(plan, protocol, scenario, &server)?;
    let joined = readers.wait()?;
    std::thread::sleep(plan.measured.min(SETTLE_MAX));
    let before = Moment::now(&mut server, &readers)?;
    readers.send(ReaderCommand::Begin)?;
    let profiler = (plan.profile && protocol != ReaderProtocol::Colyseus)
        .then(|| Profiler::start(server.program.id(), &server.folder.path));
    std::thread::sleep(plan.measured);
    let after = Moment::now(&mut server, &readers)?;
    let profiled = profiler.map(|profiler| profiler.and_then(Profiler::finish));
    let profile = profiled.transpose().map_err(LoadError::Profile)?;
    let resident_bytes = kernel::resident_bytes(server.program.id()).map_err(LoadError::Kernel)?;
    let measurements = readers.measurements()?;
    drop(readers);
    if measurements.updates == 0 {
        let why = measurements.why_lost.unwrap_or_else(|| "none was reported".into());
        return Err(LoadError::NoUpdates { clients: joined, why });
    }
    let resident_bytes_left = match plan.linger {
        Duration::ZERO => None,
        linger => {
            std::thread::sleep(linger);
            Some(kernel::resident_bytes(server.program.id()).map_err(LoadError::Kernel)?)
        }
    };
    Ok(Measured {
        repetition,
        protocol,
        scenario,
        joined,
        time: after.at - before.at,
        server_time: after.server_time - before.server_time,
        readers_time: after.readers_time.saturating_sub(before.readers_time),
        traffic: after.traffic.since(before.traffic),
        resident_bytes,
        resident_bytes_left,
        measurements,
        server: after.metrics.since(&before.metrics, joined),
        profile,
    })
}

/// The counters at one time.
pub(super) struct Moment {
    pub(super) at: Instant,
    pub(super) server_time: Duration,
    readers_time: Duration,
    traffic: Traffic,
    pub(super) metrics: ServerMetrics,
}

impl Moment {
    pub(super) fn now(server: &mut Server, readers: &Readers) -> Result<Moment, LoadError> {
        let metrics = server.request_metrics()?;
        let readers_time = readers.programs.iter().map(|one| kernel::processor_time(one.id()));
        Ok(Moment {
            at: Instant::now(),
            server_time: kernel::processor_time(server.program.id()).map_err(LoadError::Kernel)?,
            readers_time: readers_time.sum::<std::io::Result<_>>().map_err(LoadError::Kernel)?,
            traffic: Traffic::now().map_err(LoadError::Kernel)?,
            metrics,
        })
    }
}

/// A server: ours, or the peer's.
pub(super) struct Server {
    pub(super) program: Program,
    pub(super) port: u16,
    protocol: ReaderProtocol,
    folder: TrialFolder,
}

/// The metrics of a server.
pub(super) enum ServerMetrics {
    /// The page of metrics, which covers the server's whole time.
    Nowcast(Figures),
    /// The figures since the last request.
    Peer(ServerFigures),
}

impl Server {
    /// Starts a server. With `data`, it stores its worlds in this folder of the trial.
    pub(super) fn start(
        plan: &Plan,
        protocol: ReaderProtocol,
        scenario: Scenario,
        data: Option<&str>,
    ) -> Result<Server, LoadError> {
        let folder = TrialFolder::new("load").map_err(LoadError::Folder)?;
        let (what, command, port_in): (_, _, fn(&str) -> Option<u16>) = match protocol {
            ReaderProtocol::Colyseus => ("Colyseus", peer(plan, scenario, &folder.path)?, |line| {
                line.strip_prefix("listening ")?.parse().ok()
            }),
            _ => ("the server", ours(plan, scenario, &folder.path, data)?, |line| {
                line.strip_prefix("Nowcast is at ")?.trim().rsplit_once(':')?.1.parse().ok()
            }),
        };
        let program = Program::start(what, command, plan.cores[0])?;
        let port = program.wait_for_line(START_PATIENCE, port_in)?;
        Ok(Server { program, port, protocol, folder })
    }

    fn request_metrics(&mut self) -> Result<ServerMetrics, LoadError> {
        if self.protocol == ReaderProtocol::Colyseus {
            self.program.send_line("figures")?;
            let metrics =
                self.program.wait_for_line(START_PATIENCE, |line| serde_json::from_str(line).ok())?;
            return Ok(ServerMetrics::Peer(metrics));
        }
        // The metrics are requested from this thread, because the server is in this thread's network.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let host = format!("127.0.0.1:{}", self.port);
        let page = runtime.and_then(|runtime| runtime.block_on(Figures::fetch(&host, None)));
        page.map(ServerMetrics::Nowcast).map_err(LoadError::Metrics)
    }
}

impl ServerMetrics {
    pub(super) fn since(&self, before: &ServerMetrics, clients: u32) -> ServerFigures {
        let (now, before) = match (self, before) {
            (Self::Nowcast(now), Self::Nowcast(before)) => (now, before),
            (Self::Peer(now), _) => return *now,
            (Self::Nowcast(_), Self::Peer(_)) => return ServerFigures::default(),
        };
        let ticks = now.histogram(TICK, &[]).since(&before.histogram(TICK, &[]));
        let count = |of: &Figures, name: &str| of.value(name, &[]).unwrap_or(0.0);
        let seen = now.value("nowcast_room_interest_entities", &[]).unwrap_or(0.0);
        let skipped = |of: &Figures| count(of, "nowcast_steps_skipped_total");
        ServerFigures {
            tick_p99_ms: ticks.quantile(0.99).map(|seconds| seconds * 1e3),
            seen: (seen > 0.0 && clients > 0).then(|| seen / f64::from(clients)),
            steps_skipped: Some(skipped(now) - skipped(before)),
        }
    }
}

/// Returns the command for `nowcast serve` with the world in a folder. The world is stored if `data` names a folder for it.
fn ours(plan: &Plan, scenario: Scenario, folder: &Path, data: Option<&str>) -> Result<Command, LoadError> {
    let world = folder.join(ROOM);
    let interest = match scenario.sight {
        Sight::All => r#""always""#.to_owned(),
        Sight::Near | Sight::Crowd => format!("{{ radius = {NEAR_METRES} }}"),
    };
    let rules = include_str!("world.luau")
        .replace("{avatars}", &scenario.avatars.to_string())
        .replace("{half}", &scenario.half_metres().to_string())
        .replace("{things}", &scenario.things.to_string())
        .replace("{pitch}", &THING_PITCH_METRES.to_string())
        .replace("{interest}", &interest);
    let written = std::fs::create_dir(&world).and_then(|()| std::fs::write(world.join("world.luau"), rules));
    written.map_err(LoadError::Folder)?;
    let mut command = Command::new(&plan.program);
    command.arg("serve").arg(&world).args(["--host", "127.0.0.1", "--port", "0"]);
    match data {
        Some(data) => command.arg("--data").arg(folder.join(data)),
        None => command.arg("--no-data"),
    };
    command.args(["--players-max", "4096", "--players-per-address-max", "4096"]);
    command.args(["--connections-per-address-max", "8192"]);
    command.arg("--seed").arg(plan.seed.to_string()).env("RUST_LOG", "warn");
    Ok(command)
}

/// Returns the command for Node with the room of Colyseus.
fn peer(plan: &Plan, scenario: Scenario, folder: &Path) -> Result<Command, LoadError> {
    let script = folder.join("server.mjs");
    std::fs::write(&script, PEER).map_err(LoadError::Folder)?;
    let radius = match scenario.sight {
        Sight::All => None,
        Sight::Near | Sight::Crowd => Some(NEAR_METRES),
    };
    let told = serde_json::json!({
        "avatars": scenario.avatars, "half": scenario.half_metres(), "radius": radius, "hz": plan.hz,
    });
    let packages = plan.colyseus.canonicalize().map_err(LoadError::Folder)?;
    let mut command = Command::new("node");
    command.arg(script).arg(packages).arg(told.to_string()).env("NODE_ENV", "production");
    Ok(command)
}

/// The processes of readers.
pub(super) struct Readers {
    programs: Vec<Program>,
    clients: u32,
}

impl Readers {
    pub(super) fn start(
        plan: &Plan,
        protocol: ReaderProtocol,
        scenario: Scenario,
        server: &Server,
    ) -> Result<Readers, LoadError> {
        let processes = plan.processes.clamp(1, scenario.clients.max(1));
        let mut programs = Vec::new();
        let mut first = 0;
        for number in 0..processes {
            let clients = (scenario.clients - first) / (processes - number);
            let orders = Orders {
                protocol,
                address: ([127, 0, 0, 1], server.port).into(),
                room: ROOM.to_owned(),
                clients,
                first,
                hz: plan.hz,
                controls_hz: plan.controls_hz,
                join_interval_ms: JOIN_INTERVAL.as_millis() as u64 * u64::from(processes),
            };
            let itself = std::env::current_exe().map_err(LoadError::Itself)?;
            let mut command = Command::new(itself);
            let orders = serde_json::to_string(&orders).expect("orders are plain data");
            command.args(["readers", &orders]);
            programs.push(Program::start("a process of readers", command, plan.cores[1])?);
            first += clients;
        }
        Ok(Readers { programs, clients: scenario.clients })
    }

    /// Waits until all clients have joined or failed.
    pub(super) fn wait(&mut self) -> Result<u32, LoadError> {
        let patience = JOIN_PATIENCE + JOIN_INTERVAL * self.clients;
        let mut joined = 0;
        for program in &self.programs {
            joined += program.wait_for_line(patience, |line| match serde_json::from_str(line) {
                Ok(ReaderReply::Joined(joined)) => Some(joined),
                _ => None,
            })?;
        }
        if joined > 0 {
            return Ok(joined);
        }
        let why = self.measurements()?.why_lost.unwrap_or_default();
        Err(LoadError::NobodyJoined { clients: self.clients, why })
    }

    fn send(&mut self, command: ReaderCommand) -> Result<(), ProcessError> {
        let command = serde_json::to_string(&command).expect("commands are plain data");
        self.programs.iter_mut().try_for_each(|program| program.send_line(&command))
    }

    /// Collects the updates that the readers received since `Begin`.
    fn measurements(&mut self) -> Result<Measurements, LoadError> {
        self.send(ReaderCommand::End)?;
        let mut all = Measurements::default();
        for program in &self.programs {
            all.add(program.wait_for_line(REPORT_PATIENCE, |line| match serde_json::from_str(line) {
                Ok(ReaderReply::Measurements(measurements)) => Some(measurements),
                _ => None,
            })?);
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_our_server_are_those_between_two_moments() {
        let page = |slow: u32, skipped: u32| {
            let text = format!(
                "nowcast_tick_seconds_bucket{{le=\"0.001\"}} 10\nnowcast_tick_seconds_bucket{{le=\"0.01\"}} {slow}\n\
                 nowcast_tick_seconds_bucket{{le=\"+Inf\"}} {slow}\nnowcast_room_interest_entities{{room=\"load\"}} 60\n\
                 nowcast_steps_skipped_total {skipped}\n"
            );
            ServerMetrics::Nowcast(Figures::parse(&text))
        };
        let found = page(110, 7).since(&page(10, 4), 3);
        assert_eq!((found.seen, found.steps_skipped), (Some(20.0), Some(3.0)));
        assert!((found.tick_p99_ms.unwrap() - 9.91).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn figures_of_the_peer_are_parsed() {
        let figures: ServerFigures = serde_json::from_str(r#"{"tickP99Ms":1.5,"seen":60.5}"#).unwrap();
        assert_eq!((figures.tick_p99_ms, figures.seen, figures.steps_skipped), (Some(1.5), Some(60.5), None));
    }
}
