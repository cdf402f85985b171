//! State from earlier rounds.

use std::time::Duration;

use crate::time::Time;

/// The least delay is the smallest value of the last two spans of this length.
const BASE_SPAN: Duration = Duration::from_secs(5);
/// Length of these spans while others keep the queue full, because an empty queue is rarer then.
const BASE_SPAN_COMPETING: Duration = Duration::from_secs(30);
/// A competitor that a drain or a trial found is assumed to stay for this time.
const RIVALS_SPAN: Duration = Duration::from_secs(10);
const USUAL_SPAN: Duration = Duration::from_secs(1);
/// The noise is a running mean. A new sample has the weight 1/n, where n is the number of samples, at least `NOISE_SAMPLES_MIN`
/// and at most `NOISE_SAMPLES`.
const NOISE_SAMPLES: u32 = 32;
const NOISE_SAMPLES_MIN: u32 = 8;
/// A single sample counts for at most twice the mean plus this value.
const NOISE_STEP_MICROS: f64 = 500.0;

/// The smallest recent one-way delay. It contains the offset of the clocks. The offset cancels out in differences.
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

/// The highest recent delivery rate. The rate of the link is not lower.
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

/// The state of the sender before its rate fell, in bytes a second.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BeforeFalls {
    /// The delivery rate.
    pub(super) delivered: f64,
    /// The sender's rate, at most the highest delivery rate or the initial rate.
    pub(super) allowed: f64,
}

/// Evidence for competitors that fill the queue.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rivals {
    /// Number of drains that found the queue of others, each within [`RIVALS_SPAN`] of the previous one.
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

    /// Counts a drain that found the queue of others. Returns the count.
    pub(super) fn note_drain(&mut self, now: Time) -> u32 {
        self.drains = if self.are_evident(now) { self.drains + 1 } else { 1 };
        self.see(now);
        self.drains
    }

    /// Resets the count, because competitive mode has begun.
    pub(super) fn forget_drains(&mut self) {
        self.drains = 0;
    }
}

/// The longest queueing delay of the last one to two seconds.
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

    /// The delay in µs; `None` in the first second.
    pub(super) fn longest(&self) -> Option<f64> {
        let (_, current) = self.current?;
        Some(current.max(self.previous?))
    }
}

/// The variation of the one-way delay from sample to sample, independent of the traffic. A queue grows and drains steadily, while
/// jitter comes and goes. Therefore a sample is the distance of a delay from the middle of the delays before and after it.
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
        // A single outlying delay belongs to an event that left alone, or to a packet after a pause.
        let bend = bend.min(2.0 * self.mean + NOISE_STEP_MICROS);
        self.samples = (self.samples + 1).min(NOISE_SAMPLES);
        self.mean += (bend - self.mean) / f64::from(self.samples.max(NOISE_SAMPLES_MIN));
    }

    /// The mean in µs.
    pub(super) fn mean(&self) -> f64 {
        self.mean
    }
}
