//! The sending direction, as state without a socket.

use std::task::Waker;

use nowcast_queue::{Bounds, Counters, Key, Put, Refusal, UpdatableQueue};

use super::frame::{self, Receipt};
use super::{WINDOW_BYTES, WINDOW_ENTRIES};

/// Maximum number of bytes written to the socket at once. Messages that are not written yet can still be replaced.
const WRITE_BYTES_MAX: usize = 64 * 1_024;

/// The queues, and the messages in flight.
#[derive(Debug)]
pub(crate) struct Outgoing {
    lanes: Vec<Lane>,
    /// The reason why nothing can be put any more.
    ended: Option<Refusal>,
    /// Whether the sending end was dropped. Waiting messages are still sent.
    is_closed: bool,
    progress: Farewell,
    /// The task that waits for room, or for all messages to be received.
    pub(crate) waker: Option<Waker>,
}

#[derive(Debug)]
struct Lane {
    queue: UpdatableQueue<Vec<u8>>,
    sent_entries: usize,
    sent_bytes: usize,
    /// Number of messages that the peer has reported as delivered. This number corrects the queue's own counters, which count a
    /// sent message as delivered.
    delivered: u64,
    replaced: u64,
}

/// The progress of a close.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Farewell {
    Unsaid,
    Said,
    Written,
}

impl Outgoing {
    pub(crate) fn new(bounds: &[Bounds]) -> Self {
        let lane = |bounds: &Bounds| Lane {
            queue: UpdatableQueue::new(*bounds),
            sent_entries: 0,
            sent_bytes: 0,
            delivered: 0,
            replaced: 0,
        };
        Outgoing {
            lanes: bounds.iter().map(lane).collect(),
            ended: None,
            is_closed: false,
            progress: Farewell::Unsaid,
            waker: None,
        }
    }

    pub(crate) fn put(&mut self, lane: usize, key: Key, value: &[u8]) -> Result<Put, Refusal> {
        if let Some(refusal) = self.ended {
            return Err(refusal);
        }
        self.lanes[lane].queue.put(key, value.to_vec()).map_err(|refused| refused.refusal)
    }

    /// Writes the messages that may leave now, the lowest lane first. Returns whether there may be room again.
    pub(crate) fn fill(&mut self, into: &mut Vec<u8>) -> bool {
        let mut has_taken = false;
        for (number, lane) in self.lanes.iter_mut().enumerate() {
            while into.len() < WRITE_BYTES_MAX && (self.is_closed || lane.has_window()) {
                let Some((key, value)) = lane.queue.pop() else { break };
                lane.sent_entries += 1;
                lane.sent_bytes += value.len();
                frame::write_message(number, key, &value, into);
                has_taken = true;
            }
        }
        let is_empty = self.lanes.iter().all(|lane| lane.queue.is_empty());
        if self.is_closed && is_empty && self.progress == Farewell::Unsaid {
            frame::write_sender_closed(into);
            self.progress = Farewell::Said;
        }
        has_taken
    }

    /// Marks the filled bytes as written.
    pub(crate) fn written(&mut self) {
        if self.progress == Farewell::Said {
            self.progress = Farewell::Written;
        }
    }

    /// Handles the peer's report. Returns whether everything has been received now.
    pub(crate) fn receive(&mut self, lane: usize, receipt: Receipt) -> Result<bool, &'static str> {
        const WRONG: &str = "a receipt for a message that was not sent";
        let lane = self.lanes.get_mut(lane).ok_or(WRONG)?;
        let entries = receipt.delivered as usize + receipt.replaced as usize;
        let bytes = usize::try_from(receipt.bytes).map_err(|_| WRONG)?;
        lane.sent_entries = lane.sent_entries.checked_sub(entries).ok_or(WRONG)?;
        lane.sent_bytes = lane.sent_bytes.checked_sub(bytes).ok_or(WRONG)?;
        lane.delivered += u64::from(receipt.delivered);
        lane.replaced += u64::from(receipt.replaced);
        Ok(self.is_drained())
    }

    /// Whether the peer has received all messages, or can no longer receive them.
    pub(crate) fn is_drained(&self) -> bool {
        let is_drained = |lane: &Lane| lane.queue.is_empty() && lane.sent_entries == 0;
        self.ended.is_some() || self.lanes.iter().all(is_drained)
    }

    /// Ends the direction. Only the first reason is stored.
    pub(crate) fn end(&mut self, refusal: Refusal) {
        self.ended.get_or_insert(refusal);
    }

    /// Records that the sending end is dropped.
    pub(crate) fn close(&mut self) {
        self.is_closed = true;
    }

    /// Whether the kernel has accepted all messages and the close, or can no longer send them.
    pub(crate) fn is_over(&self) -> bool {
        self.is_closed && (self.ended.is_some() || self.progress == Farewell::Written)
    }

    pub(crate) fn lanes(&self) -> usize {
        self.lanes.len()
    }

    /// Returns the counters of messages, except refused ones.
    pub(crate) fn counters(&self) -> Counters {
        self.lanes.iter().fold(Counters::default(), |sum, lane| {
            let put = lane.queue.counters();
            Counters {
                queued: sum.queued + put.queued - lane.replaced,
                replaced: sum.replaced + put.replaced + lane.replaced,
                refused: sum.refused,
                delivered: sum.delivered + lane.delivered,
            }
        })
    }
}

impl Lane {
    fn has_window(&self) -> bool {
        self.sent_entries == 0 || (self.sent_entries < WINDOW_ENTRIES && self.sent_bytes < WINDOW_BYTES)
    }
}
