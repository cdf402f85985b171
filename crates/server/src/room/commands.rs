//! What players want of the world, and what they say.

use std::sync::Arc;
use std::time::Instant;

use nowcast_world::text::sanitize;
use nowcast_world::{ApplyError, CHAT_CHARS_MAX, Command as WorldCommand};

use super::{Room, SeatedPlayer};
use crate::chat::Line;
use crate::editor_command::is_command;
use crate::player::Command;

/// What a speaker is told whose line is left out.
const UNSAID: &str = "Your line was left out: too much is said here at once. Say it again in a moment.";

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
                            _ => self.apply(WorldCommand::Action { player: id, name: action, arguments }),
                        }
                    }
                    Command::Move { entity, pose, velocity } => {
                        self.apply(WorldCommand::Move { player: id, entity, pose, velocity });
                    }
                    Command::Owner(command) => self.apply(command.of(id)),
                    Command::Say { text } => {
                        let text = sanitize(&text, CHAT_CHARS_MAX);
                        if is_command(&text) {
                            self.obey(&player, &text);
                        } else if !text.is_empty() {
                            self.unsaid.extend(self.chat.offer(Line { speaker: id, text }, now));
                        }
                    }
                    Command::Rename { name } => {
                        // What was said before is said under the name of then.
                        self.let_speak(now);
                        self.rename(&player, id, name);
                    }
                }
            }
            self.take_turn(index, &player, id);
        }
    }

    /// Puts a command to the world. What the world has no room for, or no honest client says, is dropped and counted.
    pub(super) fn apply(&mut self, command: WorldCommand) {
        match self.world.apply(command) {
            Ok(()) => {}
            Err(ApplyError::Full { .. }) => self.rooms.metrics.drop_message("world_backlog"),
            Err(ApplyError::Input(_) | ApplyError::Pose) => self.rooms.metrics.drop_message("invalid_input"),
        }
    }

    /// Hands the world the lines whose turn it is, and tells those whose lines will not be said.
    pub(super) fn let_speak(&mut self, now: Instant) {
        while let Some(Line { speaker, text }) = self.chat.next(now) {
            self.apply(WorldCommand::Message { player: speaker, text });
        }
        for Line { speaker, .. } in self.unsaid.drain(..) {
            self.rooms.metrics.drop_message("chat_budget");
            if let Some(seated) = self.players.iter().find(|seated| seated.id == speaker) {
                seated.player.notice(UNSAID);
            }
        }
    }
}
