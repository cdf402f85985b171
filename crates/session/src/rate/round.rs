//! A round: the packets that arrived from one acknowledgement until that of a packet sent after it.

use std::time::Duration;

use crate::time::Time;

/// Rounds are at least this long, so that they hold enough samples.
const ROUND_MIN: Duration = Duration::from_millis(25);

#[derive(Clone, Copy, Debug)]
pub(super) struct Round {
    /// It ends when a packet of this number or a later one is acknowledged.
    end: u64,
    pub(super) began: Time,
    /// Arrival times of its first and its last packet, by the peer's clock, µs.
    arrived: [i64; 2],
    /// When these two packets left.
    sent: [Time; 2],
    /// The part of that time, µs, in which nothing was in flight.
    idle: i64,
    busy_period: u32,
    /// Bytes.
    pub(super) acknowledged: u64,
    pub(super) lost: u64,
    /// The least queueing delay, µs.
    pub(super) queue_min: f64,
    pub(super) was_held_back: bool,
    /// The carrier took no more.
    pub(super) was_full: bool,
    /// The rate fell when it began, so that all of its packets were sent at the rate before.
    pub(super) follows_fall: bool,
}

/// One newly acknowledged packet, the largest of its acknowledgement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrived {
    pub(crate) number: u64,
    pub(crate) next_number: u64,
    pub(crate) sent: Time,
    /// By the peer's clock, µs.
    pub(crate) arrived: i64,
    /// Its own size.
    pub(crate) packet_bytes: u32,
    /// All bytes newly acknowledged.
    pub(crate) bytes: u64,
    /// Differs from the one of the packet before it if nothing was in flight in between.
    pub(crate) busy_period: u32,
    /// The carrier loses nothing, so loss does not describe the link.
    pub(crate) is_reliable: bool,
}

impl Round {
    pub(super) fn begin(now: Time, arrived: Arrived) -> Self {
        Self {
            end: arrived.next_number,
            began: now,
            arrived: [arrived.arrived; 2],
            sent: [arrived.sent; 2],
            idle: 0,
            busy_period: arrived.busy_period,
            acknowledged: 0,
            lost: 0,
            queue_min: f64::INFINITY,
            was_held_back: false,
            was_full: false,
            follows_fall: false,
        }
    }

    /// Adds an acknowledgement, and the queueing delay that its packet saw, µs.
    pub(super) fn note(&mut self, arrived: Arrived, queue: f64) {
        let [_, last] = &mut self.arrived;
        if arrived.busy_period != self.busy_period {
            self.busy_period = arrived.busy_period;
            self.idle += arrived.arrived.wrapping_sub(*last).max(0);
        }
        *last = arrived.arrived.max(*last);
        self.sent[1] = arrived.sent;
        self.acknowledged += arrived.bytes;
        self.queue_min = self.queue_min.min(queue);
    }

    pub(super) fn is_over(&self, now: Time, arrived: Arrived) -> bool {
        arrived.number >= self.end && now.since(self.began) >= ROUND_MIN
    }

    /// In seconds, at the peer.
    pub(super) fn span(&self) -> f64 {
        self.span_micros() as f64 / 1e6
    }

    /// Arrival times of its first and its last packet, by the peer's clock, µs.
    pub(super) fn arrived(&self) -> [i64; 2] {
        self.arrived
    }

    /// When its first and its last packet left.
    pub(super) fn sent(&self) -> [Time; 2] {
        self.sent
    }

    /// Bytes a second.
    pub(super) fn delivered(&self) -> f64 {
        self.acknowledged as f64 / self.span()
    }

    /// Too little was in flight for the delivered bytes to show the capacity of the link.
    pub(super) fn was_mostly_idle(&self) -> bool {
        2 * self.idle > self.span_micros()
    }

    fn span_micros(&self) -> i64 {
        let [first, last] = self.arrived;
        last.wrapping_sub(first).max(1)
    }
}
