//! `lab actions` measures how many durable actions a second a server confirms, and kills the server under this load.
//!
//! The server is the real program, with real clients on sessions. It stores its world in SQLite, or in three nats-servers with three
//! replicas. Each life of the server is one measurement, and ends by SIGKILL while all clients wait for confirmations. The next
//! server shows the counts in the state of its rules, and each client compares them with its confirmed actions.

mod client;
mod findings;
mod reading;
mod stage;

use std::path::PathBuf;
use std::rc::Rc;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use nowcast_world::Random;
use tokio::task::LocalSet;
use tokio::time::sleep;

use self::client::{Client, Shared};
use self::stage::{ProcessorTimes, Stage};
use crate::crash::CrashError;
use crate::crash::ledger::Tally;
use crate::report::{Report, Samples};

/// Time for all clients to join.
const JOIN_PATIENCE: Duration = Duration::from_secs(120);

/// Time after the clients have joined, before the measurement.
const SETTLE: Duration = Duration::from_millis(500);

/// Time after a kill in which confirmations that have arrived already are still read.
const LAST_ANSWERS: Duration = Duration::from_millis(300);

/// Range of the time from the end of a measurement to the kill.
const KILL_SPREAD_MS: u64 = 200;

/// The store of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreKind {
    /// SQLite in a folder, with a sync at each commit.
    Sqlite,
    /// Three nats-servers on this machine, with `sync_interval: always`.
    JetStream,
}

impl StoreKind {
    /// All stores.
    pub const ALL: [StoreKind; 2] = [StoreKind::Sqlite, StoreKind::JetStream];

    /// The name, for people.
    pub fn name(self) -> &'static str {
        match self {
            StoreKind::Sqlite => "SQLite",
            StoreKind::JetStream => "JetStream",
        }
    }
}

/// A number of clients, and of actions that each client has under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// Number of clients.
    pub clients: u16,
    /// Number of actions without an answer at each client.
    pub under_way: usize,
}

/// The extent of a run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The `nowcast` program.
    pub program: PathBuf,
    /// nats-server, if JetStream is measured.
    pub nats_server: Option<PathBuf>,
    /// The stores.
    pub stores: Vec<StoreKind>,
    /// The loads of each store.
    pub loads: Vec<Load>,
    /// Number of kills of each server.
    pub kills: u32,
    /// Duration of each measurement.
    pub measured: Duration,
    /// Seed of the clients' keys and of the times of the kills.
    pub seed: u64,
    /// The command line that repeats the run.
    pub command: String,
}

/// The reason why a run has no result.
#[derive(Debug, thiserror::Error)]
pub enum ActionsError {
    /// A nats-server cannot be started.
    #[error(transparent)]
    Nats(#[from] nowcast_dev_nats::Error),
    /// The server failed.
    #[error(transparent)]
    Server(#[from] CrashError),
    /// The clients failed.
    #[error("the clients: {0}")]
    Clients(String),
    /// The system failed.
    #[error("the lab: {0}")]
    Io(#[from] std::io::Error),
}

/// The result of a run.
#[derive(Debug)]
pub struct Outcome {
    /// The figures.
    pub report: Report,
    /// Whether a confirmed action was lost, or an action was applied twice.
    pub is_broken: bool,
}

/// The figures of one store under one load.
#[derive(Debug)]
struct Measured {
    store: StoreKind,
    load: Load,
    /// Confirmed actions a second, with one sample for each life.
    per_second: Samples,
    /// Times from sending an action to its confirmation, in microseconds.
    waits: Histogram<u64>,
    /// Processor time for each second of the measurements.
    busy: ProcessorTimes,
    kills: u32,
    tally: Tally,
    /// The reasons of refused actions, each with its count.
    troubles: Vec<(String, u32)>,
}

impl Plan {
    /// Measures all stores under all loads.
    ///
    /// # Errors
    /// If a server or its clients fail.
    pub fn run(&self, progress: &mut dyn FnMut(&str)) -> Result<Outcome, ActionsError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let mut measured = Vec::new();
        for &store in &self.stores {
            for &load in &self.loads {
                let trial = LocalSet::new();
                let one = trial.block_on(&runtime, self.measure(store, load, progress))?;
                progress(&findings::line(&one));
                measured.push(one);
            }
        }
        let is_broken = measured.iter().any(|one| one.tally.lost + one.tally.doubled > 0);
        Ok(Outcome { report: findings::report(self, &mut measured), is_broken })
    }

    async fn measure(
        &self,
        store: StoreKind,
        load: Load,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Measured, ActionsError> {
        let name = format!("{}, {} clients with {} under way", store.name(), load.clients, load.under_way);
        progress(&format!("{name}: the server starts"));
        let mut stage = Stage::start(self, store)?;
        let mut random = Random::new(self.seed);
        let shared = Rc::new(Shared::new(stage.url(), load));
        for number in 0..load.clients {
            tokio::task::spawn_local(Client::new(number, self.seed, &shared).play());
        }
        let mut per_second = Samples::new();
        let mut busy = ProcessorTimes::default();
        for kill in 1..=self.kills {
            shared.begin_life();
            shared.play_when_all_have_joined(JOIN_PATIENCE).await.map_err(ActionsError::Clients)?;
            sleep(SETTLE).await;
            let (begun, before) = (Instant::now(), stage.processor_times()?);
            shared.measure(true);
            sleep(self.measured).await;
            let confirmed = shared.measure(false);
            let seconds = begun.elapsed().as_secs_f64();
            busy += (stage.processor_times()? - before) / (seconds * f64::from(self.kills));
            per_second.push(confirmed as f64 / seconds);
            sleep(Duration::from_millis(random.bits() % KILL_SPREAD_MS)).await;
            stage.kill()?;
            sleep(LAST_ANSWERS).await;
            shared.end_life();
            stage.restart()?;
            let read = reading::read(stage.url(), load.clients).await.map_err(ActionsError::Clients)?;
            shared.compare(&read);
            let Tally { confirmed, lost, doubled, .. } = shared.tally();
            progress(&format!(
                "{name}, kill {kill} of {}: {:.0} a second, {confirmed} confirmed, {lost} lost, {doubled} doubled",
                self.kills,
                per_second.values().last().copied().unwrap_or_default()
            ));
        }
        let (waits, troubles) = shared.take_waits();
        Ok(Measured {
            store,
            load,
            per_second,
            waits,
            busy,
            kills: self.kills,
            tally: shared.tally(),
            troubles,
        })
    }
}
