//! Handles a long queue. The queue is noticed within a few acknowledgements and drained at once. A test determines whose
//! packets fill the queue.
//!
//! While the sender pauses, its own queue becomes shorter by the whole rate of the link. A queue that others fill becomes shorter
//! only by the sender's share of that rate. Rates and delays alone cannot distinguish a competitor from a link whose capacity
//! fell. In both cases, packets arrive at the rate at which they are sent, and the queue keeps its length.

use std::time::Duration;

use super::history::BeforeFalls;
use super::round::{Arrived, Round};
use super::{BYTES_PER_SECOND_MIN, COMPETITIVE_SHARE, INITIAL_BYTES_PER_SECOND, KEPT_SHARE, Rate};
use crate::time::Time;

/// A queue is long if it exceeds the target by more than this time, in µs.
const LONG_QUEUE_MICROS: f64 = 30_000.0;
/// A queue is unusual if it exceeds the target by this time, or if it exceeds the longest queue of the last seconds by
/// `ABOVE_USUAL_MICROS`; in µs.
const UNUSUAL_MICROS: f64 = 15_000.0;
const ABOVE_USUAL_MICROS: f64 = 5_000.0;
/// An unusual queue is growing if it does not become shorter for this time, in µs of the peer's clock. In addition, one of two
/// conditions must hold: at least `GROWING_SAMPLES` acknowledgements arrived, or the delivery rate was below the share
/// `GROWING_DELIVERED` of its mean.
const GROWING_MICROS: i64 = 8_000;
/// Minimum number of acknowledgements, and share of the mean delivery rate, in these two conditions.
const GROWING_SAMPLES: u32 = 3;
const GROWING_DELIVERED: f64 = 0.5;
/// Share of the rate at which packets leave during a pause. These packets show how the queue changes, and events need not wait.
const PAUSE_SHARE: f64 = 0.25;
/// Minimum duration of a pause in µs, and the multiple of the noise that is added. A pause is not longer than the queue.
const PAUSE_MICROS: f64 = 60_000.0;
const PAUSE_NOISES: f64 = 16.0;
/// A queue is drained if it exceeds the target by at most this time, in µs.
const DRAINED_MICROS: f64 = 10_000.0;
/// Time by which the flight may exceed the least round trip at the end of a drain.
pub(super) const DRAINED_ALLOWANCE: Duration = Duration::from_millis(25);
/// Time after which the delivery rate is known, by the peer's clock, in µs.
const DELIVERY_MICROS: i64 = 30_000;
/// If a queue shrank by less than this share of the reduction expected for our own queue, others fill it.
const OTHERS_SHARE: f64 = 0.6;
/// In addition, the queue must have shrunk less than expected by at least a margin. The margin is this time in µs, plus this
/// multiple of the noise.
const OTHERS_MICROS: f64 = 10_000.0;
const OTHERS_NOISES: f64 = 2.0;
/// If a queue shrank by more than this share of the reduction expected for our own queue, it is our own.
const OWN_SHARE: f64 = 0.8;
/// If packets left at less than this share of the rate, they do not show how fast the link is, even without competitors.
const SLOW_SHARE: f64 = 0.5;
/// Number of drains that must find the queue of others before competitive mode begins.
const OTHERS_DRAINS: u32 = 2;

/// Consecutive acknowledgements that saw a queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct GrowingQueue {
    delivery: Delivery,
    /// Queueing delay of the first acknowledgement, µs.
    queue: f64,
    /// Longest queueing delay, µs.
    longest: f64,
    samples: u32,
    busy_period: u32,
}

/// The bytes that arrived within a span of time.
#[derive(Clone, Copy, Debug)]
struct Delivery {
    /// Arrival times of the first and the last packet, by the peer's clock, µs.
    arrived: [i64; 2],
    /// The times at which these two packets left.
    sent: [Time; 2],
    /// Bytes that arrived after the first packet.
    bytes: u64,
}

impl Delivery {
    fn begin(arrived: &Arrived) -> Self {
        Self { arrived: [arrived.arrived; 2], sent: [arrived.sent; 2], bytes: 0 }
    }

    fn note(&mut self, arrived: &Arrived) {
        self.arrived[1] = self.arrived[1].max(arrived.arrived);
        self.sent[1] = arrived.sent;
        self.bytes += arrived.bytes;
    }

    /// The rate at which the same bytes left, bytes a second.
    fn sent_rate(&self) -> f64 {
        self.bytes.max(1) as f64 / self.sent[1].since(self.sent[0]).as_micros().max(1_000) as f64 * 1e6
    }

    fn micros(&self) -> i64 {
        self.arrived[1].wrapping_sub(self.arrived[0])
    }

    /// Bytes a second.
    fn rate(&self) -> f64 {
        self.bytes as f64 / self.micros().max(1) as f64 * 1e6
    }
}

/// Records how a queue changes while less is sent than the link delivers.
#[derive(Clone, Copy, Debug)]
pub(super) struct QueueTest {
    /// Packets from this number on left after the beginning of the test.
    first: u64,
    /// Queueing delay of the previous packet in µs, the time at which it left, and its size.
    queue: f64,
    left: Time,
    packet_bytes: u32,
    /// Bytes that arrived after that packet.
    bytes: u64,
    /// The delivery rate before the test, bytes a second.
    delivered: f64,
}

impl QueueTest {
    pub(super) fn begin(arrived: &Arrived, queue: f64, delivered: f64) -> Self {
        Self {
            first: arrived.next_number,
            queue,
            left: arrived.sent,
            packet_bytes: arrived.packet_bytes,
            bytes: 0,
            delivered,
        }
    }

    /// Takes a packet into account. Returns `true` if the packet left before the test.
    pub(super) fn note(&mut self, arrived: &Arrived, queue: f64) -> bool {
        let is_earlier = arrived.number < self.first;
        // The queue of the test is the one that its last earlier packet saw, not the one at the decision to test.
        if is_earlier {
            *self = Self { first: self.first, ..Self::begin(arrived, queue, self.delivered) };
        } else {
            self.bytes += arrived.bytes;
        }
        is_earlier
    }

    /// Returns the reduction of the queue, and the reduction that our own queue would show, in µs.
    fn shrunk(&self, arrived: &Arrived, queue: f64) -> [f64; 2] {
        // Between two departures the link drains `elapsed` of our own queue, less the time for the bytes that entered it meanwhile:
        // the first packet and all up to the newest. A queueing delay does not include the passing of the packet itself.
        let elapsed = arrived.sent.since(self.left).as_micros() as f64;
        let bytes = (u64::from(self.packet_bytes) + self.bytes).saturating_sub(arrived.packet_bytes.into());
        let expected = elapsed - bytes as f64 / self.delivered * 1e6;
        [self.queue - queue, expected.min(self.queue)]
    }

    fn lasted(&self, arrived: &Arrived) -> f64 {
        arrived.sent.since(self.left).as_micros() as f64
    }
}

/// A drain, in which the sender waits until its queue is empty.
#[derive(Clone, Copy, Debug)]
pub(super) struct Drain {
    test: QueueTest,
    delivery: Delivery,
    /// The rate before the drain.
    rate: f64,
    /// The rate does not fall below this value.
    least: f64,
    /// The pause lasts at least until this time.
    pauses_until: Time,
    /// The time at which the bytes in flight had become few enough to continue.
    resumed: Option<Time>,
}

impl Rate {
    /// Whether a queueing delay, in µs, exceeds a usual overshoot of the rate.
    pub(super) fn is_long(&self, queue: f64) -> bool {
        queue > LONG_QUEUE_MICROS + self.queue_target()
    }

    /// Maximum queueing delay of a drained queue, µs.
    fn drained(&self) -> f64 {
        DRAINED_MICROS + self.queue_target()
    }

    /// Whether a drain restricts packets to a share of the rate.
    pub(crate) fn is_draining(&self) -> bool {
        self.drain.is_some()
    }

    /// Records that a packet leaves. Returns the share of the rate at which the next one may leave. The share is 1 except in
    /// pauses.
    pub(super) fn share_in_pause(&mut self, now: Time, has_room_in_flight: bool) -> f64 {
        if self.competitive.is_some_and(|competitive| competitive.pauses(now)) {
            return PAUSE_SHARE;
        }
        let Some(drain) = &mut self.drain else { return 1.0 };
        if drain.resumed.is_none() && has_room_in_flight && now >= drain.pauses_until {
            drain.resumed = Some(now);
        }
        if drain.resumed.is_some() { 1.0 } else { PAUSE_SHARE }
    }

    /// Handles an acknowledgement. `queue` is the queueing delay of its newest packet, in µs.
    pub(super) fn watch_queue(&mut self, now: Time, arrived: &Arrived, queue: f64) {
        if let Some(drain) = self.drain {
            self.drain = self.go_on_draining(now, drain, arrived, queue);
            return;
        }
        if let Some(competitive) = self.competitive.take() {
            self.competitive = Some(self.watch_window(now, competitive, arrived, queue));
            return;
        }
        let above_target = UNUSUAL_MICROS + self.queue_target();
        let unusual =
            self.usual.longest().map_or(above_target, |usual| above_target.min(usual + ABOVE_USUAL_MICROS));
        if arrived.is_reliable || queue <= unusual {
            // A queue that did not grow counts as usual.
            let longest = self.growing.take().map_or(queue, |growing| growing.longest.max(queue));
            self.usual.note(now, longest);
            return;
        }
        let is_same = |growing: &&mut GrowingQueue| growing.busy_period == arrived.busy_period;
        let Some(growing) = self.growing.as_mut().filter(is_same) else {
            let (delivery, busy_period) = (Delivery::begin(arrived), arrived.busy_period);
            self.growing = Some(GrowingQueue { delivery, queue, longest: queue, samples: 1, busy_period });
            return;
        };
        growing.delivery.note(arrived);
        growing.samples += 1;
        growing.longest = growing.longest.max(queue);
        let growing = *growing;
        let is_slow = growing.delivery.rate() < GROWING_DELIVERED * self.mean;
        let is_sure = growing.samples >= GROWING_SAMPLES || is_slow;
        let grows = growing.delivery.micros() >= GROWING_MICROS && queue >= growing.queue;
        if is_sure && grows && queue > self.drained() {
            self.begin_drain(now, arrived, queue, growing.delivery);
        }
    }

    /// Begins a drain after a round that saw a long queue, although the rate of the round was known to equal the rate of the
    /// link.
    pub(super) fn drain_after(&mut self, now: Time, round: &Round, arrived: &Arrived, queue: f64) {
        let delivery = Delivery { arrived: round.arrived(), sent: round.sent(), bytes: round.acknowledged };
        self.begin_drain(now, arrived, queue, delivery);
    }

    /// Returns the rate of the link that a delivery shows, given the sender's rate, both in bytes a second. Beside competitors,
    /// packets arrive only a little more slowly than they left. After a pause they left slowly. Neither is evidence of a slower
    /// link.
    fn shown_by(&self, now: Time, delivery: &Delivery, rate: f64) -> f64 {
        let (delivered, sent) = (delivery.rate(), delivery.sent_rate());
        let has_rivals = self.rivals.are_evident(now);
        let before = if self.falls > 0 || has_rivals { self.before_falls.delivered } else { 0.0 };
        let known = self.mean.max(before).max(delivered);
        let rate = rate.min(known);
        if !has_rivals && sent > SLOW_SHARE * rate {
            return delivered;
        }
        (rate * delivered / sent).clamp(delivered, known)
    }

    fn begin_drain(&mut self, now: Time, arrived: &Arrived, queue: f64, delivery: Delivery) {
        let rate = self.bytes_per_second;
        let delivered = self.shown_by(now, &delivery, rate);
        let was_held_back = self.held_back || self.round.is_some_and(|round| round.was_held_back);
        // If no packet was delayed, the delivery rate is the sending rate of the application. A short queue after a fall of the
        // rate may belong to others.
        let least = match was_held_back {
            false => INITIAL_BYTES_PER_SECOND.min(self.bytes_per_second),
            true if self.falls == 0 || self.is_long(queue) => 0.0,
            true => (COMPETITIVE_SHARE * self.before_falls.delivered).min(self.bytes_per_second),
        };
        if self.falls == 0 && !self.rivals.are_evident(now) {
            let allowed = rate.min(self.peak.highest().max(INITIAL_BYTES_PER_SECOND));
            self.before_falls = BeforeFalls { delivered: self.mean.max(delivered), allowed };
        }
        self.fall_to(delivered, KEPT_SHARE);
        self.bytes_per_second = self.bytes_per_second.max(least).max(BYTES_PER_SECOND_MIN);
        self.growing = None;
        self.queue_since = Some(now);
        let pause = self.pause_micros(queue);
        self.drain = Some(Drain {
            test: QueueTest::begin(arrived, queue, delivered),
            delivery,
            rate,
            least,
            pauses_until: now + Duration::from_micros(pause as u64),
            resumed: None,
        });
        self.round = Some(Round::begin(now, *arrived));
    }

    /// Returns the length of a pause that is long enough to show who fills the queue, µs.
    pub(super) fn pause_micros(&self, queue: f64) -> f64 {
        (PAUSE_MICROS + PAUSE_NOISES * self.noise.mean()).min(queue.max(0.0))
    }

    fn go_on_draining(
        &mut self,
        now: Time,
        mut drain: Drain,
        arrived: &Arrived,
        queue: f64,
    ) -> Option<Drain> {
        if drain.test.note(arrived, queue) {
            drain.delivery.note(arrived);
            if drain.delivery.micros() >= DELIVERY_MICROS {
                let delivered = self.shown_by(now, &drain.delivery, drain.rate);
                drain.test.delivered = delivered;
                self.capacity = Some(delivered);
                self.bytes_per_second =
                    (KEPT_SHARE * delivered).max(drain.least).clamp(BYTES_PER_SECOND_MIN, self.budget);
            }
            return Some(drain);
        }
        // A drained queue ends the drain whoever filled it. The share alone cannot judge a short reduction, so a margin of time
        // must be missing too.
        let is_drained = queue <= self.drained();
        let [shrunk, expected] = drain.test.shrunk(arrived, queue);
        let margin = OTHERS_MICROS + OTHERS_NOISES * self.noise.mean();
        let has_lasted = drain.test.lasted(arrived) >= self.pause_micros(drain.test.queue);
        let is_of_others =
            !is_drained && has_lasted && shrunk < (OTHERS_SHARE * expected).min(expected - margin);
        let is_over =
            is_drained || is_of_others || drain.resumed.is_some_and(|resumed| arrived.sent > resumed);
        if !is_over {
            return Some(drain);
        }
        self.round = Some(Round::begin(now, *arrived));
        if !is_of_others {
            // If the queue was hardly longer before, the test gives no information.
            if drain.test.queue > 2.0 * self.drained() {
                self.falls = 0;
            }
            return None;
        }
        // The fall at the begin of the drain was a mistake. Two such drains are needed, because a capacity that falls during a
        // drain looks like a competitor.
        self.bytes_per_second = self.bytes_per_second.max(COMPETITIVE_SHARE * drain.rate);
        if self.rivals.note_drain(now) >= OTHERS_DRAINS || self.has_just_ended(now) {
            self.rivals.forget_drains();
            self.begin_competing(now, arrived);
        }
        None
    }

    /// Whether a trial has shown that the queue is our own, or that it is not.
    pub(super) fn is_own(&self, test: &QueueTest, arrived: &Arrived, queue: f64) -> Option<bool> {
        if !self.is_long(test.queue) {
            return None;
        }
        if test.lasted(arrived) < self.pause_micros(test.queue) {
            return None;
        }
        let [shrunk, expected] = test.shrunk(arrived, queue);
        Some(shrunk > OWN_SHARE * expected)
    }
}
