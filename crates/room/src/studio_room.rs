//! The studio of one open room, for hosts.

use std::sync::Arc;

use serde_json::{Value as Json, json};
use tokio::sync::oneshot;

use crate::lobby::Lobby;
use crate::studio::{StudioAnswer, StudioError, StudioRequest};

/// A handle to the studio of one open room.
#[derive(Clone)]
pub struct StudioRoom {
    pub(crate) lobby: Arc<Lobby>,
}

impl StudioRoom {
    /// Asks the room. The receiver gets the answer after one of the next steps, or nothing if the room ends first.
    ///
    /// # Errors
    /// [`StudioError::Busy`] if too many requests wait.
    pub fn ask(&self, request: StudioRequest) -> Result<oneshot::Receiver<StudioAnswer>, StudioError> {
        let studio = &self.lobby.studio;
        if matches!(request, StudioRequest::Profile { .. }) {
            studio.profile.lock().note_read();
        }
        studio.ask(request)
    }

    /// Returns the lines of the room's log after the line with this number.
    pub fn log(&self, after: u64) -> Json {
        let mut log = self.lobby.studio.log();
        log.note_read();
        let (lines, dropped) = log.after(after);
        json!({ "lines": lines, "next": log.newest(), "dropped": dropped })
    }
}
