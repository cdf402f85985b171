//! The sending rate (`spec/SESSION.md`, section 11). The rate follows the queueing delay, which the peer's arrival times show.
//! So the buffer of a narrow link stays nearly empty, and random loss is not mistaken for a narrow link. Loss lowers the rate
//! in two cases only: beside competitors that keep the queue full (`competitive.rs`), and in a test for a policer, which drops
//! packets and delays none (`policer.rs`).
//!
//! The adjustment to one-way delay follows LEDBAT (RFC 6817). The slow probing around the known capacity, and the fast growth
//! when the capacity has risen, follow CUBIC (RFC 9438).

mod adjust;
mod competitive;
mod drain;
mod history;
mod policer;
mod round;
#[cfg(test)]
mod vectors;
mod window;

use std::time::Duration;

use self::competitive::{CompetitiveMode, Ended};
use self::drain::{DRAINED_ALLOWANCE, Drain, GrowingQueue};
use self::history::{BaseDelay, BeforeFalls, Noise, Peak, Rivals, Usual};
use self::policer::Policer;
pub(crate) use self::round::Arrived;
use self::round::Round;
use crate::time::Time;

const INITIAL_BYTES_PER_SECOND: f64 = 125_000.0;
const BYTES_PER_SECOND_MIN: f64 = 2_000.0;
const BYTES_PER_SECOND_MAX: f64 = 4e9;
/// Share of the delivery rate that is sent after a queue was found.
const KEPT_SHARE: f64 = 0.9;
/// Share of the rate that remains after a loss in competitive mode, as in CUBIC.
const COMPETITIVE_SHARE: f64 = 0.7;
const BURST: Duration = Duration::from_millis(2);
const FLIGHT_ALLOWANCE: Duration = Duration::from_millis(30);
/// With jitter, packets and their acknowledgements take longer than the smallest round trip. The allowance is this multiple of
/// the jitter.
const FLIGHT_NOISES: f64 = 4.0;
const FLIGHT_BYTES_MIN: u64 = 2 * 1_200;
/// On a reliable carrier, all later packets wait for a lost packet. So packets stay in flight for this number of round trips.
const FLIGHT_ROUND_TRIPS_RELIABLE: u32 = 3;
/// A packet has at most the number of bytes that leave in this time, because the first message of the next packet waits for the
/// whole packet.
const PACKET_TIME: Duration = Duration::from_millis(5);
/// Minimum packet size, because every packet has a fixed cost on the link.
const PACKET_BYTES_MIN: usize = 600;
/// Size of a packet that fits into one TCP segment, together with the overhead of TLS and WebSocket. If the same bytes took more
/// segments, they would be lost more often.
const SEGMENT_BYTES: usize = 1_380;

/// The sender's rate, and the time at which the next packet may leave.
#[derive(Clone, Debug)]
pub(crate) struct Rate {
    bytes_per_second: f64,
    budget: f64,
    is_starting: bool,
    capacity: Option<f64>,
    falls: u32,
    /// Since this time, every round has seen a queue.
    queue_since: Option<Time>,
    before_falls: BeforeFalls,
    /// Consecutive acknowledgements that saw a queue.
    growing: Option<GrowingQueue>,
    drain: Option<Drain>,
    policer: Policer,
    /// The longest recent queueing delay, µs.
    usual: Usual,
    rivals: Rivals,
    /// Consecutive rounds in which the rate grew beyond the known capacity.
    probes: u32,
    competitive: Option<CompetitiveMode>,
    ended: Option<Ended>,
    base: BaseDelay,
    peak: Peak,
    noise: Noise,
    round: Option<Round>,
    queue: Duration,
    next_at: Time,
    held_back: bool,
    carrier_is_full: bool,
    /// The recent delivery rate, bytes a second.
    mean: f64,
}

impl Rate {
    pub(crate) fn new(budget: Option<u64>) -> Self {
        let budget = budget.map_or(BYTES_PER_SECOND_MAX, |budget| (budget as f64).max(BYTES_PER_SECOND_MIN));
        Self {
            bytes_per_second: INITIAL_BYTES_PER_SECOND.min(budget),
            budget,
            is_starting: true,
            capacity: None,
            falls: 0,
            queue_since: None,
            before_falls: BeforeFalls::default(),
            growing: None,
            drain: None,
            policer: Policer::default(),
            usual: Usual::default(),
            rivals: Rivals::default(),
            probes: 0,
            competitive: None,
            ended: None,
            base: BaseDelay::default(),
            peak: Peak::default(),
            noise: Noise::default(),
            round: None,
            queue: Duration::ZERO,
            next_at: Time::default(),
            held_back: false,
            carrier_is_full: false,
            mean: 0.0,
        }
    }

    pub(crate) fn set_budget(&mut self, budget: Option<u64>) {
        self.budget = budget.map_or(BYTES_PER_SECOND_MAX, |budget| (budget as f64).max(BYTES_PER_SECOND_MIN));
        self.bytes_per_second = self.bytes_per_second.min(self.budget);
    }

    pub(crate) fn bytes_per_second(&self) -> u64 {
        self.bytes_per_second as u64
    }

    /// The smallest queueing delay of the last round.
    pub(crate) fn queue(&self) -> Duration {
        self.queue
    }

    /// Maximum number of bytes in flight, given the smallest and the recent round trip.
    pub(crate) fn flight_bytes_max(&self, least: Duration, smoothed: Duration, is_reliable: bool) -> u64 {
        // If others keep the queue full, the queue is part of the path.
        let round_trip = match (is_reliable, self.competitive) {
            (true, _) => FLIGHT_ROUND_TRIPS_RELIABLE * least,
            (false, Some(_)) => smoothed.max(least),
            (false, None) => least,
        };
        if let Some(bytes) = self.competitive.and_then(|competitive| competitive.window_bytes()) {
            return (bytes as u64).max(FLIGHT_BYTES_MIN);
        }
        let allowance = if self.drain.is_some() { DRAINED_ALLOWANCE } else { FLIGHT_ALLOWANCE };
        let jitter = FLIGHT_NOISES * self.noise.mean() / 1e6;
        let bytes = self.bytes_per_second * ((round_trip + allowance).as_secs_f64() + jitter);
        (bytes as u64).max(FLIGHT_BYTES_MIN)
    }

    /// Maximum size of a packet, unless its first message needs more.
    pub(crate) fn packet_bytes(&self, is_reliable: bool) -> usize {
        let bytes = |per_second: f64| (per_second * PACKET_TIME.as_secs_f64()) as usize;
        if is_reliable {
            // On such a carrier, the sender's rate may be far above the real rate.
            let segments = bytes(self.bytes_per_second.min(self.mean)) / SEGMENT_BYTES;
            return segments.max(1) * SEGMENT_BYTES;
        }
        bytes(self.bytes_per_second).max(PACKET_BYTES_MIN)
    }

    /// The time at which the next packet may leave.
    pub(crate) fn next_at(&self) -> Time {
        self.next_at
    }

    /// Records that a packet is ready but must wait, either for its turn or for room in flight. The rate determines both waits.
    pub(crate) fn hold_back(&mut self) {
        self.held_back = true;
    }

    /// Records that a packet is ready but the carrier accepts none, because its path is full.
    pub(crate) fn carrier_is_full(&mut self) {
        self.carrier_is_full = true;
    }

    /// Records that a packet leaves. `has_room_in_flight` states whether the bytes in flight leave room for more.
    pub(crate) fn spend(&mut self, now: Time, bytes: usize, has_room_in_flight: bool) {
        let share = self.share_in_pause(now, has_room_in_flight);
        self.spend_at(share * self.bytes_per_second, now, bytes);
    }

    /// Records that a packet leaves for a silent peer, at a share of the earlier delivery rate.
    pub(crate) fn spend_silently(&mut self, now: Time, bytes: usize, share: f64) {
        let delivered = if self.mean > 0.0 { self.mean } else { self.bytes_per_second };
        let per_second = (share * delivered.max(BYTES_PER_SECOND_MIN)).min(self.bytes_per_second);
        self.spend_at(per_second, now, bytes);
    }

    fn spend_at(&mut self, per_second: f64, now: Time, bytes: usize) {
        // Unused time is not saved beyond a burst. Otherwise a pause of the application would fill the queue afterwards.
        let earliest = now - BURST;
        self.next_at = self.next_at.max(earliest) + Duration::from_secs_f64(bytes as f64 / per_second);
    }

    /// Records a lost packet. A loss matters only if others fill the queue, or if many packets are lost.
    pub(crate) fn lost(&mut self, bytes: u32) {
        if let Some(round) = &mut self.round {
            round.lost += u64::from(bytes);
        }
    }

    /// Records that packets regarded as lost have arrived, because later packets had only overtaken them.
    pub(crate) fn found(&mut self, bytes: u64) {
        if let Some(round) = &mut self.round {
            round.lost = round.lost.saturating_sub(bytes);
        }
    }

    /// Drops the knowledge of the path's delay after a silence, because it may be outdated.
    pub(crate) fn slow_down(&mut self) {
        let (mean, noise) = (self.mean, self.noise);
        self.restart(0.5);
        (self.mean, self.noise) = (mean, noise);
    }

    /// Drops the knowledge of the path's delay, because the path changed.
    pub(crate) fn restart(&mut self, share: f64) {
        let kept = (self.bytes_per_second * share).max(BYTES_PER_SECOND_MIN);
        *self = Self { bytes_per_second: kept.min(self.budget), budget: self.budget, ..Self::new(None) };
    }

    /// Continues after an outage of the peer. The rate stays the same, but packets that were in flight during the outage do not
    /// describe the path.
    pub(crate) fn go_on(&mut self) {
        *self = Self {
            bytes_per_second: self.bytes_per_second,
            budget: self.budget,
            is_starting: self.is_starting,
            capacity: self.capacity,
            policer: self.policer,
            peak: self.peak,
            noise: self.noise,
            mean: self.mean,
            ..Self::new(None)
        };
    }

    /// The rate of the narrowest hop in bytes a second, according to present knowledge.
    fn link_rate(&self) -> f64 {
        let found = match (self.capacity, self.competitive) {
            (Some(capacity), None) => capacity.min(self.peak.highest()),
            _ => self.peak.highest(),
        };
        self.bytes_per_second.max(found)
    }

    pub(crate) fn acknowledged(&mut self, now: Time, arrived: Arrived) {
        let delay = arrived.arrived.wrapping_sub(arrived.sent.as_micros() as i64);
        // The least delay comes from the smallest packets. On a narrow link a large packet takes longer, even without a queue.
        let passing = f64::from(arrived.packet_bytes) / self.link_rate() * 1e6;
        let queue = self.base.excess(now, delay, self.competitive.is_some()) as f64 - passing;
        // Retransmissions of a reliable carrier arrive late. This delay is not jitter of the path.
        if !arrived.is_reliable {
            self.noise.note(queue);
        }
        self.watch_queue(now, &arrived, queue);
        let Some(round) = &mut self.round else {
            self.round = Some(Round::begin(now, arrived));
            return;
        };
        round.note(arrived, queue);
        round.was_held_back |= std::mem::take(&mut self.held_back);
        round.was_full |= std::mem::take(&mut self.carrier_is_full);
        if round.is_over(now, arrived) {
            let round = *round;
            self.round = Some(Round::begin(now, arrived));
            self.adjust(now, &round, &arrived, queue);
        }
    }
}
