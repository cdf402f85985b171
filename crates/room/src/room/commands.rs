//! The intake of players' commands in each step.

use std::sync::Arc;
use std::time::Instant;

use nowcast_world::text::sanitize;
use nowcast_world::{CHAT_CHARS_MAX, PlayerId};

use super::chat::WORLD_IS_BUSY;
use super::{Member, Room};
use crate::client_handle::ClientHandle;
use crate::editor_command::{as_said, is_command};
use crate::player_command::PlayerCommand;

impl Room {
    /// Applies the commands of all players to the world.
    pub(super) fn take_commands(&mut self, now: Instant) {
        for index in 0..self.members.seated.len() {
            let Member { client, id, .. } = &self.members.seated[index];
            let (client, id) = (Arc::clone(client), *id);
            for command in client.take_commands() {
                self.was_used |= command.has_effect();
                self.take_command(index, (&client, id), command, now);
            }
            self.take_turn(index, &client, id);
        }
    }

    fn take_command(
        &mut self,
        index: usize,
        (client, id): (&Arc<ClientHandle>, PlayerId),
        command: PlayerCommand,
        now: Instant,
    ) {
        let command = match command {
            PlayerCommand::Say { text } => return self.say(client, id, &text, now),
            PlayerCommand::Rename { name } => {
                let Self { context, world, members, chat, .. } = self;
                // Lines that the player sent before this command are sent under the earlier name.
                members.refuse_lines(chat.flush(context, world, now));
                return members.rename(context, world, client, id, name);
            }
            PlayerCommand::Act { action, arguments, number, given } => {
                self.set_view_age(index, given, now);
                if let (Some(key), Some(number)) = (client.key, number) {
                    return self.act_once(id, key, number, action, arguments);
                }
                PlayerCommand::Act { action, arguments, number, given }
            }
            PlayerCommand::Input { input, number } => {
                let member = &mut self.members.seated[index];
                member.input = input;
                // If a client counts steps, `input_number` is set with each step instead.
                if !client.counts_steps() {
                    member.input_number = number;
                }
                command
            }
            command => command,
        };
        let subject = command.subject();
        if !self.context.apply(&mut self.world, command.into_world(id)) {
            client.refuse_command(&subject, WORLD_IS_BUSY);
        }
    }

    /// Runs a line that is a command for the server. Queues every other line of chat.
    fn say(&mut self, client: &Arc<ClientHandle>, id: PlayerId, text: &str, now: Instant) {
        let text = sanitize(text, CHAT_CHARS_MAX);
        if is_command(&text) {
            self.run_editor_command(client, &text);
        } else if !text.is_empty() {
            self.chat.offer(id, as_said(&text).to_owned(), now);
        }
    }
}
