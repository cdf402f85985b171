//! The server: listening, accepting connections, and shutting down.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use nowcast::admission::{Admission, Now, Peer, Policy, host_of};
use nowcast::{AcceptConfig, AcceptLimits, Accepted, Acceptor, Entry};
use nowcast_engine::endpoint::{QuicEndpoint, Reception, Sockets, accept_all, tls_config};
use nowcast_engine::session::NoSource;
use nowcast_engine::{Application, Certificates, IoThreads};
use nowcast_room::{EventSink, PersistenceThread, PruneSchedule, Rooms, StoreFigures, open_rooms};
use nowcast_store::{Retention, StoreError};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{oneshot, watch};
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::{interval, sleep, timeout, timeout_at};
use tokio_rustls::TlsAcceptor;
use tracing::{debug, info, warn};

use crate::cluster::Node;
use crate::config::Config;
use crate::connection::{Connection, ConnectionPermit};
use crate::docs::DocumentFiles;
use crate::http::router;
use crate::limits::Limits;
use crate::metrics::Metrics;
use crate::services::{self, OpenService, ServiceConfig};
use crate::session::session_client::SessionClient;
use crate::session::{admission, session_config};
use crate::shared::{Sessions, Shared};
use crate::studio::{Studio, keep_history};
use crate::used_tokens::UsedTokenMarks;
use crate::webhook::Webhook;
use crate::worlds::{self, WorldError};

/// The time that a shutdown gives the disk after the time for clients is over.
const STORE_PATIENCE: Duration = Duration::from_millis(300);

/// Maximum size of a request's head, with its address and all headers.
const REQUEST_HEAD_BYTES_MAX: usize = 16 * 1024;

/// The reason why a server cannot listen. Each message is one line that names the cause and how to correct it.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// The configuration contradicts itself.
    #[error("{0}")]
    Config(String),
    /// A world cannot be offered.
    #[error(transparent)]
    World(#[from] WorldError),
    /// The folder of the stored worlds cannot be opened.
    #[error(transparent)]
    Store(#[from] Box<StoreError>),
    /// The cluster cannot be entered.
    #[cfg(feature = "cluster")]
    #[error(transparent)]
    Cluster(#[from] crate::cluster::JoinError),
    /// The sockets cannot be opened.
    #[error(transparent)]
    Sockets(#[from] nowcast::BindError),
    /// The I/O threads cannot be started.
    #[error("cannot start the I/O threads: {0}")]
    Threads(io::Error),
    /// The certificate for WebTransport is missing or invalid.
    #[error(transparent)]
    Certificate(#[from] nowcast::CertificateError),
}

/// A listening server. See the [crate's page](crate) for an example.
pub struct Server {
    listeners: Vec<TcpListener>,
    /// The channels of each service.
    services: Vec<(ServiceConfig, Accepted)>,
    quic: QuicEndpoint,
    shared: Arc<Shared>,
    stop: watch::Sender<bool>,
}

/// A handle that inspects and shuts down a server, from any thread.
#[derive(Clone)]
pub struct Handle {
    addresses: Vec<SocketAddr>,
    shared: Arc<Shared>,
    stop: watch::Sender<bool>,
}

impl Server {
    /// Listens on every address of the configuration. The server answers no request before [`Server::run`] is called.
    ///
    /// # Errors
    /// Fails if the configuration has a mistake, if a port or an address is not available, if the rules of a world do not
    /// load, or if the certificate or the data folder cannot be read. The error message names the cause and how to correct
    /// it.
    pub async fn bind(config: Config) -> Result<Self, BindError> {
        config.check().map_err(BindError::Config)?;
        let (mut catalogue, watchers) = worlds::offer(&config.worlds)?;
        catalogue.set_groups(config.world_groups.clone());
        let Sockets { port, tcp, udp } = Sockets::bind(&config.hosts, config.port, config.webtransport)?;
        let documents = config
            .docs
            .as_deref()
            .map(|folder| DocumentFiles::open(folder, &config.base_path))
            .transpose()
            .map_err(BindError::Config)?;
        let config = Arc::new(config);
        let certificates = Certificates::new(&config.certificate)?;
        let (persistence, cluster) = open_store(&config).await?;
        let persistence = Arc::new(persistence);
        let mut metrics = Metrics::new(config.logs.as_ref());
        metrics.watch_store(StoreFigures(Arc::clone(&persistence)));
        #[cfg(feature = "cluster")]
        if let Some(node) = &cluster {
            metrics.watch_cluster(node.metrics());
        }
        let webhook = config.webhook.clone().map(Webhook::new);
        if let Some(webhook) = &webhook {
            metrics.watch_webhook(webhook.metrics());
        }
        let metrics = Arc::new(metrics);
        let sinks = event_sinks(webhook.as_ref(), cluster.as_ref());
        let rooms = open_rooms(config.rooms(), catalogue, persistence, Arc::clone(&metrics.rooms), sinks);
        let udp_port = (!udp.is_empty()).then(|| config.announced_udp_port.unwrap_or(port));
        let admission = Admission::listening(policy(&config), &config.hosts, port);
        admission.keep_used_tokens(Arc::new(UsedTokenMarks(Arc::clone(&rooms.persistence))), Now::read());
        let (open, services) = config
            .services
            .iter()
            .map(|service| {
                let (open, accepted) = OpenService::open(service);
                (open, (service.clone(), accepted))
            })
            .unzip();
        let io = IoThreads::start(config.io_threads).map_err(BindError::Threads)?;
        let studio = Studio::new(&config, &rooms);
        let shared = Arc::new_cyclic(|shared| {
            let acceptor = Acceptor::new(accept_config(&config), serve_session(Weak::clone(shared)));
            let certificates = Arc::clone(&certificates);
            Shared {
                sessions: Sessions { acceptor, certificates, udp_port, admission },
                config,
                io,
                metrics,
                rooms,
                cluster,
                webhook,
                services: open,
                documents,
                studio,
                watchers,
            }
        });
        let directory = Arc::new(admission::Rooms { shared: Arc::clone(&shared), moved: None });
        let address = SocketAddr::new(shared.config.hosts[0], port);
        let quic = QuicEndpoint::serve(Some(&shared.io), udp, certificates, directory)
            .map_err(|error| nowcast::BindError::Io { address, error })?;
        Ok(Self { listeners: tcp, services, quic, shared, stop: watch::Sender::new(false) })
    }

    /// Returns the addresses on which the server listens. With port 0, they have the port that the system chose.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.listeners.iter().filter_map(|listener| listener.local_addr().ok()).collect()
    }

    /// Returns a handle to the server. It stays valid while the server runs.
    pub fn handle(&self) -> Handle {
        Handle { addresses: self.addresses(), shared: Arc::clone(&self.shared), stop: self.stop.clone() }
    }

    /// Serves until `shutdown` completes or [`Handle::shutdown`] is called. Then every client's connection is closed with
    /// code 1001. The future completes when all clients have left, or after
    /// [`Timeouts::shutdown`](crate::Timeouts::shutdown).
    pub async fn run(self, shutdown: impl Future<Output = ()>) {
        let mut stop = self.stop.subscribe();
        let mut accepting = JoinSet::new();
        for (service, accepted) in self.services {
            accepting.spawn(services::serve(service, accepted));
        }
        let rooms = &self.shared.rooms;
        #[cfg(feature = "cluster")]
        if let Some(node) = &self.shared.cluster {
            node.serve(&self.shared);
        }
        accepting.spawn(watch_store(Arc::clone(&rooms.persistence), rooms.config.retention));
        accepting.spawn(keep_history(Arc::clone(&self.shared)));
        let delivery =
            self.shared.webhook.as_ref().map(|webhook| tokio::spawn(Arc::clone(webhook).deliver()));
        for listener in self.listeners {
            let certificates = Arc::clone(&self.shared.sessions.certificates);
            let admitting = Admitting {
                shared: Arc::clone(&self.shared),
                tls: TlsAcceptor::from(tls_config(certificates)),
                router: TowerToHyperService::new(router(Arc::clone(&self.shared))),
                stop: self.stop.subscribe(),
            };
            accepting.spawn(accept_all(listener, admitting));
        }
        tokio::select! {
            () = shutdown => {}
            () = stopped(&mut stop) => {}
        }
        info!("shutting down");
        accepting.shutdown().await;
        self.shared.rooms.stop();
        #[cfg(feature = "cluster")]
        if let Some(node) = &self.shared.cluster {
            node.expect_no_rooms();
        }
        self.shared.sessions.acceptor.close_all();
        self.shared.services.iter().for_each(|service| service.acceptor.close_all());
        self.stop.send_replace(true);
        let until = Instant::now() + self.shared.config.timeouts.shutdown;
        let has_connections = || self.shared.sessions.admission.connections() > 0;
        let has_sessions = || self.shared.sessions.acceptor.counters().sessions > 0;
        let ended = async {
            while !self.shared.rooms.is_empty() || has_connections() || has_sessions() {
                sleep(Duration::from_millis(5)).await;
            }
        };
        // The store may also use the time that the clients did not use.
        let closed = close_store(Arc::clone(&self.shared.rooms), until + STORE_PATIENCE);
        let (ended, ()) = tokio::join!(timeout_at(until.into(), ended), closed);
        if ended.is_err() {
            warn!("some clients did not end in time");
        }
        // The webhook may use the time that clients and store did not use.
        if let (Some(webhook), Some(delivery)) = (&self.shared.webhook, delivery) {
            webhook.finish(delivery, until + STORE_PATIENCE).await;
        }
        #[cfg(feature = "cluster")]
        if let Some(node) = self.shared.cluster.clone() {
            // The panic handler reports a task that panicked.
            let _ = spawn_blocking(move || node.leave()).await;
        }
        drop(self.quic);
    }
}

impl Handle {
    /// The addresses on which the server listens.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Shuts the server down. See [`Server::run`].
    pub fn shutdown(&self) {
        self.stop.send_replace(true);
    }

    /// Returns the page that `/metrics` shows.
    pub fn metrics(&self) -> String {
        self.shared.metrics.render()
    }
}

/// Returns the takers of all rooms' events.
fn event_sinks(webhook: Option<&Arc<Webhook>>, cluster: Option<&Arc<Node>>) -> Vec<Arc<dyn EventSink>> {
    let webhook = webhook.map(|webhook| Arc::clone(webhook) as Arc<dyn EventSink>);
    #[cfg(feature = "cluster")]
    let cluster = cluster.filter(|node| node.publishes()).map(|node| Arc::clone(node) as Arc<dyn EventSink>);
    #[cfg(not(feature = "cluster"))]
    let cluster = cluster.and(None);
    webhook.into_iter().chain(cluster).collect()
}

/// Writes the last changes of all rooms and closes the store, within a time limit.
async fn close_store(rooms: Arc<Rooms>, until: Instant) {
    // Rooms store their last snapshots when they end. The snapshots of rooms that do not end in time are lost.
    while !rooms.is_empty() && Instant::now() + STORE_PATIENCE < until {
        sleep(Duration::from_millis(5)).await;
    }
    let (tell, closed) = oneshot::channel();
    // Uses a separate thread, because the end of the runtime would wait for a thread of the runtime.
    let closing = thread::Builder::new().name("store end".to_owned()).spawn(move || {
        rooms.persistence.close(until.saturating_duration_since(Instant::now()));
        // The receiver may have stopped waiting at the deadline.
        let _ = tell.send(());
    });
    match closing {
        // The store has the same deadline, but a disk may still delay a call.
        Ok(_) => _ = timeout_at((until + Duration::from_millis(50)).into(), closed).await,
        Err(error) => warn!(%error, "no thread can write the last changes"),
    }
}

/// Interval between checks of the store.
const STORE_LOOK: Duration = Duration::from_secs(1);

/// Opens the store of the worlds: that of a cluster, or a folder.
async fn open_store(config: &Config) -> Result<(PersistenceThread, Option<Arc<Node>>), BindError> {
    #[cfg(feature = "cluster")]
    if let Some(cluster) = &config.cluster {
        let (persistence, node) = crate::cluster::join(cluster).await?;
        return Ok((persistence, Some(node)));
    }
    Ok((PersistenceThread::open(config.data.as_deref()).map_err(Box::new)?, None))
}

/// Prunes the store when pruning is due. Logs a problem of the store when the problem begins.
async fn watch_store(persistence: Arc<PersistenceThread>, retention: Retention) {
    let mut look = interval(STORE_LOOK);
    let mut schedule = PruneSchedule::default();
    let mut was_troubled = false;
    loop {
        look.tick().await;
        let trouble = persistence.trouble();
        if let Some(trouble) = trouble.as_ref().filter(|_| !was_troubled) {
            warn!("{trouble}");
        }
        was_troubled = trouble.is_some();
        let Some(stats) = persistence.stats() else { continue };
        if schedule.take_due(Instant::now(), stats.batch_bytes + stats.snapshot_bytes, &retention) {
            let persistence = Arc::clone(&persistence);
            // The panic handler reports a task that panicked.
            let _ = spawn_blocking(move || persistence.prune(&retention)).await;
        }
    }
}

/// Accepts the connections of one listener.
struct Admitting {
    shared: Arc<Shared>,
    tls: TlsAcceptor,
    router: TowerToHyperService<axum::Router>,
    stop: watch::Receiver<bool>,
}

impl Reception for Admitting {
    /// Serves a connection if the limits allow it.
    fn receive(&self, stream: TcpStream, address: SocketAddr) {
        let Shared { sessions, metrics, .. } = &*self.shared;
        let Some(permit) = ConnectionPermit::take(&sessions.admission, metrics, address.ip()) else { return };
        let (tls, router) = (self.tls.clone(), self.router.clone());
        let (shared, mut stop) = (Arc::clone(&self.shared), self.stop.clone());
        // Requests do not wait for the clients of an I/O thread. Operators need `/metrics` most when a thread is overloaded.
        tokio::spawn(async move {
            let opening = Connection::open(stream, address, permit, &tls, &shared.metrics);
            let opened = tokio::select! {
                opened = timeout(shared.config.timeouts.handshake, opening) => opened,
                () = stopped(&mut stop) => return,
            };
            match opened {
                Ok(Ok(connection)) => serve(connection, router, shared, stop).await,
                Ok(Err(error)) => {
                    // A connection that ends before its first byte is not an error. A failed TLS handshake counts as a
                    // refusal.
                    if error.kind() == io::ErrorKind::InvalidData {
                        shared.metrics.refuse("tls_handshake");
                    }
                    debug!(%address, %error, "the connection broke before it was served");
                }
                Err(_) => shared.metrics.refuse("handshake_timeout"),
            }
        });
    }

    fn missed(&self) {
        self.shared.metrics.refuse("accept");
    }
}

/// Answers the requests of one connection, until the connection is upgraded or ends.
async fn serve(
    connection: Connection,
    router: TowerToHyperService<axum::Router>,
    shared: Arc<Shared>,
    mut stop: watch::Receiver<bool>,
) {
    let timeouts = &shared.config.timeouts;
    let connected = connection.peer();
    let proxies = shared.config.entry.proxies.clone();
    let service = service_fn(move |mut request: hyper::Request<Incoming>| {
        let host = host_of(request.version(), request.uri(), request.headers()).ok().flatten();
        let peer = Peer::behind(&proxies, connected, host, request.headers());
        request.extensions_mut().insert(peer);
        router.call(request)
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(timeouts.handshake)
        .max_buf_size(REQUEST_HEAD_BYTES_MAX)
        .serve_connection(TokioIo::new(connection), service)
        .with_upgrades();
    let mut connection = std::pin::pin!(connection);
    let served = tokio::select! {
        served = connection.as_mut() => served,
        () = sleep(timeouts.http) => {
            shared.metrics.refuse("http_timeout");
            return;
        }
        () = stopped(&mut stop) => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    match served {
        Err(error) if error.is_timeout() => shared.metrics.refuse("handshake_timeout"),
        Err(error) if error.is_parse() => shared.metrics.refuse("not_http"),
        Err(error) => debug!(%error, "connection ended"),
        Ok(()) => {}
    }
}

/// Makes the clients of sessions, as long as the server exists.
fn serve_session(shared: Weak<Shared>) -> impl Fn(Entry) -> Box<dyn Application> + Send + Sync + 'static {
    move |entry| match shared.upgrade() {
        Some(shared) => Box::new(SessionClient::new(shared, entry)),
        None => Box::new(NoSource),
    }
}

fn accept_config(config: &Config) -> AcceptConfig {
    let Limits { connections_max, connections_per_address_max, .. } = config.limits;
    AcceptConfig {
        session: session_config(config.timeouts.session_resumed, config.limits.unread_bytes_max),
        limits: AcceptLimits {
            sessions_max: connections_max,
            sessions_per_address_max: connections_per_address_max,
            carriers_max: connections_max,
            carriers_per_address_max: connections_per_address_max,
        },
        layers: config.layers.clone(),
    }
}

/// Returns the admission policy. Its limits are those of the server, for all protocols together.
fn policy(config: &Config) -> Policy {
    let mut policy = config.entry.clone();
    let limits = &mut policy.limits;
    limits.connections_max = config.limits.connections_max;
    limits.connections_per_address_max = config.limits.connections_per_address_max;
    limits.attempts_per_address_hz = config.limits.joins_per_address_hz;
    limits.counts_loopback = true;
    policy
}

/// Completes when the shutdown of the server begins, or when the server no longer exists.
async fn stopped(stop: &mut watch::Receiver<bool>) {
    let _ = stop.wait_for(|stop| *stop).await;
}

#[cfg(test)]
mod tests {
    use nowcast::admission::AdmissionRequest;

    use super::*;

    #[test]
    fn the_burst_of_joins_is_the_same_for_every_address() {
        let config = Config::default();
        let admission = Admission::new(policy(&config));
        let now = Now::read();
        for address in [[203, 0, 113, 7], [127, 0, 0, 1]] {
            let request = AdmissionRequest::new("plaza", (address, 5_000).into()).encrypted();
            let joins = (0..1_000).take_while(|_| admission.check(now, &request).is_ok()).count();
            assert_eq!(joins, config.limits.connections_per_address_max, "{address:?}");
        }
    }
}
