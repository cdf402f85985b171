//! Commands by programs outside the room: actions for players, texts to all clients, and the wait for the store.

use nowcast_world::text::sanitize;
use nowcast_world::{CHAT_CHARS_MAX, Command as WorldCommand, PlayerId};
use serde_json::{Value as Json, json};
use tokio::sync::oneshot;

use super::chat::WORLD_IS_BUSY;
use super::{Member, Room};
use crate::studio::{StudioAnswer, StudioError, map_of};

impl Room {
    /// Runs a declared action as a player of the room, in the next step.
    pub(super) fn act_for_host(&mut self, player: u32, action: String, arguments: Json) -> StudioAnswer {
        let arguments = map_of(arguments).map_err(StudioError::Invalid)?;
        let scene = self.world.world().scene();
        let player = PlayerId(player);
        if scene.player(player).is_none() {
            return Err(StudioError::NotFound(format!("player {} is not in the room", player.0)));
        }
        let judged = scene.definition().judge(&action, &arguments);
        judged.map_err(|refusal| StudioError::Refused(refusal.to_string()))?;
        self.was_used = true;
        let command = WorldCommand::Action { player, name: action, arguments };
        if !self.context.count(self.world.apply(command)) {
            return Err(StudioError::Busy(WORLD_IS_BUSY.into()));
        }
        Ok(json!({ "tick": self.world.world().tick() }))
    }

    /// Sends a text of the server to all clients. The world does not change.
    pub(super) fn say_to_all(&mut self, text: &str) -> StudioAnswer {
        let text = sanitize(text, CHAT_CHARS_MAX);
        if text.is_empty() {
            return Err(StudioError::Invalid("the text has no visible character".into()));
        }
        for Member { client, .. } in &self.members.seated {
            client.notice(&text);
        }
        Ok(json!({ "tick": self.world.world().tick(), "clients": self.members.seated.len() }))
    }

    /// Answers when the store has all changes so far.
    pub(super) fn answer_when_kept(&mut self, answer: oneshot::Sender<StudioAnswer>) {
        // The caller may have stopped waiting.
        self.world.when_kept(Box::new(move |outcome| drop(answer.send(Ok(outcome.is_ok().into())))));
        if self.members.is_empty() {
            // No step follows while the room is empty.
            self.world.record(self.was_used);
        }
    }
}
