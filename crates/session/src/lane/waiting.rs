//! Messages that wait to be sent for the first time.

use nowcast_queue::Weigh;

use crate::packet::EventKind;
use crate::store::Handle;
use crate::time::Time;

/// A message that waits in the lane's queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting {
    pub(crate) payload: Handle,
    pub(crate) length: u32,
    pub(crate) at: Time,
    pub(crate) kind: EventKind,
    /// The deadline of a command.
    pub(crate) expires: Option<Time>,
    /// Identifies an event for the application. It is the number of events that were put on this lane before.
    pub(crate) id: u64,
}

impl Weigh for Waiting {
    fn bytes(&self) -> usize {
        self.length as usize
    }
}
