//! The owners of rooms, by the directory and by the journals.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use nowcast_cluster::{Epoch, Name, ServerId};
use nowcast_jetstream::{JetStreamStore, Link, Member, Place, RoomLease as MemberLease, TakeError};
use nowcast_room::{Departure, NotOwned, Ownership, PublicEvent, RoomLease, Turn};
use nowcast_store::{Problem, StoreError, WorldName, WorldStore};
use tokio::runtime::{Handle, Runtime};
use tokio::time::timeout;

use super::commands::Commands;
use super::metrics::ClusterMetrics;
use super::moves::{Arrivals, Departures, Moves};
use super::publishing::Publisher;

/// Maximum time to find a room's owner. Without an answer, the client is served here or refused.
const LOCATE_WITHIN: Duration = Duration::from_secs(1);

/// The part of a server that belongs to its cluster.
pub(crate) struct Node {
    name: Name,
    /// Beginnings of names of rooms, with the tags that their servers must have.
    requires: Vec<(String, Name)>,
    link: Link,
    member: Member,
    store: Arc<JetStreamStore>,
    metrics: ClusterMetrics,
    /// The rooms that go to other servers.
    departures: Departures,
    /// The rooms that come from other servers.
    arrivals: Arrivals,
    /// The moves that this server carries out.
    moves: Moves,
    /// The publisher of events, if they are published.
    publisher: Option<Publisher>,
    /// The subjects of commands, if commands are accepted.
    commands: Option<Commands>,
    /// The epochs in which this server took its rooms.
    epochs: Mutex<BTreeMap<String, Epoch>>,
    is_draining: AtomicBool,
    /// The runtime of the connection. `None` after the drop has begun.
    runtime: Option<Runtime>,
}

impl Node {
    pub(super) fn new(
        runtime: Runtime,
        (name, requires): (Name, Vec<(String, Name)>),
        link: Link,
        member: Member,
        store: JetStreamStore,
    ) -> Self {
        Self {
            name,
            requires,
            link,
            member,
            store: Arc::new(store),
            metrics: ClusterMetrics::default(),
            departures: Departures::default(),
            arrivals: Arrivals::default(),
            moves: Moves::default(),
            publisher: None,
            commands: None,
            epochs: Mutex::default(),
            is_draining: AtomicBool::new(false),
            runtime: Some(runtime),
        }
    }

    /// Publishes the events of rooms from now on.
    pub(super) fn publish_events(&mut self) {
        self.publisher = Some(Publisher::start(self.link.clone(), self.handle()));
    }

    /// Accepts commands to rooms by subjects from now on.
    pub(super) fn accept_commands(&mut self) {
        self.commands = Some(Commands::default());
    }

    /// The subjects of commands, if commands are accepted.
    pub(super) fn commands(&self) -> Option<&Commands> {
        self.commands.as_ref()
    }

    /// The epoch in which this server took a room; 0 if it has not.
    pub(super) fn epoch_of(&self, room: &str) -> u64 {
        self.lock_epochs().get(room).map_or(0, |epoch| epoch.0)
    }

    fn lock_epochs(&self) -> MutexGuard<'_, BTreeMap<String, Epoch>> {
        // Each statement leaves the map valid, so poisoning is ignored.
        self.epochs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn store(&self) -> Arc<dyn WorldStore> {
        Arc::<JetStreamStore>::clone(&self.store)
    }

    pub(super) fn journals(&self) -> &JetStreamStore {
        &self.store
    }

    pub(super) fn name(&self) -> Name {
        self.name
    }

    pub(super) fn link(&self) -> &Link {
        &self.link
    }

    pub(super) fn member(&self) -> &Member {
        &self.member
    }

    pub(super) fn handle(&self) -> &Handle {
        self.runtime.as_ref().expect("the runtime exists until the drop").handle()
    }

    /// Returns the origin of the server to which a client of a room goes, if it is another one: the owner, or the server that
    /// is chosen for a room without an owner.
    pub(crate) async fn locate(&self, room: &str) -> Option<String> {
        // Only rooms that show the present have owners. Clients of a room that comes here wait here.
        if Name::new(room).is_err() || self.arrivals.is_expected(room) {
            return None;
        }
        match timeout(LOCATE_WITHIN, self.member.place_of(room)).await {
            Ok(Ok(Place::At(origin))) => Some(origin),
            Ok(Ok(Place::Nowhere)) => {
                let (server, origin) = self.choose(room)?;
                (server.name != self.name && !origin.is_empty()).then_some(origin)
            }
            Ok(Ok(Place::Here)) | Ok(Err(_)) | Err(_) => None,
        }
    }

    /// Chooses a server for a room. All servers choose the same server while they see the same loads.
    pub(super) fn choose(&self, room: &str) -> Option<(ServerId, String)> {
        let mut hasher = DefaultHasher::new();
        room.hash(&mut hasher);
        self.member.choose(&self.requires(room), hasher.finish())
    }

    /// The tags that a server of a room must have.
    pub(super) fn requires(&self, room: &str) -> Vec<Name> {
        let is_of = |rooms: &str| {
            room.strip_prefix(rooms).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
        };
        self.requires.iter().filter(|(rooms, _)| is_of(rooms)).map(|(_, tag)| *tag).collect()
    }

    pub(crate) fn metrics(&self) -> &ClusterMetrics {
        &self.metrics
    }

    /// The origins of all servers of the cluster whose pages may still be open.
    pub(super) fn origins_of_pages(&self) -> Vec<String> {
        self.member.known_addresses()
    }

    /// The origins of the other servers.
    pub(crate) fn addresses(&self) -> Vec<String> {
        self.member.addresses()
    }

    pub(super) fn is_draining(&self) -> bool {
        self.is_draining.load(Ordering::Acquire)
    }

    pub(super) fn set_draining(&self) {
        self.is_draining.store(true, Ordering::Release);
    }

    /// Ends the membership, so that other servers may take the rooms at once.
    pub(crate) fn leave(&self) {
        self.member.leave();
    }

    /// Ends the waiting of rooms that come from other servers, because this server ends.
    pub(crate) fn expect_no_rooms(&self) {
        self.arrivals.end();
    }

    /// The rooms that go to other servers.
    pub(super) fn departures(&self) -> &Departures {
        &self.departures
    }

    /// The moves that this server carries out.
    pub(super) fn moves(&self) -> &Moves {
        &self.moves
    }

    /// The rooms that come from other servers.
    pub(super) fn arrivals(&self) -> &Arrivals {
        &self.arrivals
    }
}

impl Node {
    /// Takes a room. The text beside a refusal is its label in the metrics.
    fn try_take(&self, room: &str) -> Result<(), (&'static str, NotOwned)> {
        if self.is_draining() && self.choose(room).is_some_and(|(server, _)| server.name != self.name) {
            return Err(("draining", NotOwned::Elsewhere));
        }
        let failed = |error: &dyn std::fmt::Display| NotOwned::Failed(error.to_string());
        let epoch = self.member.take(room, &self.requires(room)).map_err(|error| match error {
            TakeError::Elsewhere { .. } => ("elsewhere", NotOwned::Elsewhere),
            TakeError::NoLease => ("no_lease", failed(&error)),
            TakeError::Tags(_) => ("tags", failed(&error)),
            TakeError::Release(_) => ("release", failed(&error)),
            other => ("failed", failed(&other)),
        })?;
        let world = WorldName::new(room).map_err(|error| ("failed", failed(&error)))?;
        let last = self.arrivals.last_message(room);
        let claimed = match last {
            Some(last) => self.store.claim_at(&world, epoch, last),
            None => self.store.claim(&world, Some(epoch)),
        };
        match claimed {
            Ok(epoch) => {
                self.lock_epochs().insert(room.to_owned(), epoch);
                if last.is_some() {
                    self.member.name_owner(room, epoch);
                }
                Ok(())
            }
            Err(StoreError { problem: Problem::Fenced, .. }) => {
                self.member.lose(room);
                Err(("fenced", NotOwned::Elsewhere))
            }
            Err(error) => {
                // Another server may have more success.
                self.member.release(room);
                Err(("failed", failed(&error)))
            }
        }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            self.member.leave();
            // The last reference may be dropped on a thread of a runtime, which must not wait.
            runtime.shutdown_background();
        }
    }
}

impl Ownership for Node {
    fn take(&self, room: &str) -> Result<(), NotOwned> {
        let taken = self.try_take(room);
        match &taken {
            Ok(()) => _ = self.metrics.epochs.inc(),
            Err((reason, _)) => {
                self.metrics.refuse(reason);
                // The server that gives the room is answered at once.
                self.arrivals.forget(room);
            }
        }
        taken.map_err(|(_, not_owned)| not_owned)
    }

    fn await_turn(&self, room: &str) -> Turn {
        self.arrivals.wait(room)
    }

    fn followed(&self, room: &str) {
        self.arrivals.followed(room);
    }

    fn opened(&self, room: &str) -> Duration {
        if let Some(commands) = &self.commands {
            commands.begin(room, self.link.clone(), self.handle());
        }
        self.arrivals.opened(room)
    }

    fn departure(&self, room: &str) -> Option<Departure> {
        self.departures.departure(room)
    }

    fn announced(&self, room: &str, clients: usize) {
        self.departures.announced(room, clients);
    }

    fn stored_ahead(&self, room: &str) {
        self.departures.stored_ahead(room);
    }

    fn stopped(&self, room: &str) {
        self.departures.stopped(room);
    }

    fn publishes(&self) -> bool {
        self.publisher.is_some()
    }

    fn publish(&self, room: &str, event: PublicEvent) {
        let Some(publisher) = &self.publisher else { return };
        let epoch = self.epoch_of(room);
        let is_queued = publisher.queue(room, epoch, event);
        self.metrics.published(is_queued);
    }

    fn release(&self, room: &str) {
        if let Some(commands) = &self.commands {
            commands.end(room);
        }
        self.lock_epochs().remove(room);
        let Some(departing) = self.departures.take(room) else {
            return self.member.release(room);
        };
        let last = WorldName::new(room).ok().and_then(|world| self.store.last_message(&world));
        if let (Some(epoch), Some(last)) = (departing.epoch, last) {
            self.member.stop_owning(room);
            let target = departing.target;
            if !departing.end(Ok((epoch, last))) {
                // The request was given up, so nothing else gives the room to the target.
                drop(self.member.end_move(room, target));
            }
        } else {
            // The room has ended before the directory named its target, so any server may take it.
            self.member.release(room);
            departing.end(Err("it has ended. The next client opens it on any server".to_owned()));
        }
    }

    fn stay(&self, room: &str) {
        if let Some(departing) = self.departures.take(room) {
            let cause = "its world cannot be stored in time, so it stays. Check the nats-servers";
            departing.end(Err(cause.to_owned()));
        }
    }

    fn lease(&self, room: &str) -> RoomLease {
        let is_owner = WorldName::new(room).is_ok_and(|world| self.store.is_owner(&world));
        match self.member.lease(room) {
            _ if !is_owner => RoomLease::Lost,
            MemberLease::Held if self.departures.contains(room) => RoomLease::Leaving,
            MemberLease::Held => RoomLease::Held,
            MemberLease::Waiting => RoomLease::Waiting,
            MemberLease::Lost => RoomLease::Lost,
        }
    }

    fn trouble(&self) -> Option<String> {
        (!self.member.has_lease()).then(|| {
            "this server's lease in the cluster is over, so its rooms wait: NATS does not answer in time, or another process \
             has the server's name. Check the nats-servers, and the names of the servers"
                .to_owned()
        })
    }
}
