//! The updatable queue between two programs on one machine, over a local socket (`spec/CARRIERS.md`, section 5): the
//! same queues as in shared memory, for systems without it. The socket is a Unix socket where available, else a TCP
//! connection on loopback. Only programs of the same user can connect.
//!
//! ```
//! use nowcast_local_socket::{advertise, connect};
//! use nowcast_queue::{Bounds, Key};
//!
//! let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
//! let name = format!("doc-socket-{}", std::process::id());
//! let service = advertise(&name, &[Bounds::default()], runtime.handle())?;
//! let mut near = connect(&name, &[Bounds::default()], runtime.handle())?; // usually in another process
//! let mut far = runtime.block_on(service.accept())?;
//! near.sender.put_on(0, Key::state(1), b"a pose", None)?;
//! let mut value = Vec::new();
//! assert_eq!(far.receiver.get_any(&mut value, None)?, (0, Key::state(1)));
//! assert_eq!(value, b"a pose");
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```
//!
//! **The one invariant**: waiting messages stay in the memory of their sender, in the updatable queue with the given bounds. At
//! most `WINDOW_ENTRIES` messages of a lane are in flight. So a state can be replaced until shortly before it is read. A slow
//! or stopped receiver gets the newest values, not a history.
//!
//! | file | job |
//! | --- | --- |
//! | `ends` | the ends that a program holds: put, get, wait |
//! | `outgoing`, `incoming` | the two directions as plain state: queues, window, receipts, ends |
//! | `pump` | the task that moves frames between that state and the socket |
//! | `frame` | frames ↔ bytes |
//! | `listener` | advertised names: greeting and accepting |
//! | `transport` | the sockets of this system |
//!
//! The runtime that [`advertise`] and [`connect`] receive runs the pumps of their channels, so the ends need no
//! runtime.

mod ends;
mod error;
mod frame;
mod incoming;
mod listener;
mod outgoing;
mod pump;
mod transport;

#[cfg(test)]
mod tests;

use std::time::Duration;

pub use ends::{QueueReceiver, QueueSender, Queues};
pub use error::OpenError;
pub use listener::{Listener, advertise, advertised, connect};
pub use nowcast_names::{Advertised, NameError};

/// Maximum number of messages of a lane in flight. A message is in flight from sending until it is received or replaced at the
/// other end.
const WINDOW_ENTRIES: usize = 32;
/// Maximum number of bytes of a lane in flight. A single message may exceed it.
const WINDOW_BYTES: usize = 64 * 1_024;
/// Maximum number of lanes in one direction.
const LANES_MAX: usize = 8;
/// Maximum number of entries in a lane.
const ENTRIES_MAX: usize = 1 << 24;
/// Maximum bytes in a lane, and therefore in a message.
const BYTES_MAX: usize = 1 << 30;
/// Maximum wait of a dropped end until the kernel has accepted all messages.
const LINGER_MAX: Duration = Duration::from_secs(1);
