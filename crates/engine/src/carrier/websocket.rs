//! WebSocket: one packet is one binary message (`spec/CARRIERS.md`, section 4).

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures_util::{Sink, Stream};
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message};

use super::socket::{OverTcp, poll_room};
use super::{Carrier, CarrierKind, Ended, Ending, copied};

/// The subprotocol that both ends name.
pub const SUBPROTOCOL: &str = "nowcast.1";
/// Maximum number of unsent bytes in the kernel for a connection, so that the kernel holds only bytes that it can send soon.
/// Other data waits above the kernel, where it can still be replaced.
pub const UNSENT_BYTES_MAX: u32 = 4 * 1_024;
/// Whether the system supports this limit.
const KEEPS_LITTLE: bool =
    cfg!(any(target_os = "linux", target_os = "macos", target_os = "ios", target_os = "android"));

const PACKET_BYTES_MAX: usize = nowcast_session::Carrier::STREAM.packet_bytes_max as usize;
const READ_BUFFER_BYTES: usize = 4 * 1_024;
/// Room for one packet, and for pongs and close frames.
const WRITE_BUFFER_BYTES_MAX: usize = PACKET_BYTES_MAX + 1_024;

/// An upgraded connection as a carrier.
pub struct WebSocket<S> {
    stream: WebSocketStream<S>,
    /// Whether the kernel had room, and nothing was sent since. So the kernel is asked once for each packet, not in each turn of
    /// the driver.
    has_room: bool,
    is_closing: bool,
}

impl<S: OverTcp> WebSocket<S> {
    /// Takes over a connection that was upgraded with [`SUBPROTOCOL`], as the listening side. `read` holds the bytes that were
    /// already read.
    pub async fn accepted(stream: S, read: Vec<u8>) -> Self {
        if let Err(error) = prepare_stream(stream.tcp()) {
            // The next use of the socket fails, too, and then the carrier ends.
            tracing::debug!(%error, "a socket option cannot be set");
        }
        let stream = WebSocketStream::from_partially_read(stream, read, Role::Server, Some(config())).await;
        Self { stream, has_room: false, is_closing: false }
    }

    /// Takes over a connection as the connecting side, after its handshake with [`config`].
    pub(crate) fn connected(stream: WebSocketStream<S>) -> Self {
        Self { stream, has_room: false, is_closing: false }
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

/// Sets socket options so that no outdated data waits in the kernel.
///
/// # Errors
/// The system's error.
pub fn prepare_stream(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    #[cfg(any(target_os = "linux", target_os = "android"))]
    socket2::SockRef::from(stream).set_tcp_notsent_lowat(UNSENT_BYTES_MAX)?;
    Ok(())
}

impl<S: OverTcp> Carrier for WebSocket<S> {
    fn kind(&self) -> CarrierKind {
        CarrierKind::WebSocket
    }

    fn properties(&self) -> nowcast_session::Carrier {
        nowcast_session::Carrier::STREAM
    }

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Ended>> {
        if self.has_room {
            return Poll::Ready(Ok(()));
        }
        // First, TLS and the library pass on all bytes that they hold. Then the kernel must have sent nearly all bytes that it
        // accepted.
        ready!(Pin::new(&mut self.stream).poll_flush(context)).map_err(ended)?;
        let room = ready!(poll_room(self.stream.get_ref().tcp(), context));
        self.has_room = room.is_ok();
        Poll::Ready(room.map_err(|error| ended(Error::Io(error))))
    }

    fn is_shallow(&self) -> bool {
        KEEPS_LITTLE
    }

    fn send(&mut self, packet: &[u8]) -> Result<(), Ended> {
        self.has_room = false;
        let message = Message::Binary(copied(&[packet]));
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

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::time::Duration;

    use tokio::net::{TcpListener, TcpSocket};
    use tokio::time::timeout;

    use super::*;

    /// Size of a segment, and of a session's packets on such a carrier.
    const PACKET: [u8; 1_380] = [7; 1_380];
    /// Head of a frame.
    const FRAMING_BYTES: u64 = 4;
    /// If no byte moves for this long on one machine, no further byte will move.
    const QUIET: Duration = Duration::from_millis(200);

    /// Both ends of a TCP connection whose near end reads nothing and has small buffers.
    async fn with_little_room() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(4_096).unwrap();
        let (near, far) = tokio::join!(socket.connect(listener.local_addr().unwrap()), listener.accept());
        (near.unwrap(), far.unwrap().0)
    }

    #[tokio::test]
    async fn while_the_peer_does_not_read_the_kernel_holds_few_unsent_bytes() {
        let (near, far) = with_little_room().await;
        let mut carrier = WebSocket::accepted(far, Vec::new()).await;
        let mut taken = 0;
        while let Ok(ready) =
            timeout(QUIET, std::future::poll_fn(|context| carrier.poll_ready(context))).await
        {
            ready.unwrap();
            carrier.send(&PACKET).unwrap();
            taken += PACKET.len() as u64 + FRAMING_BYTES;
        }
        let sent = rustix::io::ioctl_fionread(&near).unwrap();
        let unsent = taken - sent;
        println!("{taken} bytes taken, {sent} sent, {unsent} unsent");
        assert!(unsent <= u64::from(UNSENT_BYTES_MAX), "{unsent} unsent bytes wait in the kernel");

        // Reading from the pipe frees space in it, and wakes the task that waits to write.
        let mut buffer = [0; 64 * 1_024];
        let reads = async {
            loop {
                near.readable().await.unwrap();
                let _ = near.try_read(&mut buffer);
            }
        };
        tokio::select! {
            () = reads => {}
            ready = timeout(10 * QUIET, std::future::poll_fn(|context| carrier.poll_ready(context))) => {
                ready.expect("the carrier is woken").unwrap();
            }
        }
    }
}
