//! One sender and many receivers: an updatable queue that is stored once for all receivers.

use crate::{Bounds, Key, KeyMap, Put, Refusal, Refused, Weigh};
use std::collections::VecDeque;

/// Holds the newest state of each key and every event, stored once for any number of subscribers. Each subscriber reads at its
/// own pace. A publication has no threads, no clock and no IO.
///
/// [`put`](Self::put) takes the same time for one subscriber as for a thousand, because it visits no subscriber.
/// [`subscribe`](Self::subscribe) adds a subscriber, which receives the newest value of every key and then all later messages.
/// [`peek`](Self::peek) and [`pop`](Self::pop) deliver to a subscriber the same messages as an
/// [`UpdatableQueue`](crate::UpdatableQueue) would. A value is read only when it is delivered.
///
/// **Implementation.** Every message has a *place*, counted from the first message ever, and a log lists the places in order. A
/// value that no subscriber has received is replaced in place. If a subscriber has received the value, its successor gets a place
/// at the end of the log, and the old place becomes void. The log therefore has one place for each key. It has further places
/// only for messages that a slow subscriber still needs: events, and the last values before them (the *backlog*). A subscriber
/// lists the entries that changed since its last *round*, delivers each with its newest value, and begins another round. A value
/// that moves during the round still belongs to the round. The values that were delivered last wait longest in the next round, so
/// no key starves another.
///
/// ```
/// use nowcast_queue::{Key, Publication, PublicationBounds};
///
/// let mut tracker = Publication::new(PublicationBounds::default());
/// tracker.put(Key::state(1), b"left".to_vec()).unwrap();
/// let (fast, slow) = (tracker.subscribe(), tracker.subscribe());
/// assert_eq!(tracker.pop(fast), Ok(Some((Key::state(1), b"left".to_vec())))); // what there was before it came
/// tracker.put(Key::state(1), b"right".to_vec()).unwrap();
/// tracker.put(Key::EVENT, b"click".to_vec()).unwrap();
/// for subscriber in [fast, slow] {
///     assert_eq!(tracker.pop(subscriber), Ok(Some((Key::state(1), b"right".to_vec())))); // the newest, once
///     assert_eq!(tracker.pop(subscriber), Ok(Some((Key::EVENT, b"click".to_vec()))));
///     assert_eq!(tracker.pop(subscriber), Ok(None));
/// }
/// ```
#[derive(Debug)]
pub struct Publication<V> {
    bounds: PublicationBounds,
    /// The places, each with the node that is or was there. If a place is void, its node is now somewhere else.
    log: VecDeque<(u64, u32)>,
    nodes: Vec<Node<V>>,
    free: Vec<u32>,
    /// The node of the newest value of each key.
    newest: KeyMap<u32>,
    newest_bytes: usize,
    /// The size of the entries that only slow subscribers need: events, and values that were replaced after an event.
    backlog: Weight,
    next_place: u64,
    /// Number of events that were put.
    events: u64,
    versions: u64,
    /// The length at which the log is cleaned next.
    log_max: usize,
    subscribers: Vec<Option<Subscriber>>,
    count: usize,
    /// Whether there were ever two subscribers at the same time.
    is_shared: bool,
    counters: PublicationCounters,
}

#[derive(Debug)]
struct Node<V> {
    key: Key,
    /// `None` while the node is free.
    value: Option<V>,
    place: u64,
    /// Counts puts. By this number a subscriber knows whether it has received the value.
    version: u64,
    /// Whether a subscriber has received the value. If so, the next value needs a new place at the end of the log.
    is_seen: bool,
    /// The interval of the value: the number of earlier events.
    interval: u64,
    /// The node of the next value of this key, in a later interval.
    successor: Option<u32>,
    /// Number of subscribers that still have the node in their first round.
    pins: u32,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Weight {
    entries: usize,
    bytes: usize,
}

#[derive(Debug, Default)]
struct Subscriber {
    /// The subscriber has finished all earlier places.
    floor: u64,
    /// The round covers the places before this one.
    end: u64,
    /// The nodes still to be delivered in this round.
    round: VecDeque<u32>,
    /// Nodes that moved behind the end of the round before the round delivered them, each with its version at that time.
    ahead: Vec<(u32, u64)>,
    /// The keys that were delivered in the last round, in order.
    delivered: Vec<Key>,
    /// The interval in which the subscriber joined. This field is set during the first round, whose nodes are pinned.
    joining: Option<u64>,
    is_behind: bool,
}

/// Identifies a subscriber of a [`Publication`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SubscriberId(u32);

/// Limits of a publication, for any number of subscribers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PublicationBounds {
    /// Maximum number of keys, and maximum size in bytes of all newest values together.
    pub newest: Bounds,
    /// Limit of the entries that slow subscribers have not received yet: events, and the last values before them. If the backlog
    /// exceeds this limit by a quarter, the slowest subscribers are closed until the backlog is within the limit.
    pub backlog: Bounds,
}

impl Default for PublicationBounds {
    /// Returns limits of 16,384 keys and 16 MiB, and a backlog of 4,096 entries and 4 MiB.
    fn default() -> Self {
        PublicationBounds {
            newest: Bounds { entries_max: 16_384, bytes_max: 16 << 20 },
            backlog: Bounds { entries_max: 4_096, bytes_max: 4 << 20 },
        }
    }
}

/// Counters of a publication.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PublicationCounters {
    /// Puts of states that replaced a value before any subscriber had received it.
    pub replaced: u64,
    /// All other puts.
    pub queued: u64,
    /// Puts that were refused.
    pub refused: u64,
    /// Delivered messages of all subscribers.
    pub delivered: u64,
    /// Subscribers that were closed because they fell behind.
    pub behind: u64,
}

impl<V: Weigh> Publication<V> {
    /// Makes an empty publication without subscribers.
    #[must_use]
    pub fn new(bounds: PublicationBounds) -> Self {
        Publication {
            bounds,
            log: VecDeque::new(),
            nodes: Vec::new(),
            free: Vec::new(),
            newest: KeyMap::default(),
            newest_bytes: 0,
            backlog: Weight::default(),
            next_place: 0,
            events: 0,
            versions: 0,
            log_max: LOG_MIN,
            subscribers: Vec::new(),
            count: 0,
            is_shared: false,
            counters: PublicationCounters::default(),
        }
    }

    /// Puts a value for all subscribers. [`Put::Replaced`] means that no subscriber had received the previous value.
    ///
    /// # Errors
    /// Returns the value with [`Refusal::Full`] if the newest values would exceed [`PublicationBounds::newest`]. Returns it with
    /// [`Refusal::TooLarge`] if it could never fit. A slow subscriber never causes a refusal.
    pub fn put(&mut self, key: Key, value: V) -> Result<Put, Refused<V>> {
        let put = if key.is_event() { self.put_event(value) } else { self.put_state(key, value) };
        match put {
            Ok(Put::Queued) => self.counters.queued += 1,
            Ok(Put::Replaced) => self.counters.replaced += 1,
            Err(_) => self.counters.refused += 1,
        }
        if self.log.len() > self.log_max || self.has_outgrown(5) {
            self.clean();
        }
        put
    }

    fn put_event(&mut self, value: V) -> Result<Put, Refused<V>> {
        let (value, bytes) = check(value, self.bounds.backlog.bytes_max)?;
        self.backlog.add(bytes);
        self.append(Key::EVENT, value);
        self.events += 1;
        Ok(Put::Queued)
    }

    fn put_state(&mut self, key: Key, value: V) -> Result<Put, Refused<V>> {
        let Bounds { entries_max, bytes_max } = self.bounds.newest;
        let (value, bytes) = check(value, bytes_max.min(self.bounds.backlog.bytes_max))?;
        let Some(&index) = self.newest.get(&key) else {
            if self.newest.len() >= entries_max || self.newest_bytes + bytes > bytes_max {
                return Err(Refused { refusal: Refusal::Full, value });
            }
            self.newest_bytes += bytes;
            let index = self.append(key, value);
            self.newest.insert(key, index);
            return Ok(Put::Queued);
        };
        let old_bytes = self.nodes[index as usize].bytes();
        if self.newest_bytes - old_bytes + bytes > bytes_max {
            return Err(Refused { refusal: Refusal::Full, value });
        }
        self.newest_bytes = self.newest_bytes - old_bytes + bytes;
        let node = &mut self.nodes[index as usize];
        if node.interval < self.events {
            // The old value was the last one before an event, and a subscriber may still need it.
            self.backlog.add(old_bytes);
            let successor = self.append(key, value);
            self.nodes[index as usize].successor = Some(successor);
            self.newest.insert(key, successor);
            return Ok(Put::Queued);
        }
        self.versions += 1;
        node.value = Some(value);
        node.version = self.versions;
        if !std::mem::take(&mut node.is_seen) {
            return Ok(Put::Replaced);
        }
        node.place = self.next_place;
        self.log.push_back((self.next_place, index));
        self.next_place += 1;
        Ok(Put::Queued)
    }

    fn append(&mut self, key: Key, value: V) -> u32 {
        let place = self.next_place;
        self.next_place += 1;
        self.versions += 1;
        let node = Node {
            key,
            value: Some(value),
            place,
            version: self.versions,
            is_seen: false,
            interval: self.events,
            successor: None,
            pins: 0,
        };
        let index = match self.free.pop() {
            Some(index) => {
                self.nodes[index as usize] = node;
                index
            }
            None => {
                self.nodes.push(node);
                (self.nodes.len() - 1) as u32
            }
        };
        self.log.push_back((place, index));
        index
    }

    /// Adds a subscriber. The subscriber receives the newest value of every key, and then all later messages. It receives no
    /// earlier event.
    pub fn subscribe(&mut self) -> SubscriberId {
        let round: VecDeque<u32> = self.live_from(0).filter(|&index| self.is_newest(index)).collect();
        round.iter().for_each(|&index| self.nodes[index as usize].pins += 1);
        let (floor, end) = (self.next_place, self.next_place);
        let subscriber =
            Subscriber { floor, end, round, joining: Some(self.events), ..Subscriber::default() };
        self.count += 1;
        self.is_shared |= self.count > 1;
        match self.subscribers.iter().position(Option::is_none) {
            Some(index) => {
                self.subscribers[index] = Some(subscriber);
                SubscriberId(index as u32)
            }
            None => {
                self.subscribers.push(Some(subscriber));
                SubscriberId((self.subscribers.len() - 1) as u32)
            }
        }
    }

    /// Removes a subscriber.
    ///
    /// # Panics
    /// If the subscriber was already removed.
    pub fn unsubscribe(&mut self, id: SubscriberId) {
        let subscriber = self.subscribers[id.0 as usize].take().expect("a subscriber is forgotten once");
        self.unpin(&subscriber);
        self.count -= 1;
    }

    /// Returns the message that [`pop`](Self::pop) would deliver to a subscriber.
    ///
    /// # Errors
    /// [`Refusal::Behind`] from the moment at which the subscriber was closed because of its backlog.
    ///
    /// # Panics
    /// If the subscriber was removed.
    pub fn peek(&mut self, id: SubscriberId) -> Result<Option<(Key, &V)>, Refusal> {
        let next = self.next(id)?;
        Ok(next.and_then(|index| {
            let node = &self.nodes[index as usize];
            node.value.as_ref().map(|value| (node.key, value))
        }))
    }

    /// Delivers the next message to a subscriber.
    ///
    /// # Errors
    /// Like [`peek`](Self::peek).
    ///
    /// # Panics
    /// If the subscriber was removed.
    pub fn pop(&mut self, id: SubscriberId) -> Result<Option<(Key, V)>, Refusal>
    where
        V: Clone,
    {
        let Some(index) = self.next(id)? else { return Ok(None) };
        let node = &mut self.nodes[index as usize];
        let (place, version) = (node.place, node.version);
        let message = node.value.clone().map(|value| (node.key, value));
        node.is_seen = true;
        self.counters.delivered += 1;
        if let Some(subscriber) = &mut self.subscribers[id.0 as usize] {
            let in_round = subscriber.round.pop_front();
            subscriber.delivered.push(self.nodes[index as usize].key);
            if place >= subscriber.end {
                subscriber.ahead.push((index, version));
            }
            if let (Some(pinned), Some(_)) = (in_round, subscriber.joining) {
                self.nodes[pinned as usize].pins -= 1;
            }
            if subscriber.round.is_empty() {
                subscriber.floor = subscriber.end;
                subscriber.joining = None;
            }
        }
        Ok(message)
    }

    /// Returns the next node of a subscriber.
    fn next(&mut self, id: SubscriberId) -> Result<Option<u32>, Refusal> {
        // The subscriber is removed from the map while the log is read for it.
        let mut subscriber =
            self.subscribers[id.0 as usize].take().expect("the subscriber was not forgotten");
        while subscriber.round.is_empty() && !subscriber.is_behind && subscriber.end < self.next_place {
            self.begin_round(&mut subscriber);
        }
        let next = subscriber.round.front().map(|&index| self.value_for(&subscriber, index));
        let next = if subscriber.is_behind { Err(Refusal::Behind) } else { Ok(next) };
        self.subscribers[id.0 as usize] = Some(subscriber);
        next
    }

    /// Returns the node to deliver for a node of a round. For a joining subscriber, all intervals up to the one in which it
    /// joined count as one interval. The subscriber does not receive the events between these intervals.
    fn value_for(&self, subscriber: &Subscriber, index: u32) -> u32 {
        let node = &self.nodes[index as usize];
        let successor = node.successor.filter(|_| subscriber.joining.is_some());
        successor
            .filter(|&successor| Some(self.nodes[successor as usize].interval) == subscriber.joining)
            .unwrap_or(index)
    }

    /// Begins a round. Collects the changes since the last round, up to the next event. An event forms a separate round.
    fn begin_round(&self, subscriber: &mut Subscriber) {
        let before = subscriber.end;
        subscriber.end = self.next_place;
        subscriber.joining = None;
        subscriber.ahead.sort_unstable();
        for index in self.live_from(before) {
            let node = &self.nodes[index as usize];
            if node.key.is_event() {
                let is_first = subscriber.round.is_empty();
                subscriber.end = if is_first { node.place + 1 } else { node.place };
                subscriber.round.extend(is_first.then_some(index));
                break;
            }
            if subscriber.ahead.binary_search(&(index, node.version)).is_err() {
                subscriber.round.push_back(index);
            }
        }
        // All of these nodes moved within the interval in which the last round began.
        subscriber.ahead.clear();
        self.put_in_turn(subscriber);
        subscriber.floor = if subscriber.round.is_empty() { subscriber.end } else { before };
    }

    /// Moves the keys of the previous round to the end of this round, the latest delivery last. Otherwise these keys could
    /// precede a key that has waited longer, because the log also moves a value that another subscriber has received.
    fn put_in_turn(&self, subscriber: &mut Subscriber) {
        let Subscriber { round, delivered, .. } = subscriber;
        if self.is_shared && round.len() > 1 && !delivered.is_empty() {
            let turns: KeyMap<usize> = delivered.iter().copied().zip(1..).collect();
            let turn = |&index: &u32| turns.get(&self.nodes[index as usize].key).copied().unwrap_or(0);
            round.make_contiguous().sort_by_key(turn);
        }
        delivered.clear();
    }

    /// Returns the nodes at `place` and later, in order.
    fn live_from(&self, place: u64) -> impl Iterator<Item = u32> {
        let start = self.log.partition_point(|&(other, _)| other < place);
        let rest = self.log.range(start..);
        rest.filter(|&&(place, index)| self.nodes[index as usize].place == place).map(|&(_, index)| index)
    }

    fn is_newest(&self, index: u32) -> bool {
        self.newest.get(&self.nodes[index as usize].key) == Some(&index)
    }

    /// Whether the backlog is larger than this many quarters of its limit.
    fn has_outgrown(&self, quarters: usize) -> bool {
        let Bounds { entries_max, bytes_max } = self.bounds.backlog;
        self.backlog.entries.saturating_mul(4) > entries_max.saturating_mul(quarters)
            || self.backlog.bytes.saturating_mul(4) > bytes_max.saturating_mul(quarters)
    }

    /// Removes the entries that every subscriber has received. Closes the slowest subscribers while the backlog is too large.
    /// The puts since the last run pay for the cost: either there was at least one put for each visited entry and subscriber,
    /// or the puts grew the backlog by a quarter of its limit.
    fn clean(&mut self) {
        self.forget();
        while self.has_outgrown(4) && self.close_slowest() {
            self.forget();
        }
        self.log_max = 2 * self.log.len() + self.subscribers.len() + LOG_MIN;
    }

    fn forget(&mut self) {
        let active = self.subscribers.iter().flatten().filter(|subscriber| !subscriber.is_behind);
        let floor = active.map(|subscriber| subscriber.floor).min().unwrap_or(self.next_place);
        let Publication { log, nodes, newest, free, backlog, .. } = self;
        log.retain(|&(place, index)| {
            let node = &mut nodes[index as usize];
            if node.place != place {
                return false;
            }
            if node.place >= floor || node.pins > 0 || newest.get(&node.key) == Some(&index) {
                return true;
            }
            backlog.remove(node.bytes());
            // No place has this number, so all references to this node in the log become void.
            (node.value, node.place) = (None, u64::MAX);
            free.push(index);
            false
        });
    }

    /// Closes the subscribers that need the oldest entries.
    fn close_slowest(&mut self) -> bool {
        let active = || self.subscribers.iter().flatten().filter(|subscriber| !subscriber.is_behind);
        let Some(floor) = active().map(|subscriber| subscriber.floor).min() else { return false };
        for index in 0..self.subscribers.len() {
            let slowest = self.subscribers[index].as_mut();
            if let Some(slowest) = slowest.filter(|slowest| slowest.floor == floor && !slowest.is_behind) {
                let closed =
                    std::mem::replace(slowest, Subscriber { is_behind: true, ..Subscriber::default() });
                self.unpin(&closed);
                self.counters.behind += 1;
            }
        }
        true
    }

    /// Releases the nodes that a leaving subscriber has not received yet.
    fn unpin(&mut self, subscriber: &Subscriber) {
        if subscriber.joining.is_some() {
            subscriber.round.iter().for_each(|&index| self.nodes[index as usize].pins -= 1);
        }
    }

    /// Number of subscribers.
    #[must_use]
    pub fn subscribers(&self) -> usize {
        self.count
    }

    /// Number of keys with a value.
    #[must_use]
    pub fn keys(&self) -> usize {
        self.newest.len()
    }

    /// Number of entries stored for slow subscribers. Some subscribers may have received them since.
    #[must_use]
    pub fn backlog(&self) -> usize {
        self.backlog.entries
    }

    /// The weight of all stored values.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.newest_bytes + self.backlog.bytes
    }

    /// The limits of the publication.
    #[must_use]
    pub fn bounds(&self) -> PublicationBounds {
        self.bounds
    }

    /// Returns the counters.
    #[must_use]
    pub fn counters(&self) -> PublicationCounters {
        self.counters
    }
}

/// Minimum length of a log that is cleaned.
const LOG_MIN: usize = 64;

fn check<V: Weigh>(value: V, bytes_max: usize) -> Result<(V, usize), Refused<V>> {
    let bytes = value.bytes();
    if bytes > bytes_max {
        return Err(Refused { refusal: Refusal::TooLarge { bytes, bytes_max }, value });
    }
    Ok((value, bytes))
}

impl<V: Weigh> Node<V> {
    fn bytes(&self) -> usize {
        self.value.as_ref().map_or(0, Weigh::bytes)
    }
}

impl Weight {
    fn add(&mut self, bytes: usize) {
        self.entries += 1;
        self.bytes += bytes;
    }

    fn remove(&mut self, bytes: usize) {
        self.entries -= 1;
        self.bytes -= bytes;
    }
}
