//! Reasons why a client is not let into a room.

use std::time::Duration;

use crate::room_name::ROOM_NAME_BYTES_MAX;

/// The reason why a client is not let into a room.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RoomRefusal {
    #[error("room name '{0}' is not 1 to {ROOM_NAME_BYTES_MAX} of a-z 0-9 - _")]
    BadName(String),
    #[error("room '{room}' is full, {players_max} players are in it")]
    Full { room: String, players_max: usize },
    #[error("room '{room}' has {players_max} players from this address already (limit {players_max})")]
    FullOfAddress { room: String, players_max: usize },
    #[error("room limit reached: {rooms_max} rooms are open (limit {rooms_max})")]
    TooManyRooms { rooms_max: usize },
    #[error("room limit reached: this address already has {rooms_max} open rooms (limit {rooms_max})")]
    TooManyOfAddress { rooms_max: usize },
    #[error("this address opens rooms too often")]
    OpensTooOften,
    #[error("the world of room '{0}' cannot be loaded; the server's log says why and what helps")]
    NotLoaded(String),
    #[error("viewing history requires the role 'editor'")]
    NotEditor,
    #[error("this server keeps no worlds, so it has no history to view")]
    NoStore,
    #[error("nothing is kept of room '{0}', so it has no history to view")]
    NotKept(String),
    #[error("{rooms_max} rooms already show history (limit {rooms_max})")]
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
    /// What the client can do.
    pub(crate) fn cure(&self) -> &'static str {
        match self {
            Self::BadName(_) => "choose another name, such as plaza",
            Self::Full { .. } => "try again later, or enter another room",
            Self::FullOfAddress { .. } => {
                "leave with another client first, or raise --players-per-address-max"
            }
            Self::TooManyRooms { .. } => "enter one that is open (/api/rooms), or raise --rooms-max",
            Self::TooManyOfAddress { .. } => {
                "leave one, enter one that is open (/api/rooms), or raise --rooms-per-address-max"
            }
            Self::OpensTooOften => "wait 15 seconds, or enter a room that is open (/api/rooms)",
            Self::NotLoaded(_) | Self::PastNotLoaded { .. } => {
                "enter another room, and ask the server's operator to read its log"
            }
            Self::Stopped { .. } => "enter another room, and tell the author of the world",
            Self::NotEditor => "use a token with the role 'editor'",
            Self::NoStore | Self::NotKept(_) => "enter the room itself",
            Self::TooManyPast { .. } => "try again when others have left",
            Self::ShuttingDown | Self::NoThread(_) => "try again in a moment",
        }
    }

    /// The label in `/metrics`.
    pub(crate) fn label(&self) -> &'static str {
        match self {
            Self::BadName(_) => "parameter",
            Self::Full { .. } => "room_full",
            Self::FullOfAddress { .. } => "players_per_address_max",
            Self::TooManyRooms { .. } => "rooms_max",
            Self::TooManyOfAddress { .. } => "rooms_per_address_max",
            Self::OpensTooOften => "rooms_opened_rate",
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
