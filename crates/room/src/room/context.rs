//! The name of a room, and the parts of the server that the room uses.

use std::sync::Arc;

use nowcast_world::ApplyError;
use nowcast_world_protocol::room_of;

use crate::lobby::Lobby;
use crate::room_metrics::RoomMetrics;
use crate::rooms::Rooms;
use crate::worlds::Offered;

/// The name of a room, and the parts of the server that the room uses. They never change while the room is open.
pub(super) struct RoomContext {
    pub(super) name: String,
    pub(super) lobby: Arc<Lobby>,
    pub(super) rooms: Arc<Rooms>,
    /// The room's own metrics.
    pub(super) metrics: Arc<RoomMetrics>,
    /// The world that the room shows, and the source of its new rules.
    pub(super) offered: Arc<Offered>,
}

impl RoomContext {
    /// Counts a command that the world did not take: an invalid command, or one that exceeds a limit of the world.
    /// Returns whether the world took it.
    pub(super) fn count(&self, applied: Result<(), ApplyError>) -> bool {
        let reason = match applied {
            Ok(()) => return true,
            Err(ApplyError::Full { .. }) => "world_backlog",
            Err(ApplyError::Input(_) | ApplyError::Pose) => "invalid_input",
        };
        self.rooms.metrics.drop_message(reason);
        false
    }

    /// Returns the notice for newcomers if no world has the room's name.
    pub(super) fn world_notice(&self) -> Option<String> {
        let asked = room_of(&self.name);
        (!self.rooms.catalogue.names(asked)).then(|| {
            let world = &self.offered.name;
            format!("No world is called {asked}: this room shows {world}. /api/worlds lists the worlds of this server.")
        })
    }
}
