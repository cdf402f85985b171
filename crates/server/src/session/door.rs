//! Who comes in on a session: `GET /nowcast/ROOM`, and WebTransport on the same port number (`spec/CARRIERS.md`).

use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::{Path, Request, State};
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_ORIGIN, CACHE_CONTROL, CONNECTION, CONTENT_TYPE, HeaderValue, ORIGIN,
    SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_PROTOCOL, UPGRADE, VARY,
};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use nowcast::carrier::{SUBPROTOCOL, WebSocket};
use nowcast::endpoint::{Asking, Directory, Discovery, Refusal, upgrade_key};
use nowcast::entry::{Door, Now, Request as Knock};
use nowcast::{Acceptor, Certificates, Entry};
use tokio::time::timeout;
use tracing::debug;

use crate::connection::{Connection, Peer};
use crate::http::Shared;
use crate::lab;
use crate::rooms::RoomRefusal;

/// What of sessions every request may need.
pub(crate) struct Sessions {
    pub(crate) acceptor: Acceptor,
    pub(crate) certificates: Arc<Certificates>,
    /// The port of UDP that clients are told, if WebTransport is served.
    pub(crate) udp_port: Option<u16>,
    /// Judges who may enter, by whatever protocol.
    pub(crate) door: Arc<Door>,
}

/// Rooms by name, for WebTransport.
pub(crate) struct Rooms(pub(crate) Arc<Shared>);

impl Directory for Rooms {
    fn admit(&self, asking: Asking<'_>) -> Result<(Acceptor, Entry), Refusal> {
        admit(&self.0, asking).inspect_err(|refusal| self.0.metrics.refuse_session(&refusal.error))
    }

    fn describe(&self, name: &str) -> Discovery {
        describe(&self.0, name)
    }
}

/// Answers `GET /nowcast/{room}`: what there is, or the upgrade to a WebSocket.
pub(crate) async fn answer(
    State(shared): State<Arc<Shared>>,
    Path(room): Path<String>,
    mut request: Request,
) -> Response {
    let Peer(address) = *request.extensions().get::<Peer>().expect("every request is given its peer");
    let key = upgrade_key(request.method(), request.headers());
    let origin = request.headers().get(ORIGIN).cloned();
    let asking = Asking {
        name: &room,
        query: request.uri().query(),
        origin: origin.as_ref().and_then(|origin| origin.to_str().ok()),
        address,
        is_encrypted: false,
        is_joining: key.is_some(),
    };
    let (acceptor, entry) = match admit(&shared, asking) {
        Ok(admitted) => admitted,
        Err(refusal) => {
            shared.metrics.refuse_session(&refusal.error);
            let status = StatusCode::from_u16(refusal.status).unwrap_or(StatusCode::BAD_REQUEST);
            let readable = if refusal.error == "wrong_origin" { None } else { origin };
            return (status, headers(readable), refusal.to_json()).into_response();
        }
    };
    let Some(key) = key else {
        return (headers(origin), describe(&shared, &room).to_json()).into_response();
    };
    let Some(on_upgrade) = request.extensions_mut().remove::<OnUpgrade>() else {
        return StatusCode::UPGRADE_REQUIRED.into_response();
    };
    let patience = shared.config.timeouts.handshake;
    tokio::spawn(async move {
        match timeout(patience, on_upgrade).await {
            Ok(Ok(upgraded)) => hand_over(upgraded, &acceptor, entry).await,
            Ok(Err(error)) => debug!(%error, "the client went away during the handshake"),
            Err(_) => debug!("the handshake took too long"),
        }
    });
    let headers = [
        (CONNECTION, HeaderValue::from_static("upgrade")),
        (UPGRADE, HeaderValue::from_static("websocket")),
        (SEC_WEBSOCKET_ACCEPT, HeaderValue::try_from(key).expect("base64 is a header value")),
        (SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(SUBPROTOCOL)),
    ];
    (StatusCode::SWITCHING_PROTOCOLS, headers).into_response()
}

async fn hand_over(upgraded: Upgraded, acceptor: &Acceptor, entry: Entry) {
    let parts = upgraded.downcast::<TokioIo<Connection>>().expect("every connection is served as this type");
    let mut connection = parts.io.into_inner();
    connection.expect_session();
    let carrier = WebSocket::accepted(connection, parts.read_buf.to_vec()).await;
    acceptor.hand_over(Box::new(carrier), entry);
}

fn admit(shared: &Shared, asking: Asking<'_>) -> Result<(Acceptor, Entry), Refusal> {
    let Asking { name, query, origin, address, is_encrypted, is_joining } = asking;
    let knock = Knock::new(name, address).query(query).origin(origin);
    // A question may be asked without encryption; what it is about may not.
    let knock = if is_encrypted || !is_joining { knock.encrypted() } else { knock };
    let entry = shared.sessions.door.check(Now::read(), &knock)?;
    // Who comes back has a seat; who only says so is refused by the session, or seated as anybody else.
    let comes_back = query.is_some_and(|query| query.split('&').any(|parameter| parameter == "resume=1"));
    if !comes_back && name != lab::NAME {
        shared.rooms.may_enter(name, Some(address.ip())).map_err(|refusal| refuse(&refusal))?;
    }
    if is_joining && !comes_back && !shared.places.may_join(address.ip()) {
        return Err(Refusal::new("too_many", "this address joins too often", "wait a second"));
    }
    if name == lab::NAME && !may_measure(shared, address, query) {
        let cure = "give a token, or serve with --expose lab";
        return Err(Refusal::new("no_such_name", "only this machine measures its connection here", cure));
    }
    let acceptor = if name == lab::NAME { &shared.lab } else { &shared.sessions.acceptor };
    acceptor.check(Some(address))?;
    Ok((acceptor.clone(), entry))
}

/// Whether somebody whom the door let in may measure. A token that was shown is a good one by now.
fn may_measure(shared: &Shared, address: SocketAddr, query: Option<&str>) -> bool {
    let has_token = shared.config.entry.key.is_some()
        && query.is_some_and(|query| query.split('&').any(|parameter| parameter.starts_with("token=")));
    shared.config.exposed.lab || address.ip().to_canonical().is_loopback() || has_token
}

fn refuse(refusal: &RoomRefusal) -> Refusal {
    let (error, cure) = match refusal {
        RoomRefusal::BadName(_) => ("no_such_name", "choose another name"),
        RoomRefusal::Full { .. } => ("full", "try again later, or enter another room"),
        RoomRefusal::TooManyRooms { .. } | RoomRefusal::TooManyOfAddress { .. } => {
            ("full", "enter one of the rooms that are open (/api/rooms)")
        }
        RoomRefusal::ShuttingDown | RoomRefusal::NoThread(_) => ("full", "come back in a moment"),
    };
    Refusal::new(error, refusal.to_string(), cure)
}

fn describe(shared: &Shared, name: &str) -> Discovery {
    let hashes = shared.sessions.certificates.hashes();
    Discovery::new(name, shared.sessions.udp_port.map(|port| (port, hashes.as_slice())))
}

fn headers(origin: Option<HeaderValue>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(VARY, HeaderValue::from_static("origin"));
    if let Some(origin) = origin {
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    }
    headers
}
