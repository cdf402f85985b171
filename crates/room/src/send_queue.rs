//! The messages that wait for one client: events in a bounded queue, and only the newest snapshot.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::closing::Closing;
use crate::config::{CHAT_BYTES_MAX, EVENT_COST_MAX, EVENT_OVERHEAD_BYTES, EVENTS_BYTES_MAX};
use crate::shared_frame::SharedFrame;
use crate::snapshot::Snapshot;

/// The messages that wait for one client.
///
/// Each event is sent once, in order. A snapshot is state: a newer snapshot replaces a waiting one. One rule, the barrier,
/// orders events and snapshots: an event queued before a snapshot is sent before it. Therefore no `move` names an entity
/// that the client has not received yet.
#[derive(Default)]
pub struct SendQueue {
    waiting: Mutex<Waiting>,
    changed: Notify,
}

#[derive(Default)]
struct Waiting {
    greeting: Option<Box<Greeting>>,
    events: VecDeque<SharedFrame>,
    event_bytes: usize,
    snapshot: Option<Arc<Snapshot>>,
    /// The number of `events` that must be sent before `snapshot`.
    events_before: usize,
    /// The number of chat lines that were dropped after the last of `events` and are not reported to the client yet.
    missed: u64,
    closing: Option<Closing>,
}

/// The first messages for a client, and the snapshot that they describe.
pub struct Greeting {
    /// The messages that describe the world.
    pub messages: Vec<SharedFrame>,
    /// The state that the messages describe.
    pub baseline: Arc<Snapshot>,
}

/// The next message to send.
pub enum Outgoing {
    /// The first messages for the client.
    Greeting(Box<Greeting>),
    /// An event, encoded.
    Event(SharedFrame),
    /// The number of chat lines that were dropped at this place.
    Missed(u64),
    /// The newest snapshot, to be encoded relative to the client's baseline snapshot.
    Snapshot(Arc<Snapshot>),
    /// The end of the connection, with its reason.
    Close(Closing),
}

impl SendQueue {
    /// Queues an event. If the client has too many unread events, the connection is closed.
    pub(crate) fn push_event(&self, message: SharedFrame) {
        let mut waiting = self.waiting.lock();
        if waiting.event_bytes + cost(&message) > EVENTS_BYTES_MAX {
            waiting.close(Closing::TooSlow);
        } else {
            waiting.push(message);
        }
        drop(waiting);
        self.changed.notify_one();
    }

    /// Queues a line of chat, or drops it if too many wait. The client receives the number of missed lines after it has read
    /// the earlier lines. Returns the number of dropped lines.
    pub(crate) fn push_line(&self, message: SharedFrame) -> u64 {
        let mut waiting = self.waiting.lock();
        let is_missed = waiting.missed > 0 || waiting.event_bytes + cost(&message) > CHAT_BYTES_MAX;
        if waiting.closing.is_some() {
            return 0;
        }
        if is_missed {
            waiting.missed += 1;
        } else {
            waiting.push(message);
        }
        drop(waiting);
        self.changed.notify_one();
        is_missed.into()
    }

    /// Queues the first messages. They do not count toward the client's limits, because the client is not responsible for
    /// the size of the world.
    pub(crate) fn greet(&self, greeting: Greeting) {
        self.waiting.lock().greeting = Some(Box::new(greeting));
        self.changed.notify_one();
    }

    /// Queues a snapshot. Returns whether it replaced a waiting snapshot.
    pub(crate) fn put_snapshot(&self, snapshot: Arc<Snapshot>) -> bool {
        let mut waiting = self.waiting.lock();
        waiting.events_before = waiting.events.len();
        let superseded = waiting.snapshot.replace(snapshot).is_some();
        drop(waiting);
        self.changed.notify_one();
        superseded
    }

    /// Whether a snapshot waits.
    pub(crate) fn has_snapshot(&self) -> bool {
        self.waiting.lock().snapshot.is_some()
    }

    /// Returns the number of waiting messages, and their cost in bytes.
    pub(crate) fn load(&self) -> (usize, usize) {
        let waiting = self.waiting.lock();
        (waiting.events.len() + usize::from(waiting.snapshot.is_some()), waiting.event_bytes)
    }

    /// Ends the queue. The next message to send is then the reason.
    pub(crate) fn close(&self, closing: Closing) {
        self.waiting.lock().close(closing);
        self.changed.notify_one();
    }

    /// Waits for the next message to send. There is only one reader.
    pub async fn next(&self) -> Outgoing {
        loop {
            if let Some(outgoing) = self.take() {
                return outgoing;
            }
            self.changed.notified().await;
        }
    }

    /// Returns the next message to send, if there is one now.
    pub fn take(&self) -> Option<Outgoing> {
        let mut waiting = self.waiting.lock();
        if let Some(closing) = &waiting.closing {
            return Some(Outgoing::Close(closing.clone()));
        }
        if let Some(greeting) = waiting.greeting.take() {
            return Some(Outgoing::Greeting(greeting));
        }
        if waiting.events_before == 0
            && let Some(snapshot) = waiting.snapshot.take()
        {
            return Some(Outgoing::Snapshot(snapshot));
        }
        let Some(event) = waiting.events.pop_front() else {
            let missed = std::mem::take(&mut waiting.missed);
            return (missed > 0).then_some(Outgoing::Missed(missed));
        };
        waiting.event_bytes -= cost(&event);
        waiting.events_before = waiting.events_before.saturating_sub(1);
        Some(Outgoing::Event(event))
    }
}

impl Waiting {
    fn push(&mut self, message: SharedFrame) {
        if self.closing.is_none() {
            self.event_bytes += cost(&message);
            self.events.push_back(message);
        }
    }

    /// Later calls do not replace the first reason.
    fn close(&mut self, closing: Closing) {
        self.closing.get_or_insert(closing);
        self.events = VecDeque::new();
        self.event_bytes = 0;
        self.snapshot = None;
        self.greeting = None;
        self.missed = 0;
    }
}

/// Returns the charge for a waiting event, in bytes. Only a part of a large definition is charged. All clients share the
/// definition, and a client is not responsible for its size.
fn cost(message: &SharedFrame) -> usize {
    message.len().min(EVENT_COST_MAX) + EVENT_OVERHEAD_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;
    use nowcast_world::{Definition, World};

    fn snapshot() -> Arc<Snapshot> {
        let nothing = World::new(Definition::default(), 1, Box::new(())).expect("nothing is wrong with it");
        Arc::new(Snapshot::new(0, &nothing, None))
    }

    /// Returns the output in a form that tests can compare: events by their text, snapshots by their index.
    fn drain(queue: &SendQueue, snapshots: &[&Arc<Snapshot>]) -> Vec<String> {
        std::iter::from_fn(|| match queue.take()? {
            Outgoing::Event(message) => Some(message.text().to_owned()),
            Outgoing::Snapshot(taken) => {
                let which = snapshots.iter().position(|snapshot| Arc::ptr_eq(snapshot, &taken));
                Some(format!("snapshot {}", which.expect("the snapshot was queued")))
            }
            Outgoing::Greeting(_) => Some("greeting".into()),
            Outgoing::Missed(lines) => Some(format!("{lines} missed")),
            Outgoing::Close(closing) => panic!("{closing:?}"),
        })
        .collect()
    }

    #[test]
    fn a_newer_snapshot_replaces_the_waiting_one_and_stays_behind_earlier_events() {
        let queue = SendQueue::default();
        let [old, new] = [snapshot(), snapshot()];
        queue.push_event("spawn 1".into());
        assert!(!queue.put_snapshot(Arc::clone(&old)));
        queue.push_event("spawn 2".into());
        assert!(queue.put_snapshot(Arc::clone(&new)), "an earlier snapshot was replaced");
        queue.push_event("despawn 1".into());
        assert_eq!(drain(&queue, &[&old, &new]), ["spawn 1", "spawn 2", "snapshot 1", "despawn 1"]);
    }

    #[test]
    fn the_greeting_comes_first() {
        let queue = SendQueue::default();
        queue.push_event("pong".into());
        queue.greet(Greeting { messages: Vec::new(), baseline: snapshot() });
        assert_eq!(drain(&queue, &[]), ["greeting", "pong"]);
    }

    #[test]
    fn lines_that_do_not_fit_are_counted_and_the_client_stays() {
        let queue = SendQueue::default();
        let line = "x".repeat(1_000);
        let fit = CHAT_BYTES_MAX / (line.len() + EVENT_OVERHEAD_BYTES);
        let missed: u64 = (0..fit + 7).map(|_| queue.push_line(line.as_str().into())).sum();
        assert_eq!(missed, 7);
        queue.push_event("spawn".into());
        assert!(matches!(queue.take(), Some(Outgoing::Event(_))));
        assert_eq!(queue.push_line("after a gap that was not reported yet".into()), 1);
        let rest = drain(&queue, &[]);
        assert_eq!(rest.len(), fit + 1);
        assert_eq!(rest[fit - 1..], ["spawn", "8 missed"]);
        assert_eq!(queue.push_line("now".into()), 0);
        assert_eq!(drain(&queue, &[]), ["now"]);
    }

    #[test]
    fn unread_messages_take_no_more_memory_than_charged() {
        for length in [1, 24, 60, 80, 100, 300, 330, 800, 1_000] {
            let text = "x".repeat(length);
            let used = allocation_counter::measure(|| {
                let queue = SendQueue::default();
                while queue.waiting.lock().closing.is_none() {
                    queue.push_event(text.as_str().into());
                }
            });
            println!("events of {length} bytes: {} bytes at most", used.bytes_max);
            assert!(used.bytes_max <= EVENTS_BYTES_MAX as u64, "{length}: {}", used.bytes_max);
        }
    }

    #[test]
    fn a_large_definition_closes_no_client_that_reads() {
        let queue = SendQueue::default();
        let world = "x".repeat(2 * EVENTS_BYTES_MAX);
        queue.push_event("define".into());
        queue.push_event(world.as_str().into());
        assert_eq!(drain(&queue, &[]), ["define", world.as_str()]);
        (0..4).for_each(|_| queue.push_event(world.as_str().into()));
        assert!(matches!(queue.take(), Some(Outgoing::Close(Closing::TooSlow))), "four unread are too many");
    }

    #[test]
    fn too_many_unread_events_close_the_client_and_free_their_memory() {
        let queue = SendQueue::default();
        let line = "x".repeat(1_000);
        for _ in 0..EVENTS_BYTES_MAX / (line.len() + EVENT_OVERHEAD_BYTES) {
            queue.push_event(line.as_str().into());
        }
        assert!(matches!(queue.take(), Some(Outgoing::Event(_))), "all events fit");
        for _ in 0..2 {
            queue.push_event(line.as_str().into());
        }
        assert!(matches!(queue.take(), Some(Outgoing::Close(Closing::TooSlow))));
        assert_eq!(queue.waiting.lock().events.capacity(), 0);
        queue.close(Closing::ShuttingDown);
        assert!(
            matches!(queue.take(), Some(Outgoing::Close(Closing::TooSlow))),
            "later reasons do not replace the first"
        );
    }
}
