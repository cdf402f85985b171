//! Sources: the content of packets that does not come from a lane's queue.

use crate::limits::LANES_MAX;

/// Writes its own bytes into packets when they leave, and learns whether each packet arrived.
///
/// Use a source when values depend on the peer's state, such as differences from an acknowledged snapshot. Use
/// [`crate::Session::put_state`] when values are opaque bytes under a key. The caller owns the source and lends it to the session,
/// so the source can read any data of the application.
///
/// The bytes of a lost packet are not sent again. The source writes its newest data into a later packet instead.
pub trait Source {
    /// Whether the source has something to send on `lane` now.
    fn has_more(&self, lane: u8) -> bool;

    /// Appends at most `room` bytes for packet `number` to `packet`, and does not change the bytes before them. Appends nothing if
    /// its content does not fit.
    fn fill(&mut self, lane: u8, number: u64, room: usize, packet: &mut Vec<u8>);

    /// Receives the outcome of a packet that the source wrote into.
    fn on_outcome(&mut self, outcome: PacketOutcome);

    /// Returns those of `lanes` on which the source has something to send. Each lane is one bit.
    fn waiting(&self, lanes: u16) -> u16 {
        let waits = |&lane: &u8| lanes & 1 << lane != 0 && self.has_more(lane);
        (0..LANES_MAX).filter(waits).fold(0, |waiting, lane| waiting | 1 << lane)
    }
}

/// No source: all content comes from the queues.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoSource;

impl Source for NoSource {
    fn has_more(&self, _lane: u8) -> bool {
        false
    }

    fn fill(&mut self, _lane: u8, _number: u64, _room: usize, _packet: &mut Vec<u8>) {}

    fn on_outcome(&mut self, _outcome: PacketOutcome) {}
}

/// The outcome of the bytes that a [`Source`] wrote into one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketOutcome {
    /// The lane.
    pub lane: u8,
    /// The packet's number, as passed to [`Source::fill`].
    pub number: u64,
    /// Whether the packet was acknowledged. Otherwise it counts as lost.
    pub arrived: bool,
}

/// The result of [`crate::Session::begin_packet`] and [`crate::Session::finish_packet`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketStep {
    /// No packet leaves now.
    Nothing,
    /// A source may write. Then call [`crate::Session::finish_packet`].
    Space(Space),
    /// The packet is complete and must leave at once.
    Packet,
}

/// The free space for a source in the packet that is being filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    pub(crate) lane: u8,
    pub(crate) number: u64,
    /// The lane's share, and the rest of the packet.
    pub(crate) rooms: [usize; 2],
    /// The length of the packet before the source writes.
    pub(crate) begin: usize,
}

impl Space {
    /// Lets the source append to the packet. The source is offered the lane's share, and then the rest of the packet if its
    /// content did not fit.
    pub fn fill(&self, source: &mut (impl Source + ?Sized), packet: &mut Vec<u8>) {
        for room in self.rooms {
            if room > 0 && packet.len() == self.begin && source.has_more(self.lane) {
                source.fill(self.lane, self.number, room, packet);
            }
        }
    }

    /// Whether the source wrote no more than there was room for, and removed nothing.
    pub(crate) fn is_valid(&self, packet: &[u8]) -> bool {
        let room_max = self.rooms[0].max(self.rooms[1]);
        (self.begin..=self.begin + room_max).contains(&packet.len())
    }
}
