//! The owner of a room in a cluster of servers.

use std::time::Duration;

use crate::public_events::PublicEvent;

/// Decides which server of a cluster steps a room. Rooms call it from their threads.
pub trait Ownership: Send + Sync {
    /// Waits until the room has something to do before it begins. If its current owner gives it to this server, the room
    /// first follows the stored world, and begins when the owner has released the room. Clients enter the room in the
    /// meantime, and wait for it.
    fn await_turn(&self, room: &str) -> Turn;

    /// Records that a room has followed its stored world as [`Turn::Follow`] requires, or cannot follow it.
    fn followed(&self, room: &str);

    /// Makes this server the owner of a room and of its stored world. Waits for the other servers' directory.
    ///
    /// # Errors
    /// Fails if another server owns the room, or if the directory does not answer.
    fn take(&self, room: &str) -> Result<(), NotOwned>;

    /// Gives up a room that has ended or stopped, and whose world is stored. The server to which the room moves owns it from
    /// now on. If it moves to none, any server may take it at once.
    fn release(&self, room: &str);

    /// Records that a room of this server runs. Returns the time for which the room stood still on its way from another server;
    /// zero if it does not come from another one.
    fn opened(&self, room: &str) -> Duration;

    /// Returns where a room goes whose lease is [`RoomLease::Leaving`].
    fn departure(&self, room: &str) -> Option<Departure>;

    /// Records how many clients of a moving room now connect to the target server.
    fn announced(&self, room: &str, clients: usize);

    /// Records that the snapshot before the stop of a room was stored, or cannot be stored.
    fn stored_ahead(&self, room: &str);

    /// Records that a room has stopped, because it moves.
    fn stopped(&self, room: &str);

    /// Records that a room cannot move, because its world could not be stored. The room continues here.
    fn stay(&self, room: &str);

    /// Returns whether this server may step a room now.
    fn lease(&self, room: &str) -> RoomLease;

    /// Whether events of rooms are published ([`Ownership::publish`]).
    fn publishes(&self) -> bool;

    /// Publishes an event of a room for programs outside of the room. Never waits.
    fn publish(&self, room: &str, event: PublicEvent);

    /// Returns a problem for the operator, or `None` in normal operation.
    fn trouble(&self) -> Option<String>;
}

/// The next thing that a room does before it begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Turn {
    /// Load the stored world, which another server still steps, and replay it as far as it is stored.
    Follow,
    /// Begin.
    Begin,
}

/// The way of a room to another server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Departure {
    /// The origin at which clients reach the other server. Empty if clients cannot enter the room there yet.
    pub address: String,
    /// Whether the clients are ready, so that the room may store the snapshot before its stop.
    pub may_store: bool,
    /// Whether the other server has restored the snapshot, so that the room may stop.
    pub may_stop: bool,
}

/// Whether a server may step a room.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RoomLease {
    /// The lease covers this moment.
    Held,
    /// The lease covers this moment, and the room is to move to another server. The room announces it to its clients, and
    /// stores a snapshot while it runs. Then it stops, stores the rest, and is released.
    Leaving,
    /// The lease is over, and no other server is known to have the room. The room waits.
    Waiting,
    /// Another server owns the room. The room ends, and its clients move.
    Lost,
}

/// The reason why a server does not own a room.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NotOwned {
    /// Another server owns the room.
    Elsewhere,
    /// The directory does not answer, or refuses. The text says how to correct it.
    Failed(String),
}
