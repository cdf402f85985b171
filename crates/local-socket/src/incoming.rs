//! The receiving direction, as state without a socket.

use std::task::Waker;

use nowcast_queue::{Bounds, Key, Refusal, UpdatableQueue};

use super::frame::{self, Receipt};
use super::outgoing::Farewell;
use super::{WINDOW_BYTES, WINDOW_ENTRIES};

/// Messages that arrived and are not received yet.
#[derive(Debug)]
pub(crate) struct Incoming {
    lanes: Vec<Lane>,
    bounds: Vec<Bounds>,
    /// The reason of the end. It is returned after all earlier messages were received.
    ended: Option<Refusal>,
    /// Whether the receiving end was dropped.
    is_closed: bool,
    progress: Farewell,
    /// The task that waits for a message.
    pub(crate) waker: Option<Waker>,
}

#[derive(Debug)]
struct Lane {
    queue: UpdatableQueue<Vec<u8>>,
    unreported: Receipt,
}

/// The result of taking a message.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Taken {
    pub(crate) lane: usize,
    pub(crate) key: Key,
    /// Whether a report should be sent to the peer now.
    pub(crate) is_worth_a_report: bool,
}

impl Incoming {
    /// Makes the receiving direction. The peer chose `bounds` for its messages. A peer that closes sends all waiting messages at
    /// once, so these may arrive in addition to a full window.
    pub(crate) fn new(bounds: &[Bounds]) -> Self {
        let lane = |bounds: &Bounds| Lane {
            queue: UpdatableQueue::new(Bounds {
                entries_max: bounds.entries_max + WINDOW_ENTRIES,
                bytes_max: 2 * bounds.bytes_max + WINDOW_BYTES,
            }),
            unreported: Receipt::default(),
        };
        Incoming {
            lanes: bounds.iter().map(lane).collect(),
            bounds: bounds.to_vec(),
            ended: None,
            is_closed: false,
            progress: Farewell::Unsaid,
            waker: None,
        }
    }

    /// Handles a message. A state replaces the previous value of its key, so a slow receiver gets the newest.
    pub(crate) fn arrive(&mut self, lane: usize, key: Key, value: Vec<u8>) -> Result<(), &'static str> {
        let Some(lane) = self.lanes.get_mut(lane) else {
            return Err("a message on a lane that does not exist");
        };
        if self.is_closed {
            // No task will receive the message. Its sender is being informed.
            return Ok(());
        }
        match lane.queue.exchange(key, value) {
            Ok(None) => Ok(()),
            Ok(Some(old)) => {
                lane.unreported.replaced += 1;
                lane.unreported.bytes += old.len() as u64;
                Ok(())
            }
            Err(_) => Err("more messages than its bounds allow"),
        }
    }

    /// Returns the next message, the lowest lane first; `None` if there is none yet.
    pub(crate) fn take(&mut self, value: &mut Vec<u8>) -> Result<Option<Taken>, Refusal> {
        for (number, lane) in self.lanes.iter_mut().enumerate() {
            if let Some((key, waiting)) = lane.queue.pop() {
                lane.unreported.delivered += 1;
                lane.unreported.bytes += waiting.len() as u64;
                *value = waiting;
                let is_worth_a_report = lane.is_worth_a_report();
                return Ok(Some(Taken { lane: number, key, is_worth_a_report }));
            }
        }
        self.ended.map_or(Ok(None), Err)
    }

    /// Writes the reports that are due.
    pub(crate) fn fill(&mut self, into: &mut Vec<u8>) {
        for (number, lane) in self.lanes.iter_mut().enumerate() {
            let receipt = std::mem::take(&mut lane.unreported);
            if receipt != Receipt::default() {
                frame::write_receipt(number, receipt, into);
            }
        }
        if self.is_closed && self.progress == Farewell::Unsaid {
            frame::write_receiver_closed(into);
            self.progress = Farewell::Said;
        }
    }

    /// Marks the filled bytes as written.
    pub(crate) fn written(&mut self) {
        if self.progress == Farewell::Said {
            self.progress = Farewell::Written;
        }
    }

    /// Ends the direction. Only the first reason is stored.
    pub(crate) fn end(&mut self, refusal: Refusal) {
        self.ended.get_or_insert(refusal);
    }

    /// Records that the receiving end is dropped.
    pub(crate) fn close(&mut self) {
        self.is_closed = true;
        for lane in &mut self.lanes {
            while lane.queue.pop().is_some() {}
        }
    }

    /// Whether the last report was passed to the kernel, or the peer can no longer receive it.
    pub(crate) fn is_over(&self) -> bool {
        self.is_closed && (self.ended.is_some() || self.progress == Farewell::Written)
    }

    pub(crate) fn bounds(&self) -> &[Bounds] {
        &self.bounds
    }
}

impl Lane {
    /// Whether a report must be sent now. Reports are collected, but the peer needs a report before its window is used up, and
    /// when all messages have been received.
    fn is_worth_a_report(&self) -> bool {
        let Receipt { delivered, replaced, bytes } = self.unreported;
        self.queue.is_empty()
            || (delivered + replaced) as usize >= WINDOW_ENTRIES / 2
            || bytes as usize >= WINDOW_BYTES / 2
    }
}
