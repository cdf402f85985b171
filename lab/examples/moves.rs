//! Measures how long a room stands still when it moves between two servers while people are in it: at the servers, and in the
//! clients. Everything runs on this machine. The arguments are the program, and the numbers of people, bodies and moves:
//! `cargo run --release --manifest-path lab/Cargo.toml --example moves -- target/serve/nowcast 200 340 100`

use std::error::Error;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use nowcast::{CarrierKind, Connector};
use nowcast_cluster::{ControlRequest, Name};
use nowcast_dev_nats::{Cluster, free_ports, install};
use nowcast_jetstream::{Link, LinkOptions, send};
use nowcast_wire::Value;
use nowcast_world_client::{FollowingClient, Join, Update};
use tokio::time::sleep;

const SERVERS: [&str; 2] = ["north", "south"];
const ROOM: &str = "yard";
/// Maximum time until all clients receive movement.
const PATIENCE: Duration = Duration::from_secs(60);
/// Time between two moves.
const PAUSE: Duration = Duration::from_millis(500);
/// Number of clients that do a durable action during each move.
const COUNTING: usize = 4;

type Fault = Box<dyn Error + Send + Sync>;

/// The movement that a client has received.
#[derive(Clone, Copy)]
struct Received {
    last: Instant,
    longest: Duration,
    counts: u64,
}

struct Stage {
    servers: Vec<Child>,
    folder: PathBuf,
    _nats: Cluster,
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

fn main() -> Result<(), Fault> {
    let mut words = std::env::args().skip(1);
    let program = PathBuf::from(words.next().ok_or("the first argument is the program nowcast")?);
    let mut number = |default| words.next().map_or(Ok(default), |text| text.parse::<usize>());
    let (people, bodies, moves) = (number(2)?, number(200)?, number(20)?);
    let runtime = tokio::runtime::Runtime::new()?;
    let outcome = runtime.block_on(measure(&program, people, bodies, moves));
    runtime.shutdown_background();
    outcome
}

async fn measure(program: &Path, people: usize, bodies: usize, moves: usize) -> Result<(), Fault> {
    let folder = std::env::temp_dir().join(format!("nowcast-moves-{}", std::process::id()));
    let nats = Cluster::start(&install(Path::new("target/nats"))?, &folder.join("nats"), SERVERS.len() + 1)?;
    let world = folder.join("world");
    std::fs::create_dir_all(&world)?;
    std::fs::write(world.join("world.luau"), rules(bodies))?;
    let (address, ports) = (nats.address(), free_ports(SERVERS.len())?);
    let mut stage = Stage { servers: Vec::new(), folder, _nats: nats };
    for (name, port) in SERVERS.iter().zip(&ports) {
        let log = File::create(std::env::temp_dir().join(format!("nowcast-moves-{name}.log")))?;
        let server = Command::new(program)
            .args(["serve", "--world", &format!("{ROOM}={}", world.display()), "--port", &port.to_string()])
            .args(["--cluster", &address, "--cluster-server", name, "--network-hz", "20"])
            .args(["--players-per-address-max", "256"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()?;
        stage.servers.push(server);
    }
    let clients = join(&format!("nowcast://localhost:{}/{ROOM}", ports[0]), people).await?;
    let link = Link::connect(&address, LinkOptions::default()).await?;
    let (mut stood, mut gaps, mut worst) = (Vec::new(), Vec::new(), Vec::new());
    let mut owner = 0;
    for number in 1..=moves {
        let target = (owner + 1) % SERVERS.len();
        clients.iter().for_each(|(received, _)| lock(received).longest = Duration::ZERO);
        clients.iter().take(COUNTING).for_each(|(_, count)| _ = count.send(number as u32));
        let name = |text| Name::new(text).map_err(|error| error.to_string());
        let order = ControlRequest::Move { room: name(ROOM)?, target: name(SERVERS[target])? };
        let text = match send(&link, name(SERVERS[owner])?, &order).await?.into_result() {
            Ok(text) => text,
            // The servers may not have seen each other yet.
            Err(cause) => {
                eprintln!("{cause}");
                sleep(PAUSE).await;
                continue;
            }
        };
        let millis = text.split(' ').rev().nth(1).and_then(|text| text.parse::<u64>().ok());
        stood.push(Duration::from_millis(millis.ok_or("the answer has no time")?));
        owner = target;
        all_receive(&clients, Instant::now()).await?;
        let of_move: Vec<Duration> = clients.iter().map(|(received, _)| lock(received).longest).collect();
        worst.extend(of_move.iter().max());
        gaps.extend(of_move);
        sleep(PAUSE).await;
    }
    println!("{people} people, {bodies} bodies");
    show("a room stands still", stood);
    show("the longest time without movement in a client", gaps);
    show("the same in the worst client of each move", worst);
    let begun = Instant::now();
    // Each move that was carried out or refused has counted once in each client.
    let expected = (moves * COUNTING.min(people)) as u64;
    while clients.iter().any(|(received, _)| lock(received).counts != expected) {
        if begun.elapsed() > PATIENCE {
            let counts: Vec<u64> = clients.iter().map(|(received, _)| lock(received).counts).collect();
            return Err(format!("{expected} actions were sent, and the clients see {counts:?}").into());
        }
        sleep(PAUSE).await;
    }
    println!("{expected} durable actions, each carried out once");
    Ok(())
}

type Clients = Vec<(Arc<Mutex<Received>>, tokio::sync::mpsc::UnboundedSender<u32>)>;

/// Lets clients join one after the other.
async fn join(url: &str, people: usize) -> Result<Clients, Fault> {
    let mut clients = Clients::new();
    for number in 0..people {
        let connector = Connector::new().carriers([CarrierKind::WebSocket]);
        let mut key = [7; 16];
        key[..8].copy_from_slice(&(number as u64).to_le_bytes());
        let begun = Instant::now();
        let mut client = loop {
            let join = Join::new(format!("person {number}")).key(key);
            match FollowingClient::join(connector.clone(), url, join).await {
                Ok(client) => break client,
                // The server may not have started yet.
                Err(error) if begun.elapsed() > PATIENCE => return Err(error.into()),
                Err(_) => sleep(Duration::from_millis(100)).await,
            }
        };
        let received = Received { last: Instant::now(), longest: Duration::ZERO, counts: 0 };
        let received = Arc::new(Mutex::new(received));
        let (count, mut counts) = tokio::sync::mpsc::unbounded_channel::<u32>();
        clients.push((Arc::clone(&received), count));
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    update = client.receive() => match update {
                        Ok(update) => take(&update, &client, &received),
                        Err(error) => return eprintln!("person {number}: {error}"),
                    },
                    Some(number) = counts.recv() => {
                        if let Err(error) = client.act_once(number, "count", Value::Map(Vec::new())) {
                            eprintln!("person {number}: {error}");
                        }
                    }
                }
            }
        });
    }
    all_receive(&clients, Instant::now()).await?;
    Ok(clients)
}

fn take(update: &Update, client: &FollowingClient, received: &Mutex<Received>) {
    let mut received = lock(received);
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

/// Waits until all clients have received movement after a time.
async fn all_receive(clients: &Clients, since: Instant) -> Result<(), Fault> {
    let begun = Instant::now();
    loop {
        let late = clients.iter().filter(|(received, _)| lock(received).last <= since).count();
        if late == 0 {
            return Ok(());
        }
        if begun.elapsed() > PATIENCE {
            return Err(format!("{late} clients receive no movement").into());
        }
        sleep(Duration::from_millis(5)).await;
    }
}

fn lock(received: &Mutex<Received>) -> std::sync::MutexGuard<'_, Received> {
    received.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn show(what: &str, mut times: Vec<Duration>) {
    times.sort();
    let Some(last) = times.len().checked_sub(1) else { return println!("{what}: no move") };
    let at = |permille: usize| times[last * permille / 1_000].as_secs_f64() * 1_000.0;
    println!(
        "{what}: n {}, p50 {:.0} ms, p90 {:.0} ms, p99 {:.0} ms, worst {:.0} ms",
        times.len(),
        at(500),
        at(900),
        at(990),
        at(1_000)
    );
}

/// A pen with balls. A timer kicks some of them every second, so that there is movement at any time.
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
