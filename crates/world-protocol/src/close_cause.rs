//! Causes of a connection's end, and their codes in both protocols (`spec/PLAIN.md`, section 5; `spec/WORLD.md`, section 7).

/// The cause for which the connection of a client ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CloseCause {
    /// The client closed.
    Bye,
    /// The connection ended without a close frame. The cause is only counted, never sent.
    Vanished,
    /// The server shuts down.
    ShuttingDown,
    /// The room ended before the client had joined it.
    RoomGone,
    /// The client broke the WebSocket protocol.
    Protocol,
    /// The client sent a text frame that is not UTF-8.
    NotUtf8,
    /// The client sent a message that is too large.
    TooLarge,
    /// The client sent bytes that are not a message.
    Malformed,
    /// The client sent a field out of its bounds.
    OutOfBounds,
    /// The client sent too many messages.
    TooMany,
    /// The client did not read its messages.
    TooSlow,
    /// The client sent nothing for too long.
    Idle,
    /// The room has no seat for the client, or cannot be opened.
    Refused,
    /// The client speaks another version of the protocol on sessions.
    Version,
    /// The client may not join as a program.
    NoProgram,
    /// The same client joined on another connection.
    Replaced,
    /// The client is banned.
    Banned,
    /// Another client has used the token, which is valid for one client only.
    TokenUsed,
    /// The rules of the world removed the client.
    Kicked,
    /// The client's proof of its identity is not valid.
    BadIdentity,
}

impl CloseCause {
    /// All causes.
    pub const ALL: [Self; 20] = [
        Self::Bye,
        Self::Vanished,
        Self::ShuttingDown,
        Self::RoomGone,
        Self::Protocol,
        Self::NotUtf8,
        Self::TooLarge,
        Self::Malformed,
        Self::OutOfBounds,
        Self::TooMany,
        Self::TooSlow,
        Self::Idle,
        Self::Refused,
        Self::Version,
        Self::NoProgram,
        Self::Replaced,
        Self::Banned,
        Self::TokenUsed,
        Self::Kicked,
        Self::BadIdentity,
    ];

    /// The code of a WebSocket close frame in the plain protocol.
    pub const fn websocket_code(self) -> u16 {
        match self {
            Self::Bye => 1000,
            Self::ShuttingDown | Self::RoomGone => 1001,
            Self::Protocol => 1002,
            // Reserved by RFC 6455 for an end without a close frame.
            Self::Vanished => 1006,
            Self::NotUtf8 => 1007,
            Self::TooLarge => 1009,
            Self::Malformed => 4000,
            Self::OutOfBounds => 4001,
            Self::TooMany => 4008,
            Self::TooSlow => 4009,
            Self::Idle => 4010,
            Self::Refused => 4011,
            Self::Version => 4012,
            Self::NoProgram => 4013,
            Self::Replaced => 4014,
            Self::Banned => 4015,
            Self::TokenUsed => 4016,
            Self::Kicked => 4017,
            Self::BadIdentity => 4018,
        }
    }

    /// The code of a session's CLOSE.
    pub const fn session_code(self) -> u32 {
        match self {
            Self::Bye | Self::Vanished => 0,
            Self::ShuttingDown => 10,
            Self::Version => 5,
            Self::Malformed | Self::Protocol | Self::NotUtf8 | Self::TooLarge => 64,
            Self::OutOfBounds => 65,
            Self::TooMany => 66,
            Self::TooSlow => 67,
            Self::Idle => 68,
            Self::RoomGone => 69,
            Self::Refused => 70,
            Self::NoProgram => 71,
            Self::Replaced => 72,
            Self::Banned => 73,
            Self::TokenUsed => 74,
            Self::Kicked => 75,
            Self::BadIdentity => 76,
        }
    }

    /// Whether the client may join again as the same player.
    pub const fn holds_seat(self) -> bool {
        matches!(self, Self::Vanished | Self::ShuttingDown | Self::TooSlow | Self::Idle | Self::RoomGone)
    }
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
        for cause in CloseCause::ALL {
            let (websocket, session) = (cause.websocket_code(), cause.session_code());
            // In the plain protocol, programs and other versions are refused before a connection begins, and there are no
            // identities, so they have no close code.
            let is_sent = !matches!(
                cause,
                CloseCause::Vanished | CloseCause::NoProgram | CloseCause::Version | CloseCause::BadIdentity
            );
            assert_eq!(plain.contains(&format!("| {websocket} |")), is_sent, "{cause:?}");
            assert!(session < 64 || world.contains(&format!("| {session} |")), "{cause:?}");
        }
    }
}
