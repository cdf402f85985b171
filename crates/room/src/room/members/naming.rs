//! Names of players.

use nowcast_world::text::sanitize;
use nowcast_world::{Command, NAME_CHARS_MAX, PlayerId};

use super::{Member, Members};
use crate::client_handle::ClientHandle;
use crate::names::Name;
use crate::recorded_world::RecordedWorld;
use crate::room::context::RoomContext;
use crate::room::replicated_state::ReplicatedState;

/// The text for a player whose token assigns a name, and who asks for another name.
const NAME_BOUND: &str = "Your token contains your name, so it cannot change.";

/// The text for a player who asks for a name that a token assigned to another player.
const NAME_TAKEN: &str =
    "A player here has a token with that name, or with one that looks like it: choose another.";

impl Members {
    /// Returns the name of a newcomer, and a notice about it.
    pub(in crate::room) fn name_of(&self, client: &ClientHandle) -> (String, Option<&'static str>) {
        match &client.name {
            Name::Verified(name) => (self.names.disambiguate(name), None),
            Name::Asked(name) if self.names.are_free(name) => (name.clone(), None),
            // The world gives the player a guest name with a number.
            Name::Asked(_) => (String::new(), Some(NAME_TAKEN)),
        }
    }

    /// Reserves the name in a new client's token. Other members with that name are renamed.
    pub(in crate::room) fn bind_name(
        &mut self,
        world: &mut RecordedWorld,
        replicated: &ReplicatedState,
        client: &ClientHandle,
        id: PlayerId,
        name: &str,
    ) {
        if !matches!(&client.name, Name::Verified(asked) if !sanitize(asked, NAME_CHARS_MAX).is_empty()) {
            return;
        }
        self.names.bind(id, name);
        let Self { seated, names, .. } = self;
        for Member { client, id, .. } in seated {
            let is_free = replicated.player(*id).is_none_or(|known| names.are_free(&known.name));
            if !names.is_bound(*id) && !is_free {
                client.notice(NAME_TAKEN);
                // The world drops this command only if very many commands wait. Then the next rename changes the name.
                let _ = world.apply(Command::Rename { player: *id, name: String::new() });
            }
        }
    }

    /// Renames a player, if it may have the name.
    pub(in crate::room) fn rename(
        &self,
        context: &RoomContext,
        world: &mut RecordedWorld,
        client: &ClientHandle,
        id: PlayerId,
        name: String,
    ) {
        let (reason, notice) = if self.names.is_bound(id) {
            ("name_bound", NAME_BOUND)
        } else if !self.names.are_free(&name) {
            ("name_taken", NAME_TAKEN)
        } else {
            context.count(world.apply(Command::Rename { player: id, name }));
            return;
        };
        context.rooms.metrics.drop_message(reason);
        client.notice(notice);
    }
}
