//! `lab cluster --faults`: real servers, real nats-servers and real clients under random faults.
//!
//! A life begins with three nats-servers, three servers and two rooms, all as processes of their own. Clients count by durable
//! actions. A script of faults is carried out, everything is repaired, and each client must count again. At the end, the rooms
//! are read from their journals and compared with all confirmations.

mod checker;
mod client;
mod findings;
mod gate;
mod room;
mod script;
mod stage;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nowcast_jetstream::{JetStreamStore, Link, LinkOptions, StoreOptions};
use nowcast_queue::conformance::Random;
use nowcast_store::{Moment, Store as _, WorldName};

use checker::{Checker, Counts};
use client::Client;
pub use room::serve;
pub use script::{Event, Fault, Script, ScriptError};
use script::{ROOMS, SERVERS};
use stage::Stage;

use crate::Outcome;

/// Number of clients of each room.
const CLIENTS: u8 = 2;
/// Time after the faults in which each client must count again. An election of NATS takes up to 10 s.
const FOUND_WITHIN: Duration = Duration::from_secs(90);
/// Interval between two looks at the script.
const LOOK: Duration = Duration::from_millis(10);
/// Number of lives in which a shorter script must fail, before it counts as one that does not.
const SHRINK_TRIES: u64 = 2;

/// The program that runs a server of the lab: it calls [`serve`] with its last argument.
#[derive(Clone, Debug)]
pub struct Program {
    /// The program.
    pub path: PathBuf,
    /// The arguments before the orders.
    pub args: Vec<String>,
}

/// The extent of a run.
#[derive(Clone, Debug)]
pub struct Faults {
    /// The program of the servers.
    pub program: Program,
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
    /// The last argument is not that of a server.
    #[error(
        "the orders are not those of a server of the lab. `nowcast lab cluster --faults` starts its servers itself"
    )]
    Orders,
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
            clients.push(std::thread::spawn(move || client.run()));
        }
        // The faults begin when the rooms run.
        let lived = wait_for_progress(&checker, FOUND_WITHIN).and_then(|_| {
            self.carry_out(script, &mut stage, &checker)?;
            stage.calm()?;
            wait_for_progress(&checker, FOUND_WITHIN)
        });
        stop.store(true, Ordering::Release);
        clients.into_iter().for_each(|client| drop(client.join()));
        let found = lived?;
        if checker.violation().is_none() {
            verify(&runtime, &stage.nats_address(), &checker)?;
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
                if let Fault::Release(room) = event.fault {
                    client::release(&stage.ports, room);
                }
                ends.push((until, event.fault));
            }
            let now = Instant::now();
            let (over, later): (Vec<_>, Vec<_>) = ends.into_iter().partition(|(until, _)| *until <= now);
            ends = later;
            over.iter().try_for_each(|(_, fault)| stage.end(*fault))?;
            if !stage.drag() {
                std::thread::sleep(LOOK);
            }
        }
        Ok(())
    }
}

/// Waits until each client has counted once more. A client that does not is a violation: its room was not found again.
fn wait_for_progress(checker: &Checker, within: Duration) -> Result<Duration, FaultsError> {
    let begun = Instant::now();
    let confirmed = || (0..ROOMS).map(|room| checker.confirmed(room)).collect::<Vec<_>>();
    let before = confirmed();
    let of = |counts: &[std::collections::BTreeMap<u8, u64>], client: u8| {
        counts[usize::from(client % ROOMS)].get(&client).copied().unwrap_or(0)
    };
    while checker.violation().is_none() {
        let now = confirmed();
        if (0..ROOMS * CLIENTS).all(|client| of(&now, client) > of(&before, client)) {
            break;
        }
        if begun.elapsed() > within {
            let late: Vec<u8> =
                (0..ROOMS * CLIENTS).filter(|client| of(&now, *client) <= of(&before, *client)).collect();
            let seconds = within.as_secs();
            checker.fail(format!("{seconds} s after the faults, clients {late:?} have no confirmed action"));
        }
        std::thread::sleep(LOOK);
    }
    Ok(begun.elapsed())
}

/// Reads the rooms from their journals, and compares them with the confirmations.
fn verify(runtime: &tokio::runtime::Runtime, address: &str, checker: &Checker) -> Result<(), FaultsError> {
    let failed = |error: &dyn std::fmt::Display| FaultsError::Read(error.to_string());
    let options = LinkOptions { name: "lab".to_owned(), ..LinkOptions::default() };
    let link = runtime.block_on(Link::connect(address, options)).map_err(|error| failed(&error))?;
    let store = runtime.block_on(JetStreamStore::open(link, StoreOptions::default()));
    let store = store.map_err(|error| failed(&error))?;
    for room in 0..ROOMS {
        let name = WorldName::new(&format!("r{room}")).expect("the name is valid");
        let saved = match store.load(&name, Moment::Last) {
            Ok(Some(saved)) => saved,
            Ok(None) => {
                checker.fail(format!("room {room} is not in its journal"));
                continue;
            }
            Err(error) => match error.problem {
                nowcast_store::Problem::Damaged { .. } => {
                    checker.fail(format!("room {room}: {error}"));
                    continue;
                }
                _ => return Err(failed(&error)),
            },
        };
        let (counts, broken) = room::counts(&saved);
        broken.into_iter().for_each(|what| checker.fail(format!("room {room}: {what}")));
        for (client, confirmed) in checker.confirmed(room) {
            let (count, sent) = (counts.get(&client).copied().unwrap_or(0), checker.sent(room, client));
            if count < confirmed || count > sent {
                checker.fail(format!(
                    "room {room}: the journal has {count} actions of client {client}; {confirmed} are confirmed and {sent} were sent"
                ));
            }
        }
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
