//! Operations on a pair as data. They can be random, printed, and shortened.

use std::fmt;
use std::time::Duration;

use nowcast_queue::conformance::Random;
use nowcast_session::Carrier;

use crate::link::{Jitter, LinkConfig, Loss, Policer, Variation};
use crate::pair::End;
use crate::stream::STREAM_EVERY;

/// One operation of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Operation {
    /// Puts a value on a lane, or an event if `key` is 0.
    Put {
        /// The end that puts.
        end: End,
        /// The lane.
        lane: u8,
        /// The key.
        key: u64,
        /// Number of bytes.
        bytes: usize,
    },
    /// Sends a command with a deadline, on a separate lane.
    Ask {
        /// The end that sends the command.
        end: End,
        /// Maximum wait for the reply.
        millis: u64,
    },
    /// Stops the application of one end from reading for a while.
    Stall {
        /// The end.
        end: End,
        /// Duration.
        millis: u64,
    },
    /// Kills the carrier. A new one is attached after a while.
    Kill {
        /// Whether each end learns of the kill at once.
        is_reported: [bool; 2],
        /// Time until the new carrier is attached.
        millis: u64,
        /// Whether the new carrier is a reliable stream.
        to_stream: bool,
    },
    /// Changes both directions of the link.
    Relink(Box<LinkConfig>),
    /// Sets another byte budget at one end.
    Budget {
        /// The end.
        end: End,
        /// Bytes a second.
        bytes_per_second: Option<u64>,
    },
    /// Sends a hostile packet to one end.
    Hostile {
        /// The end that receives the packet.
        end: End,
        /// Seed of the packet's bytes.
        number: u64,
    },
    /// Puts a value of each key at a steady rate for a while, and measures the age of each key (law 5).
    Stream {
        /// The end that puts.
        end: End,
        /// Number of keys.
        keys: u64,
        /// Number of bytes of each value.
        bytes: usize,
        /// Duration.
        millis: u64,
    },
    /// The client sends a durable action.
    Act,
    /// Kills the process at one end. Its session and all its state except the disk are lost. A new process starts after a while.
    Restart {
        /// The end whose process is killed.
        end: End,
        /// Whether the other end learns at once that the carrier is dead.
        is_reported: bool,
        /// Time until the new process starts.
        millis: u64,
        /// Whether a commit in progress was stored.
        is_commit_kept: bool,
    },
}

/// A list of operations, each with the time since the previous one.
#[derive(Clone, Debug, PartialEq)]
pub struct Script {
    /// The seed from which the script was made. The links and the clocks derive their seeds from it.
    pub seed: u64,
    /// The first carrier between the ends.
    pub carrier: Carrier,
    /// The first properties of the link, in both directions.
    pub link: LinkConfig,
    /// The operations.
    pub operations: Vec<(Duration, Operation)>,
}

/// Number of lanes that carry states and events, to which the laws apply.
pub const LAWFUL_LANES: u8 = 3;
/// In this percentage of runs, one value in four is large. In other runs an interval rarely fills half of a window, so barriers
/// are rare.
const CROWDED_PERCENT: u64 = 15;
/// Maximum number of processes that are killed in one script.
const RESTARTS_MAX: u64 = 5;
/// Time before the stream at the end of each script. A carrier that was killed is replaced within this time.
const STREAM_WAIT: Duration = Duration::from_secs(2);
/// The lane of commands.
pub const COMMAND_LANE: u8 = 3;

impl Script {
    /// Makes the script of a seed.
    pub fn random(seed: u64) -> Self {
        let random = &mut Random::new(seed ^ 0x5C12_1175);
        let carrier = if random.percent(20) { Carrier::STREAM } else { Carrier::DATAGRAMS };
        let mut link = random_link(random);
        // Separate generators are used, so that all other values of the script stay the same.
        link.variation = random_variation(&mut Random::new(seed ^ 0x0CA9_AC17));
        let policers = &mut Random::new(seed ^ 0x9011_CE25);
        link.policer = random_policer(policers);
        let count = 20 + random.below(280);
        let keys_max = if random.percent(20) { 200 } else { 12 };
        let keys = 1 + random.below(keys_max);
        let pace = 1 + random.below(40);
        // A separate generator is used, so that all other values of the script stay the same.
        let is_crowded = Random::new(seed ^ 0xC20D_ED11).percent(CROWDED_PERCENT);
        let mut operations: Vec<_> = (0..count)
            .map(|_| {
                let wait = if random.percent(50) { 0 } else { random.below(pace * 1_000) };
                let mut operation = random_operation(random, keys, is_crowded);
                if let Operation::Relink(link) = &mut operation {
                    link.policer = random_policer(policers);
                }
                (Duration::from_micros(wait), operation)
            })
            .collect();
        let last = operations.iter().rev().find_map(|(_, operation)| match operation {
            Operation::Relink(link) => Some(&**link),
            _ => None,
        });
        let stream = random_stream(&mut Random::new(seed ^ 0x57EA_0005), last.unwrap_or(&link));
        operations.push((STREAM_WAIT, stream));
        Self { seed, carrier, link, operations }
    }

    /// Makes the script of a seed, with durable actions and with processes that are killed.
    pub fn with_restarts(seed: u64) -> Self {
        let mut script = Self::random(seed);
        let random = &mut Random::new(seed ^ 0x0DEA_7495);
        let operations = &mut script.operations;
        let mut insert = |random: &mut Random, wait_max_ms: u64, operation| {
            let wait = Duration::from_micros(random.below(wait_max_ms * 1_000));
            operations.insert(random.below(operations.len() as u64 + 1) as usize, (wait, operation));
        };
        for _ in 0..10 + random.below(60) {
            insert(random, 20, Operation::Act);
        }
        for _ in 0..1 + random.below(RESTARTS_MAX) {
            let operation = Operation::Restart {
                end: random_end(random),
                is_reported: random.percent(60),
                millis: random.below(1_500),
                is_commit_kept: random.percent(50),
            };
            insert(random, 500, operation);
        }
        script
    }

    /// Whether the script has durable actions.
    pub(crate) fn is_durable(&self) -> bool {
        let is_durable =
            |operation: &Operation| matches!(operation, Operation::Act | Operation::Restart { .. });
        self.operations.iter().any(|(_, operation)| is_durable(operation))
    }

    /// Returns the shortest script that was found and still fails, and its failure.
    pub fn shrink(self, first: String, fails: impl Fn(&Script) -> Option<String>) -> (Script, String) {
        let (mut best, mut what) = (self, first);
        let mut chunk = best.operations.len() / 2;
        let mut tries = 0;
        while chunk > 0 && tries < SHRINK_TRIES_MAX {
            let mut start = 0;
            while start < best.operations.len() && tries < SHRINK_TRIES_MAX {
                let mut shorter = best.clone();
                let end = (start + chunk).min(shorter.operations.len());
                shorter.operations.drain(start..end);
                tries += 1;
                match fails(&shorter) {
                    Some(failure) => (best, what) = (shorter, failure),
                    None => start += chunk,
                }
            }
            chunk /= 2;
        }
        (best, what)
    }
}

const SHRINK_TRIES_MAX: usize = 400;

impl fmt::Display for Script {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "seed {}, {:?}, {:?}", self.seed, self.carrier, self.link)?;
        let mut at = Duration::ZERO;
        for (wait, operation) in &self.operations {
            at += *wait;
            writeln!(formatter, "  {:>9.3} ms  {operation:?}", at.as_secs_f64() * 1e3)?;
        }
        Ok(())
    }
}

fn random_end(random: &mut Random) -> End {
    End::BOTH[random.below(2) as usize]
}

fn random_operation(random: &mut Random, keys: u64, is_crowded: bool) -> Operation {
    let end = random_end(random);
    match random.below(100) {
        0..=54 => {
            let lane = random.below(LAWFUL_LANES.into()) as u8;
            let bytes = match random.below(100) {
                0..=24 if is_crowded => random.below(9_000),
                0..=84 => random.below(120),
                85..=95 => random.below(1_100),
                _ => random.below(9_000),
            };
            Operation::Put { end, lane, key: 1 + random.below(keys), bytes: bytes as usize }
        }
        55..=74 => {
            let lane = random.below(LAWFUL_LANES.into()) as u8;
            let bytes = if random.percent(95) { random.below(200) } else { random.below(9_000) };
            Operation::Put { end, lane, key: 0, bytes: bytes as usize }
        }
        75..=84 => Operation::Ask { end, millis: 20 + random.below(2_000) },
        85..=88 => Operation::Stall { end, millis: random.below(3_000) },
        89..=90 => Operation::Kill {
            is_reported: [random.percent(70), random.percent(50)],
            millis: random.below(1_500),
            to_stream: random.percent(25),
        },
        91..=93 => Operation::Relink(Box::new(random_link(random))),
        94..=95 => {
            let bytes_per_second = random.percent(60).then(|| 5_000 + random.below(200_000));
            Operation::Budget { end, bytes_per_second }
        }
        _ => Operation::Hostile { end, number: random.number() },
    }
}

/// Returns a stream that needs up to twice the capacity of the link.
fn random_stream(random: &mut Random, link: &LinkConfig) -> Operation {
    let hop = link.rate_bits.map(|bits| link.variation.lowest(bits));
    let policer = link.policer.map(|policer| policer.variation.lowest(policer.rate_bits));
    let capacity = hop.into_iter().chain(policer).min().unwrap_or(1_000_000) as f64;
    let keys = 4 + random.below(20);
    let wanted = capacity / 8.0 * (0.5 + random.below(150) as f64 / 100.0);
    let bytes = wanted * STREAM_EVERY.as_secs_f64() / keys as f64;
    Operation::Stream { end: random_end(random), keys, bytes: bytes.min(1_000.0) as usize, millis: 3_000 }
}

fn random_link(random: &mut Random) -> LinkConfig {
    let percent = |random: &mut Random, max: u64| random.below(max) as f64 / 100.0;
    let loss = match random.below(3) {
        0 => Loss::None,
        1 => Loss::Random(percent(random, 30)),
        _ => Loss::Bursts { share: percent(random, 20), length: 1.0 + random.below(5) as f64 },
    };
    let some = |random: &mut Random| random.percent(30);
    LinkConfig {
        delay: Duration::from_micros(random.below(120_000)),
        jitter: random_jitter(random),
        overtakes: random.percent(50),
        loss,
        reorder: if some(random) { percent(random, 20) } else { 0.0 },
        duplicate: if some(random) { percent(random, 20) } else { 0.0 },
        policer: None,
        rate_bits: some(random).then(|| 200_000 + random.below(3_000_000)),
        variation: Variation::Constant,
        queue_bytes: 4_000 + random.below(60_000) as usize,
        header_bytes: 0,
        outages: Vec::new(),
    }
}

/// Returns how the capacity changes. The capacity changes in about half of the links that have a limited capacity.
fn random_variation(random: &mut Random) -> Variation {
    let low_bits = 100_000 + random.below(1_000_000);
    let ms = |random: &mut Random, max| Duration::from_millis(20 + random.below(max));
    match random.below(6) {
        0 => Variation::Square { low_bits, high: ms(random, 2_000), low: ms(random, 2_000) },
        1 => Variation::Sawtooth { low_bits, period: ms(random, 4_000) },
        2 => Variation::Walk { low_bits, every: ms(random, 500) },
        _ => Variation::Constant,
    }
}

/// Returns the policer of about a third of the links. The rate of half of these policers changes.
fn random_policer(random: &mut Random) -> Option<Policer> {
    random.percent(35).then(|| Policer {
        rate_bits: 300_000 + random.below(4_700_000),
        variation: random_variation(random),
        bucket_bytes: 5_000 + random.below(95_000) as usize,
    })
}

fn random_jitter(random: &mut Random) -> Jitter {
    match random.below(5) {
        0 => Jitter::up_to(Duration::from_micros(random.below(30_000))),
        1 => Jitter::Normal(Duration::from_micros(random.below(10_000))),
        2 => Jitter::Spikes { per_10_000: random.below(500) as u16 },
        _ => Jitter::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_links_change_their_capacity_in_every_way() {
        let links =
            || (0..1_000).map(|seed| Script::random(seed).link).filter(|link| link.rate_bits.is_some());
        let share = |is: fn(&Variation) -> bool| links().filter(|link| is(&link.variation)).count();
        assert!(share(|variation| matches!(variation, Variation::Square { .. })) > 20);
        assert!(share(|variation| matches!(variation, Variation::Sawtooth { .. })) > 20);
        assert!(share(|variation| matches!(variation, Variation::Walk { .. })) > 20);
        assert!(share(|variation| *variation == Variation::Constant) > 50);
    }

    #[test]
    fn random_links_have_policers_at_first_and_later() {
        let has_policer = |link: &LinkConfig| link.policer.is_some();
        let (mut first, mut later) = (0, 0);
        for script in (0..200).map(Script::random) {
            first += usize::from(has_policer(&script.link));
            let relinks = script
                .operations
                .iter()
                .filter(|(_, operation)| matches!(operation, Operation::Relink(link) if has_policer(link)));
            later += relinks.count();
        }
        assert!(first > 50 && later > 100, "{first}, {later}");
    }

    #[test]
    fn random_links_jitter_in_every_way_and_let_packets_overtake() {
        let links = || (0..200).map(|seed| Script::random(seed).link);
        let share = |is: fn(&LinkConfig) -> bool| links().filter(is).count();
        assert!(share(|link| matches!(link.jitter, Jitter::Uniform(_)) && link.overtakes) > 10);
        assert!(share(|link| matches!(link.jitter, Jitter::Normal(_)) && link.overtakes) > 10);
        assert!(share(|link| matches!(link.jitter, Jitter::Spikes { .. }) && link.overtakes) > 10);
        assert!(share(|link| link.jitter != Jitter::None && !link.overtakes) > 30);
    }
}
