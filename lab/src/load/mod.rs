//! `lab load` measures the cost of clients for a server, and compares it with Colyseus under the same load.
//!
//! The server is a separate process on one core, and the readers are processes on another core. The kernel counts the cost of a
//! client: processor time, memory, packets, bytes. A server with one client and the same number of avatars is also measured.
//! This second measurement separates the work of the world (rules, physics) from the work of the network.

mod asteroids;
mod findings;
pub(crate) mod kernel;
mod process;
mod profile;
mod reader;
mod studio;
mod trial;

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

pub use self::process::ProcessError;
use self::reader::ReaderProtocol;
pub use self::reader::main as read;
pub use self::studio::{StudioPlan, run as run_studio};
use self::trial::{Measured, Scenario, Sight};
use crate::link::{HostError, enter_new_network};
use crate::local::two_cores;
use crate::report::Report;

/// The folder into which `cargo xtask peers` puts the packages of Colyseus, relative to the top of a checkout.
pub const COLYSEUS: &str = "target/peers/colyseus";

/// The options of a run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The `nowcast` program.
    pub program: PathBuf,
    /// Numbers of clients, with one trial for each number. There is one avatar for each client, and each client sees all avatars.
    pub all: Vec<u32>,
    /// Number of clients, and number of avatars, in the runs in which each client sees a fifth of the avatars; 0 for no such
    /// runs.
    pub near: u32,
    /// Numbers of clients (and of avatars), each with a number of things on the ground; empty for no such runs.
    pub crowds: Vec<(u32, u32)>,
    /// Updates a second.
    pub hz: u32,
    /// Number of inputs a second from each client; 0 for no inputs.
    pub controls_hz: u32,
    /// Duration of each measurement, after all clients have joined.
    pub measured: Duration,
    /// Number of repetitions of all measurements.
    pub repeats: u32,
    /// Number of processes of readers.
    pub processes: u32,
    /// Time after all clients have left at which the server's memory is read again; zero for no such reading.
    pub linger: Duration,
    /// Whether `perf` samples our servers during each measurement. Sampling costs them some percent.
    pub profile: bool,
    /// Whether Colyseus is measured, if it is installed.
    pub peers: bool,
    /// The folder with the packages of Colyseus.
    pub colyseus: PathBuf,
    /// The cores of the server and of the readers.
    pub cores: [usize; 2],
    /// Seed for the walks of the avatars, and for the loss and delay of packets on links.
    pub seed: u64,
    /// The command line that repeats the run.
    pub command: String,
}

impl Plan {
    /// Returns the full plan, which takes an hour.
    #[must_use]
    pub fn full(program: PathBuf, command: String) -> Plan {
        Plan {
            program,
            all: vec![25, 50, 100, 200],
            near: 300,
            crowds: vec![(100, 1_000), (100, 10_000), (100, 100_000), (1_000, 9_000)],
            hz: 20,
            controls_hz: 20,
            measured: Duration::from_secs(20),
            repeats: 3,
            processes: 2,
            linger: Duration::ZERO,
            profile: false,
            peers: true,
            colyseus: COLYSEUS.into(),
            cores: two_cores(),
            seed: 1,
            command,
        }
    }

    /// Returns the quick plan, which takes about five minutes.
    #[must_use]
    pub fn quick(program: PathBuf, command: String) -> Plan {
        let plan = Plan::full(program, command);
        let crowds = vec![(1_000, 9_000)];
        Plan { all: vec![100, 200], crowds, measured: Duration::from_secs(8), repeats: 1, ..plan }
    }

    /// Measures servers that are full of readers. A trial that fails is listed in the outcome, and the run continues with the
    /// next trial.
    ///
    /// # Errors
    /// [`LoadError::Profile`] if `perf` was requested and does not run. In this case no trial begins.
    pub fn run(&self, progress: &mut (dyn FnMut(&str) + Send)) -> Result<LoadOutcome, LoadError> {
        if self.profile {
            profile::check().map_err(LoadError::Profile)?;
        }
        let peer = self.peer();
        // The kernel counts the traffic of this thread's network, and the programs start in the same network.
        let (is_apart, (measured, failed)) = in_a_thread(|| {
            let is_apart = enter_new_network().is_ok();
            (is_apart, self.measure(peer.is_ok(), progress))
        });
        let mut report = findings::report(self, &measured, is_apart, &peer);
        findings::list_failed(&mut report, &failed);
        Ok(LoadOutcome { report, failed })
    }

    /// Counts the bytes of a scene in which all bodies move. Compares displayed positions with true ones. A trial that fails is
    /// listed in the outcome, and the run continues with the next trial.
    ///
    /// # Errors
    /// [`LoadError::NoWorld`] and [`LoadError::Kernel`] if the world's folder cannot be read or copied.
    pub fn run_asteroids(
        &self,
        world: &Path,
        progress: &mut (dyn FnMut(&str) + Send),
    ) -> Result<LoadOutcome, LoadError> {
        asteroids::run(self, world, progress)
    }

    /// Runs all trials. Servers take turns, so that changes on the machine affect all servers alike.
    fn measure(
        &self,
        has_peer: bool,
        progress: &mut (dyn FnMut(&str) + Send),
    ) -> (Vec<Measured>, Vec<FailedTrial>) {
        let (mut measured, mut failed) = (Vec::new(), Vec::new());
        for repetition in 0..self.repeats {
            for scenario in self.scenarios() {
                for (protocol, scenario) in trials(scenario, has_peer) {
                    let name = findings::name_of(protocol, scenario);
                    let trial = || trial::run(self, protocol, scenario, repetition);
                    measured.extend(attempt(name, trial, &mut failed, progress));
                }
            }
        }
        (measured, failed)
    }

    fn scenarios(&self) -> impl Iterator<Item = Scenario> {
        let all = self.all.iter().map(|&count| (Sight::All, count));
        let near = (self.near > 0).then_some((Sight::Near, self.near));
        let these = all.chain(near).map(|(sight, count)| (sight, count, 0));
        let crowds = self.crowds.iter().map(|&(count, things)| (Sight::Crowd, count, things));
        these.chain(crowds).map(|(sight, count, things)| Scenario {
            sight,
            avatars: count,
            things,
            clients: count,
        })
    }

    /// Returns the version of the measured peer, or the reason of its omission, as a sentence.
    fn peer(&self) -> Result<String, String> {
        if !self.peers {
            return Err("Colyseus is omitted as requested.".to_owned());
        }
        let version = colyseus_version(&self.colyseus).ok_or_else(|| {
            format!(
                "Colyseus is omitted: it is not in {}; `cargo xtask peers` installs it.",
                self.colyseus.display()
            )
        })?;
        let node = Command::new("node").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        if node.is_ok_and(|status| status.success()) {
            Ok(format!("Colyseus is {version}, with its own WebSocket transport."))
        } else {
            Err("Colyseus is omitted: Node is not installed.".to_owned())
        }
    }
}

/// The outcome of a run.
#[derive(Debug)]
pub struct LoadOutcome {
    /// The figures of all trials that finished, and a list of the trials that failed.
    pub report: Report,
    /// The trials that failed.
    pub failed: Vec<FailedTrial>,
}

/// A trial without figures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedTrial {
    /// The server, the number of clients, and what they receive.
    pub name: String,
    /// The reason, for people.
    pub cause: String,
}

/// The reason why a trial has no figures, or a run has no report.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A server or a process of readers failed.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// The server runs, but refuses all clients.
    #[error("none of {clients} clients could join; first reported reason: {why}")]
    NobodyJoined {
        /// Number of attempts.
        clients: u32,
        /// The reason of one refusal.
        why: String,
    },
    /// Clients joined, and then received nothing.
    #[error("{clients} clients joined and received no update; first reported reason: {why}")]
    NoUpdates {
        /// Number of clients that joined.
        clients: u32,
        /// The reason for which one of them was lost.
        why: String,
    },
    /// The server's metrics cannot be read.
    #[error("the server's /metrics cannot be read: {0}")]
    Metrics(io::Error),
    /// This program cannot be started again.
    #[error("this program could not be started again: {0}")]
    Itself(io::Error),
    /// The studio of the server refused a request, or did not answer.
    #[error("the studio: {0}")]
    Studio(io::Error),
    /// The kernel's counters cannot be read.
    #[error("the kernel's counters cannot be read: {0}")]
    Kernel(io::Error),
    /// `perf` is missing or may not sample the server.
    #[error(
        "perf cannot sample the server: {0}. Install the package linux-perf, or set kernel.perf_event_paranoid to 1 or less"
    )]
    Profile(io::Error),
    /// The folder of the trial failed.
    #[error("the trial's folder: {0}")]
    Folder(io::Error),
    /// The hosts of an emulated link could not be created.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The world's folder does not exist.
    #[error("there is no world in {}: run this at the top of a checkout of Nowcast, or name its folder", .0.display())]
    NoWorld(PathBuf),
    /// A reader on an emulated link failed.
    #[error("a reader on the link: {0}")]
    Reader(String),
}

/// Runs one trial and returns its figures. Adds a trial that fails to the list.
fn attempt<T>(
    name: String,
    trial: impl FnOnce() -> Result<T, LoadError>,
    failed: &mut Vec<FailedTrial>,
    progress: &mut (dyn FnMut(&str) + Send),
) -> Option<T> {
    progress(&name);
    match trial() {
        Ok(figures) => Some(figures),
        Err(error) => {
            progress(&format!("{name} failed: {error}"));
            failed.push(FailedTrial { name, cause: error.to_string() });
            None
        }
    }
}

/// Returns the trials of one scenario: each server with one client, and then with all clients over each carrier.
fn trials(scenario: Scenario, has_peer: bool) -> impl Iterator<Item = (ReaderProtocol, Scenario)> {
    let alone = Scenario { clients: 1, ..scenario };
    let ours = [
        (ReaderProtocol::WebSocket, alone),
        (ReaderProtocol::WebSocket, scenario),
        (ReaderProtocol::WebTransport, scenario),
        (ReaderProtocol::Plain, scenario),
    ];
    // The plain protocol sends all entities to all clients.
    let is_offered = move |(protocol, _): &(ReaderProtocol, Scenario)| {
        scenario.sight == Sight::All || *protocol != ReaderProtocol::Plain
    };
    let theirs = [(ReaderProtocol::Colyseus, alone), (ReaderProtocol::Colyseus, scenario)];
    // The peer's room has only avatars.
    let has_peer = has_peer && scenario.sight != Sight::Crowd;
    ours.into_iter().filter(is_offered).chain(theirs.into_iter().filter(move |_| has_peer))
}

/// Returns the version that is installed in a folder.
fn colyseus_version(folder: &Path) -> Option<String> {
    let package = std::fs::read_to_string(folder.join("node_modules/@colyseus/core/package.json")).ok()?;
    let package: serde_json::Value = serde_json::from_str(&package).ok()?;
    Some(package.get("version")?.as_str()?.to_owned())
}

/// Runs `work` in a separate thread, and waits for it.
fn in_a_thread<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| scope.spawn(work).join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> Plan {
        Plan::quick("/bin/false".into(), String::new())
    }

    #[test]
    fn each_server_is_measured_with_one_client_and_with_all() {
        let plan = Plan { all: vec![10], near: 20, crowds: vec![(30, 400)], ..plan() };
        let all: Vec<_> = plan.scenarios().flat_map(|scenario| trials(scenario, true)).collect();
        let of = |protocol, sight: Sight| {
            let these = all.iter().filter(|(other, scenario)| *other == protocol && scenario.sight == sight);
            these.map(|(_, scenario)| scenario.clients).collect::<Vec<_>>()
        };
        assert_eq!(of(ReaderProtocol::WebSocket, Sight::All), [1, 10]);
        assert_eq!(of(ReaderProtocol::WebTransport, Sight::All), [10]);
        assert_eq!(of(ReaderProtocol::Plain, Sight::All), [10]);
        assert_eq!(of(ReaderProtocol::Plain, Sight::Near), [0; 0]);
        assert_eq!(of(ReaderProtocol::Colyseus, Sight::Near), [1, 20]);
        assert_eq!(of(ReaderProtocol::WebSocket, Sight::Crowd), [1, 30]);
        assert_eq!(of(ReaderProtocol::WebTransport, Sight::Crowd), [30]);
        assert_eq!(of(ReaderProtocol::Colyseus, Sight::Crowd), [0; 0]);
    }

    #[test]
    fn a_run_continues_after_a_failed_trial_and_lists_it() {
        let plan = Plan { all: vec![2, 3], near: 0, crowds: Vec::new(), peers: false, ..plan() };
        let mut steps = Vec::new();
        let outcome = plan.run(&mut |step| steps.push(step.to_owned())).unwrap();
        assert_eq!(outcome.failed.len(), 8, "four trials with two clients, and four with three");
        let last = outcome.failed.last().unwrap();
        assert_eq!(last.name, "Nowcast, plain protocol: 3 clients that see all of 3 avatars");
        assert_eq!(last.cause, "the server ended too early");
        let text = outcome.report.to_terminal();
        assert!(text.contains(&last.name) && text.contains(&last.cause), "{text}");
        assert_eq!(
            steps.iter().filter(|step| step.contains("failed: the server ended too early")).count(),
            8
        );
    }

    #[test]
    fn a_peer_that_is_not_installed_is_omitted_and_the_note_states_the_cure() {
        let plan = Plan { colyseus: "/nowhere".into(), ..plan() };
        assert!(plan.peer().unwrap_err().contains("`cargo xtask peers` installs it"));
        let scenario = plan.scenarios().next().unwrap();
        assert!(trials(scenario, false).all(|(protocol, _)| protocol != ReaderProtocol::Colyseus));
    }
}
