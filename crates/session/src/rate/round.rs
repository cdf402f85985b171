//! A round: the packets that arrived between two acknowledgements. The second acknowledgement confirms a packet that was sent
//! after the first acknowledgement arrived.

use std::time::Duration;

use crate::time::Time;

/// Minimum duration of a round, so that it contains enough samples.
const ROUND_MIN: Duration = Duration::from_millis(25);

#[derive(Clone, Copy, Debug)]
pub(super) struct Round {
    /// The round ends when a packet with this number or a later one is acknowledged.
    end: u64,
    pub(super) began: Time,
    /// Arrival times of the round's first and last packet, by the peer's clock, µs.
    arrived: [i64; 2],
    /// The times at which these two packets left.
    sent: [Time; 2],
    /// The part of the time between them in which nothing was in flight, µs.
    idle: i64,
    busy_period: u32,
    /// Number of acknowledged bytes.
    pub(super) acknowledged: u64,
    pub(super) lost: u64,
    /// The smallest queueing delay, µs.
    pub(super) queue_min: f64,
    pub(super) was_held_back: bool,
    /// Whether the carrier was full during the round.
    pub(super) was_full: bool,
    /// Whether the rate fell at the beginning of the round, so that all packets of the round were sent at the earlier rate.
    pub(super) follows_fall: bool,
}

/// The newly acknowledged packet with the largest number in its acknowledgement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrived {
    pub(crate) number: u64,
    pub(crate) next_number: u64,
    pub(crate) sent: Time,
    /// Time of arrival by the peer's clock, µs.
    pub(crate) arrived: i64,
    /// The size of this packet.
    pub(crate) packet_bytes: u32,
    /// Number of bytes of all newly acknowledged packets.
    pub(crate) bytes: u64,
    /// This value differs from that of the previous packet if nothing was in flight between the two.
    pub(crate) busy_period: u32,
    /// Whether the carrier loses nothing. Loss then does not describe the link.
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

    /// Adds an acknowledgement. `queue` is the queueing delay of its packet, µs.
    pub(super) fn note(&mut self, arrived: Arrived, queue: f64) {
        let [_, last] = &mut self.arrived;
        // Nothing was in flight between the two packets, so the gap between their arrivals does not lower the delivery rate of the
        // link.
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

    /// The duration at the peer, in seconds.
    pub(super) fn span(&self) -> f64 {
        self.span_micros() as f64 / 1e6
    }

    /// Arrival times of the round's first and last packet, by the peer's clock, µs.
    pub(super) fn arrived(&self) -> [i64; 2] {
        self.arrived
    }

    /// The times at which the round's first and last packet left.
    pub(super) fn sent(&self) -> [Time; 2] {
        self.sent
    }

    /// The delivery rate in bytes a second.
    pub(super) fn delivered(&self) -> f64 {
        self.acknowledged as f64 / self.span()
    }

    /// Whether too little was in flight for the delivered bytes to show the capacity of the link.
    pub(super) fn was_mostly_idle(&self) -> bool {
        2 * self.idle > self.span_micros()
    }

    fn span_micros(&self) -> i64 {
        let [first, last] = self.arrived;
        last.wrapping_sub(first).max(1)
    }
}
