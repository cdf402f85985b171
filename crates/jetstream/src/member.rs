//! A server's membership in a cluster: its lease, the rooms that it owns, and the servers that own the others.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use nowcast_cluster::{
    Epoch, LEASE_MAX, Load, Name, Release, RoomEntry, ServerEntry, ServerId, ServerPhase, surely_after,
    surely_within,
};
use tokio::runtime::Runtime;

use crate::{Bucket, ChangeError, ClusterError, Link};

/// Attempts to change an entry that others change at the same time.
const TRIES: u32 = 16;

/// The lease is renewed this many times within its duration.
const RENEWALS: u32 = 4;

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
    id: ServerId,
    options: MemberOptions,
    state: Mutex<State>,
}

struct State {
    /// The revision of this server's entry.
    revision: u64,
    /// The end of the lease on this server's clock.
    lease_until: Instant,
    /// Whether another process has this server's name now.
    is_replaced: bool,
    owned: BTreeSet<Name>,
    lost: BTreeSet<Name>,
    /// The newest entries of servers, with the times at which their revisions were first seen.
    seen: BTreeMap<Name, (ServerEntry, u64, Instant)>,
    /// The owners of rooms, as hints.
    owners: BTreeMap<Name, ServerId>,
}

impl Member {
    /// Enters the directory with the next incarnation of the server's name, and keeps renewing the lease.
    ///
    /// # Errors
    /// Fails if the buckets cannot be opened, or if NATS does not answer.
    pub async fn join(link: &Link, options: MemberOptions) -> Result<Member, ClusterError> {
        let servers = Bucket::open(link, "servers").await?;
        let rooms = Bucket::open(link, "rooms").await?;
        let options = MemberOptions { lease: options.lease.min(LEASE_MAX), ..options };
        let mut tries = 0;
        let (id, revision, lease_until) = loop {
            let entry = servers.get(options.name.as_str()).await?;
            let replaces = entry.as_ref().map_or(0, |entry| entry.revision);
            let before = entry.and_then(|entry| entry.value).map(|value| read_server(&value)).transpose()?;
            let incarnation = before.map_or(0, |before| before.id.incarnation) + 1;
            let id = ServerId { name: options.name, incarnation };
            let sent = Instant::now();
            match servers
                .set(options.name.as_str(), server_bytes(id, &options, ServerPhase::Serving), replaces)
                .await
            {
                Ok(revision) => break (id, revision, sent + surely_within(options.lease)),
                Err(ChangeError::Conflict) if tries < TRIES => tries += 1,
                Err(ChangeError::Conflict) => {
                    return Err(ClusterError::request(
                        format!("cannot enter as {}", options.name),
                        "others enter, too",
                    ));
                }
                Err(ChangeError::Failed(error)) => return Err(error),
            }
        };
        let state = State {
            revision,
            lease_until,
            is_replaced: false,
            owned: BTreeSet::new(),
            lost: BTreeSet::new(),
            seen: BTreeMap::new(),
            owners: BTreeMap::new(),
        };
        let inner = Arc::new(Inner { servers, rooms, id, options, state: Mutex::new(state) });
        inner.look().await?;
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

    /// The ID of this start of the server.
    pub fn id(&self) -> ServerId {
        self.inner.id
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
        let released = self.wait_for(async move { inner.release(room).await });
        // Another server has taken the room already, or NATS does not answer.
        let _ = released;
    }

    /// Whether this server may step a room now.
    pub fn lease(&self, room: &str) -> RoomLease {
        let Ok(room) = Name::new(room) else { return RoomLease::Lost };
        let state = self.inner.lock();
        if state.is_replaced || state.lost.contains(&room) || !state.owned.contains(&room) {
            RoomLease::Lost
        } else if Instant::now() < state.lease_until {
            RoomLease::Held
        } else {
            RoomLease::Waiting
        }
    }

    /// Records that the journal refused this server's appends: another server owns the room.
    pub fn lose(&self, room: &str) {
        if let Ok(room) = Name::new(room) {
            self.inner.lock().lost.insert(room);
        }
    }

    /// The address of the live server that owns a room, unless this server owns it or nobody does. A hint.
    pub fn address_of(&self, room: &str) -> Option<String> {
        let room = Name::new(room).ok()?;
        let state = self.inner.lock();
        let owner = *state.owners.get(&room)?;
        let entry = self.inner.living(&state, owner).filter(|_| owner != self.inner.id)?;
        Some(entry.client_address.to_string())
    }

    /// The addresses of the other servers that may be alive, for clients whose server does not answer.
    pub fn addresses(&self) -> Vec<String> {
        let state = self.inner.lock();
        let others = state.seen.values().filter(|(entry, ..)| entry.id != self.inner.id);
        let living = others.filter_map(|(entry, ..)| self.inner.living(&state, entry.id));
        living.map(|entry| entry.client_address.to_string()).collect()
    }

    /// Whether the lease covers this moment.
    pub fn has_lease(&self) -> bool {
        self.inner.has_lease()
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
        let inner = Arc::clone(&self.inner);
        // Others may take the rooms at once.
        let _ = self.wait_for(async move {
            let ended = inner.end();
            let _ = tokio::time::timeout(Duration::from_secs(1), ended).await;
            Ok(())
        });
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
        let state = self.lock();
        !state.is_replaced && Instant::now() < state.lease_until
    }

    /// Returns the entry of a server whose lease may still be valid.
    fn living<'a>(&self, state: &'a State, id: ServerId) -> Option<&'a ServerEntry> {
        let (entry, _, since) = state.seen.get(&id.name)?;
        let is_living =
            entry.id == id && entry.phase != ServerPhase::Dead && since.elapsed() < surely_after(entry.lease);
        is_living.then_some(entry)
    }

    async fn take(&self, room: Name) -> Result<Epoch, TakeError> {
        let key = room.as_str();
        if !self.has_lease() {
            return Err(TakeError::NoLease);
        }
        for _ in 0..TRIES {
            let entry = self.rooms.get(key).await?;
            let replaces = entry.as_ref().map_or(0, |entry| entry.revision);
            let before = entry.and_then(|entry| entry.value).map(|value| read_room(&value)).transpose()?;
            if let Some(before) = &before {
                self.look().await?;
                let mut state = self.lock();
                let holder = before.holders().find(|id| *id != self.id && self.living(&state, *id).is_some());
                if let Some(owner) = holder {
                    state.owners.insert(room, owner);
                    return Err(TakeError::Elsewhere { owner });
                }
            }
            let epoch = before.as_ref().map_or(Epoch(0), |before| before.newest_epoch).next();
            let entry = RoomEntry {
                epoch,
                newest_epoch: epoch,
                owner: self.id,
                is_released: false,
                target: None,
                requires: before.map_or_else(|| [].into(), |before| before.requires),
            };
            let mut bytes = Vec::new();
            entry.encode(&mut bytes);
            match self.rooms.set(key, bytes, replaces).await {
                Ok(_) if !self.has_lease() => return Err(TakeError::NoLease),
                Ok(_) => {
                    let mut state = self.lock();
                    state.owned.insert(room);
                    state.lost.remove(&room);
                    state.owners.insert(room, self.id);
                    return Ok(epoch);
                }
                Err(ChangeError::Conflict) => {}
                Err(ChangeError::Failed(error)) => return Err(error.into()),
            }
        }
        Err(ClusterError::request(format!("cannot take room {room}"), "others take it at the same time")
            .into())
    }

    async fn release(&self, room: Name) -> Result<(), TakeError> {
        self.lock().owned.remove(&room);
        let Some(entry) = self.rooms.get(room.as_str()).await? else { return Ok(()) };
        let Some(before) = entry.value.map(|value| read_room(&value)).transpose()? else { return Ok(()) };
        if before.owner == self.id && !before.is_released {
            let mut bytes = Vec::new();
            RoomEntry { is_released: true, ..before }.encode(&mut bytes);
            match self.rooms.set(room.as_str(), bytes, entry.revision).await {
                Ok(_) | Err(ChangeError::Conflict) => {}
                Err(ChangeError::Failed(error)) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Renews the lease until another process has this server's name.
    async fn renew(self: Arc<Self>) {
        let mut renewals = tokio::time::interval(self.options.lease / RENEWALS);
        renewals.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            renewals.tick().await;
            let (replaces, had_lease) = {
                let state = self.lock();
                (state.revision, Instant::now() < state.lease_until)
            };
            let sent = Instant::now();
            let bytes = server_bytes(self.id, &self.options, ServerPhase::Serving);
            match self.servers.set(self.options.name.as_str(), bytes, replaces).await {
                Ok(revision) => {
                    // Rooms that another server took while there was no lease end before the new lease is used.
                    let lost = if had_lease { Ok(BTreeSet::new()) } else { self.find_lost().await };
                    let mut state = self.lock();
                    state.revision = revision;
                    if let Ok(lost) = lost {
                        state.lost.extend(lost);
                        state.lease_until = sent + surely_within(self.options.lease);
                    }
                }
                Err(ChangeError::Conflict) => {
                    if let Ok(Some(entry)) = self.servers.get(self.options.name.as_str()).await {
                        let id = entry.value.and_then(|value| read_server(&value).ok()).map(|entry| entry.id);
                        let mut state = self.lock();
                        if id == Some(self.id) {
                            // An earlier renewal was made although its answer was lost.
                            state.revision = entry.revision;
                        } else {
                            state.is_replaced = true;
                            return;
                        }
                    }
                }
                // The lease ends by itself.
                Err(ChangeError::Failed(_)) => {}
            }
        }
    }

    /// Returns the owned rooms of which the directory names another owner.
    async fn find_lost(&self) -> Result<BTreeSet<Name>, ClusterError> {
        let owned = self.lock().owned.clone();
        let mut lost = BTreeSet::new();
        for room in owned {
            let entry = self.rooms.get(room.as_str()).await?.and_then(|entry| entry.value);
            let entry = entry.map(|value| read_room(&value)).transpose()?;
            if entry.is_none_or(|entry| entry.owner != self.id) {
                lost.insert(room);
            }
        }
        Ok(lost)
    }

    /// Reads the directory again and again, for hints and for the ends of leases.
    async fn watch(self: Arc<Self>) {
        let mut looks = tokio::time::interval(self.options.lease / RENEWALS);
        looks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            looks.tick().await;
            // Without an answer, all entries stay as they were seen, and their leases end.
            let _ = self.look().await;
            if let Ok(rooms) = self.rooms.list().await {
                let owners = rooms.into_iter().filter_map(|(key, value, _)| {
                    let entry = read_room(&value).ok().filter(|entry| !entry.is_released)?;
                    Some((Name::new(&key).ok()?, entry.owner))
                });
                self.lock().owners = owners.collect();
            }
        }
    }

    /// Reads the entries of all servers.
    async fn look(&self) -> Result<(), ClusterError> {
        let listed = self.servers.list().await?;
        let now = Instant::now();
        let mut state = self.lock();
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
        let revision = {
            let mut state = self.lock();
            state.is_replaced = true;
            state.revision
        };
        let bytes = server_bytes(self.id, &self.options, ServerPhase::Dead);
        // If the entry has another revision, another process has the name.
        let _ = self.servers.set(self.options.name.as_str(), bytes, revision).await;
    }
}

/// The servers and rooms of a cluster, as its directory shows them.
#[derive(Clone, Debug, Default)]
pub struct Directory {
    /// The servers, by name.
    pub servers: Vec<ServerEntry>,
    /// The rooms, by name.
    pub rooms: Vec<(Name, RoomEntry)>,
}

impl Directory {
    /// Reads the directory of a cluster. It is a hint: leases cannot be judged from one look.
    ///
    /// # Errors
    /// Fails if NATS does not answer, or if an entry is damaged.
    pub async fn read(link: &Link) -> Result<Directory, ClusterError> {
        let mut directory = Directory::default();
        for (_, value, _) in Bucket::open(link, "servers").await?.list().await? {
            directory.servers.push(read_server(&value)?);
        }
        directory.servers.sort_by_key(|entry| entry.id);
        for (key, value, _) in Bucket::open(link, "rooms").await?.list().await? {
            if let Ok(name) = Name::new(&key) {
                directory.rooms.push((name, read_room(&value)?));
            }
        }
        directory.rooms.sort_by_key(|(name, _)| *name);
        Ok(directory)
    }
}

fn server_bytes(id: ServerId, options: &MemberOptions, phase: ServerPhase) -> Bytes {
    let entry = ServerEntry {
        id,
        phase,
        release: Release::CURRENT,
        lease: options.lease,
        link_address: "".into(),
        client_address: options.client_address.as_str().into(),
        tags: [].into(),
        load: Load::default(),
    };
    let mut bytes = Vec::new();
    entry.encode(&mut bytes);
    bytes.into()
}

fn read_server(bytes: &[u8]) -> Result<ServerEntry, ClusterError> {
    ServerEntry::decode(bytes)
        .map_err(|error| ClusterError::request("an entry of the bucket of servers", error))
}

fn read_room(bytes: &[u8]) -> Result<RoomEntry, ClusterError> {
    RoomEntry::decode(bytes).map_err(|error| ClusterError::request("an entry of the bucket of rooms", error))
}
