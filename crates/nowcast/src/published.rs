//! The table of a publisher. The sessions of subscribers read it when a packet leaves.

use std::sync::Arc;

use nowcast_queue::{Weigh, in_process};
use nowcast_session::Time;

/// A value or an event for all subscribers, stored once.
#[derive(Clone, Debug)]
pub(crate) struct Published {
    /// The time of the put.
    pub(crate) at: Time,
    pub(crate) bytes: Arc<[u8]>,
}

impl Weigh for Published {
    fn bytes(&self) -> usize {
        self.bytes.len()
    }
}

/// One subscriber's position in the published messages.
pub(crate) type Subscription = in_process::Subscriber<Published>;
