//! Admission of sessions: `GET /nowcast/ROOM`, and WebTransport on the same port number (`spec/CARRIERS.md`).

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
use nowcast::admission::{Page, Peer, origin_of};
use nowcast::carrier::{SUBPROTOCOL, WebSocket};
use nowcast::endpoint::{
    ConnectRequest, Directory, Discovery, RefusalAnswer, UpgradeError, upgrade_key, upgrade_required_headers,
};
use nowcast::{Acceptor, Entry};
use tokio::time::timeout;
use tracing::debug;

use crate::connection::Connection;
use crate::entrance::{Entrance, admit};
use crate::refusal::{self, of_upgrade};
use crate::shared::{Host, Sessions, Shared};

/// Rooms by name, for WebTransport.
pub(crate) struct Rooms(pub(crate) Arc<Shared>);

impl Directory for Rooms {
    fn admit(&self, asking: ConnectRequest<'_>) -> Result<(Acceptor, Entry), RefusalAnswer> {
        admit(&self.0, asking, Entrance::Session)
            .inspect_err(|refusal| self.0.metrics.refuse(refusal.label()))
            .map_err(|refusal| refusal::answer(&refusal))
    }

    fn describe(&self, asking: &ConnectRequest<'_>) -> Discovery {
        describe(&self.0, asking)
    }
}

/// Answers `GET /nowcast/{room}` with the description of the endpoint, or the upgrade to a WebSocket.
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
    let (acceptor, entry) = match admit(&shared, asking, Entrance::Session) {
        Ok(admitted) => admitted,
        Err(refusal) => {
            shared.metrics.refuse(refusal.label());
            let refusal = refusal::answer(&refusal);
            let status = StatusCode::from_u16(refusal.status).unwrap_or(StatusCode::BAD_REQUEST);
            let readable = origin.filter(|_| refusal.is_for_the_page());
            return (status, headers(readable), refusal.to_json()).into_response();
        }
    };
    let Some(key) = key else {
        let moved = match &shared.cluster {
            Some(node) if !shared.services.iter().any(|service| service.name() == room) => {
                node.locate(&room).await
            }
            _ => None,
        };
        let offer = Discovery { moved, ..describe(&shared, &asking) };
        return (headers(origin), offer.to_json()).into_response();
    };
    let Some(on_upgrade) = request.extensions_mut().remove::<OnUpgrade>() else {
        return not_upgraded(&shared, UpgradeError::Version);
    };
    let patience = shared.config.timeouts.handshake;
    // Requests are answered by the runtime. A connection that becomes a client belongs to an I/O thread.
    shared.io.next().spawn(async move {
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
    if let Err(error) = connection.move_here() {
        return debug!(%error, "the connection cannot be moved to an I/O thread");
    }
    connection.expect_session();
    let carrier = WebSocket::accepted(connection, parts.read_buf.to_vec()).await;
    acceptor.hand_over(Box::new(carrier), entry);
}

fn not_upgraded(shared: &Shared, error: UpgradeError) -> Response {
    let refusal = of_upgrade(error);
    shared.metrics.refuse(refusal.label());
    let mut answer = (error.status(), headers(None), refusal::answer(&refusal).to_json()).into_response();
    if error == UpgradeError::Version {
        answer.headers_mut().extend(upgrade_required_headers());
    }
    answer
}

fn describe(shared: &Shared, asking: &ConnectRequest<'_>) -> Discovery {
    let Sessions { certificates, udp_port, admission, .. } = &shared.sessions;
    let hashes = certificates.hashes();
    let offer = Discovery::new(asking.name, udp_port.map(|port| (port, hashes.as_slice())));
    let others = shared.cluster.as_ref().map(|node| node.addresses()).unwrap_or_default();
    let offer = Discovery { others, ..offer };
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
