//! State shared by all requests.

use std::collections::HashMap;
use std::sync::Arc;

use axum::extract::Request;
use nowcast::admission::Admission;
use nowcast_engine::{Acceptor, Certificates, IoThreads};
use nowcast_room::Rooms;

use crate::cluster::Node;
use crate::config::Config;
use crate::docs::DocumentFiles;
use crate::metrics::Metrics;
use crate::services::OpenService;
use crate::studio::Studio;
use crate::webhook::Webhook;
use crate::worlds::FolderWatch;

/// State shared by all requests.
pub(crate) struct Shared {
    pub(crate) config: Arc<Config>,
    /// The threads of all connections.
    pub(crate) io: IoThreads,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) rooms: Arc<Rooms>,
    pub(crate) sessions: Sessions,
    /// The part of the server that belongs to its cluster.
    pub(crate) cluster: Option<Arc<Node>>,
    /// Sends the events of rooms to a back end, if one is configured.
    pub(crate) webhook: Option<Arc<Webhook>>,
    /// The services besides rooms.
    pub(crate) services: Vec<OpenService>,
    /// The documents, if this server serves them.
    pub(crate) documents: Option<DocumentFiles>,
    /// The state of the studio.
    pub(crate) studio: Studio,
    /// The watchers of the folders of worlds, by the name of the world.
    pub(crate) watchers: HashMap<String, FolderWatch>,
}

/// State for sessions, shared by all requests.
pub(crate) struct Sessions {
    pub(crate) acceptor: Acceptor,
    pub(crate) certificates: Arc<Certificates>,
    /// The UDP port that the server announces to clients, if it serves WebTransport.
    pub(crate) udp_port: Option<u16>,
    /// Decides on admission, for all protocols. It has the one table of addresses: their connections and joins.
    pub(crate) admission: Arc<Admission>,
}

/// The host of a request. It is parsed before the request is answered.
#[derive(Clone)]
pub(crate) struct Host(pub(crate) Option<String>);

impl Host {
    pub(crate) fn of(request: &Request) -> Option<&str> {
        request.extensions().get::<Self>().and_then(|host| host.0.as_deref())
    }
}
