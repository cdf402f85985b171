//! Who comes in on a session: `GET /nowcast/ROOM`, and WebTransport on the same port number (`spec/CARRIERS.md`).

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
use nowcast::admission::{AdmissionRequest, Now, Page, Peer, origin_of};
use nowcast::carrier::{SUBPROTOCOL, WebSocket};
use nowcast::endpoint::{
    ConnectRequest, Directory, Discovery, RefusalAnswer, UpgradeError, upgrade_key, upgrade_required_headers,
};
use nowcast::{Acceptor, Entry};
use tokio::time::timeout;
use tracing::debug;

use crate::client_handle::may_edit;
use crate::connection::Connection;
use crate::room_name::room_of;
use crate::room_refusal::RoomRefusal;
use crate::rooms::Opener;
use crate::shared::{Host, Sessions, Shared};

/// Rooms by name, for WebTransport.
pub(crate) struct Rooms(pub(crate) Arc<Shared>);

impl Directory for Rooms {
    fn admit(&self, asking: ConnectRequest<'_>) -> Result<(Acceptor, Entry), RefusalAnswer> {
        admit(&self.0, asking).inspect_err(|refusal| self.0.metrics.refuse_session(&refusal.error))
    }

    fn describe(&self, asking: &ConnectRequest<'_>) -> Discovery {
        describe(&self.0, asking)
    }
}

/// Answers `GET /nowcast/{room}`: what there is, or the upgrade to a WebSocket.
pub(crate) async fn answer(
    State(shared): State<Arc<Shared>>,
    Path(room): Path<String>,
    mut request: Request,
) -> Response {
    let peer = *request.extensions().get::<Peer>().expect("every request is given its peer");
    let key = match upgrade_key(request.method(), request.headers(), Some(SUBPROTOCOL)) {
        Ok(key) => key,
        Err(error) => return not_upgraded(&shared, error),
    };
    let origin = request.headers().get(ORIGIN).cloned();
    let origin_text = origin_of(request.headers());
    let asking = ConnectRequest {
        name: &room,
        query: request.uri().query(),
        page: Page { host: Host::of(&request), origin: origin_text.as_deref() },
        peer,
        is_joining: key.is_some(),
    };
    let (acceptor, entry) = match admit(&shared, asking) {
        Ok(admitted) => admitted,
        Err(refusal) => {
            shared.metrics.refuse_session(&refusal.error);
            let status = StatusCode::from_u16(refusal.status).unwrap_or(StatusCode::BAD_REQUEST);
            let readable = origin.filter(|_| refusal.is_for_the_page());
            return (status, headers(readable), refusal.to_json()).into_response();
        }
    };
    let Some(key) = key else {
        return (headers(origin), describe(&shared, &asking).to_json()).into_response();
    };
    let Some(on_upgrade) = request.extensions_mut().remove::<OnUpgrade>() else {
        return not_upgraded(&shared, UpgradeError::Version);
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

fn not_upgraded(shared: &Shared, error: UpgradeError) -> Response {
    shared.metrics.refuse("not_websocket");
    let refusal = RefusalAnswer::new("bad_request", error.to_string(), "connect with a WebSocket client");
    let mut answer = (error.status(), headers(None), refusal.to_json()).into_response();
    if error == UpgradeError::Version {
        answer.headers_mut().extend(upgrade_required_headers());
    }
    answer
}

fn admit(shared: &Shared, asking: ConnectRequest<'_>) -> Result<(Acceptor, Entry), RefusalAnswer> {
    let ConnectRequest { name, peer, query, is_joining, .. } = asking;
    let address = peer.address;
    let service = shared.services.iter().find(|service| service.name() == name);
    // A token that is good for a room is good for its past.
    let room = if service.is_some() { name } else { room_of(name) };
    let request = AdmissionRequest::from(&ConnectRequest { name: room, ..asking });
    let mut entry = shared.sessions.admission.check(Now::read(), &request)?;
    name.clone_into(&mut entry.room);
    // Who comes back has a seat and a session; what was opened by saying so can begin none.
    let comes_back = entry.only_resumes();
    if !comes_back && room != name && !may_edit(&entry, &shared.config.entry) {
        return Err(refuse(&RoomRefusal::NotEditor));
    }
    if !comes_back && service.is_none() {
        shared.rooms.may_enter(name, Opener::of(&entry)).map_err(|refusal| refuse(&refusal))?;
    }
    if is_joining && !shared.connection_limits.may_join(address.ip()) {
        return Err(RefusalAnswer::new("too_many", "this address joins too often", "wait a second"));
    }
    if service.is_some_and(|service| !service.admits(peer.is_local, has_token(shared, query))) {
        let cure = "give a token, or have whoever runs the server expose it (--expose)";
        return Err(RefusalAnswer::new("no_such_name", "only this machine enters here", cure));
    }
    let acceptor = service.map_or(&shared.sessions.acceptor, |service| &service.acceptor);
    if !comes_back {
        acceptor.check(Some(address))?;
    }
    Ok((acceptor.clone(), entry))
}

/// Whether somebody who was admitted has shown a token.
fn has_token(shared: &Shared, query: Option<&str>) -> bool {
    shared.config.entry.key.is_some()
        && query.is_some_and(|query| query.split('&').any(|parameter| parameter.starts_with("token=")))
}

fn refuse(refusal: &RoomRefusal) -> RefusalAnswer {
    let error = match refusal {
        RoomRefusal::BadName(_) | RoomRefusal::NoStore | RoomRefusal::NotKept(_) => "no_such_name",
        RoomRefusal::NotEditor => "unauthorised",
        RoomRefusal::OpensTooOften | RoomRefusal::FullOfAddress { .. } => "too_many",
        RoomRefusal::Full { .. }
        | RoomRefusal::TooManyRooms { .. }
        | RoomRefusal::TooManyOfAddress { .. }
        | RoomRefusal::Stopped { .. }
        | RoomRefusal::NotLoaded(_)
        | RoomRefusal::PastNotLoaded { .. }
        | RoomRefusal::TooManyPast { .. }
        | RoomRefusal::ShuttingDown
        | RoomRefusal::NoThread(_) => "full",
    };
    RefusalAnswer::new(error, refusal.to_string(), refusal.cure())
}

fn describe(shared: &Shared, asking: &ConnectRequest<'_>) -> Discovery {
    let Sessions { certificates, udp_port, admission, .. } = &shared.sessions;
    let hashes = certificates.hashes();
    let offer = Discovery::new(asking.name, udp_port.map(|port| (port, hashes.as_slice())));
    if admission.wants_encryption(asking.peer) { offer.over_tls_alone() } else { offer }
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
