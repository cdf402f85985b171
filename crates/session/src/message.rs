//! Messages and notices for the application.

use crate::error::Closed;
use crate::time::Time;

/// A message from the peer; its payload is in the buffer that was passed to [`crate::Session::poll_message`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// The lane it came on.
    pub lane: u8,
    /// Its kind.
    pub kind: MessageKind,
    /// When the value was produced (states), or when its packet left (all others), by our clock as far as the peer's
    /// clock is known.
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
        /// Names the command in the reply.
        command: u64,
    },
    /// The answer to a command of ours.
    Reply {
        /// The number that [`crate::Session::put_command`] returned.
        command: u64,
    },
    /// Bytes of the peer's replication source.
    Replication {
        /// The number of the packet they came in.
        packet: u64,
    },
}

/// News about the session itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// Packets can flow: the session began, continues over a new carrier, or received a packet on the silent one.
    Opened {
        /// Whether it continues an earlier session.
        resumed: bool,
    },
    /// The carrier is dead; [`crate::Session::attach`] a new one within the resume time-out.
    Detached,
    /// The session is over.
    Closed(Closed),
    /// The time to live of an event ended before an acknowledgement arrived. The peer may still have received it.
    Expired {
        /// The lane.
        lane: u8,
        /// The number that [`crate::Session::put_event`] returned.
        event: u64,
    },
    /// The deadline of a command passed without a reply.
    CommandTimedOut {
        /// The lane.
        lane: u8,
        /// The number that [`crate::Session::put_command`] returned.
        command: u64,
    },
}
