//! Timers, with names and data so that they can be saved.

use std::collections::BTreeMap;

use nowcast_wire::Value;

/// Names one timer of a world. Ids are never reused.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TimerId(pub u64);

/// A timer that is due.
#[derive(Clone, PartialEq, Debug)]
pub struct Timer {
    /// Its id.
    pub id: TimerId,
    /// The name given when it was set.
    pub name: String,
    /// The data given when it was set.
    pub data: Value,
}

/// Waiting timers, ordered by their due step and then by age.
#[derive(Default)]
pub(crate) struct Timers {
    waiting: BTreeMap<(u64, TimerId), (String, Value)>,
    next_id: u64,
}

impl Timers {
    pub(crate) fn with_next_id(next_id: u64) -> Timers {
        Timers { waiting: BTreeMap::new(), next_id }
    }

    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }

    pub(crate) fn next_id(&self) -> u64 {
        self.next_id
    }

    pub(crate) fn set(&mut self, due_tick: u64, name: String, data: Value) -> TimerId {
        let id = TimerId(self.next_id);
        self.next_id += 1;
        self.insert(due_tick, id, name, data);
        id
    }

    pub(crate) fn insert(&mut self, due_tick: u64, id: TimerId, name: String, data: Value) {
        self.waiting.insert((due_tick, id), (name, data));
    }

    /// Cancels a timer. Returns its name and data if it was still waiting.
    pub(crate) fn cancel(&mut self, id: TimerId) -> Option<(String, Value)> {
        let key = self.waiting.keys().find(|(_, known)| *known == id).copied()?;
        self.waiting.remove(&key)
    }

    /// Returns the next timer that is due at `tick` and was set before `before`. Timers set meanwhile wait for the next
    /// step.
    pub(crate) fn take_due(&mut self, tick: u64, before: TimerId) -> Option<Timer> {
        let key = *self.waiting.range(..=(tick, TimerId(u64::MAX))).find(|((_, id), _)| *id < before)?.0;
        let (name, data) = self.waiting.remove(&key)?;
        Some(Timer { id: key.1, name, data })
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, TimerId, &str, &Value)> {
        self.waiting.iter().map(|((due, id), (name, data))| (*due, *id, name.as_str(), data))
    }
}
