//! Channels between two tasks of one machine: through shared memory where Nowcast has it (Linux), elsewhere over a local
//! socket (a Unix socket, or TCP on loopback with a secret on Windows). [`CARRIER`] says which; the promises are the same,
//! and only tasks of the same user come through. The feature `portable` takes the socket on Linux, too.
//!
//! [`advertise`] a name in one task, [`connect`] to it in another; both then hold a [`Channel`]. Use it blocking
//! (`receive_wait`, `command`), polling (`receive`) or async (`next`, `messages`, `command_async`), with any executor or
//! none: one helper thread in each process wakes the tasks.

mod channel;
pub(crate) mod message;

#[cfg(all(target_os = "linux", not(feature = "portable")))]
pub(crate) mod shared_memory;
// Its own tests run wherever tests do, and there nothing else uses it.
#[cfg(any(test, not(target_os = "linux"), feature = "portable"))]
#[cfg_attr(
    all(target_os = "linux", not(feature = "portable")),
    allow(dead_code, unused_imports, unreachable_pub)
)]
pub(crate) mod socket;

#[cfg(all(target_os = "linux", not(feature = "portable")))]
pub(crate) use shared_memory as backend;
#[cfg(any(not(target_os = "linux"), feature = "portable"))]
pub(crate) use socket as backend;

pub use backend::{Advertised, CARRIER, OpenError, advertised};
pub use channel::{Channel, Counted, Messages};
pub use message::{Command, Message};

use crate::pack::UnpackError;
use backend::Listener;
use nowcast_queue::{Bounds, Refusal};
use std::time::Instant;

/// Advertises a name to the tasks of this user on this machine. The queue that this side puts into has the default bounds;
/// see [`advertise_with`].
///
/// # Errors
/// [`OpenError::Taken`] when a living process has the name.
pub fn advertise(name: &str) -> Result<Service, Error> {
    advertise_with(name, Bounds::default())
}

/// As [`advertise`], with bounds for what may wait in the queues that this side puts into.
///
/// # Errors
/// As [`advertise`], and [`OpenError::Bounds`].
pub fn advertise_with(name: &str, outgoing: Bounds) -> Result<Service, Error> {
    Ok(Service { listener: backend::advertise(name, &[outgoing])? })
}

/// Connects to the task that advertises a name.
///
/// # Errors
/// [`OpenError::NotFound`] when nobody does, and all that can be wrong with a peer.
pub fn connect(name: &str) -> Result<Channel, Error> {
    Ok(Channel::new(backend::connect(name, &[Bounds::default()])?))
}

/// As [`connect`], but with bounds for the queue that this side puts into, and waiting for the name until the deadline.
///
/// # Errors
/// As [`connect`].
pub fn connect_with(name: &str, outgoing: Bounds, deadline: Instant) -> Result<Channel, Error> {
    Ok(Channel::new(backend::connect_until(name, &[outgoing], deadline)?))
}

/// An advertised name.
#[derive(Debug)]
pub struct Service {
    listener: Listener,
}

impl Service {
    /// Waits for a task to connect, or until the deadline.
    ///
    /// # Errors
    /// [`OpenError::TimedOut`] at the deadline; other errors concern one peer, and the name stays advertised.
    pub fn accept(&mut self, deadline: Option<Instant>) -> Result<Channel, Error> {
        Ok(Channel::new(self.listener.accept(deadline)?))
    }

    /// Accepts a task if one has connected.
    ///
    /// # Errors
    /// As [`accept`](Self::accept).
    pub fn try_accept(&mut self) -> Result<Option<Channel>, Error> {
        Ok(self.listener.try_accept()?.map(Channel::new))
    }
}

/// What can go wrong with a channel.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// It could not be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The queue refused, or has ended.
    #[error(transparent)]
    Queue(#[from] Refusal),
    /// A message is not of the type it was taken for.
    #[error("the peer's message is not as expected: {0}")]
    Unpack(#[from] UnpackError),
    /// The peer's message is not one of a channel at all.
    #[error("the peer broke the channel: {0}")]
    Message(&'static str),
    /// The reply stands behind more messages than this side keeps: receive them, then ask again.
    #[error("too many messages wait to be received before the reply")]
    Behind,
}
