//! States that do not come from a queue.

use nowcast_session::{PacketOutcome, Replication};

/// Feeds lanes with states of its own, which depend on what the peer has; see [`Replication`].
///
/// It is called with the channel locked: it must not call the channel. When it panics, the channel ends with the code
/// `APPLICATION` on both sides.
pub trait Source: Replication + Send {
    /// Hears what became of the bytes that it put into a packet.
    fn settled(&mut self, outcome: PacketOutcome);
}
