//! Why somebody is not let into a room.

use crate::room_name::ROOM_NAME_BYTES_MAX;

/// Why somebody is not let into a room.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RoomRefusal {
    #[error("room name '{0}' is not 1 to {ROOM_NAME_BYTES_MAX} of a-z 0-9 - _")]
    BadName(String),
    #[error("room '{room}' is full, {players_max} players are in it")]
    Full { room: String, players_max: usize },
    #[error("there are {rooms_max} rooms already, join one of them (/api/rooms)")]
    TooManyRooms { rooms_max: usize },
    #[error(
        "this address has opened {rooms_max} rooms, as many as one may: join one that is open (/api/rooms)"
    )]
    TooManyOfAddress { rooms_max: usize },
    #[error("the server is shutting down")]
    ShuttingDown,
    #[error("the server cannot open another room: {0}")]
    NoThread(String),
}

impl RoomRefusal {
    /// The label in `/metrics`.
    pub(crate) fn label(&self) -> &'static str {
        match self {
            Self::BadName(_) => "parameter",
            Self::Full { .. } => "room_full",
            Self::TooManyRooms { .. } => "rooms_max",
            Self::TooManyOfAddress { .. } => "rooms_per_address_max",
            Self::ShuttingDown => "shutdown",
            Self::NoThread(_) => "no_thread",
        }
    }
}
