//! `lab lag --where remote` repeats the paper's figures 8b and 8d, over an emulated link of 10 Mbit/s.

use std::sync::Mutex;
use std::time::Duration;

use super::burst::{Burst, Received, Sent};
use super::{MESSAGES, WORK_MS};
use crate::latency::Verb;
use crate::link::{LinkConfig, Loss};
use crate::peers::Peer;
use crate::report::{Axis, Cell, Chart, Column, LineChart, Report, Samples, Section, Series, Table};
use crate::trial::{self, Job, Progress, Task, TrialError};

/// The rate of the Ethernet between the paper's machines.
const RATE_BITS: u64 = 10_000_000;
const DELAY: Duration = Duration::from_micros(500);

/// The options of a run.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Number of repetitions of each combination. The paper had four.
    pub runs: u32,
    /// The first seed.
    pub seed: u64,
    /// Number of simultaneous runs.
    pub at_once: usize,
    /// Measures only these peers; if empty, all peers.
    pub peers: Vec<Peer>,
    /// The command line that repeats the run.
    pub command: String,
}

/// One line of the figure.
#[derive(Debug, Clone, Copy)]
struct Entry {
    peer: Peer,
    verb: Verb,
}

impl Entry {
    fn all(plan: &Plan) -> Vec<Entry> {
        let mut entries = Vec::new();
        let is_wanted = |peer: &Peer| plan.peers.is_empty() || plan.peers.contains(peer);
        for peer in Peer::ALL.into_iter().filter(is_wanted) {
            let verbs: &[Verb] = match peer {
                Peer::TcpConflating => &[Verb::State],
                Peer::TcpConflatingEager => &[],
                Peer::QuicDatagrams | Peer::QuicStreams => &[],
                peer if peer.is_ours() => &[Verb::Event, Verb::State],
                _ => &[Verb::Event],
            };
            entries.extend(verbs.iter().map(|&verb| Entry { peer, verb }));
        }
        entries
    }

    fn name(self) -> String {
        let what = if self.verb == Verb::Event { "events" } else { "updates of one key" };
        format!("{}: {what}", self.peer.name())
    }
}

#[derive(Debug, Default)]
struct Measured {
    lag_ms: Samples,
    send_ms: Samples,
    read: Samples,
    never: usize,
}

impl Plan {
    fn jobs(&self) -> Vec<(Entry, u64, Job)> {
        let link = LinkConfig {
            delay: DELAY,
            loss: Loss::None,
            rate_bits: Some(RATE_BITS),
            queue_bytes: 64 * 1_024,
            ..LinkConfig::default()
        };
        let mut jobs = Vec::new();
        for work_ms in WORK_MS {
            for run in 0..u64::from(self.runs) {
                for entry in Entry::all(self) {
                    let burst = Burst { verb: entry.verb, work: Duration::from_millis(work_ms) };
                    jobs.push((
                        entry,
                        work_ms,
                        Job {
                            link: link.clone(),
                            back: None,
                            seed: self.seed + run,
                            peer: entry.peer,
                            task: Task::Burst(burst),
                            name: format!("lag: {}, {work_ms} ms of work", entry.name()),
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
    /// If there are no hosts, or a peer loses messages.
    pub fn run(&self, progress: &Mutex<Progress>) -> Result<Report, TrialError> {
        let jobs = self.jobs();
        let plain: Vec<Job> = jobs.iter().map(|(_, _, job)| job.clone()).collect();
        let outcomes = trial::run_all(&plain, self.at_once, progress);
        let entries = Entry::all(self);
        let mut measured: Vec<Vec<Measured>> =
            entries.iter().map(|_| WORK_MS.iter().map(|_| Measured::default()).collect()).collect();
        let mut problems = Vec::new();
        for ((entry, work_ms, job), outcome) in jobs.iter().zip(outcomes) {
            let same = |other: &Entry| other.peer == entry.peer && other.verb == entry.verb;
            let place = entries.iter().position(same).unwrap_or_default();
            let work = WORK_MS.iter().position(|work| work == work_ms).unwrap_or_default();
            let measured = &mut measured[place][work];
            let outcome = match outcome {
                Ok(outcome) => outcome,
                Err(error @ TrialError::Host(_)) => return Err(error),
                Err(error) => {
                    problems.push(format!("{}: {error}", job.name));
                    continue;
                }
            };
            let (sent, received): (Sent, Received) = (outcome.near()?, outcome.far()?);
            measured.send_ms.push(sent.send_ns as f64 / 1e6);
            measured.read.push(received.read as f64);
            match received.lag_ns {
                Some(lag) => measured.lag_ms.push(lag as f64 / 1e6),
                None => measured.never += 1,
            }
        }
        Ok(self.report(&entries, &mut measured, problems))
    }

    fn report(&self, entries: &[Entry], measured: &mut [Vec<Measured>], problems: Vec<String>) -> Report {
        let mut report = Report::new("Lag of the last message, between two machines", self.command.clone())
            .seed(self.seed);
        report.note(format!(
            "Source 002, section 6: {MESSAGES} messages of 80 bytes are sent at once over a link of 10 Mbit/s; the receiver, on \
             another emulated host, reads up to ten, then works, and so on. {} runs each; both hosts share one clock, so that, unlike \
             in the paper, the lag is exact.",
            self.runs
        ));
        for problem in problems {
            report.note(problem);
        }
        report.section(figure(
            "Figure 8b: delay of the last message",
            "lag",
            entries,
            measured,
            |measured| &mut measured.lag_ms,
        ));
        report.section(figure(
            "Figure 8d: busy time of the sender",
            "time to send",
            entries,
            measured,
            |measured| &mut measured.send_ms,
        ));
        report.section(read(entries, measured));
        report
    }
}

fn columns(unit: &str) -> Vec<Column> {
    let mut columns = vec![Column::text("through")];
    columns.extend(WORK_MS.map(|work| Column::number(format!("{work} ms of work"), unit)));
    columns
}

fn figure(
    title: &str,
    what: &str,
    entries: &[Entry],
    measured: &mut [Vec<Measured>],
    pick: fn(&mut Measured) -> &mut Samples,
) -> Section {
    let mut section = Section::new(title);
    section.text("Columns: the receiver's work between two reads. Medians, and the lowest and highest run.");
    let mut table = Table::new(columns("ms"));
    let mut series = Vec::new();
    for (entry, measured) in entries.iter().zip(measured) {
        let mut row = vec![Cell::text(entry.name())];
        let mut values = Vec::new();
        for (measured, work) in measured.iter_mut().zip(WORK_MS) {
            let summary = pick(measured).summary();
            if summary.samples == 0 {
                row.push(Cell::text("never"));
                continue;
            }
            values.push((work as f64, summary.median));
            row.push(Cell::range(summary, 2));
        }
        table.row(row);
        series.push(Series { name: entry.name(), values });
    }
    section.chart(Chart::Lines(LineChart {
        title: title.into(),
        x: Axis::linear("work between two reads", "ms"),
        y: Axis::log(what, "ms"),
        series,
    }));
    section.table(table);
    section
}

fn read(entries: &[Entry], measured: &mut [Vec<Measured>]) -> Section {
    let mut section = Section::new("Messages that were read");
    section
        .text(format!("Of {MESSAGES}: an updatable queue shows the newest value, and may skip the others."));
    let mut table = Table::new(columns(""));
    for (entry, measured) in entries.iter().zip(measured) {
        let mut row = vec![Cell::text(entry.name())];
        row.extend(measured.iter_mut().map(|measured| Cell::range(measured.read.summary(), 0)));
        table.row(row);
    }
    section.table(table);
    section
}
