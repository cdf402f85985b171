//! Errors of a session, each with the party at fault.

use std::fmt;

/// A packet that cannot be read. The peer is at fault, or a carrier that claims to check its packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("malformed {field} at byte {offset}")]
pub struct Malformed {
    /// The field of `spec/SESSION.md` that cannot be read.
    pub field: &'static str,
    /// The offset of the field in the packet.
    pub offset: usize,
}

/// The reason why a session ended or never began (`spec/SESSION.md`, section 12).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CloseCode(pub u32);

impl CloseCode {
    /// No fault: one side no longer needed the session.
    pub const DONE: Self = Self(0);
    /// A packet could not be read.
    pub const MALFORMED: Self = Self(1);
    /// A negotiated limit was broken.
    pub const LIMIT_EXCEEDED: Self = Self(2);
    /// Another rule was broken.
    pub const VIOLATION: Self = Self(3);
    /// No answer, or no new carrier, arrived within the stated time.
    pub const GAVE_UP: Self = Self(4);
    /// The two sides have no common version.
    pub const VERSION: Self = Self(5);
    /// The session to resume does not exist.
    pub const UNKNOWN_SESSION: Self = Self(6);
    /// The resuming peer does not know the token.
    pub const WRONG_TOKEN: Self = Self(7);
    /// The acceptor accepts no more sessions.
    pub const BUSY: Self = Self(8);
    /// The initiator is not admitted.
    pub const UNAUTHORISED: Self = Self(9);
    /// The acceptor shuts down.
    pub const GOING_AWAY: Self = Self(10);
    /// A subscriber fell so far behind its publisher that the publisher no longer holds the next events.
    pub const BEHIND: Self = Self(11);
    /// The first code of the range for applications.
    pub const APPLICATION: Self = Self(64);

    /// The name in the specification, if it has one.
    pub fn name(self) -> Option<&'static str> {
        const NAMES: [&str; 12] = [
            "done",
            "malformed",
            "limit_exceeded",
            "violation",
            "gave_up",
            "version",
            "unknown_session",
            "wrong_token",
            "busy",
            "unauthorised",
            "going_away",
            "behind",
        ];
        NAMES.get(self.0 as usize).copied()
    }
}

impl fmt::Display for CloseCode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => formatter.write_str(name),
            None => write!(formatter, "code {}", self.0),
        }
    }
}

/// The side that ended the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClosedBy {
    /// This side closed the session, by a call or because the peer broke a rule.
    Us,
    /// The peer closed the session.
    Peer,
    /// No answer arrived in time.
    Silence,
}

impl fmt::Display for ClosedBy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            ClosedBy::Us => "this side closed the session",
            ClosedBy::Peer => "the peer closed the session",
            ClosedBy::Silence => "the session ended because the peer did not answer",
        })
    }
}

/// The end of a session.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{by}: {code}: {reason}")]
pub struct Closed {
    /// A code of the specification, or the application's own.
    pub code: CloseCode,
    /// The reason, for people.
    pub reason: String,
    /// The side that ended the session.
    pub by: ClosedBy,
}

/// A rule that the peer broke. The session closes with this code and reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Broken {
    pub(crate) code: CloseCode,
    pub(crate) reason: &'static str,
}

impl Broken {
    pub(crate) fn limit(reason: &'static str) -> Self {
        Self { code: CloseCode::LIMIT_EXCEEDED, reason }
    }

    pub(crate) fn violation(reason: &'static str) -> Self {
        Self { code: CloseCode::VIOLATION, reason }
    }
}

/// The reason why a call was refused. The caller is at fault, or must wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The lane holds its maximum of entries or bytes. Put again after the peer has received some of them.
    #[error("the lane is full")]
    Full,
    /// The message is larger than the peer accepts.
    #[error("message of {bytes} bytes; at most {bytes_max} are accepted")]
    TooLarge {
        /// The size of the message.
        bytes: usize,
        /// The limit.
        bytes_max: usize,
    },
    /// There is no such lane.
    #[error("no lane {lane}; there are {lanes}")]
    NoLane {
        /// The requested lane.
        lane: u8,
        /// The number of lanes.
        lanes: u8,
    },
    /// Key 0 is reserved for events; keys of states are greater than 0.
    #[error("key 0 is reserved for events")]
    KeyZero,
    /// The session is closed.
    #[error("the session is closed")]
    Closed,
}
