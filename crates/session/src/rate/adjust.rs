//! Adjusts the rate after a round: determines whether the link has a queue, its delivery rate, and the new rate.

use std::time::Duration;

use super::history::{BeforeFalls, Peak};
use super::policer::Verdict;
use super::round::{Arrived, Round};
use super::{BYTES_PER_SECOND_MIN, INITIAL_BYTES_PER_SECOND, KEPT_SHARE, PACKET_BYTES_MIN, Rate};
use crate::time::Time;

/// A standing queue never drains below this delay within a round.
const QUEUE_TARGET_MICROS: f64 = 4_000.0;
const QUEUE_TARGET_MICROS_MAX: f64 = 20_000.0;
/// Without any queue, the least delay of a round may reach this multiple of the noise. On ordered paths each packet waits for the
/// slowest packet before it.
const QUEUE_NOISES: f64 = 3.0;
/// From this share of the known capacity on, the rate grows slowly.
const NEAR_SHARE: f64 = 0.85;
/// From this share on, the rate grows half as fast, because the excess becomes a queue until it is noticed.
const SURE_SHARE: f64 = 0.97;
/// A link counts as faster in the past if it delivered more than this multiple of the known capacity.
const FASTER: f64 = 1.3;
/// On a carrier that sends lost packets again, all later packets wait for the lost packets. Such a delay passes, while a queue
/// stays. A delay that is shorter than this value does not count as a queue.
const RECOVERY_MAX: Duration = Duration::from_millis(500);
/// A full carrier itself holds no more than this number of bytes. The time for sending them is not a queue of the link.
const CARRIER_BYTES: f64 = 8_000.0;
/// The delivery rate is averaged over about this time.
const MEAN_SECONDS: f64 = 0.5;
/// If the queue stays although the rate fell in this number of rounds, others fill it. If only some rounds see a queue, more
/// rounds are needed. One round with a queue counts as much as three without.
const FALLS_MAX: u32 = 5 * FALL;
const FALL: u32 = 3;

impl Rate {
    /// Adjusts the rate at the end of a round. The next round has already begun.
    pub(super) fn adjust(&mut self, now: Time, round: &Round, arrived: &Arrived, queue: f64) {
        let is_reliable = arrived.is_reliable;
        let (span, delivered) = (round.span(), round.delivered());
        self.queue = Duration::from_micros(round.queue_min.max(0.0) as u64);
        self.peak.note(now, delivered);
        self.mean += (span / MEAN_SECONDS).min(1.0) * (delivered - self.mean);
        // A carrier that was full held bytes itself. Their wait is no queue of the link.
        let own = if round.was_full { CARRIER_BYTES / self.mean.max(BYTES_PER_SECOND_MIN) } else { 0.0 };
        let has_queue = round.queue_min > self.queue_target() + own * 1e6;
        let queue_since = has_queue.then(|| self.queue_since.unwrap_or(round.began));
        self.queue_since = queue_since;
        let recovers = is_reliable && queue_since.is_some_and(|since| now.since(since) < RECOVERY_MAX);
        // The order of the arms is the order of `on_round` in the specification, and the first that applies decides.
        match self.competitive.take() {
            Some(competitive) => self.competitive = self.compete(now, competitive, round, arrived, queue),
            None if self.drain.is_some() => {}
            None if !is_reliable && self.police(now, round, has_queue) => {}
            // The carrier decides, because a rate below the carrier's own would only keep the carrier from finding the capacity
            // of the link.
            None if round.was_full && !has_queue => self.falls = self.falls.saturating_sub(1),
            // All packets of a round after a fall left at the earlier rate, so they say nothing about the new one.
            None if recovers || round.follows_fall => {}
            None if has_queue && is_reliable && self.is_of_others(round) => {
                self.begin_competing(now, arrived);
            }
            None if has_queue && round.was_held_back && !is_reliable && self.is_long(round.queue_min) => {
                self.drain_after(now, round, arrived, queue);
            }
            None if has_queue && (round.was_held_back || round.was_full) => {
                // The time counts again from the fall. Otherwise a reliable carrier would fall in each round until it drained.
                self.queue_since = Some(now);
                self.fall(now, round, arrived);
            }
            None if has_queue => self.yield_somewhat(),
            None => {
                self.falls = self.falls.saturating_sub(1);
                // An application that sends less than its rate has not tested that rate.
                if round.was_held_back {
                    self.grow();
                }
            }
        }
        let allowed = self.policer.allowed(now).min(self.budget).max(BYTES_PER_SECOND_MIN);
        self.bytes_per_second = self.bytes_per_second.clamp(BYTES_PER_SECOND_MIN, allowed);
    }

    /// Handles the loss of a round. Returns whether this loss, or a test for a policer, decides the rate.
    fn police(&mut self, now: Time, round: &Round, has_queue: bool) -> bool {
        match self.policer.note(now, round, has_queue, self.bytes_per_second) {
            Verdict::None => return false,
            Verdict::Stay => {}
            Verdict::Test(delivered) => {
                self.is_starting = false;
                self.bytes_per_second = self.bytes_per_second.min(KEPT_SHARE * delivered);
                if let Some(next) = &mut self.round {
                    next.follows_fall = true;
                }
            }
            Verdict::Limit(delivered) => {
                self.capacity = Some(delivered);
                // The bucket of the policer passed more for a short time.
                self.peak = Peak::default();
                self.probes = 0;
            }
            Verdict::NoLimit(rate) => self.bytes_per_second = self.bytes_per_second.max(rate),
        }
        true
    }

    /// The queueing delay that is always acceptable, µs. If a single packet takes longer than the usual target, a packet that
    /// waits for the previous one is not evidence of a standing queue. The target grows with the jitter of the path.
    pub(super) fn queue_target(&self) -> f64 {
        let packet = PACKET_BYTES_MIN as f64 / self.bytes_per_second * 1e6;
        packet.clamp(QUEUE_TARGET_MICROS, QUEUE_TARGET_MICROS_MAX) + QUEUE_NOISES * self.noise.mean()
    }

    /// Lowers the rate a little, if there is a queue although the sender had less to send than its rate allows. Others fill the
    /// queue then, or the peer was slow to read. Such a round does not show the capacity of the link.
    fn yield_somewhat(&mut self) {
        let lowered = (0.9 * self.bytes_per_second).max(INITIAL_BYTES_PER_SECOND);
        self.bytes_per_second = self.bytes_per_second.min(lowered);
    }

    /// Lowers the rate because of a standing queue. The queue drains at the capacity of the link, so a lower rate empties it
    /// within about a tenth of a second.
    fn fall(&mut self, now: Time, round: &Round, arrived: &Arrived) {
        // The share that drains the least queue of the round within 0.1 s and one more round of this length.
        let drain = round.queue_min.max(0.0) / 1e6 / (0.1 + round.span());
        let kept = (1.0 - drain).clamp(0.5, KEPT_SHARE);
        if let Some(next) = &mut self.round {
            next.follows_fall = true;
        }
        // The delivery rate of such a round is that of the application, so it must not become the capacity.
        if round.was_mostly_idle() {
            self.bytes_per_second *= kept;
            return;
        }
        let delivered = round.delivered();
        if self.falls == 0 {
            self.before_falls = BeforeFalls { delivered, allowed: delivered };
        }
        self.fall_to(delivered, kept);
        // If others fill the queue, a sender that always yields to them finally has no capacity left.
        if self.falls > FALLS_MAX {
            self.begin_competing(now, arrived);
        }
    }

    /// Lowers the rate to a share of the delivery rate. The delivery rate is the capacity of the link.
    pub(super) fn fall_to(&mut self, delivered: f64, kept: f64) {
        self.is_starting = false;
        self.falls += FALL;
        self.probes = 0;
        self.capacity = Some(delivered);
        self.bytes_per_second = self.bytes_per_second.min(kept * delivered);
    }

    /// Raises the rate, because the pacer delayed packets and no queue resulted.
    fn grow(&mut self) {
        // As in the slow start of RFC 9002, section 7.3.1, but per round and only until the first queue.
        if self.is_starting {
            self.bytes_per_second *= 2.0;
            return;
        }
        let Some(capacity) = self.capacity else {
            self.bytes_per_second *= 1.25;
            return;
        };
        let ratio = self.bytes_per_second / capacity;
        // If the link was faster a short time ago, it may be so again. Then each step is twice the previous one.
        let is_faster = self.peak.highest() > FASTER * capacity;
        let step = if is_faster { f64::from(1 << self.probes.min(4)) } else { 1.0 };
        self.bytes_per_second *= match ratio {
            // The rate grows in one step, but not beyond the known capacity.
            ..NEAR_SHARE => (0.9 / ratio).min(1.25),
            ..SURE_SHARE => 1.0 + (0.02 * step).min(0.25),
            ..1.15 => 1.0 + (0.01 * step).min(0.25),
            _ => 1.25,
        };
        if ratio >= NEAR_SHARE {
            self.probes += 1;
        }
    }
}
