//! Names and queues of one machine. On Linux they use shared memory, elsewhere a local socket (a Unix socket, or TCP on loopback
//! with a secret on Windows). [`CARRIER`] is the carrier in use. The guarantees are the same, and only programs of the same user
//! can connect. The feature `portable` also selects the socket on Linux.
//!
//! [`Listener::advertise`](crate::Listener::advertise) advertises a name here and on the network, and
//! [`connect`](crate::connect) searches here first. Programs that need no network use
//! [`blocking::advertise`](crate::blocking::advertise).

mod link;

#[cfg(all(target_os = "linux", not(feature = "portable")))]
pub(crate) mod shared_memory;
#[cfg(any(not(target_os = "linux"), feature = "portable"))]
pub(crate) mod socket;

#[cfg(all(target_os = "linux", not(feature = "portable")))]
pub(crate) use shared_memory as backend;
#[cfg(any(not(target_os = "linux"), feature = "portable"))]
pub(crate) use socket as backend;

pub use backend::{Advertised, CARRIER, NameError, OpenError, advertised};
pub(crate) use link::{LANES, LocalLink};
