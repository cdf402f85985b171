//! A server's membership in a cluster: its lease, the rooms that it owns, and the servers that own the others.

mod life;
mod rooms;

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use nowcast_cluster::{
    Epoch, LEASE_MAX, Load, Name, ReleasesApart, ServerEntry, ServerId, ServerPhase, choose,
};
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

use crate::directory::read_room;
use crate::leases::Leases;
use crate::link::at_start;
use crate::{Bucket, ClusterError, Link, clock};

/// Attempts to change an entry that others change at the same time.
const TRIES: u32 = 16;

/// Time for which a room is taken again and again while NATS does not answer, or until this server has a lease again.
const TAKE_WITHIN: Duration = Duration::from_secs(10);

/// Pause before a room is taken again.
const TAKE_PAUSE: Duration = Duration::from_millis(100);

/// Maximum time of the entry that ends a server's life.
const END_WITHIN: Duration = Duration::from_secs(1);

/// Settings of a member.
#[derive(Clone, Debug)]
pub struct MemberOptions {
    /// The name of the server. No other running server of the cluster may have it.
    pub name: Name,
    /// The address to which clients move, as the origin of a URL: `http://10.0.0.1:7777`.
    pub client_address: String,
    /// The tags of the server, which rooms may require.
    pub tags: Arc<[Name]>,
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
    /// This server lacks tags that the room requires.
    #[error("this server has no tag {}, which the room requires (--cluster-require, --cluster-tag)", .0.iter().map(|tag| tag.as_str()).collect::<Vec<_>>().join(", "))]
    Tags(Vec<Name>),
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
    leases: Leases,
    phase: ServerPhase,
    load: Load,
    owned: BTreeSet<Name>,
    lost: BTreeSet<Name>,
    /// The rooms that other servers have handed to this one, with their epochs, until they are taken.
    received: BTreeMap<Name, Epoch>,
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
        let now = clock::now();
        let state = State {
            id: ServerId { name: options.name, incarnation: 0 },
            revision: 0,
            leases: Leases::new(options.lease, now),
            phase: ServerPhase::Serving,
            load: Load::default(),
            owned: BTreeSet::new(),
            lost: BTreeSet::new(),
            received: BTreeMap::new(),
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
    /// with which the room's journal must be claimed. Waits for NATS. `requires` are the tags that a server of the room must
    /// have.
    ///
    /// # Errors
    /// Fails with the owner's address if another server owns the room, if this server lacks a tag, and if NATS does not answer.
    pub fn take(&self, room: &str, requires: &[Name]) -> Result<Epoch, TakeError> {
        let room = Name::new(room).map_err(|_| TakeError::Name)?;
        let lacking: Vec<Name> =
            requires.iter().filter(|tag| !self.inner.options.tags.contains(tag)).copied().collect();
        if !lacking.is_empty() {
            return Err(TakeError::Tags(lacking));
        }
        let (inner, requires) = (Arc::clone(&self.inner), requires.into());
        self.wait_for(async move {
            let until = Instant::now() + TAKE_WITHIN;
            loop {
                match inner.take(room, Arc::clone(&requires)).await {
                    Err(TakeError::NoLease | TakeError::Failed(_))
                        if Instant::now() < until && !inner.has_ended() =>
                    {
                        tokio::time::sleep(TAKE_PAUSE).await;
                    }
                    outcome => break outcome,
                }
            }
        })
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

    /// Names a living server in the directory as the target of a hand-over of a room of this server. As soon as the journal has
    /// the epoch of the target, the target owns the room. Returns this epoch; `None` if another server has taken the room
    /// before. Waits for NATS.
    ///
    /// # Errors
    /// Fails if the server is not alive, or if NATS does not answer.
    pub async fn name_target(&self, room: &str, target: Name) -> Result<Option<Epoch>, TakeError> {
        let room = Name::new(room).map_err(|_| TakeError::Name)?;
        let target = self.server(target)?.id;
        self.inner.name_target(room, target).await
    }

    /// Removes the target of a move from the directory, after the move has ended in any way. If this server still owns the room, it
    /// stays the owner; otherwise the target becomes the owner. Repeats that until NATS answers. The returned task may be dropped.
    pub fn end_move(&self, room: &str, target: Name) -> Option<JoinHandle<()>> {
        let (Ok(room), Some(runtime)) = (Name::new(room), &self.runtime) else { return None };
        Some(runtime.spawn(Arc::clone(&self.inner).end_move(room, target)))
    }

    /// Ends this server's ownership of a room that has stopped, and whose target takes it by its journal. The directory follows
    /// by [`end_move`](Self::end_move).
    pub fn stop_owning(&self, room: &str) {
        if let Ok(room) = Name::new(room) {
            self.inner.lock().owned.remove(&room);
        }
    }

    /// Corrects the directory after this server took a room as the target of a hand-over. Repeats that until NATS answers, while
    /// this server owns the room.
    pub fn name_owner(&self, room: &str, epoch: Epoch) {
        if let (Ok(room), Some(runtime)) = (Name::new(room), &self.runtime) {
            runtime.spawn(Arc::clone(&self.inner).name_owner(room, epoch));
        }
    }

    /// Records that the owner of a room has made this server the owner, with an epoch. The next [`take`](Self::take) of the
    /// room uses this epoch, and does not wait for the directory.
    pub fn receive(&self, room: &str, epoch: Epoch) {
        if let Ok(room) = Name::new(room) {
            self.inner.lock().received.insert(room, epoch);
        }
    }

    /// The entry of a living server.
    ///
    /// # Errors
    /// [`TakeError::NoServer`].
    pub fn server(&self, name: Name) -> Result<ServerEntry, TakeError> {
        let state = self.inner.lock();
        let known = state.leases.living().find(|entry| entry.id.name == name);
        known.cloned().ok_or(TakeError::NoServer(name))
    }

    /// Whether this server may step a room now.
    pub fn lease(&self, room: &str) -> RoomLease {
        let Ok(room) = Name::new(room) else { return RoomLease::Lost };
        let state = self.inner.lock();
        if state.lost.contains(&room) || !state.owned.contains(&room) {
            RoomLease::Lost
        } else if state.leases.covers(clock::now()) {
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
        // After a hand-over, the owner knows of its room before the directory names it.
        if self.inner.owns(room) {
            return Ok(Place::Here);
        }
        let entry = self.inner.rooms.get(room.as_str()).await?.and_then(|entry| entry.value);
        let Some(entry) = entry.map(|value| read_room(&value)).transpose()? else {
            return Ok(Place::Nowhere);
        };
        let state = self.inner.lock();
        // If this server stopped the room for a hand-over, the target owns it now.
        let living = || entry.holders().filter_map(|id| state.leases.living_server(id));
        let holder = living().find(|holder| holder.id != state.id).or_else(|| living().next());
        Ok(match holder {
            Some(holder) if holder.id == state.id => Place::Here,
            Some(holder) if !holder.client_address.is_empty() => Place::At(holder.client_address.to_string()),
            Some(_) | None => Place::Nowhere,
        })
    }

    /// Returns the owner of a room by the directory; `None` if no server owns the room. The answer is a hint.
    ///
    /// # Errors
    /// Fails if NATS does not answer.
    pub async fn owner_of(&self, room: &str) -> Result<Option<ServerId>, ClusterError> {
        let Ok(room) = Name::new(room) else { return Ok(None) };
        let entry = self.inner.entry_of(room).await?;
        Ok(entry.and_then(|(entry, _)| (!entry.is_released).then_some(entry.owner)))
    }

    /// Whether the lease of a server may still be valid.
    pub fn may_live(&self, server: ServerId) -> bool {
        self.inner.lock().leases.living_server(server).is_some()
    }

    /// Chooses a living server for a room that requires tags: the better one of two. `random` selects the two. Returns the
    /// server's ID and its address for clients.
    pub fn choose(&self, requires: &[Name], random: u64) -> Option<(ServerId, String)> {
        let state = self.inner.lock();
        // This server's entry shows the phase only after the next renewal.
        let takes_none = state.phase != ServerPhase::Serving;
        let living: Vec<&ServerEntry> =
            state.leases.living().filter(|entry| !(takes_none && entry.id == state.id)).collect();
        let chosen = choose(living.iter().copied(), requires, random)?;
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
        let others = state.leases.living().filter(|entry| entry.id != state.id);
        others.map(|entry| entry.client_address.to_string()).collect()
    }

    /// The addresses of all other servers in the directory, including those that have ended.
    pub fn known_addresses(&self) -> Vec<String> {
        let state = self.inner.lock();
        let others = state.leases.servers().filter(|seen| seen.entry.id.name != state.id.name);
        others.map(|seen| seen.entry.client_address.to_string()).collect()
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
        self.lock().leases.covers(clock::now())
    }

    /// Whether this server has left the cluster.
    fn has_ended(&self) -> bool {
        self.lock().phase == ServerPhase::Dead
    }

    /// Whether this server owns a room, and its lease covers this moment.
    fn owns(&self, room: Name) -> bool {
        self.has_taken(room) && self.has_lease()
    }

    /// Whether this server has taken a room and neither given nor lost it, with or without a lease.
    fn has_taken(&self, room: Name) -> bool {
        let state = self.lock();
        state.owned.contains(&room) && !state.lost.contains(&room)
    }
}
