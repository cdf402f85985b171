//! Messages that a source puts into its channel.

use std::time::Instant;

use nowcast_queue::Key;
use nowcast_session::{Refused, Session, Source, Time};

use super::LaneId;
use super::shapes::as_event;
use crate::clock;

/// The source of a channel.
pub(crate) type BoxedSource = Box<dyn Source<PutBatch> + Send>;

/// Capacity of the buffer that is kept for the next call.
const KEPT_BYTES: usize = 1_024;

/// The messages that [`Source::feed`] puts into its channel. They are all put after the call, and leave together like a batch.
#[derive(Debug, Default)]
pub struct PutBatch {
    puts: Vec<FedPut>,
    /// The payloads of all puts, in order.
    bytes: Vec<u8>,
    refused: Vec<RefusedPut>,
    closing: Option<Closing>,
    event_bytes: usize,
}

/// The close of a channel by its source.
#[derive(Debug)]
pub(crate) struct Closing {
    pub(crate) code: u32,
    pub(crate) reason: String,
    /// Whether all messages arrive before.
    pub(crate) delivers: bool,
}

/// A state with its key and time, or an event.
#[derive(Debug)]
struct FedPut {
    lane: LaneId,
    state: Option<(Key, Instant)>,
    /// The end of the put's payload in `bytes`.
    end: usize,
}

/// A put of a source that the channel has refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedPut {
    /// The lane.
    pub lane: LaneId,
    /// The state's key; `None` for an event.
    pub key: Option<Key>,
    /// The reason.
    pub why: Refused,
}

impl PutBatch {
    /// Puts a state that was produced at `at`; see [`Lane::try_state`](super::Lane::try_state).
    pub fn state(&mut self, lane: impl Into<LaneId>, key: impl Into<Key>, value: &[u8], at: Instant) {
        self.bytes.extend_from_slice(value);
        self.put(lane.into(), Some((key.into(), at)));
    }

    /// Puts an event; see [`Lane::try_event`](super::Lane::try_event).
    pub fn event(&mut self, lane: impl Into<LaneId>, payload: &[u8]) {
        self.bytes.extend_from_slice(&as_event(payload));
        self.put(lane.into(), None);
    }

    fn put(&mut self, lane: LaneId, state: Option<(Key, Instant)>) {
        self.puts.push(FedPut { lane, state, end: self.bytes.len() });
    }

    /// Returns the refused puts of the previous call, in their order. If a put on a lane is refused, all later puts of the same
    /// call on that lane are refused, too.
    pub fn take_refused(&mut self) -> Vec<RefusedPut> {
        std::mem::take(&mut self.refused)
    }

    /// Memory of the events that waited in the channel after the previous call, in bytes.
    #[must_use]
    pub fn event_bytes(&self) -> usize {
        self.event_bytes
    }

    /// Closes the channel as [`Channel::close`](super::Channel::close) does. If this method is called several times, the first
    /// call counts.
    pub fn close(&mut self, code: u32, reason: &str) {
        self.closing.get_or_insert_with(|| Closing { code, reason: reason.to_owned(), delivers: false });
    }

    /// Closes the channel when all messages have arrived at the peer, or after some seconds, like a dropped channel.
    pub fn close_after_delivery(&mut self, code: u32, reason: &str) {
        self.closing.get_or_insert_with(|| Closing { code, reason: reason.to_owned(), delivers: true });
    }

    /// Puts all messages into the session. Returns whether all were accepted.
    pub(crate) fn put_into(&mut self, session: &mut Session, now: Time) -> bool {
        self.refused.clear();
        let mut begin = 0;
        for FedPut { lane, state, end } in self.puts.drain(..) {
            let payload = &self.bytes[begin..end];
            begin = end;
            let refused_before = self.refused.iter().find(|refused| refused.lane == lane);
            let put = match (refused_before, state) {
                (Some(refused), _) => Err(refused.why),
                (None, Some((key, at))) => {
                    session.put_state(clock::at(at).min(now), lane.number(), key.raw(), payload)
                }
                (None, None) => session.put_event(now, lane.number(), payload),
            };
            if let Err(why) = put {
                self.refused.push(RefusedPut { lane, key: state.map(|(key, _)| key), why });
            }
        }
        self.bytes.clear();
        self.bytes.shrink_to(KEPT_BYTES);
        self.puts.shrink_to(KEPT_BYTES / size_of::<FedPut>());
        self.event_bytes = session.event_bytes();
        self.refused.is_empty()
    }

    /// Returns the code and the reason if the source closes the channel.
    pub(crate) fn take_closing(&mut self) -> Option<Closing> {
        self.closing.take()
    }
}
