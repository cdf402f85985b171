//! Moments in the studio: paused copies of rooms at an earlier step.

use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use nowcast_room::{ReplayRequest, RequestedMoment, SavedMoment, StudioError};
use serde::Deserialize;
use serde_json::json;
use tokio::sync::oneshot::Receiver;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::error::ApiError;
use super::files::{blocking, folder};
use super::read_request::read_request;
use super::{Answer, ApiRequest, MOMENT_PATIENCE, audited, no_route, ok};
use crate::shared::Shared;

/// Maximum characters of the name of a test.
const TEST_NAME_MAX: usize = 48;

/// Bytes of base64 in one line of a generated module.
const LINE_BYTES: usize = 120;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct NewMoment {
    step: Option<u64>,
    seconds_ago: Option<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Steps {
    steps: i64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewTest {
    name: String,
}

/// Answers `GET rooms/{room}/history`.
pub(super) async fn history(shared: &Arc<Shared>, room: &str) -> Answer {
    let (moments, room) = (Arc::clone(&shared.studio.moments), room.to_owned());
    let answer = spawn_blocking(move || moments.history(&room)).await;
    ok(answer.map_err(|_| ApiError::unreadable("the history cannot be read"))??)
}

/// Answers `POST rooms/{room}/moments`.
pub(super) async fn create(shared: &Arc<Shared>, request: &ApiRequest, room: &str) -> Answer {
    let at = match request.read()? {
        NewMoment { step: Some(step), seconds_ago: None } => RequestedMoment::Step(step),
        NewMoment { step: None, seconds_ago: Some(seconds) } => {
            let ago = Duration::try_from_secs_f64(seconds);
            RequestedMoment::Ago(
                ago.map_err(|_| ApiError::invalid("'secondsAgo' must be a number from 0 on"))?,
            )
        }
        _ => return Err(ApiError::invalid("the body needs either 'step' or 'secondsAgo'")),
    };
    let json = wait(shared.studio.moments.create(room, at)?).await??;
    Ok((StatusCode::CREATED, json))
}

/// Answers a request below `moments`.
pub(super) async fn answer(shared: &Arc<Shared>, request: &ApiRequest, rest: &[&str]) -> Answer {
    let moments = &shared.studio.moments;
    let method = request.method.as_str();
    match (method, rest) {
        ("GET", []) => {
            let mut listed = Vec::new();
            for id in moments.list() {
                // A moment may end while the others are described.
                if let Ok(answer) = moments.describe(id)
                    && let Ok(Ok(json)) = wait(answer).await
                {
                    listed.push(json);
                }
            }
            ok(json!({ "moments": listed }))
        }
        ("GET", ["compare"]) => {
            let (a, b) = (request.number("a", 0)?, request.number("b", 0)?);
            match timeout(MOMENT_PATIENCE, moments.compare(a, b)).await {
                Ok(answer) => ok(answer?),
                Err(_) => Err(ApiError::busy("the moments did not answer in time")),
            }
        }
        (_, [id, rest @ ..]) => {
            let id = id.parse().map_err(|_| ApiError::invalid(format!("'{id}' is not an id")))?;
            match (method, rest) {
                ("GET", []) => ok(wait(moments.describe(id)?).await??),
                ("GET", rest) => ok(wait(moments.read(id, read_request(request, rest)?)?).await??),
                ("DELETE", []) if moments.close(id) => ok(json!({ "ok": true })),
                ("DELETE", []) => Err(ApiError::not_found(format!("there is no moment {id}"))),
                ("POST", ["step"]) => {
                    let Steps { steps } = request.read()?;
                    ok(wait(moments.step(id, steps)?).await??)
                }
                ("POST", ["replay"]) => {
                    let asked: ReplayRequest = request.read()?;
                    ok(wait(moments.replay(id, asked)?).await??)
                }
                ("POST", ["test"]) => {
                    let NewTest { name } = request.read()?;
                    check_test_name(&name)?;
                    let detail = json!({ "name": name });
                    let written = write_test(shared, id, name);
                    audited(shared, request, "write_test", format!("moments/{id}"), detail, written).await
                }
                _ => Err(no_route(request)),
            }
        }
        _ => Err(no_route(request)),
    }
}

/// Waits for the thread of a moment for a limited time.
async fn wait<T>(answer: Receiver<T>) -> Result<T, ApiError> {
    match timeout(MOMENT_PATIENCE, answer).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(_)) => Err(StudioError::NotFound("the moment has ended".into()).into()),
        Err(_) => Err(ApiError::busy("the moment did not answer in time")),
    }
}

fn check_test_name(name: &str) -> Result<(), ApiError> {
    let is_character = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte);
    if (1..=TEST_NAME_MAX).contains(&name.len()) && name.bytes().all(is_character) {
        Ok(())
    } else {
        Err(ApiError::invalid(format!("the name of a test has 1 to {TEST_NAME_MAX} of a-z 0-9 - _")))
    }
}

/// Writes the saved moment and a test that restores it.
async fn write_test(shared: &Arc<Shared>, id: u64, name: String) -> Answer {
    let saved = wait(shared.studio.moments.save(id)?).await??;
    let files = folder(shared, &saved.world)?;
    let (test, moment) = (format!("tests/{name}.luau"), format!("moments/{name}.luau"));
    let (test_text, moment_text) = (test_module(&name, &saved), moment_module(&saved));
    let max = nowcast_script::Limits::DEFAULT.module_bytes_max;
    if moment_text.len() > max {
        let message = format!("the moment takes {} bytes, and a module has {max} at most", moment_text.len());
        return Err(ApiError::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "too_large",
            message,
            "save a smaller world",
        ));
    }
    let paths = json!({ "test": test, "moment": moment });
    blocking(move || {
        files.write_generated(&moment, &moment_text)?;
        files.write_generated(&test, &test_text)
    })
    .await?;
    Ok((StatusCode::CREATED, paths))
}

fn test_module(name: &str, saved: &SavedMoment) -> String {
    let SavedMoment { room, tick, .. } = saved;
    format!(
        "-- The world of room {room} at step {tick}. The case fails if a hook raises an error. Add what must hold.\n\
         local test = require(\"@nowcast/test\")\n\
         local moment = require(\"../moments/{name}\")\n\n\
         test.case(\"{name}\", function()\n\
         \ttest.step(60)\n\
         end, moment)\n"
    )
}

fn moment_module(saved: &SavedMoment) -> String {
    let SavedMoment { room, tick, snapshot, .. } = saved;
    let encoded = STANDARD.encode(snapshot);
    let mut text = format!("-- The world of room {room} at step {tick}, for tests.\nreturn [[\n");
    for line in encoded.as_bytes().chunks(LINE_BYTES) {
        text.push_str(&String::from_utf8_lossy(line));
        text.push('\n');
    }
    text.push_str("]]\n");
    text
}
