//! The values of a lane that were bound to packets and have not been acknowledged.

use nowcast_queue::{Key, KeyMap};
use slab::Slab;

use super::waiting::Waiting;
use crate::limits::{MESSAGE_COST, PART_BYTES};
use crate::store::{Handle, Store};
use crate::time::Time;

/// A value of one key: the last one that was bound in its interval.
#[derive(Debug)]
pub(crate) struct SentState {
    pub(crate) key: u64,
    pub(crate) interval: u64,
    pub(crate) stamp: u64,
    pub(crate) at: Time,
    pub(crate) length: u32,
    /// Greatest cost of any value of this key in this interval.
    cost: u32,
    payload: Option<Handle>,
    pub(crate) parts: Option<Box<Parts>>,
    /// No value of the key up to this stamp counts as lost: a later one arrived, or the interval began later.
    arrived: u64,
    /// Number of values lost in a row, at most [`OVERDUE_LOSSES`]. The key is then overdue until enough values arrived.
    losses: u8,
    /// Number of values that arrived in a row while the key is overdue.
    arrivals: u8,
    /// Whether the value was lost and is not sent again, because a newer value of its key waits for the same interval.
    pub(crate) gave_way: bool,
    /// A newer value that waits because parts of this one are in flight. This case is rare, and the box keeps the usual slot
    /// small.
    pub(crate) deferred: Option<Box<Waiting>>,
}

impl SentState {
    pub(crate) fn is_acknowledged(&self) -> bool {
        self.payload.is_none()
    }

    pub(crate) fn payload(&self) -> Option<Handle> {
        self.payload
    }

    fn is_wanted(&self, stamp: u64) -> bool {
        self.stamp == stamp && !self.is_acknowledged()
    }
}

/// Records which parts of a large message have arrived.
#[derive(Debug)]
pub(crate) struct Parts {
    arrived: Vec<bool>,
    missing: usize,
}

impl Parts {
    pub(crate) fn of(length: usize) -> Box<Self> {
        let count = length.div_ceil(PART_BYTES);
        Box::new(Self { arrived: vec![false; count], missing: count })
    }

    pub(crate) fn count(&self) -> u32 {
        self.arrived.len() as u32
    }

    pub(crate) fn has(&self, index: u32) -> bool {
        self.arrived[index as usize]
    }

    /// Records a part. Returns whether all parts have arrived now.
    pub(crate) fn insert(&mut self, index: u32) -> bool {
        if !std::mem::replace(&mut self.arrived[index as usize], true) {
            self.missing -= 1;
        }
        self.missing == 0
    }
}

/// The bound values of a lane, and the newest of each key.
#[derive(Debug, Default)]
pub(crate) struct SentStates {
    slots: Slab<SentState>,
    /// The largest number of slots in use since the last call of [`shrink`](Self::shrink).
    peak: usize,
    newest: KeyMap<u32>,
    /// The overdue keys of the open interval: the stamp of the last value that arrived, and the slot, in the order of the stamps.
    overdue: Vec<(u64, u32)>,
    /// The sum of the last stamps of all keys of the open interval.
    pub(crate) sum: u64,
    /// The cost of the open interval.
    pub(crate) cost: u64,
    keys_in_interval: usize,
    /// The number of keys in the interval before.
    keys_before: usize,
    unacknowledged: usize,
}

/// A key is overdue after this number of its values was lost in a row.
const OVERDUE_LOSSES: u8 = 2;
/// A key is overdue until this number of its values arrived in a row. If a policer drops the end of each burst, keys that went ahead
/// for a short time would be at the end again at once.
const OVERDUE_ARRIVALS: u8 = 16;
/// Maximum number of overdue keys. Each packet examines all of them.
const OVERDUE_MAX: usize = 256;
/// Memory for twice this number of slots and keys is never freed.
const SPARE_SLOTS: usize = 16;
/// Above this number of keys, unused keys are removed at intervals.
const SWEEP_KEYS_MIN: usize = 64;

impl SentStates {
    /// The value in a slot that is in use. The slot of an arrived value may be free or hold another value.
    pub(crate) fn get(&self, slot: u32) -> Option<&SentState> {
        self.slots.get(slot as usize)
    }

    pub(crate) fn get_mut(&mut self, slot: u32) -> Option<&mut SentState> {
        self.slots.get_mut(slot as usize)
    }

    /// The value of this stamp, if it must still be sent: it was not replaced in its interval and has not arrived.
    pub(crate) fn wanted_mut(&mut self, slot: u32, stamp: u64) -> Option<&mut SentState> {
        self.get_mut(slot).filter(|state| state.is_wanted(stamp))
    }

    /// The value in a slot, and the newer one that waits behind it.
    pub(crate) fn deferred(&self, slot: u32) -> Option<(&SentState, &Waiting)> {
        self.get(slot).and_then(|state| Some((state, state.deferred.as_deref()?)))
    }

    pub(crate) fn newest(&self, key: u64) -> Option<u32> {
        self.newest.get(&Key::from_raw(key)).copied()
    }

    pub(crate) fn unacknowledged(&self) -> usize {
        self.unacknowledged
    }

    /// Returns the cost that a further value of a key would add to the open interval. The newest value of this key is in slot
    /// `newest`.
    pub(crate) fn cost_of(&self, newest: Option<u32>, length: usize, interval: u64) -> u64 {
        let cost = length as u64 + MESSAGE_COST;
        match newest.and_then(|slot| self.get(slot)) {
            Some(state) if state.interval == interval => cost.saturating_sub(state.cost.into()),
            _ => cost,
        }
    }

    /// Binds a value of a key. The newest value of this key is in slot `newest`. Returns the slot of the bound value, and whether
    /// it superseded a value that had not arrived.
    pub(crate) fn bind(
        &mut self,
        key: u64,
        newest: Option<u32>,
        value: &Waiting,
        stamp: u64,
        interval: u64,
        store: &mut Store,
    ) -> (u32, bool) {
        self.cost += self.cost_of(newest, value.length as usize, interval);
        self.sum += stamp;
        // A lane takes no message whose cost needs more bits.
        let cost = value.length.saturating_add(MESSAGE_COST as u32);
        let reusable = newest.filter(|&slot| {
            self.get_mut(slot).is_some_and(|state| {
                state.deferred = None;
                state.interval == interval || state.is_acknowledged()
            })
        });
        let Some(slot) = reusable else {
            self.keys_in_interval += 1;
            self.unacknowledged += 1;
            let slot = self.insert(SentState {
                key,
                interval,
                stamp,
                at: value.at,
                length: value.length,
                cost,
                payload: Some(value.payload),
                parts: None,
                arrived: stamp - 1,
                losses: 0,
                arrivals: 0,
                gave_way: false,
                deferred: None,
            });
            self.newest.insert(Key::from_raw(key), slot);
            return (slot, false);
        };
        let state = &mut self.slots[slot as usize];
        let superseded = state.payload.replace(value.payload);
        if state.interval == interval {
            self.sum -= state.stamp;
            state.cost = state.cost.max(cost);
        } else {
            self.keys_in_interval += 1;
            state.interval = interval;
            state.cost = cost;
            (state.arrived, state.losses, state.arrivals) = (stamp - 1, 0, 0);
        }
        state.stamp = stamp;
        state.at = value.at;
        state.length = value.length;
        state.parts = None;
        state.gave_way = false;
        match superseded {
            Some(payload) => store.remove(payload),
            None => self.unacknowledged += 1,
        }
        (slot, superseded.is_some())
    }

    /// Records that a whole value in this slot arrived. The value need not be the newest of its key.
    pub(crate) fn note_arrival(&mut self, slot: u32, stamp: u64) {
        let Some(state) = self.slots.get_mut(slot as usize).filter(|state| stamp > state.arrived) else {
            return;
        };
        let before = std::mem::replace(&mut state.arrived, stamp);
        if state.losses < OVERDUE_LOSSES {
            state.losses = 0;
            return;
        }
        state.arrivals += 1;
        if let Ok(index) = self.overdue.binary_search(&(before, slot)) {
            self.overdue.remove(index);
        }
        if state.arrivals == OVERDUE_ARRIVALS {
            (state.losses, state.arrivals) = (0, 0);
        } else {
            self.insert_overdue(stamp, slot);
        }
    }

    /// Records that a whole value in this slot was lost.
    pub(crate) fn note_loss(&mut self, slot: u32, stamp: u64, interval: u64) {
        let state = self.slots.get_mut(slot as usize);
        let Some(state) = state.filter(|state| state.interval == interval && stamp > state.arrived) else {
            return;
        };
        state.losses = (state.losses + 1).min(OVERDUE_LOSSES);
        if state.losses == OVERDUE_LOSSES {
            state.arrivals = 0;
            let arrived = state.arrived;
            self.insert_overdue(arrived, slot);
        }
    }

    fn insert_overdue(&mut self, arrived: u64, slot: u32) {
        if let Err(index) = self.overdue.binary_search(&(arrived, slot))
            && self.overdue.len() < OVERDUE_MAX
        {
            self.overdue.insert(index, (arrived, slot));
        }
    }

    /// Returns the overdue key at this index. The key whose last arrived value left first comes first.
    pub(crate) fn overdue(&self, index: usize) -> Option<&SentState> {
        self.overdue.get(index).and_then(|&(_, slot)| self.get(slot))
    }

    /// Records that the value has arrived. The slot of the value may be free afterwards.
    pub(crate) fn acknowledge(&mut self, slot: u32, store: &mut Store) {
        let Some(state) = self.slots.get_mut(slot as usize) else { return };
        let Some(payload) = state.payload.take() else { return };
        state.parts = None;
        let key = state.key;
        store.remove(payload);
        self.unacknowledged -= 1;
        if self.newest(key) != Some(slot) {
            self.slots.remove(slot as usize);
        }
    }

    /// Closes the open interval, because an event was bound.
    pub(crate) fn close_interval(&mut self) {
        self.keys_before = std::mem::take(&mut self.keys_in_interval);
        self.sum = 0;
        self.cost = 0;
        // The last values of a closed interval are sent until they arrive.
        self.overdue.clear();
    }

    /// Whether a barrier may close the open interval so that its keys are forgotten: there are at least `keys_min`, and all values
    /// have arrived. The peer then releases the barrier at once.
    pub(crate) fn can_be_forgotten(&self, keys_min: usize) -> bool {
        self.keys_in_interval >= keys_min && self.unacknowledged == 0
    }

    /// Forgets all keys, after a barrier closed an interval whose values [have arrived](Self::can_be_forgotten).
    pub(crate) fn forget_arrived(&mut self) {
        debug_assert!(self.unacknowledged == 0, "lost values are sent again");
        self.slots.clear();
        self.newest.clear();
        self.keys_before = 0;
    }

    /// Frees memory after a burst of new keys. Keeps memory for twice the peak since the last call. Slots cannot move, so the last
    /// slot in use limits how far the list shrinks.
    pub(crate) fn shrink(&mut self, open_interval: u64) {
        let keys = self.keys_before.max(self.keys_in_interval);
        if self.newest.len() > SWEEP_KEYS_MIN.max(4 * keys) {
            self.sweep(open_interval);
        }
        let kept = 2 * (std::mem::replace(&mut self.peak, self.slots.len()) + SPARE_SLOTS);
        if self.slots.capacity() > kept {
            self.slots.shrink_to_fit();
        }
        if self.newest.capacity() > 2 * kept {
            self.newest.shrink_to(kept);
        }
    }

    /// Returns all values that have not arrived.
    pub(crate) fn wanted(&self) -> impl Iterator<Item = (u32, &SentState)> {
        let states = self.slots.iter().filter(|(_, state)| !state.is_acknowledged());
        states.map(|(slot, state)| (slot as u32, state))
    }

    fn insert(&mut self, state: SentState) -> u32 {
        if self.slots.len() == self.slots.capacity() {
            // A client in a crowd has a thousand keys, so the list grows by less than its own size.
            self.slots.reserve_exact(self.slots.len() / 4 + SPARE_SLOTS);
        }
        let slot = self.slots.insert(state) as u32;
        self.peak = self.peak.max(self.slots.len());
        slot
    }

    /// Removes the arrived values of closed intervals. A new value of their keys gets a new slot.
    fn sweep(&mut self, open_interval: u64) {
        let slots = &mut self.slots;
        self.newest.retain(|_, &mut slot| {
            let slot = slot as usize;
            let is_done = slots.get(slot).is_some_and(|state| {
                state.interval < open_interval && state.is_acknowledged() && state.deferred.is_none()
            });
            if is_done {
                slots.remove(slot);
            }
            !is_done
        });
    }
}

#[cfg(test)]
mod tests {
    use nowcast_queue::Key;

    use super::*;
    use crate::packet::EventKind;

    fn bind(states: &mut SentStates, store: &mut Store, key: u64, stamp: u64, interval: u64) -> u32 {
        let value = Waiting {
            kind: EventKind::Event,
            id: 0,
            at: Time::from_millis(0),
            length: 1,
            payload: store.insert(&[7]),
            expires: None,
        };
        states.bind(key, states.newest(key), &value, stamp, interval, store).0
    }

    #[test]
    fn late_outcomes_of_forgotten_values_change_no_later_value_in_their_slot() {
        let (mut states, mut store) = (SentStates::default(), Store::default());
        let slot = bind(&mut states, &mut store, 1, 1, 0);
        assert!(!states.can_be_forgotten(1), "the value has not arrived");
        states.acknowledge(slot, &mut store);
        assert!(states.can_be_forgotten(1) && !states.can_be_forgotten(2));
        states.close_interval();
        states.forget_arrived();
        assert_eq!(states.newest(Key::state(1).raw()), None);
        assert_eq!(bind(&mut states, &mut store, 2, 2, 1), slot, "the slot is free");
        for _ in 0..OVERDUE_LOSSES {
            states.note_loss(slot, 1, 1);
        }
        states.note_arrival(slot, 1);
        assert!(states.wanted_mut(slot, 1).is_none() && states.overdue(0).is_none());
        assert!(states.wanted_mut(slot, 2).is_some());
    }

    #[test]
    fn after_a_burst_of_keys_the_memory_of_arrived_values_is_freed_and_late_outcomes_find_nothing() {
        let (mut states, mut store) = (SentStates::default(), Store::default());
        let slots: Vec<u32> =
            (1..=1_000).map(|number| bind(&mut states, &mut store, number, number, 0)).collect();
        slots.iter().skip(1).for_each(|&slot| states.acknowledge(slot, &mut store));
        states.shrink(0);
        states.close_interval();
        states.shrink(1);
        assert_eq!(states.slots.len(), 1_000, "the next interval may have the same keys");
        states.close_interval();
        states.shrink(2);
        assert_eq!(states.slots.len(), 1);
        assert!(states.slots.capacity() >= 1_000, "all were in use since the last call");
        states.shrink(2);
        assert!(states.slots.capacity() <= 2 * (1 + SPARE_SLOTS), "{}", states.slots.capacity());
        assert!(states.newest.capacity() <= 4 * (1 + SPARE_SLOTS), "{}", states.newest.capacity());
        assert_eq!(states.wanted().map(|(_, state)| state.key).collect::<Vec<_>>(), [1]);
        // Another copy of an arrived value may be lost, or arrive, when its slot is gone.
        states.note_loss(slots[999], 1_000, 2);
        states.note_arrival(slots[999], 1_000);
        assert!(states.wanted_mut(slots[999], 1_000).is_none());
        assert_eq!(states.newest(Key::state(1_000).raw()), None);
    }
}
