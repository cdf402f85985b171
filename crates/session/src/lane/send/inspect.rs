//! The messages that wait in a lane, for inspection.

use std::time::Duration;

use super::SendLane;
use crate::time::Time;

/// A message that waits to be sent for the first time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitingMessage {
    /// The lane.
    pub lane: u8,
    /// The key of a state; `None` for an event, a command or a reply.
    pub key: Option<u64>,
    /// The length of the payload, in bytes.
    pub bytes: u32,
    /// The time since the message was put.
    pub age: Duration,
}

impl SendLane {
    /// Bytes of the messages that wait.
    pub(crate) fn waiting_bytes(&self) -> usize {
        self.queue.bytes()
    }

    /// The messages that wait, in the order in which they leave.
    pub(crate) fn waiting_messages(&self, now: Time) -> impl Iterator<Item = WaitingMessage> {
        self.queue.iter().map(move |(key, waiting)| WaitingMessage {
            lane: self.lane,
            key: (!key.is_event()).then_some(key.raw()),
            bytes: waiting.length,
            age: now.since(waiting.at),
        })
    }
}
