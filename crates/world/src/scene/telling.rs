//! State, timers, events and screens of a world.

use nowcast_wire::Value;

use super::kept::named_bytes;
use super::{Scene, SceneError};
use crate::conform;
use crate::event::{Event, To};
use crate::id::PlayerId;
use crate::limits::{BAN_SECONDS_MAX, CARRIED_BYTES_MAX};
use crate::problem::is_name;
use crate::timer::{Timer, TimerId};

/// Maximum length, in characters, of the reason that a removed player receives.
const KICK_REASON_CHARS_MAX: usize = 100;

/// Maximum length of the name of a room.
const ROOM_BYTES_MAX: usize = 32;

/// Maximum delay of a timer, in seconds: four weeks.
pub(super) const WAIT_SECONDS_MAX: f64 = 28.0 * 86_400.0;

impl Scene {
    /// Returns a value of the world's state, or `None` if it is not set. The state exists as long as the world.
    pub fn state(&self, key: &str) -> Option<&Value> {
        self.state.get(key)
    }

    /// Returns the whole state, ordered by key.
    pub fn all_state(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.state.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// Sets a value of the state; nil removes it.
    ///
    /// # Errors
    /// Fails if the name is invalid, if the value is too large, or if the world holds too many bytes of values.
    pub fn set_state(&mut self, key: &str, value: impl Into<Value>) -> Result<(), SceneError> {
        if !is_name(key) {
            return Err(SceneError::BadName(key.to_owned()));
        }
        let value = value.into();
        let bytes_max = self.definition.limits.state_bytes_max;
        conform::bounded(&value, bytes_max)?;
        let bytes_of = |value: &Value| key.len() + nowcast_wire::any::to_vec(value).len();
        let before = self.state.get(key).map_or(0, bytes_of);
        let after = if matches!(value, Value::Nil) { 0 } else { bytes_of(&value) };
        let bytes = self.state_bytes - before + after;
        if bytes > bytes_max {
            return Err(SceneError::Full { of: "bytes of state", max: bytes_max });
        }
        let kept_before = self.state.get(key).map_or(0, |value| named_bytes(key, value));
        let kept_after = if matches!(value, Value::Nil) { 0 } else { named_bytes(key, &value) };
        self.replace_kept(kept_before, kept_after)?;
        self.state_bytes = bytes;
        match value {
            Value::Nil => self.state.remove(key),
            value => self.state.insert(key.to_owned(), value),
        };
        Ok(())
    }

    /// Schedules one call of [`crate::Behaviour::timer`] with this name and data, after this many seconds (at the next
    /// step at the earliest).
    ///
    /// # Errors
    /// Fails if the name is invalid, if the number of seconds is negative or too large, if the data is too large, if
    /// too many timers wait, or if the world holds too many bytes of values.
    pub fn after(&mut self, seconds: f64, name: &str, data: Value) -> Result<TimerId, SceneError> {
        if !is_name(name) {
            return Err(SceneError::BadName(name.to_owned()));
        }
        if !(0.0..=WAIT_SECONDS_MAX).contains(&seconds) {
            return Err(SceneError::BadNumber("seconds"));
        }
        conform::bounded(&data, self.definition.limits.value_bytes_max)?;
        let timers_max = self.definition.limits.timers_max;
        if self.timers.len() >= timers_max {
            return Err(SceneError::Full { of: "timers", max: timers_max });
        }
        self.replace_kept(0, named_bytes(name, &data))?;
        Ok(self.timers.set(self.tick + steps_of(seconds), name.to_owned(), data))
    }

    /// Schedules repeated calls of [`crate::Behaviour::timer`] with this name and data, one each time this many seconds have
    /// passed, but at most one call a step.
    ///
    /// # Errors
    /// Like [`Scene::after`].
    pub fn every(&mut self, seconds: f64, name: &str, data: Value) -> Result<TimerId, SceneError> {
        let id = self.after(seconds, name, data)?;
        self.timers.repeat(id, steps_of(seconds));
        Ok(id)
    }

    /// Cancels a timer. Returns whether it was still waiting.
    pub fn cancel(&mut self, timer: TimerId) -> bool {
        let canceled = self.timers.cancel(timer);
        if let Some((name, data)) = &canceled {
            self.release_kept(named_bytes(name, data));
        }
        canceled.is_some()
    }

    /// Number of waiting timers.
    pub fn timers_waiting(&self) -> usize {
        self.timers.len()
    }

    /// Returns the next timer that is due and was set before `before`.
    pub(crate) fn take_due_timer(&mut self, before: TimerId) -> Option<Timer> {
        let (timer, is_last) = self.timers.take_due(self.tick, before)?;
        if is_last {
            self.release_kept(named_bytes(&timer.name, &timer.data));
        }
        Some(timer)
    }

    /// Sends an event to players, once. The payload of a declared event must fit; missing fields have their defaults.
    ///
    /// # Errors
    /// Fails if the name is invalid, if the payload does not fit or is too large, if the player is unknown or the place
    /// has a number that is not finite, or if too many bytes of events wait.
    pub fn emit(&mut self, name: &str, to: To, payload: Value) -> Result<(), SceneError> {
        if !is_name(name) {
            return Err(SceneError::BadName(name.to_owned()));
        }
        let payload = match self.definition.event(name) {
            Some(declared) => declared.payload.conform_map(&payload)?,
            None => payload,
        };
        conform::bounded(&payload, self.definition.limits.value_bytes_max)?;
        match to {
            To::Player(player) if self.player(player).is_none() => {
                return Err(SceneError::UnknownPlayer(player));
            }
            To::Near { position, radius } if !position.iter().chain([&radius]).all(|v| v.is_finite()) => {
                return Err(SceneError::BadNumber("place"));
            }
            _ => {}
        }
        let durable = self.acts_durably;
        self.emit_bounded(Event::Emitted { name: name.to_owned(), to, payload, durable })
    }

    /// Asks the host to remove a player, which then receives the reason. The player stays in the world until the host
    /// applies [`crate::Command::Leave`].
    ///
    /// # Errors
    /// Fails if the player is not in the world.
    pub fn kick(&mut self, player: PlayerId, reason: &str) -> Result<(), SceneError> {
        if self.player(player).is_none() {
            return Err(SceneError::UnknownPlayer(player));
        }
        let reason = crate::text::sanitize(reason, KICK_REASON_CHARS_MAX);
        self.emit_bounded(Event::Kicked { player, reason })
    }

    /// Asks the host to ban a player from this room, or from all rooms of this world (`of_world`), for a time.
    ///
    /// # Errors
    /// Fails if the player is not in the world, or if the time is not from 1 second to [`BAN_SECONDS_MAX`](crate::limits::BAN_SECONDS_MAX).
    pub fn ban(
        &mut self,
        player: PlayerId,
        seconds: f64,
        of_world: bool,
        reason: &str,
    ) -> Result<(), SceneError> {
        if self.player(player).is_none() {
            return Err(SceneError::UnknownPlayer(player));
        }
        if !(1.0..=BAN_SECONDS_MAX).contains(&seconds) {
            return Err(SceneError::BadNumber("the duration of the ban"));
        }
        let reason = crate::text::sanitize(reason, KICK_REASON_CHARS_MAX);
        self.emit_bounded(Event::Banned { player, seconds: seconds as u32, of_world, reason })
    }

    /// Asks the host to send a player to another room, whose rules receive the data. The player stays until it leaves.
    ///
    /// # Errors
    /// Fails if the player is not in the world, if the name is not that of a room, or if the data has more than
    /// [`CARRIED_BYTES_MAX`](crate::limits::CARRIED_BYTES_MAX) bytes.
    pub fn send_to(&mut self, player: PlayerId, room: &str, data: Value) -> Result<(), SceneError> {
        if self.player(player).is_none() {
            return Err(SceneError::UnknownPlayer(player));
        }
        let is_letter = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_');
        if !(1..=ROOM_BYTES_MAX).contains(&room.len()) || !room.bytes().all(is_letter) {
            return Err(SceneError::BadRoom(room.to_owned()));
        }
        conform::bounded(&data, CARRIED_BYTES_MAX)?;
        self.emit_bounded(Event::SentTo { player, room: room.to_owned(), data })
    }

    /// Sets a value, such as a score or a clock, on a player's screen, or (`None`) on the screens of all present and later
    /// players. Nil clears the place.
    ///
    /// # Errors
    /// Fails if the player is unknown, if the name is invalid, if the value is too large, if too many places are in
    /// use, or if the world holds too many bytes of values or of events.
    pub fn show(
        &mut self,
        player: Option<PlayerId>,
        place: &str,
        value: impl Into<Value>,
    ) -> Result<(), SceneError> {
        if !is_name(place) {
            return Err(SceneError::BadName(place.to_owned()));
        }
        if let Some(player) = player {
            self.player(player).ok_or(SceneError::UnknownPlayer(player))?;
        }
        let value = value.into();
        conform::bounded(&value, self.definition.limits.value_bytes_max)?;
        let key = (player, place.to_owned());
        if self.screens.get(&key).unwrap_or(&Value::Nil) == &value {
            return Ok(());
        }
        let screens_max = self.definition.limits.screens_max;
        let is_cleared = matches!(value, Value::Nil);
        if !is_cleared && self.screens.len() >= screens_max && !self.screens.contains_key(&key) {
            return Err(SceneError::Full { of: "values on screens", max: screens_max });
        }
        let before = self.screens.get(&key).map_or(0, |value| named_bytes(place, value));
        let after = if is_cleared { 0 } else { named_bytes(place, &value) };
        self.replace_kept(before, after)?;
        let event = Event::Screen { player, place: place.to_owned(), value: value.clone() };
        if let Err(error) = self.emit_bounded(event) {
            self.kept_bytes = self.kept_bytes - after + before;
            return Err(error);
        }
        if is_cleared {
            self.screens.remove(&key);
        } else {
            self.screens.insert(key, value);
        }
        Ok(())
    }

    /// Returns the value that a player sees at a place: its own value, or the value for all players.
    pub fn screen(&self, player: PlayerId, place: &str) -> Option<&Value> {
        let of = |whose| self.screens.get(&(whose, place.to_owned()));
        of(Some(player)).or_else(|| of(None))
    }

    /// Returns the values on screens: player (`None` for all), place and value.
    pub fn screens(&self) -> impl Iterator<Item = (Option<PlayerId>, &str, &Value)> {
        self.screens.iter().map(|((player, place), value)| (*player, place.as_str(), value))
    }
}

/// Converts a time to steps, at least one.
pub(super) fn steps_of(seconds: f64) -> u64 {
    libm::round(seconds * f64::from(crate::STEP_HZ)).max(1.0) as u64
}
