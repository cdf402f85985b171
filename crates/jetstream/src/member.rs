//! A server's membership in a cluster: its lease, the rooms that it owns, and the servers that own the others.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use nowcast_cluster::{
    Epoch, LEASE_MAX, Load, Name, Release, ReleasesApart, RoomEntry, ServerEntry, ServerId, ServerPhase,
    choose, surely_after, surely_within,
};
use tokio::runtime::Runtime;

use crate::directory::{read_room, read_server, room_bytes};
use crate::link::at_start;
use crate::{Bucket, ChangeError, ClusterError, Link};

/// Attempts to change an entry that others change at the same time.
const TRIES: u32 = 16;

/// The lease is renewed this many times within its duration.
const RENEWALS: u32 = 4;

/// The directory is read this many times within the duration of a lease.
const LOOKS: u32 = 8;

/// Maximum time of the entry that ends a server's life.
const END_WITHIN: Duration = Duration::from_secs(1);

/// Settings of a member.
#[derive(Clone, Debug)]
pub struct MemberOptions {
    /// The name of the server. No other running server of the cluster may have it.
    pub name: Name,
    /// The address to which clients move, as the origin of a URL: `http://10.0.0.1:7777`.
    pub client_address: String,
    /// Duration of the lease. After this time without renewal, other servers take the rooms.
    pub lease: Duration,
}

/// Whether this server may step a room now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RoomLease {
    /// The lease covers this moment.
    Held,
    /// The lease is over, and no other server has taken the room yet, as far as is known. The room must wait.
    Waiting,
    /// Another server owns the room, or may own it. The room must end.
    Lost,
}

/// The place of a room in the cluster.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Place {
    /// This server owns the room.
    Here,
    /// A living server owns the room, and has this address for clients.
    At(String),
    /// No living server owns the room.
    Nowhere,
}

/// The reason why a room was not taken.
#[derive(Debug, thiserror::Error)]
pub enum TakeError {
    /// Another server owns the room.
    #[error("the server {owner} owns the room")]
    Elsewhere {
        /// The owner.
        owner: ServerId,
    },
    /// This server has no lease now.
    #[error(
        "this server's lease is over, because NATS does not answer in time or another process has its name"
    )]
    NoLease,
    /// The room's name is not one of the cluster.
    #[error("the room's name has other characters than a-z, 0-9, '-' and '_'")]
    Name,
    /// A living server of the cluster has a release that is not a neighbour of this one's.
    #[error("this server takes no rooms: {0}")]
    Release(#[from] ReleasesApart),
    /// No such server is alive.
    #[error("the server {0} is not alive in the cluster. `nowcast cluster status` lists the servers")]
    NoServer(Name),
    /// NATS did not answer.
    #[error(transparent)]
    Failed(#[from] ClusterError),
}

/// A server's membership. Dropping it stops the renewals; the lease then ends by itself.
pub struct Member {
    inner: Arc<Inner>,
    /// `None` after the drop has begun.
    runtime: Option<Runtime>,
}

struct Inner {
    servers: Bucket,
    rooms: Bucket,
    options: MemberOptions,
    state: Mutex<State>,
}

struct State {
    id: ServerId,
    /// The revision of this server's entry.
    revision: u64,
    /// The end of the lease on this server's clock.
    lease_until: Instant,
    phase: ServerPhase,
    load: Load,
    owned: BTreeSet<Name>,
    lost: BTreeSet<Name>,
    /// The newest entries of servers, with the times at which their revisions were first seen.
    seen: BTreeMap<Name, (ServerEntry, u64, Instant)>,
    /// The time since which the directory was read without a gap. Nobody is judged before a whole lease was observed.
    observing_since: Instant,
    /// The time of the newest look at the directory.
    looked_at: Instant,
}

impl Member {
    /// Enters the directory with the next incarnation of the server's name, and keeps renewing the lease.
    ///
    /// # Errors
    /// Fails if the buckets cannot be opened, if NATS does not answer, or if a running server has the name.
    pub async fn join(link: &Link, options: MemberOptions) -> Result<Member, ClusterError> {
        let servers = at_start(|| Bucket::open(link, "servers")).await?;
        let rooms = at_start(|| Bucket::open(link, "rooms")).await?;
        let options = MemberOptions { lease: options.lease.min(LEASE_MAX), ..options };
        let now = Instant::now();
        let state = State {
            id: ServerId { name: options.name, incarnation: 0 },
            revision: 0,
            lease_until: now,
            phase: ServerPhase::Serving,
            load: Load::default(),
            owned: BTreeSet::new(),
            lost: BTreeSet::new(),
            seen: BTreeMap::new(),
            observing_since: now,
            looked_at: now,
        };
        let inner = Arc::new(Inner { servers, rooms, options, state: Mutex::new(state) });
        at_start(|| inner.wait_for_last_life()).await?;
        at_start(|| inner.enter()).await?;
        at_start(|| inner.look()).await?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("nowcast-lease")
            .enable_all()
            .build()
            .map_err(|error| ClusterError::request("cannot start a thread", error))?;
        runtime.spawn(Arc::clone(&inner).renew());
        runtime.spawn(Arc::clone(&inner).watch());
        Ok(Member { inner, runtime: Some(runtime) })
    }

    /// The ID of this server. After a lease that another server ended, the server has a new one.
    pub fn id(&self) -> ServerId {
        self.inner.lock().id
    }

    /// Makes this server the owner of a room in the directory, unless a server that may be alive owns it. Returns the epoch
    /// with which the room's journal must be claimed. Waits for NATS.
    ///
    /// # Errors
    /// Fails with the owner's address if another server owns the room, and if NATS does not answer.
    pub fn take(&self, room: &str) -> Result<Epoch, TakeError> {
        let room = Name::new(room).map_err(|_| TakeError::Name)?;
        let inner = Arc::clone(&self.inner);
        self.wait_for(async move { inner.take(room).await })
    }

    /// Releases a room, so that any server may take it at once. Waits for NATS. A failure is ignored: the room can be taken
    /// when this server's lease is over.
    pub fn release(&self, room: &str) {
        let Ok(room) = Name::new(room) else { return };
        let inner = Arc::clone(&self.inner);
        let released = self.wait_for(async move { inner.give(room, None).await });
        // Another server has taken the room already, or NATS does not answer.
        let _ = released;
    }

    /// Makes a living server the owner of a room of this server, whose world is stored. Waits for NATS.
    ///
    /// # Errors
    /// Fails if the server is not alive, or if NATS does not answer.
    pub fn hand_over(&self, room: &str, target: Name) -> Result<(), TakeError> {
        let room = Name::new(room).map_err(|_| TakeError::Name)?;
        let target = self.server(target)?;
        let inner = Arc::clone(&self.inner);
        self.wait_for(async move { inner.give(room, Some(target)).await })
    }

    /// The ID of a living server.
    ///
    /// # Errors
    /// [`TakeError::NoServer`].
    pub fn server(&self, name: Name) -> Result<ServerId, TakeError> {
        let state = self.inner.lock();
        let known = state.seen.get(&name).and_then(|(entry, ..)| self.inner.living(&state, entry.id));
        known.map(|entry| entry.id).ok_or(TakeError::NoServer(name))
    }

    /// Whether this server may step a room now.
    pub fn lease(&self, room: &str) -> RoomLease {
        let Ok(room) = Name::new(room) else { return RoomLease::Lost };
        let state = self.inner.lock();
        if state.lost.contains(&room) || !state.owned.contains(&room) {
            RoomLease::Lost
        } else if Instant::now() < state.lease_until {
            RoomLease::Held
        } else {
            RoomLease::Waiting
        }
    }

    /// The rooms that this server owns.
    pub fn owned(&self) -> Vec<Name> {
        let state = self.inner.lock();
        state.owned.difference(&state.lost).copied().collect()
    }

    /// Records that the journal refused this server's appends: another server owns the room.
    pub fn lose(&self, room: &str) {
        if let Ok(room) = Name::new(room) {
            self.inner.lock().lost.insert(room);
        }
    }

    /// Returns the place of a room, from its entry in the directory. The answer is a hint.
    ///
    /// # Errors
    /// Fails if NATS does not answer.
    pub async fn place_of(&self, room: &str) -> Result<Place, ClusterError> {
        let Ok(room) = Name::new(room) else { return Ok(Place::Nowhere) };
        let entry = self.inner.rooms.get(room.as_str()).await?.and_then(|entry| entry.value);
        let Some(entry) = entry.map(|value| read_room(&value)).transpose()? else {
            return Ok(Place::Nowhere);
        };
        let state = self.inner.lock();
        let holder = entry.holders().find_map(|id| self.inner.living(&state, id));
        Ok(match holder {
            Some(holder) if holder.id == state.id => Place::Here,
            Some(holder) if !holder.client_address.is_empty() => Place::At(holder.client_address.to_string()),
            Some(_) | None => Place::Nowhere,
        })
    }

    /// Chooses a living server for a room: the better one of two. `random` selects the two. Returns the server's ID and
    /// its address for clients.
    pub fn choose(&self, random: u64) -> Option<(ServerId, String)> {
        let state = self.inner.lock();
        let living = state.seen.values().filter_map(|(entry, ..)| self.inner.living(&state, entry.id));
        // The own entry shows the phase only after the next renewal.
        let takes_none = state.phase != ServerPhase::Serving;
        let living: Vec<&ServerEntry> =
            living.filter(|entry| !(takes_none && entry.id == state.id)).collect();
        let chosen = choose(living.iter().copied(), &[], random)?;
        let entry = living.into_iter().find(|entry| entry.id == chosen)?;
        Some((chosen, entry.client_address.to_string()))
    }

    /// Sets the load and the phase that the next renewal writes into the directory.
    pub fn report(&self, load: Load, is_draining: bool) {
        let mut state = self.inner.lock();
        state.load = load;
        // The end of a life is final.
        if state.phase != ServerPhase::Dead {
            state.phase = if is_draining { ServerPhase::Draining } else { ServerPhase::Serving };
        }
    }

    /// The addresses of the other servers that may be alive, for clients whose server does not answer.
    pub fn addresses(&self) -> Vec<String> {
        let state = self.inner.lock();
        let others = state.seen.values().filter(|(entry, ..)| entry.id != state.id);
        let living = others.filter_map(|(entry, ..)| self.inner.living(&state, entry.id));
        living.map(|entry| entry.client_address.to_string()).collect()
    }

    /// The addresses of all other servers in the directory, including those that have ended.
    pub fn known_addresses(&self) -> Vec<String> {
        let state = self.inner.lock();
        let others = state.seen.values().filter(|(entry, ..)| entry.id.name != state.id.name);
        others.map(|(entry, ..)| entry.client_address.to_string()).collect()
    }

    /// Whether the lease covers this moment.
    pub fn has_lease(&self) -> bool {
        self.inner.has_lease()
    }

    /// Ends this server's life in the directory, so that others may take its rooms at once. Waits for NATS, at most 1 s.
    pub fn leave(&self) {
        let inner = Arc::clone(&self.inner);
        let _ = self.wait_for(async move {
            // Without an answer, the lease ends by itself.
            let _ = tokio::time::timeout(END_WITHIN, inner.end()).await;
            Ok(())
        });
    }

    fn wait_for<T: Send + 'static>(
        &self,
        future: impl Future<Output = Result<T, TakeError>> + Send + 'static,
    ) -> Result<T, TakeError> {
        let (answer, answered) = sync_channel(1);
        self.runtime.as_ref().expect("the runtime exists until the drop").spawn(async move {
            // The caller waits for the answer, unless it panicked.
            let _ = answer.send(future.await);
        });
        answered.recv().unwrap_or(Err(TakeError::NoLease))
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
    fn lock(&self) -> MutexGuard<'_, State> {
        // No code panics while it holds the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn has_lease(&self) -> bool {
        Instant::now() < self.lock().lease_until
    }

    /// Returns the entry of a server whose lease may still be valid.
    fn living<'a>(&self, state: &'a State, id: ServerId) -> Option<&'a ServerEntry> {
        let (entry, _, since) = state.seen.get(&id.name)?;
        if entry.id != id || entry.phase == ServerPhase::Dead {
            return None;
        }
        let observed = state.looked_at.saturating_duration_since((*since).max(state.observing_since));
        (observed < surely_after(entry.lease)).then_some(entry)
    }

    /// Checks that the releases of all living servers are neighbours of this one's.
    fn check_releases(&self) -> Result<(), ReleasesApart> {
        let state = self.lock();
        let mut living = state.seen.values().filter_map(|(entry, ..)| self.living(&state, entry.id));
        living.try_for_each(|entry| Release::CURRENT.check_neighbour(entry.release))
    }

    /// Waits until the lease of the last process with this name is surely over. A lease that is renewed meanwhile belongs to
    /// a running process.
    async fn wait_for_last_life(&self) -> Result<(), ClusterError> {
        let name = self.options.name;
        let Some(entry) = self.servers.get(name.as_str()).await? else { return Ok(()) };
        let last = entry.value.as_ref().map(|value| read_server(value)).transpose()?;
        let Some(last) = last.filter(|last| last.phase != ServerPhase::Dead) else { return Ok(()) };
        tokio::time::sleep(surely_after(last.lease)).await;
        let renewed = self.servers.get(name.as_str()).await?;
        if renewed.is_some_and(|renewed| renewed.revision != entry.revision) {
            return Err(ClusterError::NameTaken { name: name.to_string() });
        }
        Ok(())
    }

    /// Enters the directory with the next incarnation.
    async fn enter(&self) -> Result<(), ClusterError> {
        let name = self.options.name;
        for _ in 0..TRIES {
            let entry = self.servers.get(name.as_str()).await?;
            let replaces = entry.as_ref().map_or(0, |entry| entry.revision);
            let before = entry.and_then(|entry| entry.value).map(|value| read_server(&value)).transpose()?;
            let id = ServerId { name, incarnation: before.map_or(0, |before| before.id.incarnation) + 1 };
            let sent = Instant::now();
            match self.servers.set(name.as_str(), self.entry(id, None), replaces).await {
                Ok(revision) => {
                    let mut state = self.lock();
                    (state.id, state.revision) = (id, revision);
                    state.lease_until = sent + surely_within(self.options.lease);
                    return Ok(());
                }
                Err(ChangeError::Conflict) => {}
                Err(ChangeError::Failed(error)) => return Err(error),
            }
        }
        Err(ClusterError::NameTaken { name: name.to_string() })
    }

    /// The bytes of this server's entry, in its present phase or in another one.
    fn entry(&self, id: ServerId, phase: Option<ServerPhase>) -> Vec<u8> {
        let state = self.lock();
        let entry = ServerEntry {
            id,
            phase: phase.unwrap_or(state.phase),
            release: Release::CURRENT,
            lease: self.options.lease,
            link_address: "".into(),
            client_address: self.options.client_address.as_str().into(),
            tags: [].into(),
            load: state.load,
        };
        let mut bytes = Vec::new();
        entry.encode(&mut bytes);
        bytes
    }

    async fn take(&self, room: Name) -> Result<Epoch, TakeError> {
        let key = room.as_str();
        for _ in 0..TRIES {
            if !self.has_lease() {
                return Err(TakeError::NoLease);
            }
            self.check_releases()?;
            let entry = self.rooms.get(key).await?;
            let replaces = entry.as_ref().map_or(0, |entry| entry.revision);
            let before = entry.and_then(|entry| entry.value).map(|value| read_room(&value)).transpose()?;
            if let Some(before) = &before {
                self.end_holders(before).await?;
            }
            let id = self.lock().id;
            let epoch = before.as_ref().map_or(Epoch(0), |before| before.newest_epoch).next();
            let entry = RoomEntry {
                epoch,
                newest_epoch: epoch,
                owner: id,
                is_released: false,
                target: None,
                requires: before.map_or_else(|| [].into(), |before| before.requires),
            };
            match self.rooms.set(key, room_bytes(&entry), replaces).await {
                Ok(_) => {
                    let mut state = self.lock();
                    if state.id != id || Instant::now() >= state.lease_until {
                        return Err(TakeError::NoLease);
                    }
                    state.owned.insert(room);
                    state.lost.remove(&room);
                    return Ok(epoch);
                }
                Err(ChangeError::Conflict) => {}
                Err(ChangeError::Failed(error)) => return Err(error.into()),
            }
        }
        Err(ClusterError::request(format!("cannot take room {room}"), "others take it at the same time")
            .into())
    }

    /// Ends the lives of the holders of a room whose leases are over. Fails if another holder may be alive. A holder that
    /// renews its lease at the same time wins, because the update states the expected revision.
    async fn end_holders(&self, room: &RoomEntry) -> Result<(), TakeError> {
        self.look().await?;
        for holder in room.holders() {
            let over = {
                let state = self.lock();
                if holder == state.id {
                    continue;
                }
                if self.living(&state, holder).is_some() {
                    return Err(TakeError::Elsewhere { owner: holder });
                }
                let seen = state.seen.get(&holder.name).filter(|(entry, ..)| entry.id == holder);
                seen.filter(|(entry, ..)| entry.phase != ServerPhase::Dead).cloned()
            };
            // A dead server, or one that has started again, holds nothing.
            let Some((entry, revision, _)) = over else { continue };
            let mut bytes = Vec::new();
            ServerEntry { phase: ServerPhase::Dead, ..entry }.encode(&mut bytes);
            match self.servers.set(holder.name.as_str(), bytes, revision).await {
                Ok(_) => {}
                Err(ChangeError::Conflict) => return Err(TakeError::Elsewhere { owner: holder }),
                Err(ChangeError::Failed(error)) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Gives a room of this server to another one, or releases it.
    async fn give(&self, room: Name, target: Option<ServerId>) -> Result<(), TakeError> {
        for _ in 0..TRIES {
            let id = self.lock().id;
            let Some(entry) = self.rooms.get(room.as_str()).await? else { break };
            let Some(before) = entry.value.map(|value| read_room(&value)).transpose()? else { break };
            if before.owner != id || before.is_released {
                break;
            }
            let given = match target {
                None => RoomEntry { is_released: true, ..before },
                Some(owner) => {
                    let epoch = before.newest_epoch.next();
                    RoomEntry { owner, epoch, newest_epoch: epoch, target: None, ..before }
                }
            };
            match self.rooms.set(room.as_str(), room_bytes(&given), entry.revision).await {
                Ok(_) => break,
                Err(ChangeError::Conflict) => {}
                Err(ChangeError::Failed(error)) => return Err(error.into()),
            }
        }
        self.lock().owned.remove(&room);
        Ok(())
    }

    /// Renews the lease. If another server has ended this life, or another process has the name, the rooms are lost, and
    /// the server enters again.
    async fn renew(self: Arc<Self>) {
        let mut renewals = tokio::time::interval(self.options.lease / RENEWALS);
        renewals.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            renewals.tick().await;
            let (id, replaces) = {
                let state = self.lock();
                if state.phase == ServerPhase::Dead {
                    return;
                }
                (state.id, state.revision)
            };
            let sent = Instant::now();
            match self.servers.set(self.options.name.as_str(), self.entry(id, None), replaces).await {
                Ok(revision) => {
                    // Nobody has ended this life, so nobody has taken a room.
                    let mut state = self.lock();
                    state.revision = revision;
                    state.lease_until = sent + surely_within(self.options.lease);
                }
                Err(ChangeError::Conflict) => self.find_conflict(id).await,
                // The lease ends by itself.
                Err(ChangeError::Failed(_)) => {}
            }
        }
    }

    /// Finds out why a renewal was refused.
    async fn find_conflict(&self, id: ServerId) {
        let Ok(Some(entry)) = self.servers.get(self.options.name.as_str()).await else { return };
        let Some(Ok(found)) = entry.value.map(|value| read_server(&value)) else { return };
        if found.id == id && found.phase != ServerPhase::Dead {
            // An earlier renewal was made although its answer was lost.
            self.lock().revision = entry.revision;
            return;
        }
        {
            let mut state = self.lock();
            let owned = std::mem::take(&mut state.owned);
            state.lost.extend(owned);
            state.lease_until = Instant::now();
        }
        // A running process with this name keeps it. The rooms of this server are lost, and its clients move.
        if found.phase == ServerPhase::Dead {
            let _ = self.enter().await;
        }
    }

    /// Reads the directory again and again, for hints and for the ends of leases.
    async fn watch(self: Arc<Self>) {
        let mut looks = tokio::time::interval(self.options.lease / LOOKS);
        looks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            looks.tick().await;
            // Without an answer, all entries stay as they were seen.
            let _ = self.look().await;
        }
    }

    /// Reads the entries of all servers.
    async fn look(&self) -> Result<(), ClusterError> {
        let began = Instant::now();
        let listed = self.servers.list().await?;
        let now = Instant::now();
        let mut state = self.lock();
        // After a time without answers, all leases are observed from the beginning.
        if began.saturating_duration_since(state.looked_at) > self.options.lease / 2 {
            state.observing_since = now;
        }
        state.looked_at = state.looked_at.max(began);
        for (key, value, revision) in listed {
            let (Ok(name), Ok(entry)) = (Name::new(&key), read_server(&value)) else { continue };
            let is_known = state.seen.get(&name).is_some_and(|(_, seen, _)| *seen >= revision);
            if !is_known {
                state.seen.insert(name, (entry, revision, now));
            }
        }
        Ok(())
    }

    /// Says in the directory that this life of the server is over.
    async fn end(&self) {
        let (id, revision) = {
            let mut state = self.lock();
            let owned = std::mem::take(&mut state.owned);
            state.lost.extend(owned);
            state.lease_until = Instant::now();
            if std::mem::replace(&mut state.phase, ServerPhase::Dead) == ServerPhase::Dead {
                return;
            }
            (state.id, state.revision)
        };
        // If the entry has another revision, another process has the name.
        let bytes = self.entry(id, Some(ServerPhase::Dead));
        let _ = self.servers.set(self.options.name.as_str(), bytes, revision).await;
    }
}
