//! Measures the bytes of a scene in which all bodies move: 250 rocks and one client, with all headers, over links with loss.
//!
//! The server is on one emulated host and the client is on the other. The kernel counts the bytes of both interfaces. A second
//! client, on the server's own host, receives every pose at every step, with a precision of a tenth of a millimetre. The poses of
//! the first client are compared with those of the second client.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use nowcast::{CarrierKind, Connector, Trust};
use nowcast_replication::{Applied, Transform};
use nowcast_world::{EntityId, STEP_HZ};
use nowcast_world_client::{Join, Update, WorldClient};
use nowcast_world_protocol::plain::{Encoding, FrameRef, ServerMessage};
use tokio::time::timeout;
use tokio_tungstenite::connect_async;
use tokio_tungstenite::tungstenite::Message;

use super::kernel::Interface;
use super::{LoadError, LoadOutcome, Plan, attempt, findings};
use crate::crash::TrialFolder;
use crate::link::{EmulatedLink, Host, HostProcess, Lateness, LinkConfig, Loss};
use crate::report::{BarChart, Cell, Chart, Column, Report, Section, Table};

/// The world's folder, relative to the top of a checkout.
const WORLD: &str = "worlds/asteroids";

const PORT: u16 = 7_777;
const ROOM: &str = "asteroids";
const DEVICE: &str = "link0";

/// Number of updates a second, as in the benchmark that this scene repeats.
const HZ: u32 = 30;

/// The round-trip time of the link.
const ROUND_TRIP: Duration = Duration::from_millis(50);

/// Loss of packets in each direction.
const LOSSES: [f64; 3] = [0.0, 0.01, 0.05];

/// In each series of this many steps, the poses of two steps are compared. These two steps suffice and save memory.
const STEPS_PER_SAMPLE: u32 = 10;

/// Maximum time for all clients to join, on a machine that is busy with other work.
const PATIENCE: Duration = Duration::from_secs(60);

/// Interval between checks for the end.
const LOOK: Duration = Duration::from_millis(50);

/// Maximum time between the last join and the measurement.
const SETTLE_MAX: Duration = Duration::from_secs(3);

/// The position of an entity at a step.
type Places = HashMap<(u32, u32), [f64; 3]>;

/// The scenes of the world: a name, and the last line of the file that selects the scene.
const SCENES: [(&str, &str); 2] = [("ours", OURS), ("Reactor's", "return scenes.steady")];
const OURS: &str = "return scenes.ours";

/// The file of the world's folder with the settings of the scenes.
const SCENE_FILE: &str = "scene.luau";

/// The findings of one run.
struct Counted {
    scene: &'static str,
    carrier: CarrierKind,
    loss: f64,
    /// The traffic towards the client, as the server's host sent it.
    toward: Flow,
    /// The traffic in the opposite direction.
    back: Flow,
    /// Distances between displayed and true positions, in metres.
    errors: Vec<f64>,
    lateness: Lateness,
}

/// The traffic in one direction, for each second.
struct Flow {
    bytes: f64,
    packets: f64,
}

/// Whether the two clients have joined, and whether the run has ended.
#[derive(Default)]
struct Stage {
    truth_is_in: AtomicBool,
    client_is_in: AtomicBool,
    is_over: AtomicBool,
}

impl Stage {
    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }
}

pub(super) fn run(
    plan: &Plan,
    world: &Path,
    progress: &mut (dyn FnMut(&str) + Send),
) -> Result<LoadOutcome, LoadError> {
    if !world.join("world.luau").is_file() {
        return Err(LoadError::NoWorld(world.to_owned()));
    }
    let (mut all, mut failed) = (Vec::new(), Vec::new());
    let has_scenes = world.join(SCENE_FILE).is_file();
    for (scene, line) in SCENES.into_iter().filter(|(_, line)| has_scenes || *line == OURS) {
        let folder = TrialFolder::new("asteroids").map_err(LoadError::Kernel)?;
        copy_with_scene(world, &folder.path, line).map_err(LoadError::Kernel)?;
        for carrier in [CarrierKind::WebTransport, CarrierKind::WebSocket] {
            for loss in LOSSES {
                let name = format!("asteroids ({scene}) over {carrier}, {} % lost", loss * 100.0);
                let trial = || once(plan, scene, &folder.path, carrier, loss);
                all.extend(attempt(name, trial, &mut failed, progress));
            }
        }
    }
    let mut report = report(plan, &all);
    findings::list_failed(&mut report, &failed);
    Ok(LoadOutcome { report, failed })
}

/// Copies the files of a world's folder, with another last line in the file of the scenes.
fn copy_with_scene(world: &Path, to: &Path, line: &str) -> std::io::Result<()> {
    for entry in std::fs::read_dir(world)? {
        let entry = entry?;
        let copy = to.join(entry.file_name());
        if entry.file_name() == SCENE_FILE {
            std::fs::write(copy, std::fs::read_to_string(entry.path())?.replace(OURS, line))?;
        } else if entry.file_type()?.is_file() {
            std::fs::copy(entry.path(), copy)?;
        }
    }
    Ok(())
}

fn once(
    plan: &Plan,
    scene: &'static str,
    world: &Path,
    carrier: CarrierKind,
    loss: f64,
) -> Result<Counted, LoadError> {
    let loss_model = if loss > 0.0 { Loss::Random(loss) } else { Loss::None };
    let config = LinkConfig { delay: ROUND_TRIP / 2, loss: loss_model, ..LinkConfig::default() };
    let link = EmulatedLink::new(&config, 2, plan.seed)?;
    let (near, far) = (link.host(1), link.host(2));
    let mut serve = Command::new(&plan.program);
    serve.arg("serve").arg("--world").arg(format!("{ROOM}={}", world.display()));
    serve
        .args(["--no-data", "--anonymous", "--insecure", "--players-per-address-max", "256", "--host"])
        .arg(far.address().to_string());
    serve.args(["--port", &PORT.to_string(), "--seed", &plan.seed.to_string()]).env("RUST_LOG", "warn");
    let started = |cause| super::ProcessError::Start { what: "the server", cause };
    let server = HostProcess::start(far, serve).map_err(started)?;
    let address = SocketAddr::from((far.address(), PORT));
    let stage = Stage::default();
    let (flows, truth, shown) = thread::scope(|scope| {
        let truth = scope.spawn(|| on(far, watch_truth(address, &stage)));
        let shown = scope.spawn(|| on(near, watch_link(address, carrier, &stage)));
        let flows = measure(plan, near, far, &stage);
        stage.is_over.store(true, Ordering::Release);
        let joined = |handle: thread::ScopedJoinHandle<'_, _>| {
            handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        (flows, joined(truth), joined(shown))
    });
    // The reason of a failed join is more useful than the timeout, so it is checked first.
    let (truth, shown) = (truth.map_err(LoadError::Reader)?, shown.map_err(LoadError::Reader)?);
    let [toward, back] = flows?;
    let errors = shown.iter().filter_map(|(place, shown)| Some(distance(truth.get(place)?, shown))).collect();
    // The server is dropped before the link, so that it does not notice the end of the link.
    drop(server);
    Ok(Counted { scene, carrier, loss, toward, back, errors, lateness: link.finish().lateness })
}

/// Waits until all clients have joined. Counts the bytes that the hosts of the server and of the client send.
fn measure(plan: &Plan, near: &Host, far: &Host, stage: &Stage) -> Result<[Flow; 2], LoadError> {
    let deadline = Instant::now() + PATIENCE;
    while !(stage.truth_is_in.load(Ordering::Acquire) && stage.client_is_in.load(Ordering::Acquire)) {
        if Instant::now() > deadline {
            return Err(LoadError::Reader(format!("no client joined within {} s", PATIENCE.as_secs())));
        }
        thread::sleep(LOOK);
    }
    thread::sleep(plan.measured.min(SETTLE_MAX));
    let count = || -> std::io::Result<_> {
        let of = |host: &Host| host.run(|| Interface::now(DEVICE))?;
        Ok((Instant::now(), of(far)?, of(near)?))
    };
    let before = count().map_err(LoadError::Kernel)?;
    thread::sleep(plan.measured);
    let after = count().map_err(LoadError::Kernel)?;
    let seconds = (after.0 - before.0).as_secs_f64();
    let flow = |before: &Interface, after: &Interface| Flow {
        bytes: (after.sent_bytes - before.sent_bytes) as f64 / seconds,
        packets: (after.sent_packets - before.sent_packets) as f64 / seconds,
    };
    Ok([flow(&before.1, &after.1), flow(&before.2, &after.2)])
}

/// Runs a future on a host. Errors are returned as text.
fn on<T>(host: &Host, work: impl Future<Output = Result<T, String>>) -> Result<T, String> {
    host.enter().map_err(|error| error.to_string())?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| error.to_string())?.block_on(work)
}

/// Whether the positions at this step are compared.
fn is_sampled(tick: u32) -> bool {
    tick % STEPS_PER_SAMPLE < 2
}

/// Records all true positions. Receives them by the plain protocol on the server's own host.
async fn watch_truth(address: SocketAddr, stage: &Stage) -> Result<Places, String> {
    let url = format!("ws://{address}/ws/{ROOM}?encoding=msgpack&hz={STEP_HZ}&name=truth");
    let deadline = Instant::now() + PATIENCE;
    let mut socket = loop {
        match connect_async(&url).await {
            Ok((socket, _)) => break socket,
            // The server is still starting.
            Err(_) if Instant::now() < deadline && !stage.is_over() => tokio::time::sleep(LOOK).await,
            Err(error) => return Err(error.to_string()),
        }
    };
    let mut places = Places::new();
    while !stage.is_over() {
        let Ok(message) = timeout(LOOK, socket.next()).await else { continue };
        let message =
            message.ok_or("the server closed the connection")?.map_err(|error| error.to_string())?;
        let Message::Binary(bytes) = message else { continue };
        let said = ServerMessage::decode(Encoding::MsgPack, FrameRef::Binary(&bytes));
        let ServerMessage::Move { tick, entities } = said.map_err(|error| error.to_string())? else {
            continue;
        };
        stage.truth_is_in.store(true, Ordering::Release);
        let tick = tick as u32;
        if is_sampled(tick) {
            let placed =
                entities.iter().map(|one| ((tick, one.id), [one.position_x, one.position_y, one.position_z]));
            places.extend(placed);
        }
    }
    Ok(places)
}

/// Records the poses that the client on the other host shows at each step that it receives.
async fn watch_link(address: SocketAddr, carrier: CarrierKind, stage: &Stage) -> Result<Places, String> {
    // The server can receive requests only when it is ready.
    while !stage.truth_is_in.load(Ordering::Acquire) && !stage.is_over() {
        tokio::time::sleep(LOOK).await;
    }
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let connector = Connector::new().carriers([carrier]).trust(Trust::Announced);
    let channel =
        connector.connect(&format!("nowcast://{address}/{ROOM}")).await.map_err(|error| text(&error))?;
    let mut client =
        WorldClient::join(channel, Join::new("client").network_hz(HZ)).map_err(|error| text(&error))?;
    let mut shown: HashMap<EntityId, Transform> = HashMap::new();
    let mut places = Places::new();
    while !stage.is_over() {
        let Ok(update) = timeout(LOOK, client.receive()).await else { continue };
        let Update::Moved(Applied { tick, .. }) = update.map_err(|error| text(&error))? else { continue };
        stage.client_is_in.store(true, Ordering::Release);
        for (id, now) in client.view().transforms() {
            // If a pose has not changed, it may be older than this step.
            if shown.insert(id, now) != Some(now) && is_sampled(tick) {
                places.insert((tick, id.0), now.position.map(f64::from));
            }
        }
    }
    Ok(places)
}

fn distance(one: &[f64; 3], other: &[f64; 3]) -> f64 {
    (0..3).map(|axis| (one[axis] - other[axis]).powi(2)).sum::<f64>().sqrt()
}

fn report(plan: &Plan, all: &[Counted]) -> Report {
    let mut report =
        Report::new("Bytes of a scene in which all bodies move", plan.command.clone()).seed(plan.seed);
    report.note(format!(
        "`{WORLD}`: 250 rocks that seek random speeds, push one another and bounce off a planetoid. Scene `ours` has 2–8 m/s and spins up to 115°/s, `Reactor's` the published 1–4 m/s and 45°/s. One client receives all of them {HZ} times a second, with a round trip of {} ms, for {} s. Bytes and packets are those that the two hosts' kernels sent on the link: with all headers of IP, UDP and TCP but not of Ethernet, including packets that the link lost.",
        ROUND_TRIP.as_millis(),
        plan.measured.as_secs()
    ));
    report.note(
        "Errors are distances between the client's and the server's position of a rock at the same step. A second client on the server's host receives the server's positions to a tenth of a millimetre. Between a collision and the arrival of the body's next motion row, a client shows the path before the collision; if that row is lost, errors are large for a round trip. The published figures of this scene, of 30 updates with positions to 0.01: 15 kB/s (Reactor), 112 (Fusion 2), 185 (Netcode for GameObjects).",
    );
    if all.iter().any(|one| !one.lateness.is_trustworthy()) {
        report.note("† The relay was late: delays were longer than the table states.");
    }
    let mut section = Section::new("One client");
    let mut table = Table::new(vec![
        Column::text("carrier"),
        Column::text("scene"),
        Column::number("lost each way", "%"),
        Column::number("toward the client", "kB/s"),
        Column::number("packets toward it", "1/s"),
        Column::number("back", "kB/s"),
        Column::number("packets back", "1/s"),
        Column::number("99 % of errors within", "m"),
        Column::number("largest error", "m"),
        Column::number("places compared", ""),
    ]);
    for one in all {
        let mark = if one.lateness.is_trustworthy() { "" } else { " †" };
        let mut errors = one.errors.clone();
        errors.sort_unstable_by(f64::total_cmp);
        let most = errors.get(errors.len() * 99 / 100).copied();
        let largest = one.errors.iter().copied().reduce(f64::max);
        table.row(vec![
            Cell::text(format!("{}{mark}", one.carrier)),
            Cell::text(one.scene),
            Cell::number(one.loss * 100.0, 0),
            Cell::number(one.toward.bytes / 1e3, 2),
            Cell::number(one.toward.packets, 1),
            Cell::number(one.back.bytes / 1e3, 2),
            Cell::number(one.back.packets, 1),
            most.map_or(Cell::Missing, |error| Cell::number(error, 4)),
            largest.map_or(Cell::Missing, |error| Cell::number(error, 4)),
            Cell::count(one.errors.len()),
        ]);
    }
    let label = |one: &Counted| format!("{}, {}, {} % lost", one.scene, one.carrier, one.loss * 100.0);
    let labels = all.iter().map(label).collect();
    let bars = all.iter().map(|one| Some((one.toward.bytes + one.back.bytes) / 1e3)).collect();
    let series = vec![crate::report::Series { name: "both directions".into(), values: bars }];
    let title = "Bytes with all headers, both directions";
    section.chart(Chart::Bars(BarChart {
        title: title.into(),
        unit: "kB/s".into(),
        labels,
        series,
        log: false,
    }));
    section.table(table);
    report.section(section);
    report
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_consecutive_steps_are_compared_whatever_the_phase_of_a_client() {
        let sampled: Vec<u32> = (0..20).filter(|tick| is_sampled(*tick)).collect();
        assert_eq!(sampled, [0, 1, 10, 11]);
    }

    #[test]
    fn an_error_is_a_distance() {
        assert_eq!(distance(&[0.0, 0.0, 0.0], &[3.0, 0.0, 4.0]), 5.0);
    }
}
