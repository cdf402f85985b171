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
/// Rounds are at least this long, so that they hold enough samples.
const ROUND_MIN: Duration = Duration::from_millis(25);
/// The least delay is that of the last two such spans.
const BASE_SPAN: Duration = Duration::from_secs(5);
const BURST: Duration = Duration::from_millis(2);
const FLIGHT_ALLOWANCE: Duration = Duration::from_millis(30);
const FLIGHT_BYTES_MIN: u64 = 2 * 1_200;
const FALLS_BEFORE_FLOOR: u32 = 5;

/// The sender's rate, and when the next packet may leave.
#[derive(Clone, Debug)]
pub(crate) struct Rate {
    bytes_per_second: f64,
    budget: f64,
    is_starting: bool,
    capacity: Option<f64>,
    floor: f64,
    falls: u32,
    base: BaseDelay,
    round: Option<Round>,
    queue: Duration,
    next_at: Time,
    held_back: bool,
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
}

impl Rate {
    pub(crate) fn new(budget: Option<u64>) -> Self {
        let budget = budget.map_or(BYTES_PER_SECOND_MAX, |budget| (budget as f64).max(BYTES_PER_SECOND_MIN));
        Self {
            bytes_per_second: INITIAL_BYTES_PER_SECOND.min(budget),
            budget,
            is_starting: true,
            capacity: None,
            floor: 0.0,
            falls: 0,
            base: BaseDelay::default(),
            round: None,
            queue: Duration::ZERO,
            next_at: Time::default(),
            held_back: false,
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

    /// Bytes that may be in flight.
    pub(crate) fn flight_bytes_max(&self, round_trip: Duration) -> u64 {
        let bytes = self.bytes_per_second * (round_trip + FLIGHT_ALLOWANCE).as_secs_f64();
        (bytes as u64).max(FLIGHT_BYTES_MIN)
    }

    /// When the next packet may leave, at `fraction` of the rate.
    pub(crate) fn next_at(&self) -> Time {
        self.next_at
    }

    /// A packet is ready but must wait for its turn.
    pub(crate) fn hold_back(&mut self) {
        self.held_back = true;
    }

    /// A packet leaves; `share` below 1 makes it count for more (see silence).
    pub(crate) fn spend(&mut self, now: Time, bytes: usize, share: f64) {
        let per_second = self.bytes_per_second * share;
        let earliest = now - BURST;
        self.next_at = self.next_at.max(earliest) + Duration::from_secs_f64(bytes as f64 / per_second);
    }

    /// The path is another one, or was silent: what was learned about delay no longer holds.
    pub(crate) fn restart(&mut self, share: f64) {
        let kept = (self.bytes_per_second * share).max(BYTES_PER_SECOND_MIN);
        *self = Self { bytes_per_second: kept.min(self.budget), budget: self.budget, ..Self::new(None) };
    }

    pub(crate) fn acknowledged(&mut self, now: Time, arrived: Arrived) {
        let delay = arrived.arrived.wrapping_sub(arrived.sent.as_micros() as i64);
        // The least delay is that of the smallest packets; a large one needs its time on a narrow link without any queue.
        let passing = f64::from(arrived.packet_bytes) / self.bytes_per_second * 1e6;
        let queue = self.base.excess(now, delay).saturating_sub(passing as i64);
        let Some(round) = &mut self.round else {
            self.round = Some(Round::begin(now, arrived));
            return;
        };
        round.acknowledged += arrived.bytes;
        round.last_arrived = round.last_arrived.max(arrived.arrived);
        round.queue_min = round.queue_min.min(queue);
        round.was_held_back |= std::mem::take(&mut self.held_back);
        if arrived.number >= round.end && now.since(round.began) >= ROUND_MIN {
            let round = *round;
            self.round = Some(Round::begin(now, arrived));
            self.finish(round);
        }
    }

    fn finish(&mut self, round: Round) {
        let span = round.last_arrived.wrapping_sub(round.arrived).max(1) as f64 / 1e6;
        let delivered = round.acknowledged as f64 / span;
        self.queue = Duration::from_micros(round.queue_min.max(0) as u64);
        if round.queue_min > QUEUE_TARGET_MICROS {
            self.fall(delivered, span);
        } else {
            self.falls = 0;
            self.floor = 0.0;
            if round.was_held_back {
                self.grow();
            }
        }
        self.bytes_per_second = self.bytes_per_second.clamp(BYTES_PER_SECOND_MIN, self.budget);
    }

    /// A standing queue: its drain is the capacity; sending less empties it within about a tenth of a second.
    fn fall(&mut self, delivered: f64, span: f64) {
        if self.falls == 0 {
            self.floor = delivered / 2.0;
        }
        self.is_starting = false;
        self.falls += 1;
        self.capacity = Some(delivered);
        let drain = self.queue.as_secs_f64() / (0.1 + span);
        let lowered = delivered * (1.0 - drain).clamp(0.5, 0.9);
        self.bytes_per_second = self.bytes_per_second.min(lowered);
        if self.falls > FALLS_BEFORE_FLOOR {
            // Others fill the queue; whoever only yields gets nothing. A floor that is not delivered is too high.
            self.floor = self.floor.min(delivered.max(BYTES_PER_SECOND_MIN));
            self.bytes_per_second = self.bytes_per_second.max(self.floor);
        }
    }

    fn grow(&mut self) {
        let near = self
            .capacity
            .is_some_and(|capacity| (0.85 * capacity..1.15 * capacity).contains(&self.bytes_per_second));
        self.bytes_per_second *= match (self.is_starting, near) {
            (true, _) => 2.0,
            (false, true) => 1.02,
            (false, false) => 1.25,
        };
    }
}

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
    fn excess(&mut self, now: Time, delay: i64) -> i64 {
        let least = match &mut self.current {
            Some((began, least)) if now.since(*began) < BASE_SPAN => {
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
