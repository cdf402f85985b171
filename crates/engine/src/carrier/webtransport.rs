//! Sizes and configuration of WebTransport: one packet is one QUIC datagram (`spec/CARRIERS.md`, section 3).

use std::sync::Arc;
use std::time::Duration;

use quinn_proto::{AckFrequencyConfig, TransportConfig, VarInt};

use super::congestion::AsideFactory;

/// The session is on the connection's first stream, so its quarter stream id (RFC 9297, section 2.1) is 0.
pub(crate) const QUARTER_STREAM_ID: u8 = 0;
/// The largest datagram: a packet and the quarter stream id.
pub(crate) const DATAGRAM_BYTES_MAX: usize = nowcast_session::PACKET_BYTES_MIN as usize + 1;
/// Overhead that QUIC's send buffer charges for each datagram.
const BOOKKEEPING_BYTES: usize = 64;
/// Maximum number of packets in QUIC's buffer: the packets of one driver turn, which leave in one system call.
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
const PACKETS_PER_ACK: u32 = 64;
/// Maximum delay of acknowledgements, so that they share packets with data. The library reduces it to the round trip, but not
/// below 25 ms.
const ACK_DELAY_MAX: Duration = Duration::from_millis(100);
/// Maximum number of unidirectional streams. HTTP/3 needs three, and browsers open a few more to test extensions.
const UNI_STREAMS_MAX: u32 = 8;
/// Maximum number of bidirectional streams. The session uses one.
const BIDI_STREAMS_MAX: u32 = 4;
/// Maximum number of unread bytes of a stream. Only HTTP/3's own messages use streams.
const STREAM_BYTES_MAX: u32 = 16 * 1_024;
/// Maximum number of unread bytes on all streams of a connection.
const STREAMS_BYTES_MAX: u32 = 64 * 1_024;

/// Code of a WebTransport session that cannot carry packets.
pub(crate) const CLOSED_VIOLATION: u32 = 2;

/// The reason to close a session whose datagrams are too small.
pub(crate) fn too_small(allowed: usize) -> String {
    format!(
        "datagrams of at most {allowed} bytes are too small, packets need {DATAGRAM_BYTES_MAX}: let QUIC use UDP payloads of \
         {UDP_PAYLOAD_BYTES} bytes, or take a WebSocket"
    )
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
