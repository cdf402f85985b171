//! The reference model: the contract in as few lines as possible, without regard to speed.

use crate::{Bounds, Key, Put, Refusal};

/// A list of entries, exactly as `spec/QUEUE.md` describes it.
#[derive(Debug, Clone)]
pub struct Model {
    bounds: Bounds,
    entries: Vec<(Key, Vec<u8>)>,
}

impl Model {
    /// Makes an empty queue.
    #[must_use]
    pub fn new(bounds: Bounds) -> Self {
        Model { bounds, entries: Vec::new() }
    }

    /// Replaces the value of the key after the last event, or appends.
    ///
    /// # Errors
    /// [`Refusal::TooLarge`] or [`Refusal::Full`], if the put would exceed the bounds.
    pub fn put(&mut self, key: Key, value: Vec<u8>) -> Result<Put, Refusal> {
        let Bounds { entries_max, bytes_max } = self.bounds;
        let bytes = value.len();
        if bytes > bytes_max {
            return Err(Refusal::TooLarge { bytes, bytes_max });
        }
        let mut after = self.entries.clone();
        let barrier = after.iter().rposition(|(key, _)| key.is_event()).map_or(0, |event| event + 1);
        let put = match after[barrier..].iter_mut().find(|entry| entry.0 == key) {
            Some(entry) => {
                entry.1 = value;
                Put::Replaced
            }
            None => {
                after.push((key, value));
                Put::Queued
            }
        };
        if after.len() > entries_max || after.iter().map(|entry| entry.1.len()).sum::<usize>() > bytes_max {
            return Err(Refusal::Full);
        }
        self.entries = after;
        Ok(put)
    }

    /// Removes and returns the first entry.
    pub fn get(&mut self) -> Option<(Key, Vec<u8>)> {
        (!self.entries.is_empty()).then(|| self.entries.remove(0))
    }
}
