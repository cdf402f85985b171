//! Nowcast, and the common transports for state and events between two machines. Each is behind the same small trait.
//!
//! Every peer is used as its manual suggests and as a careful program would use it. Small segments are not delayed, there is one
//! write for each tick, and states are packed into datagrams of about the size of a packet. A peer does not know the measurement,
//! and the measurement uses a peer only through [`Connection`].

mod enet;
mod frame;
mod ours;
mod quic;
mod tcp;
mod tcp_conflating;
mod tcp_conflating_eager;
mod websocket;

use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::time::Duration;

use nowcast::CarrierKind;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

/// Maximum time for opening a connection. If the first packet is lost, some of these stacks need seconds.
const OPEN_TIMEOUT: Duration = Duration::from_secs(15);

/// Maximum number of bytes of states in one datagram, for peers that have datagrams.
const DATAGRAM_BYTES: usize = 1_150;

/// Returns a note about the configuration of TCP.
pub(crate) fn note_on_tcp() -> String {
    let by_default = tcp::congestion_control_by_default().unwrap_or_else(|| "unknown".into());
    let conflating = if tcp::has_bbr() { "bbr" } else { "cubic" };
    format!(
        "Congestion control of TCP: the system's default ({by_default}) for WebSocket and Nowcast over WebSocket; {conflating} for conflating TCP."
    )
}

/// A measured transport.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Peer {
    /// Nowcast over WebTransport.
    OursWebTransport,
    /// Nowcast over WebSocket.
    OursWebSocket,
    /// Plain TCP, written as fast as the socket accepts data, with CUBIC, the most common congestion control.
    TcpCubic,
    /// TCP with a conflating sender. The sender writes events first, and then the newest value of each key. It decides the
    /// content of a piece only when `poll` reports that the kernel has sent nearly all earlier bytes.
    TcpConflating,
    /// TCP with a conflating sender in an event loop. The sender writes until the socket accepts no more data.
    TcpConflatingEager,
    /// A WebSocket library with its usual unlimited buffer.
    WebSocket,
    /// QUIC with a separate stream for every message, and therefore without an order.
    QuicStreams,
    /// QUIC with states in datagrams and events on a stream, with the library's defaults.
    QuicDatagrams,
    /// `ENet`: reliable events and unreliable states, on two separate channels.
    Enet,
}

impl Peer {
    /// All peers.
    pub const ALL: [Peer; 9] = [
        Peer::OursWebTransport,
        Peer::OursWebSocket,
        Peer::TcpCubic,
        Peer::TcpConflating,
        Peer::TcpConflatingEager,
        Peer::WebSocket,
        Peer::QuicStreams,
        Peer::QuicDatagrams,
        Peer::Enet,
    ];

    /// Returns the name of the peer in tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Peer::OursWebTransport => "Nowcast, WebTransport",
            Peer::OursWebSocket => "Nowcast, WebSocket",
            Peer::TcpCubic => "TCP, CUBIC",
            Peer::TcpConflating => "TCP, conflating, asks before each piece",
            Peer::TcpConflatingEager => "TCP, conflating, writes until full",
            Peer::WebSocket => "WebSocket",
            Peer::QuicStreams => "QUIC, a stream per message",
            Peer::QuicDatagrams => "QUIC datagrams, defaults",
            Peer::Enet => "ENet",
        }
    }

    /// Returns the name of the peer on a command line.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Peer::OursWebTransport => "ours-web-transport",
            Peer::OursWebSocket => "ours-web-socket",
            Peer::TcpCubic => "tcp-cubic",
            Peer::TcpConflating => "tcp-conflating",
            Peer::TcpConflatingEager => "tcp-conflating-eager",
            Peer::WebSocket => "web-socket",
            Peer::QuicStreams => "quic-streams",
            Peer::QuicDatagrams => "quic-datagrams",
            Peer::Enet => "enet",
        }
    }

    /// Returns the peer for a name that [`Peer::word`] returned.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Peer> {
        Peer::ALL.into_iter().find(|peer| peer.word() == word)
    }

    /// Whether the peer is Nowcast.
    #[must_use]
    pub fn is_ours(self) -> bool {
        matches!(self, Peer::OursWebTransport | Peer::OursWebSocket)
    }
}

/// The reason why a peer could not be measured.
#[derive(Debug, thiserror::Error)]
pub enum PeerError {
    /// A socket failed.
    #[error("{what}: {cause}")]
    Socket {
        /// The attempt.
        what: &'static str,
        /// The system's error.
        cause: std::io::Error,
    },
    /// The network stack of the peer reported an error.
    #[error("{what}: {cause}")]
    Stack {
        /// The attempt.
        what: &'static str,
        /// The peer's own error text.
        cause: String,
    },
    /// The other end closed.
    #[error("the other end closed the connection")]
    Closed,
    /// The other end did not connect in time.
    #[error("no connection within {} s", OPEN_TIMEOUT.as_secs())]
    Timeout,
    /// A received frame differs from every frame that was sent.
    #[error("a received frame is invalid: {0}")]
    Frame(&'static str),
}

impl PeerError {
    pub(crate) fn socket(what: &'static str) -> impl FnOnce(std::io::Error) -> PeerError {
        move |cause| PeerError::Socket { what, cause }
    }

    pub(crate) fn stack<E: std::fmt::Display>(what: &'static str) -> impl FnOnce(E) -> PeerError {
        move |cause| PeerError::Stack { what, cause: cause.to_string() }
    }
}

/// A message that arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The key of a state; 0 for an event.
    pub key: u16,
    /// The content.
    pub bytes: Vec<u8>,
}

/// The work of a peer until a message arrives or a time is reached.
pub type Work<'a> = Pin<Box<dyn Future<Output = Result<(), PeerError>> + 'a>>;

/// One end of a connection, as used by a program with one thread and a tick.
///
/// In each tick, the program calls `put` for the new messages, then `flush`, and then `work` until the next tick.
pub trait Connection {
    /// Passes a message to the peer. The message is a state if `key` is not 0, or else an event. Never waits.
    ///
    /// # Errors
    /// Fails if the connection has ended.
    fn put(&mut self, key: u16, bytes: &[u8]) -> Result<(), PeerError>;

    /// Marks the end of the tick's messages.
    ///
    /// # Errors
    /// Fails if the connection has ended.
    fn flush(&mut self) -> Result<(), PeerError> {
        Ok(())
    }

    /// Whether the program may continue. A program that writes to a plain socket blocks while the socket is full. Therefore the
    /// program must put nothing while this method returns false.
    fn is_ready(&self) -> bool {
        true
    }

    /// Does the connection's work until at least one message has arrived, the program may continue, or `until` is reached.
    /// Appends at most `messages_max` messages.
    fn work<'a>(&'a mut self, until: Instant, messages_max: usize, inbox: &'a mut Vec<Message>) -> Work<'a>;
}

/// The ends of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum End {
    /// The end that connects, and sends first.
    Near,
    /// The end that listens.
    Far,
}

/// Opens a connection of `peer`. The far end calls `listening` as soon as the near end may connect.
///
/// # Errors
/// [`PeerError`]
pub async fn open(
    peer: Peer,
    end: End,
    address: SocketAddr,
    listening: &mut dyn FnMut(),
) -> Result<Box<dyn Connection>, PeerError> {
    let opening = open_without_limit(peer, end, address, listening);
    tokio::time::timeout(OPEN_TIMEOUT, opening).await.map_err(|_| PeerError::Timeout)?
}

async fn open_without_limit(
    peer: Peer,
    end: End,
    address: SocketAddr,
    listening: &mut dyn FnMut(),
) -> Result<Box<dyn Connection>, PeerError> {
    Ok(match peer {
        Peer::OursWebTransport => {
            Box::new(ours::Ours::open(end, address, CarrierKind::WebTransport, listening).await?)
        }
        Peer::OursWebSocket => {
            Box::new(ours::Ours::open(end, address, CarrierKind::WebSocket, listening).await?)
        }
        Peer::TcpCubic => Box::new(tcp::Tcp::open(end, address, Some("cubic"), listening).await?),
        Peer::TcpConflating => Box::new(tcp_conflating::TcpConflating::open(end, address, listening).await?),
        Peer::TcpConflatingEager => {
            Box::new(tcp_conflating_eager::TcpConflatingEager::open(end, address, listening).await?)
        }
        Peer::WebSocket => Box::new(websocket::WebSocket::open(end, address, listening).await?),
        Peer::QuicStreams => Box::new(quic::Quic::open(end, address, quic::Use::Streams, listening).await?),
        Peer::QuicDatagrams => {
            Box::new(quic::Quic::open(end, address, quic::Use::Datagrams, listening).await?)
        }
        Peer::Enet => Box::new(enet::Enet::open(end, address, listening).await?),
    })
}
