//! Programs of the same machine and user. They connect without a network (`spec/CARRIERS.md`, section 5).

use std::sync::Arc;
use std::time::Duration;

use tokio::task::{JoinHandle, spawn_blocking};

use crate::accepted::Queue;
use crate::channel::Channel;
use crate::local::backend::{self, Welcome};
use crate::local::{LANES, LocalLink, OpenError};

/// Pause after the system ran out of a resource.
const SHORTAGE_PAUSE: Duration = Duration::from_millis(100);

/// Accepts programs of this machine that connect to the name. Dropping it releases the name.
#[derive(Debug)]
pub(crate) struct Neighbours {
    welcome: Arc<Welcome>,
    task: JoinHandle<()>,
}

impl Neighbours {
    /// Advertises the name on this machine. Must be called within a runtime.
    ///
    /// # Errors
    /// If another process has the name, or if the machine does not support local names.
    pub(crate) fn welcome(name: &str, queue: Queue) -> Result<Self, OpenError> {
        let welcome = Arc::new(backend::advertise(name, &LANES)?);
        let task = tokio::spawn(accept_all(Arc::clone(&welcome), queue));
        Ok(Self { welcome, task })
    }
}

impl Drop for Neighbours {
    fn drop(&mut self) {
        // The task ends a moment later, and the name must be free at once.
        self.welcome.release();
        self.task.abort();
    }
}

async fn accept_all(welcome: Arc<Welcome>, queue: Queue) {
    loop {
        match welcome.accept().await {
            Ok(queues) => {
                let link = LocalLink::new(queues, welcome.name());
                if !queue.add(Channel::new(Arc::new(link))).await {
                    return;
                }
            }
            Err(error) => {
                tracing::debug!(%error, "a program on this machine failed to connect");
                if matches!(error, OpenError::System(_)) {
                    tokio::time::sleep(SHORTAGE_PAUSE).await;
                }
            }
        }
    }
}

/// Connects to the program that advertises the name on this machine, if there is one.
pub(crate) async fn find(name: &str) -> Option<Channel> {
    let wanted = name.to_owned();
    // The peer may take up to a second for its greeting.
    match spawn_blocking(move || backend::connect(&wanted, &LANES)).await.ok()? {
        Ok(queues) => Some(Channel::new(Arc::new(LocalLink::new(queues, name)))),
        Err(OpenError::NotFound(_)) => None,
        Err(error) => {
            tracing::debug!(%error, "the local name cannot be used");
            None
        }
    }
}
