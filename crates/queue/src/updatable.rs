//! The updatable queue as a plain data structure.

use crate::{Key, KeyMap, Put, Refusal, Refused};
use std::collections::VecDeque;
use std::collections::hash_map::Entry;
use std::ops::Range;
use std::sync::Arc;

/// Holds the newest state of each key and every event, in order and within bounds. It has no threads, no clock and no IO.
///
/// [`put`](Self::put) adds or replaces an entry, [`peek`](Self::peek) shows the next one, and [`pop`](Self::pop) delivers it.
/// Each call takes constant time, however many entries wait.
///
/// ```
/// use nowcast_queue::{Bounds, Key, Put, Refusal, UpdatableQueue};
///
/// let mut queue = UpdatableQueue::new(Bounds { entries_max: 2, bytes_max: 100 });
/// assert_eq!(queue.put(Key::state(7), vec![1]).unwrap(), Put::Queued);
/// assert_eq!(queue.put(Key::state(8), vec![2]).unwrap(), Put::Queued);
/// assert_eq!(queue.put(Key::state(9), vec![3]).unwrap_err().refusal, Refusal::Full); // a new key needs an entry
/// assert_eq!(queue.put(Key::state(7), vec![4]).unwrap(), Put::Replaced); // a known one does not
/// assert_eq!(queue.pop(), Some((Key::state(7), vec![4]))); // and it kept its place
/// ```
#[derive(Debug, Clone)]
pub struct UpdatableQueue<V> {
    bounds: Bounds,
    /// `None` is the place of a value that was taken ahead of its turn. The first entry is never one.
    entries: VecDeque<(Key, Option<V>)>,
    /// Number of places without a value.
    taken: usize,
    /// The place of each key's newest entry. A place counts all entries from the first one ever. If the key no longer waits, its
    /// place is before `first`.
    places: KeyMap<u64>,
    /// The place of `entries[0]`.
    first: u64,
    /// Entries before this place precede the last event, so they are never replaced.
    barrier: u64,
    bytes: usize,
    outdated: Outdated,
    counters: Counters,
}

/// The waiting states whose key has a newer value behind an event. No put replaces them any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Outdated {
    /// Their number.
    pub entries: usize,
    /// The weight of their values.
    pub bytes: usize,
}

impl<V: Weigh> UpdatableQueue<V> {
    /// Makes an empty queue.
    #[must_use]
    pub fn new(bounds: Bounds) -> Self {
        UpdatableQueue {
            bounds,
            entries: VecDeque::new(),
            taken: 0,
            places: KeyMap::default(),
            first: 0,
            barrier: 0,
            bytes: 0,
            outdated: Outdated::default(),
            counters: Counters::default(),
        }
    }

    /// Puts a value. The value replaces the undelivered value of the same key and barrier interval, if there is one. Otherwise
    /// the value is appended.
    ///
    /// # Errors
    /// Returns the value with [`Refusal::Full`], or with [`Refusal::TooLarge`] if it could never fit. The queue is then
    /// unchanged.
    pub fn put(&mut self, key: Key, value: V) -> Result<Put, Refused<V>> {
        self.exchange(key, value).map(|old| if old.is_some() { Put::Replaced } else { Put::Queued })
    }

    /// Like [`put`](Self::put), but returns the replaced value.
    ///
    /// # Errors
    /// Like [`put`](Self::put).
    pub fn exchange(&mut self, key: Key, value: V) -> Result<Option<V>, Refused<V>> {
        let bytes = value.bytes();
        if bytes > self.bounds.bytes_max {
            let refusal = Refusal::TooLarge { bytes, bytes_max: self.bounds.bytes_max };
            return self.refuse(refusal, value);
        }
        let place = self.places().end;
        let is_full = self.len() >= self.bounds.entries_max || self.bytes + bytes > self.bounds.bytes_max;
        if key.is_event() {
            if is_full {
                return self.refuse(Refusal::Full, value);
            }
            self.barrier = place + 1;
        } else {
            match self.places.entry(key) {
                Entry::Occupied(known) if *known.get() >= self.barrier.max(self.first) => {
                    let index = (known.get() - self.first) as usize;
                    return self.replace(index, value);
                }
                _ if is_full => return self.refuse(Refusal::Full, value),
                Entry::Vacant(unknown) => _ = unknown.insert(place),
                Entry::Occupied(mut known) => {
                    let older = known.insert(place).checked_sub(self.first);
                    if let Some((_, Some(older))) = older.map(|index| &self.entries[index as usize]) {
                        self.outdated.entries += 1;
                        self.outdated.bytes += older.bytes();
                    }
                }
            }
        }
        self.bytes += bytes;
        self.entries.push_back((key, Some(value)));
        self.counters.queued += 1;
        Ok(None)
    }

    /// Returns the message that [`pop`](Self::pop) would deliver.
    #[must_use]
    pub fn peek(&self) -> Option<(Key, &V)> {
        self.iter().next()
    }

    /// Delivers the oldest entry.
    pub fn pop(&mut self) -> Option<(Key, V)> {
        let key = self.entries.front()?.0;
        let value = self.deliver(0)?;
        Some((key, value))
    }

    /// Delivers the value of `key` before its turn, if no event waits. The next value of the key is appended.
    ///
    /// ```
    /// use nowcast_queue::{Bounds, Key, UpdatableQueue};
    ///
    /// let mut queue = UpdatableQueue::new(Bounds::default());
    /// (1..=3).for_each(|key| drop(queue.put(Key::state(key), vec![0])));
    /// assert_eq!(queue.take(Key::state(2)), Some(vec![0]));
    /// queue.put(Key::state(2), vec![1]).unwrap();
    /// let rest: Vec<_> = std::iter::from_fn(|| queue.pop()).collect();
    /// assert_eq!(rest, [1, 3, 2].map(|key| (Key::state(key), vec![u8::from(key == 2)])));
    /// ```
    pub fn take(&mut self, key: Key) -> Option<V> {
        let has_events = self.barrier > self.first;
        let index = self.replaceable(key).filter(|_| !has_events)?;
        let value = self.deliver(index)?;
        self.places.remove(&key);
        if self.taken > self.len() + STALE_MAX {
            self.entries.retain(|(_, value)| value.is_some());
            self.taken = 0;
            self.places = (self.first..).zip(&self.entries).map(|(place, (key, _))| (*key, place)).collect();
        }
        Some(value)
    }

    /// Removes the value at an index, and then the places without a value at the front.
    fn deliver(&mut self, index: usize) -> Option<V> {
        let (key, value) = &mut self.entries[index];
        let (key, value) = (*key, value.take()?);
        if self.outdated.entries > 0
            && !key.is_event()
            && self.places.get(&key).is_none_or(|newest| *newest != self.first + index as u64)
        {
            self.outdated.entries -= 1;
            self.outdated.bytes -= value.bytes();
        }
        self.taken += 1;
        self.bytes -= value.bytes();
        self.counters.delivered += 1;
        while self.entries.pop_front_if(|(_, value)| value.is_none()).is_some() {
            self.first += 1;
            self.taken -= 1;
        }
        if self.entries.is_empty() {
            // New entries then reuse the memory of the old entries. This memory is still in the cache.
            self.entries.clear();
        }
        if self.places.len() > 2 * self.entries.len() + STALE_MAX {
            let first = self.first;
            self.places.retain(|_, place| *place >= first);
        }
        Some(value)
    }

    /// Frees memory that more than `entries` waiting entries would need, if it is worth a new allocation. Memory of entries that
    /// wait now is kept.
    ///
    /// ```
    /// use nowcast_queue::{Bounds, Key, UpdatableQueue};
    ///
    /// let mut queue = UpdatableQueue::new(Bounds::default());
    /// (1..=1_000).for_each(|key| drop(queue.put(Key::state(key), vec![])));
    /// while queue.pop().is_some() {}
    /// queue.shrink_to(10);
    /// assert!(queue.capacity() < 100);
    /// ```
    pub fn shrink_to(&mut self, entries: usize) {
        if self.entries.capacity() > 2 * entries.max(self.entries.len()) + SPARE_ENTRIES {
            self.entries.shrink_to(entries);
            let first = self.first;
            self.places.retain(|_, place| *place >= first);
            self.places.shrink_to(entries);
        }
    }

    /// Number of entries that the allocated memory can hold.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.entries.capacity()
    }

    /// Returns the undelivered value that a put with this key would replace.
    #[must_use]
    pub fn newest(&self, key: Key) -> Option<&V> {
        self.replaceable(key).and_then(|index| self.entries[index].1.as_ref())
    }

    /// Returns the waiting entries, in the order of delivery.
    pub fn iter(&self) -> impl Iterator<Item = (Key, &V)> {
        self.entries.iter().filter_map(|(key, value)| Some((*key, value.as_ref()?)))
    }

    /// Returns the waiting entries' places as a range. A place counts all entries from the first one ever.
    #[must_use]
    pub fn places(&self) -> Range<u64> {
        self.first..self.first + self.entries.len() as u64
    }

    /// Number of waiting entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len() - self.taken
    }

    /// Whether nothing waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The weight of all waiting values.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the number and the weight of the states that no put can replace any more.
    #[must_use]
    pub fn outdated(&self) -> Outdated {
        self.outdated
    }

    /// The bounds of the queue.
    #[must_use]
    pub fn bounds(&self) -> Bounds {
        self.bounds
    }

    /// Returns the counters of messages.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Returns the index of the entry that a put with this key replaces.
    fn replaceable(&self, key: Key) -> Option<usize> {
        let place = *self.places.get(&key)?;
        (place >= self.barrier.max(self.first)).then(|| (place - self.first) as usize)
    }

    fn replace(&mut self, index: usize, value: V) -> Result<Option<V>, Refused<V>> {
        let freed = self.entries[index].1.as_ref().map_or(0, Weigh::bytes);
        let bytes = self.bytes - freed + value.bytes();
        if bytes > self.bounds.bytes_max {
            return self.refuse(Refusal::Full, value);
        }
        self.bytes = bytes;
        self.counters.replaced += 1;
        Ok(self.entries[index].1.replace(value))
    }

    fn refuse<T>(&mut self, refusal: Refusal, value: V) -> Result<T, Refused<V>> {
        self.counters.refused += 1;
        Err(Refused { refusal, value })
    }
}

/// When this number of keys no longer wait, the places of these keys are removed together. The places are not removed earlier,
/// because a key that soon waits again then costs less.
const STALE_MAX: usize = 64;
/// Memory for this number of entries is never freed.
const SPARE_ENTRIES: usize = 16;

/// Limits of a queue. The sender chooses them, like `outSize` in the paper.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Maximum number of entries: keys and pending events.
    pub entries_max: usize,
    /// Maximum bytes in all waiting values, and therefore in one value.
    pub bytes_max: usize,
}

impl Default for Bounds {
    /// Returns 1,024 entries and 1 MiB.
    fn default() -> Self {
        Bounds { entries_max: 1024, bytes_max: 1 << 20 }
    }
}

/// Counters of a queue's messages. Every dropped message is counted here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Puts that made an entry.
    pub queued: u64,
    /// Puts that replaced a value, each of which dropped an obsolete value.
    pub replaced: u64,
    /// Refused puts, each reported to its sender.
    pub refused: u64,
    /// Entries delivered.
    pub delivered: u64,
}

/// A value whose size counts towards [`Bounds::bytes_max`]. The size must not change while the value is in a queue.
pub trait Weigh {
    /// Returns the weight in bytes.
    fn bytes(&self) -> usize;
}

impl Weigh for Vec<u8> {
    fn bytes(&self) -> usize {
        self.len()
    }
}

impl Weigh for Box<[u8]> {
    fn bytes(&self) -> usize {
        self.len()
    }
}

impl Weigh for Arc<[u8]> {
    fn bytes(&self) -> usize {
        self.len()
    }
}

impl Weigh for &[u8] {
    fn bytes(&self) -> usize {
        self.len()
    }
}

/// A value without content has no weight. A queue of `()` holds only keys, if the values are stored elsewhere.
impl Weigh for () {
    fn bytes(&self) -> usize {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_with_a_newer_value_behind_an_event_are_outdated_until_they_are_delivered() {
        let mut queue = UpdatableQueue::new(Bounds::default());
        for value in [vec![0; 3], vec![0; 5], vec![0; 7]] {
            queue.put(Key::state(1), value.clone()).unwrap();
            queue.put(Key::state(2), value).unwrap();
            queue.put(Key::EVENT, vec![0; 100]).unwrap();
        }
        queue.put(Key::state(1), vec![0; 9]).unwrap();
        queue.put(Key::state(1), vec![0; 11]).unwrap();
        assert_eq!(queue.outdated(), Outdated { entries: 5, bytes: 3 + 3 + 5 + 5 + 7 });
        (0..4).for_each(|_| drop(queue.pop()));
        assert_eq!(queue.outdated(), Outdated { entries: 2, bytes: 5 + 7 });
        while queue.pop().is_some() {}
        assert_eq!(queue.outdated(), Outdated::default());
    }

    #[test]
    fn values_taken_ahead_of_their_turn_need_no_memory_while_the_first_value_stays() {
        let bounds = Bounds { entries_max: 3, bytes_max: 100 };
        let mut queue = UpdatableQueue::new(bounds);
        queue.put(Key::state(1), vec![0]).unwrap();
        for number in 0..1_000_u64 {
            let key = Key::state(2 + number % 7);
            queue.put(key, vec![1]).unwrap();
            assert_eq!((queue.len(), queue.newest(key)), (2, Some(&vec![1])));
            assert_eq!(queue.take(key), Some(vec![1]));
        }
        assert!(queue.capacity() < 200, "{}", queue.capacity());
        assert_eq!((queue.bytes(), queue.pop(), queue.pop()), (1, Some((Key::state(1), vec![0])), None));
        queue.put(Key::state(1), vec![0]).unwrap();
        queue.put(Key::EVENT, vec![]).unwrap();
        assert_eq!(queue.take(Key::state(1)), None, "an event waits");
    }
}
