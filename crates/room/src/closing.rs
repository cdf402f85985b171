//! The reasons why a client's connection ends (`spec/PLAIN.md`, section 5).

use nowcast_world_protocol::CloseCause;
use nowcast_world_protocol::plain::{DecodeError, OutOfBounds};
use nowcast_world_protocol::session::PROTOCOL;

use crate::refusal::Refusal;

/// Maximum bytes of the reason. A close frame's payload has at most 125 bytes, and two of them are the code (RFC 6455,
/// section 5.5).
const REASON_BYTES_MAX: usize = 123;

/// The text for the limit of refused actions in [`Closing::TooMany`].
pub const REFUSED_ACTIONS: &str = "refused actions: at most 4 a second, 40 at once";

/// The reason for a client whose single-use token was used by another client.
const TOKEN_USED: &str = "the token has been used by another client: ask for a new one";

/// The reason why a client's connection ends.
#[derive(Clone, Debug, PartialEq)]
pub enum Closing {
    /// The client closed.
    Bye,
    /// The connection broke off without a close frame.
    Vanished,
    /// The server shuts down.
    ShuttingDown,
    /// The client broke the WebSocket protocol.
    Protocol(String),
    /// The client sent a text frame that is not UTF-8.
    NotUtf8,
    /// The client sent a message that is too large.
    TooLarge,
    /// The client sent many bytes without completing a message.
    Endless,
    /// The client sent a message that cannot be decoded.
    Malformed(DecodeError),
    /// The client sent a message with a field out of bounds.
    OutOfBounds(OutOfBounds),
    /// The client sent too many messages of a kind. The text states the kind and its limit.
    TooMany(&'static str),
    /// The client did not read its messages.
    TooSlow,
    /// The client sent nothing for too long.
    Idle,
    /// The room ended before the client joined it.
    RoomGone,
    /// An admitted session got no seat. The plain protocol refuses such a client before the connection begins.
    Refused(Refusal),
    /// The client on a session uses another version of the world protocol.
    Version(u32),
    /// The client asked to join as a program without permission. The plain protocol refuses such a client before the
    /// connection begins.
    NoProgram,
    /// The same client joined again on another connection.
    Replaced,
    /// The client's account joined another room of the same world.
    Elsewhere,
    /// The client's proof of its identity is not valid for this session.
    BadIdentity,
    /// The client is banned. The text has the end of the ban and its reason.
    Banned(String),
    /// The rules of the world removed the client, for this reason.
    Kicked(String),
    /// The client's single-use token was already used by another client.
    TokenUsed,
}

impl Closing {
    /// The cause. Each cause has a code in both protocols.
    pub fn cause(&self) -> CloseCause {
        match self {
            Self::Bye => CloseCause::Bye,
            Self::Vanished => CloseCause::Vanished,
            Self::ShuttingDown => CloseCause::ShuttingDown,
            Self::Protocol(_) => CloseCause::Protocol,
            Self::NotUtf8 => CloseCause::NotUtf8,
            Self::TooLarge | Self::Endless => CloseCause::TooLarge,
            Self::Malformed(_) => CloseCause::Malformed,
            Self::OutOfBounds(_) => CloseCause::OutOfBounds,
            Self::TooMany(_) => CloseCause::TooMany,
            Self::TooSlow => CloseCause::TooSlow,
            Self::Idle => CloseCause::Idle,
            Self::RoomGone => CloseCause::RoomGone,
            Self::Refused(_) => CloseCause::Refused,
            Self::Version(_) => CloseCause::Version,
            Self::NoProgram => CloseCause::NoProgram,
            Self::BadIdentity => CloseCause::BadIdentity,
            Self::Replaced | Self::Elsewhere => CloseCause::Replaced,
            Self::Banned(_) => CloseCause::Banned,
            Self::TokenUsed => CloseCause::TokenUsed,
            Self::Kicked(_) => CloseCause::Kicked,
        }
    }

    /// The code of the close frame.
    pub fn code(&self) -> u16 {
        self.cause().websocket_code()
    }

    /// The close code on sessions.
    pub fn session_code(&self) -> u32 {
        self.cause().session_code()
    }

    /// The label in `/metrics`.
    pub fn label(&self) -> &'static str {
        match self {
            Self::Bye => "bye",
            Self::Vanished => "vanished",
            Self::ShuttingDown => "shutdown",
            Self::Protocol(_) => "protocol",
            Self::NotUtf8 => "utf8",
            Self::TooLarge => "too_large",
            Self::Endless => "endless",
            Self::Malformed(_) => "malformed",
            Self::OutOfBounds(_) => "out_of_bounds",
            Self::TooMany(_) => "rate",
            Self::TooSlow => "too_slow",
            Self::Idle => "idle",
            Self::RoomGone => "room_gone",
            Self::Refused(refusal) => refusal.label(),
            Self::Version(_) => "version",
            Self::NoProgram => "no_program",
            Self::Replaced => "replaced",
            Self::Elsewhere => "elsewhere",
            Self::BadIdentity => "identity",
            Self::Banned(_) => "banned",
            Self::TokenUsed => "token_used",
            Self::Kicked(_) => "kicked",
        }
    }

    /// Whether the client may reconnect and resume its player in the same state.
    pub fn holds_seat(&self) -> bool {
        self.cause().holds_seat()
    }

    /// The reason in the close frame.
    pub fn reason(&self) -> String {
        match self {
            Self::Bye => "bye".into(),
            Self::Vanished => "vanished".into(),
            Self::ShuttingDown => "server is shutting down".into(),
            Self::Protocol(what) => shorten(format!("protocol error: {what}")),
            Self::NotUtf8 => "text is not UTF-8".into(),
            Self::TooLarge => "message too large".into(),
            Self::Endless => "message without end".into(),
            Self::Malformed(error) => shorten(format!("malformed: {error}")),
            Self::OutOfBounds(error) => shorten(format!("out of bounds: {error}")),
            Self::TooMany(limit) => format!("too many messages: {limit}; send fewer"),
            Self::TooSlow => "too slow".into(),
            Self::Idle => "idle".into(),
            Self::RoomGone => "the room has just closed, join again".into(),
            Self::Refused(refusal) => shorten(refusal.line()),
            Self::NoProgram => Refusal::NoProgram.to_string(),
            Self::Version(theirs) => {
                format!("version {theirs} of the world's protocol, this server speaks {PROTOCOL}")
            }
            Self::Replaced => "the same client joined again on another connection".into(),
            Self::BadIdentity => "the proof of the identity is not valid for this session".into(),
            Self::Elsewhere => "your account joined another room of this world".into(),
            Self::Banned(told) => shorten(told.clone()),
            Self::TokenUsed => TOKEN_USED.into(),
            Self::Kicked(reason) if reason.is_empty() => "the world removed you".into(),
            Self::Kicked(reason) => shorten(format!("the world removed you: {reason}")),
        }
    }
}

/// Shortens a reason, at a character boundary, to the maximum that fits in a close frame.
fn shorten(mut reason: String) -> String {
    if reason.len() > REASON_BYTES_MAX {
        let mut end = REASON_BYTES_MAX - "…".len();
        while !reason.is_char_boundary(end) {
            end -= 1;
        }
        reason.truncate(end);
        reason.push('…');
    }
    reason
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_reason_is_cut_between_two_characters() {
        for pad in 0..4 {
            let closing = Closing::Malformed(DecodeError::UnknownType("x".repeat(pad) + &"é日🚀".repeat(40)));
            let reason = closing.reason();
            assert!(reason.len() <= REASON_BYTES_MAX && reason.ends_with('…'), "{reason}");
        }
    }
}
