//! `lab cluster --faults`: real servers, real nats-servers and real clients under random faults.
//!
//! A life begins with three nats-servers and three servers (`nowcast serve --cluster`) as processes of their own. Clients on
//! sessions count in two rooms by durable actions. A script of faults is carried out, everything is repaired, and each client must
//! count again, in the state that all confirmations before made. At the end, the owners are read from the journals.

mod checker;
mod client;
mod findings;
mod gate;
mod operator;
mod script;
mod stage;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nowcast_jetstream::{JetStreamStore, StoreOptions};
use nowcast_queue::conformance::Random;
use nowcast_store::WorldName;

use checker::{Checker, Counts, CountsOf};
use client::Client;
pub use script::{Event, Fault, Script, ScriptError};
use script::{ROOMS, SERVERS};
use stage::Stage;

use super::Outcome;

/// Number of clients of each room.
const CLIENTS: u8 = 2;
/// Time after the faults in which each client must count again. An election of NATS takes up to 10 s.
const FOUND_WITHIN: Duration = Duration::from_secs(90);
/// Interval between two checks of the script.
const LOOK: Duration = Duration::from_millis(10);
/// Number of runs of a shorter script. If no run fails, a fault that was left out is needed.
const SHRINK_TRIES: u64 = 2;

/// The extent of a run.
#[derive(Clone, Debug)]
pub struct Faults {
    /// The program `nowcast`, which runs the servers.
    pub program: PathBuf,
    /// nats-server (`nowcast_dev_nats::install`).
    pub nats_server: PathBuf,
    /// Number of faults in all lives together.
    pub faults: usize,
    /// Number of faults in one life.
    pub faults_a_life: usize,
    /// The seed of the first life. Each further life has the next one.
    pub seed: u64,
    /// The script of a single life, instead of random ones.
    pub script: Option<Script>,
    /// Maximum time, after which no further life begins.
    pub time_max: Option<Duration>,
    /// Maximum time of the search for a shorter script.
    pub shrink_max: Duration,
}

/// The reason why a run has no result.
#[derive(Debug, thiserror::Error)]
pub enum FaultsError {
    /// A nats-server cannot be started.
    #[error(transparent)]
    Nats(#[from] nowcast_dev_nats::Error),
    /// The rooms cannot be read after a life.
    #[error("the rooms cannot be read after a life: {0}")]
    Read(String),
    /// The system failed.
    #[error("the lab: {0}")]
    Io(std::io::Error),
}

/// The result of one life.
#[derive(Debug, Default)]
struct Lived {
    violation: Option<String>,
    counts: Counts,
    /// Time after the faults until every client had counted again.
    found: Duration,
    has_small_disk: bool,
}

impl Faults {
    /// Runs lives until all faults have happened or a promise is broken, and passes each step to `progress`.
    ///
    /// # Errors
    /// Fails if the processes cannot be started, or if the rooms cannot be read at the end.
    pub fn run(&self, command: String, progress: &mut dyn FnMut(&str)) -> Result<Outcome, FaultsError> {
        let begun = Instant::now();
        let mut total = findings::Total::default();
        let mut failure = None;
        let (mut left, mut seed) = (self.faults, self.seed);
        while left > 0 && failure.is_none() && self.time_max.is_none_or(|max| begun.elapsed() < max) {
            let count = left.min(self.faults_a_life.max(1));
            let script = self.script.clone().unwrap_or_else(|| Script::random(seed, count));
            let lived = self.live(&script, seed)?;
            left = if self.script.is_some() { 0 } else { left - count };
            progress(&format!(
                "seed {seed}: {} faults, {} confirmed, found again after {:.1} s; {left} faults left",
                script.events.len(),
                lived.counts.confirmed,
                lived.found.as_secs_f64()
            ));
            total.add(&script, &lived);
            if let Some(what) = lived.violation {
                progress(&format!("BROKEN: {what}; looking for a shorter script"));
                failure = Some(self.shrink(script, what, seed, progress));
            }
            seed += 1;
        }
        let report = findings::report(self, command, &total, begun.elapsed(), failure.as_deref());
        Ok(Outcome { report, failure })
    }

    /// Returns the failure with the shortest script that was found.
    fn shrink(&self, script: Script, what: String, seed: u64, progress: &mut dyn FnMut(&str)) -> String {
        let begun = Instant::now();
        let (script, what) = script.shrink(what, |shorter| {
            (0..SHRINK_TRIES).find_map(|_| {
                if begun.elapsed() > self.shrink_max {
                    return None;
                }
                let failure = self.live(shorter, seed).ok()?.violation;
                let outcome = if failure.is_some() { "fails" } else { "keeps the promises" };
                progress(&format!("  {} faults: {outcome}", shorter.events.len()));
                failure
            })
        });
        format!(
            "{what}\nseed {seed}, the shortest script that was found (AT_MS FOR_MS FAULT NUMBERS):\n{script}"
        )
    }

    /// Lives one script.
    fn live(&self, script: &Script, seed: u64) -> Result<Lived, FaultsError> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .map_err(FaultsError::Io)?;
        let folder = Folder::new(seed).map_err(FaultsError::Io)?;
        let mut stage = Stage::start(&self.program, &self.nats_server, &folder.path, &runtime)?;
        let checker = Arc::new(Checker::default());
        let stop = Arc::new(AtomicBool::new(false));
        let mut random = Random::new(seed);
        let mut clients = Vec::new();
        for number in 0..ROOMS * CLIENTS {
            let client = Client {
                room: number % ROOMS,
                number,
                ports: stage.ports.clone().into(),
                checker: Arc::clone(&checker),
                stop: Arc::clone(&stop),
                random: Random::new(random.number()),
            };
            clients.push(runtime.spawn(client.run()));
        }
        // The faults begin when the rooms run.
        let lived = wait_for_progress(&mut stage, &checker).and_then(|_| {
            self.carry_out(script, &mut stage, &checker)?;
            stage.calm()?;
            wait_for_progress(&mut stage, &checker)
        });
        stop.store(true, Ordering::Release);
        for client in clients {
            // The check of a client that panicked is missing.
            runtime
                .block_on(client)
                .unwrap_or_else(|error| checker.fail(format!("a client of the lab: {error}")));
        }
        let found = lived?;
        if checker.violation().is_none() {
            read_owners(&runtime, &stage.nats_address(), &checker)?;
        }
        let has_small_disk = stage.has_small_disk;
        let violation = checker.violation();
        if violation.is_some() {
            folder.keep();
        }
        drop(stage);
        runtime.shutdown_background();
        Ok(Lived { violation, counts: checker.counts(), found, has_small_disk })
    }

    /// Begins and ends the faults of a script at their times.
    fn carry_out(&self, script: &Script, stage: &mut Stage, checker: &Checker) -> Result<(), FaultsError> {
        let begun = Instant::now();
        let at = |ms: u64| begun + Duration::from_millis(ms);
        let mut begins = script.events.iter().peekable();
        let mut ends: Vec<(Instant, Fault)> = Vec::new();
        while (begins.peek().is_some() || !ends.is_empty()) && checker.violation().is_none() {
            while let Some(event) = begins.next_if(|event| at(event.at_ms) <= Instant::now()) {
                let until = at(event.at_ms + event.for_ms);
                stage.begin(event.fault, until)?;
                ends.push((until, event.fault));
            }
            let now = Instant::now();
            let (over, later): (Vec<_>, Vec<_>) = ends.into_iter().partition(|(until, _)| *until <= now);
            ends = later;
            over.iter().try_for_each(|(_, fault)| stage.end(*fault))?;
            stage.supervise()?;
            if !stage.drag() {
                std::thread::sleep(LOOK);
            }
        }
        Ok(())
    }
}

/// Waits until each client has counted once more. A client that does not is a violation: its room was not found again.
fn wait_for_progress(stage: &mut Stage, checker: &Checker) -> Result<Duration, FaultsError> {
    let begun = Instant::now();
    let confirmed = || (0..ROOMS).map(|room| checker.confirmed(room)).collect::<Vec<_>>();
    let before = confirmed();
    let of = |counts: &[CountsOf], client: u8| {
        counts[usize::from(client % ROOMS)].get(&client).copied().unwrap_or(0)
    };
    while checker.violation().is_none() {
        let now = confirmed();
        let late: Vec<u8> =
            (0..ROOMS * CLIENTS).filter(|client| of(&now, *client) <= of(&before, *client)).collect();
        if late.is_empty() {
            break;
        }
        if begun.elapsed() > FOUND_WITHIN {
            let seconds = FOUND_WITHIN.as_secs();
            checker.fail(format!(
                "within {seconds} s without faults, clients {late:?} have no confirmed action"
            ));
        }
        stage.supervise()?;
        std::thread::sleep(LOOK);
    }
    Ok(begun.elapsed())
}

/// Reads the owners from the journals of the rooms.
fn read_owners(
    runtime: &tokio::runtime::Runtime,
    address: &str,
    checker: &Checker,
) -> Result<(), FaultsError> {
    let failed = |error: &dyn std::fmt::Display| FaultsError::Read(error.to_string());
    let link = runtime.block_on(operator::connect(address)).map_err(|error| failed(&error))?;
    let store = runtime.block_on(JetStreamStore::open(link, StoreOptions::default()));
    let store = store.map_err(|error| failed(&error))?;
    for room in 0..ROOMS {
        let name = WorldName::new(&operator::room_name(room)).expect("the name is valid");
        let owners = store.owners(&name).map_err(|error| failed(&error))?;
        let owners: Vec<(u64, String)> =
            owners.into_iter().map(|(epoch, owner)| (epoch.0, owner.to_string())).collect();
        if owners.is_empty() {
            checker.fail(format!("room {room} is not in its journal"));
        }
        checker.owned(room, &owners);
    }
    Ok(())
}

/// A folder in memory if there is one. It stays if a promise was broken.
struct Folder {
    path: PathBuf,
    is_kept: AtomicBool,
}

impl Folder {
    fn new(seed: u64) -> std::io::Result<Folder> {
        let memory = Path::new("/dev/shm");
        let parent = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        let path = parent.join(format!("nowcast-lab-cluster-{}-{seed}", std::process::id()));
        // An earlier life of the same seed may have kept its folder.
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path)?;
        Ok(Folder { path, is_kept: AtomicBool::new(false) })
    }

    fn keep(&self) {
        self.is_kept.store(true, Ordering::Release);
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !self.is_kept.load(Ordering::Acquire) {
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }
}

const _: () = assert!(SERVERS >= 2 && CLIENTS >= 1);
