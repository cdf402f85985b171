//! Reasons for refusing a client: one type for all protocols, with code, cause and cure.

use std::time::Duration;

use axum::http::StatusCode;
use nowcast::AcceptRefusal;
use nowcast::admission::AdmissionRefusal;
use nowcast::endpoint::{RefusalAnswer, UpgradeError};
use nowcast_world_protocol::ROOM_NAME_BYTES_MAX;

/// The reason for refusing a client. Its text is the cause; [`Refusal::cure`] is the cure.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    #[error("this address speaks WebSocket")]
    NotWebSocket,
    #[error(transparent)]
    Upgrade(UpgradeError),
    #[error("bad parameter: {0}")]
    Parameter(String),
    #[error(transparent)]
    Admission(AdmissionRefusal),
    #[error("a program needs a token with the role 'program' here")]
    NoProgram,
    #[error("this address joins too often")]
    JoinsTooOften,
    #[error("only this machine enters here")]
    LocalService,
    #[error("{}", RefusalAnswer::from(*.0).cause)]
    Sessions(AcceptRefusal),
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
    #[error("the world of room '{0}' cannot be loaded; the server's log has the cause and the cure")]
    NotLoaded(String),
    #[error("viewing history requires the role 'editor'")]
    NotEditor,
    #[error("this server keeps no worlds, so it has no history to view")]
    NoStore,
    #[error("no history of room '{0}' is stored, so there is nothing to view")]
    NotKept(String),
    #[error("{rooms_max} rooms already show history (limit {rooms_max})")]
    TooManyPast { rooms_max: usize },
    #[error("the history of room '{room}' cannot be shown: {cause}")]
    PastNotLoaded { room: String, cause: String },
    #[error("room '{room}' was ended: a step of its world took longer than {} s. Its author can spread the work over several steps", step_max.as_secs_f32())]
    Stopped { room: String, step_max: Duration },
    #[error("the server is shutting down")]
    ShuttingDown,
    #[error("the server cannot open another room: {0}")]
    NoThread(String),
}

/// The constant parts of a refusal.
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
    /// The one table of refusals.
    fn row(&self) -> Row {
        let row = |code, status, label, cure| Row { code, status, label, cure };
        match self {
            Self::NotWebSocket => {
                row("bad_request", 426, "not_websocket", "connect with a WebSocket client (version 13)")
            }
            Self::Upgrade(error) => row(
                "bad_request",
                error.status().as_u16(),
                "not_websocket",
                "connect with a WebSocket client",
            ),
            Self::Parameter(_) => row("bad_request", 400, "parameter", ""),
            Self::Admission(refusal) => {
                let label =
                    if matches!(refusal, AdmissionRefusal::Origin(_)) { "origin" } else { refusal.word() };
                let status = RefusalAnswer::from(refusal.clone()).status;
                row(refusal.word(), status, label, refusal.cure())
            }
            Self::NoProgram => row("unauthorised", 403, "no_program", ""),
            Self::JoinsTooOften => row("too_many", 429, "join_rate", "wait a second"),
            Self::LocalService => row(
                "no_such_name",
                404,
                "local_service",
                "give a token, or ask the server's operator to expose the page (--expose)",
            ),
            Self::Sessions(AcceptRefusal::TooMany) => {
                row("too_many", 429, "sessions_per_address_max", "close one first")
            }
            Self::Sessions(AcceptRefusal::Full) => row("full", 503, "sessions_max", "try again later"),
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
            Self::NotEditor => row("unauthorised", 403, "not_editor", "use a token with the role 'editor'"),
            Self::NoStore => row("no_such_name", 404, "not_kept", "enter the room itself"),
            Self::NotKept(_) => row("no_such_name", 503, "not_kept", "enter the room itself"),
            Self::TooManyPast { .. } => row("full", 503, "past_rooms_max", "try again when others have left"),
            Self::Stopped { .. } => {
                row("full", 503, "step_too_long", "enter another room, and inform the author of the world")
            }
            Self::ShuttingDown => row("full", 503, "shutdown", "try again in a moment"),
            Self::NoThread(_) => row("full", 503, "no_thread", "try again in a moment"),
        }
    }

    /// The cure; empty if the cause names it.
    pub(crate) fn cure(&self) -> &'static str {
        self.row().cure
    }

    /// The label in `/metrics`.
    pub(crate) fn label(&self) -> &'static str {
        self.row().label
    }

    /// The status of the answer in the plain protocol.
    pub(crate) fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.row().status).unwrap_or(StatusCode::FORBIDDEN)
    }

    /// The answer to a client on a session.
    pub(crate) fn answer(&self) -> RefusalAnswer {
        let Row { code, cure, .. } = self.row();
        RefusalAnswer::new(code, self.to_string(), cure)
    }

    /// Cause and cure in one line.
    pub(crate) fn line(&self) -> String {
        match (self, self.cure()) {
            // The cause names the cure.
            (Self::Upgrade(_), _) | (_, "") => self.to_string(),
            (_, cure) => format!("{self}: {cure}"),
        }
    }
}

/// The cure for a world that cannot be loaded.
const READ_THE_LOG: &str = "enter another room, and ask the server's operator to read its log";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_protocols_answer_with_the_same_cause_and_cure() {
        for refusal in [
            Refusal::JoinsTooOften,
            Refusal::NotEditor,
            Refusal::NoStore,
            Refusal::Full { room: "plaza".into(), players_max: 2 },
            Refusal::Admission(AdmissionRefusal::NotEncrypted),
            Refusal::Sessions(AcceptRefusal::TooMany),
        ] {
            let answer = refusal.answer();
            assert_eq!(format!("{}: {}", answer.cause, answer.cure), refusal.line());
            assert!(refusal.status().is_client_error() || refusal.status().is_server_error());
            assert_ne!(answer.error, "", "{refusal}");
        }
    }
}
