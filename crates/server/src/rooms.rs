//! The rooms that are open: who may enter, and when a room ends.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use serde::Serialize;

use crate::closing::Closing;
use crate::config::{Config, Limits, ROOM_NAME_BYTES_MAX};
use crate::member::Member;
use crate::metrics::Metrics;
use crate::room::Room;

/// The rooms that are open.
pub(crate) struct Rooms {
    pub(crate) config: Arc<Config>,
    pub(crate) metrics: Arc<Metrics>,
    open: Mutex<BTreeMap<String, Open>>,
    stopping: AtomicBool,
}

struct Open {
    door: Arc<Door>,
    /// Players, counted from the moment they are let in until their connection has ended.
    seats: usize,
}

/// Where a client's task meets the room's thread.
#[derive(Default)]
pub(crate) struct Door {
    waiting: Mutex<Queue>,
}

#[derive(Default)]
struct Queue {
    members: Vec<Arc<Member>>,
    /// Set when the room has ended and nobody will take members in any more.
    ended: bool,
}

/// One line of `/api/rooms`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RoomSummary {
    name: String,
    players: usize,
    players_max: usize,
}

/// Why somebody is not let into a room.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RoomRefusal {
    #[error("room name '{0}' is not 1 to {ROOM_NAME_BYTES_MAX} of a-z 0-9 - _")]
    BadName(String),
    #[error("room '{room}' is full, {players_max} players are in it")]
    Full { room: String, players_max: usize },
    #[error("there are {rooms_max} rooms already, join one of them (/api/rooms)")]
    TooManyRooms { rooms_max: usize },
    #[error("the server is shutting down")]
    ShuttingDown,
    #[error("the server cannot open another room: {0}")]
    NoThread(String),
}

impl RoomRefusal {
    /// The label in `/metrics`.
    pub(crate) fn label(&self) -> &'static str {
        match self {
            Self::BadName(_) => "parameter",
            Self::Full { .. } => "room_full",
            Self::TooManyRooms { .. } => "rooms_max",
            Self::ShuttingDown => "shutdown",
            Self::NoThread(_) => "no_thread",
        }
    }
}

impl Rooms {
    pub(crate) fn new(config: Arc<Config>, metrics: Arc<Metrics>) -> Self {
        Self { config, metrics, open: Mutex::default(), stopping: AtomicBool::new(false) }
    }

    /// Whether there would be a seat now. Nothing is reserved or opened by asking.
    pub(crate) fn may_enter(&self, name: &str) -> Result<(), RoomRefusal> {
        self.check(name, &self.lock())
    }

    fn check(&self, name: &str, open: &BTreeMap<String, Open>) -> Result<(), RoomRefusal> {
        let Limits { rooms_max, players_max, .. } = self.config.limits;
        if !is_room_name(name) {
            return Err(RoomRefusal::BadName(name.chars().take(ROOM_NAME_BYTES_MAX).collect()));
        }
        if self.is_stopping() {
            return Err(RoomRefusal::ShuttingDown);
        }
        match open.get(name) {
            Some(room) if room.seats >= players_max => {
                Err(RoomRefusal::Full { room: name.to_owned(), players_max })
            }
            None if open.len() >= rooms_max => Err(RoomRefusal::TooManyRooms { rooms_max }),
            _ => Ok(()),
        }
    }

    /// Reserves a seat, and opens the room for it when there is none yet.
    pub(crate) fn reserve(self: &Arc<Self>, name: &str) -> Result<Seat, RoomRefusal> {
        let mut open = self.lock();
        self.check(name, &open)?;
        if !open.contains_key(name) {
            let door = Arc::new(Door::default());
            Room::open(name, Arc::clone(&door), Arc::clone(self))
                .map_err(|error| RoomRefusal::NoThread(error.to_string()))?;
            open.insert(name.to_owned(), Open { door, seats: 0 });
            self.metrics.rooms.set(open.len() as i64);
        }
        let room = open.get_mut(name).expect("it is there or was just opened");
        room.seats += 1;
        Ok(Seat { rooms: Arc::clone(self), room: name.to_owned(), door: Arc::clone(&room.door) })
    }

    /// What is open, ordered by name.
    pub(crate) fn list(&self) -> Vec<RoomSummary> {
        let players_max = self.config.limits.players_max;
        self.lock()
            .iter()
            .map(|(name, room)| RoomSummary { name: name.clone(), players: room.seats, players_max })
            .collect()
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

    /// Closes the door of a room that nobody has a seat in. Returns whether it is closed.
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
    pub(crate) fn forget(&self, name: &str, door: &Arc<Door>) {
        let mut open = self.lock();
        if open.get(name).is_some_and(|room| Arc::ptr_eq(&room.door, door)) {
            open.remove(name);
            self.metrics.rooms.set(open.len() as i64);
        }
    }

    fn free_seat(&self, name: &str, door: &Arc<Door>) {
        if let Some(room) = self.lock().get_mut(name)
            && Arc::ptr_eq(&room.door, door)
        {
            room.seats -= 1;
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Open>> {
        self.open.lock().expect("nobody panics while holding it")
    }
}

impl Door {
    /// Takes in whoever waits.
    pub(crate) fn take_waiting(&self) -> Vec<Arc<Member>> {
        std::mem::take(&mut self.lock().members)
    }

    /// Says that the room has ended; whoever waits, or comes from now on, is sent away with this reason.
    pub(crate) fn end(&self, closing: &Closing) {
        let mut queue = self.lock();
        queue.ended = true;
        for member in queue.members.drain(..) {
            member.close(closing.clone());
        }
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.waiting.lock().expect("nobody panics while holding it")
    }
}

/// A place in a room, held from before the handshake until after the connection's end.
pub(crate) struct Seat {
    rooms: Arc<Rooms>,
    room: String,
    door: Arc<Door>,
}

impl Seat {
    /// Goes in. The room greets the member with its next tick.
    pub(crate) fn enter(&self, member: Arc<Member>) {
        let mut queue = self.door.lock();
        if queue.ended {
            member.close(Closing::RoomGone);
        } else {
            queue.members.push(member);
        }
    }

    pub(crate) fn room(&self) -> &str {
        &self.room
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.rooms.free_seat(&self.room, &self.door);
    }
}

fn is_room_name(name: &str) -> bool {
    (1..=ROOM_NAME_BYTES_MAX).contains(&name.len())
        && name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_'))
}
