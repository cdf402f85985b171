//! Where a client's task meets the room's thread.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Instant;

use crate::client_handle::Player;
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
    players: Vec<Arc<Player>>,
    /// All that have entered and not left, so that each of them can be told of the end of the room.
    entered: Vec<Weak<Player>>,
    /// Why the room has ended, so that nobody will take players in any more.
    ended: Option<Closing>,
}

impl Lobby {
    /// A client comes in. Once the room has ended it is sent away.
    pub(crate) fn enter(&self, player: Arc<Player>) {
        let mut queue = self.lock();
        if let Some(closing) = &queue.ended {
            player.close(closing.clone());
        } else {
            queue.entered.retain(|player| player.upgrade().is_some_and(|player| !player.has_left()));
            queue.entered.push(Arc::downgrade(&player));
            queue.players.push(player);
        }
    }

    /// Takes in whoever waits.
    pub(crate) fn take_waiting(&self) -> Vec<Arc<Player>> {
        std::mem::take(&mut self.lock().players)
    }

    /// Says that the room has ended; whoever entered it, or comes from now on, is sent away with this reason. It ends once:
    /// the first reason is the one that holds.
    pub(crate) fn end(&self, closing: &Closing) {
        let mut queue = self.lock();
        queue.ended.get_or_insert_with(|| closing.clone());
        queue.players.clear();
        let entered = std::mem::take(&mut queue.entered);
        drop(queue);
        for player in entered.iter().filter_map(Weak::upgrade) {
            player.close(closing.clone());
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
    use crate::client_handle::{ClientProtocol, Plain};
    use crate::names::Name;
    use crate::plain::Encoding;
    use crate::room_refusal::RoomRefusal;
    use crate::send_queue::Outgoing;

    #[test]
    fn whoever_comes_after_the_end_is_told_its_first_reason() {
        let lobby = Lobby::default();
        lobby.end(&Closing::Refused(RoomRefusal::NotLoaded("yard".into())));
        lobby.end(&Closing::RoomGone);
        let way = ClientProtocol::Plain(Plain::new(Encoding::Json));
        let late = Arc::new(Player::new(Name::Asked("Ada".into()), way, 60, false, false));
        lobby.enter(Arc::clone(&late));
        let told = late.plain().and_then(|plain| plain.queue.take());
        assert!(matches!(told, Some(Outgoing::Close(Closing::Refused(RoomRefusal::NotLoaded(_))))));
    }
}
