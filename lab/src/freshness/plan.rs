//! `lab freshness` on real links: links, peers and runs.

use std::ops::Range;
use std::time::Duration;

use super::stream::{Received, Sent, WARM_UP};
use super::{Ages, Stream};
use crate::link::{Jitter, LinkConfig, Policer, Variation, loss_each_way};
use crate::peers::Peer;
use crate::report::Samples;
use crate::trial::{self, Job, Outcome, Task, TrialError};

/// The options of a run.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Duration of each measurement.
    pub measured: Duration,
    /// Number of times that the whole plan runs, each time with the next seed.
    pub seeds: u32,
    /// The first seed.
    pub seed: u64,
    /// Number of simultaneous runs.
    pub at_once: usize,
    /// Measures only these peers; if empty, all peers.
    pub peers: Vec<Peer>,
    /// Measures only these links ([`Plan::LINKS`]); if empty, all links.
    pub links: Vec<String>,
    /// The command line that repeats the run.
    pub command: String,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            measured: Duration::from_secs(60),
            seeds: 3,
            seed: 1,
            at_once: 2,
            peers: Vec::new(),
            links: Vec::new(),
            command: "cargo xtask lab freshness".into(),
        }
    }
}

/// One link.
#[derive(Debug, Clone)]
pub(super) struct Case {
    pub(super) word: &'static str,
    pub(super) name: &'static str,
    pub(super) link: LinkConfig,
    /// The link back, if it differs.
    pub(super) back: Option<LinkConfig>,
    /// The congestion control of a bulk transfer by TCP that shares the link; `None` if there is no such transfer.
    pub(super) beside: Option<&'static str>,
}

/// Time of the outage, counted from the creation of the link. Connections open within a second, and the warm-up ends before the
/// outage.
const OUTAGE: Range<Duration> = Duration::from_secs(6)..Duration::from_secs(8);
const NARROW_BITS: u64 = 1_000_000;
/// Size of a full segment of a bulk transfer on the link. The next constant is its payload.
const SEGMENT_BYTES: f64 = 1_500.0;
const SEGMENT_PAYLOAD_BYTES: f64 = 1_448.0;

impl Case {
    fn all() -> Vec<Case> {
        let link = |rtt_ms: u64, loss: f64| LinkConfig {
            delay: Duration::from_millis(rtt_ms) / 2,
            loss: loss_each_way(loss),
            ..LinkConfig::default()
        };
        let case = |word, name, link| Case { word, name, link, back: None, beside: None };
        let mut cases = vec![
            case("clean", "50 ms, no loss", link(50, 0.0)),
            case("50-1", "50 ms, 1 % loss", link(50, 0.01)),
            case("50-5", "50 ms, 5 % loss", link(50, 0.05)),
            case("100-1", "100 ms, 1 % loss", link(100, 0.01)),
            case("100-5", "100 ms, 5 % loss", link(100, 0.05)),
            case(
                "narrow",
                "50 ms, 1 Mbit/s with a queue of 64 KB, offered three times that rate",
                LinkConfig { rate_bits: Some(NARROW_BITS), queue_bytes: 64 * 1_024, ..link(50, 0.0) },
            ),
            case(
                "outage",
                "50 ms, nothing gets through for 2 s",
                LinkConfig { outages: vec![OUTAGE], ..link(50, 0.0) },
            ),
        ];
        cases.extend(Self::jittery());
        cases.extend(Self::policed());
        cases.push(Self::asymmetric());
        cases.extend(Self::beside_bulk());
        cases.extend(Self::changing());
        cases
    }

    fn jittery() -> impl Iterator<Item = Case> {
        let ms = Duration::from_millis;
        // Uniformly distributed one-way delay between two limits. Its mean is half of the round trip in the name.
        let uniform = |least, most| LinkConfig {
            delay: ms(least),
            jitter: Jitter::Uniform(ms(most - least)),
            ..LinkConfig::default()
        };
        let kind = |jitter| LinkConfig { delay: ms(25), jitter, ..LinkConfig::default() };
        let lossy = LinkConfig { loss: loss_each_way(0.01), ..uniform(20, 60) };
        let overtaking = LinkConfig { overtakes: true, ..uniform(15, 35) };
        let spikes = Jitter::Spikes { per_10_000: 50 };
        [
            ("jitter-5", "50 ms, each way ± 5 ms in order", uniform(20, 30)),
            ("jitter-10", "50 ms, each way ± 10 ms in order", uniform(15, 35)),
            ("jitter-20-1", "80 ms, each way ± 20 ms in order, 1 % loss", lossy),
            ("overtaking", "50 ms, each way ± 10 ms, packets overtake each other", overtaking),
            ("normal", "50 ms and normal jitter each way, deviation 3 ms", kind(Jitter::Normal(ms(3)))),
            ("spikes", "50 ms, each way 20 to 60 ms more for one packet in 200", kind(spikes)),
        ]
        .into_iter()
        .map(|(word, name, link)| Case { word, name, link, back: None, beside: None })
    }

    /// Returns links with a policer, as many operators and clouds have.
    fn policed() -> impl Iterator<Item = Case> {
        [
            ("policer-2", "50 ms, a policer of 2 Mbit/s with a bucket of 20 KB", 2_000_000, 20_000, 0.0),
            ("policer-1", "50 ms, a policer of 1 Mbit/s with a bucket of 100 KB", 1_000_000, 100_000, 0.0),
            ("policer-05", "50 ms, a policer of 0.5 Mbit/s with a bucket of 10 KB", 500_000, 10_000, 0.0),
            ("policer-2-5", "50 ms, 5 % loss, a policer of 2 Mbit/s, 20 KB", 2_000_000, 20_000, 0.05),
        ]
        .into_iter()
        .map(|(word, name, rate_bits, bucket_bytes, loss)| {
            let link = LinkConfig {
                delay: Duration::from_millis(25),
                policer: Some(Policer { rate_bits, variation: Variation::Constant, bucket_bytes }),
                loss: loss_each_way(loss),
                ..LinkConfig::default()
            };
            Case { word, name, link, back: None, beside: None }
        })
    }

    /// Returns a link whose acknowledgements compete for a narrow uplink.
    fn asymmetric() -> Case {
        let ways = [10_000_000, 60_000].map(|rate_bits| LinkConfig {
            delay: Duration::from_millis(25),
            rate_bits: Some(rate_bits),
            ..LinkConfig::default()
        });
        let [link, back] = ways;
        let name = "50 ms, 10 Mbit/s, and 60 kbit/s for acknowledgements";
        Case { word: "asymmetric", name, link, back: Some(back), beside: None }
    }

    /// Returns links with changing capacity, such as mobile links and Wi-Fi.
    fn changing() -> impl Iterator<Item = Case> {
        let ms = Duration::from_millis;
        let link = |rate_bits, queue_bytes, variation| LinkConfig {
            delay: ms(25),
            rate_bits: Some(rate_bits),
            queue_bytes,
            variation,
            ..LinkConfig::default()
        };
        let unsteady = |variation| LinkConfig {
            delay: ms(19),
            jitter: Jitter::Uniform(ms(12)),
            loss: loss_each_way(0.001),
            ..link(4_000_000, 250_000, variation)
        };
        let square = unsteady(Variation::Square { low_bits: 1_000_000, high: ms(3_000), low: ms(3_000) });
        let fall = Variation::Square { low_bits: 1_500_000, high: ms(10_000), low: ms(15_000) };
        let sawtooth = unsteady(Variation::Sawtooth { low_bits: 1_000_000, period: ms(4_000) });
        let walk = unsteady(Variation::Walk { low_bits: 500_000, every: ms(200) });
        [
            ("square", "50 ms ± 6 ms, 4 Mbit/s and 1 Mbit/s by turns for 3 s, 250 KB", square.clone(), None),
            ("fall", "50 ms, 6 Mbit/s, falls to 1.5 for 15 s, 200 KB", link(6_000_000, 200_000, fall), None),
            ("sawtooth", "50 ms ± 6 ms, rises from 1 to 4 Mbit/s and falls, 250 KB", sawtooth.clone(), None),
            ("walk", "50 ms ± 6 ms, random walk from 0.5 to 4 Mbit/s, 250 KB", walk.clone(), None),
            ("square-cubic", "Beside TCP (CUBIC): 4 and 1 Mbit/s by turns", square.clone(), Some("cubic")),
            ("square-bbr", "Beside TCP (BBR): 4 and 1 Mbit/s by turns", square, Some("bbr")),
            ("sawtooth-cubic", "Beside TCP (CUBIC): rises from 1 to 4 Mbit/s", sawtooth, Some("cubic")),
            ("walk-cubic", "Beside TCP (CUBIC): random walk from 0.5 to 4 Mbit/s", walk, Some("cubic")),
        ]
        .into_iter()
        .map(|(word, name, link, beside)| Case { word, name, link, back: None, beside })
    }

    fn beside_bulk() -> impl Iterator<Item = Case> {
        [
            ("cubic-10", "Beside a bulk transfer by TCP (CUBIC): 50 ms, 10 Mbit/s, 64 KB", "cubic", 10, 64),
            ("bbr-10", "Beside a bulk transfer by TCP (BBR): 50 ms, 10 Mbit/s, 64 KB", "bbr", 10, 64),
            ("cubic-5", "Beside a bulk transfer by TCP (CUBIC): 50 ms, 5 Mbit/s, 128 KB", "cubic", 5, 128),
            ("bbr-5", "Beside a bulk transfer by TCP (BBR): 50 ms, 5 Mbit/s, 128 KB", "bbr", 5, 128),
        ]
        .into_iter()
        .map(|(word, name, control, megabits, kilobytes)| {
            let link = LinkConfig {
                delay: Duration::from_millis(25),
                rate_bits: Some(megabits * 1_000_000),
                queue_bytes: kilobytes * 1_024,
                ..LinkConfig::default()
            };
            Case { word, name, link, back: None, beside: Some(control) }
        })
    }
}

/// All runs of one peer over one link.
#[derive(Debug, Default)]
pub(super) struct Measured {
    pub(super) runs: Vec<Run>,
    pub(super) late: usize,
    pub(super) repeats: u32,
    pub(super) error: Option<String>,
}

/// One run.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) received: Received,
    pub(super) ticks_missed: u32,
    /// Bytes a second: towards the reader, in the opposite direction, and of a bulk transfer towards the reader.
    pub(super) bytes_per_second: [f64; 3],
}

impl Run {
    pub(super) fn of(outcome: &Outcome, stream: &Stream) -> Result<Self, TrialError> {
        let (sent, received): (Sent, Received) = (outcome.near()?, outcome.far()?);
        let from = sent.start_ns + WARM_UP.as_nanos() as u64;
        let to = sent.start_ns + stream.duration().as_nanos() as u64;
        let [forth, back, bulk] = outcome.bytes_per_second(from, to);
        let bulk = bulk * SEGMENT_BYTES / SEGMENT_PAYLOAD_BYTES;
        Ok(Self { received, ticks_missed: sent.ticks_missed, bytes_per_second: [forth - bulk, back, bulk] })
    }
}

impl Measured {
    /// Collects a figure over all runs.
    pub(super) fn over(&self, figure: impl Fn(&Run) -> f64) -> Samples {
        self.runs.iter().map(figure).collect()
    }

    /// Collects the ages of all runs.
    pub(super) fn ages(&self) -> Ages {
        let mut all = Ages::default();
        self.runs.iter().for_each(|run| all.merge(&run.received.ages));
        all
    }
}

impl Plan {
    /// The names of the links.
    pub const LINKS: [&str; 30] = [
        "clean",
        "50-1",
        "50-5",
        "100-1",
        "100-5",
        "narrow",
        "outage",
        "jitter-5",
        "jitter-10",
        "jitter-20-1",
        "overtaking",
        "normal",
        "spikes",
        "policer-2",
        "policer-1",
        "policer-05",
        "policer-2-5",
        "asymmetric",
        "cubic-10",
        "bbr-10",
        "cubic-5",
        "bbr-5",
        "square",
        "fall",
        "sawtooth",
        "walk",
        "square-cubic",
        "square-bbr",
        "sawtooth-cubic",
        "walk-cubic",
    ];

    /// Returns the peers that can be measured: those that send state and ordered events over one connection.
    #[must_use]
    pub fn measured() -> Vec<Peer> {
        let sends_both = |peer: &Peer| *peer != Peer::QuicStreams;
        Peer::ALL.into_iter().filter(sends_both).collect()
    }

    pub(super) fn peers(&self) -> Vec<Peer> {
        let is_wanted = |peer: &Peer| self.peers.is_empty() || self.peers.contains(peer);
        Self::measured().into_iter().filter(is_wanted).collect()
    }

    pub(super) fn cases(&self) -> Vec<Case> {
        let is_wanted =
            |case: &Case| self.links.is_empty() || self.links.iter().any(|word| word == case.word);
        Case::all().into_iter().filter(is_wanted).collect()
    }

    pub(super) fn jobs(&self) -> Vec<(usize, Peer, Job)> {
        let mut jobs = Vec::new();
        for (index, case) in self.cases().into_iter().enumerate() {
            for seed in 0..u64::from(self.seeds) {
                for peer in self.peers() {
                    let outage = case.link.outages.first().cloned();
                    let beside = case.beside.map(str::to_owned);
                    let stream = Stream { measured: self.measured, outage, beside };
                    jobs.push((
                        index,
                        peer,
                        Job {
                            link: case.link.clone(),
                            back: case.back.clone(),
                            seed: self.seed + seed * 1_000,
                            peer,
                            task: Task::Stream(stream),
                            name: format!("freshness: {}, {}", peer.name(), case.name),
                        },
                    ));
                }
            }
        }
        jobs
    }

    /// Returns the expected duration of all runs, in seconds.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        trial::seconds_of(self.jobs().into_iter().map(|(_, _, job)| job), self.at_once)
    }
}
