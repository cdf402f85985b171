//! The rate after a round: whether the link has a queue, its delivery rate, and the new rate.

use std::time::Duration;

use super::history::BeforeFalls;
use super::round::{Arrived, Round};
use super::{BYTES_PER_SECOND_MIN, INITIAL_BYTES_PER_SECOND, KEPT_SHARE, PACKET_BYTES_MIN, Rate};
use crate::time::Time;

/// A queue that never drains below this within a round is a standing queue.
const QUEUE_TARGET_MICROS: f64 = 4_000.0;
const QUEUE_TARGET_MICROS_MAX: f64 = 20_000.0;
/// The least delay of a round may reach this multiple of the noise without any queue: on ordered paths each packet
/// waits for the slowest before it.
const QUEUE_NOISES: f64 = 3.0;
/// From this share of the known capacity on, the rate grows gently.
const NEAR_SHARE: f64 = 0.85;
/// From this share on, the rate grows half as fast: the excess becomes queue until it is noticed.
const SURE_SHARE: f64 = 0.97;
/// A link was faster if it delivered more than this multiple of the known capacity.
const FASTER: f64 = 1.3;
/// On a carrier that sends lost packets again, all later packets wait for them. This delay passes; a queue stays.
const RECOVERY_MAX: Duration = Duration::from_millis(500);
/// Losses above this share of a round, and above this number of bytes, occur only on a full link without a buffer.
const NOISE_SHARE: f64 = 0.3;
const NOISE_BYTES: f64 = 30_000.0;
/// A full carrier keeps no more than this itself; the time that takes is no queue of the link.
const CARRIER_BYTES: f64 = 8_000.0;
/// The delivery rate is averaged over about this time.
const MEAN_SECONDS: f64 = 0.5;
/// A queue that stays after the rate fell in this number of rounds belongs to others. If only some rounds see a queue,
/// it takes more rounds. One round with a queue counts as much as three without.
const FALLS_MAX: u32 = 5 * FALL;
const FALL: u32 = 3;

impl Rate {
    /// A round is over, and the next one has begun.
    pub(super) fn adjust(&mut self, now: Time, round: &Round, arrived: &Arrived, queue: f64) {
        let is_reliable = arrived.is_reliable;
        let (span, delivered) = (round.span(), round.delivered());
        self.queue = Duration::from_micros(round.queue_min.max(0.0) as u64);
        self.peak.note(now, delivered);
        self.mean += (span / MEAN_SECONDS).min(1.0) * (delivered - self.mean);
        let lost = round.lost as f64;
        let overflows = lost > NOISE_BYTES && lost > NOISE_SHARE * (lost + round.acknowledged as f64);
        let own = if round.was_full { CARRIER_BYTES / self.mean.max(BYTES_PER_SECOND_MIN) } else { 0.0 };
        let has_queue = round.queue_min > self.queue_target() + own * 1e6;
        let queue_since = has_queue.then(|| self.queue_since.unwrap_or(round.began));
        self.queue_since = queue_since;
        let recovers = is_reliable && queue_since.is_some_and(|since| now.since(since) < RECOVERY_MAX);
        match self.competitive.take() {
            Some(competitive) => self.competitive = self.compete(now, competitive, round, arrived, queue),
            None if self.drain.is_some() => {}
            None if overflows => self.fall(now, round, arrived),
            // The carrier decides: a rate below its own would only keep it from finding the capacity of the link.
            None if round.was_full && !has_queue => self.falls = self.falls.saturating_sub(1),
            None if recovers || round.follows_fall => {}
            None if has_queue && is_reliable && self.is_of_others(round) => {
                self.begin_competing(now, arrived);
            }
            None if has_queue && round.was_held_back && !is_reliable && self.is_long(round.queue_min) => {
                self.drain_after(now, round, arrived, queue);
            }
            None if has_queue && (round.was_held_back || round.was_full) => {
                self.queue_since = Some(now);
                self.fall(now, round, arrived);
            }
            None if has_queue => self.yield_somewhat(),
            None => {
                self.falls = self.falls.saturating_sub(1);
                if round.was_held_back {
                    self.grow();
                }
            }
        }
        self.bytes_per_second = self.bytes_per_second.clamp(BYTES_PER_SECOND_MIN, self.budget);
    }

    /// The queueing delay that is always acceptable, µs: where a single packet takes longer than the usual target, a
    /// packet that waits for the previous one sees no standing queue. The more the path jitters, the greater it is.
    pub(super) fn queue_target(&self) -> f64 {
        let packet = PACKET_BYTES_MIN as f64 / self.bytes_per_second * 1e6;
        packet.clamp(QUEUE_TARGET_MICROS, QUEUE_TARGET_MICROS_MAX) + QUEUE_NOISES * self.noise.mean()
    }

    /// There is a queue, but the sender had less to send than its rate allows. So the queue is that of others, or the
    /// peer was slow to read, and the round does not show the capacity of the link.
    fn yield_somewhat(&mut self) {
        let lowered = (0.9 * self.bytes_per_second).max(INITIAL_BYTES_PER_SECOND);
        self.bytes_per_second = self.bytes_per_second.min(lowered);
    }

    /// A standing queue: its drain is the capacity; sending less empties it within about a tenth of a second.
    fn fall(&mut self, now: Time, round: &Round, arrived: &Arrived) {
        let drain = round.queue_min.max(0.0) / 1e6 / (0.1 + round.span());
        let kept = (1.0 - drain).clamp(0.5, KEPT_SHARE);
        if let Some(next) = &mut self.round {
            next.follows_fall = true;
        }
        if round.was_mostly_idle() {
            self.bytes_per_second *= kept;
            return;
        }
        let delivered = round.delivered();
        if self.falls == 0 {
            self.before_falls = BeforeFalls { delivered, allowed: delivered };
        }
        self.fall_to(delivered, kept);
        // A sender that always yields to others that fill the queue has no capacity left in the end.
        if self.falls > FALLS_MAX {
            self.begin_competing(now, arrived);
        }
    }

    /// Falls to a share of the delivery rate, which is the capacity of the link.
    pub(super) fn fall_to(&mut self, delivered: f64, kept: f64) {
        self.is_starting = false;
        self.falls += FALL;
        self.probes = 0;
        self.capacity = Some(delivered);
        self.bytes_per_second = self.bytes_per_second.min(kept * delivered);
    }

    /// The pacer delayed packets, and no queue resulted.
    fn grow(&mut self) {
        if self.is_starting {
            self.bytes_per_second *= 2.0;
            return;
        }
        let Some(capacity) = self.capacity else {
            self.bytes_per_second *= 1.25;
            return;
        };
        let ratio = self.bytes_per_second / capacity;
        // A link that was faster a short time ago may be so again: each step is twice the last.
        let is_faster = self.peak.highest() > FASTER * capacity;
        let step = if is_faster { f64::from(1 << self.probes.min(4)) } else { 1.0 };
        self.bytes_per_second *= match ratio {
            // In one step, not beyond the known capacity.
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
