//! Local names on systems with shared memory (`crates/shm`): queues that both programs share.

use std::sync::Arc;

use tokio::net::UnixListener;
use tokio::task::spawn_blocking;

use crate::carrier::CarrierKind;

pub use nowcast_shm::{Advertised, NameError, OpenError, advertised};
pub(crate) use nowcast_shm::{
    Listener, ShmChannel as Queues, ShmReceiver as QueueReceiver, ShmSender as QueueSender,
};
pub(crate) use nowcast_shm::{advertise, connect, connect_until};

/// The carrier between two programs of this machine.
pub const CARRIER: CarrierKind = CarrierKind::SharedMemory;

/// Accepts programs within a runtime.
pub(crate) struct Welcome {
    listener: Arc<Listener>,
    socket: UnixListener,
}

/// Accepts the programs that connect to the listener's name. Must be called within a runtime.
pub(crate) fn welcome(listener: Listener) -> Result<Welcome, OpenError> {
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

    pub(crate) fn name(&self) -> &str {
        self.listener.name()
    }
}
