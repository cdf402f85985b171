//! The receiving end of a lane. It releases messages in an order that follows the laws, whatever the order of packets.

use std::collections::VecDeque;
use std::collections::hash_map::Entry;
use std::time::Duration;

use nowcast_queue::{Bounds, Key, KeyMap, UpdatableQueue, Weigh};

use super::states::Parts;
use crate::error::Broken;
use crate::limits::{Limits, MESSAGE_COST, PART_BYTES};
use crate::packet::{EventHead, EventKind, Part, StateHead};
use crate::stats::Stats;
use crate::store::{Handle, Store};
use crate::time::Time;

/// Maximum number of unread payloads of a replication source. The oldest are dropped.
const REPLICATION_UNREAD_MAX: usize = 64;
/// Maximum number of consumed events before consumption is reported.
const REPORT_EVENTS: u64 = 256;
/// Maximum time before consumption is reported.
const REPORT_DELAY: Duration = Duration::from_secs(1);

/// A message that waits for the application.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrived {
    pub(crate) payload: Handle,
    pub(crate) length: u32,
    pub(crate) what: What,
    /// The time at which the message was produced, converted to our clock.
    pub(crate) at: Time,
}

/// The kind of the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    State { key: u64 },
    Event { number: u64, kind: EventKind },
    Replication { number: u64 },
}

impl Weigh for Arrived {
    fn bytes(&self) -> usize {
        self.length as usize
    }
}

/// The state of one open interval.
#[derive(Debug, Default)]
struct Interval {
    keys: KeyMap<Known>,
    /// Held values and their keys, in the order in which the keys first arrived.
    held: Vec<(Key, Arrived)>,
    /// Sum of the stamps in `keys`.
    sum: u64,
    cost: u64,
    event: Option<(EventHead, Arrived)>,
}

/// The greatest stamp of a key in an interval.
#[derive(Debug)]
struct Known {
    stamp: u64,
    cost: u64,
    /// The index of the key's value among the held values, while the interval is not open yet.
    held: u32,
}

/// A message in parts whose parts have not all arrived.
#[derive(Debug)]
struct Assembly {
    of: Of,
    payload: Handle,
    total: u64,
    parts: Box<Parts>,
    /// Kind and `before` of an event; `None` for a value.
    head: Option<EventHead>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Of {
    Event { number: u64 },
    State { interval: u64, key: u64, stamp: u64 },
}

/// The data that a lane needs to handle a frame.
pub(crate) struct ReceiveContext<'a> {
    pub(crate) store: &'a mut Store,
    pub(crate) stats: &'a mut Stats,
    pub(crate) limits: &'a Limits,
    /// The time at which the packet left, converted to our clock.
    pub(crate) left: Time,
    pub(crate) now: Time,
}

/// The receiving end of one lane.
#[derive(Debug)]
pub(crate) struct ReceiveLane {
    seed: u64,
    inbox: UpdatableQueue<Arrived>,
    /// The number of the next event to release. `intervals[0]` is the interval of this event, the open one.
    next: u64,
    intervals: VecDeque<Interval>,
    spare: Vec<Interval>,
    assemblies: Vec<Assembly>,
    assembly_cost: u64,
    /// Cost of all messages that are held, or released and not consumed.
    cost: u64,
    /// Costs of released intervals with their events, from `consumed` on.
    costs: VecDeque<u64>,
    /// Released events that are not shown. Each is stored as the number of inbox entries that were made before it. Such an event
    /// is not itself an entry of the inbox, because an event there would prevent later values from replacing earlier values.
    hidden: VecDeque<u64>,
    consumed: u64,
    reported: u64,
    unreported_cost: u64,
    report_at: Option<Time>,
    replication: VecDeque<Arrived>,
}

impl ReceiveLane {
    /// Makes a lane. `seed` prevents the peer from choosing keys that collide in our tables.
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            seed,
            inbox: UpdatableQueue::new(Bounds { entries_max: usize::MAX, bytes_max: usize::MAX }),
            next: 0,
            intervals: VecDeque::new(),
            spare: Vec::new(),
            assemblies: Vec::new(),
            assembly_cost: 0,
            cost: 0,
            costs: VecDeque::new(),
            hidden: VecDeque::new(),
            consumed: 0,
            reported: 0,
            unreported_cost: 0,
            report_at: None,
            replication: VecDeque::new(),
        }
    }

    /// Handles a value of `length` bytes. If the value is not stale, `payload` puts it into the store.
    pub(crate) fn state(
        &mut self,
        interval: u64,
        state: StateHead,
        length: usize,
        payload: impl FnOnce(&mut Store) -> Handle,
        context: &mut ReceiveContext<'_>,
    ) -> Result<(), Broken> {
        check_length(length as u64, context.limits)?;
        if interval < self.next {
            context.stats.dropped.stale_states += 1;
            return Ok(());
        }
        let key = self.mixed(state.key);
        let is_open = interval == self.next;
        let entry = self.interval(interval, context.limits)?;
        let known = entry.keys.entry(key);
        // Stamps of a key grow, so a packet that was overtaken carries an old value. The newer one stays.
        if matches!(&known, Entry::Occupied(known) if known.get().stamp >= state.stamp) {
            context.stats.dropped.stale_states += 1;
            return Ok(());
        }
        let at = context.left - Duration::from_millis(state.age_ms.min(AGE_MS_MAX));
        context.stats.freshness.record(context.now.since(at));
        let what = What::State { key: state.key };
        let arrived = Arrived { payload: payload(context.store), length: length as u32, what, at };
        let cost = length as u64 + MESSAGE_COST;
        let (more, replaced) = match known {
            Entry::Occupied(mut known) => {
                let known = known.get_mut();
                let more = cost.saturating_sub(known.cost);
                // A peer may choose stamps whose sum wraps. This affects only the peer's own messages.
                entry.sum = entry.sum.wrapping_sub(known.stamp).wrapping_add(state.stamp);
                known.stamp = state.stamp;
                known.cost += more;
                let held = entry.held.get_mut(known.held as usize).filter(|_| !is_open);
                (more, held.map(|(_, held)| std::mem::replace(held, arrived)))
            }
            Entry::Vacant(place) => {
                entry.sum = entry.sum.wrapping_add(state.stamp);
                let held = entry.held.len() as u32;
                if !is_open {
                    entry.held.push((key, arrived));
                }
                place.insert(Known { stamp: state.stamp, cost, held });
                (cost, None)
            }
        };
        entry.cost += more;
        // An event states the sum of the last stamps before it. The sum only grows towards it, and equality means complete.
        let overshoots = entry.event.is_some_and(|(head, _)| entry.sum > head.before);
        if let Some(old) = replaced {
            context.store.remove(old.payload);
            context.stats.conflated += 1;
        }
        self.cost += more;
        if is_open {
            self.release_state(key, arrived, context);
        }
        if overshoots {
            return Err(Broken::violation("a value after the last of its interval"));
        }
        self.check_cost(context.limits)?;
        self.release_events(context);
        Ok(())
    }

    fn is_stale(&mut self, interval: u64, key: u64, stamp: u64, limits: &Limits) -> Result<bool, Broken> {
        if interval < self.next {
            return Ok(true);
        }
        let key = self.mixed(key);
        let known = self.interval(interval, limits)?.keys.get(&key);
        Ok(known.is_some_and(|known| known.stamp >= stamp))
    }

    /// Handles a whole event.
    pub(crate) fn event(
        &mut self,
        head: EventHead,
        payload: &[u8],
        context: &mut ReceiveContext<'_>,
    ) -> Result<(), Broken> {
        check_length(payload.len() as u64, context.limits)?;
        if self.is_late(head.number, context.limits)? {
            context.stats.dropped.late_events += 1;
            return Ok(());
        }
        self.forget_assembly(Of::Event { number: head.number }, context.store);
        let handle = context.store.insert(payload);
        self.whole_event(head, handle, payload.len(), context)
    }

    fn is_late(&mut self, number: u64, limits: &Limits) -> Result<bool, Broken> {
        Ok(number < self.next || self.interval(number, limits)?.event.is_some())
    }

    fn whole_event(
        &mut self,
        head: EventHead,
        payload: Handle,
        length: usize,
        context: &mut ReceiveContext<'_>,
    ) -> Result<(), Broken> {
        let what = What::Event { number: head.number, kind: head.kind };
        let arrived = Arrived { payload, length: length as u32, what, at: context.left };
        let entry = self.interval(head.number, context.limits)?;
        entry.event = Some((head, arrived));
        let cost = length as u64 + MESSAGE_COST;
        entry.cost += cost;
        let overshoots = entry.sum > head.before;
        self.cost += cost;
        if overshoots {
            return Err(Broken::violation("an event with fewer values before it than there are"));
        }
        self.check_cost(context.limits)?;
        self.release_events(context);
        Ok(())
    }

    /// Handles a part of an event.
    pub(crate) fn event_part(
        &mut self,
        head: EventHead,
        part: Part<'_>,
        context: &mut ReceiveContext<'_>,
    ) -> Result<(), Broken> {
        check_length(part.total, context.limits)?;
        if self.is_late(head.number, context.limits)? {
            context.stats.dropped.late_events += 1;
            return Ok(());
        }
        let of = Of::Event { number: head.number };
        match self.assemble(of, Some(head), part, context)? {
            Some(payload) => self.whole_event(head, payload, part.total as usize, context),
            None => Ok(()),
        }
    }

    /// Handles a part of a value.
    pub(crate) fn state_part(
        &mut self,
        interval: u64,
        state: StateHead,
        part: Part<'_>,
        context: &mut ReceiveContext<'_>,
    ) -> Result<(), Broken> {
        check_length(part.total, context.limits)?;
        if self.is_stale(interval, state.key, state.stamp, context.limits)? {
            context.stats.dropped.stale_states += 1;
            return Ok(());
        }
        let of = Of::State { interval, key: state.key, stamp: state.stamp };
        match self.assemble(of, None, part, context)? {
            Some(payload) => self.state(interval, state, part.total as usize, |_| payload, context),
            None => Ok(()),
        }
    }

    /// Adds a part. Returns the payload once all parts have arrived.
    fn assemble(
        &mut self,
        of: Of,
        head: Option<EventHead>,
        part: Part<'_>,
        context: &mut ReceiveContext<'_>,
    ) -> Result<Option<Handle>, Broken> {
        let found = self.assemblies.iter().position(|assembly| is_same_message(assembly.of, of));
        let index = match found {
            Some(index) if self.assemblies[index].of == of => index,
            // A key has one assembly. Parts of its newer value replace it, and those of its older values are stale.
            Some(index) if is_older(of, self.assemblies[index].of) => {
                context.stats.dropped.stale_states += 1;
                return Ok(None);
            }
            other => {
                if let Some(index) = other {
                    self.drop_assembly(index, context.store);
                }
                let payload = context.store.insert_zeroed(part.total as usize);
                let parts = Parts::of(part.total as usize);
                self.assembly_cost += part.total + MESSAGE_COST;
                self.assemblies.push(Assembly { of, payload, total: part.total, parts, head });
                self.assemblies.len() - 1
            }
        };
        if self.assembly_cost > u64::from(context.limits.window_bytes) {
            return Err(Broken::limit("messages in parts beyond the window"));
        }
        let assembly = &mut self.assemblies[index];
        if assembly.total != part.total || assembly.head != head {
            return Err(Broken::violation("parts of one message disagree"));
        }
        let start = part.index as usize * PART_BYTES;
        let buffer = context.store.get_mut(assembly.payload);
        buffer[start..start + part.bytes.len()].copy_from_slice(part.bytes);
        if !assembly.parts.insert(part.index as u32) {
            return Ok(None);
        }
        self.assembly_cost -= part.total + MESSAGE_COST;
        Ok(Some(self.assemblies.swap_remove(index).payload))
    }

    fn forget_assembly(&mut self, of: Of, store: &mut Store) {
        if let Some(index) = self.assemblies.iter().position(|assembly| assembly.of == of) {
            self.drop_assembly(index, store);
        }
    }

    fn drop_assembly(&mut self, index: usize, store: &mut Store) {
        let assembly = self.assemblies.swap_remove(index);
        self.assembly_cost -= assembly.total + MESSAGE_COST;
        store.remove(assembly.payload);
    }

    /// Handles bytes of the peer's replication source. If too many payloads are unread, the oldest is dropped. The other contents
    /// of the dropped payload's packet are still delivered.
    pub(crate) fn replication(&mut self, number: u64, payload: &[u8], context: &mut ReceiveContext<'_>) {
        if self.replication.len() >= REPLICATION_UNREAD_MAX
            && let Some(oldest) = self.replication.pop_front()
        {
            context.store.remove(oldest.payload);
            context.stats.dropped.unread += 1;
        }
        let handle = context.store.insert(payload);
        let what = What::Replication { number };
        let length = payload.len() as u32;
        self.replication.push_back(Arrived { payload: handle, length, what, at: context.left });
    }

    /// Returns the next message for the application. The caller removes its payload from the store.
    pub(crate) fn poll(&mut self, now: Time) -> Option<Arrived> {
        if let Some(arrived) = self.replication.pop_front() {
            return Some(arrived);
        }
        let (key, arrived) = self.inbox.pop()?;
        if key.is_event() {
            self.consume_event(now);
        }
        self.consume_hidden(now);
        Some(arrived)
    }

    /// Consumes the hidden events. Such an event is consumed as soon as all messages that were released before it are consumed.
    fn consume_hidden(&mut self, now: Time) {
        let taken = self.inbox.counters().delivered;
        while self.hidden.front().is_some_and(|&before| before <= taken) {
            self.hidden.pop_front();
            self.consume_event(now);
        }
    }

    fn consume_event(&mut self, now: Time) {
        self.report_at.get_or_insert(now + REPORT_DELAY);
        let cost = self.costs.pop_front().unwrap_or(0);
        self.cost -= cost;
        self.unreported_cost += cost;
        self.consumed += 1;
    }

    /// Number of messages that wait for the application.
    pub(crate) fn unread(&self) -> usize {
        self.inbox.len() + self.replication.len()
    }

    /// Returns the time at which the consumed count is reported to the peer. After much consumption, the count is reported at
    /// once. Otherwise it is reported some time after the first consumed event.
    pub(crate) fn window_due(&self, limits: &Limits) -> Option<Time> {
        let is_much = self.unreported_cost >= u64::from(limits.window_bytes) / 8
            || self.consumed - self.reported >= REPORT_EVENTS;
        if is_much { Some(Time::default()) } else { self.report_at }
    }

    /// Returns the consumed count, if the peer does not know it yet.
    pub(crate) fn window(&self) -> Option<u64> {
        (self.report_at.is_some() || self.unreported_cost > 0).then_some(self.consumed)
    }

    /// Records that the consumed count was reported.
    pub(crate) fn window_sent(&mut self) {
        self.reported = self.consumed;
        self.unreported_cost = 0;
        self.report_at = None;
    }

    /// Records that the packet with the consumed count was lost.
    pub(crate) fn window_lost(&mut self, consumed: u64) {
        // A later report replaces a lost one. If there is none, this cost makes the report due at once.
        if consumed == self.reported {
            self.unreported_cost = u64::MAX / 2;
        }
    }

    fn release_state(&mut self, key: Key, arrived: Arrived, context: &mut ReceiveContext<'_>) {
        let put = self.inbox.exchange(key, arrived);
        debug_assert!(put.is_ok(), "the window bounds the inbox");
        if let Ok(Some(old)) = put {
            context.store.remove(old.payload);
            context.stats.conflated += 1;
        }
    }

    /// Releases the events whose interval is complete. With each event, releases the values held for the next interval.
    fn release_events(&mut self, context: &mut ReceiveContext<'_>) {
        while let Some(open) = self.intervals.front_mut() {
            let Some((head, arrived)) = open.event else { return };
            if open.sum != head.before {
                // Some value before the event has not arrived.
                return;
            }
            self.costs.push_back(open.cost);
            if matches!(head.kind, EventKind::Barrier | EventKind::Expired) {
                context.store.remove(arrived.payload);
                self.hidden.push_back(self.inbox.counters().queued);
            } else {
                let put = self.inbox.put(Key::EVENT, arrived);
                debug_assert!(put.is_ok(), "the window bounds the inbox");
            }
            self.next += 1;
            if let Some(mut done) = self.intervals.pop_front() {
                done.clear();
                self.spare.push(done);
                self.spare.truncate(SPARE_MAX);
            }
            self.consume_hidden(context.now);
            self.release_held(context);
        }
    }

    fn release_held(&mut self, context: &mut ReceiveContext<'_>) {
        let Some(open) = self.intervals.front_mut() else { return };
        let mut held = std::mem::take(&mut open.held);
        for (key, arrived) in held.drain(..) {
            self.release_state(key, arrived, context);
        }
        if let Some(open) = self.intervals.front_mut() {
            open.held = held;
        }
    }

    /// Returns the state of an interval that is open or in the future.
    fn interval(&mut self, interval: u64, limits: &Limits) -> Result<&mut Interval, Broken> {
        let ahead = interval - self.next;
        if interval - self.consumed > u64::from(limits.window_bytes) / MESSAGE_COST {
            return Err(Broken::limit("an event number beyond the window"));
        }
        while self.intervals.len() as u64 <= ahead {
            self.intervals.push_back(self.spare.pop().unwrap_or_default());
        }
        Ok(&mut self.intervals[ahead as usize])
    }

    fn check_cost(&self, limits: &Limits) -> Result<(), Broken> {
        if self.cost > u64::from(limits.window_bytes) {
            return Err(Broken::limit("messages beyond the window"));
        }
        Ok(())
    }

    /// Returns the key that our tables use: a permutation of `key` that the peer does not know.
    fn mixed(&self, key: u64) -> Key {
        let permute = |key: u64| {
            let mixed = (key ^ self.seed).wrapping_mul(self.seed.rotate_left(32) | 1);
            (mixed ^ (mixed >> 32)).wrapping_mul(0x9E37_79B9_7F4A_7C15)
        };
        // Key 0 is reserved for events. A key whose image would be 0 gets the image of key 0 instead. No state has key 0, so this
        // image is free.
        match permute(key) {
            0 => Key::from_raw(permute(0)),
            mixed => Key::from_raw(mixed),
        }
    }
}

impl Interval {
    fn clear(&mut self) {
        self.keys.clear();
        self.held.clear();
        self.sum = 0;
        self.cost = 0;
        self.event = None;
    }
}

/// Maximum number of cleared intervals that are kept for reuse of their memory.
const SPARE_MAX: usize = 2;
/// Greater ages are cut to one day, because they carry no information.
const AGE_MS_MAX: u64 = 86_400_000;

fn check_length(length: u64, limits: &Limits) -> Result<(), Broken> {
    if length > u64::from(limits.message_bytes_max) {
        return Err(Broken::limit("a message beyond message_bytes_max"));
    }
    Ok(())
}

/// Whether both parts belong to the same event, or to values of the same key and interval.
fn is_same_message(a: Of, b: Of) -> bool {
    match (a, b) {
        (Of::State { interval, key, .. }, Of::State { interval: other, key: other_key, .. }) => {
            interval == other && key == other_key
        }
        _ => a == b,
    }
}

fn is_older(a: Of, b: Of) -> bool {
    matches!((a, b), (Of::State { stamp, .. }, Of::State { stamp: other, .. }) if stamp < other)
}
