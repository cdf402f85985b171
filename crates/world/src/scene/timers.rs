//! Timers of a world.

use nowcast_wire::Value;

use super::stored_bytes::named_bytes;
use super::{Scene, SceneError};
use crate::conform;
use crate::problem::is_name;
use crate::timer::{Timer, TimerId};

/// Maximum delay of a timer, in seconds: four weeks.
pub(super) const WAIT_SECONDS_MAX: f64 = 28.0 * 86_400.0;

impl Scene {
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
}

/// Converts a time to steps, at least one.
pub(super) fn steps_of(seconds: f64) -> u64 {
    libm::round(seconds * f64::from(crate::STEP_HZ)).max(1.0) as u64
}
