//! The lobby of a room. Clients enter it from their tasks, and the room's thread takes them.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Instant;

use parking_lot::Mutex;

use crate::accounts::WantedAccounts;
use crate::client_handle::ClientHandle;
use crate::closing::Closing;
use crate::config::JOINS_PER_STEP_MAX;
use crate::studio::StudioQueue;

/// The lobby of a room. Clients enter it from their tasks, and the room's thread takes them.
#[derive(Default)]
pub(crate) struct Lobby {
    waiting: Mutex<Queue>,
    /// The time since which the room has had no client and no reserved seat; `None` while it has a client or a reserved
    /// seat.
    empty_since: Mutex<Option<Instant>>,
    /// Whether the room is to end at once if it is still empty.
    ends_if_empty: AtomicBool,
    /// Maximum players by the rules of the room; 0 until the room has opened.
    players_max: AtomicUsize,
    /// The accounts that clients take to another room.
    pub(crate) wanted_accounts: Arc<WantedAccounts>,
    /// The requests of the studio, and the records for them.
    pub(crate) studio: StudioQueue,
}

#[derive(Default)]
struct Queue {
    clients: Vec<Arc<ClientHandle>>,
    /// All clients that entered and have not left. The end of the room closes their connections.
    entered: Vec<Weak<ClientHandle>>,
    /// The reason for the end of the room.
    ended: Option<Closing>,
}

impl Lobby {
    /// Adds a client. If the room has ended, the client is closed.
    pub(crate) fn enter(&self, client: Arc<ClientHandle>) {
        let mut queue = self.waiting.lock();
        if let Some(closing) = &queue.ended {
            client.close(closing.clone());
        } else {
            queue.entered.retain(|client| client.upgrade().is_some_and(|client| !client.has_left()));
            queue.entered.push(Arc::downgrade(&client));
            queue.clients.push(client);
        }
    }

    /// Returns the clients that join in this step, in the order in which they entered: all that resume a player, because they run
    /// no hooks, and at most [`JOINS_PER_STEP_MAX`] new ones. The rest waits for the next steps. Clients that have left do not
    /// count.
    pub(crate) fn take_waiting(&self, resumes: impl Fn(&ClientHandle) -> bool) -> Vec<Arc<ClientHandle>> {
        let clients = &mut self.waiting.lock().clients;
        clients.retain(|client| !client.has_left());
        let mut joined = 0;
        let is_taken = |client: &mut Arc<ClientHandle>| {
            resumes(client) || {
                joined += 1;
                joined <= JOINS_PER_STEP_MAX
            }
        };
        clients.extract_if(.., is_taken).collect()
    }

    /// The number of clients that wait until the room takes them.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.lock().clients.iter().filter(|client| !client.has_left()).count()
    }

    /// Ends the lobby. Closes all clients that entered it, and all clients that enter later. Later calls do not replace the
    /// first reason.
    pub(crate) fn end(&self, closing: &Closing) {
        let mut queue = self.waiting.lock();
        queue.ended.get_or_insert_with(|| closing.clone());
        queue.clients.clear();
        let entered = std::mem::take(&mut queue.entered);
        drop(queue);
        for client in entered.iter().filter_map(Weak::upgrade) {
            client.close(closing.clone());
        }
    }

    /// Records the maximum players by the rules of the room.
    pub(crate) fn note_players_max(&self, players_max: usize) {
        self.players_max.store(players_max, Ordering::Relaxed);
    }

    /// Returns the maximum players by the rules of the room. It is unlimited until the room has opened.
    pub(crate) fn players_max(&self) -> usize {
        match self.players_max.load(Ordering::Relaxed) {
            0 => usize::MAX,
            players_max => players_max,
        }
    }

    /// Records whether the room has no clients and no reserved seats.
    pub(crate) fn note_empty(&self, is_empty: bool) {
        let mut since = self.empty_since.lock();
        if is_empty {
            since.get_or_insert_with(Instant::now);
        } else {
            *since = None;
            self.ends_if_empty.store(false, Ordering::Relaxed);
        }
    }

    pub(crate) fn empty_since(&self) -> Option<Instant> {
        *self.empty_since.lock()
    }

    /// Ends the room at once if it is still empty.
    pub(crate) fn end_if_empty(&self) {
        self.ends_if_empty.store(true, Ordering::Relaxed);
    }

    pub(crate) fn ends_if_empty(&self) -> bool {
        self.ends_if_empty.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Metrics;
    use crate::names::Name;
    use crate::plain_sink::PlainSink;
    use crate::refusal::Refusal;
    use crate::send_queue::Outgoing;
    use nowcast_world_protocol::plain::Encoding;

    #[test]
    fn all_clients_that_resume_and_a_limited_number_of_new_clients_join_in_a_step() {
        let lobby = Lobby::default();
        let metrics = Arc::new(Metrics::unregistered());
        let each = 4 * JOINS_PER_STEP_MAX;
        for number in 0..2 * each {
            let sink = Arc::new(PlainSink::new(Encoding::Json, Arc::clone(&metrics)));
            let network_hz = if number % 2 == 0 { 20 } else { 30 };
            let client = ClientHandle::new(Name::Asked("Ada".into()), sink, network_hz, false, false);
            lobby.enter(Arc::new(client));
        }
        let taken = lobby.take_waiting(|client| client.network_hz() == 20);
        let resumed = taken.iter().filter(|client| client.network_hz() == 20).count();
        assert_eq!((resumed, taken.len() - resumed), (each, JOINS_PER_STEP_MAX));
        assert_eq!(lobby.waiting(), 2 * each - taken.len());
    }

    #[test]
    fn a_client_that_enters_after_the_end_is_closed_with_the_first_reason() {
        let lobby = Lobby::default();
        lobby.end(&Closing::Refused(Refusal::NotLoaded("yard".into())));
        lobby.end(&Closing::RoomGone);
        let sink = Arc::new(PlainSink::new(Encoding::Json, Arc::new(Metrics::unregistered())));
        let late =
            ClientHandle::new(Name::Asked("Ada".into()), Arc::<PlainSink>::clone(&sink), 60, false, false);
        lobby.enter(Arc::new(late));
        let sent = sink.queue.take();
        assert!(matches!(sent, Some(Outgoing::Close(Closing::Refused(Refusal::NotLoaded(_))))));
    }
}
