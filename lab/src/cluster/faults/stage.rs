//! The processes of a life: nats-servers, servers, and the gates between them. Faults are begun and ended here.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use nowcast_dev_nats::{Cluster, Network, PASSWORD, USER, free_ports};
use tokio::runtime::{Handle, Runtime};

use super::gate::{Gate, Passage};
use super::operator::CLUSTER;
use super::script::{Fault, NATS, ROOMS, SERVERS};
use super::{CLIENTS, FaultsError, client, operator};

/// Minimum time between two starts of a server that ends by itself, because NATS does not answer.
const RESTART: Duration = Duration::from_millis(500);
/// Makes the kernel kill a server when the lab ends, however it ends. Without this program, servers may outlive a lab that is
/// killed.
const GUARD: [&str; 3] = ["setpriv", "--pdeathsig", "KILL"];
/// The delay of [`Fault::Delay`].
const DELAY: Duration = Duration::from_millis(80);
/// The size of the disk of the first nats-server.
const DISK: &str = "size=96m";

/// All processes.
pub(super) struct Stage {
    program: PathBuf,
    folder: PathBuf,
    runtime: Handle,
    nats: Cluster,
    nats_killed: [bool; NATS as usize],
    /// The processes of the servers, with the times of their starts. `None` while a server is to stay killed.
    servers: Vec<Option<(Child, Instant)>>,
    has_guard: bool,
    /// The ports of the servers for clients.
    pub(super) ports: Vec<u16>,
    /// Gates from each server to each nats-server, and from each nats-server to each other one.
    to_nats: Vec<Vec<Gate>>,
    between: Vec<Vec<Option<Gate>>>,
    /// The time until which each nats-server is slow.
    slow_until: [Option<Instant>; NATS as usize],
    /// Whether the first nats-server has a small disk of its own.
    pub(super) has_small_disk: bool,
}

impl Stage {
    /// Starts everything, with files below a folder.
    pub(super) fn start(
        program: &Path,
        nats_server: &Path,
        folder: &Path,
        runtime: &Runtime,
    ) -> Result<Stage, FaultsError> {
        let (nats, servers) = (usize::from(NATS), usize::from(SERVERS));
        let ports = free_ports(2 * nats + servers)?;
        let (client_ports, rest) = ports.split_at(nats);
        let (route_ports, server_ports) = rest.split_at(nats);
        let (to_nats, between) = runtime
            .block_on(async {
                let mut to_nats = Vec::new();
                for _ in 0..servers {
                    let mut gates = Vec::new();
                    for port in client_ports {
                        gates.push(Gate::open(*port).await?);
                    }
                    to_nats.push(gates);
                }
                let mut between = Vec::new();
                for from in 0..nats {
                    let mut gates = Vec::new();
                    for (to, port) in route_ports.iter().enumerate() {
                        gates.push(if from == to { None } else { Some(Gate::open(*port).await?) });
                    }
                    between.push(gates);
                }
                Ok((to_nats, between))
            })
            .map_err(FaultsError::Io)?;
        let routes: Vec<Vec<u16>> = between
            .iter()
            .map(|gates: &Vec<Option<Gate>>| gates.iter().flatten().map(|gate| gate.port).collect())
            .collect();
        let disk = folder.join("nats-1");
        std::fs::create_dir_all(&disk).map_err(FaultsError::Io)?;
        let has_small_disk = mount(&disk);
        let network =
            Network { clients: client_ports.to_vec(), listen: route_ports.to_vec(), routes, is_closed: true };
        let nats = Cluster::start_on(nats_server, folder, &network)?;
        let mut stage = Stage {
            program: program.to_owned(),
            folder: folder.to_owned(),
            runtime: runtime.handle().clone(),
            nats,
            nats_killed: [false; NATS as usize],
            servers: (0..SERVERS).map(|_| None).collect(),
            has_guard: Command::new(GUARD[0]).arg("--version").output().is_ok(),
            ports: server_ports.to_vec(),
            to_nats,
            between,
            slow_until: [None; NATS as usize],
            has_small_disk,
        };
        std::fs::create_dir_all(stage.world()).map_err(FaultsError::Io)?;
        std::fs::write(stage.world().join("world.luau"), client::rules(ROOMS * CLIENTS))
            .map_err(FaultsError::Io)?;
        // Servers that start before NATS has a leader would end.
        (0..stage.nats.len()).try_for_each(|index| stage.nats.wait_until_ready(index))?;
        for server in 0..SERVERS {
            stage.start_server(server)?;
        }
        Ok(stage)
    }

    /// The addresses of the nats-servers, without gates.
    pub(super) fn nats_address(&self) -> String {
        self.nats.address()
    }

    fn start_server(&mut self, server: u8) -> Result<(), FaultsError> {
        let index = usize::from(server);
        let address = |gate: &Gate| format!("nats://{USER}:{PASSWORD}@127.0.0.1:{}", gate.port);
        let addresses: Vec<String> = self.to_nats[index].iter().map(address).collect();
        let name = format!("s{server}");
        let port = self.ports[index].to_string();
        let log = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.folder.join(format!("{name}.log")))
            .map_err(FaultsError::Io)?;
        let mut command = match self.has_guard {
            true => Command::new(GUARD[0]),
            false => Command::new(&self.program),
        };
        if self.has_guard {
            command.args(&GUARD[1..]).arg(&self.program);
        }
        let child = command
            .arg("serve")
            .arg(self.world())
            .args([
                "--port",
                &port,
                "--cluster",
                &addresses.join(","),
                "--cluster-name",
                CLUSTER,
                "--cluster-server",
                &name,
            ])
            .args(["--cluster-address", &format!("http://127.0.0.1:{port}")])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .map_err(FaultsError::Io)?;
        self.servers[index] = Some((child, Instant::now()));
        Ok(())
    }

    /// The folder of the world that all rooms show.
    fn world(&self) -> PathBuf {
        self.folder.join("counts")
    }

    /// Starts servers again that have ended by themselves, as an operator's supervisor does.
    pub(super) fn supervise(&mut self) -> Result<(), FaultsError> {
        for server in 0..SERVERS {
            let has_ended = self.servers[usize::from(server)].as_mut().is_some_and(|(child, since)| {
                since.elapsed() > RESTART && matches!(child.try_wait(), Ok(Some(_)))
            });
            if has_ended {
                self.start_server(server)?;
            }
        }
        Ok(())
    }

    fn kill_server(&mut self, server: u8) {
        if let Some((mut child, _)) = self.servers[usize::from(server)].take() {
            // A process that has ended cannot be killed.
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    fn signal_server(&self, server: u8, what: Signal) {
        if let Some((child, _)) = &self.servers[usize::from(server)] {
            signal(child.id(), what);
        }
    }

    fn signal_nats(&self, nats: u8, what: Signal) {
        if !self.nats_killed[usize::from(nats)]
            && let Some(pid) = self.nats.pid(usize::from(nats))
        {
            signal(pid, what);
        }
    }

    fn kill_nats(&mut self, nats: u8) {
        self.nats_killed[usize::from(nats)] = true;
        self.nats.kill(usize::from(nats));
    }

    fn start_nats(&mut self, nats: u8) -> Result<(), FaultsError> {
        if std::mem::take(&mut self.nats_killed[usize::from(nats)]) {
            self.nats.relaunch(usize::from(nats))?;
        }
        Ok(())
    }

    /// Begins a fault. A later fault of the same process or gate replaces an earlier one, and the first end ends both.
    pub(super) fn begin(&mut self, fault: Fault, until: Instant) -> Result<(), FaultsError> {
        match fault {
            Fault::KillServer(server) => self.kill_server(server),
            Fault::StopServer(server) => self.signal_server(server, Signal::SIGSTOP),
            Fault::KillServers => (0..SERVERS).for_each(|server| self.kill_server(server)),
            Fault::KillNats(nats) => self.kill_nats(nats),
            Fault::KillTwoNats(stays) => {
                (0..NATS).filter(|nats| *nats != stays).for_each(|nats| self.kill_nats(nats));
            }
            Fault::KillAllNats => (0..NATS).for_each(|nats| self.kill_nats(nats)),
            Fault::StopNats(nats) => self.signal_nats(nats, Signal::SIGSTOP),
            Fault::SlowNats(nats) => self.slow_until[usize::from(nats)] = Some(until),
            Fault::FillDisk if self.has_small_disk => fill(&self.folder.join("nats-1")),
            Fault::FillDisk => {}
            Fault::Move(room, server) => {
                self.runtime.spawn(operator::move_room(self.nats_address(), room, server));
            }
            Fault::Drain(server) | Fault::Upgrade(server) => {
                self.runtime.spawn(operator::drain(self.nats_address(), server));
            }
            Fault::Hold(..)
            | Fault::Cut(..)
            | Fault::Isolate(_)
            | Fault::SplitNats(..)
            | Fault::IsolateNats(_)
            | Fault::Delay(_) => self.set_gates(fault, false),
        }
        Ok(())
    }

    /// Ends a fault.
    pub(super) fn end(&mut self, fault: Fault) -> Result<(), FaultsError> {
        match fault {
            Fault::KillServer(server) => self.start_if_killed(server)?,
            Fault::StopServer(server) => self.signal_server(server, Signal::SIGCONT),
            Fault::KillServers => {
                (0..SERVERS).try_for_each(|server| self.start_if_killed(server))?;
            }
            Fault::KillNats(nats) => self.start_nats(nats)?,
            Fault::KillTwoNats(_) | Fault::KillAllNats => {
                (0..NATS).try_for_each(|nats| self.start_nats(nats))?;
            }
            Fault::StopNats(nats) => self.signal_nats(nats, Signal::SIGCONT),
            Fault::FillDisk if self.has_small_disk => {
                let _ = std::fs::remove_file(self.folder.join("nats-1").join("filler"));
                // A nats-server with a full disk turns JetStream off until its next start.
                self.kill_nats(0);
                self.start_nats(0)?;
            }
            Fault::Drain(server) => {
                self.kill_server(server);
                self.start_server(server)?;
            }
            // The supervisor starts the next process.
            Fault::Upgrade(server) => self.signal_server(server, Signal::SIGTERM),
            Fault::SlowNats(_) | Fault::FillDisk | Fault::Move(..) => {}
            Fault::Hold(..)
            | Fault::Cut(..)
            | Fault::Isolate(_)
            | Fault::SplitNats(..)
            | Fault::IsolateNats(_)
            | Fault::Delay(_) => self.set_gates(fault, true),
        }
        Ok(())
    }

    fn start_if_killed(&mut self, server: u8) -> Result<(), FaultsError> {
        if self.servers[usize::from(server)].is_none() { self.start_server(server) } else { Ok(()) }
    }

    fn set_gates(&self, fault: Fault, is_over: bool) {
        let passage = |during: Passage| if is_over { Passage::Open } else { during };
        let gate = |server: u8, nats: u8| &self.to_nats[usize::from(server)][usize::from(nats)];
        let set_between = |a: u8, b: u8| {
            for (from, to) in [(a, b), (b, a)] {
                let gate = self.between[usize::from(from)][usize::from(to)].as_ref();
                gate.into_iter().for_each(|gate| gate.set(passage(Passage::Held)));
            }
        };
        match fault {
            Fault::Hold(server, nats) => gate(server, nats).set(passage(Passage::Held)),
            Fault::Cut(server, nats) => gate(server, nats).set(passage(Passage::Cut)),
            Fault::Isolate(server) => {
                (0..NATS).for_each(|nats| gate(server, nats).set(passage(Passage::Held)));
            }
            Fault::Delay(server) => {
                (0..NATS).for_each(|nats| gate(server, nats).set(passage(Passage::Delayed(DELAY))));
            }
            Fault::SplitNats(a, b) => set_between(a, b),
            Fault::IsolateNats(a) => (0..NATS).filter(|b| *b != a).for_each(|b| set_between(a, b)),
            _ => {}
        }
    }

    /// Stops slow nats-servers for 30 ms, and lets them continue. Returns whether one is slow.
    pub(super) fn drag(&mut self) -> bool {
        let now = Instant::now();
        let slow: Vec<u8> = (0..NATS)
            .filter(|nats| self.slow_until[usize::from(*nats)].is_some_and(|until| until > now))
            .collect();
        slow.iter().for_each(|nats| self.signal_nats(*nats, Signal::SIGSTOP));
        if !slow.is_empty() {
            std::thread::sleep(Duration::from_millis(30));
            slow.iter().for_each(|nats| self.signal_nats(*nats, Signal::SIGCONT));
        }
        !slow.is_empty()
    }

    /// Ends all faults: everything runs, and every gate is open.
    pub(super) fn calm(&mut self) -> Result<(), FaultsError> {
        self.to_nats.iter().flatten().for_each(|gate| gate.set(Passage::Open));
        self.between.iter().flatten().flatten().for_each(|gate| gate.set(Passage::Open));
        for nats in 0..NATS {
            self.signal_nats(nats, Signal::SIGCONT);
            self.start_nats(nats)?;
        }
        for server in 0..SERVERS {
            self.signal_server(server, Signal::SIGCONT);
            self.start_if_killed(server)?;
        }
        Ok(())
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        (0..SERVERS).for_each(|server| self.kill_server(server));
        (0..NATS).for_each(|nats| self.kill_nats(nats));
        if self.has_small_disk {
            let _ = Command::new("umount").arg("-l").arg(self.folder.join("nats-1")).status();
        }
    }
}

fn signal(pid: u32, signal: Signal) {
    let Ok(pid) = i32::try_from(pid) else { return };
    // The process may have ended.
    let _ = kill(Pid::from_raw(pid), signal);
}

/// Mounts a small disk in memory. Without the permission, the nats-server shares the disk of the folder.
fn mount(folder: &Path) -> bool {
    let mount = Command::new("mount")
        .args(["-t", "tmpfs", "-o", DISK, "nowcast-lab"])
        .arg(folder)
        .stderr(Stdio::null())
        .status();
    mount.is_ok_and(|status| status.success())
}

/// Writes a file until the disk is full.
fn fill(folder: &Path) {
    use std::io::Write as _;
    let Ok(mut file) = std::fs::File::create(folder.join("filler")) else { return };
    let block = vec![0; 1 << 20];
    while file.write_all(&block).is_ok() {}
    let _ = file.write_all(&block[..4_096]);
}
