//! Competitive mode: beside other senders that fill the queue of the narrowest hop and answer only to loss.

use std::time::Duration;

use super::Rate;
use super::round::Round;
use crate::time::Time;

/// What is kept of the rate at a loss, as in CUBIC.
const COMPETITIVE_SHARE: f64 = 0.7;
/// In each round the rate grows by so many bytes per round trip, as in Reno.
const COMPETITIVE_STEP_BYTES: f64 = 1_200.0;
/// Or by this share in a second, if that is more, about as CUBIC's.
const COMPETITIVE_GROWTH_PER_SECOND: f64 = 0.08;
/// Until the first loss it grows by this share in each round.
const COMPETITIVE_START: f64 = 0.5;
/// A queue that is longer than this, µs, and does not drain though the rate fell, is that of others.
const OTHERS_QUEUE_MICROS: i64 = 30_000;
/// While a queue of our own drains, more arrives than is sent. Where others fill it, as much does.
const OTHERS_DELIVERED: std::ops::RangeInclusive<f64> = 0.85..=1.1;
/// The first trial comes so soon, later ones after twice the last time.
const COMPETITIVE_FIRST: Duration = Duration::from_secs(2);
const COMPETITIVE_LONGEST: Duration = Duration::from_secs(16);
/// A competitive mode that begins so soon after one that ended is the same.
const COMPETITIVE_RESUMED: Duration = Duration::from_secs(10);
const TRIAL_ROUNDS: u32 = 5;
/// After so many rounds of a trial without a queue the sender is alone: the queue of others comes and goes.
const TRIAL_EMPTY: u32 = 3;

/// Others fill the queue of the narrowest hop, so the rate answers to loss as theirs does.
#[derive(Clone, Copy, Debug)]
pub(super) struct CompetitiveMode {
    until: Time,
    lasts: Duration,
    /// Nothing was lost yet: the rate grows as fast as on a link of its own.
    is_starting: bool,
    /// The last round ended with less.
    has_fallen: bool,
    /// The rate fell to see whether they are still there.
    trial: Option<Trial>,
}

#[derive(Clone, Copy, Debug)]
struct Trial {
    /// What the rate was before.
    rate: f64,
    rounds: u32,
    /// Rounds in a row without a queue.
    empty: u32,
}

/// A competitive mode that seemed to be over.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ended {
    at: Time,
    rate: f64,
    /// How long it would have gone on until the next trial.
    lasts: Duration,
}

impl CompetitiveMode {
    fn begin(now: Time, lasts: Duration, is_starting: bool) -> Self {
        Self { until: now + lasts, lasts, is_starting, has_fallen: false, trial: None }
    }
}

impl Rate {
    /// Whether a long queue does not answer to the rate that fell before this round: as much arrives as is sent, so it is not
    /// our own that drains.
    pub(super) fn is_of_others(&self, round: &Round) -> bool {
        let has_fallen = self.falls > 0 && !round.follows_fall;
        has_fallen && self.bytes_per_second < 0.9 * self.before_falls && self.stays_long(round)
    }

    /// Whether the queue is long and is not our own that drains.
    fn stays_long(&self, round: &Round) -> bool {
        let delivered = round.delivered() / self.bytes_per_second;
        round.was_held_back
            && round.queue_min > OTHERS_QUEUE_MICROS + self.queue_target()
            && OTHERS_DELIVERED.contains(&delivered)
    }

    /// The queue stays though the rate fell again and again: others fill it.
    pub(super) fn begin_competing(&mut self, now: Time) {
        // Competitive mode that ended just now had not ended: it goes on with the rate that it had.
        let ended = self.ended.filter(|ended| now.since(ended.at) < COMPETITIVE_RESUMED);
        let before = ended.map_or(self.before_falls, |ended| ended.rate.max(self.before_falls));
        self.bytes_per_second = self.bytes_per_second.max(COMPETITIVE_SHARE * before);
        self.competitive = Some(match ended {
            Some(ended) => CompetitiveMode::begin(now, ended.lasts, false),
            None => CompetitiveMode::begin(now, COMPETITIVE_FIRST, true),
        });
    }

    /// Others keep the queue full: the rate now answers to loss, as theirs does. Now and then it falls on trial; if that
    /// empties the queue, nobody else was left to fill it.
    pub(super) fn compete(
        &mut self,
        now: Time,
        competitive: CompetitiveMode,
        round: &Round,
    ) -> Option<CompetitiveMode> {
        if let Some(trial) = competitive.trial {
            return self.go_on_trying(now, competitive, trial, round);
        }
        if now >= competitive.until {
            let trial = Trial { rate: self.bytes_per_second, rounds: 0, empty: 0 };
            self.bytes_per_second = self.bytes_per_second.min(round.delivered()) / 2.0;
            return Some(CompetitiveMode { trial: Some(trial), ..competitive });
        }
        // Losses of one overflow are detected in two rounds; they count once.
        let falls = round.lost > 0 && !competitive.has_fallen;
        let span = round.span();
        if falls {
            self.bytes_per_second *= COMPETITIVE_SHARE;
        } else if round.was_held_back {
            let share = if competitive.is_starting {
                COMPETITIVE_START
            } else {
                COMPETITIVE_GROWTH_PER_SECOND * span
            };
            self.bytes_per_second += (share * self.bytes_per_second).max(COMPETITIVE_STEP_BYTES / span);
        }
        let is_starting = competitive.is_starting && round.lost == 0;
        Some(CompetitiveMode { has_fallen: falls, is_starting, ..competitive })
    }

    /// A round of a trial is over: an empty queue ends competitive mode; a queue that does not drain, or too many rounds, the trial.
    fn go_on_trying(
        &mut self,
        now: Time,
        competitive: CompetitiveMode,
        trial: Trial,
        round: &Round,
    ) -> Option<CompetitiveMode> {
        let lasts = (2 * competitive.lasts).min(COMPETITIVE_LONGEST);
        let rounds = trial.rounds + 1;
        let has_queue = round.queue_min > self.queue_target();
        let empty = if has_queue { 0 } else { trial.empty + 1 };
        if empty == TRIAL_EMPTY {
            self.falls = 0;
            self.capacity = None;
            self.bytes_per_second = 0.85 * trial.rate.min(self.peak.highest());
            self.ended = Some(Ended { at: now, rate: trial.rate, lasts });
            return None;
        }
        // The first round holds packets sent before.
        if rounds == TRIAL_ROUNDS || rounds > 1 && self.stays_long(round) {
            self.bytes_per_second = trial.rate;
            return Some(CompetitiveMode::begin(now, lasts, competitive.is_starting));
        }
        Some(CompetitiveMode { trial: Some(Trial { rounds, empty, ..trial }), ..competitive })
    }
}
