//! Unix sockets. Only the user has access to the directory, and the kernel reports the peer's user.

use std::io;
use std::path::Path;

use tokio::net::{UnixListener, UnixStream};

use crate::OpenError;

/// A listening socket.
#[derive(Debug)]
pub(crate) struct Socket {
    socket: UnixListener,
}

impl Socket {
    /// Opens a socket at an unused path. Must be called within a runtime.
    pub(crate) fn bind(path: &Path) -> io::Result<Self> {
        Ok(Self { socket: UnixListener::bind(path)? })
    }

    /// Waits for the next connection, which must be [admitted](admit).
    pub(crate) async fn accept(&self) -> io::Result<UnixStream> {
        Ok(self.socket.accept().await?.0)
    }

    /// A peer needs no secret, because the kernel reports its identity.
    pub(crate) fn secrets(&self) {}
}

/// Checks that the peer belongs to this user.
pub(crate) async fn admit(stream: UnixStream, _: ()) -> Result<UnixStream, OpenError> {
    check(stream)
}

/// Connects to the service whose socket is at the path. Returns `NotFound` or `ConnectionRefused` if nothing listens.
pub(crate) async fn connect(path: &Path) -> Result<UnixStream, OpenError> {
    check(UnixStream::connect(path).await?)
}

fn check(stream: UnixStream) -> Result<UnixStream, OpenError> {
    let is_ours = stream.peer_cred()?.uid() == rustix::process::geteuid().as_raw();
    if is_ours { Ok(stream) } else { Err(OpenError::Stranger) }
}
