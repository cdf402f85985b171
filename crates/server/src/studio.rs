//! The studio: inspection and editing of worlds over HTTP, below `/studio/api/` (`docs/reference/studio.md`).
//!
//! `access` decides who may ask, and limits the rates. `error` has the form of every error. The other files answer: `rooms`,
//! `files`, `moments` and `history`. `audit` records every change. `subject_commands` runs the commands that arrive over NATS.

mod access;
mod audit;
mod error;
mod files;
mod history;
mod moments;
mod read_request;
mod rooms;
mod state;
#[cfg(feature = "cluster")]
pub(crate) mod subject_commands;

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::{Json as JsonBody, Router};
use nowcast::admission::Peer;
use nowcast_room::now_ms;
use serde::de::DeserializeOwned;
use serde_json::{Value as Json, json};
use tokio::time::interval;

use self::access::{Caller, Role};
use self::audit::{Audit, Change};
use self::error::ApiError;
pub(crate) use self::state::Studio;
use crate::shared::{Host, Shared};

/// The longest body of a request.
const BODY_BYTES_MAX: usize = 64 << 10;

/// The longest body with files of a world.
const FILES_BODY_BYTES_MAX: usize = 1 << 20;

/// Maximum time for a room to answer.
const ROOM_PATIENCE: Duration = Duration::from_secs(2);

/// Maximum time to restore a moment, or to step it.
const MOMENT_PATIENCE: Duration = Duration::from_secs(60);

/// The routes of the studio's interface.
pub(crate) fn router() -> Router<Arc<Shared>> {
    Router::new().route("/studio/api/{*path}", axum::routing::any(answer))
}

/// One request whose access was checked.
struct ApiRequest {
    method: Method,
    /// The parts of the path below `/studio/api/`.
    path: Vec<String>,
    query: Vec<(String, String)>,
    headers: HeaderMap,
    /// The body; null without one.
    body: Json,
    caller: Caller,
}

/// The answer to a request: a status and JSON.
type Answer = Result<(StatusCode, Json), ApiError>;

impl ApiRequest {
    /// Returns a parameter of the query.
    fn parameter(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Reads a number in the query.
    fn number(&self, name: &str, default: u64) -> Result<u64, ApiError> {
        let Some(text) = self.parameter(name).filter(|text| !text.is_empty()) else { return Ok(default) };
        text.parse().map_err(|_| ApiError::invalid(format!("'{name}' must be a number from 0 on")))
    }

    /// Reads the body.
    fn read<T: DeserializeOwned>(&self) -> Result<T, ApiError> {
        serde_json::from_value(self.body.clone())
            .map_err(|error| ApiError::invalid(format!("the body: {error}")))
    }

    /// Refuses a caller without the role `editor`.
    fn check_editor(&self) -> Result<(), ApiError> {
        match self.caller.role {
            Role::Editor => Ok(()),
            Role::Inspector => Err(ApiError::no_role("this change requires a token with the role 'editor'")),
        }
    }
}

/// Answers one request of the interface.
async fn answer(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let answered = match admit(&shared, request).await {
        Ok(request) => respond(&shared, request).await,
        Err(error) => Err(error),
    };
    let mut response = match answered {
        Ok((status, json)) => (status, JsonBody(json)).into_response(),
        Err(error) => {
            shared.metrics.refuse("studio");
            error.into_response()
        }
    };
    response.headers_mut().insert(CACHE_CONTROL, "no-store".parse().expect("the text is a header"));
    response
}

/// Checks access, rate and size, and reads the body.
async fn admit(shared: &Shared, request: Request) -> Result<ApiRequest, ApiError> {
    let studio = &shared.studio;
    let host = Host::of(&request).map(str::to_owned);
    let (parts, body) = request.into_parts();
    let is_change = parts.method != Method::GET;
    let peer = *parts.extensions.get::<Peer>().expect("every request is given its peer");
    if shared.sessions.admission.wants_encryption(peer) {
        return Err(ApiError::no_role("tokens of other machines are accepted over HTTPS only"));
    }
    let caller = studio.access.check(&shared.config.entry, &parts, host.as_deref())?;
    let path = parts.uri.path().trim_start_matches("/studio/api/");
    let path: Vec<String> = path.split('/').map(str::to_owned).collect();
    let query = serde_urlencoded::from_str(parts.uri.query().unwrap_or_default())
        .map_err(|_| ApiError::invalid("the query cannot be read"))?;
    let body = if is_change { read_body(&parts.headers, body, &path).await? } else { Json::Null };
    Ok(ApiRequest { method: parts.method, path, query, headers: parts.headers, body, caller })
}

/// Reads a body of JSON. A body of another type is refused, because a page of another site can send other types without
/// asking.
async fn read_body(headers: &HeaderMap, body: Body, path: &[String]) -> Result<Json, ApiError> {
    let content_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let media_type = content_type.split(';').next().unwrap_or_default().trim();
    if !media_type.eq_ignore_ascii_case("application/json") {
        return Err(ApiError::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "not_json",
            "the body must have the type application/json",
            "send Content-Type: application/json",
        ));
    }
    let max = if path.first().is_some_and(|first| first == "worlds") {
        FILES_BODY_BYTES_MAX
    } else {
        BODY_BYTES_MAX
    };
    let bytes = to_bytes(body, max).await.map_err(|_| {
        let message = format!("the body has more than {max} bytes");
        ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", message, "send less at once")
    })?;
    if bytes.is_empty() {
        return Ok(Json::Null);
    }
    serde_json::from_slice(&bytes)
        .map_err(|error| ApiError::invalid(format!("the body is not JSON: {error}")))
}

/// Answers a request, and records it if it is a change.
async fn respond(shared: &Arc<Shared>, request: ApiRequest) -> Answer {
    let path: Vec<&str> = request.path.iter().map(String::as_str).collect();
    let method = request.method.as_str();
    match (method, path.as_slice()) {
        ("GET", ["session"]) => ok(json!({
            "role": request.caller.role,
            "name": request.caller.name,
            "server": env!("CARGO_PKG_VERSION"),
        })),
        ("GET", ["rooms"]) => rooms::list(shared),
        ("GET", ["metrics", "history"]) => ok(shared.studio.history.to_json()),
        ("GET", ["audit"]) => ok(shared.studio.audit.after(request.number("after", 0)?)),
        (_, ["rooms", room, rest @ ..]) => rooms::answer(shared, &request, room, rest).await,
        (_, ["worlds", world, rest @ ..]) => files::answer(shared, &request, world, rest).await,
        (_, ["moments", rest @ ..]) => moments::answer(shared, &request, rest).await,
        _ => Err(no_route(&request)),
    }
}

fn ok(json: Json) -> Answer {
    Ok((StatusCode::OK, json))
}

fn no_route(request: &ApiRequest) -> ApiError {
    ApiError::not_found(format!("there is no route {} {}", request.method, request.path.join("/")))
}

/// Runs a change and records it with its outcome.
async fn audited(
    shared: &Shared,
    request: &ApiRequest,
    action: &'static str,
    target: String,
    detail: Json,
    change: impl Future<Output = Answer>,
) -> Answer {
    let answer = match request.check_editor() {
        Ok(()) => change.await,
        Err(error) => Err(error),
    };
    let Caller { name, address, .. } = &request.caller;
    let address = Some(*address);
    let change = Change { who: name.clone(), address, action, target, detail, ok: answer.is_ok() };
    Audit::record(&shared.studio.audit, change);
    answer
}

/// Samples the metrics for their history until the server ends.
pub(crate) async fn keep_history(shared: Arc<Shared>) {
    let mut due = interval(history::INTERVAL);
    loop {
        due.tick().await;
        shared.studio.history.sample(now_ms(), &shared.metrics.render());
    }
}
