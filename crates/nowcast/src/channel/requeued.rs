//! Messages that arrived while the channel waited for a reply. They follow the laws of the queue.

use nowcast_queue::{Bounds, UpdatableQueue};

use super::message::Message;

/// For each lane, the messages that were taken while the channel waited for a reply and are queued again.
#[derive(Default)]
pub(crate) struct RequeuedMessages {
    lanes: Vec<Option<UpdatableQueue<Message>>>,
    /// A message that did not fit into its queue.
    held: Option<Message>,
}

impl RequeuedMessages {
    pub(crate) fn next(&mut self) -> Option<Message> {
        let kept = self.lanes.iter_mut().flatten().find_map(UpdatableQueue::pop);
        kept.map(|(_, message)| message).or_else(|| self.held.take())
    }

    pub(crate) fn keep(&mut self, message: Message) {
        let lane = usize::from(message.lane.number());
        if self.lanes.len() <= lane {
            self.lanes.resize_with(lane + 1, || None);
        }
        let queue = self.lanes[lane].get_or_insert_with(|| UpdatableQueue::new(Bounds::default()));
        if let Err(refused) = queue.put(message.queue_key(), message) {
            self.held = Some(refused.value);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.held.is_none() && self.lanes.iter().flatten().all(UpdatableQueue::is_empty)
    }

    /// Whether no further message can be kept.
    pub(crate) fn is_full(&self) -> bool {
        self.held.is_some()
    }
}
