//! The ages of players' views.

use std::time::Instant;

use nowcast_world::limits::REWIND_MS_MAX;
use nowcast_world::{Command as WorldCommand, STEP_HZ};

use super::{Room, STEP};
use crate::player_command::Given;

/// Granularity of the measured age of a view, in milliseconds.
const VIEW_AGE_GRAIN_MS: u16 = 4;

/// The number of different step numbers that clients know.
const TICKS: f64 = 4_294_967_296.0;

impl Room {
    /// Tells the world how old a player's view was when the player triggered an action, if the rules use this age.
    pub(super) fn set_view_age(&mut self, index: usize, given: Given, now: Instant) {
        let Self { context, world, members, tick, .. } = self;
        if !world.world().scene().definition().rewinds {
            return;
        }
        let stated = given.shown.and_then(|shown| stated_behind_ms(*tick, shown));
        let Some(behind_ms) = stated.or_else(|| measured_behind_ms(&given, now)) else { return };
        if behind_ms > REWIND_MS_MAX {
            context.rooms.metrics.count_turn("seen_too_long_ago");
        }
        let behind_ms = behind_ms.min(REWIND_MS_MAX);
        let member = &mut members.seated[index];
        let player = member.id;
        // A value applied in this step is not in the world yet, so `applied` is compared. New rules may have dropped an
        // earlier value, so `known` is compared.
        let applied = std::mem::replace(&mut member.behind_ms, behind_ms);
        let known = world.world().scene().player(player).map(|player| player.behind_ms);
        if applied != behind_ms || known != Some(behind_ms) {
            context.count(world.apply(WorldCommand::SetViewDelay { player, behind_ms }));
        }
    }
}

/// Returns the time between `shown`, the moment that the client reports as displayed, and the step after `tick`. Returns
/// `None` if `shown` is in the future.
fn stated_behind_ms(tick: u64, shown: f64) -> Option<u16> {
    // Clients know the steps modulo 2^32 (`spec/WORLD.md`, section 5).
    let steps = (tick as f64 - shown).rem_euclid(TICKS);
    let ms = (steps * 1_000.0 / f64::from(STEP_HZ)).round();
    (steps < TICKS / 2.0).then_some(ms.min(f64::from(u16::MAX)) as u16)
}

/// Estimates the age of the view of a client that did not state a moment, from its view delay and the round trip.
fn measured_behind_ms(given: &Given, now: Instant) -> Option<u16> {
    // When the action is applied, the world is still in the state that was sent a step ago.
    let behind = (given.saw? + now.saturating_duration_since(given.at)).saturating_sub(STEP);
    // Smaller differences are below the precision of network measurements.
    Some(u16::try_from(behind.as_millis()).unwrap_or(u16::MAX) / VIEW_AGE_GRAIN_MS * VIEW_AGE_GRAIN_MS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_age_of_a_shown_moment_is_its_distance_in_steps() {
        assert_eq!(stated_behind_ms(1_000, 1_000.0), Some(0));
        assert_eq!(stated_behind_ms(1_000, 993.4), Some(110));
        assert_eq!(stated_behind_ms((1 << 32) + 6, f64::from(u32::MAX) - 5.0), Some(200));
        assert_eq!(stated_behind_ms(1_000, 10.0), Some(16_500));
        assert_eq!(stated_behind_ms(1_000_000, 10.0), Some(u16::MAX));
    }

    #[test]
    fn a_moment_in_the_future_is_ignored_unless_it_wraps_around_to_the_past() {
        assert_eq!(stated_behind_ms(1_000, 1_000.5), None);
        assert_eq!(stated_behind_ms(1_000, 3e9), Some(u16::MAX));
    }
}
