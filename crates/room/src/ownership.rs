//! The owner of a room in a cluster of servers.

use std::time::Duration;

use nowcast_cluster::{Departure, Report, RoomLease, TakeError};

/// Decides which server of a cluster steps a room. Rooms call it from their threads.
pub trait Ownership: Send + Sync {
    /// Waits until the room has something to do before it begins. Returns true if its current owner gives it to this server:
    /// the room first follows the stored world, and asks again. Clients enter the room in the meantime, and wait for it.
    fn must_follow(&self, room: &str) -> bool;

    /// Handles a report of a room's thread.
    fn report(&self, room: &str, report: Report);

    /// Makes this server the owner of a room and of its stored world. Waits for the other servers' directory.
    ///
    /// # Errors
    /// Fails if another server owns the room, or if the directory does not answer.
    fn take(&self, room: &str) -> Result<(), TakeError>;

    /// Gives up a room that has ended or stopped, and whose world is stored. The server to which the room moves owns it from
    /// now on. If it moves to none, any server may take it at once.
    fn release(&self, room: &str);

    /// Records that a room of this server runs. Returns the time for which the room stood still on its way from another server;
    /// zero if it does not come from another one.
    fn opened(&self, room: &str) -> Duration;

    /// Returns where a room goes whose lease is [`RoomLease::Leaving`].
    fn departure(&self, room: &str) -> Option<Departure>;

    /// Returns whether this server may step a room now.
    fn lease(&self, room: &str) -> RoomLease;

    /// Returns a problem for the operator, or `None` in normal operation.
    fn trouble(&self) -> Option<String>;
}
