//! Messages that arrived, by key.

use std::collections::BTreeMap;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::source::Seen;

/// Maximum number of keys that are shown separately. Further keys are only counted.
const KEYS_MAX: usize = 1_000;

/// Maximum number of events that are stored for display.
const EVENTS_MAX: usize = 50;

/// Maximum bytes that are stored of a value for display, and maximum characters of its description.
const SHOWN_BYTES_MAX: usize = 64;
const SHOWN_CHARS_MAX: usize = 512;

/// Averaging time of rates.
const SECOND: Duration = Duration::from_secs(1);

/// Counters of the messages that have arrived.
pub(super) struct Tally {
    pub(super) keys: BTreeMap<(u8, u64), Row>,
    pub(super) events: VecDeque<(Instant, u8, String)>,
    pub(super) messages: Rate,
    pub(super) bytes: Rate,
    pub(super) event_count: u64,
    pub(super) replicated: u64,
    /// Whether there were more keys than are shown separately.
    pub(super) has_more_keys: bool,
    turned_at: Instant,
}

/// One key.
pub(super) struct Row {
    pub(super) shown: String,
    pub(super) length: usize,
    pub(super) rate: Rate,
    pub(super) produced_at: Option<Instant>,
}

/// A count, and the rate at which it grows.
#[derive(Default)]
pub(super) struct Rate {
    pub(super) total: u64,
    recent: u64,
    pub(super) per_second: f64,
}

impl Rate {
    fn add(&mut self, count: u64) {
        self.total += count;
        self.recent += count;
    }

    fn turn(&mut self, elapsed: Duration) {
        self.per_second = self.recent as f64 / elapsed.as_secs_f64();
        self.recent = 0;
    }
}

impl Tally {
    pub(super) fn new(now: Instant) -> Tally {
        Tally {
            keys: BTreeMap::new(),
            events: VecDeque::new(),
            messages: Rate::default(),
            bytes: Rate::default(),
            event_count: 0,
            replicated: 0,
            has_more_keys: false,
            turned_at: now,
        }
    }

    pub(super) fn add(&mut self, message: &Seen) {
        self.messages.add(1);
        self.bytes.add(message.bytes.len() as u64);
        let shown: String = message.shown(SHOWN_BYTES_MAX).chars().take(SHOWN_CHARS_MAX).collect();
        match message.key {
            Some(key) => {
                let key = (message.lane, key);
                if self.keys.len() >= KEYS_MAX && !self.keys.contains_key(&key) {
                    self.has_more_keys = true;
                    return;
                }
                let row = self.keys.entry(key).or_insert_with(|| Row {
                    shown: String::new(),
                    length: 0,
                    rate: Rate::default(),
                    produced_at: message.produced_at,
                });
                row.shown = shown;
                row.length = message.bytes.len();
                row.produced_at = message.produced_at;
                row.rate.add(1);
            }
            None if message.kind == "replication" => self.replicated += 1,
            None => {
                self.event_count += 1;
                self.events.push_back((Instant::now(), message.lane, shown));
                if self.events.len() > EVENTS_MAX {
                    self.events.pop_front();
                }
            }
        }
    }

    /// Updates the rates once a second.
    pub(super) fn turn(&mut self, now: Instant) {
        let elapsed = now.saturating_duration_since(self.turned_at);
        if elapsed < SECOND {
            return;
        }
        self.turned_at = now;
        self.messages.turn(elapsed);
        self.bytes.turn(elapsed);
        for row in self.keys.values_mut() {
            row.rate.turn(elapsed);
        }
    }
}
