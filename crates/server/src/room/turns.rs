//! Steps of clients that count them, and delays of their views.

use std::time::Instant;

use nowcast_world::limits::REWIND_MS_MAX;
use nowcast_world::{Command as WorldCommand, PlayerId, STEP_HZ};

use super::{Room, STEP};
use crate::client_handle::{Command, Given, Player};
use crate::session::input_buffer::DueStep;

/// Granularity of the view delay, in milliseconds.
const SIGHT_MS: u16 = 4;

/// Number of step numbers for clients.
const TICKS: f64 = 4_294_967_296.0;

impl Room {
    /// Steps the walker of a client that counts its steps. Earlier acts of the client come first, so that an action
    /// finds the walker where its client had it.
    pub(super) fn take_turn(&mut self, index: usize, player: &Player, id: PlayerId) {
        let may_stride = self.world.world().scene().may_stride(id);
        let Some(turn) = player.take_turn(may_stride) else { return };
        let seated = &mut self.players[index];
        let input = match turn {
            DueStep::Steps { number, input, first } => {
                seated.controls = number;
                if let Some(first) = first {
                    self.rooms.metrics.count_turn("made_up_for");
                    self.apply(WorldCommand::CatchUpStep { player: id, first });
                }
                input
            }
            DueStep::Waits { number } => {
                seated.controls = number;
                self.rooms.metrics.count_turn("waited");
                self.apply(WorldCommand::StallStep { player: id });
                None
            }
            DueStep::GivesUp { number, input } => {
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
        if !self.world.world().scene().definition().rewinds {
            return;
        }
        let said = given.shown.and_then(|shown| said_behind_ms(self.tick, shown));
        let Some(behind_ms) = said.or_else(|| measured_behind_ms(&given, now)) else { return };
        if behind_ms > REWIND_MS_MAX {
            self.rooms.metrics.count_turn("seen_too_long_ago");
        }
        let behind_ms = behind_ms.min(REWIND_MS_MAX);
        let seated = &mut self.players[index];
        let player = seated.id;
        // The value of this step is not in the world yet, and new rules may have dropped the earlier one.
        let replicated = seated.behind_ms;
        seated.behind_ms = behind_ms;
        let known = self.world.world().scene().player(player).map(|player| player.behind_ms);
        if replicated != behind_ms || known != Some(behind_ms) {
            self.apply(WorldCommand::SetViewDelay { player, behind_ms });
        }
    }
}

/// How long before the step after `tick` others the moment was that a client says it showed; `None` for one that is still to come.
fn said_behind_ms(tick: u64, shown: f64) -> Option<u16> {
    // Clients know the steps modulo 2^32 (`spec/WORLD.md`, section 5).
    let steps = (tick as f64 - shown).rem_euclid(TICKS);
    let ms = (steps * 1_000.0 / f64::from(STEP_HZ)).round();
    (steps < TICKS / 2.0).then_some(ms.min(f64::from(u16::MAX)) as u16)
}

/// The same of a client that did not say which moment it showed, by its delay and the round trip.
fn measured_behind_ms(given: &Given, now: Instant) -> Option<u16> {
    // The world is as it was told a step ago.
    let behind = (given.saw? + now.saturating_duration_since(given.at)).saturating_sub(STEP);
    // Smaller differences are within the precision of the network's measurements.
    Some(u16::try_from(behind.as_millis()).unwrap_or(u16::MAX) / SIGHT_MS * SIGHT_MS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_that_a_client_showed_is_as_long_ago_as_it_is_in_steps() {
        assert_eq!(said_behind_ms(1_000, 1_000.0), Some(0));
        assert_eq!(said_behind_ms(1_000, 993.4), Some(110));
        assert_eq!(said_behind_ms((1 << 32) + 6, f64::from(u32::MAX) - 5.0), Some(200));
        assert_eq!(said_behind_ms(1_000, 10.0), Some(16_500));
        assert_eq!(said_behind_ms(1_000_000, 10.0), Some(u16::MAX));
    }

    #[test]
    fn a_moment_that_is_still_to_come_says_nothing_unless_it_is_so_far_that_it_was_long_ago() {
        assert_eq!(said_behind_ms(1_000, 1_000.5), None);
        assert_eq!(said_behind_ms(1_000, 3e9), Some(u16::MAX));
    }
}
