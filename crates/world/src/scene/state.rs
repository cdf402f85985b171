//! The state of a world: named values that exist as long as the world.

use nowcast_wire::Value;

use super::stored_bytes::named_bytes;
use super::{Scene, SceneError};
use crate::conform;
use crate::problem::is_name;

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
}
