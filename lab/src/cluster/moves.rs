//! `lab cluster --moves`: a room moves between two real servers while people are in it, over a link that loses packets.
//!
//! The servers and three nats-servers are processes on one host of an emulated link, and the clients are on the others. So the
//! link's loss concerns people, and not the servers' network.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use nowcast::{CarrierKind, Connector, Trust};
use nowcast_cluster::{ControlRequest, Name};
use nowcast_dev_nats::{Cluster, free_ports};
use nowcast_jetstream::{Link, LinkOptions, send};
use nowcast_wire::Value;
use nowcast_world_client::{FollowingClient, Join, Update};
use tokio::runtime::Runtime;
use tokio::sync::mpsc;
use tokio::time::sleep;

use crate::link::{EmulatedLink, Host, HostError, LinkConfig, Loss, kill_with_starter};
use crate::report::{Cell, Column, Report, Samples, Section, Table};

/// The servers between which the room moves, by their names.
const SERVERS: [&str; 2] = ["north", "south"];
const ROOM: &str = "yard";
/// Maximum time until a client has joined, and until all clients receive movement after a move.
const PATIENCE: Duration = Duration::from_secs(60);
/// Time between two moves.
const PAUSE: Duration = Duration::from_millis(500);
/// Maximum number of people on one host, because servers limit how many join from one address in a second.
const PEOPLE_A_HOST: usize = 10;
/// Number of clients that do a durable action during each move.
const COUNTING: usize = 4;
/// The carrier that people's browsers choose.
const CARRIER: CarrierKind = CarrierKind::WebTransport;
/// Snapshots that clients receive in a second, so two of them are 50 ms apart.
const NETWORK_HZ: &str = "20";

/// The extent of a run.
#[derive(Clone, Debug)]
pub struct Moves {
    /// The program `nowcast`, which runs the servers.
    pub program: PathBuf,
    /// nats-server (`nowcast_dev_nats::install`).
    pub nats_server: PathBuf,
    /// Number of moves.
    pub moves: usize,
    /// Number of people in the room.
    pub people: usize,
    /// Number of bodies that move in the room.
    pub bodies: usize,
    /// The share of the packets that each direction of the link loses, 0 to 1.
    pub loss: f64,
    /// The seed of the link.
    pub seed: u64,
}

/// The reason why a run has no result.
#[derive(Debug, thiserror::Error)]
pub enum MovesError {
    /// The link cannot be made.
    #[error(transparent)]
    Link(#[from] HostError),
    /// A nats-server cannot be started.
    #[error(transparent)]
    Nats(#[from] nowcast_dev_nats::Error),
    /// The system failed.
    #[error("the lab: {0}")]
    Io(#[from] std::io::Error),
    /// The cluster or a client did something that it must not do.
    #[error("{0}")]
    Broken(String),
}

/// The figures of the moves, in milliseconds.
#[derive(Default)]
struct Found {
    /// The time for which the room was closed at both servers, for each move.
    closed: Samples,
    /// The longest time without movement, for each client and move.
    gaps: Samples,
    /// The longest time without movement in any client, for each move.
    worst: Samples,
}

/// The servers, nats-servers and files.
struct Stage {
    servers: Vec<Child>,
    origins: Vec<String>,
    nats: Cluster,
    folder: PathBuf,
}

impl Drop for Stage {
    fn drop(&mut self) {
        for server in &mut self.servers {
            // A server that has ended cannot be killed.
            let _ = server.kill();
            let _ = server.wait();
        }
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl Moves {
    /// Runs the moves one after the other, and passes each step to `progress`. Afterwards, each durable action must have been
    /// carried out once.
    ///
    /// # Errors
    /// Fails if the processes cannot be started, if clients receive no movement, or if a durable action is lost or repeated.
    pub fn run(
        &self,
        command: String,
        progress: &mut (dyn FnMut(&str) + Send),
    ) -> Result<Report, MovesError> {
        let loss = if self.loss > 0.0 { Loss::Random(self.loss) } else { Loss::None };
        let hosts = 1 + self.people.div_ceil(PEOPLE_A_HOST).max(1);
        let link = EmulatedLink::new(&LinkConfig { loss, ..LinkConfig::default() }, hosts, self.seed)?;
        let (servers, people) = link.hosts().split_first().expect("the link has two hosts at least");
        // The servers are killed when the thread that started them ends, so this thread keeps the host until the end.
        std::thread::scope(|scope| {
            let run = || {
                servers.enter()?;
                let stage = Stage::start(self, servers)?;
                self.measure(&stage, people, progress).map(|found| self.report(command, found))
            };
            scope.spawn(run).join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    fn measure(
        &self,
        stage: &Stage,
        hosts: &[Host],
        progress: &mut (dyn FnMut(&str) + Send),
    ) -> Result<Found, MovesError> {
        let runtimes = hosts.iter().map(runtime_on).collect::<Result<Vec<_>, _>>()?;
        // This thread is on the host of the servers.
        let at_servers = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let url: Arc<str> = format!("nowcast://{}/{ROOM}", stage.origins[0]).into();
        let mut clients = Vec::new();
        for number in 0..self.people {
            let joining = runtimes[number % runtimes.len()].spawn(join(Arc::clone(&url), number));
            clients.push(at_servers.block_on(joining).map_err(broken)??);
        }
        progress(&format!("{} people are in the room", self.people));
        let found = at_servers.block_on(self.order(&stage.nats.address(), &clients, progress));
        runtimes.into_iter().for_each(Runtime::shutdown_background);
        found
    }

    /// Orders the moves and collects the figures.
    async fn order(
        &self,
        nats: &str,
        clients: &[Person],
        progress: &mut (dyn FnMut(&str) + Send),
    ) -> Result<Found, MovesError> {
        let link = Link::connect(nats, LinkOptions::default()).await.map_err(broken)?;
        // The first move finds the room's owner, and happens when the servers know each other. It is not measured.
        let begun = Instant::now();
        let mut owner = 0;
        while let Err(cause) = move_room(&link, owner).await? {
            if begun.elapsed() > PATIENCE {
                return Err(MovesError::Broken(cause));
            }
            owner = other(owner);
            sleep(PAUSE).await;
        }
        let mut found = Found::default();
        for number in 1..=self.moves {
            owner = other(owner);
            all_receive(clients, Instant::now()).await?;
            sleep(PAUSE).await;
            clients.iter().for_each(|client| client.received().longest = Duration::ZERO);
            // A client that has ended is found by its silence.
            clients.iter().take(COUNTING).for_each(|client| _ = client.count.send(number as u32));
            let closed = move_room(&link, owner).await?.map_err(MovesError::Broken)?;
            all_receive(clients, Instant::now()).await?;
            let gaps: Samples = clients.iter().map(|client| millis(client.received().longest)).collect();
            let worst = gaps.values().iter().copied().fold(0.0, f64::max);
            progress(&format!("move {number}: closed for {closed} ms, worst client {worst:.0} ms"));
            found.closed.push(closed as f64);
            found.worst.push(worst);
            found.gaps.merge(gaps);
        }
        self.check_counts(clients).await?;
        Ok(found)
    }

    /// Waits until each durable action has counted once in all clients.
    async fn check_counts(&self, clients: &[Person]) -> Result<(), MovesError> {
        let begun = Instant::now();
        let expected = self.actions();
        while clients.iter().any(|client| client.received().counts != expected) {
            if begun.elapsed() > PATIENCE {
                let counts: Vec<u64> = clients.iter().map(|client| client.received().counts).collect();
                let cause = format!("{expected} durable actions were sent, and the clients see {counts:?}");
                return Err(MovesError::Broken(cause));
            }
            sleep(PAUSE).await;
        }
        Ok(())
    }

    fn actions(&self) -> u64 {
        (self.moves * COUNTING.min(self.people)) as u64
    }

    fn report(&self, command: String, found: Found) -> Report {
        let mut report = Report::new("Moves of a room between two servers", command).seed(self.seed);
        report.note(format!(
            "{} people over {CARRIER}, {} bodies, {} % of the packets lost in each direction.",
            self.people,
            self.bodies,
            self.loss * 100.0
        ));
        report.note(format!("{} durable actions, each carried out once.", self.actions()));
        let mut section = Section::new("Moves");
        section.text(format!(
            "Clients receive {NETWORK_HZ} snapshots a second, so the time without movement is 50 ms without a move. The servers, \
             three nats-servers and the clients share this machine.",
        ));
        let mut table = Table::new(vec![
            Column::text("figure"),
            Column::number("samples", ""),
            Column::number("p50", "ms"),
            Column::number("p99", "ms"),
            Column::number("worst", "ms"),
        ]);
        for (name, mut samples) in [
            ("room closed", found.closed),
            ("a client without movement", found.gaps),
            ("the worst client of each move without movement", found.worst),
        ] {
            let summary = samples.summary();
            let times = [summary.median, summary.p99, summary.max].map(|time| Cell::number(time, 0));
            table.row([vec![Cell::text(name), Cell::count(summary.samples)], times.to_vec()].concat());
        }
        section.table(table);
        report.section(section);
        report
    }
}

impl Stage {
    /// Starts everything on the host of the calling thread.
    fn start(run: &Moves, host: &Host) -> Result<Stage, MovesError> {
        let folder = std::env::temp_dir().join(format!("nowcast-moves-{}", std::process::id()));
        let nats = Cluster::start(&run.nats_server, &folder.join("nats"), SERVERS.len() + 1)?;
        let mut stage = Stage { servers: Vec::new(), origins: Vec::new(), nats, folder };
        let world = stage.folder.join("world");
        std::fs::create_dir_all(&world)?;
        std::fs::write(world.join("world.luau"), rules(run.bodies))?;
        for (name, port) in SERVERS.iter().zip(free_ports(SERVERS.len())?) {
            let origin = format!("{}:{port}", host.address());
            stage.servers.push(stage.start_server(&run.program, name, &world, &origin)?);
            stage.origins.push(origin);
        }
        Ok(stage)
    }

    fn start_server(
        &self,
        program: &Path,
        name: &str,
        world: &Path,
        origin: &str,
    ) -> Result<Child, MovesError> {
        let (host, port) = origin.split_once(':').expect("an origin has a port");
        let log = File::create(std::env::temp_dir().join(format!("nowcast-moves-{name}.log")))?;
        let mut command = Command::new(program);
        command
            .args([
                "serve",
                "--world",
                &format!("{ROOM}={}", world.display()),
                "--host",
                host,
                "--port",
                port,
            ])
            .args(["--anonymous", "--insecure", "--players-per-address-max", "256"])
            .args(["--network-hz", NETWORK_HZ, "--cluster", &self.nats.address(), "--cluster-server", name])
            .args(["--cluster-address", &format!("http://{origin}")])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log);
        Ok(kill_with_starter(&mut command).spawn()?)
    }
}

/// A client of the room.
struct Person {
    received: Arc<Mutex<Received>>,
    /// Takes the numbers of durable actions that the client sends.
    count: mpsc::UnboundedSender<u32>,
}

/// The movement and the count that a client has received.
#[derive(Clone, Copy)]
struct Received {
    /// Time of the last movement.
    last: Instant,
    /// The longest time without movement.
    longest: Duration,
    /// The count that the room shows.
    counts: u64,
}

impl Person {
    fn received(&self) -> MutexGuard<'_, Received> {
        self.received.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes a runtime whose thread is on a host.
fn runtime_on(host: &Host) -> Result<Runtime, MovesError> {
    let host = host.try_clone()?;
    let enter = move || host.enter().expect("the host exists");
    Ok(tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .on_thread_start(enter)
        .build()?)
}

/// Lets a client join.
async fn join(url: Arc<str>, number: usize) -> Result<Person, MovesError> {
    let connector = Connector::new().carriers([CARRIER]).trust(Trust::Announced);
    let mut key = [7; 16];
    key[..8].copy_from_slice(&(number as u64).to_le_bytes());
    let begun = Instant::now();
    let client = loop {
        let join = Join::new(format!("person {number}")).key(key);
        match FollowingClient::join(connector.clone(), &url, join).await {
            Ok(client) => break client,
            // The server may not have started yet.
            Err(_) if begun.elapsed() < PATIENCE => sleep(Duration::from_millis(100)).await,
            Err(error) => return Err(broken(format!("person {number} cannot join: {error}"))),
        }
    };
    let received = Received { last: Instant::now(), longest: Duration::ZERO, counts: 0 };
    let (count, counts) = mpsc::unbounded_channel();
    let person = Person { received: Arc::new(Mutex::new(received)), count };
    tokio::spawn(play(number, client, counts, Arc::clone(&person.received)));
    Ok(person)
}

/// Receives what the room sends, and sends durable actions, until the session ends.
async fn play(
    number: usize,
    mut client: FollowingClient,
    mut counts: mpsc::UnboundedReceiver<u32>,
    received: Arc<Mutex<Received>>,
) {
    loop {
        let outcome = tokio::select! {
            update = client.receive() => update.map_err(|error| error.to_string()).map(|update| {
                take(&update, &client, &mut received.lock().unwrap_or_else(PoisonError::into_inner));
            }),
            Some(count) = counts.recv() => {
                client.act_once(count, "count", Value::Map(Vec::new())).map_err(|error| error.to_string())
            }
        };
        if let Err(error) = outcome {
            return eprintln!("person {number}: {error}");
        }
    }
}

fn take(update: &Update, client: &FollowingClient, received: &mut Received) {
    match update {
        Update::Moved(_) => {
            let now = Instant::now();
            received.longest = received.longest.max(now - received.last);
            received.last = now;
        }
        Update::Screen(_) => {
            let screen = client.client().view().screens().find(|screen| screen.place == "counts");
            let counts = screen.and_then(|screen| screen.value.as_f64());
            received.counts = counts.map_or(received.counts, |counts| counts as u64);
        }
        _ => {}
    }
}

/// The index of the server to which the room of a server moves.
fn other(server: usize) -> usize {
    (server + 1) % SERVERS.len()
}

/// Orders a server to move the room to the other one. Returns for how many milliseconds the room was closed, or why the server
/// refuses the order.
async fn move_room(link: &Link, owner: usize) -> Result<Result<u64, String>, MovesError> {
    let name = |text| Name::new(text).map_err(broken);
    let order = ControlRequest::Move { room: name(ROOM)?, target: name(SERVERS[other(owner)])? };
    let answer = send(link, name(SERVERS[owner])?, &order).await.map_err(broken)?;
    let text = match answer.into_result() {
        Ok(text) => text,
        Err(cause) => return Ok(Err(cause)),
    };
    let closed = text.split(' ').rev().nth(1).and_then(|text| text.parse().ok());
    closed.map(Ok).ok_or_else(|| MovesError::Broken(format!("the answer `{text}` has no time")))
}

fn broken(cause: impl std::fmt::Display) -> MovesError {
    MovesError::Broken(cause.to_string())
}

/// Waits until all clients have received movement after a time.
async fn all_receive(clients: &[Person], since: Instant) -> Result<(), MovesError> {
    let begun = Instant::now();
    loop {
        let late = clients.iter().filter(|client| client.received().last <= since).count();
        if late == 0 {
            return Ok(());
        }
        if begun.elapsed() > PATIENCE {
            return Err(MovesError::Broken(format!("{late} clients receive no movement")));
        }
        sleep(Duration::from_millis(5)).await;
    }
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}

/// A pen with balls. A timer kicks some of them twice a second, so that there is movement at any time.
fn rules(bodies: usize) -> String {
    format!(
        r#"
local world = require("@nowcast/world")
world.state {{ counts = 0 }}
local Block = world.kind("block", {{ body = {{ motion = "fixed", shape = "box", size = vector.create(60, 1, 60) }} }})
local Wall = world.kind("wall", {{ body = {{ motion = "fixed", shape = "box", size = vector.create(60, 20, 1) }} }})
local Side = world.kind("side", {{ body = {{ motion = "fixed", shape = "box", size = vector.create(1, 20, 60) }} }})
local Ball = world.kind("ball", {{ body = {{ shape = "sphere", radius = 0.25 }} }})
local Person = world.kind("person", {{ walker = {{}} }})
local function show() world.show("counts", world.state.counts) end
world.on("start", function()
    Block:spawn {{ at = vector.create(0, -0.5, 0) }}
    for _, side in {{ -30, 30 }} do
        Wall:spawn {{ at = vector.create(0, 10, side) }}
        Side:spawn {{ at = vector.create(side, 10, 0) }}
    end
    for i = 1, {bodies} do
        Ball:spawn {{ at = vector.create(i % 15 - 7, 2 + i // 15, i % 13 - 6) }}
    end
    world.every(0.5, "stir")
end)
world.timer("stir", function()
    for i, ball in Ball:all() do
        if i % 8 == 0 then ball:apply_impulse(vector.create(i % 3 - 1, 0.5, i % 5 - 2) * 0.05) end
    end
end)
world.on("join", function(player)
    player:spawn_avatar(Person, {{ at = vector.create(player.id % 20, 0.92, 25) }})
    show()
end)
world.action("count", {{}}, function() world.state.counts += 1 show() end, {{ durable = true }})
"#
    )
}
