//! Chat in a room.

use std::time::Instant;

use nowcast_world::{Command, PlayerId};

use super::context::RoomContext;
use crate::chat::{Chat, Line};
use crate::recorded_world::RecordedWorld;

/// The reason for a line that is dropped because the room's chat is over its rate.
const ROOM_IS_LOUD: &str = "the chat of this room is over its limit: send the line again in a moment";

/// The reason for the refusal of a command that exceeds the world's limit of commands in a step.
pub(super) const WORLD_IS_BUSY: &str =
    "the world has too much to do in this step: it had no effect, try again in a moment";

/// The lines of a room that wait, and the lines that are dropped.
pub(super) struct RoomChat {
    chat: Chat,
    dropped: Vec<Line>,
}

impl RoomChat {
    pub(super) fn new(now: Instant) -> Self {
        Self { chat: Chat::new(now), dropped: Vec::new() }
    }

    /// Queues a line.
    pub(super) fn offer(&mut self, speaker: PlayerId, text: String, now: Instant) {
        self.dropped.extend(self.chat.offer(Line { speaker, text }, now));
    }

    /// Removes the lines of a player that left.
    pub(super) fn forget(&mut self, speaker: PlayerId) {
        self.chat.forget(speaker);
    }

    /// Delivers the lines that are due. Returns the lines that are dropped.
    pub(super) fn flush(
        &mut self,
        context: &RoomContext,
        world: &mut RecordedWorld,
        now: Instant,
    ) -> Vec<RefusedLine> {
        let mut refused = Vec::new();
        while let Some(Line { speaker, text }) = self.chat.next(now) {
            let said = text.clone();
            if !context.count(world.apply(Command::Message { player: speaker, text })) {
                refused.push(RefusedLine { speaker, text: said, reason: WORLD_IS_BUSY });
            }
        }
        for Line { speaker, text } in std::mem::take(&mut self.dropped) {
            context.rooms.metrics.drop_message("chat_budget");
            refused.push(RefusedLine { speaker, text, reason: ROOM_IS_LOUD });
        }
        refused
    }
}

/// A line that is dropped.
pub(super) struct RefusedLine {
    pub(super) speaker: PlayerId,
    pub(super) text: String,
    pub(super) reason: &'static str,
}
