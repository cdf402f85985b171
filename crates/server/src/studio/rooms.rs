//! Rooms in the studio.

use std::sync::Arc;
use std::time::Duration;

use axum::http::Method;
use nowcast_room::{Audience, COMMANDS_MAX, StudioCommand, StudioError, StudioRequest, StudioRoom};
use serde::Deserialize;
use serde_json::{Value as Json, json};
use tokio::time::timeout;

use super::error::ApiError;
use super::read_request::{id, read_request};
use super::{Answer, ApiRequest, ROOM_PATIENCE, audited, no_route, ok};
use crate::shared::Shared;

/// The default number of steps of a profile.
const PROFILE_STEPS: u64 = 120;

/// Maximum number of steps of a profile.
const PROFILE_STEPS_MAX: u64 = 600;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Commands {
    commands: Vec<StudioCommand>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Act {
    player: u32,
    action: String,
    #[serde(default)]
    arguments: Json,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "camelCase")]
struct Disconnect {
    reason: String,
    ban_s: Option<u32>,
}

/// Lists open rooms and worlds.
pub(super) fn list(shared: &Shared) -> Answer {
    ok(json!({
        "rooms": shared.rooms.list(Audience::Operators),
        "worlds": shared.rooms.worlds(Audience::Operators),
        "roomsMax": shared.config.limits.rooms_max,
    }))
}

/// Answers a request below `rooms/{room}`.
pub(super) async fn answer(shared: &Arc<Shared>, request: &ApiRequest, name: &str, rest: &[&str]) -> Answer {
    if let (&Method::GET, ["history"]) = (&request.method, rest) {
        return super::moments::history(shared, name).await;
    }
    if let (&Method::POST, ["moments"]) = (&request.method, rest) {
        return super::moments::create(shared, request, name).await;
    }
    let Some(room) = shared.rooms.studio(name) else {
        return Err(ApiError::not_found(format!("room '{name}' is not open")));
    };
    let asked = match (request.method.as_str(), rest) {
        ("GET", []) => StudioRequest::Room,
        ("GET", ["log"]) => return ok(room.log(request.number("after", 0)?)),
        ("GET", ["clients"]) => StudioRequest::Clients,
        ("GET", ["clients", player]) => StudioRequest::Client(id(player)?),
        ("GET", ["profile"]) => {
            let steps = request.number("steps", PROFILE_STEPS)?.clamp(1, PROFILE_STEPS_MAX);
            StudioRequest::Profile { steps: usize::try_from(steps).unwrap_or_default() }
        }
        ("GET", rest) => read_request(request, rest)?,
        ("POST", ["commands"]) => return run_commands(shared, request, name, &room).await,
        ("POST", ["act"]) => {
            let Act { player, action, arguments } = request.read()?;
            let (target, detail) = (format!("rooms/{name}"), request.body.clone());
            let asked = ask(&room, StudioRequest::Act { player, action, arguments });
            return audited(shared, request, "act", target, detail, asked).await;
        }
        ("DELETE", ["clients", player]) => {
            let player = id(player)?;
            let Disconnect { reason, ban_s } =
                if request.body.is_null() { Disconnect::default() } else { request.read()? };
            let target = format!("rooms/{name}/clients/{player}");
            let detail = json!({ "reason": reason, "banS": ban_s });
            let ban = ban_s.map(|seconds| Duration::from_secs(seconds.max(1).into()));
            let asked = ask(&room, StudioRequest::Disconnect { player, reason, ban });
            return audited(shared, request, "disconnect", target, detail, asked).await;
        }
        _ => return Err(no_route(request)),
    };
    ask(&room, asked).await
}

async fn run_commands(shared: &Shared, request: &ApiRequest, name: &str, room: &StudioRoom) -> Answer {
    let Commands { commands } = request.read()?;
    if !(1..=COMMANDS_MAX).contains(&commands.len()) {
        return Err(ApiError::invalid(format!("a request has 1 to {COMMANDS_MAX} commands")));
    }
    let detail = request.body.clone();
    let asked = ask(room, StudioRequest::Commands(commands));
    audited(shared, request, "commands", format!("rooms/{name}"), detail, asked).await
}

/// Asks the room's thread, and waits for a limited time.
async fn ask(room: &StudioRoom, request: StudioRequest) -> Answer {
    let answer = room.ask(request)?;
    let json: Result<Json, StudioError> = match timeout(ROOM_PATIENCE, answer).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(_)) => return Err(ApiError::not_found("the room has ended")),
        Err(_) => return Err(ApiError::busy("the room did not answer in time")),
    };
    ok(json?)
}
