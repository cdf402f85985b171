//! Advertised names: the programs that connect are greeted concurrently, and wait to be accepted. `crates/names` keeps
//! the names; the file of each is that of the transport.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use nowcast_names::{Advertised, Claim, Directory};
use nowcast_queue::Bounds;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::ends::Queues;
use super::transport::{self, Socket};
use super::{OpenError, frame, pump};

/// Maximum time between the connection of a peer and its greeting.
const GREETING_MAX: Duration = Duration::from_secs(1);
/// Maximum wait of [`connect`] for an answer.
const CONNECT_MAX: Duration = Duration::from_secs(5);
/// Interval of retries while waiting for a name.
const LOOK_AGAIN: Duration = Duration::from_millis(10);
/// Maximum number of channels that are being greeted or wait to be accepted. Further connections wait.
const BACKLOG_MAX: usize = 64;
/// The title of the directory of names.
const DIRECTORY: &str = if cfg!(unix) { "nowcast-sockets" } else { "nowcast" };

/// Advertises a name to the programs of this user on this machine. `bounds` are the bounds of this side's lanes. `runtime`
/// moves the frames of all accepted channels.
///
/// # Errors
/// [`NameError::Taken`](nowcast_names::NameError::Taken) if a living process has the name; a dead one's is taken over.
pub fn advertise(name: &str, bounds: &[Bounds], runtime: &Handle) -> Result<Listener, OpenError> {
    if !frame::are_possible(bounds) {
        return Err(OpenError::Bounds);
    }
    let claim = directory()?.claim(name)?;
    let _entered = runtime.enter();
    let socket = Socket::bind(claim.socket_path())?;
    let backlog = Arc::new(Backlog::default());
    let task = runtime.spawn(Arc::clone(&backlog).let_in(socket, bounds.to_vec()));
    Ok(Listener { claim, backlog, task })
}

/// Connects to the program that advertises a name. `bounds` are the bounds of this side's lanes. `runtime` moves the frames
/// of the channel; the caller must not be one of its tasks.
///
/// # Errors
/// [`OpenError::NotFound`] if the name is not advertised, [`OpenError::TimedOut`] if that program does not accept within
/// five seconds, and all errors of a peer.
pub fn connect(name: &str, bounds: &[Bounds], runtime: &Handle) -> Result<Queues, OpenError> {
    connect_once(name, bounds, Instant::now() + CONNECT_MAX, runtime)
}

/// Like [`connect`], but waits until the name is advertised, or until the deadline.
///
/// # Errors
/// Like [`connect`].
pub fn connect_until(
    name: &str,
    bounds: &[Bounds],
    deadline: Instant,
    runtime: &Handle,
) -> Result<Queues, OpenError> {
    loop {
        match connect_once(name, bounds, deadline, runtime) {
            Err(OpenError::NotFound(_)) if Instant::now() < deadline => std::thread::sleep(LOOK_AGAIN),
            done => return done,
        }
    }
}

fn connect_once(
    name: &str,
    bounds: &[Bounds],
    deadline: Instant,
    runtime: &Handle,
) -> Result<Queues, OpenError> {
    if !frame::are_possible(bounds) {
        return Err(OpenError::Bounds);
    }
    let path = directory()?.socket_path(name)?;
    let bounds = bounds.to_vec();
    let (sender, connected) = mpsc::sync_channel(1);
    let patience = deadline.saturating_duration_since(Instant::now());
    runtime.spawn(async move {
        let opening = async { pump::greet(transport::connect(&path).await?, &bounds).await };
        // If this send fails, the caller no longer waits.
        let _ = sender.send(timeout(patience, opening).await.unwrap_or(Err(OpenError::TimedOut)));
    });
    let connected = connected.recv().unwrap_or(Err(OpenError::Handshake("the runtime has ended")));
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
    Ok(directory()?.advertised()?)
}

fn directory() -> Result<Directory, OpenError> {
    Ok(Directory::open(DIRECTORY)?)
}

/// An advertised name. Dropping it releases the name; open channels stay.
#[derive(Debug)]
pub struct Listener {
    claim: Claim,
    backlog: Arc<Backlog>,
    task: JoinHandle<()>,
}

impl Listener {
    /// Waits until a program connects, or until the deadline. All errors except [`OpenError::TimedOut`] concern only one peer.
    ///
    /// # Errors
    /// [`OpenError`].
    pub fn accept(&mut self, deadline: Option<Instant>) -> Result<Queues, OpenError> {
        self.backlog.wait(deadline)
    }

    /// Accepts a program that has connected already.
    ///
    /// # Errors
    /// Those of the program that has connected.
    pub fn try_accept(&mut self) -> Result<Option<Queues>, OpenError> {
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
#[derive(Debug)]
pub struct Welcome {
    listener: Listener,
}

impl Welcome {
    /// Accepts the programs that connect to the listener's name.
    #[must_use]
    pub fn new(listener: Listener) -> Self {
        Self { listener }
    }

    /// Waits for the next program that connects. An error concerns only one peer, unless it comes from the system.
    ///
    /// # Errors
    /// [`OpenError`].
    pub async fn accept(&self) -> Result<Queues, OpenError> {
        poll_fn(|context| self.listener.poll_accept(context)).await
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.listener.claim.name()
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
