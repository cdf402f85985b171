//! Carriers move the packets of a session (`spec/CARRIERS.md`, sections 3 and 4).
//!
//! A carrier has few tasks: it accepts a packet if it has room, returns arrived packets, and reports its end. The
//! session does all the rest (acknowledging, pacing, moving to another carrier).

mod congestion;
mod patience;
mod socket;
mod websocket;
mod webtransport;

use std::cell::RefCell;
use std::fmt;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use tokio::task::JoinHandle;

pub(crate) use patience::patient;
pub use socket::{OverTcp, poll_room};
pub(crate) use websocket::config as websocket_config;
pub use websocket::{SUBPROTOCOL, UNSENT_BYTES_MAX, WebSocket, prepare_stream};
pub(crate) use webtransport::{
    CLOSED_VIOLATION, DATAGRAM_BYTES_MAX, QUARTER_STREAM_ID, too_small, transport_config,
};

/// Maximum wait for a peer that does not cooperate in closing a carrier.
pub const RETIRE_TIME_MAX: Duration = Duration::from_secs(1);

/// Size of a block of memory for outgoing packets.
const BLOCK_BYTES: usize = 16 * 1_024;

thread_local! {
    /// The block for the next packets of this thread. It is used again when its packets have left.
    static BLOCK: RefCell<BytesMut> = RefCell::new(BytesMut::new());
}

/// Copies the parts of a packet into a block that the packets of a thread share. So most packets allocate nothing.
pub(crate) fn copied(parts: &[&[u8]]) -> Bytes {
    let bytes = parts.iter().map(|part| part.len()).sum();
    BLOCK.with_borrow_mut(|block| {
        if block.capacity() < bytes {
            block.reserve(bytes.max(BLOCK_BYTES));
        }
        parts.iter().for_each(|part| block.extend_from_slice(part));
        block.split().freeze()
    })
}

/// Moves packets between two ends.
pub trait Carrier: Send {
    /// Returns the kind of the carrier.
    fn kind(&self) -> CarrierKind;

    /// Returns the carrier's properties for the session.
    fn properties(&self) -> nowcast_session::Carrier;

    /// Ready if the carrier accepts a packet at once. The caller fills the packet only after this call, so that its content is
    /// the newest (late binding).
    ///
    /// # Errors
    /// The end of the carrier.
    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Ended>>;

    /// Whether the carrier buffers almost nothing. Such a carrier is not ready only while the network path is full.
    fn is_shallow(&self) -> bool {
        false
    }

    /// Sends a packet, after [`poll_ready`](Self::poll_ready) was ready.
    ///
    /// # Errors
    /// The end of the carrier.
    fn send(&mut self, packet: &[u8]) -> Result<(), Ended>;

    /// Returns the next packet that arrived.
    ///
    /// # Errors
    /// The end of the carrier.
    fn poll_receive(&mut self, context: &mut Context<'_>) -> Poll<Result<Bytes, Ended>>;

    /// Closes the carrier gracefully if the peer cooperates. Ready when the close is complete.
    fn poll_close(&mut self, context: &mut Context<'_>, ending: Ending) -> Poll<()>;
}

/// Wraps each carrier of a connector or an acceptor. A layer may record packets, or delay them.
pub trait CarrierLayer: fmt::Debug + Send + Sync {
    /// Returns a carrier that passes packets to and from this one.
    fn wrap(&self, carrier: Box<dyn Carrier>) -> Box<dyn Carrier>;
}

/// The kinds of carriers, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CarrierKind {
    /// Queues in memory that both processes share.
    SharedMemory,
    /// Queues at both ends of a local socket, on systems without shared memory.
    LocalSocket,
    /// QUIC datagrams.
    WebTransport,
    /// Messages on a TCP connection.
    WebSocket,
}

impl CarrierKind {
    /// Whether this kind connects only programs on one machine, without a network and without a session.
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

/// The end of a carrier.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Ended {
    /// The peer closed the carrier gracefully.
    #[error("the peer closed the carrier")]
    Closed,
    /// The peer broke a rule of the carrier.
    #[error("the peer broke the carrier's rules: {0}")]
    Violation(String),
    /// The carrier broke, or the peer vanished.
    #[error("the carrier broke: {0}")]
    Broken(String),
}

/// The reason why this side ends a carrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The session is over, or has moved to another carrier.
    Done,
    /// The endpoint closes.
    GoingAway,
    /// The peer broke a rule of the carrier.
    Violation,
}

/// Closes a carrier in the background, within [`RETIRE_TIME_MAX`].
pub fn retire(carrier: Box<dyn Carrier>, ending: Ending) {
    drop(retiring(carrier, ending));
}

/// Like [`retire`], and returns a handle that can be awaited; `None` outside of a runtime.
pub(crate) fn retiring(mut carrier: Box<dyn Carrier>, ending: Ending) -> Option<JoinHandle<()>> {
    let runtime = tokio::runtime::Handle::try_current().ok()?;
    Some(runtime.spawn(async move {
        let closed = std::future::poll_fn(|context| carrier.poll_close(context, ending));
        // A peer that does not cooperate is abandoned. Dropping the carrier frees its resources.
        let _ = tokio::time::timeout(RETIRE_TIME_MAX, closed).await;
    }))
}
