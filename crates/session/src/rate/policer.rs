//! Finds the rate of a policer. A policer drops packets above a rate at once and delays none, so no queue shows its limit.
//!
//! If packets are lost without a queue for a while, either the path loses packets at random, or the sender exceeds the
//! rate of a policer. A test distinguishes the two: the sender sends somewhat less than the path delivered. Loss above the rate
//! of a policer then ends, and random loss stays. As in the long-term sampling of BBR, the limit that was found holds for some
//! seconds, and then the sender probes for more.

use std::time::Duration;

use super::KEPT_SHARE;
use super::round::Round;
use crate::time::Time;

/// Loss is judged in blocks of rounds, each with at least this number of bytes. Fewer bytes are too few packets.
const BLOCK_BYTES: f64 = 8_000.0;
/// A block is lossy if its share of lost bytes exceeds the usual share by this value.
const LOSSY: f64 = 0.15;
/// A test begins after this number of lossy blocks in a row, which last at least for this time.
const SUSPECTED_BLOCKS: u32 = 6;
const SUSPECTED_TIME: Duration = Duration::from_millis(400);
/// If the delivery rate equals a known limit, this number of lossy blocks is sufficient.
const CONFIRMED_BLOCKS: u32 = 3;
/// A test ends when this number of bytes would have been lost if the rate did not matter.
const TEST_LOST_BYTES: f64 = 24_000.0;
/// The loss depends on the rate if the test leaves less than this share of it.
const TEST_SHARE: f64 = 0.5;
/// A delivery rate that differs from a known limit by at most this share confirms the limit.
const SAME_SHARE: f64 = 0.25;
/// Time for which a limit holds. Each confirmation doubles the time.
const LIMIT_FIRST: Duration = Duration::from_secs(2);
const LIMIT_LONGEST: Duration = Duration::from_secs(16);
/// A limit that is not confirmed is forgotten this time after it ceased to hold.
const LIMIT_KNOWN: Duration = Duration::from_secs(10);
/// The weight of a block in the usual loss.
const USUAL_WEIGHT: f64 = 1.0 / 64.0;

/// The knowledge about a policer on the path.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Policer {
    /// The share of lost bytes that does not depend on the rate.
    usual_loss: f64,
    /// The present block.
    block: Tally,
    suspicion: Option<Suspicion>,
    test: Option<Test>,
    limit: Option<Limit>,
}

/// The effect of a round on the rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Verdict {
    /// The round says nothing about a policer.
    None,
    /// The rate stays, because packets were lost or because a test goes on.
    Stay,
    /// A test begins: the path delivered this number of bytes a second.
    Test(f64),
    /// A policer limits the path to this number of bytes a second.
    Limit(f64),
    /// The loss does not depend on the rate, which was this number of bytes a second before the test.
    NoLimit(f64),
}

/// Lossy blocks in a row.
#[derive(Clone, Copy, Debug)]
struct Suspicion {
    since: Time,
    blocks: u32,
    /// The blocks after the first one. The bucket of the policer may have been full at the beginning of the first block.
    tally: Tally,
}

#[derive(Clone, Copy, Debug)]
struct Test {
    rate_before: f64,
    delivered: f64,
    loss: f64,
    tally: Tally,
}

#[derive(Clone, Copy, Debug)]
struct Limit {
    bytes_per_second: f64,
    lasts: Duration,
    until: Time,
}

/// The bytes of consecutive rounds.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    acknowledged: u64,
    lost: u64,
    seconds: f64,
}

impl Tally {
    fn of(round: &Round) -> Self {
        Self { acknowledged: round.acknowledged, lost: round.lost, seconds: round.span() }
    }

    fn add(&mut self, other: Self) {
        self.acknowledged += other.acknowledged;
        self.lost += other.lost;
        self.seconds += other.seconds;
    }

    fn bytes(&self) -> f64 {
        (self.acknowledged + self.lost) as f64
    }

    /// The share of lost bytes.
    fn loss(&self) -> f64 {
        self.lost as f64 / self.bytes().max(1.0)
    }
}

impl Policer {
    /// The highest rate that the known limit allows, in bytes a second.
    pub(super) fn allowed(&self, now: Time) -> f64 {
        match self.limit {
            Some(limit) if now < limit.until => KEPT_SHARE * limit.bytes_per_second,
            _ => f64::INFINITY,
        }
    }

    /// Handles a round of a sender with this rate. A queue explains loss, so a round with a queue ends a suspicion or a test.
    pub(super) fn note(&mut self, now: Time, round: &Round, has_queue: bool, rate: f64) -> Verdict {
        if has_queue {
            (self.block, self.suspicion, self.test) = (Tally::default(), None, None);
            return Verdict::None;
        }
        if let Some(test) = &mut self.test {
            // All packets of this round left before the test.
            if round.follows_fall {
                return Verdict::Stay;
            }
            test.tally.add(Tally::of(round));
            let test = *test;
            return self.judge(now, &test);
        }
        // Rounds of a slow sender have few packets, and one loss among them is a large share. So rounds are added up to a block.
        self.block.add(Tally::of(round));
        if self.block.bytes() < BLOCK_BYTES {
            return if self.suspicion.is_some() { Verdict::Stay } else { Verdict::None };
        }
        let block = std::mem::take(&mut self.block);
        // The usual loss falls by itself and rises only by a test. Otherwise a policer's loss would soon count as usual.
        if block.loss() < self.usual_loss {
            self.usual_loss += USUAL_WEIGHT * (block.loss() - self.usual_loss);
        }
        if block.loss() < self.usual_loss + LOSSY {
            self.suspicion = None;
            return Verdict::None;
        }
        let Some(suspicion) = &mut self.suspicion else {
            self.suspicion = Some(Suspicion { since: now, blocks: 1, tally: Tally::default() });
            return Verdict::Stay;
        };
        suspicion.blocks += 1;
        suspicion.tally.add(block);
        let Suspicion { since, blocks, tally } = *suspicion;
        let delivered = tally.acknowledged as f64 / tally.seconds;
        // One burst of losses fills few blocks or little time. A policer fills blocks for as long as the rate is too high.
        let is_sure = blocks >= SUSPECTED_BLOCKS && now.since(since) >= SUSPECTED_TIME;
        let is_known = blocks >= CONFIRMED_BLOCKS && self.confirms(now, delivered);
        if !is_sure && !is_known {
            return Verdict::Stay;
        }
        self.suspicion = None;
        self.test = Some(Test { rate_before: rate, delivered, loss: tally.loss(), tally: Tally::default() });
        Verdict::Test(delivered)
    }

    fn judge(&mut self, now: Time, test: &Test) -> Verdict {
        // The number of bytes depends on the loss: a small loss needs more packets before its absence says something.
        if test.loss * test.tally.bytes() < TEST_LOST_BYTES {
            return Verdict::Stay;
        }
        self.test = None;
        // The test sent less than the path delivers, so its loss does not depend on the rate.
        self.usual_loss = test.tally.loss();
        if self.usual_loss > TEST_SHARE * test.loss {
            return Verdict::NoLimit(test.rate_before);
        }
        let known = self.limit.filter(|_| self.confirms(now, test.delivered));
        let lasts = known.map_or(LIMIT_FIRST, |limit| (2 * limit.lasts).min(LIMIT_LONGEST));
        let bytes_per_second = test.delivered;
        self.limit = Some(Limit { bytes_per_second, lasts, until: now + lasts });
        Verdict::Limit(bytes_per_second)
    }

    /// Whether a delivery rate equals a known limit.
    fn confirms(&self, now: Time, delivered: f64) -> bool {
        self.limit.is_some_and(|limit| {
            let difference = (delivered - limit.bytes_per_second).abs();
            now < limit.until + LIMIT_KNOWN && difference <= SAME_SHARE * limit.bytes_per_second
        })
    }
}
