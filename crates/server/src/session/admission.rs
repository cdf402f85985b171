//! Admission of sessions: `GET /nowcast/ROOM`, and WebTransport on the same port number (`spec/CARRIERS.md`).

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::header::UPGRADE;
use axum::response::Response;
use hyper::upgrade::Upgraded;
use nowcast::admission::{Entry, Peer};
use nowcast_engine::Acceptor;
use nowcast_engine::carrier::WebSocket;
use nowcast_engine::endpoint::{
    ConnectRequest, Directory, Discovery, RefusalAnswer, Upgrade, UpgradeError, answer_request,
};
use tokio::time::timeout;
use tracing::debug;

use crate::connection::Connection;
use crate::entrance::{Entrance, admit};
use crate::refusal::{self, of_upgrade};
use crate::shared::{Host, Sessions, Shared};

/// Rooms by name, for WebTransport and WebSocket.
pub(crate) struct Rooms {
    pub(crate) shared: Arc<Shared>,
    /// The server that has the requested room now, if it is another one.
    pub(crate) moved: Option<String>,
}

impl Directory for Rooms {
    fn admit(&self, asking: ConnectRequest<'_>) -> Result<(Acceptor, Entry), RefusalAnswer> {
        admit(&self.shared, asking, Entrance::Session)
            .inspect_err(|refusal| self.shared.metrics.refuse(refusal.label()))
            .map_err(|refusal| refusal::answer(&refusal))
    }

    fn count_bad_upgrade(&self, error: UpgradeError) {
        self.shared.metrics.refuse(of_upgrade(error).label());
    }

    fn describe(&self, asking: &ConnectRequest<'_>) -> Discovery {
        let Sessions { certificates, udp_port, admission, .. } = &self.shared.sessions;
        let hashes = certificates.hashes();
        let offer = Discovery::new(asking.name, udp_port.map(|port| (port, hashes.as_slice())));
        let others = self.shared.cluster.as_ref().map(|node| node.addresses()).unwrap_or_default();
        let offer = Discovery { others, moved: self.moved.clone(), ..offer };
        if admission.wants_encryption(asking.peer) { offer.over_tls_alone() } else { offer }
    }
}

/// Answers `GET /nowcast/{room}` with the description of the endpoint, or the upgrade to a WebSocket.
pub(crate) async fn answer(
    State(shared): State<Arc<Shared>>,
    Path(room): Path<String>,
    mut request: Request,
) -> Response {
    let peer = *request.extensions().get::<Peer>().expect("every request is given its peer");
    let host = Host::of(&request).map(str::to_owned);
    let is_room = !shared.services.iter().any(|service| service.name() == room);
    let moved = match &shared.cluster {
        Some(node) if is_room && !request.headers().contains_key(UPGRADE) => node.locate(&room).await,
        _ => None,
    };
    let rooms = Rooms { shared: Arc::clone(&shared), moved };
    let (answer, upgrade) = answer_request(&mut request, Some(&room), peer, host.as_deref(), &rooms);
    if let Some(Upgrade { upgraded, acceptor, entry }) = upgrade {
        let patience = shared.config.timeouts.handshake;
        // Requests are answered by the runtime. A connection that becomes a client belongs to an I/O thread.
        shared.io.next().spawn(async move {
            match timeout(patience, upgraded).await {
                Ok(Ok(upgraded)) => hand_over(upgraded, &acceptor, entry).await,
                Ok(Err(error)) => debug!(%error, "the client went away during the handshake"),
                Err(_) => debug!("the handshake took too long"),
            }
        });
    }
    answer.map(Body::new)
}

async fn hand_over(upgraded: Upgraded, acceptor: &Acceptor, entry: Entry) {
    let (mut connection, received) = match Connection::taken_over(upgraded) {
        Ok(taken_over) => taken_over,
        Err(error) => return debug!(%error, "the connection cannot be moved to an I/O thread"),
    };
    connection.expect_session();
    let carrier = WebSocket::accepted(connection, received).await;
    acceptor.hand_over(Box::new(carrier), entry);
}
