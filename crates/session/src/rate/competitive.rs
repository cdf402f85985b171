//! Competitive mode. Other senders fill the queue of the narrowest hop and react only to loss.

use std::time::Duration;

use super::COMPETITIVE_SHARE;
use super::Rate;
use super::drain::QueueTest;
use super::round::{Arrived, Round};
use super::window::Window;
use crate::time::Time;

/// Growth of the rate in each round, in bytes per round trip, as in Reno.
const COMPETITIVE_STEP_BYTES: f64 = 1_200.0;
/// Growth of the rate in a second as a share, about as in CUBIC. This growth applies if it exceeds the step in bytes.
const COMPETITIVE_GROWTH_PER_SECOND: f64 = 0.08;
/// Growth of the rate in each round as a share, until the first loss.
const COMPETITIVE_START: f64 = 0.5;
/// A reliable carrier hides loss and competes by itself. The rate is set above its delivery rate by this factor, so that the
/// carrier decides.
const COMPETITIVE_HEADROOM: f64 = 2.0;
/// Ratio of the arriving bytes to the sent bytes if others fill the queue. While our own queue drains, more arrives than is sent.
const OTHERS_DELIVERED: std::ops::RangeInclusive<f64> = 0.85..=1.1;
/// Time until the first trial. Each later trial follows after twice the previous time.
const COMPETITIVE_FIRST: Duration = Duration::from_secs(2);
const COMPETITIVE_LONGEST: Duration = Duration::from_secs(16);
/// If competitive mode begins again within this time after its end, it continues with its earlier state.
const COMPETITIVE_RESUMED: Duration = Duration::from_secs(10);
const TRIAL_ROUNDS: u32 = 5;
/// Share of the rate that is sent during a trial.
const TRIAL_SHARE: f64 = 0.5;
/// After this number of rounds of a trial without a queue, the sender is alone. One such round is not evidence, because the queue
/// of others comes and goes.
const TRIAL_EMPTY: u32 = 3;
/// If others filled a long queue before, they are assumed to have left after this number of rounds without a queue.
const EMPTY_ROUNDS: u32 = 8;
/// If a pause found the sender's own queue, the pause is repeated after this time, because a rising capacity has the same effect.
const OWN_REPEATED: Duration = Duration::from_secs(1);
/// After this number of consecutive pauses that found the sender's own queue, no competitor is left.
const OWN_PAUSES: u32 = 2;

/// Others fill the queue of the narrowest hop, so the rate reacts to loss as their rates do.
#[derive(Clone, Copy, Debug)]
pub(super) struct CompetitiveMode {
    until: Time,
    lasts: Duration,
    /// Whether nothing was lost yet. The rate then grows as fast as on an uncontested link.
    is_starting: bool,
    /// Whether the rate fell in the last round.
    has_fallen: bool,
    /// Set while the rate is low to test whether the others still send.
    trial: Option<Trial>,
    /// `None` on a reliable carrier, which has its own window.
    window: Option<Window>,
    /// Consecutive pauses that found the sender's own queue.
    own: u32,
    /// Whether the queue has been long at some time since the last trial. The next trial then waits until the
    /// queue is long again.
    had_long_queue: bool,
    /// Consecutive rounds without a queue.
    empty: u32,
}

#[derive(Clone, Copy, Debug)]
struct Trial {
    /// The rate before the trial.
    rate: f64,
    rounds: u32,
    /// Consecutive rounds of the trial without a queue.
    empty: u32,
    /// End of the pause. Until this time packets leave at a share of the rate, and the window still applies. `None`: the trial
    /// has no pause, and the rate is lower until the trial ends.
    pauses_until: Option<Time>,
    test: QueueTest,
    /// Whether the test showed that the queue is our own.
    is_own: Option<bool>,
}

/// A competitive mode that has probably ended, with its state.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ended {
    at: Time,
    rate: f64,
    window: Option<Window>,
    /// The time until the next trial, if competitive mode had continued.
    lasts: Duration,
}

impl CompetitiveMode {
    fn begin(now: Time, lasts: Duration, is_starting: bool) -> Self {
        Self {
            until: now + lasts,
            lasts,
            is_starting,
            has_fallen: false,
            trial: None,
            window: None,
            own: 0,
            had_long_queue: false,
            empty: 0,
        }
    }

    /// Maximum number of bytes in flight, if a window decides.
    pub(super) fn window_bytes(&self) -> Option<f64> {
        self.window.filter(|_| self.has_window()).map(|window| window.bytes())
    }

    /// Whether packets now leave at a share of the rate, to test the queue.
    pub(super) fn pauses(&self, now: Time) -> bool {
        self.trial.and_then(|trial| trial.pauses_until).is_some_and(|until| now < until)
    }

    /// Whether the window decides, rather than the low rate of a trial.
    fn has_window(&self) -> bool {
        self.window.is_some() && self.trial.is_none_or(|trial| trial.pauses_until.is_some())
    }

    fn lasts_next(&self) -> Duration {
        (2 * self.lasts).min(COMPETITIVE_LONGEST)
    }
}

impl Rate {
    /// Whether others fill a long queue, on a carrier that competes by itself. The evidence is that as much arrives as is sent,
    /// although the rate fell before this round.
    pub(super) fn is_of_others(&self, round: &Round) -> bool {
        let has_fallen = self.falls > 0 && !round.follows_fall;
        let delivered = round.delivered() / self.bytes_per_second;
        has_fallen
            && self.bytes_per_second < 0.9 * self.before_falls.delivered
            && round.was_held_back
            && self.is_long(round.queue_min)
            && OTHERS_DELIVERED.contains(&delivered)
    }

    /// Whether competitive mode ended such a short time ago that the competitors may still be there.
    pub(super) fn has_just_ended(&self, now: Time) -> bool {
        self.ended.is_some_and(|ended| now.since(ended.at) < COMPETITIVE_RESUMED)
    }

    /// Begins competitive mode, because the queue stays although the rate fell repeatedly, so others fill it.
    pub(super) fn begin_competing(&mut self, now: Time, arrived: &Arrived) {
        // If competitive mode ended a short time ago, its end was a mistake. Competitive mode then continues with its earlier
        // rate.
        let ended = self.ended.filter(|_| self.has_just_ended(now));
        let delivered = self.before_falls.delivered;
        let before = ended.map_or(delivered, |ended| ended.rate.max(delivered));
        self.bytes_per_second = self.bytes_per_second.max(COMPETITIVE_SHARE * before);
        let mut competitive = match ended {
            Some(ended) => CompetitiveMode::begin(now, ended.lasts, false),
            None => CompetitiveMode::begin(now, COMPETITIVE_FIRST, true),
        };
        if !arrived.is_reliable {
            let round_trip = now.since(arrived.sent).as_secs_f64();
            let rate = self.bytes_per_second.max(self.before_falls.allowed);
            let window = match ended.and_then(|ended| ended.window) {
                Some(window) => window.resume(round_trip),
                None => Window::begin(rate, round_trip),
            };
            self.bytes_per_second = window.rate().min(self.budget);
            competitive.window = Some(window);
        }
        self.competitive = Some(competitive);
    }

    /// Ends competitive mode, because no competitor is left. `rate` is the rate that the sender had in competition.
    fn end_competing(&mut self, now: Time, competitive: &CompetitiveMode, rate: f64, lasts: Duration) {
        self.falls = 0;
        self.capacity = None;
        self.bytes_per_second = 0.85 * rate.min(self.peak.highest());
        self.rivals.see(now);
        self.ended = Some(Ended { at: now, rate, window: competitive.window, lasts });
    }

    /// Adjusts the rate or the window while others keep the queue full. Both react to loss as the rates and windows of the
    /// other senders do. At intervals the sender pauses, or lowers the rate for a trial. If that empties the queue, no
    /// competitor is left.
    pub(super) fn compete(
        &mut self,
        now: Time,
        mut competitive: CompetitiveMode,
        round: &Round,
        arrived: &Arrived,
        queue: f64,
    ) -> Option<CompetitiveMode> {
        if let Some(trial) = competitive.trial {
            if trial.pauses_until.is_none() {
                return self.go_on_trying(now, competitive, trial, round);
            }
            competitive = self.judge_pause(now, competitive, trial)?;
        }
        let has_queue = round.queue_min > self.queue_target();
        competitive.empty = if has_queue { 0 } else { competitive.empty + 1 };
        competitive.had_long_queue |= self.is_long(queue);
        if now >= competitive.until && competitive.trial.is_none() {
            // A window finds an empty queue without a trial. A rate would have to fall first.
            if competitive.window.is_some() && competitive.empty >= EMPTY_ROUNDS {
                self.end_competing(now, &competitive, self.bytes_per_second, competitive.lasts);
                return None;
            }
            let waits = competitive.window.is_some() && competitive.had_long_queue && !self.is_long(queue);
            if !waits {
                return Some(self.begin_trial(now, competitive, round, arrived, queue));
            }
        }
        Some(self.answer_to_loss(now, competitive, round, arrived))
    }

    fn begin_trial(
        &mut self,
        now: Time,
        competitive: CompetitiveMode,
        round: &Round,
        arrived: &Arrived,
        queue: f64,
    ) -> CompetitiveMode {
        let pauses = competitive.window.is_some() && self.is_long(queue);
        let pause = Duration::from_micros(self.pause_micros(queue) as u64);
        let trial = Trial {
            rate: self.bytes_per_second,
            rounds: 0,
            empty: 0,
            pauses_until: pauses.then(|| now + pause),
            test: QueueTest::begin(arrived, queue, round.delivered()),
            is_own: None,
        };
        if !pauses {
            self.bytes_per_second = TRIAL_SHARE * self.bytes_per_second.min(round.delivered());
        }
        CompetitiveMode { trial: Some(trial), had_long_queue: false, empty: 0, ..competitive }
    }

    fn answer_to_loss(
        &mut self,
        now: Time,
        mut competitive: CompetitiveMode,
        round: &Round,
        arrived: &Arrived,
    ) -> CompetitiveMode {
        // Losses of a single overflow may be detected in two rounds. They count once.
        let falls = round.lost > 0 && !competitive.has_fallen;
        let span = round.span();
        match &mut competitive.window {
            Some(window) if falls => window.shrink(),
            Some(window) if round.was_held_back && competitive.is_starting => window.start(self.budget),
            Some(window) if round.was_held_back => {
                window.grow(now.since(round.began).as_secs_f64(), self.budget);
            }
            Some(_) => {}
            None if falls => self.bytes_per_second *= COMPETITIVE_SHARE,
            None if round.was_held_back => {
                let share = if competitive.is_starting {
                    COMPETITIVE_START
                } else {
                    COMPETITIVE_GROWTH_PER_SECOND * span
                };
                self.bytes_per_second += (share * self.bytes_per_second).max(COMPETITIVE_STEP_BYTES / span);
            }
            None => {}
        }
        if arrived.is_reliable {
            self.bytes_per_second = self.bytes_per_second.min(COMPETITIVE_HEADROOM * self.peak.highest());
        }
        let is_starting = competitive.is_starting && round.lost == 0;
        CompetitiveMode { has_fallen: falls, is_starting, ..competitive }
    }

    /// Handles an acknowledgement. The window sets the rate, and a trial examines the queue.
    pub(super) fn watch_window(
        &mut self,
        now: Time,
        mut competitive: CompetitiveMode,
        arrived: &Arrived,
        queue: f64,
    ) -> CompetitiveMode {
        let has_window = competitive.has_window();
        if let Some(window) = &mut competitive.window {
            window.sample(now.since(arrived.sent).as_secs_f64());
            // During a trial without a pause, the low rate of the trial must stay.
            if has_window {
                self.bytes_per_second = window.rate().min(self.budget);
            }
        }
        if let Some(trial) = &mut competitive.trial
            && !trial.test.note(arrived, queue)
            && trial.is_own.is_none()
        {
            trial.is_own = self.is_own(&trial.test, arrived, queue);
        }
        competitive
    }

    /// Handles the end of a round after a pause has begun. Returns `None` if pauses have shown that no competitor is left.
    fn judge_pause(
        &mut self,
        now: Time,
        mut competitive: CompetitiveMode,
        trial: Trial,
    ) -> Option<CompetitiveMode> {
        if trial.is_own.is_none() && trial.rounds < TRIAL_ROUNDS {
            competitive.trial = Some(Trial { rounds: trial.rounds + 1, ..trial });
            return Some(competitive);
        }
        competitive.trial = None;
        // An unknown result counts as others: the price of a wrong end is a share of the link, that of a late end only a queue.
        if trial.is_own != Some(true) {
            competitive.own = 0;
            competitive.lasts = competitive.lasts_next();
            competitive.until = now + competitive.lasts;
            return Some(competitive);
        }
        competitive.own += 1;
        competitive.until = now + OWN_REPEATED;
        if competitive.own == OWN_PAUSES {
            self.end_competing(now, &competitive, trial.rate, competitive.lasts);
            return None;
        }
        Some(competitive)
    }

    /// Handles the end of a round of a trial. An empty queue ends competitive mode. A queue that does not drain, or too many
    /// rounds, end the trial.
    fn go_on_trying(
        &mut self,
        now: Time,
        competitive: CompetitiveMode,
        trial: Trial,
        round: &Round,
    ) -> Option<CompetitiveMode> {
        let lasts = competitive.lasts_next();
        let rounds = trial.rounds + 1;
        let has_queue = round.queue_min > self.queue_target();
        let empty = if has_queue { 0 } else { trial.empty + 1 };
        if empty == TRIAL_EMPTY || trial.is_own == Some(true) {
            self.end_competing(now, &competitive, trial.rate, lasts);
            return None;
        }
        // The first round contains packets that were sent before the trial.
        if rounds == TRIAL_ROUNDS || rounds > 1 && trial.is_own == Some(false) {
            self.bytes_per_second = trial.rate;
            let next = CompetitiveMode::begin(now, lasts, competitive.is_starting);
            return Some(CompetitiveMode { window: competitive.window, ..next });
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

    /// Sends at full rate over a reliable carrier for 40 s. From the third second on, others fill the queue until `until`.
    /// Returns the mean rate of the last ten seconds, in bytes a second.
    fn send_beside_others(until: f64) -> f64 {
        let at = |seconds: f64| Time::from_micros((seconds * 1e6) as u64);
        let (mut rate, mut under_way) = (Rate::new(None), VecDeque::<(f64, Arrived)>::new());
        let (mut now, mut number, mut newest, mut late_bytes) = (0.0, 0, 0.0_f64, 0.0);
        while now < 40.0 {
            // The delay is between 100 and 200 ms, like that of the varying queue of CUBIC.
            let queue = if (2.0..until).contains(&now) { 0.1 + 0.1 * (now / 2.0).fract() } else { 0.0 };
            newest = newest.max(now + 0.025 + queue);
            number += 1;
            let sent = Arrived {
                number,
                // The number is known when the packet is acknowledged.
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
