//! Commands to rooms by subjects of NATS (`docs/how-to/cluster.md`, "Commands"). Tokens, rights and the audit log are the
//! studio's.

use std::time::Duration;

use axum::http::StatusCode;
use nowcast_room::{COMMANDS_MAX, StudioAnswer, StudioCommand, StudioRequest};
use serde::Deserialize;
use serde_json::{Value as Json, json};
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::access::{Role, role_in_token};
use super::audit::{Audit, Change};
use super::error::ApiError;
use super::{BODY_BYTES_MAX, ROOM_PATIENCE};
use crate::shared::Shared;

/// The version of the schema.
const VERSION: u32 = 1;

/// The code of a command that was carried out.
pub(crate) const DONE: &str = "done";

/// The code of a command over the rate.
const TOO_OFTEN: &str = "too_often";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    version: u32,
    token: String,
    command: Json,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
enum Command {
    /// Changes the world.
    Edit { edits: Vec<StudioCommand> },
    /// Runs a declared action as a player.
    Act { player: u32, action: String, arguments: Json },
    /// Sends a text to all clients.
    Say { text: String },
    /// Disconnects the client of a player.
    Disconnect {
        player: u32,
        reason: String,
        #[serde(default)]
        ban_s: Option<u32>,
    },
}

impl Command {
    fn read(command: Json) -> Result<Self, ApiError> {
        serde_json::from_value(command).map_err(|error| ApiError::invalid(format!("the command: {error}")))
    }

    fn into_request(self) -> Result<(&'static str, StudioRequest), ApiError> {
        Ok(match self {
            Self::Edit { edits } if !(1..=COMMANDS_MAX).contains(&edits.len()) => {
                return Err(ApiError::invalid(format!("a command has 1 to {COMMANDS_MAX} edits")));
            }
            Self::Edit { edits } => ("commands", StudioRequest::Commands(edits)),
            Self::Act { player, action, arguments } => {
                ("act", StudioRequest::Act { player, action, arguments })
            }
            Self::Say { text } => ("say", StudioRequest::Say { text }),
            Self::Disconnect { player, reason, ban_s } => {
                let ban = ban_s.map(|seconds| Duration::from_secs(seconds.max(1).into()));
                ("disconnect", StudioRequest::Disconnect { player, reason, ban })
            }
        })
    }
}

/// A command that the room was given.
pub(crate) struct Given {
    room: String,
    change: Change,
    done: oneshot::Receiver<StudioAnswer>,
    kept: oneshot::Receiver<StudioAnswer>,
}

/// An answer as JSON, with a code: `done`, or that of the error.
pub(crate) struct Answer {
    pub(crate) code: &'static str,
    pub(crate) bytes: Vec<u8>,
}

impl Answer {
    fn new(code: &'static str, room: &str, rest: Json) -> Self {
        let mut json = json!({ "version": VERSION, "room": room, "ok": code == DONE });
        if let (Some(all), Json::Object(rest)) = (json.as_object_mut(), rest) {
            all.extend(rest);
        }
        Self { code, bytes: serde_json::to_vec(&json).expect("JSON has no keys but texts") }
    }

    fn failed(room: &str, error: &ApiError) -> Self {
        Self::new(error.code(), room, json!({ "error": error.to_json() }))
    }

    /// The answer to a command over the rate of its room.
    pub(crate) fn too_often(room: &str) -> Self {
        let error = ApiError::new(
            StatusCode::TOO_MANY_REQUESTS,
            TOO_OFTEN,
            "this room gets too many commands",
            "wait a second, and send fewer commands",
        );
        Self::failed(room, &error)
    }
}

/// Checks a command, and gives it to the room. Commands are carried out in the order of the calls.
pub(crate) fn give(shared: &Shared, room: &str, body: &[u8]) -> Result<Given, Answer> {
    check_and_give(shared, room, body).map_err(|error| Answer::failed(room, &error))
}

fn check_and_give(shared: &Shared, room: &str, body: &[u8]) -> Result<Given, ApiError> {
    if body.len() > BODY_BYTES_MAX {
        let message = format!("the command has more than {BODY_BYTES_MAX} bytes");
        let cure = "send less at once";
        return Err(ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", message, cure));
    }
    let body: Body = serde_json::from_slice(body)
        .map_err(|error| ApiError::invalid(format!("the message cannot be read: {error}")))?;
    if body.version != VERSION {
        return Err(ApiError::invalid(format!("version {} is not known, only {VERSION}", body.version)));
    }
    let no_key = || ApiError::no_role("this server has no key for tokens");
    let key = shared.config.entry.key.as_ref().ok_or_else(no_key)?;
    let (role, name) = role_in_token(key, &body.token, room)?;
    if role != Role::Editor {
        return Err(ApiError::no_role("a command requires a token with the role 'editor'"));
    }
    let detail = body.command.clone();
    let (action, request) = Command::read(body.command)?.into_request()?;
    let open = shared.rooms.studio(room).ok_or_else(moved)?;
    let (done, kept) = (open.ask(request)?, open.ask(StudioRequest::Kept)?);
    let target = format!("rooms/{room}");
    let change = Change { who: name, address: None, action, target, detail, ok: false };
    Ok(Given { room: room.to_owned(), change, done, kept })
}

impl Given {
    /// Waits until the room has carried out the command and the store has its changes. Records the command in the audit log.
    pub(crate) async fn answer(self, shared: &Shared, epoch: u64) -> Answer {
        let Self { room, mut change, done, kept } = self;
        let answered = carried_out(done, kept, ROOM_PATIENCE).await;
        change.ok = answered.is_ok();
        Audit::record(&shared.studio.audit, change);
        match answered {
            Ok(Json::Object(mut result)) => {
                // The studio names the step so.
                if let Some(step) = result.remove("tick") {
                    result.insert("step".into(), step);
                }
                result.remove("ok");
                result.insert("epoch".into(), epoch.into());
                Answer::new(DONE, &room, Json::Object(result))
            }
            Ok(_) => Answer::new(DONE, &room, json!({ "epoch": epoch })),
            Err(error) => Answer::failed(&room, &error),
        }
    }
}

/// Waits until the room has carried out a command, and then until the store has its changes, for this time each.
async fn carried_out(
    done: oneshot::Receiver<StudioAnswer>,
    kept: oneshot::Receiver<StudioAnswer>,
    patience: Duration,
) -> Result<Json, ApiError> {
    let busy = |_| ApiError::busy("the room did not answer in time");
    // A room that ends drops the requests that wait.
    let result = timeout(patience, done).await.map_err(busy)?.map_err(|_| moved())??;
    match timeout(patience, kept).await {
        Ok(Ok(Ok(Json::Bool(true)))) => Ok(result),
        _ => {
            let message = "the command was carried out, but the store did not confirm it";
            let cure = "read the state of the world, and send the command again if it is missing";
            Err(ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "not_stored", message, cure))
        }
    }
}

/// The error for a room that ends or moves. It has not carried out the command.
fn moved() -> ApiError {
    let message = "the room ends here, or moves to another server";
    ApiError::new(StatusCode::NOT_FOUND, "moved", message, "send the command again")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Command, String> {
        let body: Body = serde_json::from_str(text).map_err(|error| error.to_string())?;
        Command::read(body.command).map_err(|error| error.to_json()["message"].to_string())
    }

    #[test]
    fn commands_with_unknown_or_missing_fields_are_refused() {
        let head = r#""version":1,"token":"t","command":"#;
        for good in [
            r#"{"type":"say","text":"hello"}"#,
            r#"{"type":"act","player":7,"action":"award","arguments":{"points":2}}"#,
            r#"{"type":"disconnect","player":7,"reason":"spam"}"#,
            r#"{"type":"disconnect","player":7,"reason":"spam","ban_s":60}"#,
            r#"{"type":"edit","edits":[{"type":"set_state","key":"weather","value":"rain"}]}"#,
        ] {
            read(&format!("{{{head}{good}}}")).expect(good);
        }
        for (bad, why) in [
            (r#"{"type":"say","text":"hello","loud":true}"#, "unknown field `loud`"),
            (r#"{"type":"say"}"#, "missing field `text`"),
            (r#"{"type":"shutdown"}"#, "unknown variant `shutdown`"),
            (r#"{"type":"edit","edits":[{"type":"set_state","key":"a"}]}"#, "missing field `value`"),
            (r#"{"type":"act","player":-1,"action":"award","arguments":null}"#, "-1"),
            (r#"{"type":"say","text":"a"},"room":"yard""#, "unknown field `room`"),
        ] {
            let refused = read(&format!("{{{head}{bad}}}")).map(drop).expect_err(bad);
            assert!(refused.contains(why), "{refused}");
        }
    }

    #[tokio::test]
    async fn a_command_is_busy_until_it_is_carried_out_and_then_not_stored_until_the_journal_confirms() {
        let patience = Duration::from_millis(20);
        let code = |answer: Result<Json, ApiError>| answer.map_err(|error| error.code());
        let (sender, done) = oneshot::channel();
        let (keeper, kept) = oneshot::channel();
        assert_eq!(code(carried_out(done, kept, patience).await), Err("busy"));
        drop((sender, keeper));
        let carried = || {
            let (sender, done) = oneshot::channel();
            sender.send(Ok(Json::from(7))).expect("it is received");
            done
        };
        let (keeper, kept) = oneshot::channel();
        assert_eq!(code(carried_out(carried(), kept, patience).await), Err("not_stored"));
        drop(keeper);
        let (keeper, kept) = oneshot::channel();
        keeper.send(Ok(Json::Bool(true))).expect("it is received");
        assert_eq!(code(carried_out(carried(), kept, patience).await), Ok(Json::from(7)));
    }

    #[test]
    fn an_empty_list_of_edits_is_refused() {
        let refused = Command::Edit { edits: Vec::new() }.into_request().map(drop);
        assert_eq!(refused.map_err(|error| error.code()), Err("invalid"));
    }
}
