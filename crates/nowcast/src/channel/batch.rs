//! Several puts that leave together.

use std::task::Poll;

use nowcast_queue::Key;
use nowcast_session::Refused;

use super::link::{Link, Put};
use super::shapes::as_event;
use super::{Error, LaneId};

/// Several puts that leave together; see [`Channel::batch`](super::Channel::batch).
pub struct Batch<'a> {
    link: &'a dyn Link,
}

impl<'a> Batch<'a> {
    pub(super) fn new(link: &'a dyn Link) -> Self {
        link.begin_batch();
        Self { link }
    }

    /// Like [`Lane::try_state`](super::Lane::try_state).
    ///
    /// # Errors
    /// Like [`Lane::try_state`](super::Lane::try_state).
    pub fn try_state(
        &mut self,
        lane: impl Into<LaneId>,
        key: impl Into<Key>,
        value: &[u8],
    ) -> Result<(), Error> {
        self.put(lane.into(), Put::State(key.into(), value))
    }

    /// Like [`Lane::try_event`](super::Lane::try_event).
    ///
    /// # Errors
    /// Like [`Lane::try_event`](super::Lane::try_event).
    pub fn try_event(&mut self, lane: impl Into<LaneId>, payload: &[u8]) -> Result<(), Error> {
        self.put(lane.into(), Put::Event(&as_event(payload)))
    }

    fn put(&self, lane: LaneId, put: Put<'_>) -> Result<(), Error> {
        match self.link.put_in_batch(lane, put) {
            Poll::Ready(put) => put.map(drop),
            Poll::Pending => Err(Error::Refused(Refused::Full)),
        }
    }
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        self.link.end_batch();
    }
}

impl std::fmt::Debug for Batch<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Batch").finish_non_exhaustive()
    }
}
