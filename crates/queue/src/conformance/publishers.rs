//! The suite for publishers: the laws of the queue for many subscribers that join, leave and stall.
//!
//! There are two kinds of cases, as for queues. In **lockstep** cases every message is compared with a model of the subscriber.
//! The subscriber may receive nothing, the next event, or the newest value of a key that waits before that event. Such keys may
//! come in any order, but no key may come twice while another key waits. In **concurrent** cases each subscriber reads in its
//! own thread, and each record must follow the [`laws`].
//!
//! ```
//! use nowcast_queue::conformance::publishers::{InProcess, Suite};
//!
//! Suite { seed: 1, cases: 100 }.run(&InProcess).unwrap();
//! ```

use super::{Random, laws};
use crate::in_process::{self, Publisher, Subscriber};
use crate::{Bounds, Key, PublicationBounds, Receiver, Refusal};
use std::collections::{HashMap, HashSet, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A kind of publisher under test.
pub trait Implementation {
    /// The putting end.
    type Publisher: Publish;
    /// The name of the implementation in reports.
    const NAME: &'static str;
    /// Makes a publisher without subscribers.
    fn publisher(&self, bounds: PublicationBounds) -> Self::Publisher;
}

/// The sender of a publisher under test.
pub trait Publish {
    /// The receiver of one subscriber.
    type Subscriber: Receiver + Send;
    /// Puts a value for all subscribers.
    ///
    /// # Errors
    /// [`Refusal::TooLarge`], or [`Refusal::Full`] for a new key or a larger value.
    fn put(&mut self, key: Key, value: &[u8]) -> Result<(), Refusal>;
    /// Adds a subscriber.
    fn subscribe(&mut self) -> Self::Subscriber;
}

/// The implementation of [`in_process::publisher`].
#[derive(Debug, Clone, Copy)]
pub struct InProcess;

impl Implementation for InProcess {
    type Publisher = Publisher<Arc<[u8]>>;
    const NAME: &'static str = "publisher in process";

    fn publisher(&self, bounds: PublicationBounds) -> Self::Publisher {
        in_process::publisher(bounds)
    }
}

impl Publish for Publisher<Arc<[u8]>> {
    type Subscriber = Subscriber<Arc<[u8]>>;

    fn put(&mut self, key: Key, value: &[u8]) -> Result<(), Refusal> {
        Publisher::put(self, key, value.into()).map(drop).map_err(|refused| refused.refusal)
    }

    fn subscribe(&mut self) -> Self::Subscriber {
        Publisher::subscribe(self)
    }
}

/// The size of a test run, and its seed.
#[derive(Debug, Clone, Copy)]
pub struct Suite {
    /// Seed of the suite. Case `n` is made from `seed + n`.
    pub seed: u64,
    /// Number of cases; every tenth is concurrent.
    pub cases: u64,
}

/// Counts of a passed suite.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Passed {
    /// Cases compared with the model.
    pub lockstep: u64,
    /// Cases with one thread for each subscriber.
    pub concurrent: u64,
    /// Messages that subscribers received.
    pub delivered: u64,
    /// Subscribers that were closed because they fell behind.
    pub behind: u64,
}

/// A case that broke the contract.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The implementation.
    pub implementation: &'static str,
    /// The seed of the case. `Suite { seed, cases: 1 }` runs the case again.
    pub seed: u64,
    /// The violation.
    pub what: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} (seed {})", self.implementation, self.what, self.seed)
    }
}

impl std::error::Error for Failure {}

impl Suite {
    /// Runs all cases. Stops at the first failure.
    ///
    /// # Errors
    /// The failing case.
    pub fn run<I: Implementation>(&self, implementation: &I) -> Result<Passed, Failure> {
        let mut passed = Passed::default();
        for seed in self.seed..self.seed + self.cases {
            let case = if seed % 10 == 9 {
                concurrently(implementation, seed, &mut passed)
            } else {
                in_lockstep(implementation, seed, &mut passed)
            };
            case.map_err(|what| Failure { implementation: I::NAME, seed, what })?;
        }
        Ok(passed)
    }
}

const SUBSCRIBERS_MAX: usize = 4;

/// The messages that one subscriber must receive.
#[derive(Debug, Default)]
struct Expected {
    /// The intervals that the subscriber has not received completely. Every interval except the last one ends with an event.
    intervals: VecDeque<Interval>,
    /// For each key delivered in the first interval: the keys that waited at that time and have not been delivered since.
    owed: HashMap<Key, HashSet<Key>>,
    /// The size of the messages that were put after the subscriber had last received everything. No implementation may store more
    /// for the subscriber.
    unread: Bounds,
}

#[derive(Debug, Default)]
struct Interval {
    states: Vec<(Key, Vec<u8>)>,
    event: Option<Vec<u8>>,
}

impl Expected {
    fn new(newest: &[(Key, Vec<u8>)]) -> Expected {
        let interval = Interval { states: newest.to_vec(), event: None };
        let bytes_max = newest.iter().map(|(_, value)| value.len()).sum();
        let unread = Bounds { entries_max: newest.len(), bytes_max };
        Expected { intervals: VecDeque::from([interval]), owed: HashMap::new(), unread }
    }

    fn put(&mut self, key: Key, value: &[u8]) {
        self.unread.entries_max += 1;
        self.unread.bytes_max += value.len();
        let Some(open) = self.intervals.back_mut() else { return };
        if key.is_event() {
            open.event = Some(value.to_vec());
            self.intervals.push_back(Interval::default());
        } else {
            replace_or_push(&mut open.states, key, value);
        }
    }

    fn check(
        &mut self,
        got: &Result<Option<(Key, Vec<u8>)>, Refusal>,
        backlog: Bounds,
    ) -> Result<(), String> {
        let Some(first) = self.intervals.front_mut() else { return Err("no interval is open".to_owned()) };
        let waiting =
            first.states.iter().position(|(key, _)| matches!(got, Ok(Some((other, _))) if key == other));
        match (got, waiting) {
            (Ok(Some((key, value))), Some(index)) if first.states[index].1 == *value => {
                first.states.remove(index);
                self.owed.values_mut().for_each(|owed| _ = owed.remove(key));
                let owed = first.states.iter().map(|(key, _)| *key).collect();
                match self.owed.insert(*key, owed) {
                    Some(owed) if !owed.is_empty() => {
                        Err(format!("law 5: {key:?} came twice while {owed:?} waited"))
                    }
                    _ => Ok(()),
                }
            }
            (Ok(Some((key, value))), None)
                if key.is_event() && first.states.is_empty() && first.event.as_ref() == Some(value) =>
            {
                self.intervals.pop_front();
                self.owed.clear();
                Ok(())
            }
            (Ok(None), _) if first.states.is_empty() && first.event.is_none() => {
                self.unread = Bounds { entries_max: 0, bytes_max: 0 };
                Ok(())
            }
            (Err(Refusal::Behind), _)
                if self.unread.entries_max > backlog.entries_max
                    || self.unread.bytes_max > backlog.bytes_max =>
            {
                Ok(())
            }
            _ => Err(format!("got {got:?}, while {first:?} waited")),
        }
    }
}

fn replace_or_push(states: &mut Vec<(Key, Vec<u8>)>, key: Key, value: &[u8]) {
    match states.iter_mut().find(|(other, _)| *other == key) {
        Some((_, old)) => *old = value.to_vec(),
        None => states.push((key, value.to_vec())),
    }
}

/// Runs random operations, and compares each subscriber's messages with those that the model allows.
fn in_lockstep<I: Implementation>(implementation: &I, seed: u64, passed: &mut Passed) -> Result<(), String> {
    let random = &mut Random::new(seed);
    let bounds = PublicationBounds {
        newest: Bounds {
            entries_max: 1 + random.below(10) as usize,
            bytes_max: [600, 3_000][random.below(2) as usize],
        },
        backlog: Bounds { entries_max: [3, 20, 1_000][random.below(3) as usize], bytes_max: 4_000 },
    };
    let (keys, events_percent) = (1 + random.below(12), [0, 10, 40][random.below(3) as usize]);
    let gets_percent = [20, 50, 70, 85][random.below(4) as usize];
    let mut publisher = implementation.publisher(bounds);
    let mut newest: Vec<(Key, Vec<u8>)> = Vec::new();
    let mut readers = vec![(publisher.subscribe(), Expected::new(&newest))];
    for step in 0..20 + random.below(200) as usize {
        match random.below(100) {
            0..=2 if readers.len() < SUBSCRIBERS_MAX => {
                readers.push((publisher.subscribe(), Expected::new(&newest)))
            }
            3 if readers.len() > 1 => drop(readers.swap_remove(random.below(readers.len() as u64) as usize)),
            percent if percent < gets_percent && !readers.is_empty() => {
                // The first subscribers read more often than the last ones.
                let chosen =
                    random.below(readers.len() as u64).min(random.below(readers.len() as u64)) as usize;
                get(&mut readers, chosen, bounds, passed).map_err(|what| format!("step {step}: {what}"))?;
            }
            _ => {
                let key = if random.percent(events_percent) { 0 } else { 1 + random.below(keys) };
                let large = random.percent(5);
                let value = laws::value(step, random.below(if large { 700 } else { 40 }) as usize);
                put(&mut publisher, &mut readers, &mut newest, bounds, Key::from_raw(key), &value)
                    .map_err(|what| format!("step {step}: {what}"))?;
            }
        }
    }
    while !readers.is_empty() {
        let before = readers.len();
        while get(&mut readers, 0, bounds, passed)? {}
        let fell_behind = readers.len() < before;
        if !fell_behind && before == 1 {
            break;
        }
        readers.drain(..usize::from(!fell_behind));
    }
    drop(publisher);
    if let Some((reader, _)) = readers.first_mut() {
        let end = reader.try_get(&mut Vec::new());
        if end != Err(Refusal::Closed) {
            return Err(format!("a get after the close: {end:?}"));
        }
    }
    passed.lockstep += 1;
    Ok(())
}

fn put<P: Publish>(
    publisher: &mut P,
    readers: &mut [(P::Subscriber, Expected)],
    newest: &mut Vec<(Key, Vec<u8>)>,
    bounds: PublicationBounds,
    key: Key,
    value: &[u8],
) -> Result<(), String> {
    let mut after = newest.clone();
    if !key.is_event() {
        replace_or_push(&mut after, key, value);
    }
    let bytes: usize = after.iter().map(|(_, value)| value.len()).sum();
    let fits = after.len() <= bounds.newest.entries_max && bytes <= bounds.newest.bytes_max;
    let alone_max = if key.is_event() {
        bounds.backlog.bytes_max
    } else {
        bounds.newest.bytes_max.min(bounds.backlog.bytes_max)
    };
    let want = match value.len() {
        bytes if bytes > alone_max => Err(Refusal::TooLarge { bytes, bytes_max: alone_max }),
        _ if fits => Ok(()),
        _ => Err(Refusal::Full),
    };
    let done = publisher.put(key, value);
    if done != want {
        return Err(format!("put {key:?}, {} bytes: got {done:?}, the model has {want:?}", value.len()));
    }
    if done.is_ok() {
        *newest = after;
        readers.iter_mut().for_each(|(_, expected)| expected.put(key, value));
    }
    Ok(())
}

/// Gets once. Returns whether there was a message. Removes a reader that fell behind.
fn get<R: Receiver>(
    readers: &mut Vec<(R, Expected)>,
    chosen: usize,
    bounds: PublicationBounds,
    passed: &mut Passed,
) -> Result<bool, String> {
    let (reader, expected) = &mut readers[chosen];
    let mut value = Vec::new();
    let got = reader.try_get(&mut value).map(|key| key.map(|key| (key, value)));
    expected.check(&got, bounds.backlog).map_err(|what| format!("subscriber {chosen}: {what}"))?;
    passed.delivered += u64::from(matches!(got, Ok(Some(_))));
    if got == Err(Refusal::Behind) {
        passed.behind += 1;
        drop(readers.swap_remove(chosen));
        return Ok(false);
    }
    Ok(matches!(got, Ok(Some(_))))
}

/// Puts in one thread, while every subscriber gets in a separate thread. Then checks the laws for each subscriber.
fn concurrently<I: Implementation>(implementation: &I, seed: u64, passed: &mut Passed) -> Result<(), String> {
    let random = &mut Random::new(seed);
    let mut publisher = implementation.publisher(PublicationBounds::default());
    let (keys, events_percent) = (1 + random.below(8), [0, 5, 30][random.below(3) as usize]);
    // A wait this long happens only if a wake-up is lost.
    let deadline = Some(Instant::now() + Duration::from_secs(20));
    let mut puts = Vec::new();
    let records = std::thread::scope(|scope| {
        let mut readers = Vec::new();
        for put in 0..random.below(400) as usize {
            if readers.len() < SUBSCRIBERS_MAX && (put == 0 || random.percent(2)) {
                let (mut reader, joined) = (publisher.subscribe(), puts.len());
                let stalls = random.below(100);
                readers.push(scope.spawn(move || (joined, read_all(&mut reader, stalls, deadline))));
            }
            let key =
                if random.percent(events_percent) { Key::EVENT } else { Key::state(1 + random.below(keys)) };
            let value = laws::value(puts.len(), random.below(60) as usize);
            publisher.put(key, &value).map_err(|refusal| format!("a put ended with: {refusal}"))?;
            puts.push(key);
            if random.percent(10) {
                std::thread::yield_now();
            }
        }
        drop(publisher);
        let joined =
            readers.into_iter().map(|reader| reader.join().map_err(|_| "a reader panicked".to_owned()));
        joined.collect::<Result<Vec<_>, String>>()
    })?;
    for (joined, record) in records {
        let record = record?;
        passed.delivered += record.len() as u64;
        check(&puts, joined, &record, laws::Ended::Drained)?;
    }
    passed.concurrent += 1;
    Ok(())
}

/// Checks the record of a subscriber that joined before put number `joined`. Earlier events do not exist for this subscriber.
///
/// # Errors
/// A description of the violated law.
pub fn check(puts: &[Key], joined: usize, gets: &[(Key, usize)], ended: laws::Ended) -> Result<(), String> {
    let visible: Vec<usize> = (0..puts.len()).filter(|&put| put >= joined || !puts[put].is_event()).collect();
    let keys: Vec<Key> = visible.iter().map(|&put| puts[put]).collect();
    let number = |put: usize| visible.binary_search(&put).unwrap_or(usize::MAX);
    let gets: Vec<(Key, usize)> = gets.iter().map(|&(key, put)| (key, number(put))).collect();
    laws::check(&keys, &gets, ended).map_err(|violation| format!("joined at {joined}: {violation}"))
}

fn read_all(
    reader: &mut impl Receiver,
    stalls_percent: u64,
    deadline: Option<Instant>,
) -> Result<Vec<(Key, usize)>, String> {
    let (mut gets, mut value) = (Vec::new(), Vec::new());
    let mut random = Random::new(stalls_percent);
    loop {
        match reader.get(&mut value, deadline) {
            Ok(key) => gets.push((key, laws::put_of(&value).ok_or("a value was torn")?)),
            Err(Refusal::Closed) => return Ok(gets),
            Err(refusal) => return Err(format!("a get ended with: {refusal}")),
        }
        if random.percent(stalls_percent) {
            std::thread::yield_now();
        }
    }
}
