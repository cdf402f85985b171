//! Names of one machine where there is no shared memory: the same queues, over a local socket (`spec/CARRIERS.md`,
//! section 5). A Unix socket where the system has them, a TCP connection on loopback elsewhere.
//!
//! **The one invariant**: what waits, waits in the memory of the task that put it, in the updatable queue that the bounds
//! describe; only [`WINDOW_ENTRIES`] of a lane are on their way to the other task. So a state is replaced until shortly
//! before it is read, and a task that is behind or stopped gets the newest values, not a history.
//!
//! | file | job |
//! | --- | --- |
//! | `ends` | what a task holds: puts, gets, waits |
//! | `outgoing`, `incoming` | the two directions as plain state: queues, window, receipts, ends |
//! | `pump` | the task that moves frames between that state and the socket |
//! | `frame` | frames ↔ bytes |
//! | `names` | who advertises what: locks, sockets, and who may come in |
//! | `transport` | the sockets of this system |
//!
//! The helper thread of the process (`helper.rs`) runs all pumps, so that tasks need no runtime of their own.

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

/// The carrier between two tasks of this machine.
pub const CARRIER: CarrierKind = CarrierKind::LocalSocket;

/// Messages of a lane that may be on their way: sent, and neither received nor replaced at the other end.
const WINDOW_ENTRIES: usize = 32;
/// Bytes of a lane that may be on their way, or one message.
const WINDOW_BYTES: usize = 64 * 1_024;
/// Lanes of one direction at most.
const LANES_MAX: usize = 8;
/// Entries of a lane at most.
const ENTRIES_MAX: usize = 1 << 24;
/// Bytes of a lane at most, and so of a message.
const BYTES_MAX: usize = 1 << 30;
/// How long an end that is dropped waits until what was put is in the hands of the kernel.
const LINGER_MAX: Duration = Duration::from_secs(1);
