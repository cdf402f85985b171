//! The sending end of a lane. It binds values and events to packets at the last moment, and again after losses.

mod bulk;
mod fill;
mod inspect;
mod outcome;
mod retransmit;

use std::collections::VecDeque;

use nowcast_queue::{Key, UpdatableQueue};

pub use self::inspect::{Backlog, WaitingMessage};
use super::states::{Parts, SentStates};
use super::waiting::Waiting;
use super::{Bucket, LaneConfig, WAITING_BYTES};
use crate::builder::Builder;
use crate::error::Refused;
use crate::limits::{Limits, MESSAGE_COST, PART_BYTES};
use crate::packet::{EventHead, EventKind, Part, StateHead, varint_length, write};
use crate::sent::{Item, SentPackets};
use crate::stats::Stats;
use crate::store::{Handle, Store};
use crate::time::Time;

/// An event that was bound to a packet and has not been acknowledged.
#[derive(Debug)]
struct SentEvent {
    kind: EventKind,
    /// Sum of the last stamps of all keys in the interval that this event closes. The peer releases the event when its own
    /// sum is equal, because then the last value of each key has arrived.
    before: u64,
    id: u64,
    length: u32,
    /// `None` once the event is acknowledged or expired.
    payload: Option<Handle>,
    is_acknowledged: bool,
    /// Number of packets that carry the whole event and are neither acknowledged nor lost.
    in_flight: u32,
    is_lost: bool,
    parts: Option<Box<Parts>>,
}

/// A large message of which some parts have never been sent.
#[derive(Clone, Copy, Debug)]
struct Job {
    what: Large,
    next: u32,
    count: u32,
}

#[derive(Clone, Copy, Debug)]
enum Large {
    Event(u64),
    State { slot: u32, stamp: u64 },
}

/// A lost message that may have to be sent again.
#[derive(Clone, Copy, Debug)]
enum Retransmission {
    Event { number: u64, part: Option<u32> },
    State { slot: u32, stamp: u64, part: Option<u32> },
}

/// The data that a lane needs to fill a packet.
pub(crate) struct SendContext<'a, 'b> {
    pub(crate) now: Time,
    pub(crate) builder: &'a mut Builder<'b>,
    pub(crate) store: &'a mut Store,
    pub(crate) sent: &'a mut SentPackets,
    pub(crate) stats: &'a mut Stats,
    /// Messages up to this length are sent whole.
    pub(crate) whole_max: usize,
    pub(crate) limits: &'a Limits,
    /// The events bound in this call that may be repeated, and the commands that await replies.
    pub(crate) bound: &'a mut Vec<Bound>,
}

/// An event that was bound to a packet and got its number at that time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bound {
    pub(crate) lane: u8,
    pub(crate) number: u64,
    pub(crate) id: u64,
    pub(crate) is_command: bool,
    pub(crate) length: u32,
}

/// The sending end of one lane.
#[derive(Debug)]
pub(crate) struct SendLane {
    lane: u8,
    pub(crate) config: LaneConfig,
    queue: UpdatableQueue<Waiting>,
    /// The largest number of messages that waited since the last call of [`shrink`](Self::shrink).
    waiting_peak: usize,
    events_waiting: usize,
    /// The part of the budget for events that is used.
    events_cost: usize,
    /// Memory of the events that wait.
    event_bytes: usize,
    next_id: u64,
    states: SentStates,
    next_stamp: u64,
    /// `next_stamp` at the last call of [`shrink`](Self::shrink).
    shrunk_stamp: u64,
    /// Whether a barrier is due: no state has been sent for a while, and the lane's keys can be forgotten.
    is_idle: bool,
    /// The first stamp of the present round. A round lasts until all messages that waited at its beginning have left the queue.
    round: u64,
    /// The end of the queue at the beginning of the round.
    round_end: u64,
    events: VecDeque<SentEvent>,
    events_first: u64,
    jobs: VecDeque<Job>,
    retransmissions: VecDeque<Retransmission>,
    /// Slots with a deferred value, in the order in which the values were deferred.
    deferred: Vec<u32>,
    /// Cost of each closed interval with its event, from `consumed` on.
    costs: VecDeque<u64>,
    /// The sum of `costs`: the part of the peer's window that closed intervals use.
    closed_cost: u64,
    consumed: u64,
    /// Whether a packet with room got nothing from this lane. Until something changes, asking again is useless.
    is_stuck: bool,
    bucket: Bucket,
    /// Number of bytes sent, divided by the weight. Lanes take turns by this value.
    pub(crate) turn: u64,
}

impl SendLane {
    pub(crate) fn new(lane: u8, config: LaneConfig) -> Self {
        Self {
            lane,
            config,
            queue: UpdatableQueue::new(config.bounds),
            waiting_peak: 0,
            events_waiting: 0,
            events_cost: 0,
            event_bytes: 0,
            next_id: 0,
            states: SentStates::default(),
            next_stamp: 1,
            shrunk_stamp: 1,
            is_idle: false,
            round: 1,
            round_end: 0,
            events: VecDeque::new(),
            events_first: 0,
            jobs: VecDeque::new(),
            retransmissions: VecDeque::new(),
            deferred: Vec::new(),
            costs: VecDeque::new(),
            closed_cost: 0,
            consumed: 0,
            is_stuck: false,
            bucket: Bucket::default(),
            turn: 0,
        }
    }

    /// Puts the newest value of `key` (greater than 0).
    pub(crate) fn put_state(
        &mut self,
        now: Time,
        key: u64,
        value: &[u8],
        store: &mut Store,
        stats: &mut Stats,
    ) -> Result<(), Refused> {
        let key = Key::from_raw(key);
        let waiting = Waiting {
            payload: store.insert(value),
            length: value.len() as u32,
            at: now,
            kind: EventKind::Event,
            expires: None,
            id: 0,
        };
        match self.queue.exchange(key, waiting) {
            Ok(None) => {}
            Ok(Some(old)) => {
                store.remove(old.payload);
                stats.superseded += 1;
            }
            Err(refused) => {
                store.remove(refused.value.payload);
                return Err(Refused::Full);
            }
        }
        self.is_stuck = false;
        self.waiting_peak = self.waiting_peak.max(self.queue.len());
        Ok(())
    }

    /// Puts an event, command or reply. Returns its id.
    pub(crate) fn put_event(
        &mut self,
        now: Time,
        kind: EventKind,
        payload: &[u8],
        expires: Option<Time>,
        store: &mut Store,
    ) -> Result<u64, Refused> {
        if self.events_cost > self.config.event_bytes_max {
            return Err(Refused::Full);
        }
        let waiting = Waiting {
            payload: store.insert(payload),
            length: payload.len() as u32,
            at: now,
            kind,
            expires,
            id: self.next_id,
        };
        if let Err(refused) = self.queue.put(Key::EVENT, waiting) {
            store.remove(refused.value.payload);
            return Err(Refused::Full);
        }
        self.is_stuck = false;
        self.waiting_peak = self.waiting_peak.max(self.queue.len());
        self.events_waiting += 1;
        self.events_cost += self.event_cost(payload.len());
        self.event_bytes += payload.len() + WAITING_BYTES;
        self.next_id += 1;
        Ok(waiting.id)
    }

    /// The part of the budget for events that an event uses.
    fn event_cost(&self, length: usize) -> usize {
        length.min(self.config.event_bytes_max / 4) + WAITING_BYTES
    }

    /// Whether this lane would put something into a packet with room.
    pub(crate) fn has_more(&mut self, now: Time) -> bool {
        let waits = !self.queue.is_empty()
            || !self.deferred.is_empty()
            || !self.jobs.is_empty()
            || !self.retransmissions.is_empty()
            || self.is_idle;
        waits && !self.is_stuck && self.may_send(now)
    }

    /// Whether the first message is an unsent event of at most this size.
    pub(crate) fn event_leads(&self, bytes_max: u32) -> bool {
        let is_new = self.retransmissions.is_empty() && self.jobs.is_empty() && self.deferred.is_empty();
        let leads = |(key, waiting): (Key, &Waiting)| key.is_event() && waiting.length <= bytes_max;
        is_new && self.queue.peek().is_some_and(leads)
    }

    /// Number of messages that wait to be sent for the first time.
    pub(crate) fn waiting(&self) -> usize {
        self.queue.len()
    }

    /// Whether parts of a large message must leave before any new message.
    pub(crate) fn is_sending_parts(&self) -> bool {
        !self.jobs.is_empty()
    }

    /// Frees memory that only a burst of messages needed.
    pub(crate) fn shrink(&mut self) {
        let is_quiet = std::mem::replace(&mut self.shrunk_stamp, self.next_stamp) == self.next_stamp;
        self.is_idle = is_quiet && self.can_forget_idle();
        let peak = std::mem::replace(&mut self.waiting_peak, self.queue.len());
        self.queue.shrink_to(2 * peak);
        let interval = self.interval();
        self.states.shrink(interval);
    }

    /// Whether a barrier may close the open interval so that its keys are forgotten, if there are at least `keys_min`.
    fn can_forget(&self, keys_min: usize) -> bool {
        let keys_min = keys_min.min(self.config.known_keys_max).max(1);
        self.deferred.is_empty() && self.states.can_be_forgotten(keys_min)
    }

    /// Whether a lane that sends no states may forget its keys. Values of forgotten keys cost credit again, so the peer must have
    /// consumed all earlier intervals. Values of known keys need no credit, and reach a peer that consumes nothing.
    fn can_forget_idle(&self) -> bool {
        self.queue.is_empty() && self.costs.is_empty() && self.can_forget(IDLE_KEYS_MIN)
    }

    /// Adapts to a carrier with another packet size.
    pub(crate) fn change_carrier(&mut self) {
        self.is_stuck = false;
    }

    /// Whether all messages that were put have arrived.
    pub(crate) fn is_drained(&self) -> bool {
        let defers = self.deferred.iter().any(|&slot| self.states.deferred(slot).is_some());
        self.queue.is_empty() && !defers && self.events.is_empty() && self.states.unacknowledged() == 0
    }

    /// Returns the interval in which values are bound at present: the number of the next event.
    fn interval(&self) -> u64 {
        self.events_first + self.events.len() as u64
    }

    /// Binds a value of a key. The newest bound value of this key is in slot `newest`. Returns `false` if there is no room or no
    /// credit.
    fn bind_state(
        &mut self,
        key: u64,
        mut newest: Option<u32>,
        waiting: &Waiting,
        context: &mut SendContext<'_, '_>,
    ) -> bool {
        let length = waiting.length as usize;
        let mut more = self.states.cost_of(newest, length, self.interval());
        let window = u64::from(context.limits.window_bytes);
        // The peer credits whole intervals, and only an event closes one. Without an event, a barrier closes the interval while
        // half of the window is left, so that credit keeps coming.
        let crowded = more > 0 && self.states.cost > 0 && self.states.cost + more > window / 2;
        // A known key costs nothing, and it must not wait for credit. So only a new key closes the interval of many others.
        let forgets = newest.is_none() && self.can_forget(self.config.known_keys_max);
        if crowded || forgets {
            let is_closed = self.bind_event(None, context);
            if crowded && !is_closed {
                return false;
            }
            if forgets && is_closed {
                self.states.forget_arrived();
            }
            // The barrier began another interval, in which the key may need another slot.
            newest = self.states.newest(key);
            more = self.states.cost_of(newest, length, self.interval());
        }
        let interval = self.interval();
        if self.closed_cost + self.states.cost + more > window {
            return false;
        }
        let stamp = self.next_stamp;
        // One large message at a time: the next one would only delay the last part of the first.
        let is_large = length > context.whole_max;
        if is_large && !self.jobs.is_empty() {
            return false;
        }
        if !is_large {
            let age_ms = context.now.since(waiting.at).as_millis() as u64;
            let head = StateHead { key, stamp, age_ms };
            if !context.builder.state(self.lane, interval, head, context.store.get(waiting.payload)) {
                return false;
            }
        }
        // From here on the value is in the packet, so nothing may fail.
        self.next_stamp += 1;
        let (slot, superseded) = self.states.bind(key, newest, waiting, stamp, interval, context.store);
        context.stats.superseded += u64::from(superseded);
        context.stats.states_sent += 1;
        context.stats.payload_bytes_sent += (length + varint_length(key)) as u64;
        if is_large {
            let parts = Parts::of(length);
            let job = Job { what: Large::State { slot, stamp }, next: 0, count: parts.count() };
            if let Some(state) = self.states.get_mut(slot) {
                state.parts = Some(parts);
            }
            self.jobs.push_back(job);
            self.fill_jobs(context);
        } else {
            context.sent.push_item(Item::State { lane: self.lane, slot, stamp, part: None });
        }
        true
    }

    /// Binds an event, or a barrier if `waiting` is `None`. Returns `false` if there is no room or no credit.
    fn bind_event(&mut self, waiting: Option<&Waiting>, context: &mut SendContext<'_, '_>) -> bool {
        let length = waiting.map_or(0, |waiting| waiting.length);
        let cost = self.states.cost + u64::from(length) + MESSAGE_COST;
        if self.closed_cost + cost > u64::from(context.limits.window_bytes) {
            return false;
        }
        let number = self.interval();
        let kind = waiting.map_or(EventKind::Barrier, |waiting| waiting.kind);
        let head = EventHead { lane: self.lane, number, kind, before: self.states.sum };
        let is_large = length as usize > context.whole_max;
        if is_large && !self.jobs.is_empty()
            || !is_large && event_length(head, length as usize) > context.builder.room()
        {
            return false;
        }
        if waiting.is_none() {
            // `before` counts these values, and their newer values will belong to the next interval.
            self.recall_what_gave_way();
        }
        self.events.push_back(SentEvent {
            kind,
            before: head.before,
            id: waiting.map_or(u64::MAX, |waiting| waiting.id),
            length,
            payload: waiting.map(|waiting| waiting.payload),
            is_acknowledged: false,
            in_flight: 0,
            is_lost: false,
            parts: is_large.then(|| Parts::of(length as usize)),
        });
        self.costs.push_back(cost);
        self.closed_cost += cost;
        self.states.close_interval();
        if let Some(waiting) = waiting {
            context.stats.events_sent += 1;
            context.stats.payload_bytes_sent += u64::from(length);
            let is_command = kind == EventKind::Command;
            context.bound.push(Bound { lane: self.lane, number, id: waiting.id, is_command, length });
        } else {
            context.stats.barriers_made += 1;
        }
        if is_large {
            let count = (length as usize).div_ceil(PART_BYTES) as u32;
            self.jobs.push_back(Job { what: Large::Event(number), next: 0, count });
            self.fill_jobs(context);
            true
        } else {
            self.write_event(number, None, context, false)
        }
    }

    /// Writes an event or a part of it, if it is still needed. Returns `false` if there is no room.
    fn write_event(
        &mut self,
        number: u64,
        part: Option<u32>,
        context: &mut SendContext<'_, '_>,
        is_again: bool,
    ) -> bool {
        let lane = self.lane;
        let Some(event) = self.event_mut(number) else { return true };
        let is_done = event.is_acknowledged
            || part.is_some_and(|part| event.parts.as_ref().is_none_or(|parts| parts.has(part)));
        if is_done || part.is_none() && is_again && !event.is_lost {
            return true;
        }
        if part.is_none() && event.length as usize > context.whole_max {
            // A resumed session may run on a carrier with smaller packets, so the event may need parts now.
            let parts = event.parts.get_or_insert_with(|| Parts::of(event.length as usize));
            let job = Job { what: Large::Event(number), next: 0, count: parts.count() };
            event.is_lost = false;
            self.jobs.push_back(job);
            return true;
        }
        let head = EventHead { lane, number, kind: event.kind, before: event.before };
        let payload = event.payload.map_or(&[][..], |payload| context.store.get(payload));
        if event_length(head, part.map_or(payload.len(), |_| PART_BYTES)) > context.builder.room() {
            return false;
        }
        match part {
            None => {
                event.is_lost = false;
                event.in_flight += 1;
                context.builder.frame(|out| write::event(out, head, payload));
            }
            Some(index) => {
                let part = part_of(payload, index);
                context.builder.frame(|out| write::event_part(out, head, part));
            }
        }
        context.sent.push_item(Item::Event { lane, number, part });
        context.stats.events_resent += u64::from(is_again);
        true
    }

    fn event_mut(&mut self, number: u64) -> Option<&mut SentEvent> {
        let index = number.checked_sub(self.events_first)?;
        self.events.get_mut(index as usize)
    }
}

fn part_of(payload: &[u8], index: u32) -> Part<'_> {
    let start = index as usize * PART_BYTES;
    let end = (start + PART_BYTES).min(payload.len());
    Part { total: payload.len() as u64, index: index.into(), bytes: &payload[start..end] }
}

/// An upper bound of the length of an EVENT or EVENT_PART frame.
fn event_length(head: EventHead, length: usize) -> usize {
    let answers = match head.kind {
        EventKind::Reply(command) => varint_length(command),
        _ => 0,
    };
    2 + varint_length(head.number) + varint_length(head.before) + answers + PART_FIELDS_BYTES_MAX + length
}

/// Maximum encoded size of the length field of a message, or of the total and index fields together, within the limits of this
/// crate.
const PART_FIELDS_BYTES_MAX: usize = 5;
/// A lane that has sent no state for a while forgets its keys if there are at least this many.
const IDLE_KEYS_MIN: usize = 32;
/// Maximum overhead of a frame in addition to its payload. If a packet has room for this and the longest whole message, any frame
/// fits.
const FRAME_BYTES_MAX: usize = 32;
