//! Early recovery: unacknowledged small events are sent again before any loss is known, within a budget (`spec/SESSION.md`,
//! section 10). So a single loss costs one send interval instead of a round trip.
//!
//! **Invariant**: early repetitions cost at most the budget, plus one repetition. The last one may put the budget into debt,
//! and while there is a debt, due repetitions are dropped.

use std::collections::VecDeque;
use std::time::Duration;

use super::lanes::{Departure, Lanes, REPEAT_BYTES_MAX};
use crate::lane::Bucket;
use crate::time::Time;

/// Maximum size of a repetition with its frame.
const REPEAT_ROOM: usize = REPEAT_BYTES_MAX as usize + 32;
/// Maximum content of a packet with a leading event: the event, and small messages that fit.
pub(super) const LEADING_BYTES: usize = REPEAT_BYTES_MAX as usize + 64;
/// The cost of an event that left in a separate packet: the headers of this packet on the link.
const LEADING_COST: usize = 80;
/// The waits before repetitions. The first repetition may get a separate packet. Later repetitions only use packets that leave
/// anyway.
const WAITS: [Duration; 4] = [
    Duration::from_millis(2),
    Duration::from_millis(12),
    Duration::from_millis(30),
    Duration::from_millis(60),
];
/// Time for which an unused budget can be saved.
const BUDGET_SECONDS: f64 = 0.5;

/// An event that may be repeated from a certain time on.
#[derive(Clone, Copy, Debug)]
struct Repetition {
    at: Time,
    lane: u8,
    number: u64,
}

/// The events that may be repeated before a loss is known, and the budget for these repetitions.
#[derive(Debug)]
pub(super) struct Redundancy {
    bytes_per_second: f64,
    /// The repetitions of each turn, in the order of their times.
    turns: [VecDeque<Repetition>; WAITS.len()],
    bucket: Bucket,
}

impl Redundancy {
    pub(super) fn new(bits_per_second: u32) -> Self {
        Self {
            bytes_per_second: f64::from(bits_per_second) / 8.0,
            turns: Default::default(),
            bucket: Bucket::default(),
        }
    }

    /// Records that an event of `length` bytes left for the first time.
    pub(super) fn bound(&mut self, now: Time, lane: u8, number: u64, length: u32) {
        if length > REPEAT_BYTES_MAX {
            return;
        }
        for (turn, wait) in self.turns.iter_mut().zip(WAITS) {
            turn.push_back(Repetition { at: now + wait, lane, number });
        }
    }

    /// Returns the time at which an event that was not yet repeated gets a separate packet.
    pub(super) fn due_at(&mut self, now: Time, lanes: &Lanes) -> Option<Time> {
        loop {
            let &Repetition { at, lane, number } = self.turns[0].front()?;
            if lanes.can_repeat(lane, number) && (at > now || self.tokens(now) >= 0.0) {
                return Some(at);
            }
            self.turns[0].pop_front();
        }
    }

    /// Repeats the due events in the packet that leaves now, within the budget.
    pub(super) fn repeat(&mut self, lanes: &mut Lanes, departure: &mut Departure<'_>) {
        let now = departure.now;
        for turn in 0..WAITS.len() {
            // Later repetitions use only the part of the budget that first repetitions are unlikely to need.
            let kept = if turn == 0 { 0.0 } else { self.tokens_max() / 2.0 };
            while let Some(&Repetition { lane, number, .. }) =
                self.turns[turn].front().filter(|repetition| repetition.at <= now)
            {
                let can_pay = lanes.can_repeat(lane, number) && self.tokens(now) >= kept;
                if can_pay && departure.builder.room() < REPEAT_ROOM {
                    return;
                }
                self.turns[turn].pop_front();
                if can_pay {
                    self.bucket.spend(lanes.repeat(lane, number, departure));
                }
            }
        }
    }

    /// Whether an event may lead a packet. Half of the budget must be left for first repetitions.
    pub(super) fn can_lead(&mut self, now: Time) -> bool {
        self.tokens(now) >= self.tokens_max() / 2.0
    }

    /// Records that a packet leaves for a single event.
    pub(super) fn led(&mut self) {
        self.bucket.spend(LEADING_COST);
    }

    fn tokens(&mut self, now: Time) -> f64 {
        if self.bytes_per_second == 0.0 {
            return -1.0;
        }
        self.bucket.tokens(now, self.bytes_per_second, self.tokens_max())
    }

    fn tokens_max(&self) -> f64 {
        self.bytes_per_second * BUDGET_SECONDS
    }
}
