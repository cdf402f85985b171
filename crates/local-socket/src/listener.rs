//! Names of services on this machine.
//!
//! Each name has three files in a directory that only its user may enter. The first file lets the transport find the service. The
//! second names the advertising process and the time of its start. The third is a lock that the advertising process holds. The
//! system releases the lock when that process ends in any way. So the state of a name is never guessed from a process id, and the
//! name of a dead process can be taken over at once. Files are created and removed under the lock of the whole directory.

use std::collections::VecDeque;
use std::fs::{File, TryLockError};
use std::future::poll_fn;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use nowcast_queue::Bounds;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::ends::Queues;
use super::transport::{self, Socket};
use super::{OpenError, frame, pump};
use crate::helper::helper;

/// Maximum time between the connection of a peer and its greeting.
const GREETING_MAX: Duration = Duration::from_secs(1);
/// Maximum wait of [`connect`] for an answer.
const CONNECT_MAX: Duration = Duration::from_secs(5);
/// Interval of retries while waiting for a name.
const LOOK_AGAIN: Duration = Duration::from_millis(10);
/// Maximum number of channels that are being greeted or wait to be accepted. Further connections wait.
const BACKLOG_MAX: usize = 64;
/// Name of the lock file of the directory itself. No service name begins with a dot.
const DIRECTORY_LOCK: &str = ".lock";

/// Advertises a name to the programs of this user on this machine. `bounds` are the bounds of this side's lanes.
pub(crate) fn advertise(name: &str, bounds: &[Bounds]) -> Result<Listener, OpenError> {
    check_name(name)?;
    if !frame::are_possible(bounds) {
        return Err(OpenError::Bounds);
    }
    let (files, socket) = Files::claim(&transport::directory()?, name)?;
    let backlog = Arc::new(Backlog::default());
    let task = helper()?.spawn(Arc::clone(&backlog).let_in(socket, bounds.to_vec()));
    Ok(Listener { files, backlog, task })
}

/// Connects to the program that advertises a name. `bounds` are the bounds of this side's lanes.
pub(crate) fn connect(name: &str, bounds: &[Bounds]) -> Result<Queues, OpenError> {
    connect_once(name, bounds, Instant::now() + CONNECT_MAX)
}

/// Like [`connect`], but waits until the name is advertised, or until the deadline.
pub(crate) fn connect_until(name: &str, bounds: &[Bounds], deadline: Instant) -> Result<Queues, OpenError> {
    loop {
        match connect_once(name, bounds, deadline) {
            Err(OpenError::NotFound(_)) if Instant::now() < deadline => std::thread::sleep(LOOK_AGAIN),
            done => return done,
        }
    }
}

fn connect_once(name: &str, bounds: &[Bounds], deadline: Instant) -> Result<Queues, OpenError> {
    check_name(name)?;
    if !frame::are_possible(bounds) {
        return Err(OpenError::Bounds);
    }
    let path = socket_path(&transport::directory()?, name);
    let bounds = bounds.to_vec();
    let (sender, connected) = mpsc::sync_channel(1);
    let patience = deadline.saturating_duration_since(Instant::now());
    helper()?.spawn(async move {
        let opening = async { pump::greet(transport::connect(&path).await?, &bounds).await };
        // If this send fails, the caller no longer waits.
        let _ = sender.send(timeout(patience, opening).await.unwrap_or(Err(OpenError::TimedOut)));
    });
    let connected = connected.recv().unwrap_or(Err(OpenError::Handshake("the helper thread has ended")));
    connected.map_err(|error| match error {
        OpenError::System(error) if is_nobody(&error) => OpenError::NotFound(name.to_owned()),
        other => other,
    })
}

fn is_nobody(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused)
}

/// Returns the names in use, sorted. The names of dead processes are listed as dead, and removed.
///
/// # Errors
/// If the directory cannot be read.
pub fn advertised() -> Result<Vec<Advertised>, OpenError> {
    let directory = transport::directory()?;
    let _held = hold(&directory)?;
    let mut names = Vec::new();
    for file in std::fs::read_dir(&directory)? {
        let path = file?.path();
        let file_name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if let Some(name) = file_name.strip_suffix(".lock").filter(|name| !name.is_empty()) {
            names.push(inspect(&directory, name)?);
        }
    }
    names.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(names)
}

/// A name in use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Advertised {
    /// The name.
    pub name: String,
    /// The process that advertises it.
    pub pid: u32,
    /// Time since the name was advertised.
    pub age: Duration,
    /// Whether the process is alive. The files of a dead process are removed before this value is returned.
    pub alive: bool,
}

/// An advertised name. Dropping it releases the name; open channels stay.
#[derive(Debug)]
pub(crate) struct Listener {
    files: Files,
    backlog: Arc<Backlog>,
    task: JoinHandle<()>,
}

impl Listener {
    /// Waits until a program connects, or until the deadline. All errors except [`OpenError::TimedOut`] concern only one peer.
    pub(crate) fn accept(&mut self, deadline: Option<Instant>) -> Result<Queues, OpenError> {
        self.backlog.wait(deadline)
    }

    /// Accepts a program that has connected already.
    pub(crate) fn try_accept(&mut self) -> Result<Option<Queues>, OpenError> {
        self.backlog.lock().waiting.pop_front().map(|(greeted, _)| greeted).transpose()
    }

    /// Accepts a program, or registers the task to be woken when one has connected. An error concerns only one peer.
    fn poll_accept(&self, context: &Context<'_>) -> Poll<Result<Queues, OpenError>> {
        let mut state = self.backlog.lock();
        if let Some((greeted, _)) = state.waiting.pop_front() {
            return Poll::Ready(greeted);
        }
        state.waker = Some(context.waker().clone());
        Poll::Pending
    }
}

/// Accepts programs within any runtime.
pub(crate) struct Welcome {
    listener: Listener,
}

impl Welcome {
    #[expect(clippy::unnecessary_wraps, reason = "in shared memory this can fail")]
    pub(crate) fn new(listener: Listener) -> Result<Self, OpenError> {
        Ok(Self { listener })
    }

    /// Waits for the next program that connects. An error concerns only one peer, unless it comes from the system.
    pub(crate) async fn accept(&self) -> Result<Queues, OpenError> {
        poll_fn(|context| self.listener.poll_accept(context)).await
    }

    pub(crate) fn name(&self) -> &str {
        &self.listener.files.name
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Programs that have connected and are not accepted yet.
#[derive(Debug, Default)]
struct Backlog {
    state: Mutex<Waiting>,
    filled: Condvar,
}

#[derive(Debug, Default)]
struct Waiting {
    waiting: VecDeque<(Result<Queues, OpenError>, OwnedSemaphorePermit)>,
    waker: Option<Waker>,
}

impl Backlog {
    /// Greets all connecting programs concurrently, so that a silent program does not delay others.
    async fn let_in(self: Arc<Self>, socket: Socket, bounds: Vec<Bounds>) {
        let places = Arc::new(Semaphore::new(BACKLOG_MAX));
        let bounds: Arc<[Bounds]> = bounds.into();
        loop {
            let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
            let stream = match socket.accept().await {
                Ok(stream) => stream,
                Err(error) => {
                    self.push(Err(error.into()), place);
                    continue;
                }
            };
            let (backlog, bounds, secrets) = (Arc::clone(&self), Arc::clone(&bounds), socket.secrets());
            tokio::spawn(async move {
                let opening = async { pump::answer(transport::admit(stream, secrets).await?, &bounds).await };
                let opened = timeout(GREETING_MAX, opening).await.unwrap_or(Err(OpenError::TimedOut));
                backlog.push(opened, place);
            });
        }
    }

    fn push(&self, greeted: Result<Queues, OpenError>, place: OwnedSemaphorePermit) {
        let mut state = self.lock();
        state.waiting.push_back((greeted, place));
        let waker = state.waker.take();
        drop(state);
        self.filled.notify_one();
        waker.into_iter().for_each(Waker::wake);
    }

    fn wait(&self, deadline: Option<Instant>) -> Result<Queues, OpenError> {
        let mut state = self.lock();
        loop {
            if let Some((greeted, _)) = state.waiting.pop_front() {
                return greeted;
            }
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            state = match left {
                None => self.filled.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(left) if left.is_zero() => return Err(OpenError::TimedOut),
                Some(left) => self.filled.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0,
            };
        }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The files of a name that this process advertises. Dropping them releases the name.
#[derive(Debug)]
struct Files {
    /// Held while the name is ours.
    _lock: File,
    directory: PathBuf,
    name: String,
}

impl Files {
    fn claim(directory: &Path, name: &str) -> Result<(Files, Socket), OpenError> {
        let _held = hold(directory)?;
        let lock = open_lock(&lock_path(directory, name))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let pid = signature(directory, name).map_or(0, |(pid, _)| pid);
                return Err(OpenError::Taken { name: name.to_owned(), pid });
            }
            Err(TryLockError::Error(error)) => return Err(error.into()),
        }
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let signature = format!("{} {}", std::process::id(), since.as_millis());
        std::fs::write(signature_path(directory, name), signature)?;
        let path = socket_path(directory, name);
        remove(&path)?;
        let _entered = helper()?.enter();
        let socket = Socket::bind(&path)?;
        Ok((Files { _lock: lock, directory: directory.to_owned(), name: name.to_owned() }, socket))
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        // If the directory cannot be locked, the files stay, and the next process removes them.
        if let Ok(_held) = hold(&self.directory) {
            let _ = remove_all(&self.directory, &self.name);
        }
    }
}

/// Checks whether a name's process is alive, and removes the files of a dead one. The directory must be locked.
fn inspect(directory: &Path, name: &str) -> Result<Advertised, OpenError> {
    let (pid, since) = signature(directory, name).unwrap_or_default();
    let age = SystemTime::now().duration_since(UNIX_EPOCH + Duration::from_millis(since)).unwrap_or_default();
    let lock = open_lock(&lock_path(directory, name))?;
    let alive = lock.try_lock().is_err();
    if !alive {
        remove_all(directory, name)?;
    }
    Ok(Advertised { name: name.to_owned(), pid, age, alive })
}

/// Locks the directory for creating and removing files, until the returned value is dropped.
fn hold(directory: &Path) -> io::Result<File> {
    let lock = open_lock(&directory.join(DIRECTORY_LOCK))?;
    lock.lock()?;
    Ok(lock)
}

fn open_lock(path: &Path) -> io::Result<File> {
    File::options().read(true).write(true).create(true).truncate(false).open(path)
}

/// Returns the process that advertises a name, and its start in milliseconds since 1970.
fn signature(directory: &Path, name: &str) -> Option<(u32, u64)> {
    let text = std::fs::read_to_string(signature_path(directory, name)).ok()?;
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

fn remove_all(directory: &Path, name: &str) -> io::Result<()> {
    remove(&socket_path(directory, name))?;
    remove(&signature_path(directory, name))?;
    remove(&lock_path(directory, name))
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

fn signature_path(directory: &Path, name: &str) -> PathBuf {
    directory.join(format!("{name}.pid"))
}
