//! A server for the lab: rooms that count, on the store and the directory of a real cluster.
//!
//! A client sends a line over TCP and receives a line:
//!
//! | request | answer |
//! | --- | --- |
//! | `count ROOM CLIENT NUMBER` | `done OWNER EPOCH COUNT` when the action is confirmed; `at NAME`; `wait` |
//! | `read ROOM CLIENT` | `state OWNER EPOCH COUNT`, with the confirmed count; `at NAME`; `wait` |
//! | `release ROOM` | `wait`; the owner releases the room |
//!
//! `broken TEXT` answers any request if the stored room contradicts itself.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use nowcast_cluster::Name;
use nowcast_jetstream::{
    JetStreamStore, Link, LinkOptions, Member, MemberOptions, RoomLease, StoreOptions, TakeError,
};
use nowcast_store::{
    ActionId, Batch, Continuity, Moment, Once, Retention, SavedWorld, Snapshot, Store as _, WorldName,
};

use super::FaultsError;

/// Number of batches after which a room is written as a snapshot.
const SNAPSHOT_BATCHES: u64 = 24;
/// Time for which a client's request waits for a confirmation.
const CONFIRM_WITHIN: Duration = Duration::from_millis(1_500);
/// Pause between two attempts to join the cluster.
const JOIN_PAUSE: Duration = Duration::from_millis(200);

/// The orders of a server, as one argument: `NAME PORT LEASE_MS CLUSTER ADDRESSES`, with spaces between them.
pub(super) fn orders(name: &str, port: u16, lease: Duration, cluster: &str, addresses: &str) -> String {
    format!("{name} {port} {} {cluster} {addresses}", lease.as_millis())
}

/// Runs a server until its standard input ends. The lab starts it as another process of the program.
///
/// # Errors
/// Fails if the orders are not those of a server, or if the port cannot be used.
pub fn serve(orders: &str) -> Result<(), FaultsError> {
    let words: Vec<&str> = orders.split(' ').collect();
    let [name, port, lease_ms, cluster, addresses] = words[..] else { return Err(FaultsError::Orders) };
    let (port, lease_ms) = (port.parse::<u16>(), lease_ms.parse::<u64>());
    let (Ok(name), Ok(port), Ok(lease_ms)) = (Name::new(name), port, lease_ms) else {
        return Err(FaultsError::Orders);
    };
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(FaultsError::Io)?;
    // The process must not outlive the lab, even if the lab is killed.
    std::thread::spawn(|| {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(0);
    });
    let runtime = tokio::runtime::Runtime::new().map_err(FaultsError::Io)?;
    let options = LinkOptions { name: cluster.to_owned(), ..LinkOptions::default() };
    let member = MemberOptions {
        name,
        client_address: name.to_string(),
        tags: [].into(),
        lease: Duration::from_millis(lease_ms),
    };
    let (member, store) = loop {
        let joined = runtime.block_on(async {
            let link = Link::connect(addresses, options.clone()).await?;
            let member = Member::join(&link, member.clone()).await?;
            let server = StoreOptions { server: member.id(), ..StoreOptions::default() };
            Ok::<_, nowcast_jetstream::ClusterError>((member, JetStreamStore::open(link, server).await?))
        });
        match joined {
            Ok(joined) => break joined,
            Err(error) => eprintln!("{name} cannot join yet: {error}"),
        }
        std::thread::sleep(JOIN_PAUSE);
    };
    let server = Arc::new(Server { member, store, rooms: Mutex::default() });
    for stream in listener.incoming().filter_map(Result::ok) {
        let server = Arc::clone(&server);
        std::thread::spawn(move || server.answer(&stream));
    }
    Ok(())
}

struct Server {
    member: Member,
    store: JetStreamStore,
    /// Each room has a lock of its own, which is held while the room is taken and restored.
    rooms: Mutex<BTreeMap<String, Arc<Mutex<Option<Room>>>>>,
}

/// A room that this server owns.
struct Room {
    /// The ID of this server when it took the room. The server gets another one when its lease is ended.
    owner: String,
    epoch: u64,
    tick: u64,
    batches: u64,
    /// The last number and the count of each client, after all actions, and after the confirmed ones.
    applied: BTreeMap<u8, u64>,
    confirmed: Arc<Mutex<BTreeMap<u8, u64>>>,
    once: Once,
    broken: Option<String>,
}

impl Server {
    fn answer(&self, stream: &TcpStream) {
        let (mut reader, mut writer) = (BufReader::new(stream), stream);
        let mut line = String::new();
        while reader.read_line(&mut line).is_ok_and(|bytes| bytes > 0) {
            let answer = self.request(line.trim()).unwrap_or_else(|| "wait".to_owned());
            line.clear();
            if writer.write_all(format!("{answer}\n").as_bytes()).is_err() {
                return;
            }
        }
    }

    /// Returns the answer to a request; `None` if the client must ask again.
    fn request(&self, line: &str) -> Option<String> {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["release", room] => {
                let slot = self.slot(room);
                let mut slot = lock(&slot);
                if slot.take().is_some() {
                    let _ = self.store.commit(CONFIRM_WITHIN);
                    self.member.release(room);
                }
                None
            }
            ["read", room, client] => self.read(room, client.parse().ok()?),
            ["count", room, client, number] => self.count(room, client.parse().ok()?, number.parse().ok()?),
            _ => Some(format!("broken the request {line:?} is not one of the lab")),
        }
    }

    fn slot(&self, room: &str) -> Arc<Mutex<Option<Room>>> {
        Arc::clone(lock(&self.rooms).entry(room.to_owned()).or_default())
    }

    /// Makes sure that the room runs here. Returns another answer otherwise.
    fn hold(&self, name: &str, slot: &mut Option<Room>) -> Result<(), Option<String>> {
        if let Some(broken) = slot.as_ref().and_then(|room| room.broken.as_ref()) {
            return Err(Some(format!("broken {broken}")));
        }
        if slot.is_some() {
            match self.member.lease(name) {
                RoomLease::Held => return Ok(()),
                RoomLease::Waiting => return Err(None),
                RoomLease::Lost => *slot = None,
            }
        }
        let epoch = match self.member.take(name) {
            Ok(epoch) => epoch,
            Err(TakeError::Elsewhere { owner }) => return Err(Some(format!("at {}", owner.name))),
            Err(_) => return Err(None),
        };
        let owner = self.member.id().to_string();
        let world = WorldName::new(name).map_err(|_| None)?;
        // Another server may have taken the room meanwhile, or NATS does not answer.
        let epoch = self.store.claim(&world, Some(epoch)).map_err(|_| self.lose(name))?;
        let saved = self.store.load(&world, Moment::Last).map_err(|error| match error.problem {
            nowcast_store::Problem::Damaged { .. } => Some(format!("broken {error}")),
            _ => self.lose(name),
        })?;
        let room = match saved {
            Some(saved) => Room::restore(owner, epoch.0, &saved),
            None => {
                let room = Room::new(owner, epoch.0);
                let begun = self.store.snapshot(&world, room.snapshot(), Continuity::BeginsAnew, Vec::new());
                begun.map_err(|_| self.lose(name))?;
                room
            }
        };
        *slot = Some(room);
        if self.member.lease(name) == RoomLease::Held { Ok(()) } else { Err(None) }
    }

    fn lose(&self, room: &str) -> Option<String> {
        self.member.lose(room);
        None
    }

    fn read(&self, name: &str, client: u8) -> Option<String> {
        let slot = self.slot(name);
        let mut slot = lock(&slot);
        if let Err(answer) = self.hold(name, &mut slot) {
            return answer;
        }
        let room = slot.as_ref()?;
        let count = lock(&room.confirmed).get(&client).copied().unwrap_or(0);
        Some(format!("state {} {} {count}", room.owner, room.epoch))
    }

    fn count(&self, name: &str, client: u8, number: u64) -> Option<String> {
        let world = WorldName::new(name).ok()?;
        let slot = self.slot(name);
        let mut guard = lock(&slot);
        if let Err(answer) = self.hold(name, &mut guard) {
            return answer;
        }
        let room = guard.as_mut()?;
        let (owner, epoch) = (room.owner.clone(), room.epoch);
        let confirmed = lock(&room.confirmed).get(&client).copied().unwrap_or(0);
        if number <= confirmed {
            return Some(format!("done {owner} {epoch} {confirmed}"));
        }
        let id = ActionId { client: [client; 16], number };
        if !room.once.insert(id, room.tick) {
            // The action is on its way to the journal.
            return None;
        }
        let count = room.applied.entry(client).or_default();
        *count += 1;
        let count = *count;
        let (from_tick, through_tick) = (room.tick, room.tick + 1);
        let batch = Batch { from_tick, through_tick, time_ms: now_ms(), done: vec![id], ..Batch::default() };
        (room.tick, room.batches) = (through_tick, room.batches + 1);
        let (tell, told) = channel();
        let known = Arc::clone(&room.confirmed);
        let then = Box::new(move |outcome: Result<(), nowcast_store::Lost>| {
            if outcome.is_ok() {
                lock(&known).insert(client, count);
            }
            // The request may have ended before.
            let _ = tell.send(outcome.is_ok());
        });
        if self.store.append(&world, batch, vec![then]).is_err() {
            *guard = None;
            self.lose(name);
            return None;
        }
        if room.batches % SNAPSHOT_BATCHES == 0 {
            // A snapshot that does not fit is stored later.
            let _ = self.store.snapshot(&world, room.snapshot(), Continuity::Follows, Vec::new());
        }
        let is_prune_due = room.batches % (4 * SNAPSHOT_BATCHES) == 0;
        drop(guard);
        if is_prune_due {
            // Messages that are not purged now are purged later.
            let _ = self.store.prune(&Retention { keep: Duration::from_secs(1), bytes_max: 1 }, now_ms());
        }
        match told.recv_timeout(CONFIRM_WITHIN) {
            Ok(true) => Some(format!("done {owner} {epoch} {count}")),
            Ok(false) => {
                let mut guard = lock(&slot);
                if guard.as_ref().is_some_and(|room| room.epoch == epoch) {
                    *guard = None;
                    self.lose(name);
                }
                None
            }
            Err(_) => None,
        }
    }
}

impl Room {
    fn new(owner: String, epoch: u64) -> Room {
        Room {
            owner,
            epoch,
            tick: 0,
            batches: 0,
            applied: BTreeMap::new(),
            confirmed: Arc::default(),
            once: Once::default(),
            broken: None,
        }
    }

    fn snapshot(&self) -> Snapshot {
        let world = self.applied.iter().flat_map(|(client, count)| {
            let mut bytes = vec![*client];
            bytes.extend(count.to_le_bytes());
            bytes
        });
        Snapshot {
            tick: self.tick,
            time_ms: now_ms(),
            world: world.collect(),
            once: self.once.clone(),
            ..Snapshot::default()
        }
    }

    /// Restores a room. Everything that the journal has is confirmed, or may be.
    fn restore(owner: String, epoch: u64, saved: &SavedWorld) -> Room {
        let (applied, broken) = counts(saved);
        let mut once = saved.snapshot.once.clone();
        for batch in &saved.batches {
            for id in &batch.done {
                once.insert(*id, batch.through_tick);
            }
        }
        let confirmed = Arc::new(Mutex::new(applied.clone()));
        Room { owner, epoch, tick: saved.tick, batches: 0, applied, confirmed, once, broken }
    }
}

/// Counts the actions in a stored room. The text says how the room contradicts itself, if it does.
pub(super) fn counts(saved: &SavedWorld) -> (BTreeMap<u8, u64>, Option<String>) {
    let mut counts = BTreeMap::new();
    let mut broken = None;
    for chunk in saved.snapshot.world.chunks_exact(9) {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&chunk[1..]);
        counts.insert(chunk[0], u64::from_le_bytes(bytes));
    }
    for id in saved.batches.iter().flat_map(|batch| &batch.done) {
        let count: &mut u64 = counts.entry(id.client[0]).or_default();
        *count += 1;
        // A client begins an action when the one before it is confirmed. So its actions stand in order, and each once.
        if *count != id.number {
            let client = id.client[0];
            broken.get_or_insert(format!(
                "action {} of client {client} stands in the journal as its action {count}",
                id.number
            ));
        }
    }
    (counts, broken)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_millis() as u64)
}
