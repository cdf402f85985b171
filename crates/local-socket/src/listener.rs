//! Advertised names: the programs that connect are greeted concurrently, and wait to be accepted. `crates/names` keeps
//! the names; each name's file belongs to the transport.

use std::future::pending;
use std::io;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use nowcast_names::{Advertised, Claim, Directory};
use nowcast_queue::Bounds;
use tokio::runtime::Handle;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{Mutex, OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::ends::Queues;
use super::transport::{self, Socket};
use super::{OpenError, frame, pump};

/// Maximum time between the connection of a peer and its greeting.
const GREETING_MAX: Duration = Duration::from_secs(1);
/// Maximum wait of [`connect`] for an answer.
const CONNECT_MAX: Duration = Duration::from_secs(5);
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
    let (sender, greeted) = unbounded_channel();
    let task = runtime.spawn(greet_all(socket, bounds.into(), sender));
    Ok(Listener { claim, greeted: Mutex::new(greeted), task })
}

/// Connects to the program that advertises a name. `bounds` are the bounds of this side's lanes. `runtime` moves the frames
/// of the channel; the caller must not be one of its tasks.
///
/// # Errors
/// [`OpenError::NotFound`] if the name is not advertised, [`OpenError::TimedOut`] if that program does not accept within
/// five seconds, and all errors of a peer.
pub fn connect(name: &str, bounds: &[Bounds], runtime: &Handle) -> Result<Queues, OpenError> {
    if !frame::are_possible(bounds) {
        return Err(OpenError::Bounds);
    }
    let path = directory()?.socket_path(name)?;
    let bounds = bounds.to_vec();
    let (sender, connected) = mpsc::sync_channel(1);
    runtime.spawn(async move {
        let opening = async { pump::greet(transport::connect(&path).await?, &bounds).await };
        // If this send fails, the caller no longer waits.
        let _ = sender.send(timeout(CONNECT_MAX, opening).await.unwrap_or(Err(OpenError::TimedOut)));
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
    greeted: Mutex<UnboundedReceiver<Greeted>>,
    task: JoinHandle<()>,
}

/// A channel that waits to be accepted, and its place among [`BACKLOG_MAX`].
type Greeted = (Result<Queues, OpenError>, OwnedSemaphorePermit);

impl Listener {
    /// Waits until a program connects. An error concerns only one peer, unless it comes from the system.
    ///
    /// # Errors
    /// [`OpenError`].
    pub async fn accept(&self) -> Result<Queues, OpenError> {
        match self.greeted.lock().await.recv().await {
            Some((greeted, _place)) => greeted,
            // The runtime has ended.
            None => pending().await,
        }
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.claim.name()
    }

    /// Releases the name before the listener is dropped.
    pub fn release(&self) {
        self.claim.release();
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Greets all connecting programs concurrently, so that a silent program does not delay others.
async fn greet_all(socket: Socket, bounds: Arc<[Bounds]>, greeted: UnboundedSender<Greeted>) {
    let places = Arc::new(Semaphore::new(BACKLOG_MAX));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        let stream = match socket.accept().await {
            Ok(stream) => stream,
            Err(error) => {
                // If this send fails, the listener is gone, and the task ends.
                let _ = greeted.send((Err(error.into()), place));
                continue;
            }
        };
        let (greeted, bounds, secrets) = (greeted.clone(), Arc::clone(&bounds), socket.secrets());
        tokio::spawn(async move {
            let opening = async { pump::answer(transport::admit(stream, secrets).await?, &bounds).await };
            let opened = timeout(GREETING_MAX, opening).await.unwrap_or(Err(OpenError::TimedOut));
            let _ = greeted.send((opened, place));
        });
    }
}
