//! Names of services on this machine. `crates/names` keeps them; the file of each is a Unix socket to connect to.

use crate::OpenError;
use crate::channel::{self, ShmChannel};
use nowcast_names::{Advertised, Claim, Directory};
use nowcast_queue::Bounds;
use rustix::event::{PollFd, PollFlags};
use rustix::fs::Timespec;
use rustix::io::Errno;
use std::io;
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::{Duration, Instant};

/// Maximum time that a connected peer may take to send its greeting.
const GREETING_MAX: Duration = Duration::from_secs(1);
/// Maximum time that [`connect`] waits until the advertising program accepts.
const CONNECT_MAX: Duration = Duration::from_secs(5);

/// Advertises a name to the programs of this user on this machine. `bounds` are the bounds of this side's lanes.
///
/// # Errors
/// [`NameError::Taken`](nowcast_names::NameError::Taken) if a running process has the name. The name of a dead process is taken over.
pub fn advertise(name: &str, bounds: &[Bounds]) -> Result<Listener, OpenError> {
    Listener::new(&directory()?, name, bounds)
}

/// Connects to the program that advertises a name. `bounds` are the bounds of this side's lanes.
///
/// # Errors
/// [`OpenError::NotFound`] if the name is not advertised. [`OpenError::TimedOut`] if the advertising program does not accept
/// within five seconds. Every other error that a peer can cause.
pub fn connect(name: &str, bounds: &[Bounds]) -> Result<ShmChannel, OpenError> {
    connect_once(&directory()?, name, bounds, Instant::now() + CONNECT_MAX)
}

/// Like [`connect`], but waits until the name is advertised, or until the deadline.
///
/// # Errors
/// Like [`connect`].
pub fn connect_until(name: &str, bounds: &[Bounds], deadline: Instant) -> Result<ShmChannel, OpenError> {
    let directory = directory()?;
    loop {
        match connect_once(&directory, name, bounds, deadline) {
            Err(OpenError::NotFound(_)) if Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(10))
            }
            done => return done,
        }
    }
}

/// Returns the names in use, sorted. The names of dead processes are listed as dead, and removed.
///
/// # Errors
/// If the directory cannot be read.
pub fn advertised() -> Result<Vec<Advertised>, OpenError> {
    Ok(directory()?.advertised()?)
}

/// The directory of this user's names: `$XDG_RUNTIME_DIR/nowcast`, or `/tmp/nowcast-<user>` if that is not set. It is
/// created if it is missing.
fn directory() -> Result<Directory, OpenError> {
    Ok(Directory::open("nowcast")?)
}

/// An advertised name. Dropping it releases the name. Channels that were made through it stay open.
#[derive(Debug)]
pub struct Listener {
    socket: UnixListener,
    claim: Claim,
    bounds: Vec<Bounds>,
}

impl Listener {
    fn new(directory: &Directory, name: &str, bounds: &[Bounds]) -> Result<Listener, OpenError> {
        crate::layout::lanes(bounds).ok_or(OpenError::Bounds)?;
        let claim = directory.claim(name)?;
        let socket = UnixListener::bind(claim.socket_path())?;
        socket.set_nonblocking(true)?;
        Ok(Listener { socket, claim, bounds: bounds.to_vec() })
    }

    /// Returns the name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.claim.name()
    }

    /// Releases the name before the listener is dropped.
    pub fn release(&self) {
        self.claim.release();
    }

    /// Waits until a program connects, or until the deadline.
    ///
    /// # Errors
    /// [`OpenError::TimedOut`] at the deadline. Any other error concerns one peer, or the system. The name stays advertised, and
    /// the next call accepts the next peer.
    pub fn accept(&mut self, deadline: Option<Instant>) -> Result<ShmChannel, OpenError> {
        loop {
            if let Some(channel) = self.try_accept()? {
                return Ok(channel);
            }
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return Err(OpenError::TimedOut);
            }
            let patience = left.map(|left| Timespec {
                tv_sec: left.as_secs() as i64,
                tv_nsec: i64::from(left.subsec_nanos()),
            });
            match rustix::event::poll(&mut [PollFd::new(&self.socket, PollFlags::IN)], patience.as_ref()) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
    }

    /// Accepts a program that has already connected. Waits at most one second for the greeting of the program. A correct program
    /// sends it at once.
    ///
    /// # Errors
    /// Like [`accept`](Self::accept).
    pub fn try_accept(&mut self) -> Result<Option<ShmChannel>, OpenError> {
        match self.socket.accept() {
            Ok((socket, _)) => self.greet(socket).map(Some),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

impl Listener {
    /// Returns the socket to which programs connect. This socket is for callers that accept with their own reactor and then
    /// call [`greet`](Self::greet).
    ///
    /// # Errors
    /// If the system has no more file descriptors.
    pub fn socket(&self) -> io::Result<UnixListener> {
        self.socket.try_clone()
    }

    /// Opens a channel with a program that has connected to [`socket`](Self::socket). Waits at most one second for the greeting
    /// of the program. A correct program sends it at once.
    ///
    /// # Errors
    /// Like [`accept`](Self::accept), but there is no deadline.
    pub fn greet(&self, socket: UnixStream) -> Result<ShmChannel, OpenError> {
        socket.set_nonblocking(false)?;
        channel::answer(socket, &self.bounds, Instant::now() + GREETING_MAX)
    }
}

fn connect_once(
    directory: &Directory,
    name: &str,
    bounds: &[Bounds],
    deadline: Instant,
) -> Result<ShmChannel, OpenError> {
    let socket = match UnixStream::connect(directory.socket_path(name)?) {
        Ok(socket) => socket,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused) => {
            return Err(OpenError::NotFound(name.to_owned()));
        }
        Err(error) => return Err(error.into()),
    };
    channel::greet(socket, bounds, deadline)
}
