//! A server: its membership, its rooms, and its view of where other rooms are.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use crate::config::Config;
use crate::entry::{RoomEntry, ServerEntry};
use crate::member::{Member, ServerRequest, Stored};
use crate::name::{Epoch, Name, Revision, ServerId};
use crate::peer::{PeerBody, PeerMessage};
use crate::placement;
use crate::room::{
    BatchRefused, Context, HandOverRefused, Offer, Room, RoomAnswer, RoomEvent, RoomRequest, Standing,
    StoredSnapshot,
};
use crate::time::Time;

/// Maximum age of the view of a room's entry. An older one is read again when a client asks for the room.
const HINT_AGE_MAX: Duration = Duration::from_millis(250);
/// Maximum number of rooms on a server, and of rooms whose entries it remembers.
pub const ROOMS_MAX: usize = 1 << 16;

/// A request to NATS. Each needs exactly one [`Answer`], except [`RoomRequest::Purge`], within some seconds: if no answer comes,
/// the driver passes the answer that says so.
#[derive(Clone, PartialEq, Debug)]
pub enum Request {
    /// A request to the bucket of servers.
    Server(ServerRequest),
    /// A request for a room on this server.
    Room {
        /// The room.
        room: Name,
        /// The number of the room's life on this server. The answer repeats it.
        life: u64,
        /// The request.
        request: RoomRequest,
    },
    /// Reads the entry of a room for a client that asked for it.
    Locate {
        /// The room.
        room: Name,
    },
}

/// The answer to a request.
#[derive(Clone, PartialEq, Debug)]
pub enum Answer {
    /// The entry of a server that was read; `None` if there is none. `Err` if no answer came in time.
    Server(Name, Result<Option<(Revision, ServerEntry)>, crate::room::Unanswered>),
    /// The outcome of an update of a server's entry.
    ServerStored(Name, Stored<Revision>),
    /// The answer to a request for a room.
    Room {
        /// The room.
        room: Name,
        /// The number of the room's life in the request.
        life: u64,
        /// The answer.
        answer: RoomAnswer,
    },
    /// The entry of a room that was located. `Err` if no answer came in time.
    Located(Name, Result<Option<(Revision, RoomEntry)>, crate::room::Unanswered>),
}

/// The place of a room.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Found {
    /// The room is on this server, in this standing.
    Here(Standing),
    /// The room is on another server, as far as this server knows. That server knows better.
    At(ServerId),
    /// The directory is being asked, or a server was asked to claim the room. Ask again soon.
    Soon,
    /// No server may take the room: none serves, has the required tags, or has a neighbouring release.
    Nowhere,
}

/// A server of a cluster.
///
/// # Order of calls
/// Call [`handle_timeout`](Node::handle_timeout) when [`poll_timeout`](Node::poll_timeout) is due. After each call with a time,
/// poll requests, messages and events until there are none, and carry them out in order.
#[derive(Debug)]
pub struct Node {
    config: Config,
    member: Member,
    rooms: BTreeMap<Name, Slot>,
    lives: u64,
    hints: BTreeMap<Name, Hint>,
    was_covered: bool,
    requests: VecDeque<Request>,
    messages: VecDeque<(ServerId, PeerMessage)>,
    events: VecDeque<(Name, RoomEvent)>,
}

#[derive(Debug)]
struct Slot {
    room: Room,
    life: u64,
}

#[derive(Debug)]
struct Hint {
    found: Option<(Revision, RoomEntry)>,
    read_at: Option<Time>,
    is_asked: bool,
}

impl Node {
    /// Begins to join the cluster under a name.
    #[must_use]
    pub fn new(now: Time, name: Name, config: Config) -> Node {
        Node {
            member: Member::new(now, name, config.clone()),
            config,
            rooms: BTreeMap::new(),
            lives: 0,
            hints: BTreeMap::new(),
            was_covered: false,
            requests: VecDeque::new(),
            messages: VecDeque::new(),
            events: VecDeque::new(),
        }
    }

    /// The server as a member of the cluster.
    #[must_use]
    pub fn member(&self) -> &Member {
        &self.member
    }

    /// The server as a member of the cluster, to set its load or to leave.
    pub fn member_mut(&mut self) -> &mut Member {
        &mut self.member
    }

    /// The rooms on this server.
    pub fn rooms(&self) -> impl Iterator<Item = Name> + '_ {
        self.rooms.keys().copied()
    }

    /// The standing of a room on this server, and its epoch. Only a room that is [`Standing::Running`] may send new states to
    /// clients; ask before each step that is sent.
    #[must_use]
    pub fn standing(&self, now: Time, room: Name) -> Option<(Standing, Epoch)> {
        let context = Context { now, config: &self.config, member: &self.member };
        self.rooms.get(&room).map(|slot| (slot.room.standing(&context), slot.room.epoch()))
    }

    /// Returns the next request to NATS.
    pub fn poll_request(&mut self) -> Option<Request> {
        self.member.poll_request().map(Request::Server).or_else(|| self.requests.pop_front())
    }

    /// Returns the next message to another server. Messages to one server must arrive in order, or not at all.
    pub fn poll_message(&mut self) -> Option<(ServerId, PeerMessage)> {
        self.messages.pop_front()
    }

    /// Returns the next instruction to the thread of a room.
    pub fn poll_event(&mut self) -> Option<(Name, RoomEvent)> {
        self.events.pop_front()
    }

    /// The time at which [`handle_timeout`](Node::handle_timeout) must be called.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Time> {
        let rooms = self.rooms.values().filter_map(|slot| slot.room.poll_timeout());
        rooms.chain(self.member.poll_timeout()).min()
    }

    /// Does everything that is due.
    pub fn handle_timeout(&mut self, now: Time) {
        self.member.handle_timeout(now);
        let due = self.rooms.iter().filter(|(_, slot)| slot.room.poll_timeout().is_some_and(|at| at <= now));
        let due: Vec<Name> = due.map(|(name, _)| *name).collect();
        for room in due {
            self.with(now, room, |room, context| room.handle_timeout(context));
        }
        self.follow_member(now);
    }

    /// Handles the answer to a request.
    pub fn handle_answer(&mut self, now: Time, answer: Answer) {
        match answer {
            Answer::Server(name, Ok(found)) => self.member.handle_entry(now, name, found, true),
            Answer::Server(name, Err(_)) => self.member.handle_unread(now, name),
            Answer::ServerStored(name, stored) => self.member.handle_stored(now, name, stored),
            Answer::Room { room, life, answer } => {
                if self.rooms.get(&room).is_some_and(|slot| slot.life == life) {
                    self.with(now, room, |room, context| room.handle_answer(context, answer));
                }
            }
            Answer::Located(room, found) => {
                if let Some(hint) = self.hints.get_mut(&room) {
                    hint.is_asked = false;
                }
                if let Ok(found) = found {
                    self.handle_room_entry(now, room, found);
                }
            }
        }
        self.follow_member(now);
    }

    /// Handles an entry of the bucket of servers that a watch delivered.
    pub fn handle_server_entry(&mut self, now: Time, revision: Revision, entry: ServerEntry) {
        self.member.handle_entry(now, entry.id.name, Some((revision, entry)), false);
    }

    /// Handles an entry of the bucket of rooms that a watch or a read delivered.
    pub fn handle_room_entry(&mut self, now: Time, room: Name, found: Option<(Revision, RoomEntry)>) {
        let hint = self.hints.entry(room).or_insert(Hint { found: None, read_at: None, is_asked: false });
        let is_newer = match (&hint.found, &found) {
            (Some((known, _)), Some((revision, _))) => revision >= known,
            (Some(_), None) => false,
            _ => true,
        };
        if is_newer {
            hint.found = found;
        }
        hint.read_at = Some(now);
        let holders = hint.found.iter().flat_map(|(_, entry)| entry.holders());
        holders.for_each(|holder| self.member.look_up(holder.name));
    }

    /// Handles a message of another server.
    pub fn handle_message(&mut self, now: Time, from: ServerId, message: PeerMessage) {
        let room = message.room;
        match message.body {
            PeerBody::Claim { requires } => drop(self.claim(now, room, requires)),
            PeerBody::Offer { epoch, source_epoch, release, snapshot } => {
                let offer = Offer { from, epoch, source_epoch, release, snapshot };
                self.receive(now, room, &offer);
            }
            body => self.with(now, room, |room, context| room.handle_peer(context, from, &body)),
        }
        self.follow_member(now);
    }

    /// Finds a room for a client. If no server with a valid lease holds it, a server is chosen and asked to claim it. `random` selects
    /// the candidates.
    pub fn find(&mut self, now: Time, room: Name, requires: &Arc<[Name]>, random: u64) -> Found {
        if let Some((standing, _)) = self.standing(now, room)
            && standing != Standing::Ended
        {
            return Found::Here(standing);
        }
        let hint = self.hints.entry(room).or_insert(Hint { found: None, read_at: None, is_asked: false });
        let is_fresh = hint.read_at.is_some_and(|at| now.since(at) < HINT_AGE_MAX);
        if !is_fresh && !hint.is_asked {
            hint.is_asked = true;
            self.requests.push_back(Request::Locate { room });
        }
        if !is_fresh && hint.found.is_none() {
            return Found::Soon;
        }
        let entry = hint.found.as_ref().map(|(_, entry)| entry);
        let holder = entry.and_then(|entry| entry.holders().find(|holder| !self.member.is_over(*holder)));
        let requires = entry.map_or_else(|| requires.clone(), |entry| entry.requires.clone());
        match holder {
            Some(holder) if Some(holder) != self.member.id() => Found::At(holder),
            Some(_) => self.claim(now, room, requires),
            None if !is_fresh => Found::Soon,
            None => self.place(now, room, requires, random),
        }
    }

    /// Begins to claim a room on this server.
    fn claim(&mut self, now: Time, room: Name, requires: Arc<[Name]>) -> Found {
        let Some(me) = self.member.id().filter(|_| self.member.covers(now)) else { return Found::Soon };
        if self.rooms.contains_key(&room) || self.rooms.len() >= ROOMS_MAX {
            return Found::Soon;
        }
        let context = Context { now, config: &self.config, member: &self.member };
        let claimed = match self.member.may_take(now) {
            true => Room::claim(&context, me, requires),
            // This server does not take the room again, and prevents others from taking it while the entry names it.
            false => Room::release_held(&context, me),
        };
        self.insert(now, room, claimed);
        Found::Soon
    }

    fn place(&mut self, now: Time, room: Name, requires: Arc<[Name]>, random: u64) -> Found {
        let servers: Vec<ServerEntry> = self.member.servers().collect();
        let is_neighbour = |entry: &&ServerEntry| self.config.release.check_neighbour(entry.release).is_ok();
        match placement::choose(servers.iter().filter(is_neighbour), &requires, random) {
            None => Found::Nowhere,
            Some(chosen) if Some(chosen) == self.member.id() => self.claim(now, room, requires),
            Some(chosen) => {
                let body = PeerBody::Claim { requires };
                self.messages.push_back((chosen, PeerMessage { room, body }));
                Found::Soon
            }
        }
    }

    fn receive(&mut self, now: Time, room: Name, offer: &Offer) {
        let Some(me) = self.member.id() else { return };
        let is_free = self.rooms.get(&room).is_none_or(|slot| slot.room.is_ended());
        let context = Context { now, config: &self.config, member: &self.member };
        let received = match is_free && self.rooms.len() < ROOMS_MAX {
            true => Room::receive(&context, me, offer),
            false => Err(crate::peer::CancelWhy::NotServing),
        };
        match received {
            Ok(received) => self.insert(now, room, received),
            Err(why) => {
                let body = PeerBody::Cancel { epoch: offer.epoch, why };
                self.messages.push_back((offer.from, PeerMessage { room, body }));
            }
        }
    }

    /// Begins to hand a room over to another server.
    ///
    /// # Errors
    /// Fails if the room does not run here, or if the target cannot take it.
    pub fn hand_over(&mut self, now: Time, room: Name, to: Name) -> Result<(), HandOverRefused> {
        let requires =
            self.hints.get(&room).and_then(|hint| hint.found.as_ref()).map(|(_, entry)| &entry.requires);
        let requires = requires.cloned().unwrap_or_default();
        let own = self.member.id();
        let target = self.member.servers().find(|entry| entry.id.name == to && Some(entry.id) != own);
        let target = target.filter(|entry| entry.may_take(&requires)).ok_or(HandOverRefused::Target)?;
        self.with_room(now, room, |room, context| room.hand_over(context, target.id))
            .unwrap_or(Err(HandOverRefused::NotRunning))
    }

    /// Passes the changes of a room up to a step. `hash` is the hash of the world at this step. It is needed between
    /// [`RoomEvent::TakeSnapshot`] and [`RoomEvent::Stop`] of a hand-over, and may always be passed. Returns the number of the
    /// batch, whose durable actions may be confirmed after [`RoomEvent::Confirm`].
    ///
    /// # Errors
    /// Fails if the room does not run here, or if the batch does not fit.
    pub fn batch(
        &mut self,
        now: Time,
        room: Name,
        through_step: u64,
        bytes: Arc<[u8]>,
        hash: Option<u64>,
    ) -> Result<u64, BatchRefused> {
        self.with_room(now, room, |room, context| room.batch(context, through_step, bytes, hash))
            .unwrap_or(Err(BatchRefused::NotRunning))
    }

    /// Reports that a snapshot is in the object store, or that it could not be stored.
    pub fn snapshot_stored(&mut self, now: Time, room: Name, stored: Option<StoredSnapshot>) {
        self.with(now, room, |room, context| room.snapshot_stored(context, stored));
    }

    /// Reports whether a room is restored.
    pub fn restored(&mut self, now: Time, room: Name, is_restored: bool) {
        self.with(now, room, |room, context| room.restored(context, is_restored));
    }

    /// Reports the step up to which commands are replayed, and the hash of the world at that step; `None` if they cannot be
    /// replayed.
    pub fn replayed(&mut self, now: Time, room: Name, replayed: Option<(u64, u64)>) {
        self.with(now, room, |room, context| room.replayed(context, replayed));
    }

    /// Reports the step at which a room stopped after [`RoomEvent::Stop`], the hash of the world at that step, and the
    /// sessions. All batches up to the step were passed.
    pub fn stopped(&mut self, now: Time, room: Name, step: u64, hash: u64, sessions: Arc<[u8]>) {
        self.with(now, room, |room, context| room.stopped(context, step, hash, sessions));
    }

    /// Ends a room and lets any server claim it. All batches should be confirmed before.
    pub fn release(&mut self, now: Time, room: Name) {
        self.with(now, room, |room, context| room.release(context));
    }

    fn insert(&mut self, now: Time, room: Name, new: Room) {
        self.lives += 1;
        self.rooms.insert(room, Slot { room: new, life: self.lives });
        self.drain(now, room);
    }

    fn with(&mut self, now: Time, room: Name, f: impl FnOnce(&mut Room, &Context<'_>)) {
        self.with_room(now, room, f);
    }

    fn with_room<T>(
        &mut self,
        now: Time,
        room: Name,
        f: impl FnOnce(&mut Room, &Context<'_>) -> T,
    ) -> Option<T> {
        let context = Context { now, config: &self.config, member: &self.member };
        let slot = self.rooms.get_mut(&room)?;
        let result = f(&mut slot.room, &context);
        self.drain(now, room);
        Some(result)
    }

    /// Takes the outputs of a room, and forgets the room if it is over.
    fn drain(&mut self, now: Time, name: Name) {
        let context = Context { now, config: &self.config, member: &self.member };
        let Some(Slot { room, life }) = self.rooms.get_mut(&name) else { return };
        let life = *life;
        self.requests.extend(room.requests.drain(..).map(|request| Request::Room {
            room: name,
            life,
            request,
        }));
        self.messages
            .extend(room.messages.drain(..).map(|(to, body)| (to, PeerMessage { room: name, body })));
        while let Some(event) = room.poll_event(&context) {
            self.events.push_back((name, event));
        }
        if room.is_ended() {
            self.rooms.remove(&name);
            self.hints.remove(&name);
        }
    }

    /// Ends all rooms with the server's life, and releases confirmations that waited for the lease.
    fn follow_member(&mut self, now: Time) {
        let is_covered = self.member.covers(now);
        let is_ended = self.member.is_ended() && !self.rooms.is_empty();
        if !is_ended && (!is_covered || self.was_covered) {
            self.was_covered = is_covered;
            return;
        }
        self.was_covered = is_covered;
        let names: Vec<Name> = self.rooms.keys().copied().collect();
        for name in names {
            self.with(now, name, |room, _| {
                if is_ended {
                    room.end_with_server();
                }
            });
        }
    }
}
