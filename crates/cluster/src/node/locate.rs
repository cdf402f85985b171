//! The server to which a client of a room goes.

use std::sync::Arc;

use super::{Action, Answer, Input, Node, Outcome, Task};
use crate::entry::RoomEntry;
use crate::name::Name;
use crate::time::Time;

/// A search for the server of a room.
#[derive(Debug)]
pub(super) struct Locate {
    pub(super) room: Name,
}

impl Node {
    pub(super) fn step_locate(
        &mut self,
        now: Time,
        task: &mut Task,
        locate: &mut Locate,
        input: Input,
    ) -> Option<Outcome> {
        let room = locate.room;
        let origin = match input {
            // Clients of a room that comes here wait here. After a move, the owner knows of its room before the directory does.
            Input::Begin if self.is_expected(now, room) => None,
            Input::Begin if self.owned.contains_key(&room) && self.has_lease(now) => None,
            Input::Begin => {
                task.wake_at = Some(now + self.config.times.locate);
                self.act_for(task, Action::ReadRoom(room));
                return None;
            }
            Input::Answer(Answer::Room(Ok(found))) => {
                self.place(room, found.as_ref().map(|(_, entry)| entry))
            }
            _ => None,
        };
        Some(Outcome::Located(origin))
    }

    /// Returns the origin of a room's owner, or of the server that is chosen for a room without an owner; `None` if that server
    /// is this one, or unknown.
    fn place(&self, room: Name, entry: Option<&RoomEntry>) -> Option<Arc<str>> {
        let me = self.id();
        let living = || {
            let holders = entry.into_iter().flat_map(|entry| entry.holders());
            holders.filter_map(|id| self.leases.living_server(id))
        };
        // If this server stopped the room for a move, the target owns it now.
        let holder = living().find(|holder| holder.id != me).or_else(|| living().next());
        match holder {
            Some(holder) if holder.id == me => None,
            Some(holder) if !holder.client_address.is_empty() => Some(holder.client_address.clone()),
            _ => {
                let chosen = self.choose(room).filter(|chosen| chosen.id.name != self.config.name)?;
                Some(chosen.client_address.clone()).filter(|origin| !origin.is_empty())
            }
        }
    }
}
