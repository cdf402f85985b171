//! Values on the screens of players.

use nowcast_wire::Value;

use super::stored_bytes::named_bytes;
use super::{Scene, SceneError};
use crate::conform;
use crate::event::Event;
use crate::id::PlayerId;
use crate::problem::is_name;

impl Scene {
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
