//! Messages that a channel delivers.

use std::sync::Arc;
use std::time::{Duration, Instant};

use nowcast_queue::{Key, Weigh};
use nowcast_wire::Read;

use super::Error;
use super::shapes::{Announced, Shapes};

/// Names a lane of a channel, from 0. The number of lanes is the smaller limit of both sides, 8 by default and 16 at
/// most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LaneId(pub(crate) u8);

impl LaneId {
    /// Makes the id of a lane. The first put returns an error if the lane does not exist.
    #[must_use]
    pub const fn new(number: u8) -> Self {
        Self(number)
    }

    /// Returns the lane's number.
    #[must_use]
    pub const fn number(self) -> u8 {
        self.0
    }
}

impl From<u8> for LaneId {
    fn from(number: u8) -> Self {
        Self(number)
    }
}

impl std::fmt::Display for LaneId {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(formatter)
    }
}

/// A received message. The bytes are in the caller's buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// The lane of the message.
    pub lane: LaneId,
    /// The kind of the message.
    pub kind: MessageKind,
    /// The time at which the value was produced (states), or at which its packet left (all others). Converted to this machine's
    /// clock, with the current estimate of the peer's clock.
    pub produced_at: Instant,
}

/// A message from the peer.
#[derive(Clone, Debug)]
pub struct Message {
    /// The lane of the message.
    pub lane: LaneId,
    /// The kind of the message.
    pub kind: MessageKind,
    /// The bytes of the message.
    pub bytes: Vec<u8>,
    /// The time at which the value was produced (states), or at which its packet left (all others). Converted to this machine's
    /// clock, with the current estimate of the peer's clock.
    pub produced_at: Instant,
    /// The peer's announcement of types on this lane, if any.
    announced: Option<Arc<Announced>>,
}

/// The kinds of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageKind {
    /// The newest value of a key.
    State {
        /// The key.
        key: Key,
    },
    /// An event: delivered exactly once, never replaced.
    Event,
    /// A command that expects a reply, by [`Channel::reply`](super::Channel::reply) or
    /// [`Lane::reply`](super::Lane::reply).
    Command(CommandId),
    /// Bytes of the peer's replication source.
    Replication {
        /// The number of the packet that carried the bytes.
        packet: u64,
    },
}

/// Identifies a command in its reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CommandId {
    pub(super) lane: LaneId,
    pub(super) number: u64,
}

impl CommandId {
    pub(crate) fn new(lane: u8, number: u64) -> Self {
        Self { lane: LaneId(lane), number }
    }

    /// Makes an id from the parts of an id that was received, for programs that keep the parts.
    #[must_use]
    pub const fn from_parts(lane: LaneId, number: u64) -> Self {
        Self { lane, number }
    }

    /// The lane for the command and the reply.
    #[must_use]
    pub const fn lane(self) -> LaneId {
        self.lane
    }

    /// The number of the command among the commands of its lane.
    #[must_use]
    pub const fn number(self) -> u64 {
        self.number
    }
}

impl Message {
    pub(crate) fn new(received: Received, bytes: Vec<u8>) -> Self {
        let Received { lane, kind, produced_at } = received;
        Self { lane, kind, bytes, produced_at, announced: None }
    }

    /// Adds the types that the peer announced, so that the application can decode the message.
    pub(crate) fn with_shapes(self, shapes: &Shapes) -> Self {
        Self { announced: shapes.of(self.lane.number()), ..self }
    }

    /// Moves the message into the buffer of a caller.
    pub(crate) fn unpack(self, bytes: &mut Vec<u8>) -> Received {
        let Self { lane, kind, bytes: mut own, produced_at, .. } = self;
        bytes.clear();
        bytes.append(&mut own);
        Received { lane, kind, produced_at }
    }

    /// Decodes the message as a value of the type that its sender put through a [typed lane](super::Lane::typed). `T` may also be
    /// another version of that type, because fields are matched by name. Text and bytes may be borrowed from the message.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the bytes cannot be read as that type. The error names the field.
    pub fn decode<'de, T: Read<'de>>(&'de self) -> Result<T, Error> {
        match &self.announced {
            Some(announced) => announced.decode(&self.bytes),
            None => super::decode(&self.bytes),
        }
    }

    /// Returns the age of the message.
    #[must_use]
    pub fn age(&self) -> Duration {
        self.produced_at.elapsed()
    }

    /// The key of a state.
    #[must_use]
    pub fn key(&self) -> Option<Key> {
        match self.kind {
            MessageKind::State { key } => Some(key),
            _ => None,
        }
    }

    /// Returns the key under which the message is queued again. With this key the message replaces its predecessor.
    pub(super) fn queue_key(&self) -> Key {
        self.key().unwrap_or(Key::EVENT)
    }
}

/// Messages are equal if lane, kind and bytes are equal.
impl PartialEq for Message {
    fn eq(&self, other: &Self) -> bool {
        let Self { lane, kind, bytes, produced_at, announced: _ } = self;
        (lane, kind, bytes, produced_at) == (&other.lane, &other.kind, &other.bytes, &other.produced_at)
    }
}

impl Eq for Message {}

impl Weigh for Message {
    fn bytes(&self) -> usize {
        self.bytes.len()
    }
}
