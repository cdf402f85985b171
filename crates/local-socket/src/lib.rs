//! Local names on systems without shared memory: the same queues over a local socket (`spec/CARRIERS.md`, section 5).
//! It is a Unix socket where available, else a TCP connection on loopback.
//!
//! **The one invariant**: waiting messages stay in the memory of their sender, in the updatable queue with the given bounds. At
//! most [`WINDOW_ENTRIES`] messages of a lane are in flight. So a state can be replaced until shortly before it is read. A slow
//! or stopped receiver gets the newest values, not a history.
//!
//! | file | job |
//! | --- | --- |
//! | `ends` | the ends that a program holds: put, get, wait |
//! | `outgoing`, `incoming` | the two directions as plain state: queues, window, receipts, ends |
//! | `pump` | the task that moves frames between that state and the socket |
//! | `frame` | frames ↔ bytes |
//! | `names` | advertised names: locks, sockets, admission |
//! | `transport` | the sockets of this system |
//!
//! The helper thread of the process (`helper.rs`) runs all pumps, so programs need no runtime.

mod ends;
mod error;
mod frame;
mod incoming;
mod names;
mod outgoing;
mod pump;
mod transport;

#[cfg(test)]
mod tests;

use std::time::Duration;

use crate::carrier::CarrierKind;

pub(crate) use ends::{QueueReceiver, QueueSender, Queues};
pub use error::OpenError;
pub use names::{Advertised, advertised};
pub(crate) use names::{Listener, Welcome, advertise, connect, connect_until};

/// The carrier between two programs of this machine.
pub const CARRIER: CarrierKind = CarrierKind::LocalSocket;

/// Maximum number of messages of a lane in flight. A message is in flight from sending until it is received or replaced at the
/// other end.
const WINDOW_ENTRIES: usize = 32;
/// Maximum number of bytes of a lane in flight. A single message may exceed it.
const WINDOW_BYTES: usize = 64 * 1_024;
/// Maximum number of lanes of one direction.
const LANES_MAX: usize = 8;
/// Maximum number of entries of a lane.
const ENTRIES_MAX: usize = 1 << 24;
/// Maximum number of bytes of a lane, and therefore of a message.
const BYTES_MAX: usize = 1 << 30;
/// Maximum wait of a dropped end until the kernel has accepted all messages.
const LINGER_MAX: Duration = Duration::from_secs(1);
