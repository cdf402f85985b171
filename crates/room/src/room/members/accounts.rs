//! The accounts of players.

use std::collections::BTreeMap;
use std::sync::Arc;

use nowcast_world::{Command, PlayerId, SavedData};
use tracing::warn;

use super::Members;
use crate::closing::Closing;
use crate::recorded_world::RecordedWorld;
use crate::room::chat::RoomChat;
use crate::room::context::RoomContext;

impl Members {
    /// Holds the accounts of players that did not join under the current rules: players of a stored world that the room
    /// continues, and players that joined under rules without saved data. Such a player leaves if another room holds its account,
    /// or if its stored data differs from the data in the world.
    pub(in crate::room) fn hold_accounts(&mut self, context: &RoomContext, world: &mut RecordedWorld) {
        let scene = world.world().scene();
        if !scene.definition().saves {
            return;
        }
        let known: Vec<(PlayerId, String)> =
            scene.players().filter_map(|player| Some((player.id, player.account.clone()?))).collect();
        let known = known.into_iter().filter(|(id, _)| !self.accounts.contains_key(id)).collect::<Vec<_>>();
        for (id, account) in known {
            let held = context.rooms.accounts.try_hold(
                &context.offered.name,
                &account,
                &context.lobby.wanted_accounts,
            );
            let stored = held.as_ref().ok().map(|held| held.load());
            let in_world = world.world().scene().saved(id).map(|data| data.revision);
            match (held, stored) {
                (Ok(held), Some(Ok(stored))) if stored.as_ref().map(|data| data.revision) == in_world => {
                    self.accounts.insert(id, held);
                }
                (_, stored) => {
                    if let Some(Err(error)) = stored {
                        warn!(room = context.name, %error, "the saved data of an account cannot be read");
                    }
                    if let Some(member) = self.find(id) {
                        member.client.close(Closing::Elsewhere);
                        member.client.leave();
                        continue;
                    }
                    self.held.retain(|seat| seat.id != id);
                    // The world always accepts a leave.
                    let _ = world.apply(Command::Leave { player: id });
                }
            }
        }
    }

    /// Returns the changed data of the accounts that the room holds. The data of others is not stored.
    pub(in crate::room) fn held_data(
        &self,
        changed: BTreeMap<String, SavedData>,
    ) -> BTreeMap<String, SavedData> {
        let is_held = |account: &str| self.accounts.values().any(|held| held.account() == account);
        changed.into_iter().filter(|(account, _)| is_held(account)).collect()
    }

    /// Lets the players leave whose accounts join another room.
    pub(in crate::room) fn give_up_accounts(
        &mut self,
        context: &RoomContext,
        world: &mut RecordedWorld,
        chat: &mut RoomChat,
    ) {
        for account in context.lobby.wanted_accounts.take() {
            let is_of = |id: &PlayerId| self.accounts.get(id).is_some_and(|held| held.account() == account);
            for member in self.seated.iter().filter(|member| is_of(&member.id)) {
                let client = Arc::clone(&member.client);
                client.close(Closing::Elsewhere);
                client.leave();
            }
            let over: Vec<PlayerId> = self.held.iter().map(|seat| seat.id).filter(is_of).collect();
            self.held.retain(|seat| !over.contains(&seat.id));
            for id in over {
                self.dismiss(world, chat, id);
            }
        }
    }

    /// Gives up the accounts of players that have left, when the store has accepted their data.
    pub(in crate::room) fn release_accounts(&mut self, world: &RecordedWorld) {
        if world.has_saved_accounts() {
            let scene = world.world().scene();
            self.accounts.retain(|id, _| scene.player(*id).is_some());
        }
    }
}
