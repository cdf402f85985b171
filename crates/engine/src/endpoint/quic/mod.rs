//! The UDP side of an endpoint: QUIC, HTTP/3 and WebTransport, in a separate loop for each socket and I/O thread.
//!
//! [`core`] is the endpoint without sockets or clocks. [`serving`] connects it with a socket. A server has one loop for each
//! I/O thread ([`shards`]), and a client has one loop for each connection ([`client`]). The loop and its carriers ([`carrier`])
//! call the same state machine, so a packet needs no task, channel or allocation.

mod carrier;
mod client;
mod connection;
mod core;
mod handshakes;
mod http;
mod serving;
mod shards;
mod shared;
#[cfg(test)]
mod tests;
mod unproven;

use std::io;
use std::net::UdpSocket;
use std::sync::Arc;
use std::time::Instant;

use quinn_proto::crypto::rustls::QuicServerConfig;
use quinn_proto::{EndpointConfig, ServerConfig};
use rustls::KeyLogFile;
use rustls::crypto::ring;
use rustls::version::TLS13;

pub(crate) use self::client::connect;
use self::core::{Core, Host};
use super::Directory;
use super::socket::sharing;
use crate::carrier::transport_config;
use crate::certificate::Certificates;
use crate::io::{DatagramSocket, IoThreads, spawn_loop};
use handshakes::{HANDSHAKES_MAX, Handshakes};
use serving::Loop;
use shards::{Inboxes, Shard, ThreadIds};
use shared::Serving;

/// Maximum number of bytes in packets that arrive before their handshake is handled.
const EARLY_BYTES_MAX: u64 = 4 * 1_024 * 1_024;
/// The protocol in the TLS handshake: HTTP/3 (RFC 9114, section 3.1).
pub(super) const ALPN: &str = "h3";
/// Maximum number of loops of one address.
const SHARDS_MAX: usize = 64;

/// Accepts WebTransport sessions on UDP sockets, for a [`Directory`]. Dropping the endpoint ends all its sessions.
///
/// The library's listener uses this type for you. A server with its own HTTP port uses it directly.
pub struct QuicEndpoint {
    serving: Vec<Arc<Serving>>,
}

impl QuicEndpoint {
    /// Serves on sockets that share one port. On I/O threads, each address is served by all threads, on systems where sockets can share
    /// an address (Linux). A client's session belongs to one thread. Without I/O threads, the current tokio runtime serves.
    ///
    /// # Errors
    /// The system's error for the sockets.
    pub fn serve(
        threads: Option<&IoThreads>,
        sockets: Vec<UdpSocket>,
        certificates: Arc<Certificates>,
        directory: Arc<dyn Directory>,
    ) -> io::Result<Self> {
        let config = server_config(certificates);
        let mut serving = Vec::new();
        for socket in sockets {
            let sockets = sharing(socket, threads.map_or(1, |threads| threads.all().len().min(SHARDS_MAX)))?;
            let address = Arc::new(Address::new(&config, &directory, sockets.len()));
            let first = serving.len();
            for (number, socket) in sockets.into_iter().enumerate() {
                let of_address = Arc::clone(&address);
                let serve = move || of_address.serve(socket, number);
                serving.push(match threads {
                    Some(threads) => threads.next().run(serve)??,
                    None => serve()?,
                });
            }
            address.is_complete(&serving[first..]);
        }
        Ok(Self { serving })
    }
}

impl Drop for QuicEndpoint {
    fn drop(&mut self) {
        self.serving.iter().for_each(|serving| serving.close());
    }
}

impl std::fmt::Debug for QuicEndpoint {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("QuicEndpoint").finish_non_exhaustive()
    }
}

/// The endpoints of one address, which share keys and limits.
struct Address {
    server: Arc<ServerConfig>,
    endpoint: EndpointConfig,
    directory: Arc<dyn Directory>,
    handshakes: Arc<Handshakes>,
    key: u64,
    shards: u8,
    all: Inboxes,
}

impl Address {
    fn new(server: &Arc<ServerConfig>, directory: &Arc<dyn Directory>, shards: usize) -> Self {
        Self {
            server: Arc::clone(server),
            endpoint: EndpointConfig::default(),
            directory: Arc::clone(directory),
            handshakes: Arc::default(),
            key: u64::from_le_bytes(crate::random::bytes()),
            shards: u8::try_from(shards).expect("the number of loops is limited"),
            all: Arc::default(),
        }
    }

    /// Serves on one socket, on this I/O thread or on the current runtime.
    fn serve(&self, socket: UdpSocket, number: usize) -> io::Result<Arc<Serving>> {
        let number = u8::try_from(number).expect("the number of loops is limited");
        let (key, of) = (self.key, self.shards);
        let mut config = self.endpoint.clone();
        config.cid_generator(move || Box::new(ThreadIds::new(key, number, of)));
        let host = Host {
            config: Arc::clone(&self.server),
            directory: Arc::clone(&self.directory),
            handshakes: Arc::clone(&self.handshakes),
            shards: u32::from(of),
        };
        let core = Core::new(Arc::new(config), Some(host), Instant::now());
        let shard = Shard::new(ThreadIds::new(key, number, of), Arc::clone(&self.all));
        let serving = Serving::new(core, shard);
        spawn_loop(Loop::new(Arc::clone(&serving), DatagramSocket::open(socket)?));
        Ok(serving)
    }

    /// From now on, the loops pass on each other's packets.
    fn is_complete(&self, serving: &[Arc<Serving>]) {
        // This is the only call for an address.
        let _ = self.all.set(serving.iter().map(|serving| Arc::clone(&serving.inbox)).collect());
    }
}

fn server_config(certificates: Arc<Certificates>) -> Arc<ServerConfig> {
    let provider = Arc::new(ring::default_provider());
    let mut tls = rustls::ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&TLS13])
        .expect("the provider has suites of TLS 1.3")
        .with_no_client_auth()
        .with_cert_resolver(certificates);
    tls.alpn_protocols = vec![ALPN.as_bytes().to_vec()];
    tls.key_log = Arc::new(KeyLogFile::new());
    let crypto = QuicServerConfig::try_from(tls).expect("the provider has QUIC's initial suite");
    let mut config = ServerConfig::with_crypto(Arc::new(crypto));
    config
        .transport_config(transport_config())
        .max_incoming(HANDSHAKES_MAX)
        .incoming_buffer_size_total(EARLY_BYTES_MAX);
    Arc::new(config)
}
