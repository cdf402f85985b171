//! The reasons for refusing a client. Each refusal has a code, a cause, and a text that says how to resolve it (`cure`). All
//! protocols use this type.

use std::time::Duration;

use nowcast_world_protocol::ROOM_NAME_BYTES_MAX;

/// The reason for refusing a client. The text states the cause. [`Refusal::cure`] says how to resolve the refusal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The request does not ask for a WebSocket.
    #[error("this address accepts only WebSocket connections")]
    NotWebSocket,
    /// The request for a WebSocket is invalid. The text says how to correct the request.
    #[error("{cause}")]
    Upgrade {
        /// The cause, and how to correct the request.
        cause: String,
        /// The status of the answer.
        status: u16,
    },
    /// A parameter of the address is invalid. The text says how to correct the parameter.
    #[error("bad parameter: {0}")]
    Parameter(String),
    /// The endpoint does not admit the client, because of its page, its token, its encryption or its number of sessions.
    #[error("{}", .0.cause)]
    Admission(Box<AdmissionAnswer>),
    /// The client asks to join as a program, but its token lacks the role.
    #[error("a program needs a token with the role 'program' here")]
    NoProgram,
    /// The address joins rooms faster than allowed.
    #[error("this address joins too often")]
    JoinsTooOften,
    /// The service admits only clients of this machine.
    #[error("only clients on this machine are admitted here")]
    LocalService,
    /// The name is not the name of a room.
    #[error("room name '{0}' is not 1 to {ROOM_NAME_BYTES_MAX} of a-z 0-9 - _")]
    BadName(String),
    /// The room already has the maximum number of players.
    #[error("room '{room}' is full, {players_max} players are in it")]
    Full {
        /// The name of the room.
        room: String,
        /// The limit.
        players_max: usize,
    },
    /// The room already has the maximum number of players from one address.
    #[error("room '{room}' has {players_max} players from this address already (limit {players_max})")]
    FullOfAddress {
        /// The name of the room.
        room: String,
        /// The limit of the address.
        players_max: usize,
    },
    /// The maximum number of rooms is already open.
    #[error("room limit reached: {rooms_max} rooms are open (limit {rooms_max})")]
    TooManyRooms {
        /// The limit.
        rooms_max: usize,
    },
    /// The address already has the maximum number of open rooms.
    #[error("room limit reached: this address already has {rooms_max} open rooms (limit {rooms_max})")]
    TooManyOfAddress {
        /// The limit of the address.
        rooms_max: usize,
    },
    /// The address opens rooms faster than allowed.
    #[error("this address opens rooms too often")]
    OpensTooOften,
    /// The stored world of the room cannot be loaded.
    #[error("the world of room '{0}' cannot be loaded; the server's log has the cause and the cure")]
    NotLoaded(String),
    /// Another server of the cluster owns the room.
    #[error("another server of the cluster has room '{room}'")]
    Elsewhere {
        /// The name of the room.
        room: String,
        /// The address of the same request at the owner.
        address: String,
    },
    /// The client asks for the history of a room, but is not an editor.
    #[error("viewing history requires the role 'editor'")]
    NotEditor,
    /// The server stores no worlds.
    #[error("this server keeps no worlds, so it has no history to view")]
    NoStore,
    /// The room has no stored history.
    #[error("no history of room '{0}' is stored, so there is nothing to view")]
    NotKept(String),
    /// The maximum number of rooms already shows history.
    #[error("{rooms_max} rooms already show history (limit {rooms_max})")]
    TooManyPast {
        /// The limit.
        rooms_max: usize,
    },
    /// The stored history of the room cannot be read.
    #[error("the history of room '{room}' cannot be shown: {cause}")]
    PastNotLoaded {
        /// The name of the room.
        room: String,
        /// The error of the store or of the rules.
        cause: String,
    },
    /// A step of the room's world took too long.
    #[error("room '{room}' was ended: a step of its world took longer than {} s. Its author can spread the work over several steps", step_max.as_secs_f32())]
    Stopped {
        /// The name of the room.
        room: String,
        /// The limit of a step.
        step_max: Duration,
    },
    /// Another room holds the account of the client and does not answer.
    #[error("another room still uses the account")]
    AccountBusy,
    /// The stored data of the client's account cannot be read.
    #[error("the saved data of the account cannot be read")]
    AccountNotLoaded,
    /// The server shuts down.
    #[error("the server is shutting down")]
    ShuttingDown,
    /// The system cannot create a thread for another room.
    #[error("the server cannot open another room: {0}")]
    NoThread(String),
}

/// The answer of an endpoint to a client that it does not admit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdmissionAnswer {
    /// The error code on sessions (`spec/CARRIERS.md`, section 2).
    pub code: &'static str,
    /// The status of the answer in the plain protocol (`spec/PLAIN.md`, section 1).
    pub status: u16,
    /// The label in `/metrics`.
    pub label: &'static str,
    /// The cause. `cure` says how to resolve it.
    pub cause: String,
    /// How to resolve the refusal.
    pub cure: &'static str,
}

/// The parts of a refusal that do not depend on its values.
struct Row {
    /// The error code on sessions (`spec/CARRIERS.md`, section 2).
    code: &'static str,
    /// The status of the answer in the plain protocol (`spec/PLAIN.md`, section 1).
    status: u16,
    /// The label in `/metrics`.
    label: &'static str,
    cure: &'static str,
}

impl Refusal {
    /// The table of all refusals.
    fn row(&self) -> Row {
        let row = |code, status, label, cure| Row { code, status, label, cure };
        match self {
            Self::NotWebSocket => {
                row("bad_request", 426, "not_websocket", "connect with a WebSocket client (version 13)")
            }
            Self::Upgrade { status, .. } => {
                row("bad_request", *status, "not_websocket", "connect with a WebSocket client")
            }
            Self::Parameter(_) => row("bad_request", 400, "parameter", ""),
            Self::Admission(answer) => row(answer.code, answer.status, answer.label, answer.cure),
            Self::NoProgram => row("unauthorised", 403, "no_program", ""),
            Self::JoinsTooOften => row("too_many", 429, "join_rate", "wait a second"),
            Self::LocalService => row(
                "no_such_name",
                404,
                "local_service",
                "give a token, or ask the server's operator to expose the page (--expose)",
            ),
            Self::BadName(_) => row("no_such_name", 400, "parameter", "choose another name, such as plaza"),
            Self::Full { .. } => row("full", 503, "room_full", "try again later, or enter another room"),
            Self::FullOfAddress { .. } => row(
                "too_many",
                503,
                "players_per_address_max",
                "leave with another client first, or raise --players-per-address-max",
            ),
            Self::TooManyRooms { .. } => {
                row("full", 503, "rooms_max", "enter one that is open (/api/rooms), or raise --rooms-max")
            }
            Self::TooManyOfAddress { .. } => row(
                "full",
                503,
                "rooms_per_address_max",
                "leave one, enter one that is open (/api/rooms), or raise --rooms-per-address-max",
            ),
            Self::OpensTooOften => row(
                "too_many",
                429,
                "rooms_opened_rate",
                "wait 15 seconds, or enter a room that is open (/api/rooms)",
            ),
            Self::NotLoaded(_) => row("full", 503, "not_loaded", READ_THE_LOG),
            Self::PastNotLoaded { .. } => row("full", 503, "past_not_loaded", READ_THE_LOG),
            Self::Elsewhere { .. } => row("full", 307, "elsewhere", "follow the Location of this answer"),
            Self::NotEditor => row("unauthorised", 403, "not_editor", "use a token with the role 'editor'"),
            Self::NoStore => row("no_such_name", 404, "not_kept", "enter the room itself"),
            Self::NotKept(_) => row("no_such_name", 503, "not_kept", "enter the room itself"),
            Self::TooManyPast { .. } => row("full", 503, "past_rooms_max", "try again when others have left"),
            Self::Stopped { .. } => {
                row("full", 503, "step_too_long", "enter another room, and inform the author of the world")
            }
            Self::AccountBusy => row("full", 503, "account_busy", "try again in a moment"),
            Self::AccountNotLoaded => row("full", 503, "account_not_loaded", READ_THE_LOG),
            Self::ShuttingDown => row("full", 503, "shutdown", "try again in a moment"),
            Self::NoThread(_) => row("full", 503, "no_thread", "try again in a moment"),
        }
    }

    /// The error code on sessions (`spec/CARRIERS.md`, section 2).
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.row().code
    }

    /// Returns the text that says how to resolve the refusal. Empty if the text of the cause already says this.
    #[must_use]
    pub fn cure(&self) -> &'static str {
        self.row().cure
    }

    /// The label in `/metrics`.
    #[must_use]
    pub fn label(&self) -> &'static str {
        self.row().label
    }

    /// The HTTP status of the answer in the plain protocol (`spec/PLAIN.md`, section 1).
    #[must_use]
    pub fn status(&self) -> u16 {
        self.row().status
    }

    /// Returns the cause and how to resolve it, in one line.
    #[must_use]
    pub fn line(&self) -> String {
        match (self, self.cure()) {
            // The text of the cause already says how to resolve it.
            (Self::Upgrade { .. }, _) | (_, "") => self.to_string(),
            (_, cure) => format!("{self}: {cure}"),
        }
    }
}

/// The advice for a client whose world cannot be loaded.
const READ_THE_LOG: &str = "enter another room, and ask the server's operator to read its log";
