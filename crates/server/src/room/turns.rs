//! What clients do by their own steps, and by what they saw.

use std::time::Instant;

use nowcast_world::limits::REWIND_MS_MAX;
use nowcast_world::{Command as WorldCommand, PlayerId};

use super::{Room, STEP};
use crate::player::{Command, Given, Player};
use crate::session::playout::Turn;

/// In steps of so many milliseconds the world is told how long ago that was what a player sees.
const SIGHT_MS: u16 = 4;

impl Room {
    /// Has the walker of a client that counts its steps take them. What the client did in the steps before comes first, so that an action
    /// finds the walker where its client had it.
    pub(super) fn take_turn(&mut self, index: usize, player: &Player, id: PlayerId) {
        let may_stride = self.world.world().scene().may_stride(id);
        let Some(turn) = player.take_turn(may_stride) else { return };
        let seated = &mut self.players[index];
        let input = match turn {
            Turn::Steps { number, input, first } => {
                seated.controls = number;
                if let Some(first) = first {
                    self.rooms.metrics.count_turn("made_up_for");
                    self.apply(WorldCommand::Stride { player: id, first });
                }
                input
            }
            Turn::Waits { number } => {
                seated.controls = number;
                self.rooms.metrics.count_turn("waited");
                self.apply(WorldCommand::Wait { player: id });
                None
            }
            Turn::GivesUp { number, input } => {
                seated.controls = number;
                self.rooms.metrics.count_turn("given_up");
                input
            }
        };
        if let Some(input) = input {
            self.players[index].input = input;
            self.was_used |= Command::Input { input, number: 0 }.is_felt();
            self.apply(WorldCommand::Input { player: id, input });
        }
    }

    /// Tells the world how long ago that was what a player saw when it gave an action, where the rules ask for it.
    pub(super) fn see(&mut self, index: usize, given: Given, now: Instant) {
        let rewinds = self.world.world().scene().definition().rewinds;
        let Some(saw) = given.saw.filter(|_| rewinds) else { return };
        // The world is as it was told a step ago.
        let behind = (saw + now.saturating_duration_since(given.at)).saturating_sub(STEP);
        let behind_ms = u16::try_from(behind.as_millis()).unwrap_or(u16::MAX);
        if behind_ms > REWIND_MS_MAX {
            self.rooms.metrics.count_turn("seen_too_long_ago");
        }
        // What differs by less is within what anybody knows of the network.
        let behind_ms = behind_ms.min(REWIND_MS_MAX) / SIGHT_MS * SIGHT_MS;
        let seated = &mut self.players[index];
        let player = seated.id;
        // What was told in this step is not known to the world yet, and new rules may have had it forget what it knew.
        let told = seated.behind_ms;
        seated.behind_ms = behind_ms;
        let known = self.world.world().scene().player(player).map(|player| player.behind_ms);
        if told != behind_ms || known != Some(behind_ms) {
            self.apply(WorldCommand::See { player, behind_ms });
        }
    }
}
