//! Where a client's task meets the room's thread.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Instant;

use crate::client_handle::ClientHandle;
use crate::closing::Closing;

/// Where a client's task meets the room's thread.
#[derive(Default)]
pub(crate) struct Lobby {
    waiting: Mutex<Queue>,
    /// Since when nobody is in the room and no seat is held in it, if that is so.
    empty_since: Mutex<Option<Instant>>,
    /// Whether the room is to end at once if it is still empty.
    gives_way: AtomicBool,
}

#[derive(Default)]
struct Queue {
    clients: Vec<Arc<ClientHandle>>,
    /// All that have entered and not left, so that each of them can be told of the end of the room.
    entered: Vec<Weak<ClientHandle>>,
    /// Why the room has ended, so that nobody will take clients in any more.
    ended: Option<Closing>,
}

impl Lobby {
    /// A client comes in. Once the room has ended it is sent away.
    pub(crate) fn enter(&self, client: Arc<ClientHandle>) {
        let mut queue = self.lock();
        if let Some(closing) = &queue.ended {
            client.close(closing.clone());
        } else {
            queue.entered.retain(|client| client.upgrade().is_some_and(|client| !client.has_left()));
            queue.entered.push(Arc::downgrade(&client));
            queue.clients.push(client);
        }
    }

    /// Takes in whoever waits.
    pub(crate) fn take_waiting(&self) -> Vec<Arc<ClientHandle>> {
        std::mem::take(&mut self.lock().clients)
    }

    /// Says that the room has ended; whoever entered it, or comes from now on, is sent away with this reason. It ends once:
    /// the first reason is the one that holds.
    pub(crate) fn end(&self, closing: &Closing) {
        let mut queue = self.lock();
        queue.ended.get_or_insert_with(|| closing.clone());
        queue.clients.clear();
        let entered = std::mem::take(&mut queue.entered);
        drop(queue);
        for client in entered.iter().filter_map(Weak::upgrade) {
            client.close(closing.clone());
        }
    }

    /// Notes whether somebody is in the room, or a seat is held in it.
    pub(crate) fn note_empty(&self, is_empty: bool) {
        let mut since = self.empty_since.lock().unwrap_or_else(PoisonError::into_inner);
        if is_empty {
            since.get_or_insert_with(Instant::now);
        } else {
            *since = None;
            self.gives_way.store(false, Ordering::Relaxed);
        }
    }

    pub(crate) fn empty_since(&self) -> Option<Instant> {
        *self.empty_since.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has the room end at once if it is still empty.
    pub(crate) fn give_way(&self) {
        self.gives_way.store(true, Ordering::Relaxed);
    }

    pub(crate) fn gives_way(&self) -> bool {
        self.gives_way.load(Ordering::Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        // The clients that wait are told of the end of a room even when the room panicked while it held this lock.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Metrics;
    use crate::names::Name;
    use crate::plain::Encoding;
    use crate::plain_sink::PlainSink;
    use crate::room_refusal::RoomRefusal;
    use crate::send_queue::Outgoing;

    #[test]
    fn a_client_that_comes_after_the_end_is_closed_with_the_first_reason() {
        let lobby = Lobby::default();
        lobby.end(&Closing::Refused(RoomRefusal::NotLoaded("yard".into())));
        lobby.end(&Closing::RoomGone);
        let sink = Arc::new(PlainSink::new(Encoding::Json, Arc::new(Metrics::new(None))));
        let late =
            ClientHandle::new(Name::Asked("Ada".into()), Arc::<PlainSink>::clone(&sink), 60, false, false);
        lobby.enter(Arc::new(late));
        let sent = sink.queue.take();
        assert!(matches!(sent, Some(Outgoing::Close(Closing::Refused(RoomRefusal::NotLoaded(_))))));
    }
}
