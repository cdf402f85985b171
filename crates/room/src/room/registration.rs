//! A room's entry in the list of rooms.

use std::sync::Arc;
use std::thread;

use super::step_watch::{self, StepWatch, WatchOutcome};
use crate::closing::Closing;
use crate::lobby::Lobby;
use crate::rooms::Rooms;

/// A room's entry in the list of rooms. Dropping it removes the room from the list and closes the connections of its
/// clients, even when the room's thread panicked before the world existed.
pub(super) struct RoomRegistration {
    pub(super) name: String,
    pub(super) lobby: Arc<Lobby>,
    pub(super) rooms: Arc<Rooms>,
    pub(super) watch: Arc<StepWatch>,
    /// Whether the room has completed a tick.
    pub(super) has_ticked: bool,
}

impl RoomRegistration {
    /// Records that the room completed a tick.
    pub(super) fn ticked(&mut self) {
        if !self.has_ticked {
            self.has_ticked = true;
            self.rooms.troubles.opened();
        }
    }
}

impl Drop for RoomRegistration {
    fn drop(&mut self) {
        let is_panic = thread::panicking();
        match self.watch.outcome() {
            WatchOutcome::InTime => {}
            WatchOutcome::Abandoned => {
                // The room's name is already free, and another room may have taken it.
                self.rooms.abandoned_room_ended();
                return self.lobby.end(&step_watch::closing(&self.name, &self.rooms));
            }
            WatchOutcome::Stopped => {
                self.rooms.troubles.room_stopped(&self.name);
                self.lobby.end(&step_watch::closing(&self.name, &self.rooms));
                self.rooms.forget(&self.name, &self.lobby);
                return self.rooms.metrics.end_room("stopped");
            }
        }
        if is_panic && !self.has_ticked {
            self.rooms.troubles.failed("the thread of the last one panicked");
        }
        self.lobby.end(&if self.rooms.is_stopping() { Closing::ShuttingDown } else { Closing::RoomGone });
        self.rooms.forget(&self.name, &self.lobby);
        self.rooms.metrics.end_room(match (is_panic, self.rooms.is_stopping()) {
            (true, _) => "panicked",
            (false, true) => "shutdown",
            (false, false) => "deserted",
        });
    }
}
