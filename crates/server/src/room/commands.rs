//! What players want of the world, and what they say.

use std::sync::Arc;
use std::time::Instant;

use nowcast_world::text::sanitize;
use nowcast_world::{ApplyError, CHAT_CHARS_MAX, Command as WorldCommand, PlayerId};

use super::{Room, SeatedPlayer};
use crate::chat::Line;
use crate::client_handle::Command;
use crate::editor_command::{as_said, is_command};

/// The reason for a line that is left out because the room passes on no more.
const ROOM_IS_LOUD: &str = "too much is said in this room at once: say it again in a moment";

/// The reason for an action or a line for which the world has no room in this step.
const WORLD_IS_BUSY: &str =
    "the world has too much to do in this step: it had no effect, try again in a moment";

impl Room {
    /// Hands the world what its players want of it.
    pub(super) fn take_commands(&mut self, now: Instant) {
        for index in 0..self.players.len() {
            let SeatedPlayer { player, id, .. } = &self.players[index];
            let (player, id) = (Arc::clone(player), *id);
            for command in player.take_commands() {
                self.was_used |= command.is_felt();
                match command {
                    Command::Input { input, number } => {
                        let seated = &mut self.players[index];
                        seated.input = input;
                        // The controls of a client that counts steps are told apart by these alone.
                        if !player.counts_steps() {
                            seated.controls = number;
                        }
                        self.apply(WorldCommand::Input { player: id, input });
                    }
                    Command::Act { action, arguments, number, given } => {
                        self.see(index, given, now);
                        match (player.key, number) {
                            (Some(key), Some(number)) => self.act_once(id, key, number, action, arguments),
                            _ => {
                                let name = action.clone();
                                if !self.apply(WorldCommand::Action { player: id, name, arguments }) {
                                    player.refuse(&action, WORLD_IS_BUSY, None);
                                }
                            }
                        }
                    }
                    Command::Move { entity, pose, velocity } => {
                        self.apply(WorldCommand::Move { player: id, entity, pose, velocity });
                    }
                    Command::Owner(command) => {
                        let (request, entity, number) = command.request();
                        if !self.apply(command.of(id)) {
                            player.deny(request, entity, number, WORLD_IS_BUSY);
                        }
                    }
                    Command::Say { text } => {
                        let text = sanitize(&text, CHAT_CHARS_MAX);
                        if is_command(&text) {
                            self.obey(&player, &text);
                        } else if !text.is_empty() {
                            let text = as_said(&text).to_owned();
                            self.unsaid.extend(self.chat.offer(Line { speaker: id, text }, now));
                        }
                    }
                    Command::Rename { name } => {
                        // What was said before is said under the name of then.
                        self.flush_chat(now);
                        self.rename(&player, id, name);
                    }
                }
            }
            self.take_turn(index, &player, id);
        }
    }

    /// Applies a command to the world. Returns false for a command that the world has no room for, or that is invalid; it is counted.
    pub(super) fn apply(&mut self, command: WorldCommand) -> bool {
        match self.world.apply(command) {
            Ok(()) => true,
            Err(ApplyError::Full { .. }) => {
                self.rooms.metrics.drop_message("world_backlog");
                false
            }
            Err(ApplyError::Input(_) | ApplyError::Pose) => {
                self.rooms.metrics.drop_message("invalid_input");
                false
            }
        }
    }

    /// Applies the lines of chat whose turn it is, and tells the speakers of lines that are left out.
    pub(super) fn flush_chat(&mut self, now: Instant) {
        while let Some(Line { speaker, text }) = self.chat.next(now) {
            let said = text.clone();
            if !self.apply(WorldCommand::Message { player: speaker, text }) {
                self.refuse_line(speaker, &said, WORLD_IS_BUSY);
            }
        }
        for Line { speaker, text } in std::mem::take(&mut self.unsaid) {
            self.rooms.metrics.drop_message("chat_budget");
            self.refuse_line(speaker, &text, ROOM_IS_LOUD);
        }
    }

    fn refuse_line(&self, speaker: PlayerId, text: &str, reason: &str) {
        if let Some(seated) = self.players.iter().find(|seated| seated.id == speaker) {
            seated.player.refuse_line(text, reason);
        }
    }
}
