//! The rooms that are open: who may enter, and when a room ends.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use nowcast::Entry;
use nowcast::admission::{Addresses, network_of};
use serde::Serialize;

use crate::client_handle::Player;
use crate::closing::Closing;
use crate::config::Config;
use crate::limits::Limits;
use crate::lobby::Lobby;
use crate::metrics::Metrics;
use crate::persistence::{Ban, Bans, PersistenceThread};
use crate::room_name::{AskedRoom, ROOM_NAME_BYTES_MAX, room_of};
use crate::room_refusal::RoomRefusal;
use crate::worlds::{Catalogue, WorldSummary};

/// For so long `/healthz` tells of a room that could not be opened, unless another one can be.
const FAILURE_REMEMBERED: Duration = Duration::from_secs(60);

/// Each address may open as many rooms in this time as it may have open, after a burst.
const OPENINGS_PERIOD: Duration = Duration::from_secs(60);

/// The burst, as a multiple of the rooms that an address may have open.
const OPENINGS_BURST: usize = 4;

/// Addresses whose openings are remembered, halved.
const OPENERS_MAX: usize = 4_096;

/// Starts the thread of a room, whose clients come in by this lobby.
pub(crate) type OpenRoom = fn(&str, Arc<Lobby>, Arc<Rooms>) -> io::Result<()>;

/// The rooms that are open.
pub(crate) struct Rooms {
    pub(crate) config: Arc<Config>,
    pub(crate) metrics: Arc<Metrics>,
    /// What rooms show.
    pub(crate) catalogue: Catalogue,
    /// What keeps their worlds.
    pub(crate) persistence: Arc<PersistenceThread>,
    /// Who may not come in.
    pub(crate) bans: Bans,
    open_room: OpenRoom,
    /// How often addresses open rooms.
    openings: Mutex<Addresses>,
    open: Mutex<BTreeMap<String, Open>>,
    /// When and why a room could last not be opened, if none could be since.
    failure: Mutex<Option<(Instant, String)>>,
    /// The room that was last ended because a step took too long, and when.
    ended: Mutex<Option<(Instant, String)>>,
    /// Rooms whose threads were given up and have not ended yet.
    abandoned: AtomicUsize,
    stopping: AtomicBool,
    /// When the server began.
    pub(crate) began: Instant,
}

/// Whether rooms can be opened, as `/healthz` says it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Health {
    Good,
    /// Every room is taken; those that are open can be entered.
    Full {
        rooms_max: usize,
    },
    ShuttingDown,
    /// Opening a room failed lately, for this reason.
    Failing(String),
}

/// A client that enters a room, and opens it if it is not open.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Opener {
    /// The client's address, if that is known.
    pub(crate) address: Option<IpAddr>,
    /// Whether the client is on this machine, and no proxy speaks for it.
    pub(crate) is_local: bool,
}

impl Opener {
    pub(crate) fn of(entry: &Entry) -> Self {
        Self { address: entry.address.map(|address| address.ip()), is_local: entry.is_local }
    }

    fn network(self) -> Option<IpAddr> {
        self.address.map(network_of)
    }
}

struct Open {
    lobby: Arc<Lobby>,
    /// The network of whoever opened it, if that is known.
    opened_by: Option<IpAddr>,
    /// Whether it shows the past of a room.
    is_past: bool,
    /// Players, counted from their admission until the end of their connection.
    seats: usize,
    /// The same by network.
    seats_by_network: HashMap<IpAddr, usize>,
}

/// One line of `/api/rooms`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RoomSummary {
    name: String,
    world: String,
    players: usize,
    players_max: usize,
}

impl Rooms {
    pub(crate) fn new(
        config: Arc<Config>,
        catalogue: Catalogue,
        persistence: Arc<PersistenceThread>,
        metrics: Arc<Metrics>,
        open_room: OpenRoom,
    ) -> Self {
        let per_address = config.limits.rooms_per_address_max;
        let openings = Addresses::new(
            OPENERS_MAX,
            OPENINGS_BURST * per_address,
            per_address as f64 / OPENINGS_PERIOD.as_secs_f64(),
        );
        Self {
            openings: Mutex::new(openings),
            config,
            metrics,
            catalogue,
            bans: Bans::new(Arc::clone(&persistence)),
            persistence,
            open_room,
            open: Mutex::default(),
            failure: Mutex::default(),
            ended: Mutex::default(),
            abandoned: AtomicUsize::new(0),
            stopping: AtomicBool::new(false),
            began: Instant::now(),
        }
    }

    /// Whether rooms can be opened.
    pub(crate) fn health(&self) -> Health {
        if self.is_stopping() {
            return Health::ShuttingDown;
        }
        let failure = self.lock_failure().clone();
        if let Some((_, cause)) = failure.filter(|(at, _)| at.elapsed() < FAILURE_REMEMBERED) {
            return Health::Failing(cause);
        }
        let rooms_max = self.config.limits.rooms_max;
        if present(&self.lock()).count() >= rooms_max { Health::Full { rooms_max } } else { Health::Good }
    }

    /// A room was ended because a step took too long.
    pub(crate) fn room_stopped(&self, name: &str) {
        *self.ended.lock().unwrap_or_else(PoisonError::into_inner) = Some((Instant::now(), name.to_owned()));
    }

    /// The thread of a room was given up.
    pub(crate) fn room_abandoned(&self) {
        self.abandoned.fetch_add(1, Ordering::AcqRel);
        self.metrics.rooms_abandoned.inc();
    }

    /// A thread that was given up has come to its end.
    pub(crate) fn abandoned_room_ended(&self) {
        self.abandoned.fetch_sub(1, Ordering::AcqRel);
        self.metrics.rooms_abandoned.dec();
    }

    /// What an operator should know of rooms that were ended.
    pub(crate) fn trouble(&self) -> Option<String> {
        match self.abandoned.load(Ordering::Acquire) {
            0 => {}
            count => {
                let text = "rooms are abandoned, because a step of their worlds cannot be stopped: their threads and their memory are lost until it ends or this process is restarted";
                return Some(format!("{count} {text}"));
            }
        }
        let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let (_, name) = ended.filter(|(at, _)| at.elapsed() < FAILURE_REMEMBERED)?;
        Some(format!("room {name} was ended: a step of its world took too long"))
    }

    /// A room was opened and works.
    pub(crate) fn opened(&self) {
        *self.lock_failure() = None;
    }

    /// A room could not be opened.
    pub(crate) fn failed(&self, cause: &str) {
        *self.lock_failure() = Some((Instant::now(), cause.to_owned()));
    }

    fn lock_failure(&self) -> MutexGuard<'_, Option<(Instant, String)>> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether there would be a seat now. Nothing is reserved or opened by asking.
    pub(crate) fn may_enter(&self, name: &str, opener: Opener) -> Result<(), RoomRefusal> {
        self.check(name, opener, &self.lock())
    }

    fn check(&self, name: &str, opener: Opener, open: &BTreeMap<String, Open>) -> Result<(), RoomRefusal> {
        let Limits { rooms_max, past_rooms_max, players_max, .. } = self.config.limits;
        let of_address_max = self.config.limits.players_per_address_max;
        let network = opener.network();
        let Some(asked) = AskedRoom::parse(name) else {
            return Err(RoomRefusal::BadName(name.chars().take(ROOM_NAME_BYTES_MAX).collect()));
        };
        if self.is_stopping() {
            return Err(RoomRefusal::ShuttingDown);
        }
        match open.get(name) {
            Some(room) if room.seats >= players_max => {
                Err(RoomRefusal::Full { room: name.to_owned(), players_max })
            }
            Some(room) if self.seats_of(room, network) >= of_address_max => {
                Err(RoomRefusal::FullOfAddress { room: name.to_owned(), players_max: of_address_max })
            }
            Some(_) => Ok(()),
            None if asked.at.is_some() && self.persistence.store().is_none() => Err(RoomRefusal::NoStore),
            None if asked.at.is_some() => {
                let past = open.values().filter(|room| room.is_past).count();
                let rooms_max = past_rooms_max;
                if past < rooms_max { Ok(()) } else { Err(RoomRefusal::TooManyPast { rooms_max }) }
            }
            // A thread that was given up still takes a processor.
            None if self.abandoned.load(Ordering::Acquire) >= rooms_max => {
                Err(RoomRefusal::TooManyRooms { rooms_max })
            }
            // Rooms that give way, but have not ended yet, must not pile up either.
            None if taken(open).count() >= rooms_max || present(open).count() >= 2 * rooms_max => {
                Err(RoomRefusal::TooManyRooms { rooms_max })
            }
            None => {
                let rooms_max = self.rooms_max_of(opener);
                let of_network = taken(open).filter(|(_, room)| room.is_of(opener)).count();
                if of_network < rooms_max { Ok(()) } else { Err(RoomRefusal::TooManyOfAddress { rooms_max }) }
            }
        }
    }

    /// The number of rooms that one address may have open.
    fn rooms_max_of(&self, opener: Opener) -> usize {
        let Limits { rooms_max, rooms_per_address_max, .. } = self.config.limits;
        if self.is_trusted(opener) { rooms_max } else { rooms_per_address_max }
    }

    /// Clients on this machine are not strangers where no tokens are needed.
    fn is_trusted(&self, opener: Opener) -> bool {
        self.config.entry.key.is_none() && opener.is_local
    }

    /// Has empty rooms end at once, the longest empty ones first, as far as another room needs their places.
    fn have_empty_rooms_give_way(&self, opener: Opener, open: &BTreeMap<String, Open>) {
        let rooms_max = self.config.limits.rooms_max;
        let of_network = || present(open).filter(|(_, room)| room.is_of(opener));
        let over = (present(open).count() + 1).saturating_sub(rooms_max);
        give_way(present(open), over);
        let over = (of_network().count() + 1).saturating_sub(self.rooms_max_of(opener));
        give_way(of_network(), over);
    }

    /// Reserves a seat, and opens the room for it when there is none yet.
    pub(crate) fn reserve(self: &Arc<Self>, name: &str, opener: Opener) -> Result<Seat, RoomRefusal> {
        let mut open = self.lock();
        self.check(name, opener, &open)?;
        if !open.contains_key(name) {
            self.check_opening_rate(opener)?;
            self.have_empty_rooms_give_way(opener, &open);
            let lobby = Arc::new(Lobby::default());
            (self.open_room)(name, Arc::clone(&lobby), Arc::clone(self)).map_err(|error| {
                self.failed(&format!("the system has no thread for it ({error})"));
                RoomRefusal::NoThread(error.to_string())
            })?;
            let is_past = room_of(name) != name;
            let opened_by = opener.network();
            open.insert(
                name.to_owned(),
                Open { lobby, opened_by, is_past, seats: 0, seats_by_network: HashMap::new() },
            );
            self.metrics.rooms.set(open.len() as i64);
        }
        let room = open.get_mut(name).expect("it is there or was just opened");
        room.seats += 1;
        let network = opener.network();
        if let Some(network) = network {
            *room.seats_by_network.entry(network).or_default() += 1;
        }
        let (room_name, lobby) = (name.to_owned(), Arc::clone(&room.lobby));
        Ok(Seat { rooms: Arc::clone(self), room: room_name, lobby, network })
    }

    /// The players of a network in a room; 0 where they are not limited.
    fn seats_of(&self, room: &Open, network: Option<IpAddr>) -> usize {
        let is_closed_to_others = self.config.hosts.iter().all(|host| host.to_canonical().is_loopback());
        let limited = network.filter(|network| !(is_closed_to_others && network.is_loopback()));
        limited.and_then(|network| room.seats_by_network.get(&network)).copied().unwrap_or_default()
    }

    /// An opened room is kept in the store, so that strangers who open one after the other would fill it.
    fn check_opening_rate(&self, opener: Opener) -> Result<(), RoomRefusal> {
        let Some(address) = opener.address.filter(|_| !self.is_trusted(opener)) else { return Ok(()) };
        let mut openings = self.openings.lock().unwrap_or_else(PoisonError::into_inner);
        openings.attempt(address, Instant::now()).map_err(|_| RoomRefusal::OpensTooOften)
    }

    /// What is open and not past, ordered by name.
    pub(crate) fn list(&self) -> Vec<RoomSummary> {
        let players_max = self.config.limits.players_max;
        present(&self.lock())
            .map(|(name, room)| RoomSummary {
                name: name.clone(),
                world: self.catalogue.of_room(name).name.clone(),
                players: room.seats,
                players_max,
            })
            .collect()
    }

    /// What is offered, and the rooms that show it.
    pub(crate) fn worlds(&self) -> Vec<WorldSummary> {
        let mut worlds = self.catalogue.list();
        for room in self.list() {
            let world = worlds.iter_mut().find(|world| world.name == room.world);
            if let Some(world) = world {
                world.rooms.push(room.name);
            }
        }
        worlds
    }

    /// Whether somebody is in a room, or about to be.
    pub(crate) fn is_open(&self, name: &str) -> bool {
        self.lock().contains_key(name)
    }

    /// The ban that keeps a client out of a room.
    pub(crate) fn ban_of(&self, room: &str, player: &Player) -> Option<Ban> {
        let room = room_of(room);
        self.bans.find(room, &self.catalogue.of_room(room).name, player.known())
    }

    /// Asks every room to end.
    pub(crate) fn stop(&self) {
        self.stopping.store(true, Ordering::Release);
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }

    /// Whether all rooms have ended.
    pub(crate) fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    /// Whether nobody has a seat in the room.
    pub(crate) fn is_deserted(&self, name: &str) -> bool {
        self.lock().get(name).is_none_or(|room| room.seats == 0)
    }

    /// Closes the lobby of a room that nobody has a seat in. Returns whether it is closed.
    pub(crate) fn close_if_deserted(&self, name: &str) -> bool {
        let mut open = self.lock();
        let deserted = open.get(name).is_none_or(|room| room.seats == 0);
        if deserted {
            open.remove(name);
            self.metrics.rooms.set(open.len() as i64);
        }
        deserted
    }

    /// Forgets a room whose thread ends, unless another one has its name by now.
    pub(crate) fn forget(&self, name: &str, lobby: &Arc<Lobby>) {
        let mut open = self.lock();
        if open.get(name).is_some_and(|room| Arc::ptr_eq(&room.lobby, lobby)) {
            open.remove(name);
            self.metrics.rooms.set(open.len() as i64);
        }
    }

    fn free_seat(&self, Seat { room, lobby, network, .. }: &Seat) {
        if let Some(room) = self.lock().get_mut(room)
            && Arc::ptr_eq(&room.lobby, lobby)
        {
            room.seats -= 1;
            if let Some((network, count)) =
                network.and_then(|network| Some((network, room.seats_by_network.get_mut(&network)?)))
            {
                *count -= 1;
                if *count == 0 {
                    room.seats_by_network.remove(&network);
                }
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Open>> {
        self.open.lock().expect("nobody panics while holding it")
    }
}

/// A place in a room, held from before the handshake until after the connection's end.
pub(crate) struct Seat {
    rooms: Arc<Rooms>,
    room: String,
    lobby: Arc<Lobby>,
    network: Option<IpAddr>,
}

impl Seat {
    /// Goes in. The room greets the player with its next tick, unless it is banned.
    pub(crate) fn enter(&self, player: Arc<Player>) {
        match self.rooms.ban_of(&self.room, &player) {
            Some(ban) => player.close(Closing::Banned(ban.told())),
            None => self.lobby.enter(player),
        }
    }

    pub(crate) fn room(&self) -> &str {
        &self.room
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.rooms.free_seat(self);
    }
}

impl Open {
    fn is_of(&self, opener: Opener) -> bool {
        opener.address.is_some() && self.opened_by == opener.network()
    }

    /// Since when the room is empty, if it is and nobody is about to come in.
    fn empty_since(&self) -> Option<Instant> {
        self.lobby.empty_since().filter(|_| self.seats == 0)
    }
}

/// The rooms that do not show the past of another.
fn present(open: &BTreeMap<String, Open>) -> impl Iterator<Item = (&String, &Open)> {
    open.iter().filter(|(_, room)| !room.is_past)
}

/// The rooms of these that do not give way.
fn taken(open: &BTreeMap<String, Open>) -> impl Iterator<Item = (&String, &Open)> {
    present(open).filter(|(_, room)| room.empty_since().is_none())
}

/// Has `count` of the empty rooms give way, the longest empty ones first.
fn give_way<'a>(rooms: impl Iterator<Item = (&'a String, &'a Open)>, count: usize) {
    let mut empty: Vec<_> = rooms.filter_map(|(_, room)| Some((room.empty_since()?, &room.lobby))).collect();
    empty.sort_by_key(|(since, _)| *since);
    empty.into_iter().take(count).for_each(|(_, lobby)| lobby.give_way());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client_handle::{ClientProtocol, Plain};
    use crate::names::Name;
    use crate::plain::Encoding;
    use crate::room::Room;
    use crate::send_queue::Outgoing;
    use crate::session::writer::SessionWriter;
    use crate::worlds::{Rules, WorldConfig};
    use nowcast_world::{Definition, World};

    /// A server's rooms, whose worlds are made like this.
    fn rooms(make_world: fn() -> World) -> Arc<Rooms> {
        rooms_of(Rules::Program(Arc::new(move |_, _| make_world())), Config::default())
    }

    fn rooms_of(rules: Rules, config: Config) -> Arc<Rooms> {
        let catalogue =
            Catalogue::new(&[WorldConfig { name: "plaza".into(), rules }]).expect("it is well named");
        let metrics = Arc::new(Metrics::new(None));
        Arc::new(Rooms::new(Arc::new(config), catalogue, Arc::default(), metrics, Room::open))
    }

    /// A configuration by which a step may take this long.
    fn with_step(step: Duration) -> Config {
        Config { timeouts: crate::config::Timeouts { step, ..Default::default() }, ..Config::default() }
    }

    /// Whether a player was told that its room was ended for its step.
    fn is_told_of_its_step(player: &Player) -> bool {
        let replicated = player.plain().unwrap().queue.take();
        matches!(replicated, Some(Outgoing::Close(Closing::Refused(RoomRefusal::Stopped { .. }))))
    }

    #[test]
    fn a_room_whose_script_does_what_is_not_counted_is_ended_and_its_players_are_told() {
        let text = "local world = require('@nowcast/world')
            world.on('join', function()
                local a, b = ('x'):rep(4e6) .. 'a', ('x'):rep(4e6) .. 'b'
                while true do local _ = a < b end
            end)";
        let sources = nowcast_script::Sources::of_main(text);
        let rooms = rooms_of(Rules::Script(sources), with_step(Duration::from_millis(500)));
        let (_seat, player) = enter(&rooms, "plaza");
        until("the end", || is_told_of_its_step(&player));
        until("the place in the list", || rooms.list().is_empty());
        assert!(rooms.trouble().is_some_and(|text| text.contains("room plaza was ended")));
        assert!(rooms.metrics.render().contains(r#"nowcast_rooms_ended_total{reason="stopped"} 1"#));
        assert_eq!(rooms.health(), Health::Good, "other rooms can be opened all the time");
    }

    #[test]
    fn a_room_whose_step_cannot_be_stopped_is_abandoned_and_its_name_is_free_at_once() {
        static GATE: (Mutex<bool>, std::sync::Condvar) = (Mutex::new(false), std::sync::Condvar::new());
        static IS_FIRST: AtomicBool = AtomicBool::new(true);
        /// Its step takes until the gate is open.
        struct Stuck;
        impl nowcast_world::Behaviour for Stuck {
            fn step(&mut self, _scene: &mut nowcast_world::Scene) {
                let held = GATE.0.lock().unwrap();
                drop(GATE.1.wait_while(held, |is_open| !*is_open).unwrap());
            }
        }
        let make = || {
            let behaviour: Box<dyn nowcast_world::Behaviour> =
                if IS_FIRST.swap(false, Ordering::AcqRel) { Box::new(Stuck) } else { Box::new(()) };
            World::new(Definition::default(), 1, behaviour).expect("nothing is wrong with nothing")
        };
        let rules = Rules::Program(Arc::new(move |_, _| make()));
        let rooms = rooms_of(rules, with_step(Duration::from_millis(500)));
        let (seat, player) = enter(&rooms, "plaza");
        until("the end", || is_told_of_its_step(&player));
        until("the place in the list", || rooms.list().is_empty());
        assert!(rooms.trouble().is_some_and(|text| text.contains("abandoned")));
        assert_eq!(rooms.metrics.rooms_abandoned.get(), 1);
        drop(seat);
        let (_seat, player) = enter(&rooms, "plaza");
        until("the welcome", || player.plain().unwrap().queue.take().is_some());
        *GATE.0.lock().unwrap() = true;
        GATE.1.notify_all();
        until("the end of its thread", || rooms.metrics.rooms_abandoned.get() == 0);
        assert_eq!(rooms.list().len(), 1, "the room that has its name by now is not touched");
        assert!(rooms.metrics.render().contains(r#"nowcast_rooms_ended_total{reason="abandoned"} 1"#));
    }

    #[test]
    fn a_room_in_a_long_step_ends_soon_when_the_server_does() {
        let text = "local world = require('@nowcast/world')
            world.on('join', function()
                local a, b = ('x'):rep(4e6) .. 'a', ('x'):rep(4e6) .. 'b'
                while true do local _ = a < b end
            end)";
        let sources = nowcast_script::Sources::of_main(text);
        let rooms = rooms_of(Rules::Script(sources), with_step(Duration::from_secs(3_600)));
        let (_seat, _player) = enter(&rooms, "plaza");
        rooms.stop();
        until("the end of the room", || rooms.is_empty());
    }

    const NOBODY: Opener = Opener { address: None, is_local: true };

    fn empty_world() -> World {
        World::new(Definition::default(), 1, Box::new(())).expect("nothing is wrong with nothing")
    }

    fn enter(rooms: &Arc<Rooms>, room: &str) -> (Seat, Arc<Player>) {
        let seat = rooms.reserve(room, NOBODY).expect("there is room");
        let player = Arc::new(Player::new(
            Name::Asked("Ada".into()),
            ClientProtocol::Plain(Plain::new(Encoding::Json)),
            60,
            false,
            false,
        ));
        seat.enter(Arc::clone(&player));
        (seat, player)
    }

    /// Waits for something that another thread does.
    fn until(what: &str, mut holds: impl FnMut() -> bool) {
        let deadline = Instant::now() + Duration::from_secs(30);
        while !holds() {
            assert!(Instant::now() < deadline, "{what} does not come");
            std::thread::yield_now();
        }
    }

    fn is_told(player: &Player) -> bool {
        matches!(player.plain().unwrap().queue.take(), Some(Outgoing::Close(Closing::RoomGone)))
    }

    #[test]
    fn a_room_whose_thread_panics_is_forgotten_and_its_members_are_told() {
        let rooms = rooms(empty_world);
        let (seat, player) = enter(&rooms, "plaza");
        until("the welcome", || player.plain().unwrap().queue.take().is_some());
        player.poison();
        until("the end", || is_told(&player));
        until("the place in the list", || rooms.list().is_empty());
        assert!(rooms.metrics.render().contains(r#"nowcast_rooms_ended_total{reason="panicked"} 1"#));
        assert_eq!(rooms.metrics.clients.get(), 0);
        drop(seat);
        let (_seat, player) = enter(&rooms, "plaza");
        until("the welcome", || player.plain().unwrap().queue.take().is_some());
        assert_eq!(rooms.health(), Health::Good, "other rooms can be opened all the time");
    }

    #[test]
    fn one_address_cannot_take_all_seats_of_a_room() {
        let rooms = rooms(empty_world);
        let limit = rooms.config.limits.players_per_address_max;
        let [greedy, other] = [1, 2].map(|last| opener([203, 0, 113, last]));
        let mut seats: Vec<Seat> =
            (0..limit).map(|_| rooms.reserve("plaza", greedy).expect("a seat")).collect();
        assert!(matches!(rooms.reserve("plaza", greedy), Err(RoomRefusal::FullOfAddress { .. })));
        seats.push(rooms.reserve("plaza", other).expect("another address has its own seats"));
        // Everybody who reaches this server is on its own machine.
        let local = opener([127, 0, 0, 1]);
        seats.extend((0..=limit).map(|_| rooms.reserve("plaza", local).expect("loopback is not limited")));
        seats.remove(0);
        seats.push(rooms.reserve("plaza", greedy).expect("a seat that is given back is free"));
    }

    /// How many snapshots have come for a client of the plain protocol since this was last asked.
    fn take_snapshots(player: &Player) -> usize {
        let queue = &player.plain().expect("it speaks the plain protocol").queue;
        std::iter::from_fn(|| queue.take()).filter(|next| matches!(next, Outgoing::Snapshot(_))).count()
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_driver_that_is_stuck_while_it_fills_a_packet_holds_up_no_tick() {
        let mut listening = nowcast::ListenConfig::loopback(0);
        listening.accept.session = crate::session::session_config(Duration::from_secs(20));
        let listener = nowcast::Listener::bind(listening).await.unwrap();
        let mut service = listener.advertise("plaza").await.unwrap();
        let url = format!("nowcast://127.0.0.1:{}/plaza", listener.port());
        let (theirs, ours) = tokio::join!(nowcast::connect(&url), service.accept());
        let (theirs, ours) = (theirs.unwrap(), Arc::new(ours.unwrap()));

        let rooms = rooms(empty_world);
        let (_other_seat, other) = enter(&rooms, "plaza");
        let seat = rooms.reserve("plaza", NOBODY).expect("there is room");
        let writer = SessionWriter::new(ours, 60, &rooms.metrics);
        let way = ClientProtocol::Session(writer);
        let player = Arc::new(Player::new(Name::Asked("Bob".into()), way, 60, false, false));
        seat.enter(Arc::clone(&player));
        theirs.receive().await.expect("it is welcomed");

        let held = player.session_writer().expect("it is on a session").hold_up_driver();
        take_snapshots(&other);
        player.notice("said while the driver is stuck");
        let mut snapshots = 0;
        until("a second of ticks", || {
            snapshots += take_snapshots(&other);
            snapshots >= 60
        });
        drop(held);
        loop {
            let message = theirs.receive().await.expect("it goes on");
            if message.bytes.windows(9).any(|bytes| bytes == b"driver is") {
                break;
            }
        }
    }

    fn opener(address: [u8; 4]) -> Opener {
        Opener { address: Some(address.into()), is_local: address[0] == 127 }
    }

    const STRANGER: [u8; 4] = [203, 0, 113, 7];

    fn reserve(rooms: &Arc<Rooms>, room: &str, address: [u8; 4]) -> Result<Seat, RoomRefusal> {
        rooms.reserve(room, opener(address))
    }

    #[test]
    fn a_person_on_this_machine_opens_as_many_rooms_as_there_may_be_where_no_tokens_are_needed() {
        let rooms = rooms(empty_world);
        let Limits { rooms_max, rooms_per_address_max, .. } = rooms.config.limits;
        let names: Vec<String> = (0..rooms_max).map(|number| format!("room-{number}")).collect();
        let seats: Vec<_> = names.iter().map(|name| reserve(&rooms, name, [127, 0, 0, 1]).ok()).collect();
        assert!(seats.iter().all(Option::is_some));
        drop(seats);
        until("the empty rooms", || rooms.lock().values().all(|room| room.empty_since().is_some()));
        let strangers: Vec<_> = (0..rooms_per_address_max + 1)
            .map(|number| reserve(&rooms, &format!("far-{number}"), STRANGER))
            .collect();
        let refused = strangers.last().and_then(|last| last.as_ref().err()).map(ToString::to_string);
        assert_eq!(
            refused.as_deref(),
            Some("room limit reached: this address already has 4 open rooms (limit 4)")
        );
    }

    #[test]
    fn an_empty_room_gives_way_at_once_to_another_one_of_its_address() {
        let rooms = rooms(empty_world);
        for number in 0..12 {
            let room = format!("room-{number}");
            drop(reserve(&rooms, &room, STRANGER).expect("the rooms before it are empty"));
            let is_empty = || rooms.lock().get(&room).is_none_or(|open| open.empty_since().is_some());
            until("the empty room", is_empty);
        }
        until("the end of the rooms that gave way", || rooms.list().len() <= 4);
        let refused = (0..20).find_map(|number| reserve(&rooms, &format!("more-{number}"), STRANGER).err());
        assert!(refused.is_some(), "an address does not open rooms without an end");
    }

    #[test]
    fn a_room_that_cannot_be_made_leaves_nobody_waiting_and_is_told_by_healthz() {
        let rooms = rooms(|| panic!("no world today"));
        for room in ["one", "two"] {
            let (_seat, player) = enter(&rooms, room);
            until("the end", || is_told(&player));
        }
        until("the places in the list", || rooms.list().is_empty());
        assert!(matches!(rooms.health(), Health::Failing(_)));
        rooms.opened();
        assert_eq!(rooms.health(), Health::Good);
    }
}
