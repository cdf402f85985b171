//! A name server on sockets.

use std::collections::BTreeMap;
use std::future::Future;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::{sleep, sleep_until, timeout};

use super::PORT;
use super::connection::Connection;
use super::protocol::{Answer, LINE_BYTES_MAX, Refused};
use super::registry::{ConnectionId, Registry};

/// Maximum number of bytes that are read and dropped after a refusal. Without reading them, a TCP reset could destroy the
/// refusal.
const LINGER_BYTES_MAX: usize = 64 * 1024;

/// Maximum time for reading these bytes.
const LINGER: Duration = Duration::from_secs(1);

/// Configuration of a name server.
#[derive(Clone, Debug)]
pub struct NameServerConfig {
    /// The addresses to listen on; the default is loopback in both families.
    pub hosts: Vec<IpAddr>,
    /// The TCP port; 0 lets the system choose one.
    pub port: u16,
    /// Lets services of other machines advertise.
    pub allow_remote: bool,
    /// Maximum number of connections. If a further connection arrives, the oldest connection that advertises nothing is closed.
    pub connections_max: usize,
}

impl Default for NameServerConfig {
    fn default() -> NameServerConfig {
        NameServerConfig {
            hosts: vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()],
            port: PORT,
            allow_remote: false,
            connections_max: 4_096,
        }
    }
}

/// A name server: maps services to ports and hosts.
///
/// ```
/// use nowcast_name_server::{Advertisement, NameServer, NameServerConfig, find};
///
/// # tokio::runtime::Runtime::new()?.block_on(async {
/// let server = NameServer::bind(NameServerConfig { port: 0, ..Default::default() }).await?;
/// let address = server.addresses()[0];
/// tokio::spawn(server.run(std::future::pending()));
///
/// let mut advertisement = Advertisement::start(address, "tracker", 7777);
/// advertisement.registered().await?;
/// assert_eq!(find(address, "tracker").await?.port, 7777);
/// # Ok::<_, Box<dyn std::error::Error>>(()) })?;
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct NameServer {
    listeners: Vec<TcpListener>,
    shared: Arc<Shared>,
}

/// Counters of a name server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NameServerStats {
    /// Open connections.
    pub connections: usize,
    /// Advertised names.
    pub names: usize,
    /// Accepted connections.
    pub accepted: u64,
    /// Connections that were closed because a newer connection needed their slot.
    pub evicted: u64,
    /// Connections that were refused because all others advertise names.
    pub refused: u64,
    /// Names that were refused because their connection or their machine had the maximum.
    pub names_refused: u64,
}

/// Monitors a running name server.
#[derive(Clone, Debug)]
pub struct NameServerHandle {
    shared: Arc<Shared>,
}

impl NameServerHandle {
    /// Returns the counters.
    #[must_use]
    pub fn stats(&self) -> NameServerStats {
        let state = self.shared.lock();
        NameServerStats {
            connections: state.slots.len(),
            names: state.registry.len(),
            names_refused: state.registry.refused(),
            ..state.stats
        }
    }
}

#[derive(Debug)]
struct Shared {
    config: NameServerConfig,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    registry: Registry,
    next_id: u64,
    slots: BTreeMap<u64, Slot>,
    stats: NameServerStats,
}

/// The state of a connection outside of its task.
#[derive(Debug)]
struct Slot {
    advertises: bool,
    evicted: Arc<Notify>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Every change is a single call that leaves a consistent state.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl NameServer {
    /// Opens the sockets. An address family that this machine does not have is skipped if another one works.
    ///
    /// # Errors
    /// The system's error, if no address works or one of them is in use.
    pub async fn bind(config: NameServerConfig) -> io::Result<NameServer> {
        let mut listeners: Vec<TcpListener> = Vec::new();
        let (mut port, mut missing) = (config.port, None);
        for &host in &config.hosts {
            match TcpListener::bind(SocketAddr::new(host, port)).await {
                Ok(listener) => {
                    // The second family uses the port that the system chose for the first.
                    port = listener.local_addr()?.port();
                    listeners.push(listener);
                }
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => return Err(error),
                Err(error) => missing = Some(error),
            }
        }
        match missing {
            Some(error) if listeners.is_empty() => Err(error),
            _ => Ok(NameServer { listeners, shared: Arc::new(Shared { config, state: Mutex::default() }) }),
        }
    }

    /// The addresses of its sockets.
    #[must_use]
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.listeners.iter().filter_map(|listener| listener.local_addr().ok()).collect()
    }

    /// Returns a handle that stays valid while the server runs.
    #[must_use]
    pub fn handle(&self) -> NameServerHandle {
        NameServerHandle { shared: Arc::clone(&self.shared) }
    }

    /// Serves until `shutdown` completes. Then every connection is closed.
    pub async fn run(self, shutdown: impl Future<Output = ()>) {
        let mut accepting = JoinSet::new();
        for listener in self.listeners {
            accepting.spawn(accept_from(listener, Arc::clone(&self.shared)));
        }
        // Dropping the two sets ends all their tasks.
        shutdown.await;
    }
}

async fn accept_from(listener: TcpListener, shared: Arc<Shared>) {
    let mut serving = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, address)) => {
                    let Some(guest) = ServedConnection::admit(&shared, address.ip()) else { continue };
                    serving.spawn(guest.serve(stream));
                }
                Err(error) => {
                    // The process may have too many open files, or the peer has left before it was accepted. Neither error ends
                    // the server.
                    tracing::warn!(%error, "cannot accept a connection");
                    sleep(Duration::from_millis(20)).await;
                }
            },
            Some(_) = serving.join_next() => {}
        }
    }
}

/// A connection and its slot. Dropping this value frees the slot and releases the names.
struct ServedConnection {
    id: ConnectionId,
    connection: Connection,
    evicted: Arc<Notify>,
    shared: Arc<Shared>,
}

impl ServedConnection {
    /// Finds room for a connection. If there is none, closes the oldest connection that advertises nothing.
    fn admit(shared: &Arc<Shared>, address: IpAddr) -> Option<ServedConnection> {
        let mut guard = shared.lock();
        let state = &mut *guard;
        state.stats.accepted += 1;
        if state.slots.len() >= shared.config.connections_max {
            let oldest = state.slots.iter().find(|(_, slot)| !slot.advertises).map(|(id, _)| *id);
            let Some(slot) = oldest.and_then(|id| state.slots.remove(&id)) else {
                state.stats.refused += 1;
                return None;
            };
            state.stats.evicted += 1;
            slot.evicted.notify_one();
        }
        let id = state.next_id;
        state.next_id += 1;
        let evicted = Arc::new(Notify::new());
        state.slots.insert(id, Slot { advertises: false, evicted: Arc::clone(&evicted) });
        let id = ConnectionId(id);
        let connection = Connection::new(id, address, shared.config.allow_remote, Instant::now());
        Some(ServedConnection { id, connection, evicted, shared: Arc::clone(shared) })
    }

    async fn serve(mut self, mut stream: TcpStream) {
        let evicted = Arc::clone(&self.evicted);
        let mut input = [0; LINE_BYTES_MAX];
        loop {
            let output = self.connection.poll_output(&self.shared.lock().registry).to_vec();
            if output.is_empty() && self.connection.is_ending() {
                break;
            }
            let room = self.connection.room();
            let wake_at = self.connection.poll_timeout();
            let (mut reader, mut writer) = stream.split();
            tokio::select! {
                written = writer.write(&output), if !output.is_empty() => match written {
                    Ok(count) => self.sent(count),
                    Err(_) => return,
                },
                read = reader.read(&mut input[..room]), if room > 0 => match read {
                    Ok(0) | Err(_) => return,
                    Ok(count) => self.handle_bytes(&input[..count]),
                },
                () = sleep_until(wake_at.into()) => self.connection.handle_timeout(Instant::now()),
                () = evicted.notified() => {
                    let _ = writer.try_write(Answer::Error { error: Refused::Full }.line().as_bytes());
                    return;
                }
            }
        }
        drop(self); // the code below needs no place
        linger(stream).await;
    }

    fn sent(&mut self, count: usize) {
        self.connection.sent(Instant::now(), count, &mut self.shared.lock().registry);
        self.note();
    }

    fn handle_bytes(&mut self, bytes: &[u8]) {
        self.connection.handle_bytes(Instant::now(), bytes, &mut self.shared.lock().registry);
        self.note();
    }

    /// Marks the connection as one that advertises, so that it is not evicted.
    fn note(&self) {
        if self.connection.advertises()
            && let Some(slot) = self.shared.lock().slots.get_mut(&self.id.0)
        {
            slot.advertises = true;
        }
    }
}

impl Drop for ServedConnection {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.registry.release(self.id);
        state.slots.remove(&self.id.0);
    }
}

/// Closes a connection so that the peer can read the last line.
async fn linger(mut stream: TcpStream) {
    let drained = async {
        stream.shutdown().await?;
        let (mut unread, mut total) = ([0; 1_024], 0);
        while total < LINGER_BYTES_MAX {
            match stream.read(&mut unread).await? {
                0 => break,
                count => total += count,
            }
        }
        Ok::<_, io::Error>(())
    };
    // Any further error ends the connection.
    let _ = timeout(LINGER, drained).await;
}
