//! State of earlier rounds.

use std::time::Duration;

use crate::time::Time;

/// The least delay is the least of the last two such spans.
const BASE_SPAN: Duration = Duration::from_secs(5);
/// While others keep the queue full, an empty queue is rarer.
const BASE_SPAN_COMPETING: Duration = Duration::from_secs(30);
/// A competitor that a drain or a trial found is assumed to stay for this time.
const RIVALS_SPAN: Duration = Duration::from_secs(10);
const USUAL_SPAN: Duration = Duration::from_secs(1);
/// The noise is the mean of about this number of samples; while there are fewer, of at least the minimum.
const NOISE_SAMPLES: u32 = 32;
const NOISE_SAMPLES_MIN: u32 = 8;
/// A sample counts for at most this more than twice the mean.
const NOISE_STEP_MICROS: f64 = 500.0;

/// The least recent one-way delay; it contains the offset of the clocks, which cancels out in differences.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BaseDelay {
    current: Option<(Time, i64)>,
    previous: Option<i64>,
}

impl BaseDelay {
    pub(super) fn excess(&mut self, now: Time, delay: i64, is_competing: bool) -> i64 {
        let span = if is_competing { BASE_SPAN_COMPETING } else { BASE_SPAN };
        let least = match &mut self.current {
            Some((began, least)) if now.since(*began) < span => {
                *least = (*least).min(delay);
                *least
            }
            current => {
                self.previous = current.map(|(_, least)| least);
                *current = Some((now, delay));
                delay
            }
        };
        let least = self.previous.map_or(least, |previous| previous.min(least));
        delay.wrapping_sub(least)
    }
}

/// The highest delivery rate of late: the link's is not lower.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Peak {
    began: Time,
    current: f64,
    previous: f64,
}

impl Peak {
    pub(super) fn note(&mut self, now: Time, delivered: f64) {
        if now.since(self.began) >= BASE_SPAN {
            *self = Self { began: now, current: 0.0, previous: self.current };
        }
        self.current = self.current.max(delivered);
    }

    pub(super) fn highest(&self) -> f64 {
        self.current.max(self.previous)
    }
}

/// The sender before its rate fell, bytes a second.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BeforeFalls {
    /// The delivery rate.
    pub(super) delivered: f64,
    /// The sender's rate, at most the highest delivery rate or the initial rate.
    pub(super) allowed: f64,
}

/// Evidence that others fill the queue.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rivals {
    /// Drains that found the queue of others, each within [`RIVALS_SPAN`] of the one before.
    drains: u32,
    seen: Option<Time>,
}

impl Rivals {
    /// Whether a drain or a trial found competitors recently.
    pub(super) fn are_evident(&self, now: Time) -> bool {
        self.seen.is_some_and(|seen| now.since(seen) < RIVALS_SPAN)
    }

    pub(super) fn see(&mut self, now: Time) {
        self.seen = Some(now);
    }

    /// Counts a drain that found the queue of others, and returns the count.
    pub(super) fn note_drain(&mut self, now: Time) -> u32 {
        self.drains = if self.are_evident(now) { self.drains + 1 } else { 1 };
        self.see(now);
        self.drains
    }

    /// Resets the count, because the sender competes.
    pub(super) fn forget_drains(&mut self) {
        self.drains = 0;
    }
}

/// The longest queueing delay of the last second or two.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Usual {
    current: Option<(Time, f64)>,
    previous: Option<f64>,
}

impl Usual {
    pub(super) fn note(&mut self, now: Time, queue: f64) {
        match &mut self.current {
            Some((began, longest)) if now.since(*began) < USUAL_SPAN => *longest = longest.max(queue),
            current => {
                self.previous = current.map(|(_, longest)| longest);
                *current = Some((now, queue));
            }
        }
    }

    /// In µs; `None` in the first second.
    pub(super) fn longest(&self) -> Option<f64> {
        let (_, current) = self.current?;
        Some(current.max(self.previous?))
    }
}

/// The variation of the one-way delay from sample to sample, independent of the traffic. A queue grows and drains
/// steadily, while jitter comes and goes; so a sample is the distance of a delay from the middle of the delays before
/// and after it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Noise {
    last: [Option<f64>; 2],
    samples: u32,
    mean: f64,
}

impl Noise {
    pub(super) fn note(&mut self, delay: f64) {
        let [last, before] = self.last;
        self.last = [Some(delay), last];
        let (Some(last), Some(before)) = (last, before) else { return };
        let bend = (delay - 2.0 * last + before).abs() / 2.0;
        // A single outlying delay is that of an event that left alone, or of a packet after a pause.
        let bend = bend.min(2.0 * self.mean + NOISE_STEP_MICROS);
        self.samples = (self.samples + 1).min(NOISE_SAMPLES);
        self.mean += (bend - self.mean) / f64::from(self.samples.max(NOISE_SAMPLES_MIN));
    }

    /// In µs.
    pub(super) fn mean(&self) -> f64 {
        self.mean
    }
}
