//! Where a client's task meets the room's thread.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use crate::closing::Closing;
use crate::player::Player;

/// Where a client's task meets the room's thread.
#[derive(Default)]
pub(crate) struct Lobby {
    waiting: Mutex<Queue>,
}

#[derive(Default)]
struct Queue {
    players: Vec<Arc<Player>>,
    /// All that have entered and not left, so that each of them can be told of the end of the room.
    entered: Vec<Weak<Player>>,
    /// Set when the room has ended and nobody will take players in any more.
    ended: bool,
}

impl Lobby {
    /// A client comes in. Once the room has ended it is sent away.
    pub(crate) fn enter(&self, player: Arc<Player>) {
        let mut queue = self.lock();
        if queue.ended {
            player.close(Closing::RoomGone);
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

    /// Says that the room has ended; whoever entered it, or comes from now on, is sent away with this reason.
    pub(crate) fn end(&self, closing: &Closing) {
        let mut queue = self.lock();
        queue.ended = true;
        queue.players.clear();
        let entered = std::mem::take(&mut queue.entered);
        drop(queue);
        for player in entered.iter().filter_map(Weak::upgrade) {
            player.close(closing.clone());
        }
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        // The clients that wait are told of the end of a room even when the room panicked while it held this lock.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
