//! One measurement between two hosts of an emulated link. This program runs again on each host, with orders.
//!
//! Both hosts are on one machine and share its clock, so the age of a value is exact. The relay may be late if the machine
//! stalls. Such a trial is repeated. If its figures remain unreliable, they are marked.

mod bulk;
mod child;
mod interrupt;
mod pool;
mod progress;

use std::io::{self, BufRead as _, BufReader, Read as _};
use std::net::SocketAddr;
use std::process::{ChildStdout, Command};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

pub use child::main;
pub use interrupt::end_on_interrupt;
pub use pool::{Job, run_all, seconds_of};
pub use progress::Progress;
pub use progress::locked;

use self::bulk::Bulk;
use crate::freshness::Stream;
use crate::lag::Burst;
use crate::latency::Echo;
use crate::link::{EmulatedLink, HostError, HostProcess, Lateness, Summary};
use crate::local::now_ns;
use crate::peers::{End, Peer};

/// Maximum number of repetitions of a trial whose relay was late.
pub const REPEATS_MAX: u32 = 2;

const PORT: u16 = 4_000;
/// Maximum time for opening a connection and for late messages, in addition to the measurement.
const PATIENCE: Duration = Duration::from_secs(45);
/// Time between the opening of the connection and the start of a bulk transfer. In this time the connection measures the link
/// without the transfer.
const BULK_AFTER: Duration = Duration::from_secs(1);
/// Interval at which the bytes on the link are recorded.
const METER_INTERVAL: Duration = Duration::from_millis(50);

/// The work of the two hosts.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Task {
    /// Messages that are sent back: [`crate::latency`].
    Echo(Echo),
    /// State and events: [`crate::freshness`].
    Stream(Stream),
    /// A thousand messages at once: [`crate::lag`].
    Burst(Burst),
}

impl Task {
    /// Returns the congestion control of the bulk transfer that shares the link, if there is one.
    fn beside(&self) -> Option<&str> {
        match self {
            Task::Stream(stream) => stream.beside.as_deref(),
            _ => None,
        }
    }

    /// Returns the duration of the measurement itself.
    #[must_use]
    pub fn duration(&self) -> Duration {
        match self {
            Task::Echo(echo) => echo.duration(),
            Task::Stream(stream) => stream.duration(),
            Task::Burst(burst) => burst.duration(),
        }
    }
}

/// The orders for one host.
#[derive(Debug, Serialize, Deserialize)]
struct Orders {
    peer: Peer,
    end: End,
    address: SocketAddr,
    /// The time at which the link was created, by the machine's monotonic clock.
    link_start_ns: u64,
    task: Task,
}

/// The reason why there is no figure.
#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    /// The hosts could not be created.
    #[error(transparent)]
    Host(#[from] HostError),
    /// A program did not start.
    #[error("this program could not be started on a host: {0}")]
    Start(#[source] io::Error),
    /// The bulk transfer that shares the link did not begin.
    #[error("the bulk transfer on the same link could not begin: {0}")]
    Bulk(#[source] io::Error),
    /// A program ended without a report. Its standard error states the reason.
    #[error("{peer}: the {end} host ended without a report")]
    NoReport {
        /// The peer.
        peer: &'static str,
        /// The end of the link.
        end: &'static str,
    },
    /// A program did not finish in time.
    #[error("{peer}: the {end} host did not finish within {seconds} s")]
    Hangs {
        /// The peer.
        peer: &'static str,
        /// The end of the link.
        end: &'static str,
        /// The time limit in seconds.
        seconds: u64,
    },
    /// A report does not have the expected form.
    #[error("a host's report cannot be read: {0}")]
    Report(#[from] serde_json::Error),
}

/// The findings of a trial.
#[derive(Debug)]
pub struct Outcome {
    near: String,
    far: String,
    meter: Vec<Reading>,
    /// The behaviour of the link.
    pub summary: Summary,
    /// Number of repetitions that were needed because the relay was late.
    pub repeats: u32,
}

#[derive(Debug, Clone, Copy)]
struct Reading {
    at_ns: u64,
    /// Bytes towards the far host, towards the near host, and of a bulk transfer that shares the link.
    bytes: [u64; 3],
}

impl Outcome {
    /// Returns the report of the host that connected.
    ///
    /// # Errors
    /// If the report has another type.
    pub fn near<T: DeserializeOwned>(&self) -> Result<T, TrialError> {
        Ok(serde_json::from_str(&self.near)?)
    }

    /// Returns the report of the host that listened.
    ///
    /// # Errors
    /// If the report has another type.
    pub fn far<T: DeserializeOwned>(&self) -> Result<T, TrialError> {
        Ok(serde_json::from_str(&self.far)?)
    }

    /// Whether the relay was in time.
    #[must_use]
    pub fn is_trustworthy(&self) -> bool {
        self.summary.lateness.is_trustworthy()
    }

    /// Returns the lateness of the relay.
    #[must_use]
    pub fn lateness(&self) -> Lateness {
        self.summary.lateness
    }

    /// Returns three rates between two times of the machine's clock, in bytes a second: of the bytes that left the link towards
    /// the far host, of the bytes that left the link towards the near host, and of the bytes that the receiver of a bulk
    /// transfer read.
    #[must_use]
    pub fn bytes_per_second(&self, from_ns: u64, to_ns: u64) -> [f64; 3] {
        let at = |moment| self.meter.iter().rev().find(|reading| reading.at_ns <= moment);
        match (at(from_ns).or(self.meter.first()), at(to_ns)) {
            (Some(from), Some(to)) if to.at_ns > from.at_ns => {
                let seconds = (to.at_ns - from.at_ns) as f64 / 1e9;
                [0, 1, 2].map(|which| to.bytes[which].saturating_sub(from.bytes[which]) as f64 / seconds)
            }
            _ => [0.0; 3],
        }
    }
}

/// Runs a trial. If the relay was late, repeats it at most [`REPEATS_MAX`] times. The trial with the least lateness counts.
///
/// # Errors
/// [`TrialError`]
pub fn run(job: &Job) -> Result<Outcome, TrialError> {
    let mut best: Option<Outcome> = None;
    for repeats in 0..=REPEATS_MAX {
        let outcome = match (once(job), &best) {
            (Ok(outcome), _) => outcome,
            // A stall of the machine can also end a connection. There is then an earlier outcome, or another attempt.
            (Err(TrialError::NoReport { .. } | TrialError::Hangs { .. }), _) if repeats < REPEATS_MAX => {
                continue;
            }
            (Err(_), Some(_)) => break,
            (Err(error), None) => return Err(error),
        };
        let is_trustworthy = outcome.is_trustworthy();
        let is_better = best.as_ref().is_none_or(|best| outcome.lateness().max_us < best.lateness().max_us);
        if is_better {
            best = Some(outcome);
        }
        if let Some(best) = &mut best {
            best.repeats = repeats;
        }
        if is_trustworthy {
            break;
        }
    }
    best.ok_or(TrialError::NoReport { peer: job.peer.name(), end: "near" })
}

fn once(job: &Job) -> Result<Outcome, TrialError> {
    let Job { peer, task, .. } = job;
    let link = EmulatedLink::new(&job.link, 2, job.seed)?;
    if let Some(back) = &job.back {
        link.reconfigure(1, back);
    }
    let address = SocketAddr::from((link.host(2).address(), PORT));
    let link_start_ns = now_ns() - link.elapsed().as_nanos() as u64;
    let deadline = Instant::now() + task.duration() + PATIENCE;
    let start = |host: usize, end: End| -> Result<HostReports, TrialError> {
        let orders = Orders { peer: *peer, end, address, link_start_ns, task: task.clone() };
        let mut command = Command::new(std::env::current_exe().map_err(TrialError::Start)?);
        command.args(["host", &serde_json::to_string(&orders)?]);
        let mut process = HostProcess::start(link.host(host), command).map_err(TrialError::Start)?;
        let output = process.output().ok_or_else(|| TrialError::Start(io::ErrorKind::BrokenPipe.into()))?;
        Ok(HostReports::of(process, output))
    };
    let named = |end, error| match error {
        RecvTimeoutError::Timeout => {
            let seconds = (task.duration() + PATIENCE).as_secs();
            TrialError::Hangs { peer: peer.name(), end, seconds }
        }
        RecvTimeoutError::Disconnected => TrialError::NoReport { peer: peer.name(), end },
    };
    let far = start(2, End::Far)?;
    far.line(deadline).map_err(|error| named("far", error))?;
    let near = start(1, End::Near)?;
    let mut meter = Vec::new();
    let (began, mut bulk) = (Instant::now(), None);
    let asked = loop {
        if let (Some(control), None) = (task.beside(), &bulk)
            && began.elapsed() >= BULK_AFTER
        {
            bulk = Some(Bulk::start(&link, control).map_err(TrialError::Bulk)?);
        }
        meter.push(read_meter(&link, bulk.as_ref()));
        match near.line((Instant::now() + METER_INTERVAL).min(deadline)) {
            Err(RecvTimeoutError::Timeout) if Instant::now() < deadline => {}
            Err(error) => return Err(named("near", error)),
            Ok(line) => break line,
        }
    };
    // The near host still does the work of its connection, until the grace time of the far host has passed.
    let found = far.line(deadline).map_err(|error| named("far", error))?;
    meter.push(read_meter(&link, bulk.as_ref()));
    drop(bulk);
    // The hosts are dropped before the link, so that neither notices its end.
    drop((near, far));
    Ok(Outcome { near: asked, far: found, meter, summary: link.finish(), repeats: 0 })
}

fn read_meter(link: &EmulatedLink, bulk: Option<&Bulk>) -> Reading {
    let toward = link.summary().toward;
    let of_bulk = bulk.map_or(0, Bulk::arrived_bytes);
    Reading { at_ns: now_ns(), bytes: [toward[1].delivered_bytes, toward[0].delivered_bytes, of_bulk] }
}

/// A program, and the lines that it prints.
struct HostReports {
    lines: mpsc::Receiver<String>,
    _process: HostProcess,
}

impl HostReports {
    fn of(process: HostProcess, output: ChildStdout) -> Self {
        /// Maximum length of a line. The longest report has about ten thousand events.
        const LINE_BYTES_MAX: u64 = 64 << 20;
        let (heard, lines) = mpsc::channel();
        // This thread ends with the program, because the program's output then closes.
        thread::spawn(move || {
            let mut output = BufReader::new(output.take(LINE_BYTES_MAX));
            let mut line = String::new();
            while output.read_line(&mut line).is_ok_and(|length| length > 0) {
                if heard.send(std::mem::take(&mut line)).is_err() {
                    return;
                }
            }
        });
        Self { lines, _process: process }
    }

    fn line(&self, deadline: Instant) -> Result<String, RecvTimeoutError> {
        self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now()))
    }
}
