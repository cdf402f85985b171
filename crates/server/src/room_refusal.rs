//! Why somebody is not let into a room.

use std::time::Duration;

use crate::room_name::ROOM_NAME_BYTES_MAX;

/// Why somebody is not let into a room.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RoomRefusal {
    #[error("room name '{0}' is not 1 to {ROOM_NAME_BYTES_MAX} of a-z 0-9 - _")]
    BadName(String),
    #[error("room '{room}' is full, {players_max} players are in it")]
    Full { room: String, players_max: usize },
    #[error("room '{room}' has {players_max} players from this address already (limit {players_max})")]
    FullOfAddress { room: String, players_max: usize },
    #[error("there are {rooms_max} rooms already, join one of them (/api/rooms)")]
    TooManyRooms { rooms_max: usize },
    #[error(
        "this address has opened {rooms_max} rooms, as many as one may: join one that is open (/api/rooms)"
    )]
    TooManyOfAddress { rooms_max: usize },
    #[error("the world of room '{0}' cannot be loaded; the server's log says why and what helps")]
    NotLoaded(String),
    #[error("only who may edit this world looks back at it")]
    NotEditor,
    #[error("this server keeps no worlds, so nobody can look back")]
    NoStore,
    #[error("nothing is kept of room '{0}', so nobody can look back at it")]
    NotKept(String),
    #[error("{rooms_max} rooms show the past already, as many as may")]
    TooManyPast { rooms_max: usize },
    #[error("room '{room}' cannot be shown as it was: {cause}")]
    PastNotLoaded { room: String, cause: String },
    #[error("room '{room}' was ended: a step of its world took longer than {} s. Its author can spread the work over several steps", step_max.as_secs_f32())]
    Stopped { room: String, step_max: Duration },
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
            Self::FullOfAddress { .. } => "players_per_address_max",
            Self::TooManyRooms { .. } => "rooms_max",
            Self::TooManyOfAddress { .. } => "rooms_per_address_max",
            Self::NotLoaded(_) => "not_loaded",
            Self::NotEditor => "not_editor",
            Self::NoStore | Self::NotKept(_) => "not_kept",
            Self::TooManyPast { .. } => "past_rooms_max",
            Self::PastNotLoaded { .. } => "past_not_loaded",
            Self::Stopped { .. } => "step_too_long",
            Self::ShuttingDown => "shutdown",
            Self::NoThread(_) => "no_thread",
        }
    }
}
