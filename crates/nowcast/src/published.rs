//! The table of a publisher, which its subscribers' sessions read at the last moment.

use std::sync::Arc;

use nowcast_queue::{Weigh, in_process};
use nowcast_session::Time;

/// A value or an event that was put for all subscribers, kept once.
#[derive(Clone, Debug)]
pub(crate) struct Published {
    /// When it was put.
    pub(crate) at: Time,
    pub(crate) bytes: Arc<[u8]>,
}

impl Weigh for Published {
    fn bytes(&self) -> usize {
        self.bytes.len()
    }
}

/// One subscriber's place in what is published.
pub(crate) type Subscription = in_process::Subscriber<Published>;
