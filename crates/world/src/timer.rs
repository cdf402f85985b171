//! Timers. They have names and data instead of closures, so that they can be saved.

use std::collections::BTreeMap;

use nowcast_wire::{Value, Wire};

/// Names one timer of a world. Ids are never reused.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Wire)]
pub struct TimerId(pub u64);

/// A timer that is due.
#[derive(Clone, PartialEq, Debug)]
pub struct Timer {
    /// The id of the timer.
    pub id: TimerId,
    /// The name given when the timer was set.
    pub name: String,
    /// The data given when the timer was set.
    pub data: Value,
}

/// Waiting timers, ordered by their due step and then by age.
#[derive(Default)]
pub(crate) struct Timers {
    waiting: BTreeMap<(u64, TimerId), (String, Value)>,
    /// Steps between two calls of the timers that repeat.
    repeats: BTreeMap<TimerId, u64>,
    next_id: u64,
}

impl Timers {
    pub(crate) fn with_next_id(next_id: u64) -> Timers {
        Timers { next_id, ..Timers::default() }
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
        self.repeats.remove(&id);
        self.waiting.remove(&key)
    }

    /// Makes a waiting timer repeat, or changes its steps between two calls.
    pub(crate) fn repeat(&mut self, id: TimerId, steps: u64) {
        self.repeats.insert(id, steps);
    }

    /// The steps after which a timer fires again; `None` if it fires once.
    pub(crate) fn repeat_of(&self, id: TimerId) -> Option<u64> {
        self.repeats.get(&id).copied()
    }

    /// Takes the next timer that is due at `tick` and was set before `before`: timers that are set in this step wait for the
    /// next one. Returns the timer, and whether this is its last call. A timer that repeats is set again.
    pub(crate) fn take_due(&mut self, tick: u64, before: TimerId) -> Option<(Timer, bool)> {
        let key = *self.waiting.range(..=(tick, TimerId(u64::MAX))).find(|((_, id), _)| *id < before)?.0;
        let (name, data) = self.waiting.remove(&key)?;
        let id = key.1;
        let repeat = self.repeat_of(id);
        if let Some(steps) = repeat {
            self.insert(tick + steps, id, name.clone(), data.clone());
        }
        Some((Timer { id, name, data }, repeat.is_none()))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, TimerId, &str, &Value)> {
        self.waiting.iter().map(|((due, id), (name, data))| (*due, *id, name.as_str(), data))
    }
}
