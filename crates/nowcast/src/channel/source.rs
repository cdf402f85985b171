//! What a channel says that does not come from a queue.

use std::time::Instant;

use nowcast_queue::Key;
use nowcast_session::{PacketOutcome, Replication, Session, Time};

use super::{Error, LaneId};
use crate::clock;

/// Feeds a channel from its driver's side: lanes with states of its own, which depend on what the peer has (see
/// [`Replication`]), and whatever else is to be put before packets are filled.
///
/// It is called with the channel locked: it must not call the channel. When it panics, the channel ends with the code
/// `APPLICATION` on both sides.
pub trait Source: Replication + Send {
    /// Hears what became of the bytes that it put into a packet.
    fn settled(&mut self, outcome: PacketOutcome);

    /// Puts what is news since it was last asked. It is asked whenever the driver looks, so also after
    /// [`Channel::source_has_more`](super::Channel::source_has_more), and before packets are filled.
    fn feed(&mut self, _feed: &mut Feed<'_>) {}
}

/// A channel, as [`Source::feed`] puts into it. All of it leaves together, as a batch does.
pub struct Feed<'a> {
    session: &'a mut Session,
    now: Time,
    closing: Option<(u32, String)>,
}

impl<'a> Feed<'a> {
    pub(crate) fn new(session: &'a mut Session, now: Time) -> Self {
        Self { session, now, closing: None }
    }

    /// Puts a state that was produced at `at`; as [`Lane::try_state`](super::Lane::try_state).
    ///
    /// # Errors
    /// As [`Lane::try_state`](super::Lane::try_state).
    pub fn try_state(
        &mut self,
        lane: impl Into<LaneId>,
        key: impl Into<Key>,
        value: &[u8],
        at: Instant,
    ) -> Result<(), Error> {
        let LaneId(lane) = lane.into();
        let produced_at = clock::at(at).min(self.now);
        self.session.put_state(produced_at, lane, key.into().raw(), value).map_err(Error::Refused)
    }

    /// As [`Lane::try_event`](super::Lane::try_event).
    ///
    /// # Errors
    /// As [`Lane::try_event`](super::Lane::try_event).
    pub fn try_event(&mut self, lane: impl Into<LaneId>, payload: &[u8]) -> Result<(), Error> {
        let LaneId(lane) = lane.into();
        self.session.put_event(self.now, lane, payload, None).map(drop).map_err(Error::Refused)
    }

    /// Ends the channel as [`Channel::close`](super::Channel::close) does. Of several calls the first one counts.
    pub fn close(&mut self, code: u32, reason: &str) {
        self.closing.get_or_insert_with(|| (code, reason.to_owned()));
    }

    pub(crate) fn into_closing(self) -> Option<(u32, String)> {
        self.closing
    }
}

impl std::fmt::Debug for Feed<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Feed").field("closing", &self.closing).finish_non_exhaustive()
    }
}
