//! WebSocket: one packet is one binary message (`spec/CARRIERS.md`, section 4).

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures_util::{Sink, Stream};
use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message};

use super::{Carrier, CarrierKind, Ended, Ending};

/// The subprotocol that both ends name.
pub const SUBPROTOCOL: &str = "nowcast.1";
/// The kernel takes no more for a connection than it can soon send: what waits before it is newer.
pub const UNSENT_BYTES_MAX: u32 = 4 * 1_024;
/// Whether the system keeps to that.
const KEEPS_LITTLE: bool =
    cfg!(any(target_os = "linux", target_os = "macos", target_os = "ios", target_os = "android"));

const PACKET_BYTES_MAX: usize = nowcast_session::Carrier::STREAM.packet_bytes_max as usize;
const READ_BUFFER_BYTES: usize = 4 * 1_024;
/// Pongs and close frames beside one packet.
const WRITE_BUFFER_BYTES_MAX: usize = PACKET_BYTES_MAX + 1_024;

/// An upgraded connection as a carrier.
pub struct WebSocket<S> {
    stream: WebSocketStream<S>,
    is_closing: bool,
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> WebSocket<S> {
    /// Takes over a connection that was upgraded with [`SUBPROTOCOL`], as the side that listened; `read` is what was read
    /// of it already. The caller has set the options of its socket by [`prepare_stream`].
    pub async fn accepted(stream: S, read: Vec<u8>) -> Self {
        let stream = WebSocketStream::from_partially_read(stream, read, Role::Server, Some(config())).await;
        Self { stream, is_closing: false }
    }

    /// Takes over a connection as the side that connected, after its handshake with [`config`].
    pub(crate) fn connected(stream: WebSocketStream<S>) -> Self {
        Self { stream, is_closing: false }
    }
}

/// Limits and buffers of the WebSocket library.
pub(crate) fn config() -> WebSocketConfig {
    WebSocketConfig::default()
        .read_buffer_size(READ_BUFFER_BYTES)
        .write_buffer_size(0)
        .max_write_buffer_size(WRITE_BUFFER_BYTES_MAX)
        .max_message_size(Some(PACKET_BYTES_MAX))
        .max_frame_size(Some(PACKET_BYTES_MAX))
}

/// Sets what a TCP connection needs so that nothing stale waits in the kernel.
///
/// # Errors
/// What the system says.
pub fn prepare_stream(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    #[cfg(any(target_os = "linux", target_os = "macos", target_os = "ios", target_os = "android"))]
    SockRef::from(stream).set_tcp_notsent_lowat(UNSENT_BYTES_MAX)?;
    Ok(())
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> Carrier for WebSocket<S> {
    fn kind(&self) -> CarrierKind {
        CarrierKind::WebSocket
    }

    fn properties(&self) -> nowcast_session::Carrier {
        nowcast_session::Carrier::STREAM
    }

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Ended>> {
        Pin::new(&mut self.stream).poll_ready(context).map_err(ended)
    }

    fn is_shallow(&self) -> bool {
        KEEPS_LITTLE
    }

    fn send(&mut self, packet: &[u8]) -> Result<(), Ended> {
        let message = Message::Binary(Bytes::copy_from_slice(packet));
        Pin::new(&mut self.stream).start_send(message).map_err(ended)
    }

    fn poll_receive(&mut self, context: &mut Context<'_>) -> Poll<Result<Bytes, Ended>> {
        loop {
            return Poll::Ready(match ready!(Pin::new(&mut self.stream).poll_next(context)) {
                Some(Ok(Message::Binary(packet))) => Ok(packet),
                Some(Ok(Message::Text(_))) => Err(Ended::Violation("a text message".into())),
                Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => continue,
                Some(Ok(Message::Close(_))) | None => Err(Ended::Closed),
                Some(Err(error)) => Err(ended(error)),
            });
        }
    }

    fn poll_close(&mut self, context: &mut Context<'_>, ending: Ending) -> Poll<()> {
        let mut stream = Pin::new(&mut self.stream);
        if !self.is_closing {
            if ready!(stream.as_mut().poll_ready(context)).is_err() {
                return Poll::Ready(());
            }
            self.is_closing = true;
            let code = match ending {
                Ending::Done => CloseCode::Normal,
                Ending::GoingAway => CloseCode::Away,
                Ending::Violation => CloseCode::Protocol,
            };
            let frame = CloseFrame { code, reason: "".into() };
            if stream.as_mut().start_send(Message::Close(Some(frame))).is_err() {
                return Poll::Ready(());
            }
        }
        if ready!(stream.as_mut().poll_flush(context)).is_err() {
            return Poll::Ready(());
        }
        // Closing a socket with unread bytes would reset it, and the reset can overtake the close frame.
        while let Some(Ok(_)) = ready!(stream.as_mut().poll_next(context)) {}
        Poll::Ready(())
    }
}

fn ended(error: Error) -> Ended {
    use tokio_tungstenite::tungstenite::error::ProtocolError;
    match error {
        Error::ConnectionClosed | Error::AlreadyClosed => Ended::Closed,
        Error::Protocol(ProtocolError::ResetWithoutClosingHandshake) => {
            Ended::Broken("reset without a close frame".into())
        }
        Error::Capacity(_) | Error::Protocol(_) | Error::Utf8(_) => Ended::Violation(error.to_string()),
        other => Ended::Broken(other.to_string()),
    }
}
