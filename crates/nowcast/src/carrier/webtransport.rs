//! WebTransport: one packet is one QUIC datagram (`spec/CARRIERS.md`, section 3).

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{Stream, unfold};
use quinn::{AckFrequencyConfig, ConnectionError, SendDatagramError, TransportConfig, VarInt};
use web_transport_quinn::Session;

use super::congestion::AsideFactory;
use super::{Carrier, CarrierKind, Ended, Ending, copied};

/// The session is on the connection's first stream, so its quarter stream id (RFC 9297, section 2.1) is 0.
pub(crate) const QUARTER_STREAM_ID: u8 = 0;
/// The largest datagram: a packet and the quarter stream id.
pub(crate) const DATAGRAM_BYTES_MAX: usize = nowcast_session::PACKET_BYTES_MIN as usize + 1;
/// Overhead that QUIC's send buffer charges for each datagram.
const BOOKKEEPING_BYTES: usize = 64;
/// Maximum number of packets in QUIC's buffer: those of one turn of the driver, which are passed to the system in one call.
/// QUIC sends them at once, because its congestion controller limits nothing. So no outdated packets wait in the buffer.
const UNSENT_PACKETS_MAX: usize = 4;
/// UDP payload that holds the largest datagram with all headers, and fits into a path of 1,280 bytes.
const UDP_PAYLOAD_BYTES: u16 = 1_252;
/// Receive buffer for datagrams. When it is full, the oldest are dropped.
const RECEIVE_BUFFER_BYTES: usize = 256 * 1_024;
/// The session detects a silent peer long before this timeout. The timeout only frees the memory of forgotten connections.
const IDLE_TIMEOUT_MS: u32 = 30_000;
/// QUIC acknowledges at most once for this many packets. The session does not need QUIC's acknowledgements, and each of them is a
/// packet.
const PACKETS_PER_ACK: u32 = 10;
/// Maximum delay of acknowledgements, so that they share packets with data. The library reduces it to the round trip, but not
/// below 25 ms.
const ACK_DELAY_MAX: Duration = Duration::from_millis(100);
/// Maximum number of unidirectional streams. HTTP/3 needs three, and browsers open a few more to test extensions.
const UNI_STREAMS_MAX: u32 = 8;
/// Maximum number of bidirectional streams. The session uses one.
const BIDI_STREAMS_MAX: u32 = 4;
/// Maximum number of unread bytes of a stream. Only HTTP/3's own messages use streams. Other streams are not read, so their bytes
/// wait here until the session ends.
const STREAM_BYTES_MAX: u32 = 16 * 1_024;
/// Maximum number of unread bytes of all streams of a connection.
const STREAMS_BYTES_MAX: u32 = 64 * 1_024;

/// Code of a WebTransport session that cannot carry packets.
pub(crate) const CLOSED_VIOLATION: u32 = 2;

type Datagrams = Pin<Box<dyn Stream<Item = Result<Bytes, ConnectionError>> + Send>>;
type Sending = Pin<Box<dyn Future<Output = Result<(), SendDatagramError>> + Send>>;

/// An established WebTransport session as a carrier.
pub struct WebTransport {
    session: Session,
    arriving: Datagrams,
    /// The packet that waits for space in QUIC's buffer.
    sending: Option<Sending>,
    is_closing: bool,
}

impl WebTransport {
    /// Takes over a session. A session whose datagrams are too small for packets is closed. The reason names the
    /// required size.
    ///
    /// # Errors
    /// The size of datagrams that the path or the peer allows.
    pub fn new(session: Session) -> Result<Self, usize> {
        let allowed = quinn::Connection::max_datagram_size(&session).unwrap_or(0);
        if allowed < DATAGRAM_BYTES_MAX {
            session.close(CLOSED_VIOLATION, too_small(allowed).as_bytes());
            return Err(allowed);
        }
        let connection: quinn::Connection = (*session).clone();
        let arriving = unfold(connection, async |connection| {
            let datagram = connection.read_datagram().await;
            Some((datagram, connection))
        });
        Ok(Self { session, arriving: Box::pin(arriving), sending: None, is_closing: false })
    }

    fn connection(&self) -> &quinn::Connection {
        &self.session
    }
}

impl Carrier for WebTransport {
    fn kind(&self) -> CarrierKind {
        CarrierKind::WebTransport
    }

    fn properties(&self) -> nowcast_session::Carrier {
        nowcast_session::Carrier::DATAGRAMS
    }

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Ended>> {
        if let Some(sending) = &mut self.sending {
            let sent = ready!(sending.as_mut().poll(context));
            self.sending = None;
            sent.map_err(refused)?;
        }
        Poll::Ready(Ok(()))
    }

    fn send(&mut self, packet: &[u8]) -> Result<(), Ended> {
        let datagram = copied(&[&[QUARTER_STREAM_ID], packet]);
        if self.connection().datagram_send_buffer_space() >= datagram.len() {
            return self.connection().send_datagram(datagram).map_err(refused);
        }
        let connection = self.connection().clone();
        self.sending = Some(Box::pin(async move { connection.send_datagram_wait(datagram).await }));
        Ok(())
    }

    fn poll_receive(&mut self, context: &mut Context<'_>) -> Poll<Result<Bytes, Ended>> {
        loop {
            let mut datagram = match ready!(self.arriving.as_mut().poll_next(context)) {
                Some(Ok(datagram)) => datagram,
                Some(Err(error)) => return Poll::Ready(Err(lost(&error))),
                None => return Poll::Ready(Err(Ended::Closed)),
            };
            // Datagrams for other streams are ignored.
            if datagram.first() == Some(&QUARTER_STREAM_ID) {
                return Poll::Ready(Ok(datagram.split_off(1)));
            }
        }
    }

    fn poll_close(&mut self, context: &mut Context<'_>, ending: Ending) -> Poll<()> {
        if !self.is_closing {
            self.is_closing = true;
            let (code, reason): (u32, &[u8]) = match ending {
                Ending::Done => (0, b"done"),
                Ending::GoingAway => (1, b"going away"),
                Ending::Violation => (CLOSED_VIOLATION, b"violation"),
            };
            self.session.close(code, reason);
        }
        while let Some(Ok(_)) = ready!(self.arriving.as_mut().poll_next(context)) {}
        Poll::Ready(())
    }
}

/// The reason to close a session whose datagrams are too small.
pub(crate) fn too_small(allowed: usize) -> String {
    format!(
        "datagrams of at most {allowed} bytes are too small, packets need {DATAGRAM_BYTES_MAX}: let QUIC use UDP payloads of \
         {UDP_PAYLOAD_BYTES} bytes, or take a WebSocket"
    )
}

fn refused(error: SendDatagramError) -> Ended {
    match error {
        SendDatagramError::ConnectionLost(error) => lost(&error),
        other => Ended::Broken(other.to_string()),
    }
}

fn lost(error: &ConnectionError) -> Ended {
    match error {
        ConnectionError::ApplicationClosed(_) | ConnectionError::LocallyClosed => Ended::Closed,
        ConnectionError::TransportError(error) => Ended::Violation(error.to_string()),
        other => Ended::Broken(other.to_string()),
    }
}

/// Configuration of QUIC below sessions.
pub(crate) fn transport_config() -> Arc<TransportConfig> {
    let mut acks = AckFrequencyConfig::default();
    acks.ack_eliciting_threshold(VarInt::from_u32(PACKETS_PER_ACK - 1)).max_ack_delay(Some(ACK_DELAY_MAX));
    let mut config = TransportConfig::default();
    config
        .ack_frequency_config(Some(acks))
        .congestion_controller_factory(Arc::new(AsideFactory))
        .datagram_send_buffer_size(UNSENT_PACKETS_MAX * (DATAGRAM_BYTES_MAX + BOOKKEEPING_BYTES))
        .datagram_receive_buffer_size(Some(RECEIVE_BUFFER_BYTES))
        .initial_mtu(UDP_PAYLOAD_BYTES)
        .min_mtu(UDP_PAYLOAD_BYTES)
        // All packets have the same size, so a larger path MTU would gain nothing.
        .mtu_discovery_config(None)
        .max_concurrent_bidi_streams(VarInt::from_u32(BIDI_STREAMS_MAX))
        .max_concurrent_uni_streams(VarInt::from_u32(UNI_STREAMS_MAX))
        .stream_receive_window(VarInt::from_u32(STREAM_BYTES_MAX))
        .receive_window(VarInt::from_u32(STREAMS_BYTES_MAX))
        .max_idle_timeout(Some(VarInt::from_u32(IDLE_TIMEOUT_MS).into()))
        .initial_rtt(Duration::from_millis(100));
    Arc::new(config)
}
