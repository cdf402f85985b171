//! The table of open rooms, with their limits and their seats.

mod health;
mod seat;

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nowcast_limits::Addresses;
use nowcast_world_protocol::{ROOM_NAME_BYTES_MAX, is_private_room, room_of};
use parking_lot::Mutex;
use serde::Serialize;

use crate::accounts::Accounts;
use crate::asked_room::AskedRoom;
use crate::client_handle::ClientHandle;
use crate::client_key::ClientKey;
use crate::config::RoomsConfig;
use crate::lobby::Lobby;
use crate::metrics::Metrics;
use crate::persistence::{Ban, Bans, PersistenceThread};
use crate::portals::Portals;
use crate::public_events::EventSink;
use crate::rate::{KnownRates, Rates};
use crate::refusal::Refusal;
use crate::studio_room::StudioRoom;
use crate::worlds::{Catalogue, WorldSummary};

pub use self::health::Health;
use self::health::Troubles;
pub use self::seat::{Opener, Seat};

/// Period of the rate limit for opening rooms. After the burst, one address may open as many rooms in each period as it may
/// have open at the same time.
const OPENINGS_PERIOD: Duration = Duration::from_secs(60);

/// The burst, as a multiple of the number of rooms that an address may have open.
const OPENINGS_BURST: usize = 4;

/// Maximum memory for one world's script and values, including the unpolled events of one step.
const ROOM_BYTES_MAX: usize = nowcast_script::Limits::DEFAULT.memory_bytes_max
    + nowcast_world::Limits::DEFAULT.kept_bytes_max
    + nowcast_world::Limits::DEFAULT.event_bytes_max;

/// Maximum addresses whose openings are counted. The table is halved when it is full.
const OPENERS_MAX: usize = 4_096;

/// Starts the thread of a room. The room's clients enter through this lobby.
pub(crate) type OpenRoom = fn(&str, Arc<Lobby>, Arc<Rooms>) -> io::Result<()>;

/// The rooms that are open.
pub struct Rooms {
    /// The configuration of all rooms.
    pub config: RoomsConfig,
    pub(crate) metrics: Arc<Metrics>,
    /// The worlds on offer.
    pub catalogue: Catalogue,
    /// Stores the worlds of rooms.
    pub persistence: Arc<PersistenceThread>,
    /// The bans of clients.
    pub(crate) bans: Bans,
    /// The accounts that rooms hold.
    pub(crate) accounts: Arc<Accounts>,
    /// The players on the way between two rooms.
    pub(crate) portals: Portals,
    /// Take the events of all rooms.
    pub(crate) event_sinks: Vec<Arc<dyn EventSink>>,
    open_room: OpenRoom,
    /// The rates at which addresses open rooms.
    openings: Mutex<Addresses>,
    open: Mutex<BTreeMap<String, Open>>,
    known_rates: Mutex<KnownRates>,
    /// The rooms that could not be opened, and the rooms that were ended because of a slow step.
    pub troubles: Troubles,
    stopping: AtomicBool,
    /// The time at which the server started.
    pub(crate) began: Instant,
}

struct Open {
    lobby: Arc<Lobby>,
    /// The network of the client that opened the room, if known.
    opened_by: Option<IpAddr>,
    /// Whether this room shows the history of a room.
    is_past: bool,
    people: Seats,
    programs: Seats,
}

/// The taken seats of a room's people, or of its programs: each is taken from a client's admission until the end of its connection.
#[derive(Default)]
struct Seats {
    taken: usize,
    by_network: HashMap<IpAddr, usize>,
}

/// The readers of a room list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Audience {
    /// Everybody: the list has no private rooms.
    Public,
    /// The people who run the server: the list has all rooms.
    Operators,
}

/// One line of `/api/rooms`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RoomSummary {
    name: String,
    world: String,
    players: usize,
    players_max: usize,
}

impl Rooms {
    /// Creates the table without an open room. `open_room` starts the thread of a room.
    pub(crate) fn new(
        config: RoomsConfig,
        catalogue: Catalogue,
        persistence: Arc<PersistenceThread>,
        metrics: Arc<Metrics>,
        event_sinks: Vec<Arc<dyn EventSink>>,
        open_room: OpenRoom,
    ) -> Self {
        let per_address = config.rooms_per_address_max;
        let openings = Addresses::new(
            OPENERS_MAX,
            OPENINGS_BURST * per_address,
            per_address as f64 / OPENINGS_PERIOD.as_secs_f64(),
        );
        Self {
            openings: Mutex::new(openings),
            known_rates: Mutex::new(KnownRates::new(config.actions_hz)),
            config,
            metrics,
            catalogue,
            bans: Bans::new(Arc::clone(&persistence)),
            accounts: Arc::new(Accounts::new(Arc::clone(&persistence))),
            persistence,
            portals: Portals::default(),
            event_sinks,
            open_room,
            open: Mutex::default(),
            troubles: Troubles::default(),
            stopping: AtomicBool::new(false),
            began: Instant::now(),
        }
    }

    /// Returns the allowances of a client, and whether they are new. A client that reconnects keeps its allowances.
    pub fn rates_of(&self, key: Option<ClientKey>) -> (Arc<Mutex<Rates>>, bool) {
        self.known_rates.lock().of(key, Instant::now())
    }

    /// Whether rooms can be opened.
    pub fn health(&self) -> Health {
        if self.is_stopping() {
            return Health::ShuttingDown;
        }
        if let Some(cause) = self.troubles.failure() {
            return Health::Failing(cause);
        }
        let rooms_max = self.config.rooms_max;
        if present(&self.open.lock()).count() >= rooms_max {
            Health::Full { rooms_max }
        } else {
            Health::Good
        }
    }

    /// Records that the thread of a room was abandoned.
    pub(crate) fn room_abandoned(&self) {
        self.troubles.room_abandoned();
        self.metrics.rooms_abandoned.inc();
        self.metrics.rooms_abandoned_bytes_max.inc_by(ROOM_BYTES_MAX as i64);
    }

    /// Records that an abandoned thread ended.
    pub(crate) fn abandoned_room_ended(&self) {
        self.troubles.abandoned_room_ended();
        self.metrics.rooms_abandoned.dec();
        self.metrics.rooms_abandoned_bytes_max.dec_by(ROOM_BYTES_MAX as i64);
    }

    /// Checks that a seat is free now. Reserves no seat, and opens no room.
    ///
    /// # Errors
    /// The [`Refusal`] that an entry would receive now.
    pub fn may_enter(&self, name: &str, opener: Opener) -> Result<(), Refusal> {
        self.check(name, opener, &self.open.lock())
    }

    fn check(&self, name: &str, opener: Opener, open: &BTreeMap<String, Open>) -> Result<(), Refusal> {
        let RoomsConfig { rooms_max, past_rooms_max, players_max, .. } = self.config;
        let of_address_max = self.config.players_per_address_max;
        let Some(asked) = AskedRoom::parse(name) else {
            return Err(Refusal::BadName(name.chars().take(ROOM_NAME_BYTES_MAX).collect()));
        };
        if self.is_stopping() {
            return Err(Refusal::ShuttingDown);
        }
        match open.get(name) {
            Some(room) if room.seats(opener).taken >= players_max => {
                Err(Refusal::Full { room: name.to_owned(), players_max })
            }
            Some(room) if self.seats_of(room, opener) >= of_address_max => {
                Err(Refusal::FullOfAddress { room: name.to_owned(), players_max: of_address_max })
            }
            Some(_) => Ok(()),
            None if asked.at.is_some() && self.persistence.store().is_none() => Err(Refusal::NoStore),
            None if asked.at.is_some() => {
                let past = open.values().filter(|room| room.is_past).count();
                let rooms_max = past_rooms_max;
                if past < rooms_max { Ok(()) } else { Err(Refusal::TooManyPast { rooms_max }) }
            }
            // An abandoned thread counts as a room, because it still uses a processor.
            None if self.troubles.abandoned() >= rooms_max => Err(Refusal::TooManyRooms { rooms_max }),
            // Rooms that were asked to end and have not ended yet also count toward the limit.
            None if taken(open).count() >= rooms_max || present(open).count() >= 2 * rooms_max => {
                Err(Refusal::TooManyRooms { rooms_max })
            }
            None => {
                let rooms_max = self.rooms_max_of(opener);
                let of_network = taken(open).filter(|(_, room)| room.is_of(opener)).count();
                if of_network < rooms_max { Ok(()) } else { Err(Refusal::TooManyOfAddress { rooms_max }) }
            }
        }
    }

    /// The number of rooms that one address may have open.
    fn rooms_max_of(&self, opener: Opener) -> usize {
        let RoomsConfig { rooms_max, rooms_per_address_max, .. } = self.config;
        if self.is_trusted(opener) { rooms_max } else { rooms_per_address_max }
    }

    /// If no tokens are required, clients on this machine are trusted.
    fn is_trusted(&self, opener: Opener) -> bool {
        !self.config.needs_tokens && opener.is_local
    }

    /// Ends as many empty rooms as the new room needs. Rooms that have been empty for the longest time end first.
    fn have_empty_rooms_give_way(&self, opener: Opener, open: &BTreeMap<String, Open>) {
        let rooms_max = self.config.rooms_max;
        let of_network = || present(open).filter(|(_, room)| room.is_of(opener));
        let over = (present(open).count() + 1).saturating_sub(rooms_max);
        end_if_empty(present(open), over);
        let over = (of_network().count() + 1).saturating_sub(self.rooms_max_of(opener));
        end_if_empty(of_network(), over);
    }

    /// Reserves a seat, and opens the room if it is not open yet.
    ///
    /// # Errors
    /// [`Refusal`] if there is no such world, no free seat, or a limit of rooms is reached.
    pub fn reserve(self: &Arc<Self>, name: &str, opener: Opener) -> Result<Seat, Refusal> {
        let mut open = self.open.lock();
        self.check(name, opener, &open)?;
        if !open.contains_key(name) {
            self.check_opening_rate(opener)?;
            self.have_empty_rooms_give_way(opener, &open);
            let lobby = Arc::new(Lobby::default());
            lobby.studio.log().set_bytes_max(self.config.log_bytes_max());
            (self.open_room)(name, Arc::clone(&lobby), Arc::clone(self)).map_err(|error| {
                self.troubles.failed(&format!("the system has no thread for it ({error})"));
                Refusal::NoThread(error.to_string())
            })?;
            let is_past = room_of(name) != name;
            let opened_by = opener.network();
            open.insert(
                name.to_owned(),
                Open { lobby, opened_by, is_past, people: Seats::default(), programs: Seats::default() },
            );
            self.metrics.rooms.set(open.len() as i64);
        }
        let room = open.get_mut(name).expect("the room was open or was just opened");
        let seats = room.seats_mut(opener);
        seats.taken += 1;
        if let Some(network) = opener.network() {
            *seats.by_network.entry(network).or_default() += 1;
        }
        let (room_name, lobby) = (name.to_owned(), Arc::clone(&room.lobby));
        Ok(Seat::new(Arc::clone(self), room_name, lobby, opener))
    }

    /// The number of seats in a room that the network of a client has taken, or 0 if the network is not limited.
    fn seats_of(&self, room: &Open, opener: Opener) -> usize {
        let is_limited = |network: &IpAddr| !(self.config.is_loopback_only && network.is_loopback());
        let limited = opener.network().filter(is_limited);
        limited.and_then(|network| room.seats(opener).by_network.get(&network)).copied().unwrap_or_default()
    }

    /// Limits how often untrusted clients open rooms, because every opened room takes space in the store.
    fn check_opening_rate(&self, opener: Opener) -> Result<(), Refusal> {
        let Some(address) = opener.address.filter(|_| !self.is_trusted(opener)) else { return Ok(()) };
        let mut openings = self.openings.lock();
        openings.attempt(address, Instant::now()).map_err(|_| Refusal::OpensTooOften)
    }

    /// Returns the open rooms that show the present, ordered by name: all of them for operators, and for the public those that are
    /// not private.
    pub fn list(&self, audience: Audience) -> Vec<RoomSummary> {
        let players_max = self.config.players_max;
        present(&self.open.lock())
            .filter(|(name, _)| audience == Audience::Operators || !is_private_room(name))
            .map(|(name, room)| RoomSummary {
                name: name.clone(),
                world: self.catalogue.of_room(name).name.clone(),
                players: room.people.taken,
                players_max: players_max.min(room.lobby.players_max()),
            })
            .collect()
    }

    /// Returns the offered worlds with the rooms that show them, as [`Rooms::list`] returns these.
    pub fn worlds(&self, audience: Audience) -> Vec<WorldSummary> {
        let mut worlds = self.catalogue.list();
        for room in self.list(audience) {
            let world = worlds.iter_mut().find(|world| world.name == room.world);
            if let Some(world) = world {
                world.rooms.push(room.name);
            }
        }
        worlds
    }

    /// Returns the numbers of open rooms that show the present, and of their people and programs.
    pub fn count(&self) -> (usize, usize) {
        let open = self.open.lock();
        (present(&open).count(), present(&open).map(|(_, room)| room.taken()).sum())
    }

    /// Returns the studio of an open room.
    pub fn studio(&self, name: &str) -> Option<StudioRoom> {
        self.open.lock().get(name).map(|room| StudioRoom { lobby: Arc::clone(&room.lobby) })
    }

    /// Whether a room of this name is open.
    pub fn is_open(&self, name: &str) -> bool {
        self.open.lock().contains_key(name)
    }

    /// The number of clients that wait until a room takes them.
    pub fn waiting(&self, name: &str) -> usize {
        self.open.lock().get(name).map_or(0, |room| room.lobby.waiting())
    }

    /// Returns the ban that applies to a client in a room.
    pub(crate) fn ban_of(&self, room: &str, client: &ClientHandle) -> Option<Ban> {
        let room = room_of(room);
        self.bans.find(room, &self.catalogue.of_room(room).name, client.known())
    }

    /// Requests that every room ends.
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::Release);
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }

    /// Whether all rooms have ended.
    pub fn is_empty(&self) -> bool {
        self.open.lock().is_empty()
    }

    /// Whether no client has a seat in the room.
    pub(crate) fn is_deserted(&self, name: &str) -> bool {
        self.open.lock().get(name).is_none_or(|room| room.taken() == 0)
    }

    /// Removes a room from the table if no client has a seat in it, and calls `then` before another room can have its name.
    /// Returns whether the room was removed.
    pub(crate) fn close_if_deserted(&self, name: &str, then: impl FnOnce()) -> bool {
        let mut open = self.open.lock();
        let deserted = open.get(name).is_none_or(|room| room.taken() == 0);
        if deserted {
            open.remove(name);
            self.metrics.rooms.set(open.len() as i64);
            then();
        }
        deserted
    }

    /// Removes a room whose thread ends, unless a newer room already uses its name.
    pub(crate) fn forget(&self, name: &str, lobby: &Arc<Lobby>) {
        let mut open = self.open.lock();
        if open.get(name).is_some_and(|room| Arc::ptr_eq(&room.lobby, lobby)) {
            open.remove(name);
            self.metrics.rooms.set(open.len() as i64);
        }
    }

    fn free_seat(&self, room: &str, lobby: &Arc<Lobby>, opener: Opener) {
        if let Some(room) = self.open.lock().get_mut(room)
            && Arc::ptr_eq(&room.lobby, lobby)
        {
            let Seats { taken, by_network } = room.seats_mut(opener);
            *taken -= 1;
            if let Some((network, count)) =
                opener.network().and_then(|network| Some((network, by_network.get_mut(&network)?)))
            {
                *count -= 1;
                if *count == 0 {
                    by_network.remove(&network);
                }
            }
        }
    }
}

impl Open {
    fn is_of(&self, opener: Opener) -> bool {
        opener.address.is_some() && self.opened_by == opener.network()
    }

    /// The seats for clients like this one.
    fn seats(&self, client: Opener) -> &Seats {
        if client.is_program { &self.programs } else { &self.people }
    }

    fn seats_mut(&mut self, client: Opener) -> &mut Seats {
        if client.is_program { &mut self.programs } else { &mut self.people }
    }

    /// The number of people and programs.
    fn taken(&self) -> usize {
        self.people.taken + self.programs.taken
    }

    /// If the room is empty and no client is about to enter, returns the time since which it is empty.
    fn empty_since(&self) -> Option<Instant> {
        self.lobby.empty_since().filter(|_| self.taken() == 0)
    }
}

/// Counts the rooms that do not show history.
fn present(open: &BTreeMap<String, Open>) -> impl Iterator<Item = (&String, &Open)> {
    open.iter().filter(|(_, room)| !room.is_past)
}

/// Counts the rooms that are not empty.
fn taken(open: &BTreeMap<String, Open>) -> impl Iterator<Item = (&String, &Open)> {
    present(open).filter(|(_, room)| room.empty_since().is_none())
}

/// Ends `count` of the empty rooms. Rooms that have been empty for the longest time end first.
fn end_if_empty<'a>(rooms: impl Iterator<Item = (&'a String, &'a Open)>, count: usize) {
    let mut empty: Vec<_> = rooms.filter_map(|(_, room)| Some((room.empty_since()?, &room.lobby))).collect();
    empty.sort_by_key(|(since, _)| *since);
    empty.into_iter().take(count).for_each(|(_, lobby)| lobby.end_if_empty());
}

#[cfg(test)]
mod tests;
