//! The HTTP routes of a server.

use std::sync::Arc;

use axum::extract::{OriginalUri, Path, Request, State};
use axum::http::header::{
    ACCEPT, ACCESS_CONTROL_ALLOW_ORIGIN, AUTHORIZATION, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE,
    ETAG, HeaderMap, HeaderName, HeaderValue, IF_NONE_MATCH, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{StatusCode, Uri};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use axum::{Json, Router};
use bytes::Bytes;
use nowcast::admission::{Claims, Page, Peer, host_of, origin_of, unix_time};
use nowcast_engine::endpoint::RefusalAnswer;
use nowcast_room::{Audience, Health, RoomSummary, WorldSummary};
use serde::Serialize;

use crate::docs;
use crate::entrance::is_operator;
use crate::join::join;
use crate::metrics;
use crate::session::admission;
use crate::shared::{Host, Shared};
use crate::studio;
use crate::web;

/// Builds the routes of a server, also below its base path. They stay at the root, too, because some proxies strip the path.
pub(crate) fn router(shared: Arc<Shared>) -> Router {
    let pages = Router::new()
        .route("/healthz", get(healthz))
        .route("/metrics", get(show_metrics))
        .route("/api/rooms", get(list_rooms))
        .route("/api/worlds", get(list_worlds))
        .route("/assets/{name}", get(show_asset))
        .route("/docs", get(async || Redirect::permanent("docs/")))
        .route("/docs/", get(show_documents))
        .route("/docs/{*path}", get(show_document))
        .merge(studio::router())
        .merge(web::router())
        .layer(from_fn_with_state(Arc::clone(&shared), guard))
        .layer(from_fn_with_state(Arc::clone(&shared), check_page));
    let routes = Router::new()
        .route("/ws/{room}", get(join))
        .route("/nowcast/{room}", get(admission::answer))
        .merge(pages)
        .layer(from_fn_with_state(Arc::clone(&shared), check_host))
        .layer(from_fn(harden));
    let routes = match shared.config.base_path.as_str() {
        "/" => routes,
        base => Router::new()
            .route(base.trim_end_matches('/'), get(redirect_to_folder))
            .nest(base, routes.clone())
            .merge(routes),
    };
    routes.with_state(shared)
}

/// Redirects to the same address with a slash at its end.
async fn redirect_to_folder(uri: Uri) -> Redirect {
    Redirect::permanent(&format!("{}/", uri.path().rsplit('/').next().unwrap_or_default()))
}

/// Rejects requests that do not name their host exactly once (RFC 9112, section 3.2).
async fn check_host(State(shared): State<Arc<Shared>>, mut request: Request, next: Next) -> Response {
    let host = host_of(request.version(), request.uri(), request.headers());
    match host.map(|host| Host(host.map(str::to_owned))) {
        Ok(host) => {
            request.extensions_mut().insert(host);
            next.run(request).await
        }
        Err(cause) => {
            shared.metrics.refuse("not_http");
            (
                StatusCode::BAD_REQUEST,
                format!("{cause}: a request has exactly one Host (RFC 9112, section 3.2)\n"),
            )
                .into_response()
        }
    }
}

/// If all programs of this machine may join, rejects requests of foreign web pages, whatever host name they use.
async fn check_page(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    let origin = origin_of(request.headers());
    let page = Page { host: Host::of(&request), origin: origin.as_deref() };
    if let Err(refusal) = shared.sessions.admission.check_page(page) {
        shared.metrics.refuse(refusal.word());
        let refusal = RefusalAnswer::from(refusal);
        let status = StatusCode::from_u16(refusal.status).unwrap_or(StatusCode::FORBIDDEN);
        return (status, format!("{}: {}\n", refusal.cause, refusal.cure)).into_response();
    }
    drop(origin);
    if shared.config.redirect_to_https
        && let Some(address) = secure_address(&shared, &request)
    {
        return Redirect::temporary(&address).into_response();
    }
    next.run(request).await
}

/// Returns the HTTPS address of a page that another machine requests over plain HTTP. Browsers allow WebTransport and
/// headsets only in secure contexts. Pages from loopback are always secure.
fn secure_address(shared: &Shared, request: &Request) -> Option<String> {
    let peer = request.extensions().get::<Peer>()?;
    let is_page = request.headers().get(ACCEPT)?.to_str().ok()?.contains("text/html");
    let OriginalUri(uri) = request.extensions().get()?;
    let address = format!("https://{}{}", Host::of(request)?, uri.path_and_query()?);
    (is_page && shared.sessions.admission.wants_encryption(*peer)).then_some(address)
}

/// Answers `ok`, with the problems of the store, while clients are admitted. Answers 503 during a shutdown, and while rooms
/// cannot be opened.
async fn healthz(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let (status, text) = match shared.rooms.health() {
        Health::Good => match shared.rooms.persistence.trouble().or_else(|| shared.rooms.troubles.describe())
        {
            None => (StatusCode::OK, "ok\n".to_owned()),
            // Clients are admitted despite the problem. Only this machine sees the text, because it contains the store's
            // path.
            Some(trouble) if is_local(&request) => (StatusCode::OK, format!("ok, but {trouble}\n")),
            Some(_) => {
                (StatusCode::OK, "ok, but some worlds are not stored or cannot be loaded\n".to_owned())
            }
        },
        Health::Full { rooms_max } => (StatusCode::OK, format!("ok, but all {rooms_max} rooms are in use\n")),
        Health::ShuttingDown => (StatusCode::SERVICE_UNAVAILABLE, "shutting down\n".to_owned()),
        Health::Failing(cause) => {
            (StatusCode::SERVICE_UNAVAILABLE, format!("rooms cannot be opened: {cause}\n"))
        }
    };
    (status, [(CACHE_CONTROL, "no-store")], text).into_response()
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

/// The headers of public lists. `check_page` has checked the origin, and the lists need no credentials.
const LISTED: [(HeaderName, &str); 2] = [(CACHE_CONTROL, "no-store"), (ACCESS_CONTROL_ALLOW_ORIGIN, "*")];

/// Lists the open rooms, for start pages.
async fn list_rooms(State(shared): State<Arc<Shared>>) -> Response {
    let list =
        RoomList { rooms: shared.rooms.list(Audience::Public), rooms_max: shared.config.limits.rooms_max };
    (LISTED, Json(list)).into_response()
}

#[derive(Serialize)]
struct WorldList {
    worlds: Vec<WorldSummary>,
}

/// Lists the worlds, for start pages and consoles.
async fn list_worlds(State(shared): State<Arc<Shared>>) -> Response {
    let list = WorldList { worlds: shared.rooms.worlds(Audience::Public) };
    (LISTED, Json(list)).into_response()
}

/// Serves a world's asset by its hash, or a file of the web client by its name. No such file has a name that looks like a
/// hash.
async fn show_asset(
    State(shared): State<Arc<Shared>>,
    Path(name): Path<String>,
    headers: HeaderMap,
) -> Response {
    let Some(asset) = shared.rooms.catalogue.asset(&name) else {
        return web::file(Path(format!("assets/{name}")), headers).await;
    };
    let tag = format!("\"{}\"", asset.hash);
    let is_known = headers.get(IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == tag.as_bytes());
    let caching = [
        // The content of a hash never changes, so caches may keep it for ever.
        (CACHE_CONTROL, "public, max-age=31536000, immutable".to_owned()),
        (ETAG, tag),
        // `check_page` has checked the origin, and assets need no credentials.
        (ACCESS_CONTROL_ALLOW_ORIGIN, "*".to_owned()),
    ];
    if is_known {
        return (StatusCode::NOT_MODIFIED, caching).into_response();
    }
    let describing = [
        (CONTENT_TYPE, asset.media_type),
        // Browsers must treat an asset as data, even if a user opens it as a page.
        (CONTENT_SECURITY_POLICY, "default-src 'none'; sandbox"),
    ];
    (caching, describing, Bytes::from_owner(Arc::clone(&asset.content))).into_response()
}

/// Serves the first page of the documents.
async fn show_documents(State(shared): State<Arc<Shared>>, headers: HeaderMap) -> Response {
    docs::answer(shared.documents.as_ref(), "", &headers).await
}

async fn show_document(
    State(shared): State<Arc<Shared>>,
    Path(path): Path<String>,
    headers: HeaderMap,
) -> Response {
    docs::answer(shared.documents.as_ref(), &path, &headers).await
}

/// Refuses the operator's pages to other machines, unless the client has the role `operator`.
async fn guard(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    let exposed = shared.config.exposed;
    let (is_exposed, flag) = match request.uri().path() {
        "/metrics" => (exposed.metrics, "metrics"),
        "/lab" | "/lab.html" => (exposed.lab, "lab"),
        _ => return next.run(request).await,
    };
    if is_exposed || is_local(&request) || has_operator_token(&shared, &request, flag) {
        return next.run(request).await;
    }
    shared.metrics.refuse("operator_page");
    let text = format!(
        "this page is for programs on the server's machine: show a token with the role 'operator' \
         (nowcast token --role operator), or serve with --expose {flag}\n"
    );
    (StatusCode::FORBIDDEN, [(CACHE_CONTROL, "no-store")], text).into_response()
}

/// Whether the request comes from a program on this machine that is not a proxy.
fn is_local(request: &Request) -> bool {
    request.extensions().get::<Peer>().expect("every request is given its peer").is_local
}

/// Whether a request has a valid token with the role `operator`, in its query or in `Authorization`. The token must be valid
/// for all rooms, or for a room of this name.
fn has_operator_token(shared: &Shared, request: &Request, name: &str) -> bool {
    let Some(key) = &shared.config.entry.key else { return false };
    let query = request.uri().query().unwrap_or_default();
    let in_query = query.split('&').find_map(|parameter| parameter.strip_prefix("token="));
    let credentials = request.headers().get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    let token = in_query.or(credentials.and_then(|value| value.strip_prefix("Bearer ")));
    let claims = token.and_then(|token| Claims::verify(token, key, name, unix_time()).ok());
    claims.is_some_and(|claims| is_operator(&claims))
}

/// Adds the security headers that every response has.
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
