//! Competitive mode: with other senders that fill the queue of the narrowest hop and answer only to loss.

use std::time::Duration;

use super::COMPETITIVE_SHARE;
use super::Rate;
use super::drain::QueueTest;
use super::round::{Arrived, Round};
use crate::time::Time;

/// Growth of the rate in each round, in bytes per round trip, as in Reno.
const COMPETITIVE_STEP_BYTES: f64 = 1_200.0;
/// Or by this share in a second, if that is more, about as CUBIC's.
const COMPETITIVE_GROWTH_PER_SECOND: f64 = 0.08;
/// Until the first loss it grows by this share in each round.
const COMPETITIVE_START: f64 = 0.5;
/// A reliable carrier hides loss and competes by itself: the rate stays above its delivery rate by this factor, so that
/// the carrier decides.
const COMPETITIVE_HEADROOM: f64 = 2.0;
/// While our own queue drains, more arrives than is sent. Where others fill the queue, as much arrives as is sent.
const OTHERS_DELIVERED: std::ops::RangeInclusive<f64> = 0.85..=1.1;
/// Time until the first trial; later ones follow after twice the last time.
const COMPETITIVE_FIRST: Duration = Duration::from_secs(2);
const COMPETITIVE_LONGEST: Duration = Duration::from_secs(16);
/// A competitive mode that begins within this time after one that ended continues it.
const COMPETITIVE_RESUMED: Duration = Duration::from_secs(10);
const TRIAL_ROUNDS: u32 = 5;
/// Share of the rate that is sent during a trial.
const TRIAL_SHARE: f64 = 0.5;
/// After this number of rounds of a trial without a queue the sender is alone, because the queue of others comes and
/// goes.
const TRIAL_EMPTY: u32 = 3;

/// Others fill the queue of the narrowest hop, so the rate answers to loss as theirs does.
#[derive(Clone, Copy, Debug)]
pub(super) struct CompetitiveMode {
    until: Time,
    lasts: Duration,
    /// Nothing was lost yet: the rate grows as fast as on a link of its own.
    is_starting: bool,
    /// The rate fell in the last round.
    has_fallen: bool,
    /// The rate fell to test whether the others still send.
    trial: Option<Trial>,
}

#[derive(Clone, Copy, Debug)]
struct Trial {
    /// The rate before the trial.
    rate: f64,
    rounds: u32,
    /// Rounds in a row without a queue.
    empty: u32,
    test: QueueTest,
    /// Whether the test showed that the queue is our own.
    is_own: Option<bool>,
}

/// A competitive mode that seemed to be over.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ended {
    at: Time,
    rate: f64,
    /// The time until its next trial, had it continued.
    lasts: Duration,
}

impl CompetitiveMode {
    fn begin(now: Time, lasts: Duration, is_starting: bool) -> Self {
        Self { until: now + lasts, lasts, is_starting, has_fallen: false, trial: None }
    }
}

impl Rate {
    /// Whether a long queue does not react to the fall of the rate before this round, on a carrier that competes by
    /// itself: as much arrives as is sent.
    pub(super) fn is_of_others(&self, round: &Round) -> bool {
        let has_fallen = self.falls > 0 && !round.follows_fall;
        let delivered = round.delivered() / self.bytes_per_second;
        has_fallen
            && self.bytes_per_second < 0.9 * self.before_falls
            && round.was_held_back
            && self.is_long(round.queue_min)
            && OTHERS_DELIVERED.contains(&delivered)
    }

    /// Whether competitive mode ended so short a time ago that it may not have ended.
    pub(super) fn has_just_ended(&self, now: Time) -> bool {
        self.ended.is_some_and(|ended| now.since(ended.at) < COMPETITIVE_RESUMED)
    }

    /// The queue stays although the rate fell repeatedly: others fill it.
    pub(super) fn begin_competing(&mut self, now: Time) {
        // Competitive mode that ended just now had not ended: it continues with its rate.
        let ended = self.ended.filter(|_| self.has_just_ended(now));
        let before = ended.map_or(self.before_falls, |ended| ended.rate.max(self.before_falls));
        self.bytes_per_second = self.bytes_per_second.max(COMPETITIVE_SHARE * before);
        self.competitive = Some(match ended {
            Some(ended) => CompetitiveMode::begin(now, ended.lasts, false),
            None => CompetitiveMode::begin(now, COMPETITIVE_FIRST, true),
        });
    }

    /// Others keep the queue full: the rate now answers to loss, as theirs does. Now and then it falls in a trial; if
    /// the queue then empties, no other sender filled it.
    pub(super) fn compete(
        &mut self,
        now: Time,
        competitive: CompetitiveMode,
        round: &Round,
        arrived: &Arrived,
        queue: f64,
    ) -> Option<CompetitiveMode> {
        if let Some(trial) = competitive.trial {
            return self.go_on_trying(now, competitive, trial, round);
        }
        if now >= competitive.until {
            let test = QueueTest::begin(arrived, queue, round.delivered());
            let trial = Trial { rate: self.bytes_per_second, rounds: 0, empty: 0, test, is_own: None };
            self.bytes_per_second = TRIAL_SHARE * self.bytes_per_second.min(round.delivered());
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
        if arrived.is_reliable {
            self.bytes_per_second = self.bytes_per_second.min(COMPETITIVE_HEADROOM * self.peak.highest());
        }
        let is_starting = competitive.is_starting && round.lost == 0;
        Some(CompetitiveMode { has_fallen: falls, is_starting, ..competitive })
    }

    /// A trial examines the queue with each acknowledgement.
    pub(super) fn watch_trial(
        &self,
        mut competitive: CompetitiveMode,
        arrived: &Arrived,
        queue: f64,
    ) -> CompetitiveMode {
        if let Some(trial) = &mut competitive.trial
            && !trial.test.note(arrived, queue)
            && trial.is_own.is_none()
        {
            trial.is_own = self.is_own(&trial.test, arrived, queue);
        }
        competitive
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
        if empty == TRIAL_EMPTY || trial.is_own == Some(true) {
            self.falls = 0;
            self.capacity = None;
            self.bytes_per_second = 0.85 * trial.rate.min(self.peak.highest());
            self.ended = Some(Ended { at: now, rate: trial.rate, lasts });
            return None;
        }
        // The first round holds packets sent before.
        if rounds == TRIAL_ROUNDS || rounds > 1 && trial.is_own == Some(false) {
            self.bytes_per_second = trial.rate;
            return Some(CompetitiveMode::begin(now, lasts, competitive.is_starting));
        }
        Some(CompetitiveMode { trial: Some(Trial { rounds, empty, ..trial }), ..competitive })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::super::{Arrived, Rate};
    use super::*;

    const PACKET_BYTES: u32 = 1_200;
    /// The capacity of the carrier, bytes a second.
    const CARRIER: f64 = 300_000.0;

    /// Sends at full rate over a reliable carrier for 40 s, while others fill the queue from the third second on until
    /// `until`. Returns the mean rate of the last ten, bytes a second.
    fn send_beside_others(until: f64) -> f64 {
        let at = |seconds: f64| Time::from_micros((seconds * 1e6) as u64);
        let (mut rate, mut under_way) = (Rate::new(None), VecDeque::<(f64, Arrived)>::new());
        let (mut now, mut number, mut newest, mut late_bytes) = (0.0, 0, 0.0_f64, 0.0);
        while now < 40.0 {
            // Between 100 and 200 ms, like the varying queue of CUBIC.
            let queue = if (2.0..until).contains(&now) { 0.1 + 0.1 * (now / 2.0).fract() } else { 0.0 };
            newest = newest.max(now + 0.025 + queue);
            number += 1;
            let sent = Arrived {
                number,
                // Known when it is acknowledged.
                next_number: 0,
                sent: at(now),
                arrived: (newest * 1e6) as i64,
                packet_bytes: PACKET_BYTES,
                bytes: PACKET_BYTES.into(),
                busy_period: 0,
                is_reliable: true,
            };
            under_way.push_back((newest + 0.025, sent));
            while let Some((_, arrived)) = under_way.pop_front_if(|(acknowledged, _)| *acknowledged <= now) {
                rate.hold_back();
                rate.acknowledged(at(now), Arrived { next_number: number + 1, ..arrived });
            }
            let per_second = (rate.bytes_per_second() as f64).min(CARRIER);
            late_bytes += if now >= 30.0 { f64::from(PACKET_BYTES) } else { 0.0 };
            now += f64::from(PACKET_BYTES) / per_second;
        }
        late_bytes / 10.0
    }

    #[test]
    fn a_reliable_carrier_takes_its_share_while_others_fill_the_queue() {
        let sent = send_beside_others(f64::INFINITY);
        assert!(sent > 0.8 * CARRIER, "{sent:.0} bytes a second");
    }

    #[test]
    fn a_reliable_carrier_takes_the_whole_link_again_after_the_others_leave() {
        let sent = send_beside_others(15.0);
        assert!(sent > 0.95 * CARRIER, "{sent:.0} bytes a second");
    }
}
