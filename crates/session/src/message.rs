//! Messages and notices for the application.

use crate::error::Closed;
use crate::time::Time;

/// A message from the peer. Its payload is in the buffer that was passed to [`crate::Session::poll_message`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// The lane of the message.
    pub lane: u8,
    /// The kind of the message.
    pub kind: MessageKind,
    /// The time at which the value was produced (states), or at which its packet left (all others). Converted to our clock, with
    /// the current estimate of the peer's clock.
    pub produced_at: Time,
}

/// The kinds of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageKind {
    /// The newest value of a key.
    State {
        /// The key.
        key: u64,
    },
    /// An event.
    Event,
    /// A command; answer it with [`crate::Session::put_reply`].
    Command {
        /// Identifies the command in the reply.
        command: u64,
    },
    /// The answer to a command of ours.
    Reply {
        /// The number that [`crate::Session::put_command`] returned.
        command: u64,
    },
    /// Bytes of the peer's replication source.
    Replication {
        /// The number of the packet that carried the bytes.
        packet: u64,
    },
}

/// A change of the session itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// Packets can flow: the session began, continues over a new carrier, or received a packet on a carrier that had fallen
    /// silent.
    Opened {
        /// Whether the session continues after an interruption.
        resumed: bool,
    },
    /// The carrier is dead. [`crate::Session::attach`] a new one within the resume timeout.
    Detached,
    /// The session is over.
    Closed(Closed),
    /// The deadline of a command passed without a reply. The peer may still have received it.
    CommandTimedOut {
        /// The lane.
        lane: u8,
        /// The number that [`crate::Session::put_command`] returned.
        command: u64,
    },
}
