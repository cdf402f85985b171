//! Tasks of the same machine and user, which need no network (`spec/CARRIERS.md`, section 5).

use std::sync::Arc;

use nowcast_shm::OpenError;
use tokio::net::UnixListener;
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, spawn_blocking};

use crate::acceptor::Entry;
use crate::channel::{Channel, LOCAL_LANES};

/// Lets in who asks for the name on this machine; dropping it takes the name back.
#[derive(Debug)]
pub(crate) struct Neighbours {
    task: JoinHandle<()>,
}

impl Neighbours {
    /// Advertises the name on this machine. `None` when another process has it there, or the machine has no such names:
    /// then everybody comes over the network.
    pub(crate) fn welcome(name: &str, ready: mpsc::Sender<Channel>) -> Option<Self> {
        let listener = nowcast_shm::advertise(name, &LOCAL_LANES)
            .inspect_err(|error| tracing::debug!(%error, "not advertised on this machine"))
            .ok()?;
        let socket = listener.socket().and_then(UnixListener::from_std).ok()?;
        Some(Self { task: tokio::spawn(accept_all(listener, socket, ready)) })
    }
}

impl Drop for Neighbours {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept_all(listener: nowcast_shm::Listener, socket: UnixListener, ready: mpsc::Sender<Channel>) {
    let listener = Arc::new(listener);
    while let Ok((stream, _)) = socket.accept().await {
        let Ok(stream) = stream.into_std() else { continue };
        // A peer may take up to a second to greet, which is too long for a task of the runtime.
        let host = Arc::clone(&listener);
        let Ok(greeted) = spawn_blocking(move || host.greet(stream)).await else { return };
        match greeted {
            Ok(queues) => {
                let entry = Entry { room: listener.name().to_owned(), ..Entry::default() };
                if ready.send(Channel::local(queues, entry)).await.is_err() {
                    return;
                }
            }
            Err(error) => tracing::debug!(%error, "a task of this machine could not come in"),
        }
    }
}

/// Connects to the task that advertises the name on this machine, if one does.
pub(crate) async fn find(name: &str) -> Option<Channel> {
    let wanted = name.to_owned();
    let found = spawn_blocking(move || nowcast_shm::connect(&wanted, &LOCAL_LANES)).await.ok()?;
    match found {
        Ok(queues) => Some(Channel::local(queues, Entry { room: name.to_owned(), ..Entry::default() })),
        Err(OpenError::NotFound(_)) => None,
        Err(error) => {
            tracing::debug!(%error, "the name of this machine cannot be used");
            None
        }
    }
}
