//! Whether the kernel would send new bytes of a TCP socket at once.

use std::io;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, Interest};
use tokio::net::TcpStream;

/// A connection that runs over one TCP socket, plain or under TLS.
pub trait OverTcp: AsyncRead + AsyncWrite + Unpin + Send {
    /// The socket.
    fn tcp(&self) -> &TcpStream;
}

impl OverTcp for TcpStream {
    fn tcp(&self) -> &TcpStream {
        self
    }
}

impl<S: OverTcp> OverTcp for tokio_rustls::server::TlsStream<S> {
    fn tcp(&self) -> &TcpStream {
        self.get_ref().0.tcp()
    }
}

impl<S: OverTcp> OverTcp for tokio_rustls::client::TlsStream<S> {
    fn tcp(&self) -> &TcpStream {
        self.get_ref().0.tcp()
    }
}

/// Ready if the kernel holds almost no unsent bytes.
///
/// The readiness of a socket does not show whether it holds unsent bytes. Linux compares the waiting bytes with
/// `TCP_NOTSENT_LOWAT` only when it begins another buffer. A buffer that has not left accepts further writes until it holds 64
/// KB. These 64 KB would be a backlog of values that can no longer be replaced. `poll` compares on each call.
///
/// # Errors
/// The system's error. A broken connection counts as ready, and the next write returns the error.
pub fn poll_room(socket: &TcpStream, context: &mut Context<'_>) -> Poll<io::Result<()>> {
    // The kernel wakes the task only when acknowledgements make room, not when its own pacing has made room. Therefore the socket
    // is polled first.
    if has_room(socket)? {
        return Poll::Ready(Ok(()));
    }
    loop {
        ready!(socket.poll_write_ready(context))?;
        let asked = socket.try_io(Interest::WRITABLE, || match has_room(socket)? {
            true => Ok(()),
            false => Err(io::ErrorKind::WouldBlock.into()),
        });
        match asked {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            asked => return Poll::Ready(asked),
        }
    }
}

/// Whether the kernel would accept more now. A broken connection returns true; the write then returns the error.
#[cfg(unix)]
fn has_room(socket: &TcpStream) -> io::Result<bool> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    const AT_ONCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };
    let mut asked = [PollFd::new(socket, PollFlags::OUT)];
    rustix::io::retry_on_intr(|| poll(&mut asked, Some(&AT_ONCE)))?;
    Ok(!asked[0].revents().is_empty())
}

/// On systems without this query, the socket's readiness has to suffice.
#[cfg(not(unix))]
fn has_room(_socket: &TcpStream) -> io::Result<bool> {
    Ok(true)
}
