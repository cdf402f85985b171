//! How fast to send (`spec/SESSION.md`, section 11): by the queueing delay that the peer's arrival times reveal, not by
//! loss, so that a narrow link's buffer stays nearly empty and a noisy link is not taken for a narrow one.
//!
//! The idea of steering by one-way delay is that of LEDBAT (RFC 6817); probing gently around the capacity found, and
//! leaving quickly when it has grown, is that of CUBIC (RFC 9438).

use std::time::Duration;

use crate::time::Time;

const INITIAL_BYTES_PER_SECOND: f64 = 125_000.0;
const BYTES_PER_SECOND_MIN: f64 = 2_000.0;
const BYTES_PER_SECOND_MAX: f64 = 4e9;
/// A queue that never drains below this within a round is a standing one.
const QUEUE_TARGET_MICROS: i64 = 4_000;
const QUEUE_TARGET_MICROS_MAX: i64 = 20_000;
/// From this share of the capacity found, the rate grows half as fast: what is too much becomes queue until it is noticed.
const SURE_SHARE: f64 = 0.97;
/// On a carrier that sends lost packets again, all that follow wait for them; that passes, a queue stays.
const RECOVERY_MAX: Duration = Duration::from_millis(500);
/// Rounds are at least this long, so that they hold enough samples.
const ROUND_MIN: Duration = Duration::from_millis(25);
/// The least delay is that of the last two such spans.
const BASE_SPAN: Duration = Duration::from_secs(5);
/// While others keep the queue full, an empty one is rarer.
const BASE_SPAN_RIVALRY: Duration = Duration::from_secs(30);
/// More than this share of a round, and so many bytes, are lost only where a link without a buffer is full.
const NOISE_SHARE: f64 = 0.3;
const NOISE_BYTES: f64 = 30_000.0;
const BURST: Duration = Duration::from_millis(2);
const FLIGHT_ALLOWANCE: Duration = Duration::from_millis(30);
const FLIGHT_BYTES_MIN: u64 = 2 * 1_200;
/// Where all that follows a lost packet waits for it, that is so much longer under way.
const FLIGHT_ROUND_TRIPS_RELIABLE: u32 = 3;
/// A packet is no larger than what leaves in this time: what comes first in the next one waits so long.
const PACKET_TIME: Duration = Duration::from_millis(5);
/// But no smaller than this, because of what every packet costs on the link.
const PACKET_BYTES_MIN: usize = 600;
/// With what TLS and WebSocket add it fits into one segment of TCP: more segments for the same would be lost more often.
const SEGMENT_BYTES: usize = 1_380;
/// A full carrier keeps no more than this itself; the time that takes is no queue of the link.
const CARRIER_BYTES: f64 = 8_000.0;
/// What it delivers is averaged over about this.
const MEAN_SECONDS: f64 = 0.5;
/// A queue that stays though the rate fell for so many rounds is somebody else's; of rounds that come now with a queue,
/// now without, it takes more. One round with a queue counts as much as three without.
const FALLS_MAX: u32 = 5 * FALL;
const FALL: u32 = 3;

/// The sender's rate, and when the next packet may leave.
#[derive(Clone, Debug)]
pub(crate) struct Rate {
    bytes_per_second: f64,
    budget: f64,
    is_starting: bool,
    capacity: Option<f64>,
    falls: u32,
    /// Every round since then saw a queue.
    queue_since: Option<Time>,
    /// What was delivered before the rate fell.
    before_falls: f64,
    rivalry: Option<Rivalry>,
    ended: Option<Ended>,
    base: BaseDelay,
    peak: Peak,
    round: Option<Round>,
    queue: Duration,
    next_at: Time,
    held_back: bool,
    carrier_is_full: bool,
    /// What was delivered of late, bytes a second.
    mean: f64,
}

#[derive(Clone, Copy, Debug)]
struct Round {
    /// The round ends when this packet number is acknowledged.
    end: u64,
    began: Time,
    arrived: i64,
    acknowledged: u64,
    last_arrived: i64,
    queue_min: i64,
    was_held_back: bool,
    /// The carrier took no more.
    was_full: bool,
    /// Bytes.
    lost: u64,
}

/// One newly acknowledged packet, the largest of its acknowledgement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrived {
    pub(crate) number: u64,
    pub(crate) next_number: u64,
    pub(crate) sent: Time,
    /// By the peer's clock, µs.
    pub(crate) arrived: i64,
    /// Its own size.
    pub(crate) packet_bytes: u32,
    /// All bytes newly acknowledged.
    pub(crate) bytes: u64,
    /// The carrier loses nothing, so that loss tells nothing of the link.
    pub(crate) is_reliable: bool,
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
            before_falls: 0.0,
            rivalry: None,
            ended: None,
            base: BaseDelay::default(),
            peak: Peak::default(),
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

    /// The least queueing delay of the last round.
    pub(crate) fn queue(&self) -> Duration {
        self.queue
    }

    /// Bytes that may be in flight, given the least round trip and that of late.
    pub(crate) fn flight_bytes_max(&self, least: Duration, smoothed: Duration, is_reliable: bool) -> u64 {
        // A queue that others keep full is part of the way.
        let round_trip = match (is_reliable, self.rivalry) {
            (true, _) => FLIGHT_ROUND_TRIPS_RELIABLE * least,
            (false, Some(_)) => smoothed.max(least),
            (false, None) => least,
        };
        let bytes = self.bytes_per_second * (round_trip + FLIGHT_ALLOWANCE).as_secs_f64();
        (bytes as u64).max(FLIGHT_BYTES_MIN)
    }

    /// How large a packet may become, if its first message does not need more.
    pub(crate) fn packet_bytes(&self, is_reliable: bool) -> usize {
        let bytes = |per_second: f64| (per_second * PACKET_TIME.as_secs_f64()) as usize;
        if is_reliable {
            // The rate may be far above what such a carrier really takes.
            let segments = bytes(self.bytes_per_second.min(self.mean)) / SEGMENT_BYTES;
            return segments.max(1) * SEGMENT_BYTES;
        }
        bytes(self.bytes_per_second).max(PACKET_BYTES_MIN)
    }

    /// When the next packet may leave, at `fraction` of the rate.
    pub(crate) fn next_at(&self) -> Time {
        self.next_at
    }

    /// A packet is ready but must wait for its turn, or for room in flight, which the rate decides too.
    pub(crate) fn hold_back(&mut self) {
        self.held_back = true;
    }

    /// A packet is ready but the carrier takes none, because its way is full.
    pub(crate) fn carrier_is_full(&mut self) {
        self.carrier_is_full = true;
    }

    /// A packet leaves.
    pub(crate) fn spend(&mut self, now: Time, bytes: usize) {
        self.spend_at(self.bytes_per_second, now, bytes);
    }

    /// A packet leaves for a peer that is silent, at a share of what was delivered to it until then.
    pub(crate) fn spend_silently(&mut self, now: Time, bytes: usize, share: f64) {
        let delivered = if self.mean > 0.0 { self.mean } else { self.bytes_per_second };
        let per_second = share * delivered.clamp(BYTES_PER_SECOND_MIN, self.bytes_per_second);
        self.spend_at(per_second, now, bytes);
    }

    fn spend_at(&mut self, per_second: f64, now: Time, bytes: usize) {
        let earliest = now - BURST;
        self.next_at = self.next_at.max(earliest) + Duration::from_secs_f64(bytes as f64 / per_second);
    }

    /// A packet was lost. That says something only where others fill the queue, or if much is.
    pub(crate) fn lost(&mut self, bytes: u32) {
        if let Some(round) = &mut self.round {
            round.lost += u64::from(bytes);
        }
    }

    /// The path was silent for a while: what was learned about delay no longer holds.
    pub(crate) fn slow_down(&mut self) {
        let mean = self.mean;
        self.restart(0.5);
        self.mean = mean;
    }

    /// The path is another one: what was learned about delay no longer holds.
    pub(crate) fn restart(&mut self, share: f64) {
        let kept = (self.bytes_per_second * share).max(BYTES_PER_SECOND_MIN);
        *self = Self { bytes_per_second: kept.min(self.budget), budget: self.budget, ..Self::new(None) };
    }

    /// The peer is back after an outage: as fast as before, but what was under way meanwhile says nothing.
    pub(crate) fn go_on(&mut self) {
        *self = Self {
            bytes_per_second: self.bytes_per_second,
            budget: self.budget,
            is_starting: self.is_starting,
            capacity: self.capacity,
            peak: self.peak,
            mean: self.mean,
            ..Self::new(None)
        };
    }

    pub(crate) fn acknowledged(&mut self, now: Time, arrived: Arrived) {
        let delay = arrived.arrived.wrapping_sub(arrived.sent.as_micros() as i64);
        // The least delay is that of the smallest packets; a large one needs its time on a narrow link without any queue.
        let passing = f64::from(arrived.packet_bytes) / self.bytes_per_second.max(self.peak.highest()) * 1e6;
        let span = if self.rivalry.is_some() { BASE_SPAN_RIVALRY } else { BASE_SPAN };
        let queue = self.base.excess(now, delay, span).saturating_sub(passing as i64);
        let Some(round) = &mut self.round else {
            self.round = Some(Round::begin(now, arrived));
            return;
        };
        round.acknowledged += arrived.bytes;
        round.last_arrived = round.last_arrived.max(arrived.arrived);
        round.queue_min = round.queue_min.min(queue);
        round.was_held_back |= std::mem::take(&mut self.held_back);
        round.was_full |= std::mem::take(&mut self.carrier_is_full);
        if arrived.number >= round.end && now.since(round.began) >= ROUND_MIN {
            let round = *round;
            self.round = Some(Round::begin(now, arrived));
            self.finish(now, round, arrived.is_reliable);
        }
    }

    fn finish(&mut self, now: Time, round: Round, is_reliable: bool) {
        let span = round.last_arrived.wrapping_sub(round.arrived).max(1) as f64 / 1e6;
        let delivered = round.acknowledged as f64 / span;
        self.queue = Duration::from_micros(round.queue_min.max(0) as u64);
        self.peak.note(now, delivered);
        self.mean += (span / MEAN_SECONDS).min(1.0) * (delivered - self.mean);
        let lost = round.lost as f64;
        let overflows = lost > NOISE_BYTES && lost > NOISE_SHARE * (lost + round.acknowledged as f64);
        let own = if round.was_full { CARRIER_BYTES / self.mean.max(BYTES_PER_SECOND_MIN) } else { 0.0 };
        let has_queue = round.queue_min > self.queue_target() + (own * 1e6) as i64;
        let queue_since = has_queue.then(|| self.queue_since.unwrap_or(round.began));
        self.queue_since = queue_since;
        let recovers = is_reliable && queue_since.is_some_and(|since| now.since(since) < RECOVERY_MAX);
        match self.rivalry.take() {
            Some(rivalry) => self.rivalry = self.compete(now, rivalry, &round, delivered, span),
            None if overflows => self.fall(now, delivered, span, is_reliable),
            // The carrier decides: a rate below its own would only keep it from finding out what the link takes.
            None if round.was_full && !has_queue => self.falls = self.falls.saturating_sub(1),
            None if recovers => {}
            None if has_queue && (round.was_held_back || round.was_full) => {
                self.queue_since = Some(now);
                self.fall(now, delivered, span, is_reliable);
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

    /// How long a queue may always be there, µs: where a single packet takes longer than the usual target, one that waits for
    /// the one before it sees no queue that stays.
    fn queue_target(&self) -> i64 {
        let packet = (PACKET_BYTES_MIN as f64 / self.bytes_per_second * 1e6) as i64;
        packet.clamp(QUEUE_TARGET_MICROS, QUEUE_TARGET_MICROS_MAX)
    }

    /// Who has less to send than it may does not learn what the link takes: the queue is that of others, or the peer was
    /// slow to look.
    fn yield_somewhat(&mut self) {
        let lowered = (0.9 * self.bytes_per_second).max(INITIAL_BYTES_PER_SECOND);
        self.bytes_per_second = self.bytes_per_second.min(lowered);
    }

    /// A standing queue: its drain is the capacity; sending less empties it within about a tenth of a second.
    fn fall(&mut self, now: Time, delivered: f64, span: f64, is_reliable: bool) {
        if self.falls == 0 {
            self.before_falls = delivered;
        }
        self.is_starting = false;
        self.falls += FALL;
        self.capacity = Some(delivered);
        let drain = self.queue.as_secs_f64() / (0.1 + span);
        let lowered = delivered * (1.0 - drain).clamp(0.5, 0.9);
        self.bytes_per_second = self.bytes_per_second.min(lowered);
        if self.falls <= FALLS_MAX {
            return;
        }
        // Whoever only yields to those who fill the queue gets nothing.
        if is_reliable {
            let floor = (self.before_falls / 2.0).min(delivered);
            self.bytes_per_second = self.bytes_per_second.max(floor);
        } else {
            // A rivalry that ended just now had not ended: it goes on with what it had.
            let ended = self.ended.filter(|ended| now.since(ended.at) < RIVALRY_RESUMED);
            let before = ended.map_or(self.before_falls, |ended| ended.rate.max(self.before_falls));
            self.bytes_per_second = self.bytes_per_second.max(RIVALRY_SHARE * before);
            self.rivalry = Some(match ended {
                Some(ended) => Rivalry::begin(now, ended.lasts, false),
                None => Rivalry::begin(now, RIVALRY_FIRST, true),
            });
        }
    }

    /// Others keep the queue full: the rate now answers to loss, as theirs does. Now and then it falls on trial; if that
    /// empties the queue, nobody else was left to fill it.
    fn compete(
        &mut self,
        now: Time,
        rivalry: Rivalry,
        round: &Round,
        delivered: f64,
        span: f64,
    ) -> Option<Rivalry> {
        if let Some(trial) = rivalry.trial {
            return self.go_on_trying(now, rivalry, trial, round);
        }
        if now >= rivalry.until {
            let trial = Trial { rate: self.bytes_per_second, rounds: 0, empty: 0 };
            self.bytes_per_second = self.bytes_per_second.min(delivered) / 2.0;
            return Some(Rivalry { trial: Some(trial), ..rivalry });
        }
        // Losses of one overflow are told in two rounds; they count once.
        let falls = round.lost > 0 && !rivalry.has_fallen;
        if falls {
            self.bytes_per_second *= RIVALRY_SHARE;
        } else if round.was_held_back {
            let share = if rivalry.is_starting { 0.25 } else { RIVALRY_GROWTH_PER_SECOND * span };
            self.bytes_per_second += (share * self.bytes_per_second).max(RIVALRY_STEP_BYTES / span);
        }
        let is_starting = rivalry.is_starting && round.lost == 0;
        Some(Rivalry { has_fallen: falls, is_starting, ..rivalry })
    }

    /// A round of a trial is over: an empty queue ends the rivalry, too many rounds end the trial.
    fn go_on_trying(&mut self, now: Time, rivalry: Rivalry, trial: Trial, round: &Round) -> Option<Rivalry> {
        let lasts = (2 * rivalry.lasts).min(RIVALRY_LONGEST);
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
        if rounds == TRIAL_ROUNDS {
            self.bytes_per_second = trial.rate;
            return Some(Rivalry::begin(now, lasts, rivalry.is_starting));
        }
        Some(Rivalry { trial: Some(Trial { rounds, empty, ..trial }), ..rivalry })
    }

    fn grow(&mut self) {
        let ratio = self.capacity.map_or(0.0, |capacity| self.bytes_per_second / capacity);
        let near = (0.85..1.15).contains(&ratio);
        self.bytes_per_second *= match (self.is_starting, near) {
            (true, _) => 2.0,
            (false, true) if ratio >= SURE_SHARE => 1.01,
            (false, true) => 1.02,
            (false, false) => 1.25,
        };
    }
}

/// Others fill the queue of the narrowest hop.
#[derive(Clone, Copy, Debug)]
struct Rivalry {
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

/// A rivalry that seemed to be over.
#[derive(Clone, Copy, Debug)]
struct Ended {
    at: Time,
    rate: f64,
    /// How long it would have gone on until the next trial.
    lasts: Duration,
}

impl Rivalry {
    fn begin(now: Time, lasts: Duration, is_starting: bool) -> Self {
        Self { until: now + lasts, lasts, is_starting, has_fallen: false, trial: None }
    }
}

/// What is kept of the rate at a loss, as in CUBIC.
const RIVALRY_SHARE: f64 = 0.7;
/// In each round the rate grows by so many bytes per round trip, as in Reno.
const RIVALRY_STEP_BYTES: f64 = 1_200.0;
/// Or by this share in a second, if that is more, about as CUBIC's.
const RIVALRY_GROWTH_PER_SECOND: f64 = 0.05;
/// The first trial comes so soon, later ones after twice the last time.
const RIVALRY_FIRST: Duration = Duration::from_secs(2);
const RIVALRY_LONGEST: Duration = Duration::from_secs(16);
/// A rivalry that begins so soon after one that ended is the same.
const RIVALRY_RESUMED: Duration = Duration::from_secs(10);
const TRIAL_ROUNDS: u32 = 5;
/// Alone is who sees no queue for so many rounds of a trial: that of others comes and goes.
const TRIAL_EMPTY: u32 = 3;

impl Round {
    fn begin(now: Time, arrived: Arrived) -> Self {
        Self {
            end: arrived.next_number,
            began: now,
            arrived: arrived.arrived,
            acknowledged: 0,
            last_arrived: arrived.arrived,
            queue_min: i64::MAX,
            was_held_back: false,
            was_full: false,
            lost: 0,
        }
    }
}

/// The least one-way delay of late; it contains the offset of the clocks, which cancels out in differences.
#[derive(Clone, Copy, Debug, Default)]
struct BaseDelay {
    current: Option<(Time, i64)>,
    previous: Option<i64>,
}

impl BaseDelay {
    fn excess(&mut self, now: Time, delay: i64, span: Duration) -> i64 {
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
struct Peak {
    began: Time,
    current: f64,
    previous: f64,
}

impl Peak {
    fn note(&mut self, now: Time, delivered: f64) {
        if now.since(self.began) >= BASE_SPAN {
            *self = Self { began: now, current: 0.0, previous: self.current };
        }
        self.current = self.current.max(delivered);
    }

    fn highest(&self) -> f64 {
        self.current.max(self.previous)
    }
}
