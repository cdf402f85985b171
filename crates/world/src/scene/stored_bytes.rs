//! Counts the bytes of all stored values and waiting events against one limit.

use nowcast_wire::Value;

use super::{Scene, SceneError};
use crate::conform::held_bytes;
use crate::event::Event;

/// Limit for unpolled events, as a multiple of one step's bytes. If there are more, the oldest events are dropped and
/// counted.
const STEPS_UNPOLLED: usize = 8;

/// Bytes of a value with its key and name.
pub(super) fn named_bytes(name: &str, value: &Value) -> usize {
    name.len() + size_of::<Value>() + held_bytes(value)
}

/// Bytes of the values of one entity.
pub(super) fn entity_bytes(attributes: &[Value], private: &Value) -> usize {
    size_of_val(attributes) + attributes.iter().map(held_bytes).sum::<usize>() + held_bytes(private)
}

/// Bytes of an event of the rules.
pub(super) fn event_bytes(event: &Event) -> usize {
    match event {
        Event::Emitted { name: text, payload: value, .. } | Event::Screen { place: text, value, .. } => {
            size_of::<Event>() + text.len() + held_bytes(value)
        }
        Event::Kicked { reason, .. } | Event::Banned { reason, .. } => size_of::<Event>() + reason.len(),
        Event::SentTo { room, data, .. } => size_of::<Event>() + room.len() + held_bytes(data),
        _ => 0,
    }
}

impl Scene {
    /// Bytes in memory of all stored values, limited by [`crate::Limits::kept_bytes_max`].
    pub fn kept_bytes(&self) -> usize {
        self.kept_bytes
    }

    /// Reserves the bytes of a value that replaces another.
    pub(super) fn replace_kept(&mut self, before: usize, after: usize) -> Result<(), SceneError> {
        let max = self.definition.limits.kept_bytes_max;
        let bytes = self.kept_bytes.saturating_sub(before).saturating_add(after);
        if after > before && bytes > max {
            return Err(SceneError::Full { of: "bytes of values in a world", max });
        }
        self.kept_bytes = bytes;
        Ok(())
    }

    /// Releases the bytes of a removed value.
    pub(crate) fn release_kept(&mut self, bytes: usize) {
        self.kept_bytes = self.kept_bytes.saturating_sub(bytes);
    }

    /// Releases the bytes of a removed entity.
    pub(super) fn release_entity(&mut self, row: usize) {
        let entities = &self.entities;
        let bytes = entity_bytes(&entities.attributes[row], &entities.privates[row]);
        self.release_kept(bytes);
    }

    /// Counts all bytes of a scene that was just loaded.
    pub(crate) fn count_kept(&self) -> usize {
        let entities = &self.entities;
        let rows = (0..entities.ids.len()).filter(|row| entities.is_alive[*row]);
        let of_entities = rows.map(|row| entity_bytes(&entities.attributes[row], &entities.privates[row]));
        let of_players = self.players.values().map(|player| held_bytes(&player.private));
        let of_accounts = self.accounts.iter().map(|(key, data)| super::accounts::account_bytes(key, data));
        let of_state = self.state.iter().map(|(name, value)| named_bytes(name, value));
        let of_screens = self.screens.iter().map(|((_, place), value)| named_bytes(place, value));
        let of_timers = self.timers.iter().map(|(_, _, name, data)| named_bytes(name, data));
        of_entities
            .chain(of_players)
            .chain(of_accounts)
            .chain(of_state)
            .chain(of_screens)
            .chain(of_timers)
            .sum()
    }

    /// Adds an event of this step, unless the step has too many bytes.
    pub(super) fn emit_bounded(&mut self, event: Event) -> Result<(), SceneError> {
        let max = self.definition.limits.event_bytes_max;
        let bytes = self.emitted_bytes + event_bytes(&event);
        if bytes > max {
            return Err(SceneError::Full { of: "bytes of events in one step", max });
        }
        self.emitted_bytes = bytes;
        self.push_event(event);
        Ok(())
    }

    /// Adds an event. If events are not polled, the oldest are dropped and counted.
    pub(crate) fn push_event(&mut self, event: Event) {
        let limits = self.definition.limits;
        self.waiting_event_bytes += event_bytes(&event);
        self.events.push_back(event);
        while self.events.len() > limits.events_max
            || self.waiting_event_bytes > STEPS_UNPOLLED * limits.event_bytes_max
        {
            self.take_event();
            self.stats.events_dropped += 1;
        }
    }

    /// Returns the oldest event.
    pub(crate) fn take_event(&mut self) -> Option<Event> {
        let event = self.events.pop_front()?;
        self.waiting_event_bytes -= event_bytes(&event);
        Some(event)
    }
}
