//! One TCP connection: its options, its byte counters, its share of the limits, and its end.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use nowcast::admission::{Admission, AdmissionRefusal, Crowded, Now, Peer, Permit};
use nowcast_engine::carrier::{OverTcp, poll_room, prepare_stream};
use nowcast_engine::endpoint::Stream;
use nowcast_limits::Bucket;
use prometheus_client::metrics::counter::Counter;
use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tracing::debug;

use crate::config::{MESSAGE_BYTES_MAX, SEND_BUFFER_BYTES};
use crate::metrics::Metrics;

/// Bytes that are read and discarded after a close frame, before the connection is reset.
const LINGER_BYTES_MAX: usize = 1024 * 1024;

/// Maximum bytes that a client may send before a message of the plain protocol is complete. Without this limit, empty
/// fragments would keep a processor busy for ever, because message rates do not count fragments.
const UNFINISHED_BYTES_MAX: usize = 4 * MESSAGE_BYTES_MAX;

/// Maximum bytes a second that a client may send on a session, and the maximum burst. The value is several times the total
/// of all message rates. A client over this limit sends bytes that are not packets, such as empty fragments.
const SESSION_BYTES_PER_SECOND_MAX: usize = 1024 * 1024;

/// One TCP connection.
pub(crate) struct Connection {
    stream: Stream,
    address: SocketAddr,
    received: Counter,
    sent: Counter,
    limit: Limit,
    /// Whether a flush waits until the kernel can send further bytes at once.
    waits_for_room: bool,
    flooded: Counter,
    _permit: ConnectionPermit,
}

/// The read limit at which the connection is closed.
enum Limit {
    /// No limit: HTTP has its own limits.
    Http,
    /// The limit for the plain protocol: a message must be complete before too many bytes are [`Unfinished`].
    Messages(Unfinished),
    /// The limit for a session, in bytes a second.
    Rate(Bucket),
}

/// Bytes read since the last complete message.
#[derive(Clone, Default)]
pub(crate) struct Unfinished(Arc<AtomicUsize>);

impl Unfinished {
    /// Records that a message is complete.
    pub(crate) fn reset(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    /// Whether the client sent too many bytes without a complete message.
    pub(crate) fn is_too_much(&self) -> bool {
        self.0.load(Ordering::Relaxed) > UNFINISHED_BYTES_MAX
    }

    fn add(&self, bytes: usize) {
        self.0.fetch_add(bytes, Ordering::Relaxed);
    }
}

impl Connection {
    /// Takes over an accepted socket with plain HTTP or HTTP over TLS.
    ///
    /// # Errors
    /// Fails if the connection breaks, or ends before its first bytes.
    pub(crate) async fn open(
        stream: TcpStream,
        address: SocketAddr,
        permit: ConnectionPermit,
        tls: &TlsAcceptor,
        metrics: &Metrics,
    ) -> io::Result<Self> {
        // A snapshot must leave at once. The kernel accepts only the bytes that it can send soon. The other messages wait
        // here, where newer state can replace them.
        stream.set_nodelay(true)?;
        let socket = SockRef::from(&stream);
        socket.set_send_buffer_size(SEND_BUFFER_BYTES)?;
        #[cfg(target_os = "linux")]
        socket.set_tcp_notsent_lowat(crate::config::UNSENT_BYTES_MAX)?;
        let stream = Stream::open(stream, tls).await?;
        let received = metrics.bytes_received.clone();
        let sent = metrics.bytes_sent.clone();
        Ok(Self {
            stream,
            address,
            received,
            sent,
            limit: Limit::Http,
            waits_for_room: false,
            flooded: metrics.flooded.clone(),
            _permit: permit,
        })
    }

    /// Takes an upgraded connection over from HTTP, and moves it to the I/O thread that runs the caller. Returns it with the bytes that
    /// have arrived behind the request.
    ///
    /// # Errors
    /// If the system has no free file descriptor, or rejects the registration.
    pub(crate) fn taken_over(upgraded: Upgraded) -> io::Result<(Self, Vec<u8>)> {
        let parts = upgraded.downcast::<TokioIo<Self>>().expect("every connection is served as this type");
        let mut connection = parts.io.into_inner();
        connection.stream.move_here()?;
        Ok((connection, parts.read_buf.to_vec()))
    }

    /// Expects messages of the plain protocol from now on. A read fails when too many bytes complete no message. A flush
    /// waits until the kernel has sent nearly all its bytes. So a sender that flushes before each message chooses the
    /// message at the last moment.
    pub(crate) fn expect_messages(&mut self) -> Unfinished {
        self.waits_for_room = true;
        if let Err(error) = prepare_stream(self.stream.tcp()) {
            // The next use of the socket fails too, and ends the connection.
            debug!(%error, "a socket rejects its options");
        }
        let unfinished = Unfinished::default();
        self.limit = Limit::Messages(unfinished.clone());
        unfinished
    }

    /// Expects a session from now on. A read fails when the client sends more bytes than a session can use.
    pub(crate) fn expect_session(&mut self) {
        let bytes = SESSION_BYTES_PER_SECOND_MAX as f64;
        self.limit = Limit::Rate(Bucket::new(bytes, bytes, Instant::now()));
    }

    /// Counts these bytes. Returns whether the client exceeds its limit.
    fn is_too_much(&mut self, bytes: usize) -> bool {
        match &mut self.limit {
            Limit::Http => false,
            Limit::Messages(unfinished) => {
                unfinished.add(bytes);
                unfinished.is_too_much()
            }
            Limit::Rate(bucket) => {
                let is_flood = !bucket.take_many(bytes as f64, Instant::now());
                if is_flood {
                    self.flooded.inc();
                }
                is_flood
            }
        }
    }

    /// Expects only a final message from now on. Newer messages do not replace it.
    pub(crate) fn expect_end(&mut self) {
        self.waits_for_room = false;
    }

    /// Returns the peer of a connection on which no request has arrived yet.
    pub(crate) fn peer(&self) -> Peer {
        Peer::connected(self.address, self.stream.is_encrypted())
    }

    /// Ends the connection so that the peer can read all bytes that were sent. Closing a socket with unread bytes
    /// resets it, and the reset can overtake the close frame.
    pub(crate) async fn linger(mut self, patience: Duration) {
        let drained = timeout(patience, async {
            self.stream.shutdown().await?;
            let mut unread = [0; 4_096];
            let mut total = 0;
            while total < LINGER_BYTES_MAX {
                let length = self.stream.read(&mut unread).await?;
                if length == 0 {
                    return Ok(());
                }
                total += length;
            }
            Err(io::Error::other("the client keeps sending"))
        });
        if !matches!(drained.await, Ok(Ok(()))) {
            self.abort();
        }
    }

    /// Ends the connection at once, and frees the kernel's buffers for a peer that does not read.
    pub(crate) fn abort(self) {
        // Without this option the kernel would keep unsent bytes for minutes. If the call fails, the connection is
        // already closed.
        let _ = SockRef::from(self.stream.tcp()).set_linger(Some(Duration::ZERO));
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buf))?;
        let length = buf.filled().len() - before;
        self.received.inc_by(length as u64);
        if self.is_too_much(length) {
            return Poll::Ready(Err(io::Error::other("the client sent more than its limit allows")));
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.stream).poll_write(cx, buf))?;
        self.sent.inc_by(written as u64);
        Poll::Ready(Ok(written))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.stream).poll_write_vectored(cx, bufs))?;
        self.sent.inc_by(written as u64);
        Poll::Ready(Ok(written))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.stream).poll_flush(cx))?;
        if self.waits_for_room { poll_room(self.stream.tcp(), cx) } else { Poll::Ready(Ok(())) }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

impl OverTcp for Connection {
    fn tcp(&self) -> &TcpStream {
        self.stream.tcp()
    }
}

/// The place of one connection in the limits of its address. Dropping it frees the place.
pub(crate) struct ConnectionPermit {
    _permit: Permit,
    metrics: Arc<Metrics>,
}

impl ConnectionPermit {
    /// Reserves a slot for a connection of this address, or counts the reason for its refusal.
    pub(crate) fn take(admission: &Arc<Admission>, metrics: &Arc<Metrics>, address: IpAddr) -> Option<Self> {
        match admission.take(Now::read(), address) {
            Ok(permit) => {
                metrics.connections.inc();
                Some(Self { _permit: permit, metrics: Arc::clone(metrics) })
            }
            Err(refusal) => {
                let is_full = matches!(refusal, AdmissionRefusal::Crowded(Crowded::Full));
                metrics.refuse(if is_full { "connections_max" } else { "connections_per_address_max" });
                None
            }
        }
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        self.metrics.connections.dec();
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use tokio::net::TcpListener;

    use nowcast_engine::carrier::UNSENT_BYTES_MAX;

    use super::*;

    /// The approximate size of a `move` in a busy room.
    const MESSAGE: [u8; 1_000] = [7; 1_000];
    /// If no bytes move for this long on one machine, no more bytes will move.
    const QUIET: Duration = Duration::from_millis(200);

    /// A connection whose peer reads nothing.
    async fn that_nobody_reads() -> (TcpStream, Connection) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let connecting = TcpStream::connect(listener.local_addr().unwrap());
        let (far, near) = tokio::join!(connecting, listener.accept());
        let (mut far, (near, address)) = (far.unwrap(), near.unwrap());
        far.write_all(b"G").await.unwrap();
        let metrics = Arc::new(Metrics::new(None));
        let admission = Admission::new(nowcast::admission::Policy::default());
        let permit = ConnectionPermit::take(&admission, &metrics, address.ip()).unwrap();
        let certificates = nowcast_engine::Certificates::new(&nowcast::CertificateConfig::default()).unwrap();
        let tls = TlsAcceptor::from(nowcast_engine::endpoint::tls_config(certificates));
        (far, Connection::open(near, address, permit, &tls, &metrics).await.unwrap())
    }

    #[tokio::test]
    async fn while_the_client_reads_nothing_no_backlog_of_messages_is_handed_to_the_kernel() {
        let (far, mut connection) = that_nobody_reads().await;
        connection.expect_messages();
        let mut taken = 0;
        let send = async |connection: &mut Connection| {
            connection.flush().await.unwrap();
            connection.write_all(&MESSAGE).await.unwrap();
        };
        while timeout(QUIET, send(&mut connection)).await.is_ok() {
            taken += MESSAGE.len() as u64;
        }
        let unsent = taken - rustix::io::ioctl_fionread(&far).unwrap();
        println!("{taken} bytes taken, {unsent} unsent");
        let most = u64::from(UNSENT_BYTES_MAX) + MESSAGE.len() as u64;
        assert!(unsent <= most, "{unsent} bytes wait in the kernel");
        // The read that frees space also wakes the task that waits for space.
        let mut unread = vec![0; 64 * 1_024];
        let reads = async {
            loop {
                far.readable().await.unwrap();
                let _ = far.try_read(&mut unread);
            }
        };
        tokio::select! {
            () = reads => {}
            sent = timeout(10 * QUIET, send(&mut connection)) => sent.expect("the sender is woken"),
        }
    }
}
