//! What players are called.

use nowcast_world::text::sanitize;
use nowcast_world::{EntityId, NAME_CHARS_MAX};

use super::{Room, SeatedPlayer};
use crate::names::Name;
use crate::player::Player;
use crate::playground::{Action, EntityRef};

/// What somebody is told whose name is in a token, and wants another.
const NAME_BOUND: &str = "Your name stands in your token, so it stays.";

/// What somebody is told who wants to be called like somebody with a token.
const NAME_TAKEN: &str =
    "Somebody here shows a token with that name, or one that looks like it: choose another.";

impl Room {
    /// What a newcomer is called, and what it is to be told of that.
    pub(super) fn name_of(&self, player: &Player) -> (String, Option<&'static str>) {
        match &player.name {
            Name::Verified(name) => (self.names.tell_apart(name), None),
            Name::Asked(name) if self.names.are_free(name) => (name.clone(), None),
            // It becomes a guest with a number.
            Name::Asked(_) => (String::new(), Some(NAME_TAKEN)),
        }
    }

    /// A newcomer's token names it: from now on nobody else is called so, not even those who were here before.
    pub(super) fn bind_name(&mut self, player: &Player, avatar: EntityId) {
        let Some(EntityRef { name: Some(name), .. }) = self.world.entity(avatar) else { return };
        if !matches!(&player.name, Name::Verified(asked) if !sanitize(asked, NAME_CHARS_MAX).is_empty()) {
            return;
        }
        self.names.bind(avatar, name);
        for SeatedPlayer { player, avatar } in &self.players {
            let is_free = |name| self.names.are_free(name);
            let name = self.world.entity(*avatar).and_then(|entity| entity.name);
            if !self.names.is_bound(*avatar) && !name.is_none_or(is_free) {
                player.notice(NAME_TAKEN);
                self.world.act(*avatar, Action::Rename { name: String::new() });
            }
        }
    }

    /// Gives an avatar another name, if it may have that.
    pub(super) fn rename(&mut self, player: &Player, avatar: EntityId, name: String) {
        let (reason, notice) = if self.names.is_bound(avatar) {
            ("name_bound", NAME_BOUND)
        } else if !self.names.are_free(&name) {
            ("name_taken", NAME_TAKEN)
        } else {
            return self.world.act(avatar, Action::Rename { name });
        };
        self.rooms.metrics.drop_message(reason);
        player.notice(notice);
    }
}
