//! Unix sockets. Only the user has access to the directory, and the kernel reports the peer's user.

use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use tokio::net::{UnixListener, UnixStream};

use crate::local::socket::OpenError;

/// A listening socket.
#[derive(Debug)]
pub(in crate::local::socket) struct Socket {
    socket: UnixListener,
}

impl Socket {
    /// Opens a socket at an unused path. Must be called within a runtime.
    pub(in crate::local::socket) fn bind(path: &Path) -> io::Result<Self> {
        Ok(Self { socket: UnixListener::bind(path)? })
    }

    /// Waits for the next connection, which must be [admitted](admit).
    pub(in crate::local::socket) async fn accept(&self) -> io::Result<UnixStream> {
        Ok(self.socket.accept().await?.0)
    }

    /// A peer needs no secret, because the kernel reports its identity.
    pub(in crate::local::socket) fn secrets(&self) {}
}

/// Checks that the peer belongs to this user.
pub(in crate::local::socket) async fn admit(stream: UnixStream, _: ()) -> Result<UnixStream, OpenError> {
    check(stream)
}

/// Connects to the service whose socket is at the path. Returns `NotFound` or `ConnectionRefused` if nothing listens.
pub(in crate::local::socket) async fn connect(path: &Path) -> Result<UnixStream, OpenError> {
    check(UnixStream::connect(path).await?)
}

fn check(stream: UnixStream) -> Result<UnixStream, OpenError> {
    let is_ours = stream.peer_cred()?.uid() == rustix::process::geteuid().as_raw();
    if is_ours { Ok(stream) } else { Err(OpenError::Stranger) }
}

/// Returns `$XDG_RUNTIME_DIR/nowcast-sockets`, or `/tmp/nowcast-sockets-<user>` if the variable is not set. On some systems a
/// socket's path may have only 103 bytes, and the usual directory for temporary files takes half of them.
pub(in crate::local::socket) fn directory() -> Result<PathBuf, OpenError> {
    let user = rustix::process::geteuid().as_raw();
    let path = match std::env::var_os("XDG_RUNTIME_DIR").filter(|path| Path::new(path).is_absolute()) {
        Some(runtime) => PathBuf::from(runtime).join("nowcast-sockets"),
        None => PathBuf::from(format!("/tmp/nowcast-sockets-{user}")),
    };
    match std::fs::DirBuilder::new().mode(0o700).create(&path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error.into()),
        _ => {}
    }
    let found = std::fs::symlink_metadata(&path)?;
    if !found.is_dir() || found.uid() != user || found.mode() & 0o077 != 0 {
        return Err(OpenError::Directory(path));
    }
    Ok(path)
}
