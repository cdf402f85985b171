//! Names of services on this machine.
//!
//! Each name has two files in a directory that only its user may enter: a socket to connect to, and a lock that the advertising
//! process holds. The kernel releases the lock when that process ends in any way. So the state of a name is never guessed from a
//! process id, and the name of a dead process can be taken over at once.

use crate::OpenError;
use crate::channel::{self, ShmChannel};
use nowcast_queue::Bounds;
use rustix::event::{PollFd, PollFlags};
use rustix::fs::{FlockOperation, Mode, OFlags, Timespec};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Maximum time that a connected peer may take to send its greeting.
const GREETING_MAX: Duration = Duration::from_secs(1);
/// Maximum time that [`connect`] waits until the advertising program accepts.
const CONNECT_MAX: Duration = Duration::from_secs(5);

/// Advertises a name to the programs of this user on this machine. `bounds` are the bounds of this side's lanes.
///
/// # Errors
/// [`OpenError::Taken`] if a running process has the name. The name of a dead process is taken over.
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
    let directory = directory()?;
    let mut names = Vec::new();
    for file in std::fs::read_dir(&directory)? {
        let path = file?.path();
        let Some(name) =
            path.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_suffix(".lock"))
        else {
            continue;
        };
        // If a file has vanished meanwhile, its service has just closed.
        if let Ok(entry) = inspect(&directory, name) {
            names.push(entry);
        }
    }
    names.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(names)
}

/// Returns the directory of this user's names: `$XDG_RUNTIME_DIR/nowcast`, or `/tmp/nowcast-<user>` if the variable is not set.
/// Creates the directory if it is missing.
///
/// # Errors
/// [`OpenError::Directory`] if another user could have put files there.
pub fn directory() -> Result<PathBuf, OpenError> {
    let user = rustix::process::geteuid().as_raw();
    let path = match std::env::var_os("XDG_RUNTIME_DIR").filter(|path| Path::new(path).is_absolute()) {
        Some(runtime) => PathBuf::from(runtime).join("nowcast"),
        None => PathBuf::from(format!("/tmp/nowcast-{user}")),
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

/// A name in use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Advertised {
    /// The name.
    pub name: String,
    /// The process that advertises it.
    pub pid: u32,
    /// The time since the name was advertised.
    pub age: Duration,
    /// Whether the process is alive. The files of a dead process are removed before this value is returned.
    pub alive: bool,
}

/// An advertised name. Dropping it releases the name. Channels that were made through it stay open.
#[derive(Debug)]
pub struct Listener {
    socket: UnixListener,
    /// Held while the name is ours.
    _lock: File,
    directory: PathBuf,
    name: String,
    bounds: Vec<Bounds>,
}

impl Listener {
    fn new(directory: &Path, name: &str, bounds: &[Bounds]) -> Result<Listener, OpenError> {
        check_name(name)?;
        crate::layout::lanes(bounds).ok_or(OpenError::Bounds)?;
        let lock = loop {
            if let Some(lock) = lock_name(directory, name)? {
                break lock;
            }
        };
        let path = socket_path(directory, name);
        remove(&path)?;
        let socket = UnixListener::bind(&path)?;
        socket.set_nonblocking(true)?;
        Ok(Listener {
            socket,
            _lock: lock,
            directory: directory.to_owned(),
            name: name.to_owned(),
            bounds: bounds.to_vec(),
        })
    }

    /// Returns the name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
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

impl Drop for Listener {
    fn drop(&mut self) {
        // The files are removed while the lock is held, so that no successor's files are removed. If this fails, the next process
        // removes them.
        let _ = remove(&socket_path(&self.directory, &self.name));
        let _ = remove(&lock_path(&self.directory, &self.name));
    }
}

fn connect_once(
    directory: &Path,
    name: &str,
    bounds: &[Bounds],
    deadline: Instant,
) -> Result<ShmChannel, OpenError> {
    check_name(name)?;
    let socket = match UnixStream::connect(socket_path(directory, name)) {
        Ok(socket) => socket,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused) => {
            return Err(OpenError::NotFound(name.to_owned()));
        }
        Err(error) => return Err(error.into()),
    };
    channel::greet(socket, bounds, deadline)
}

/// Locks a name and writes this process's signature into its file. Returns `None` if the file was removed meanwhile, so that a
/// retry may succeed.
fn lock_name(directory: &Path, name: &str) -> Result<Option<File>, OpenError> {
    let path = lock_path(directory, name);
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let mut file = File::from(rustix::fs::open(&path, flags, Mode::RUSR | Mode::WUSR)?);
    match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(Errno::WOULDBLOCK) => {
            let pid = signature(&mut file).map_or(0, |(pid, _)| pid);
            return Err(OpenError::Taken { name: name.to_owned(), pid });
        }
        Err(errno) => return Err(errno.into()),
    }
    let same = std::fs::symlink_metadata(&path).is_ok_and(|found| {
        file.metadata().is_ok_and(|ours| (ours.dev(), ours.ino()) == (found.dev(), found.ino()))
    });
    if !same {
        return Ok(None);
    }
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    file.set_len(0)?;
    write!(file, "{} {}", std::process::id(), since.as_millis())?;
    Ok(Some(file))
}

/// Checks whether a name's process is alive, and removes the files of a dead one.
fn inspect(directory: &Path, name: &str) -> Result<Advertised, OpenError> {
    let path = lock_path(directory, name);
    let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let mut file = File::from(rustix::fs::open(&path, flags, Mode::empty())?);
    let (pid, since) = signature(&mut file).unwrap_or_default();
    let age = SystemTime::now().duration_since(UNIX_EPOCH + Duration::from_millis(since)).unwrap_or_default();
    let alive = rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_err();
    if !alive {
        remove(&socket_path(directory, name))?;
        remove(&path)?;
    }
    Ok(Advertised { name: name.to_owned(), pid, age, alive })
}

/// Returns the process that signed a lock, and the time of signing in milliseconds since 1970.
fn signature(file: &mut File) -> Option<(u32, u64)> {
    let mut text = String::new();
    file.take(64).read_to_string(&mut text).ok()?;
    let (pid, since) = text.split_once(' ')?;
    Some((pid.parse().ok()?, since.parse().ok()?))
}

fn check_name(name: &str) -> Result<(), OpenError> {
    let fits = (1..=64).contains(&name.len()) && !name.starts_with('.');
    if fits && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte)) {
        Ok(())
    } else {
        Err(OpenError::Name(name.to_owned()))
    }
}

fn remove(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn lock_path(directory: &Path, name: &str) -> PathBuf {
    directory.join(format!("{name}.lock"))
}

fn socket_path(directory: &Path, name: &str) -> PathBuf {
    directory.join(format!("{name}.sock"))
}
