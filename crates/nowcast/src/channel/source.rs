//! States that do not come from a queue.

use nowcast_session::{PacketOutcome, Replication};

/// Feeds lanes with states of its own, which depend on what the peer has; see [`Replication`].
///
/// It is called while nothing is locked, just before a packet may leave: it may call its channel, and what it does delays the
/// packets of that channel alone, as long as the runtime has another thread. A source that holds its channel keeps it open.
/// When it panics, or writes more than there is
/// room for, the channel ends with the code `APPLICATION` on both sides.
///
/// What it wrote may not leave, if other messages took the room in the meantime. Then it hears at once that the bytes did not
/// arrive, and is asked again, possibly for a packet of the same number.
pub trait Source: Replication + Send {
    /// Hears what became of the bytes that it put into a packet.
    fn settled(&mut self, outcome: PacketOutcome);
}
