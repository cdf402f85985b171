//! The reasons why a client's connection ends (`spec/PLAIN.md`, section 5).

use std::borrow::Cow;

use nowcast_world_protocol::plain::{DecodeError, OutOfBounds};
use nowcast_world_protocol::session::PROTOCOL;

use crate::refusal::Refusal;

/// Maximum bytes of the reason. A close frame's payload has at most 125 bytes, and two of them are the code (RFC 6455,
/// section 5.5).
const REASON_BYTES_MAX: usize = 123;

/// The text for the limit of refused actions in [`Closing::TooMany`].
pub const REFUSED_ACTIONS: &str = "refused actions: at most 4 a second, 40 at once";

/// The reason why a client's connection ends.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Closing {
    /// The client closed.
    #[error("bye")]
    Bye,
    /// The connection broke off without a close frame.
    #[error("vanished")]
    Vanished,
    /// The server shuts down.
    #[error("server is shutting down")]
    ShuttingDown,
    /// The client broke the WebSocket protocol.
    #[error("protocol error: {0}")]
    Protocol(String),
    /// The client sent a text frame that is not UTF-8.
    #[error("text is not UTF-8")]
    NotUtf8,
    /// The client sent a message that is too large.
    #[error("message too large")]
    TooLarge,
    /// The client sent many bytes without completing a message.
    #[error("message without end")]
    Endless,
    /// The client sent a message that cannot be decoded.
    #[error("malformed: {0}")]
    Malformed(DecodeError),
    /// The client sent a message with a field out of bounds.
    #[error("out of bounds: {0}")]
    OutOfBounds(OutOfBounds),
    /// The client sent too many messages of a kind. The text states the kind and its limit.
    #[error("too many messages: {0}; send fewer")]
    TooMany(Cow<'static, str>),
    /// The client did not read its messages.
    #[error("too slow")]
    TooSlow,
    /// The client sent nothing for too long.
    #[error("idle")]
    Idle,
    /// The room ended before the client joined it.
    #[error("the room has just closed, join again")]
    RoomGone,
    /// An admitted session got no seat. The plain protocol refuses such a client before the connection begins.
    #[error("{}", .0.line())]
    Refused(Refusal),
    /// The client on a session uses another version of the world protocol.
    #[error("version {0} of the world's protocol, this server speaks {PROTOCOL}")]
    Version(u32),
    /// The client asked to join as a program without permission. The plain protocol refuses such a client before the
    /// connection begins.
    #[error("{}", Refusal::NoProgram)]
    NoProgram,
    /// The same client joined again on another connection.
    #[error("the same client joined again on another connection")]
    Replaced,
    /// The client's account joined another room of the same world.
    #[error("your account joined another room of this world")]
    Elsewhere,
    /// The client's proof of its identity is not valid for this session.
    #[error("the proof of the identity is not valid for this session")]
    BadIdentity,
    /// The client is banned. The text has the end of the ban and its reason.
    #[error("{0}")]
    Banned(String),
    /// The rules of the world removed the client, for this reason.
    #[error("the world removed you{}", if .0.is_empty() { String::new() } else { format!(": {}", .0) })]
    Kicked(String),
    /// The client's single-use token was already used by another client.
    #[error("the token has been used by another client: ask for a new one")]
    TokenUsed,
}

impl Closing {
    /// The code of the close frame, the code of a session's CLOSE, and the label in `/metrics`.
    fn row(&self) -> (u16, u32, &'static str) {
        match self {
            Self::Bye => (1000, 0, "bye"),
            // Reserved by RFC 6455 for an end without a close frame. It is only counted, never sent.
            Self::Vanished => (1006, 0, "vanished"),
            Self::ShuttingDown => (1001, 10, "shutdown"),
            Self::Protocol(_) => (1002, 64, "protocol"),
            Self::NotUtf8 => (1007, 64, "utf8"),
            Self::TooLarge => (1009, 64, "too_large"),
            Self::Endless => (1009, 64, "endless"),
            Self::Malformed(_) => (4000, 64, "malformed"),
            Self::OutOfBounds(_) => (4001, 65, "out_of_bounds"),
            Self::TooMany(_) => (4008, 66, "rate"),
            Self::TooSlow => (4009, 67, "too_slow"),
            Self::Idle => (4010, 68, "idle"),
            Self::RoomGone => (1001, 69, "room_gone"),
            Self::Refused(refusal) => (4011, 70, refusal.label()),
            Self::Version(_) => (4012, 5, "version"),
            Self::NoProgram => (4013, 71, "no_program"),
            Self::Replaced => (4014, 72, "replaced"),
            Self::Elsewhere => (4014, 72, "elsewhere"),
            Self::Banned(_) => (4015, 73, "banned"),
            Self::TokenUsed => (4016, 74, "token_used"),
            Self::Kicked(_) => (4017, 75, "kicked"),
            Self::BadIdentity => (4018, 76, "identity"),
        }
    }

    /// The code of the close frame (`spec/PLAIN.md`, section 5).
    pub fn code(&self) -> u16 {
        self.row().0
    }

    /// The close code on sessions (`spec/WORLD.md`, section 7).
    pub fn session_code(&self) -> u32 {
        self.row().1
    }

    /// The label in `/metrics`.
    pub fn label(&self) -> &'static str {
        self.row().2
    }

    /// Whether the room's last messages arrive before the end. A client of a room that moves joins at another server, which does
    /// not send them.
    pub fn delivers(&self) -> bool {
        matches!(self, Self::RoomGone)
    }

    /// Whether the client may reconnect and resume its player in the same state.
    pub fn holds_seat(&self) -> bool {
        matches!(self, Self::Vanished | Self::ShuttingDown | Self::TooSlow | Self::Idle | Self::RoomGone)
    }

    /// The reason in the close frame.
    pub fn reason(&self) -> String {
        shorten(self.to_string())
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

    /// Compares the codes with the tables of the specifications, except the codes that both protocols share with lower
    /// layers.
    #[test]
    fn codes_are_those_of_the_specifications() {
        let plain = include_str!("../../../spec/PLAIN.md");
        let world = include_str!("../../../spec/WORLD.md");
        let text = || "text".to_owned();
        for closing in [
            Closing::Bye,
            Closing::ShuttingDown,
            Closing::Protocol(text()),
            Closing::NotUtf8,
            Closing::TooLarge,
            Closing::Endless,
            Closing::Malformed(DecodeError::UnknownType(text())),
            Closing::TooMany(REFUSED_ACTIONS.into()),
            Closing::TooSlow,
            Closing::Idle,
            Closing::RoomGone,
            Closing::Refused(Refusal::ShuttingDown),
            Closing::Replaced,
            Closing::Elsewhere,
            Closing::Banned(text()),
            Closing::TokenUsed,
            Closing::Kicked(text()),
        ] {
            let (websocket, session, label) = closing.row();
            assert!(plain.contains(&format!("| {websocket} |")), "{label}");
            assert!(session < 64 || world.contains(&format!("| {session} |")), "{label}");
        }
        // In the plain protocol, programs and other versions are refused before a connection begins, and there are no
        // identities, so they have no close code.
        for closing in [Closing::NoProgram, Closing::Version(1), Closing::BadIdentity, Closing::Vanished] {
            let (websocket, session, label) = closing.row();
            assert!(!plain.contains(&format!("| {websocket} |")), "{label}");
            assert!(session < 64 || world.contains(&format!("| {session} |")), "{label}");
        }
    }

    #[test]
    fn a_long_reason_is_cut_between_two_characters() {
        for pad in 0..4 {
            let closing = Closing::Malformed(DecodeError::UnknownType("x".repeat(pad) + &"é日🚀".repeat(40)));
            let reason = closing.reason();
            assert!(reason.len() <= REASON_BYTES_MAX && reason.ends_with('…'), "{reason}");
        }
    }
}
