//! Local names on systems with shared memory (`crates/shm`): queues that both programs share.

use std::sync::Arc;

use nowcast_engine::carrier::CarrierKind;
use nowcast_queue::Bounds;
use tokio::net::UnixListener;
use tokio::task::spawn_blocking;

pub use nowcast_shm::{Advertised, NameError, OpenError, advertised};
pub(crate) use nowcast_shm::{
    ShmChannel as Queues, ShmReceiver as QueueReceiver, ShmSender as QueueSender, connect,
};

/// The carrier between two programs of this machine.
pub const CARRIER: CarrierKind = CarrierKind::SharedMemory;

/// An advertised name.
#[derive(Debug)]
pub(crate) struct Welcome {
    listener: Arc<nowcast_shm::Listener>,
    socket: UnixListener,
}

/// Advertises a name. Must be called within a runtime.
pub(crate) fn advertise(name: &str, bounds: &[Bounds]) -> Result<Welcome, OpenError> {
    let listener = nowcast_shm::advertise(name, bounds)?;
    let socket = UnixListener::from_std(listener.socket()?)?;
    Ok(Welcome { listener: Arc::new(listener), socket })
}

impl Welcome {
    /// Waits for the next program that connects. Errors concern one peer, except those of the system.
    pub(crate) async fn accept(&self) -> Result<Queues, OpenError> {
        let stream = self.socket.accept().await?.0.into_std()?;
        // A peer may take up to a second for its greeting. Waiting for it here would block a task of the runtime.
        let host = Arc::clone(&self.listener);
        let greeted = spawn_blocking(move || host.greet(stream)).await;
        greeted.unwrap_or(Err(OpenError::Handshake("the runtime ends")))
    }

    /// Releases the name. Programs that have connected are still accepted.
    pub(crate) fn release(&self) {
        self.listener.release();
    }

    pub(crate) fn name(&self) -> &str {
        self.listener.name()
    }
}
