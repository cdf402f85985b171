//! A source of a lane's states other than its queue.

/// Fills packets with its own bytes when they leave, and learns whether each packet arrived.
///
/// Use this when values depend on the peer's state, such as differences from an acknowledged snapshot. Use
/// [`crate::Session::put_state`] when values are opaque bytes under a key. The source is an argument of
/// [`crate::Session::poll_packet`], so the caller keeps ownership of the data that it reads.
///
/// [`crate::Session::poll_outcome`] returns the outcomes of packets. The bytes of a lost packet are not sent again. The source
/// fills a later packet with its newest data instead.
pub trait Replication {
    /// Whether the source has something to send on `lane` now.
    fn has_more(&self, lane: u8) -> bool;

    /// Appends at most `room` bytes for packet `number` to `out`. Appends nothing if its content does not fit.
    fn fill(&mut self, lane: u8, number: u64, room: usize, out: &mut Vec<u8>);
}

/// No source: all states come from the queues.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoReplication;

impl Replication for NoReplication {
    fn has_more(&self, _lane: u8) -> bool {
        false
    }

    fn fill(&mut self, _lane: u8, _number: u64, _room: usize, _out: &mut Vec<u8>) {}
}

/// The outcome of the bytes that a [`Replication`] put into one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketOutcome {
    /// The lane.
    pub lane: u8,
    /// The packet's number, as passed to [`Replication::fill`].
    pub number: u64,
    /// Whether the packet was acknowledged. Otherwise it counts as lost.
    pub arrived: bool,
}
