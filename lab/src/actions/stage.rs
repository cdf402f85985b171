//! The processes of a trial: a server, and for JetStream three nats-servers.

use std::ops::{AddAssign, Div, Sub};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use nowcast_dev_nats::Cluster;

use super::{ActionsError, Plan, StoreKind};
use crate::crash::TrialFolder;
use crate::crash::process::Process;
use crate::load::kernel::processor_time;

/// The name of the room and of its world.
const WORLD: &str = "actions";

/// Number of nats-servers.
const NATS: usize = 3;

/// The lease of the server in its cluster. After a kill, the next server waits for the end of the lease.
const LEASE_MS: &str = "1200";

/// Pause before a server that has ended is started again, and the time for all attempts.
const RESTART: Duration = Duration::from_millis(500);
const RESTART_PATIENCE: Duration = Duration::from_secs(60);

/// The server and the nats-servers.
pub(super) struct Stage {
    plan: Plan,
    server: Process,
    nats: Option<Cluster>,
    folder: TrialFolder,
}

impl Stage {
    pub(super) fn start(plan: &Plan, store: StoreKind) -> Result<Stage, ActionsError> {
        let folder = TrialFolder::new("actions")?;
        let world = folder.path.join(WORLD);
        std::fs::create_dir(&world)?;
        std::fs::write(world.join("world.luau"), include_str!("rules.luau"))?;
        let nats = match (store, &plan.nats_server) {
            (StoreKind::JetStream, Some(program)) => {
                Some(Cluster::start(program, &folder.path.join("nats"), NATS)?)
            }
            _ => None,
        };
        let server = Process::start(command(plan, &folder, nats.as_ref()), 0, None)?;
        Ok(Stage { plan: plan.clone(), server, nats, folder })
    }

    /// The address of the room.
    pub(super) fn url(&self) -> String {
        format!("nowcast://127.0.0.1:{}/{WORLD}", self.server.port)
    }

    /// Kills the server with SIGKILL.
    pub(super) fn kill(&mut self) -> Result<(), ActionsError> {
        self.server.kill()?;
        Ok(())
    }

    /// Starts the next server on the same port and with the same store. A server of a cluster that ends because NATS does not
    /// answer is started again, as an operator's supervisor does.
    pub(super) fn restart(&mut self) -> Result<(), ActionsError> {
        let begun = Instant::now();
        loop {
            let command = command(&self.plan, &self.folder, self.nats.as_ref());
            match Process::start(command, self.server.port, None) {
                Ok(server) => {
                    self.server = server;
                    return Ok(());
                }
                Err(_) if self.nats.is_some() && begun.elapsed() < RESTART_PATIENCE => sleep(RESTART),
                Err(error) => return Err(error.into()),
            }
        }
    }

    pub(super) fn processor_times(&self) -> Result<ProcessorTimes, ActionsError> {
        let nats = self.nats.iter().flat_map(|nats| (0..NATS).filter_map(|index| nats.pid(index)));
        Ok(ProcessorTimes {
            server: seconds(processor_time(self.server.id())?),
            nats: nats.map(|pid| processor_time(pid).map(seconds)).sum::<std::io::Result<f64>>()?,
            clients: seconds(processor_time(std::process::id())?),
        })
    }
}

fn seconds(time: Duration) -> f64 {
    time.as_secs_f64()
}

/// Returns the command for the server. Its limits for one address and one client are raised, because all clients are on this machine.
fn command(plan: &Plan, folder: &TrialFolder, nats: Option<&Cluster>) -> Command {
    let mut command = Command::new(&plan.program);
    command.arg("serve").arg(folder.path.join(WORLD));
    command.args(["--players-max", "4096", "--players-per-address-max", "4096"]);
    command.args(["--connections-per-address-max", "8192", "--actions-hz", "10000"]);
    match nats {
        Some(nats) => command.args(["--cluster", &nats.address(), "--cluster-lease", LEASE_MS]),
        None => command.arg("--data").arg(folder.path.join("data")),
    };
    command
}

/// Processor time in seconds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ProcessorTimes {
    pub(super) server: f64,
    pub(super) nats: f64,
    pub(super) clients: f64,
}

impl Sub for ProcessorTimes {
    type Output = ProcessorTimes;

    fn sub(self, before: ProcessorTimes) -> ProcessorTimes {
        ProcessorTimes {
            server: self.server - before.server,
            nats: self.nats - before.nats,
            clients: self.clients - before.clients,
        }
    }
}

impl Div<f64> for ProcessorTimes {
    type Output = ProcessorTimes;

    fn div(self, by: f64) -> ProcessorTimes {
        ProcessorTimes { server: self.server / by, nats: self.nats / by, clients: self.clients / by }
    }
}

impl AddAssign for ProcessorTimes {
    fn add_assign(&mut self, other: ProcessorTimes) {
        self.server += other.server;
        self.nats += other.nats;
        self.clients += other.clients;
    }
}
