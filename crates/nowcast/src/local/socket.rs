//! Local names on systems without shared memory: the same queues over a local socket (`crates/local-socket`). The helper
//! thread of this process moves their frames.

use nowcast_engine::carrier::CarrierKind;
use nowcast_queue::Bounds;

use crate::helper::helper;

pub use nowcast_local_socket::{Advertised, NameError, OpenError, advertised};
pub(crate) use nowcast_local_socket::{Listener as Welcome, QueueReceiver, QueueSender, Queues};

/// The carrier between two programs of this machine.
pub const CARRIER: CarrierKind = CarrierKind::LocalSocket;

pub(crate) fn advertise(name: &str, bounds: &[Bounds]) -> Result<Welcome, OpenError> {
    nowcast_local_socket::advertise(name, bounds, helper()?.handle())
}

pub(crate) fn connect(name: &str, bounds: &[Bounds]) -> Result<Queues, OpenError> {
    nowcast_local_socket::connect(name, bounds, helper()?.handle())
}
