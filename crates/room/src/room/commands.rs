//! The intake of players' commands and walkers' input in each step.

use std::sync::Arc;
use std::time::Instant;

use nowcast_script::BACK_END;
use nowcast_world::text::sanitize;
use nowcast_world::{CHAT_CHARS_MAX, Command as WorldCommand, PlayerId, Value};

use super::chat::WORLD_IS_BUSY;
use super::{Member, Room};
use crate::client_handle::ClientHandle;
use crate::editor_command::{is_command, is_for_all};
use crate::player_command::{Numbered, PlayerCommand};
use crate::session::input_buffer::DueStep;

/// The answer to an action that the rules reserve for programs outside the room.
const OF_BACK_END: &str = "only the server's back end may run this action: it was not carried out";

impl Room {
    /// Applies the commands of all players to the world.
    pub(super) fn take_commands(&mut self, now: Instant) {
        for index in 0..self.members.seated.len() {
            for command in self.members.seated[index].take_commands(&self.context) {
                let Member { client, id, .. } = &self.members.seated[index];
                let (client, id) = (Arc::clone(client), *id);
                self.was_used |= command.has_effect();
                self.take_command(index, (&client, id), command, now);
            }
            self.take_turn(index);
        }
    }

    /// Steps the walker of a client that counts its steps. The client's earlier commands must be applied first, so that an
    /// action takes place where the walker was on the client.
    fn take_turn(&mut self, index: usize) {
        let Self { context, world, members, was_used, .. } = self;
        let member = &mut members.seated[index];
        let id = member.id;
        let turn = member.commands.input.take(|| world.world().scene().may_stride(id));
        let Some(turn) = turn else { return };
        let metrics = &context.rooms.metrics;
        let (number, input) = match turn {
            DueStep::Steps { number, input, first } => {
                if let Some(first) = first {
                    metrics.count_turn("caught_up");
                    context.count(world.apply(WorldCommand::CatchUpStep { player: id, first }));
                }
                (number, input)
            }
            DueStep::Waits { number } => {
                metrics.count_turn("stalled");
                context.count(world.apply(WorldCommand::StallStep { player: id }));
                (number, None)
            }
            DueStep::GivesUp { number, input } => {
                metrics.count_turn("given_up");
                (number, input)
            }
        };
        member.input_number = number;
        if let Some(input) = input {
            member.input = input;
            *was_used |= PlayerCommand::Input { input, number: 0 }.has_effect();
            context.count(world.apply(WorldCommand::Input { player: id, input }));
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
            PlayerCommand::Act { action, number, .. } if self.is_of_back_end(&action) => {
                self.context.rooms.metrics.drop_message("action_refused");
                return client.refuse(&action, OF_BACK_END, number.map(|numbered| numbered.number));
            }
            PlayerCommand::Act { action, arguments, number, .. }
                if self.arrive(client, id, &action, &arguments) =>
            {
                if let Some(Numbered { number, .. }) = number {
                    self.durable.carried_out(id, action, number);
                }
                return;
            }
            PlayerCommand::Act { action, arguments, number, given } => {
                self.set_view_age(index, given, now);
                if let Some(number) = number {
                    return self.act_numbered(client, id, number, action, arguments);
                }
                PlayerCommand::Act { action, arguments, number, given }
            }
            PlayerCommand::Input { input, number } => {
                let member = &mut self.members.seated[index];
                member.input = input;
                // If a client counts steps, `input_number` is set with each step instead.
                if !member.commands.input.counts() {
                    member.input_number = number;
                }
                command
            }
            command => command,
        };
        let subject = command.subject();
        if !self.context.count(self.world.apply(command.into_world(id))) {
            client.refuse_command(&subject, WORLD_IS_BUSY);
        }
    }

    /// Whether the rules reserve an action for programs outside the room.
    fn is_of_back_end(&self, action: &str) -> bool {
        let declared = self.world.world().scene().definition().action(action);
        declared.is_some_and(|action| action.hint.get(BACK_END) == Some(&Value::Bool(true)))
    }

    /// Runs a line that is a command for the server. Queues every other line of chat, and the commands of a world that declares
    /// some.
    fn say(&mut self, client: &Arc<ClientHandle>, id: PlayerId, text: &str, now: Instant) {
        let text = sanitize(text, CHAT_CHARS_MAX);
        let actions = &self.world.world().scene().definition().actions;
        let is_of_world = is_for_all(&text) && actions.iter().any(|action| action.name.starts_with('/'));
        if is_command(&text) && !is_of_world {
            self.run_editor_command(client, &text);
        } else if !text.is_empty() {
            self.chat.offer(id, text, now);
        }
    }
}
