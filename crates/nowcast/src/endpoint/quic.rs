//! The UDP side of an endpoint: turns WebTransport sessions into carriers.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use quinn::crypto::rustls::QuicServerConfig;
use quinn::{Endpoint, EndpointConfig, Incoming, ServerConfig, VarInt};
use rustls::crypto::ring;
use rustls::version::TLS13;
use tokio::time::{sleep, timeout};
use tracing::Dispatch;
use tracing::instrument::WithSubscriber;
use url::Position;
use web_transport_quinn::http::StatusCode;
use web_transport_quinn::{ALPN, Request};

use super::unproven::{Unproven, UnprovenRuntime};
use super::{ConnectRequest, Directory, RefusalAnswer, name_in, no_such_name};
use crate::admission::{Page, Peer, network_of, origin_of};
use crate::carrier::{WebTransport, transport_config};
use crate::certificate::Certificates;
use crate::io::{IoThreads, Pace, spawn};

/// Maximum time from the first packet of a client until its request is answered.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// Time for a refused client to close its connection.
const REFUSED_TIMEOUT: Duration = Duration::from_secs(2);
/// Closes without an error (RFC 9114, section 8.1).
const H3_NO_ERROR: VarInt = VarInt::from_u32(0x100);
/// Maximum number of handshakes in progress with unvalidated addresses. Above it, a Retry packet makes a client validate its
/// address first (RFC 9000, section 8.1.2). A Retry costs the client a round trip and this endpoint no memory.
const UNPROVEN_MAX: usize = 32;
/// Maximum number of handshakes in progress. Further ones are refused.
const HANDSHAKES_MAX: usize = 1_000;
/// Maximum number of handshakes in progress with one address: an IPv4 address, or the /64 of an IPv6 address. Further handshakes
/// are not answered, and the client retries a moment later.
const HANDSHAKES_PER_ADDRESS_MAX: usize = 128;
/// Maximum number of handshakes in progress with one unvalidated address. An attacker that forges a victim's address must not
/// use up the victim's places. It must not make the endpoint send much to the victim, either. For one forged packet of 1,200
/// bytes, the endpoint sends 3.6 kB to the victim (`unproven.rs`). For all of them together, it sends 7.2 kB during the time of
/// a handshake.
const UNPROVEN_PER_ADDRESS_MAX: usize = 2;
/// Mean interval between two handshakes of an endpoint. In a crowd of newcomers, further ones wait in quinn's list, so that the
/// sessions that are open keep their pace. A thousand clients are in after five seconds.
const HANDSHAKE_INTERVAL: Duration = Duration::from_millis(5);
/// Number of handshakes that may begin at once.
const HANDSHAKE_BURST: u32 = 32;
/// Maximum number of bytes in packets that arrive before their handshake is handled.
const EARLY_BYTES_MAX: u64 = 4 * 1_024 * 1_024;

/// Accepts WebTransport sessions on UDP sockets, for a [`Directory`]. Dropping the endpoint ends all its sessions.
///
/// [`Listener`](crate::Listener) uses this type for you. A server with its own HTTP port uses it directly.
pub struct QuicEndpoint {
    endpoints: Vec<Endpoint>,
    port: u16,
}

impl QuicEndpoint {
    /// Serves on sockets that share one port. Must be called within a tokio runtime.
    ///
    /// # Errors
    /// The system's error for the sockets.
    pub fn serve(
        sockets: Vec<UdpSocket>,
        certificates: Arc<Certificates>,
        directory: Arc<dyn Directory>,
    ) -> io::Result<Self> {
        let config = server_config(certificates);
        Self::serve_by(sockets, |socket| serve(socket, config.clone(), Arc::clone(&directory)))
    }

    /// Like [`serve`](Self::serve), on I/O threads. Each socket and its sessions belong to one thread.
    ///
    /// # Errors
    /// The system's error for the sockets.
    pub fn serve_on(
        threads: &IoThreads,
        sockets: Vec<UdpSocket>,
        certificates: Arc<Certificates>,
        directory: Arc<dyn Directory>,
    ) -> io::Result<Self> {
        let config = server_config(certificates);
        Self::serve_by(sockets, |socket| {
            let (config, directory) = (config.clone(), Arc::clone(&directory));
            threads.next().run(move || serve(socket, config, directory))?
        })
    }

    fn serve_by(
        sockets: Vec<UdpSocket>,
        serve: impl Fn(UdpSocket) -> io::Result<Endpoint>,
    ) -> io::Result<Self> {
        let port = sockets.first().map_or(Ok(0), |socket| Ok::<_, io::Error>(socket.local_addr()?.port()))?;
        Ok(Self { endpoints: sockets.into_iter().map(serve).collect::<io::Result<_>>()?, port })
    }

    /// The port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }
}

impl Drop for QuicEndpoint {
    fn drop(&mut self) {
        for endpoint in &self.endpoints {
            endpoint.close(1u32.into(), b"going away");
        }
    }
}

impl std::fmt::Debug for QuicEndpoint {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("QuicEndpoint").field("port", &self.port).finish_non_exhaustive()
    }
}

/// Serves on one socket, on this I/O thread or on the current runtime.
fn serve(socket: UdpSocket, config: ServerConfig, directory: Arc<dyn Directory>) -> io::Result<Endpoint> {
    let unproven = Arc::new(Unproven::default());
    let runtime = Arc::new(UnprovenRuntime(Arc::clone(&unproven)));
    let endpoint = Endpoint::new(EndpointConfig::default(), Some(config), socket, runtime)?;
    spawn(accept_all(endpoint.clone(), unproven, directory));
    Ok(endpoint)
}

fn server_config(certificates: Arc<Certificates>) -> ServerConfig {
    let provider = Arc::new(ring::default_provider());
    let mut tls = rustls::ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&TLS13])
        .expect("the provider has suites of TLS 1.3")
        .with_no_client_auth()
        .with_cert_resolver(certificates);
    tls.alpn_protocols = vec![ALPN.as_bytes().to_vec()];
    let crypto = QuicServerConfig::try_from(tls).expect("the provider has QUIC's initial suite");
    let mut config = ServerConfig::with_crypto(Arc::new(crypto));
    config
        .transport_config(transport_config())
        .max_incoming(HANDSHAKES_MAX)
        .incoming_buffer_size_total(EARLY_BYTES_MAX);
    config
}

/// The handshakes in progress, by address.
#[derive(Default)]
struct Handshakes {
    by_network: Mutex<HashMap<IpAddr, usize>>,
}

/// One handshake in progress. Dropping the value removes the handshake from the counts.
struct Handshake {
    all: Arc<Handshakes>,
    network: IpAddr,
}

/// The decision about a client that begins a handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reception {
    Welcome,
    /// The endpoint sends a Retry packet and stores nothing. A forged address never answers the packet.
    Prove,
    Ignore,
    Refuse,
}

impl Handshakes {
    fn lock(&self) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        self.by_network.lock().expect("no thread panics while holding the lock")
    }

    fn judge(&self, in_all: usize, address: IpAddr, is_proven: bool) -> Reception {
        let of_address = self.lock().get(&network_of(address)).copied().unwrap_or_default();
        if !is_proven && (in_all >= UNPROVEN_MAX || of_address >= UNPROVEN_PER_ADDRESS_MAX) {
            Reception::Prove
        } else if of_address >= HANDSHAKES_PER_ADDRESS_MAX {
            Reception::Ignore
        } else if in_all >= HANDSHAKES_MAX {
            Reception::Refuse
        } else {
            Reception::Welcome
        }
    }

    fn begin(self: &Arc<Self>, address: IpAddr) -> Handshake {
        let network = network_of(address);
        *self.lock().entry(network).or_default() += 1;
        Handshake { all: Arc::clone(self), network }
    }
}

impl Drop for Handshake {
    fn drop(&mut self) {
        let mut all = self.all.lock();
        let Some(count) = all.get_mut(&self.network) else { return };
        *count -= 1;
        if *count == 0 {
            all.remove(&self.network);
        }
    }
}

async fn accept_all(endpoint: Endpoint, unproven: Arc<Unproven>, directory: Arc<dyn Directory>) {
    // Each handshake in progress holds a reference.
    let handshakes = Arc::new(Handshakes::default());
    let mut pace = Pace::new(Instant::now(), HANDSHAKE_INTERVAL, HANDSHAKE_BURST);
    while let Some(incoming) = endpoint.accept().await {
        let in_all = Arc::strong_count(&handshakes) - 1;
        let address = incoming.remote_address().ip();
        match handshakes.judge(in_all, address, incoming.remote_address_validated()) {
            Reception::Welcome => {}
            Reception::Prove => {
                // Retry fails only for a validated address, and such an address is not asked to retry.
                let _ = incoming.retry();
                continue;
            }
            Reception::Ignore => {
                incoming.ignore();
                continue;
            }
            Reception::Refuse => {
                incoming.refuse();
                continue;
            }
        }
        let Ok(place) = directory.arrive(address) else {
            incoming.refuse();
            continue;
        };
        let pause = pace.pause(Instant::now());
        if !pause.is_zero() {
            sleep(pause).await;
        }
        let guard = handshakes.begin(address);
        let proof = match Proof::of(&incoming, &unproven) {
            Ok(proof) => proof,
            Err(TooMany) => {
                let _ = incoming.retry();
                continue;
            }
        };
        let directory = Arc::clone(&directory);
        spawn(async move {
            let (_guard, _place) = (guard, place);
            if timeout(HANDSHAKE_TIMEOUT, enter(incoming, proof, &*directory)).await.is_err() {
                tracing::debug!("a WebTransport handshake took too long");
            }
        });
    }
}

/// The error if too many addresses are watched. Further addresses must be validated first.
struct TooMany;

/// Watches the unvalidated address of a handshake until the handshake proves that the client is there.
struct Proof {
    unproven: Arc<Unproven>,
    address: SocketAddr,
    is_proven: bool,
}

impl Proof {
    /// Begins the watch, unless the address is already validated.
    fn of(incoming: &Incoming, unproven: &Arc<Unproven>) -> Result<Self, TooMany> {
        let (address, is_proven) = (incoming.remote_address(), incoming.remote_address_validated());
        if !is_proven && !unproven.begin(address, Instant::now()) {
            return Err(TooMany);
        }
        Ok(Self { unproven: Arc::clone(unproven), address, is_proven })
    }

    fn succeed(mut self) {
        self.is_proven = true;
        self.unproven.prove(self.address);
    }
}

impl Drop for Proof {
    fn drop(&mut self) {
        if !self.is_proven {
            self.unproven.fail(self.address, Instant::now());
        }
    }
}

/// Answers one client's request for a session.
async fn enter(incoming: Incoming, proof: Proof, directory: &dyn Directory) {
    let address = incoming.remote_address();
    let request = match incoming.await {
        Ok(connection) => {
            proof.succeed();
            // At its debug level, the library logs the URL of a request, and URLs contain tokens.
            Request::accept(connection).with_subscriber(Dispatch::none()).await
        }
        Err(error) => return tracing::debug!(%address, %error, "a QUIC handshake failed"),
    };
    let request = match request {
        Ok(request) => request,
        Err(error) => return tracing::debug!(%address, %error, "not a WebTransport request"),
    };
    let origin = origin_of(&request.headers);
    let host = &request.url[Position::BeforeHost..Position::AfterPort];
    let admitted = name_in(request.url.path()).ok_or_else(no_such_name).and_then(|name| {
        directory.admit(ConnectRequest {
            name,
            query: request.url.query(),
            page: Page { host: Some(host), origin: origin.as_deref() },
            peer: Peer::behind(&[], Peer::connected(address, true), Some(host), &request.headers),
            is_joining: true,
        })
    });
    match admitted {
        Ok((acceptor, entry)) => match request.ok().await.map(WebTransport::new) {
            Ok(Ok(carrier)) => acceptor.hand_over(Box::new(carrier), entry),
            Ok(Err(bytes)) => tracing::debug!(%address, bytes, "the peer's datagrams are too small"),
            Err(error) => tracing::debug!(%address, %error, "the client left"),
        },
        Err(refusal) => refuse(request, &refusal).await,
    }
}

/// Answers with the status of the refusal. Closes the connection when the client has left.
async fn refuse(request: Request, refusal: &RefusalAnswer) {
    let status = StatusCode::from_u16(refusal.status).unwrap_or(StatusCode::BAD_REQUEST);
    // The library's own refusal drops HTTP/3's control stream together with the request. Clients then see a closed control
    // stream, which is an error (RFC 9114, section 6.2.1), instead of a status. An answer keeps the stream as long as it is
    // needed.
    let Ok(answered) = request.respond(status).await else { return };
    let connection: &quinn::Connection = &answered;
    if timeout(REFUSED_TIMEOUT, connection.closed()).await.is_err() {
        connection.close(H3_NO_ERROR, b"refused");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_address_cannot_take_the_handshakes_of_all() {
        let handshakes = Arc::new(Handshakes::default());
        let [greedy, other] = [1, 2].map(|last| IpAddr::from([192, 0, 2, last]));
        let mut held = Vec::new();
        let reception =
            |held: &Vec<Handshake>, address, is_proven| handshakes.judge(held.len(), address, is_proven);
        while reception(&held, greedy, false) == Reception::Welcome {
            held.push(handshakes.begin(greedy));
        }
        assert_eq!(
            (held.len(), reception(&held, greedy, false)),
            (UNPROVEN_PER_ADDRESS_MAX, Reception::Prove)
        );
        while reception(&held, greedy, true) == Reception::Welcome {
            held.push(handshakes.begin(greedy));
        }
        assert_eq!(
            (held.len(), reception(&held, greedy, true)),
            (HANDSHAKES_PER_ADDRESS_MAX, Reception::Ignore)
        );
        assert_eq!(reception(&held, other, true), Reception::Welcome);
        let network: [IpAddr; 2] =
            ["2001:db8::1", "2001:db8::ffff:1"].map(|address| address.parse().unwrap());
        for _ in 0..UNPROVEN_PER_ADDRESS_MAX {
            held.push(handshakes.begin(network[0]));
        }
        assert_eq!(handshakes.judge(0, network[1], false), Reception::Prove, "a /64 counts as one address");
        held.clear();
        assert!(handshakes.lock().is_empty());
        assert_eq!(reception(&held, greedy, false), Reception::Welcome);
    }
}
