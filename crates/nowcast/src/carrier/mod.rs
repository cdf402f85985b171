//! Carriers: they move the packets of a session (`spec/CARRIERS.md`, sections 3 and 4).
//!
//! A carrier is small on purpose: it takes a packet when it has room for one, gives those that arrive, and says when it
//! has ended. Everything else (acknowledging, pacing, going on elsewhere) is the session's.

mod congestion;
mod patience;
mod socket;
mod websocket;
mod webtransport;

use std::fmt;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use tokio::task::JoinHandle;

pub(crate) use patience::QuicRuntime;
pub use socket::{OverTcp, poll_room};
pub(crate) use websocket::config as websocket_config;
pub use websocket::{SUBPROTOCOL, UNSENT_BYTES_MAX, WebSocket, prepare_stream};
pub use webtransport::WebTransport;
pub(crate) use webtransport::transport_config;

/// A peer that does not help to end a carrier is waited for so long.
pub(crate) const RETIRE_TIME_MAX: Duration = Duration::from_secs(1);

/// Moves packets between two ends, until it dies.
pub trait Carrier: Send {
    /// Which one it is.
    fn kind(&self) -> CarrierKind;

    /// Returns its properties for the session.
    fn properties(&self) -> nowcast_session::Carrier;

    /// Ready when it takes a packet at once. A packet is filled after this and not before, so that what it says is the
    /// newest (late binding).
    ///
    /// # Errors
    /// How the carrier ended.
    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Ended>>;

    /// Whether the carrier buffers next to nothing of its own. Then it is not ready only while the network path is full.
    fn is_shallow(&self) -> bool {
        false
    }

    /// Takes a packet, after [`poll_ready`](Self::poll_ready) was ready.
    ///
    /// # Errors
    /// How the carrier ended.
    fn send(&mut self, packet: &[u8]) -> Result<(), Ended>;

    /// The next packet that arrived.
    ///
    /// # Errors
    /// How the carrier ended.
    fn poll_receive(&mut self, context: &mut Context<'_>) -> Poll<Result<Bytes, Ended>>;

    /// Ends it in good order, as far as the peer cooperates; ready when there is nothing left to do.
    fn poll_close(&mut self, context: &mut Context<'_>, ending: Ending) -> Poll<()>;
}

/// The carriers there are, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CarrierKind {
    /// Queues in memory that both tasks see.
    SharedMemory,
    /// Queues at both ends of a socket of one machine, where there is no shared memory.
    LocalSocket,
    /// QUIC datagrams.
    WebTransport,
    /// Messages on a TCP connection.
    WebSocket,
}

impl CarrierKind {
    /// Whether it joins tasks of one machine alone: without a network, and so without a session.
    #[must_use]
    pub const fn is_local(self) -> bool {
        matches!(self, CarrierKind::SharedMemory | CarrierKind::LocalSocket)
    }
}

impl fmt::Display for CarrierKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            CarrierKind::SharedMemory => "shared memory",
            CarrierKind::LocalSocket => "local socket",
            CarrierKind::WebTransport => "WebTransport",
            CarrierKind::WebSocket => "WebSocket",
        })
    }
}

/// How a carrier came to its end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Ended {
    /// The peer ended it in good order.
    #[error("the peer closed the carrier")]
    Closed,
    /// The peer broke a rule of the carrier.
    #[error("the peer broke the carrier's rules: {0}")]
    Violation(String),
    /// It broke, or the peer vanished.
    #[error("the carrier broke: {0}")]
    Broken(String),
}

/// Why we end a carrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The session is over, or has moved to another carrier.
    Done,
    /// The endpoint goes away.
    GoingAway,
    /// The peer broke a rule of the carrier.
    Violation,
}

/// Ends a carrier in the background, within [`RETIRE_TIME_MAX`].
pub(crate) fn retire(carrier: Box<dyn Carrier>, ending: Ending) {
    drop(retiring(carrier, ending));
}

/// Does the same, and gives what to wait for; nothing outside of a runtime.
pub(crate) fn retiring(mut carrier: Box<dyn Carrier>, ending: Ending) -> Option<JoinHandle<()>> {
    let runtime = tokio::runtime::Handle::try_current().ok()?;
    Some(runtime.spawn(async move {
        let closed = std::future::poll_fn(|context| carrier.poll_close(context, ending));
        // A peer that does not cooperate is left; dropping the carrier frees what it holds.
        let _ = tokio::time::timeout(RETIRE_TIME_MAX, closed).await;
    }))
}
