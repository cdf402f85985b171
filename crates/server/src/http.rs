//! The routes.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue, X_CONTENT_TYPE_OPTIONS};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use nowcast::Acceptor;
use serde::Serialize;

use crate::config::Config;
use crate::connection::Places;
use crate::join::join;
use crate::metrics::{self, Metrics};
use crate::rooms::{RoomSummary, Rooms};
use crate::session::door::{self, Sessions};
use crate::web;

/// What every request may need.
pub(crate) struct Shared {
    pub(crate) config: Arc<Config>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) rooms: Arc<Rooms>,
    pub(crate) places: Arc<Places>,
    pub(crate) sessions: Sessions,
    /// Takes sessions of the lab's page in.
    pub(crate) lab: Acceptor,
}

/// Everything that a server answers.
pub(crate) fn router(shared: Arc<Shared>) -> Router {
    Router::new()
        .route("/ws/{room}", get(join))
        .route("/nowcast/{room}", get(door::answer))
        .route("/healthz", get(healthz))
        .route("/metrics", get(show_metrics))
        .route("/api/rooms", get(list_rooms))
        .merge(web::router())
        .layer(from_fn(harden))
        .with_state(shared)
}

/// `ok` while clients are let in, 503 from the beginning of a shutdown.
async fn healthz(State(shared): State<Arc<Shared>>) -> Response {
    let headers = [(CACHE_CONTROL, "no-store")];
    if shared.rooms.is_stopping() {
        (StatusCode::SERVICE_UNAVAILABLE, headers, "shutting down\n").into_response()
    } else {
        (headers, "ok\n").into_response()
    }
}

async fn show_metrics(State(shared): State<Arc<Shared>>) -> Response {
    let headers = [(CONTENT_TYPE, metrics::CONTENT_TYPE), (CACHE_CONTROL, "no-store")];
    (headers, shared.metrics.render()).into_response()
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RoomList {
    rooms: Vec<RoomSummary>,
    rooms_max: usize,
}

/// The rooms that are open, for start pages.
async fn list_rooms(State(shared): State<Arc<Shared>>) -> Response {
    let list = RoomList { rooms: shared.rooms.list(), rooms_max: shared.config.limits.rooms_max };
    ([(CACHE_CONTROL, "no-store")], Json(list)).into_response()
}

/// Headers that every answer carries.
async fn harden(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    for (name, value) in [
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (HeaderName::from_static("referrer-policy"), "no-referrer"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}
