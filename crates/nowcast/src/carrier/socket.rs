//! Whether the kernel would send at once what a TCP socket is given now.

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

/// Ready when next to nothing waits unsent in the kernel.
///
/// Writing until the socket is full does not find that out. Linux holds the bytes that wait against
/// `TCP_NOTSENT_LOWAT` only when it begins another buffer, and a buffer that has not left takes what is written behind it
/// until it has 64 KB: a whole backlog of values that nothing can replace any more. `poll` compares each time it is asked.
///
/// # Errors
/// What the system says; a connection that broke is ready, and the next write says how.
pub fn poll_room(socket: &TcpStream, context: &mut Context<'_>) -> Poll<io::Result<()>> {
    // The kernel wakes us only when acknowledgements make room, not when its own pacing does; so it is asked first.
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

/// Whether the kernel would take more now. A connection that broke says yes; the write then says how.
#[cfg(unix)]
fn has_room(socket: &TcpStream) -> io::Result<bool> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    const AT_ONCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };
    let mut asked = [PollFd::new(socket, PollFlags::OUT)];
    rustix::io::retry_on_intr(|| poll(&mut asked, Some(&AT_ONCE)))?;
    Ok(!asked[0].revents().is_empty())
}

/// Where the kernel cannot be asked, its own word that it takes more has to do.
#[cfg(not(unix))]
fn has_room(_socket: &TcpStream) -> io::Result<bool> {
    Ok(true)
}
