//! `lab latency` repeats the experiment of source 003 with real kernels.
//!
//! One side sends a small message every 100 ms, without waiting for the previous answer, and the other side returns it. The test
//! measures the delay of each message on a link that loses packets. A message that must wait for the retransmission of another
//! message is late.

mod echo;
mod findings;

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

pub use echo::{Echo, RoundTrips, Verb};
pub(crate) use echo::{answer, ask};

use crate::link::{LinkConfig, loss_each_way};
use crate::peers::Peer;
use crate::report::{Report, Samples};
use crate::trial::{self, Job, Outcome, Progress, Task};

/// The options of a run.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Round-trip times.
    pub rtts: Vec<Duration>,
    /// Shares of round trips that are lost.
    pub losses: Vec<f64>,
    /// Intervals between messages.
    pub intervals: Vec<Duration>,
    /// Number of messages of each run at the longest interval. At shorter intervals there are more messages, so that the duration
    /// is the same.
    pub samples: u32,
    /// Number of times that the whole plan runs, each time with the next seed.
    pub seeds: u32,
    /// The first seed.
    pub seed: u64,
    /// Number of simultaneous runs.
    pub at_once: usize,
    /// Measures only these peers; if empty, all peers.
    pub peers: Vec<Peer>,
    /// The command line that repeats the run.
    pub command: String,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            rtts: [50, 100].map(Duration::from_millis).to_vec(),
            losses: vec![0.001, 0.01, 0.05],
            intervals: [100, 20].map(Duration::from_millis).to_vec(),
            samples: 250,
            seeds: 3,
            seed: 1,
            at_once: 8,
            peers: Vec::new(),
            command: "cargo xtask lab latency".into(),
        }
    }
}

/// A message is on time if it returns within the round-trip time plus this margin.
pub const ON_TIME: Duration = Duration::from_millis(5);

/// One link and one interval.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Setting {
    interval: Duration,
    rtt: Duration,
    loss: f64,
}

impl Setting {
    fn link(&self) -> LinkConfig {
        LinkConfig { delay: self.rtt / 2, loss: loss_each_way(self.loss), ..LinkConfig::default() }
    }

    fn describe(&self) -> String {
        format!(
            "a message every {} ms, {} ms round trip, {} % lost",
            self.interval.as_millis(),
            self.rtt.as_millis(),
            self.loss * 100.0
        )
    }
}

/// Returns the ways in which a peer sends messages: events, and also states if the peer supports states.
fn verbs(peer: Peer) -> &'static [Verb] {
    match peer {
        // With this load these peers behave like TCP, because no message waits long enough to be replaced.
        Peer::TcpConflating | Peer::TcpConflatingEager => &[],
        Peer::QuicDatagrams => &[Verb::State],
        peer if peer.is_ours() => &[Verb::Event, Verb::State],
        _ => &[Verb::Event],
    }
}

/// A peer, and how it should send messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Entry {
    peer: Peer,
    verb: Verb,
}

impl Entry {
    fn all(plan: &Plan) -> Vec<Entry> {
        let mut entries = Vec::new();
        let wanted = |peer: &Peer| plan.peers.is_empty() || plan.peers.contains(peer);
        for peer in Peer::ALL.into_iter().filter(wanted) {
            entries.extend(verbs(peer).iter().map(|&verb| Entry { peer, verb }));
        }
        entries
    }

    fn name(self) -> String {
        match (self.peer, self.verb) {
            (peer, verb) if peer.is_ours() => {
                format!("{}, {}", peer.name(), if verb == Verb::Event { "events" } else { "state" })
            }
            (Peer::QuicDatagrams, _) => "QUIC datagrams, unreliable".into(),
            (Peer::Enet, _) => "ENet, reliable".into(),
            (peer, _) => peer.name().into(),
        }
    }
}

/// All runs of one entry in one setting.
#[derive(Debug, Default)]
struct Measured {
    /// The delays of each run in ms. Messages that did not return are left out.
    runs: Vec<Samples>,
    sent: usize,
    /// Number of runs during which the relay was late, even after repetitions.
    late: usize,
    repeats: u32,
    error: Option<String>,
}

impl Measured {
    fn add(&mut self, outcome: &Outcome) -> Result<(), trial::TrialError> {
        let trips: RoundTrips = outcome.near()?;
        self.sent += trips.len();
        self.runs.push(trips.iter().flatten().map(|&ns| ns as f64 / 1e6).collect());
        self.late += usize::from(!outcome.is_trustworthy());
        self.repeats += outcome.repeats;
        Ok(())
    }
}

impl Plan {
    /// Returns the peers that can be measured.
    #[must_use]
    pub fn measured() -> Vec<Peer> {
        Peer::ALL.into_iter().filter(|&peer| !verbs(peer).is_empty()).collect()
    }

    fn settings(&self) -> Vec<Setting> {
        let mut settings = Vec::new();
        for &interval in &self.intervals {
            for &rtt in &self.rtts {
                settings.extend(self.losses.iter().map(|&loss| Setting { interval, rtt, loss }));
            }
        }
        settings
    }

    fn jobs(&self) -> Vec<(usize, Entry, Job)> {
        let longest = self.intervals.iter().max().copied().unwrap_or_default();
        let mut jobs = Vec::new();
        for (index, setting) in self.settings().into_iter().enumerate() {
            for seed in 0..u64::from(self.seeds) {
                for entry in Entry::all(self) {
                    let more = longest.as_millis() / setting.interval.as_millis().max(1);
                    let samples = self.samples * u32::try_from(more).unwrap_or(1);
                    let echo = Echo { verb: entry.verb, interval: setting.interval, samples };
                    jobs.push((
                        index,
                        entry,
                        Job {
                            link: setting.link(),
                            back: None,
                            seed: self.seed + seed * 1_000,
                            peer: entry.peer,
                            task: Task::Echo(echo),
                            name: format!("latency: {}, {}", entry.name(), setting.describe()),
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

    /// Runs the whole plan.
    ///
    /// # Errors
    /// If a report cannot be read.
    pub fn run(&self, progress: &Mutex<Progress>) -> Result<Report, trial::TrialError> {
        let jobs = self.jobs();
        let plain: Vec<Job> = jobs.iter().map(|(_, _, job)| job.clone()).collect();
        let outcomes = trial::run_all(&plain, self.at_once, progress);
        let settings = self.settings();
        let mut measured: Vec<BTreeMap<usize, Measured>> = settings.iter().map(|_| BTreeMap::new()).collect();
        let entries = Entry::all(self);
        for ((setting, entry, _), outcome) in jobs.iter().zip(outcomes) {
            let place = entries.iter().position(|other| other == entry).unwrap_or_default();
            let measured = measured[*setting].entry(place).or_default();
            match outcome {
                Ok(outcome) => measured.add(&outcome)?,
                // Without hosts, no measurement is possible.
                Err(error @ trial::TrialError::Host(_)) => return Err(error),
                Err(error) => measured.error = Some(error.to_string()),
            }
        }
        let mut report = Report::new("Latency under loss", self.command.clone()).seed(self.seed);
        findings::notes(self, &mut report);
        for (setting, measured) in settings.iter().zip(measured) {
            report.section(findings::section(setting, &entries, measured));
        }
        Ok(report)
    }
}
