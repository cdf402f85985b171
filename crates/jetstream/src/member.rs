//! A server's membership in a cluster: carries out what [`Node`] decides, and passes the answers of JetStream back.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use nowcast_cluster::{
    Action, Answer, Claimed, Config, ControlAnswer, Departure, Epoch, Event, LEASE_MAX, Load, Name, Node,
    Outcome, Record, Report, Revision, RoomLease, Sequence, ServerEntry, ServerId, Stored, TakeError, Turn,
};
use nowcast_store::{Problem, StoreError, WorldName};
use parking_lot::{Condvar, Mutex};
use tokio::runtime::Runtime;
use tokio::sync::{Notify, oneshot};
use tokio::task::spawn_blocking;

use crate::control::{answer_requests, send_within};
use crate::directory::read_entry;
use crate::link::{START_WITHIN, at_start};
use crate::{Bucket, ChangeError, ClusterError, JetStreamStore, Link, StoreOptions, clock};

/// Maximum time of the entry that ends a server's life.
const END_WITHIN: Duration = Duration::from_secs(1);

/// The rooms of a server, as far as its membership needs them.
pub trait Host: Send + Sync {
    /// Whether the thread of a room runs or waits, and the number of clients that wait for it.
    fn look_at(&self, room: &str) -> (bool, usize);

    /// Starts the thread of a room that comes to this server, if it does not run, and keeps the room open until its clients have
    /// come.
    ///
    /// # Errors
    /// Fails with the reason for the operator.
    fn open(&self, room: &str) -> Result<(), String>;

    /// Handles an event of the membership, for metrics and the log.
    fn note(&self, event: Event);
}

/// A server's membership. Dropping it stops the renewals; the lease then ends by itself.
pub struct Member {
    inner: Arc<Inner>,
    /// `None` after the drop has begun.
    runtime: Option<Runtime>,
}

struct Inner {
    link: Link,
    servers: Bucket,
    rooms: Bucket,
    store: Arc<JetStreamStore>,
    state: Mutex<State>,
    /// Notified when a room may have its turn.
    changed: Condvar,
    /// Notified when a timeout may have changed.
    woken: Notify,
    host: OnceLock<Arc<dyn Host>>,
    handle: tokio::runtime::Handle,
}

/// Gets the outcome of a task, and must not call the member.
type Waiter = Box<dyn FnOnce(Outcome) + Send>;

struct State {
    node: Node,
    waiters: BTreeMap<u64, Waiter>,
    joined: Option<oneshot::Sender<bool>>,
}

impl Member {
    /// Enters the directory with the next incarnation of the server's name, and keeps renewing the lease. Opens the store.
    ///
    /// # Errors
    /// Fails if the buckets cannot be opened, if NATS does not answer, or if a running server has the name.
    pub async fn join(link: &Link, config: Config, options: StoreOptions) -> Result<Member, ClusterError> {
        let servers = at_start(|| Bucket::open(link, "servers")).await?;
        let rooms = at_start(|| Bucket::open(link, "rooms")).await?;
        let store = Arc::new(JetStreamStore::open(link.clone(), options).await?);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("nowcast-lease")
            .enable_all()
            .build()
            .map_err(|error| ClusterError::request("cannot start a thread", error))?;
        let (name, config) = (config.name, Config { lease: config.lease.min(LEASE_MAX), ..config });
        let (joined, has_joined) = oneshot::channel();
        let node = Node::new(clock::now(), config);
        let inner = Arc::new(Inner {
            link: link.clone(),
            servers,
            rooms,
            store,
            state: Mutex::new(State { node, waiters: BTreeMap::new(), joined: Some(joined) }),
            changed: Condvar::new(),
            woken: Notify::new(),
            host: OnceLock::new(),
            handle: runtime.handle().clone(),
        });
        runtime.spawn(Arc::clone(&inner).run());
        let member = Member { inner, runtime: Some(runtime) };
        // The last process with this name may have had the longest lease.
        match tokio::time::timeout(START_WITHIN + 2 * LEASE_MAX, has_joined).await {
            Ok(Ok(true)) => Ok(member),
            Ok(_) => Err(ClusterError::NameTaken { name: name.to_string() }),
            Err(_) => Err(ClusterError::request(format!("cannot enter as {name}"), "NATS does not answer")),
        }
    }

    /// From now on, answers requests by other servers and the operator.
    pub fn serve(&self, host: Arc<dyn Host>) {
        let _ = self.inner.host.set(host);
        let (inner, name) = (Arc::clone(&self.inner), self.id().name);
        self.inner.handle.spawn(async move {
            let link = inner.link.clone();
            // If NATS refuses the subscription, the operator's requests fail.
            let _ = answer_requests(link, name, move |request| {
                let answered = inner.begin_async(|node, now| node.request(now, request));
                async move {
                    match answered.await {
                        Ok(Outcome::Answered(answer)) => answer,
                        _ => ControlAnswer::Failed { cause: "the server ends".to_owned() },
                    }
                }
            })
            .await;
        });
    }

    /// The store of the worlds.
    pub fn store(&self) -> &Arc<JetStreamStore> {
        &self.inner.store
    }

    /// The ID of this server. If another server ended this start's life, the server joins again with a new ID.
    pub fn id(&self) -> ServerId {
        self.inner.state.lock().node.id()
    }

    /// Makes this server the owner of a room and its journal, unless the room's owner may be alive. Returns the epoch. Waits
    /// for NATS.
    ///
    /// # Errors
    /// Fails if another server owns the room, if this server lacks a tag, and if NATS does not answer.
    pub fn take(&self, room: &str) -> Result<Epoch, TakeError> {
        let room = named(room).map_err(|error| TakeError::Failed(error.to_string()))?;
        match self.inner.begin(|node, now| node.take(now, room)).recv() {
            Ok(Outcome::Taken(taken)) => taken,
            _ => Err(TakeError::NoLease),
        }
    }

    /// Gives up a room that has ended or stopped, and whose world is stored. If it moves, the target gets it. Otherwise any server
    /// may take it at once. Waits for NATS. A failure is ignored: the room can be taken when this server's lease is over.
    pub fn release(&self, room: &str) {
        let Ok(name) = Name::new(room) else { return };
        let last = WorldName::new(room).ok().and_then(|world| self.inner.store.last_message(&world));
        let released = self.inner.begin_if(|node, now| node.release(now, name, last.map(Sequence)));
        if let Some(released) = released {
            let _ = released.recv();
        }
    }

    /// Whether this server may step a room now.
    pub fn lease(&self, room: &str) -> RoomLease {
        let (Ok(name), Ok(world)) = (Name::new(room), WorldName::new(room)) else { return RoomLease::Lost };
        let has_journal = self.inner.store.is_owner(&world);
        self.inner.state.lock().node.lease(clock::now(), name, has_journal)
    }

    /// The rooms that this server owns.
    pub fn owned(&self) -> Vec<Name> {
        self.inner.state.lock().node.owned().collect()
    }

    /// The epoch in which this server owns a room.
    pub fn epoch(&self, room: &str) -> Option<Epoch> {
        self.inner.state.lock().node.epoch(Name::new(room).ok()?)
    }

    /// Returns the origin of the other server to which a room's client must go: the owner, or the server that is chosen for a
    /// room without an owner. `None` for this server.
    pub async fn locate(&self, room: &str) -> Option<String> {
        let room = Name::new(room).ok()?;
        match self.inner.begin_async(|node, now| node.locate(now, room)).await {
            Ok(Outcome::Located(origin)) => origin.map(|origin| origin.to_string()),
            _ => None,
        }
    }

    /// Waits until a room has something to do before it begins: [`Turn::Follow`] or [`Turn::Begin`].
    pub fn await_turn(&self, room: &str) -> Turn {
        let Ok(room) = Name::new(room) else { return Turn::Begin };
        let mut state = self.inner.state.lock();
        loop {
            let now = clock::now();
            match state.node.turn(now, room) {
                Turn::Wait(until) => {
                    _ = self.inner.changed.wait_for(&mut state, until.since(now));
                }
                turn => return turn,
            }
        }
    }

    /// Handles a report of a room's thread.
    pub fn report(&self, room: &str, report: Report) {
        self.inner.for_room(room, |node, now, room| node.report(now, room, report));
    }

    /// Records that a room runs. Returns the time for which the room stood still during its move from another server.
    pub fn opened(&self, room: &str) -> Duration {
        self.inner.for_room(room, |node, now, room| node.opened(now, room))
    }

    /// The way of a room whose lease is [`RoomLease::Leaving`].
    pub fn departure(&self, room: &str) -> Option<Departure> {
        self.inner.state.lock().node.departure(Name::new(room).ok()?).cloned()
    }

    /// Ends the waiting of rooms that come from other servers, because this server ends.
    pub fn expect_no_rooms(&self) {
        self.inner.with(|node, _| node.expect_no_rooms());
    }

    /// Sets the load that the next renewal writes into the directory.
    pub fn set_load(&self, load: Load) {
        self.inner.state.lock().node.set_load(load);
    }

    /// The addresses of the other servers that may be alive, for clients whose server does not answer.
    pub fn addresses(&self) -> Vec<String> {
        self.inner.state.lock().node.addresses().map(str::to_owned).collect()
    }

    /// The addresses of all other servers in the directory, including those that have ended.
    pub fn known_addresses(&self) -> Vec<String> {
        self.inner.state.lock().node.known_addresses().map(str::to_owned).collect()
    }

    /// Whether the lease covers this moment.
    pub fn has_lease(&self) -> bool {
        self.inner.state.lock().node.has_lease(clock::now())
    }

    /// Ends this server's life in the directory, so that others may take its rooms at once. Waits for NATS, at most 1 s.
    pub fn leave(&self) {
        let left = self.inner.begin(|node, now| node.leave(now));
        // Without an answer, the lease ends by itself.
        let _ = left.recv_timeout(END_WITHIN);
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        self.leave();
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Inner {
    /// Calls the node, and starts everything that it wants.
    fn with<T>(self: &Arc<Self>, f: impl FnOnce(&mut Node, nowcast_cluster::Time) -> T) -> T {
        let mut state = self.state.lock();
        let result = f(&mut state.node, clock::now());
        self.pump(&mut state);
        result
    }

    fn for_room<T: Default>(
        self: &Arc<Self>,
        room: &str,
        f: impl FnOnce(&mut Node, nowcast_cluster::Time, Name) -> T,
    ) -> T {
        Name::new(room).map(|room| self.with(|node, now| f(node, now, room))).unwrap_or_default()
    }

    /// Begins a task, whose outcome goes to a waiter. Waiters are registered before anything else happens.
    fn begin_with(
        self: &Arc<Self>,
        f: impl FnOnce(&mut Node, nowcast_cluster::Time) -> Option<u64>,
        waiter: Waiter,
    ) -> bool {
        let mut state = self.state.lock();
        let task = f(&mut state.node, clock::now());
        if let Some(task) = task {
            state.waiters.insert(task, waiter);
        }
        self.pump(&mut state);
        task.is_some()
    }

    fn begin_if(
        self: &Arc<Self>,
        f: impl FnOnce(&mut Node, nowcast_cluster::Time) -> Option<u64>,
    ) -> Option<Receiver<Outcome>> {
        let (sender, receiver) = sync_channel(1);
        // The caller may have given up.
        self.begin_with(f, Box::new(move |outcome| _ = sender.send(outcome))).then_some(receiver)
    }

    fn begin(self: &Arc<Self>, f: impl FnOnce(&mut Node, nowcast_cluster::Time) -> u64) -> Receiver<Outcome> {
        let (sender, receiver) = sync_channel(1);
        self.begin_with(|node, now| Some(f(node, now)), Box::new(move |outcome| _ = sender.send(outcome)));
        receiver
    }

    fn begin_async(
        self: &Arc<Self>,
        f: impl FnOnce(&mut Node, nowcast_cluster::Time) -> u64,
    ) -> oneshot::Receiver<Outcome> {
        let (sender, receiver) = oneshot::channel();
        self.begin_with(|node, now| Some(f(node, now)), Box::new(move |outcome| _ = sender.send(outcome)));
        receiver
    }

    fn pump(self: &Arc<Self>, state: &mut State) {
        while let Some((number, action)) = state.node.poll_action() {
            let inner = Arc::clone(self);
            self.handle.spawn(async move {
                let answer = inner.carry_out(action).await;
                inner.with(|node, now| node.handle_answer(now, number, answer));
            });
        }
        while let Some(event) = state.node.poll_event() {
            match event {
                Event::Joined | Event::NameTaken => {
                    let joined = state.joined.take();
                    _ = joined.map(|joined| joined.send(event == Event::Joined));
                }
                Event::Finished(task, outcome) => {
                    if let Some(waiter) = state.waiters.remove(&task) {
                        waiter(outcome);
                    }
                }
                event => self.host.get().into_iter().for_each(|host| host.note(event.clone())),
            }
        }
        self.changed.notify_all();
        self.woken.notify_one();
    }

    /// Calls the node when it is due.
    async fn run(self: Arc<Self>) {
        loop {
            let due = self.state.lock().node.poll_timeout();
            let left = due.map(|due| due.since(clock::now()));
            match left {
                Some(Duration::ZERO) => self.with(|node, now| node.handle_timeout(now)),
                Some(left) => _ = tokio::time::timeout(left, self.woken.notified()).await,
                None => self.woken.notified().await,
            }
        }
    }

    async fn carry_out(self: &Arc<Self>, action: Action) -> Answer {
        match action {
            Action::ReadServers => Answer::Servers(self.read_servers().await.map_err(text)),
            Action::ReadServer(name) => Answer::Server(read(&self.servers, name).await.map_err(text)),
            Action::WriteServer(entry, replaces) => {
                Answer::Stored(write(&self.servers, entry.id.name, &entry, replaces).await)
            }
            Action::ReadRoom(room) => Answer::Room(read(&self.rooms, room).await.map_err(text)),
            Action::WriteRoom(room, entry, replaces) => {
                Answer::Stored(write(&self.rooms, room, &entry, replaces).await)
            }
            Action::ClaimJournal { room, owner, epoch, after } => {
                let store = Arc::clone(&self.store);
                let claim = spawn_blocking(move || {
                    let world = WorldName::new(room.as_str()).map_err(text)?;
                    match store.claim_for(&world, owner, Some(epoch), after.map(|after| after.0)) {
                        Ok(_) => Ok(Claimed::Owned),
                        Err(StoreError { problem: Problem::Fenced, .. }) => Ok(Claimed::Fenced),
                        Err(error) => Err(error.to_string()),
                    }
                });
                let claimed = claim.await.unwrap_or_else(|error| Err(error.to_string()));
                Answer::Claimed(claimed.unwrap_or_else(Claimed::Failed))
            }
            Action::Ask { server, request, within } => {
                Answer::Told(send_within(&self.link, server, &request, within).await.map_err(text))
            }
            Action::LookAtRoom(room) => {
                let host = self.host.get();
                let (is_open, waiting) = host.map_or((false, 0), |host| host.look_at(room.as_str()));
                Answer::RoomState { is_open, waiting }
            }
            Action::OpenRoom(room) => {
                let host = self.host.get().ok_or_else(|| "the server does not serve yet".to_owned());
                Answer::Done(host.and_then(|host| host.open(room.as_str())))
            }
            Action::Prefetch(room) => Answer::Done(match WorldName::new(room.as_str()) {
                Ok(world) => self.store.prefetch(&world).await.map_err(text),
                Err(error) => Err(error.to_string()),
            }),
        }
    }

    async fn read_servers(&self) -> Result<Vec<(Revision, ServerEntry)>, ClusterError> {
        let listed = self.servers.list().await?;
        let found = listed.into_iter().filter_map(|(_, value, revision)| {
            // An entry that another program wrote names no server.
            Some((Revision(revision), read_entry(&value).ok()?))
        });
        Ok(found.collect())
    }
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn named(room: &str) -> Result<Name, &'static str> {
    Name::new(room).map_err(|_| "the room's name has other characters than a-z, 0-9, '-' and '_'")
}

async fn read<T: Record>(bucket: &Bucket, key: Name) -> Result<Option<(Revision, T)>, ClusterError> {
    let Some(entry) = bucket.get(key.as_str()).await? else { return Ok(None) };
    let value = entry.value.map(|value| read_entry(&value)).transpose()?;
    Ok(value.map(|value| (Revision(entry.revision), value)))
}

async fn write(bucket: &Bucket, key: Name, entry: &impl Record, replaces: Revision) -> Stored<Revision> {
    let value = Bytes::from(entry.to_bytes());
    let mut stored = bucket.set(key.as_str(), value.clone(), replaces.0).await;
    if let (Err(ChangeError::Conflict), Revision(0)) = (&stored, replaces)
        && let Ok(Some(deleted)) = bucket.get(key.as_str()).await
        && deleted.value.is_none()
    {
        // To the node, a deleted entry does not exist.
        stored = bucket.set(key.as_str(), value, deleted.revision).await;
    }
    match stored {
        Ok(revision) => Stored::Yes(Revision(revision)),
        Err(ChangeError::Conflict) => Stored::Refused,
        Err(ChangeError::Failed(error)) => Stored::Unknown(error.to_string()),
    }
}
