//! The server's answers to requests of other servers and of `nowcast cluster`, and the figures that it reports.

use std::sync::{Arc, Weak};
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use nowcast_cluster::{Epoch, Load, Name, ServerEntry};
use nowcast_jetstream::{ControlAnswer, ControlRequest, answer_requests};
use nowcast_room::Opener;
use nowcast_store::WorldName;
use tokio::task::spawn_blocking;
use tokio::time::{interval, sleep, timeout};
use tracing::{info, warn};

use super::Node;
use super::moves::{Answers, Left, Stop};
use crate::process;
use crate::shared::Shared;

/// Interval of the reports of load.
const REPORT_INTERVAL: Duration = Duration::from_millis(500);

/// Maximum time until a room has stopped and its world is stored.
const LEAVE_WITHIN: Duration = Duration::from_secs(15);

/// Maximum time until a server answers that it expects a room.
const EXPECT_WITHIN: Duration = Duration::from_secs(2);

/// Maximum time for which a room waits until its clients have connected to the server to which it moves.
const GATHER_WITHIN: Duration = Duration::from_secs(3);

/// Interval between two checks of the clients that wait.
const GATHER_LOOK: Duration = Duration::from_millis(5);

/// Interval between two checks of the owner of a room that moves to this server.
const SOURCE_LOOK: Duration = Duration::from_millis(100);

/// Maximum time in which the target restores the world of a room.
const PREPARE_WITHIN: Duration = Duration::from_secs(2);

/// Maximum time until a room runs at its new owner.
const BEGIN_WITHIN: Duration = Duration::from_secs(10);

/// Maximum time for which a move waits for the correction of the directory. Afterwards the correction goes on.
const CORRECT_WITHIN: Duration = Duration::from_secs(2);

/// Time by which a requesting server waits longer than the answering one.
const ANSWER_SLACK: Duration = Duration::from_secs(1);

/// Time for which a room that was handed to this server stays open for its clients.
const OPEN_FOR: Duration = Duration::from_secs(10);

impl Node {
    /// Answers requests and reports the load, until the server ends.
    pub(crate) fn serve(self: &Arc<Self>, shared: &Arc<Shared>) {
        let (node, weak) = (Arc::downgrade(self), Arc::downgrade(shared));
        self.serve_commands(shared);
        let requests = (node.clone(), weak.clone());
        let (link, name) = (self.link().clone(), self.name());
        self.handle().spawn(async move {
            let answered = answer_requests(link, name, move |request| {
                let (node, shared) = requests.clone();
                carry_out(request, node, shared)
            });
            if let Err(error) = answered.await {
                warn!("{error}");
            }
        });
        self.handle().spawn(report(node, weak));
    }
}

/// Reports the load, and admits the pages of the other servers, until the server ends.
async fn report(node: Weak<Node>, shared: Weak<Shared>) {
    let mut reports = interval(REPORT_INTERVAL);
    let cores = available_parallelism().map_or(1, usize::from) as f64;
    let memory = process::memory_bytes();
    let (mut last, mut last_seconds) = (Instant::now(), process::cpu_seconds().unwrap_or_default());
    loop {
        reports.tick().await;
        let (Some(node), Some(shared)) = (node.upgrade(), shared.upgrade()) else { return };
        let seconds = process::cpu_seconds().unwrap_or_default();
        let elapsed = last.elapsed().as_secs_f64().max(0.001);
        let busy = ((seconds - last_seconds) / (elapsed * cores)).clamp(0.0, 1.0);
        (last, last_seconds) = (Instant::now(), seconds);
        let used = process::resident_bytes().zip(memory).map_or(0.0, |(own, all)| own as f64 / all as f64);
        let (rooms, clients) = shared.rooms.count();
        let limits = &shared.config.limits;
        let load = Load {
            ticks_permille: (busy * 1_000.0) as u16,
            memory_permille: (used * 1_000.0) as u16,
            clients: clients as u32,
            clients_max: limits.connections_max as u32,
            rooms: rooms as u32,
        };
        node.member().report(load, node.is_draining());
        node.prune_commands(&shared);
        shared.sessions.admission.admit_pages_of(&node.origins_of_pages());
    }
}

async fn carry_out(request: ControlRequest, node: Weak<Node>, shared: Weak<Shared>) -> ControlAnswer {
    let (Some(node), Some(shared)) = (node.upgrade(), shared.upgrade()) else {
        return ControlAnswer::Failed { cause: "the server ends".to_owned() };
    };
    let done = match request {
        ControlRequest::Move { room, target } => match Name::new(&target) {
            Ok(target) => move_and_count(&node, &shared, &room, target).await,
            Err(error) => Err(format!("'{target}' is not a valid server name: {error}")),
        },
        ControlRequest::Drain => match drain(&node, &shared).await {
            Ok(Drained::Next(text)) => return ControlAnswer::Continues { text },
            Ok(Drained::All(text)) => Ok(text),
            Err(cause) => Err(cause),
        },
        ControlRequest::Expect { room } => expect(&room, &node, &shared).map(|()| "expected".to_owned()),
        ControlRequest::Gather { room, clients } => Ok(gather(&room, clients as usize, &shared).await),
        ControlRequest::Prepare { room } => prepare(&room, &node).await.map(|()| "prepared".to_owned()),
        ControlRequest::Commit { room, epoch, last, stood_us } => {
            let now = Instant::now();
            let at = now.checked_sub(Duration::from_micros(stood_us)).unwrap_or(now);
            let stop = Stop { at, last };
            begin(&room, Epoch(epoch), stop, &node, &shared).await.map(|()| "running".to_owned())
        }
    };
    match done {
        Ok(text) => ControlAnswer::Done { text },
        Err(cause) => ControlAnswer::Failed { cause },
    }
}

/// Opens a room that was handed to this server, and keeps it open until its clients have come.
fn open(room: &str, shared: &Arc<Shared>) -> Result<(), String> {
    let opener = Opener { address: None, is_local: true };
    let seat = shared.rooms.reserve(room, opener).map_err(|refusal| refusal.line())?;
    tokio::spawn(async move {
        sleep(OPEN_FOR).await;
        drop(seat);
    });
    Ok(())
}

/// Lets clients enter a room that comes to this server. Its thread waits for its turn.
fn expect(room: &str, node: &Arc<Node>, shared: &Arc<Shared>) -> Result<(), String> {
    if node.is_draining() {
        return Err("the server drains".to_owned());
    }
    if shared.rooms.is_open(room) && !node.arrivals().is_expected(room) {
        return Err("the room has not ended yet on this server".to_owned());
    }
    node.arrivals().expect(room);
    open(room, shared)?;
    tokio::spawn(watch_source(room.to_owned(), Arc::downgrade(node)));
    Ok(())
}

/// Lets an expected room begin if its owner dies before it has given the room to this server. The owner is dead when its lease is
/// over.
async fn watch_source(room: String, node: Weak<Node>) {
    let Some(expecting) = node.upgrade() else { return };
    // If the directory cannot be read now, the room waits for its whole time.
    let Ok(Some(source)) = expecting.member().owner_of(&room).await else { return };
    drop(expecting);
    loop {
        sleep(SOURCE_LOOK).await;
        let Some(node) = node.upgrade().filter(|node| node.arrivals().is_waiting(&room)) else { return };
        if !node.member().may_live(source) {
            info!(room, owner = %source, "the owner of a room that moves here has died");
            return node.arrivals().begin_alone(&room);
        }
    }
}

/// Waits until this number of clients wait for a room, or for a limited time. Returns the number as text.
async fn gather(room: &str, clients: usize, shared: &Shared) -> String {
    let until = Instant::now() + GATHER_WITHIN;
    while shared.rooms.waiting(room) < clients && Instant::now() < until {
        sleep(GATHER_LOOK).await;
    }
    shared.rooms.waiting(room).to_string()
}

/// Restores the newest snapshot of a room that comes to this server, and replays the steps since.
async fn prepare(room: &str, node: &Node) -> Result<(), String> {
    let world = WorldName::new(room).map_err(|error| error.to_string())?;
    node.journals().prefetch(&world).await.map_err(|error| error.to_string())?;
    let Some(followed) = node.arrivals().follow(room) else { return Ok(()) };
    match timeout(PREPARE_WITHIN, followed).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(_)) | Err(_) => Err("the world was not restored in time".to_owned()),
    }
}

/// Takes a room that stopped at its previous owner by its journal. Returns when the room runs.
async fn begin(
    room: &str,
    epoch: Epoch,
    stop: Stop,
    node: &Node,
    shared: &Arc<Shared>,
) -> Result<(), String> {
    node.member().receive(room, epoch);
    let is_open = node.arrivals().give(room, stop);
    open(room, shared)?;
    match timeout(BEGIN_WITHIN, is_open).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(_)) | Err(_) => {
            Err("the room did not begin in time. The log of the server says why".to_owned())
        }
    }
}

/// Moves a room, and counts the result.
async fn move_and_count(
    node: &Arc<Node>,
    shared: &Arc<Shared>,
    room: &str,
    target: Name,
) -> Result<String, String> {
    let moved = match node.moves().begin(room, target) {
        // The guard lives until the end of the move.
        Ok(_moving) => move_room(node, shared, room, target).await,
        Err(cause) => Err(cause),
    };
    match moved {
        Ok(frozen) => {
            node.metrics().moved(frozen);
            let frozen = frozen.as_millis();
            Ok(format!("room {room} moved from {} to {target} within {frozen} ms", node.name()))
        }
        Err(cause) => {
            node.metrics().stayed();
            Err(cause)
        }
    }
}

/// Moves a room of this server. The target lets the room's clients in, and they connect to it while the room runs here. Then
/// the directory names the target, the room stops and stores its world, and the target takes the room by its journal. Returns
/// the time for which the room stood still.
async fn move_room(
    node: &Arc<Node>,
    shared: &Arc<Shared>,
    room: &str,
    target: Name,
) -> Result<Duration, String> {
    let is_owner = Name::new(room).is_ok_and(|name| node.member().owned().contains(&name));
    if !is_owner {
        return Err(format!(
            "this server does not own room {room}. `nowcast cluster status` names its owner"
        ));
    }
    if target == node.name() {
        return Err(format!("room {room} is on the server {target} already"));
    }
    let entry = node.member().server(target).map_err(|error| error.to_string())?;
    if let Some(tag) = node.requires(room).iter().find(|tag| !entry.tags.contains(tag)) {
        return Err(format!("the server {target} has no tag {tag}, which room {room} requires"));
    }
    if !shared.rooms.is_open(room) {
        // The room has ended without its release.
        let (node, name) = (Arc::clone(node), room.to_owned());
        let _ = spawn_blocking(move || node.member().release(&name)).await;
        return Err(format!("room {room} has ended here. The next client opens it on any server"));
    }
    let left = send_away(node, room, &entry).await;
    let left = left.map_err(|cause| format!("room {room} did not move: {cause}"))?;
    let stored = left.stopped_at.elapsed();
    let frozen = run_at(node, room, target, &left).await;
    let (stored_us, frozen_us) = (stored.as_micros() as u64, frozen.as_micros() as u64);
    info!(room, server = %target, stored_us, frozen_us, "room moved");
    Ok(frozen)
}

/// Lets the target run a room that has stopped, and corrects the directory. Returns the time for which the room stood still.
async fn run_at(node: &Arc<Node>, room: &str, target: Name, left: &Left) -> Duration {
    let (name, epoch) = (room.to_owned(), left.epoch.0);
    let stood_us = left.stopped_at.elapsed().as_micros() as u64;
    let commit = ControlRequest::Commit { room: name, epoch, last: left.last, stood_us };
    let began = commit.send_within(node.link(), target, BEGIN_WITHIN + ANSWER_SLACK).await;
    let frozen = left.stopped_at.elapsed();
    // The target corrects the directory, too. Afterwards the answer to the operator is true for all servers.
    correct_directory(node, room, target).await;
    match began {
        Ok(ControlAnswer::Done { .. } | ControlAnswer::Continues { .. }) => {}
        // The first client opens the room.
        Ok(ControlAnswer::Failed { cause }) => warn!(room, cause, "the target does not run the room"),
        Err(error) => warn!(room, %error, "the target does not run the room"),
    }
    frozen
}

/// Announces the move of an open room to its clients, waits for them at the target, and lets the room stop.
async fn send_away(node: &Node, room: &str, entry: &ServerEntry) -> Result<Left, String> {
    let (target, address) = (entry.id.name, entry.client_address.to_string());
    let expect = ControlRequest::Expect { room: room.to_owned() };
    let expected = expect.send_within(node.link(), target, EXPECT_WITHIN).await;
    let address = match expected {
        Ok(ControlAnswer::Done { .. }) => address,
        // The clients follow when the room has moved.
        Ok(ControlAnswer::Failed { .. } | ControlAnswer::Continues { .. }) | Err(_) => String::new(),
    };
    let Answers { announced, stored, left } = node.departures().begin(room, target, address);
    if let Ok(Ok(clients @ 1..)) = timeout(LEAVE_WITHIN, announced).await {
        let gather = ControlRequest::Gather { room: room.to_owned(), clients: clients as u32 };
        // Clients that are late follow when the room has moved.
        let _ = gather.send_within(node.link(), target, GATHER_WITHIN + ANSWER_SLACK).await;
    }
    node.departures().allow_store(room);
    let named = match timeout(LEAVE_WITHIN, stored).await {
        // The directory names the target before the room stops. Then the journal decides, and no further request is necessary.
        Ok(Ok(())) => match node.member().name_target(room, target).await {
            Ok(Some(epoch)) => Ok(epoch),
            Ok(None) => Err("this server no longer has the room. Ask for its owner again".to_owned()),
            Err(error) => {
                Err(format!("the directory cannot name the target ({error}). Check the nats-servers"))
            }
        },
        Ok(Err(_)) | Err(_) => Err(format!(
            "its snapshot was not stored within {} s. Check the nats-servers",
            LEAVE_WITHIN.as_secs()
        )),
    };
    let epoch = match named {
        Ok(epoch) => epoch,
        Err(cause) => {
            node.departures().take(room);
            // NATS may have named the target without an answer.
            correct_directory(node, room, target).await;
            return Err(cause);
        }
    };
    let prepare = ControlRequest::Prepare { room: room.to_owned() };
    // Otherwise the target restores the world when the room has stopped.
    let _ = prepare.send_within(node.link(), target, PREPARE_WITHIN + ANSWER_SLACK).await;
    node.departures().allow_stop(room, epoch);
    let left = match timeout(LEAVE_WITHIN, left).await {
        Ok(Ok(left)) => left,
        Ok(Err(_)) | Err(_) => {
            node.departures().take(room);
            Err("it did not stop in time".to_owned())
        }
    };
    if left.is_err() {
        // The directory may name the target even if NATS did not answer.
        correct_directory(node, room, target).await;
    }
    left
}

/// Removes the target of a move that has ended from the directory. If NATS does not answer, this is repeated in the background.
async fn correct_directory(node: &Node, room: &str, target: Name) {
    if let Some(ended) = node.member().end_move(room, target)
        && timeout(CORRECT_WITHIN, ended).await.is_err()
    {
        warn!(room, server = %target, "the directory is not corrected yet, because NATS does not answer");
    }
}

/// The result of a step of a drain.
enum Drained {
    /// A room moved, and others are left.
    Next(String),
    /// No room is left.
    All(String),
}

/// Moves the next room away. From now on, this server takes no rooms.
async fn drain(node: &Arc<Node>, shared: &Arc<Shared>) -> Result<Drained, String> {
    node.set_draining();
    let (rooms, clients) = shared.rooms.count();
    let load = Load { rooms: rooms as u32, clients: clients as u32, ..Load::default() };
    node.member().report(load, true);
    let mut moved = String::new();
    if let Some(room) = node.member().owned().first() {
        let room = room.to_string();
        let (target, _) =
            node.choose(&room).ok_or("no other server takes rooms. Start one, and drain again")?;
        moved = match move_and_count(node, shared, &room, target.name).await {
            Ok(moved) => moved,
            Err(cause) if node.member().owned().iter().any(|owned| owned.as_str() == room) => {
                return Err(cause);
            }
            // The room has ended, so no server owns it.
            Err(cause) => cause,
        };
    }
    let left = node.member().owned().len();
    if left > 0 {
        return Ok(Drained::Next(format!("{moved}. Rooms that are left: {left}")));
    }
    let name = node.name();
    let moved = if moved.is_empty() { moved } else { format!("{moved}. ") };
    Ok(Drained::All(format!("{moved}{name} is drained. It takes no new rooms until it is started again")))
}
