//! What a channel delivers.

use std::time::{Duration, Instant};

use nowcast_queue::{Key, Weigh};

/// A message from the peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The lane it came on.
    pub lane: u8,
    /// What it is.
    pub kind: MessageKind,
    /// What it says.
    pub bytes: Vec<u8>,
    /// When the value was produced (states), or when its packet left (all others), by this machine's clock as far as the
    /// peer's is known.
    pub produced_at: Instant,
}

/// The kinds of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageKind {
    /// The newest value of a key.
    State {
        /// The key, at least 1.
        key: u64,
    },
    /// Something that happened.
    Event,
    /// Something that wants an answer, by [`Channel::reply`](super::Channel::reply).
    Command(CommandId),
    /// Bytes of the peer's replication source.
    Replication {
        /// The number of the packet they came in.
        packet: u64,
    },
}

/// Names a command in its reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CommandId {
    pub(super) lane: u8,
    pub(super) number: u64,
}

impl Message {
    /// How old the news is.
    #[must_use]
    pub fn age(&self) -> Duration {
        self.produced_at.elapsed()
    }

    /// The key of a state.
    #[must_use]
    pub fn key(&self) -> Option<u64> {
        match self.kind {
            MessageKind::State { key } => Some(key),
            _ => None,
        }
    }

    /// What it replaces when it has to wait once more.
    pub(super) fn queue_key(&self) -> Key {
        self.key().map_or(Key::EVENT, Key::from_raw)
    }
}

impl Weigh for Message {
    fn bytes(&self) -> usize {
        self.bytes.len()
    }
}
