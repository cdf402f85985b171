//! Names of players.

use nowcast_world::text::sanitize;
use nowcast_world::{Command, NAME_CHARS_MAX, PlayerId};

use super::{Room, SeatedPlayer};
use crate::client_handle::Player;
use crate::names::Name;

/// The text for a player whose name is in a token, and who wants another.
const NAME_BOUND: &str = "Your name stands in your token, so it stays.";

/// The text for a player who wants the name of somebody with a token.
const NAME_TAKEN: &str =
    "Somebody here shows a token with that name, or one that looks like it: choose another.";

impl Room {
    /// Returns the name of a newcomer, and a notice about it.
    pub(super) fn name_of(&self, player: &Player) -> (String, Option<&'static str>) {
        match &player.name {
            Name::Verified(name) => (self.names.disambiguate(name), None),
            Name::Asked(name) if self.names.are_free(name) => (name.clone(), None),
            // It becomes a guest with a number.
            Name::Asked(_) => (String::new(), Some(NAME_TAKEN)),
        }
    }

    /// A newcomer's token names it: from now on nobody else is called so, not even those who were here before.
    pub(super) fn bind_name(&mut self, player: &Player, id: PlayerId, name: &str) {
        if !matches!(&player.name, Name::Verified(asked) if !sanitize(asked, NAME_CHARS_MAX).is_empty()) {
            return;
        }
        self.names.bind(id, name);
        let Self { players, names, replicated, world, .. } = self;
        for SeatedPlayer { player, id, .. } in players {
            let is_free = replicated.player(*id).is_none_or(|replicated| names.are_free(&replicated.name));
            if !names.is_bound(*id) && !is_free {
                player.notice(NAME_TAKEN);
                // A name is dropped only where very many commands wait, and then it is changed with the next rename.
                let _ = world.apply(Command::Rename { player: *id, name: String::new() });
            }
        }
    }

    /// Gives a player another name, if it may have that.
    pub(super) fn rename(&mut self, player: &Player, id: PlayerId, name: String) {
        let (reason, notice) = if self.names.is_bound(id) {
            ("name_bound", NAME_BOUND)
        } else if !self.names.are_free(&name) {
            ("name_taken", NAME_TAKEN)
        } else {
            self.apply(Command::Rename { player: id, name });
            return;
        };
        self.rooms.metrics.drop_message(reason);
        player.notice(notice);
    }
}
