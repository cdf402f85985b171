//! Starts servers that know each other.

use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::{Error, io};

/// The user of the started servers.
pub const USER: &str = "nowcast";

/// The password of [`USER`]. The servers listen on the loopback interface only.
pub const PASSWORD: &str = "for-development";

/// Time for a server to become ready.
const READY_WITHIN: Duration = Duration::from_secs(60);

/// Interval of the looks into the logs.
const LOOK_INTERVAL: Duration = Duration::from_millis(50);

/// Starts a server whose first argument is the program and whose second is its configuration. The server ends when the
/// standard input of the shell ends, so it does not outlive a starting process that is killed.
const GUARD: &str = r#"trap "" INT TERM; "$1" -c "$2" -P "$3" >/dev/null 2>&1 & server=$!; read -r _; kill -KILL $server; wait"#;

/// Servers with JetStream that form a cluster on the loopback interface. They end when the value is dropped.
pub struct Cluster {
    program: PathBuf,
    servers: Vec<Server>,
}

/// The ports of servers on the loopback interface.
#[derive(Clone, Debug)]
pub struct Network {
    /// The port of each server for clients.
    pub clients: Vec<u16>,
    /// The port of each server for the other servers.
    pub listen: Vec<u16>,
    /// The ports to which each server connects to reach the others. They may be those of proxies.
    pub routes: Vec<Vec<u16>>,
    /// Whether servers keep the addresses of other servers secret, so that no connection bypasses a proxy.
    pub is_closed: bool,
}

impl Network {
    /// Servers that reach each other without a proxy, on free ports.
    ///
    /// # Errors
    /// Fails if there are no free ports.
    pub fn direct(count: usize) -> Result<Network, Error> {
        let ports = free_ports(2 * count)?;
        let (clients, listen) = ports.split_at(count);
        let routes = vec![listen.to_vec(); count];
        Ok(Network { clients: clients.to_vec(), listen: listen.to_vec(), routes, is_closed: false })
    }
}

struct Server {
    folder: PathBuf,
    port: u16,
    /// The shell that guards the server; `None` while the server is stopped.
    guard: Option<Child>,
}

impl Cluster {
    /// Starts servers with their files below a folder, and waits until they have elected a leader. Each server listens on
    /// a free port of 127.0.0.1. Existing files are used again.
    ///
    /// # Errors
    /// Fails if a server cannot be started, or is not ready within a minute.
    pub fn start(program: &Path, folder: &Path, count: usize) -> Result<Cluster, Error> {
        let network = Network::direct(count)?;
        let cluster = Cluster::start_on(program, folder, &network)?;
        for index in 0..count {
            cluster.wait_until_ready(index)?;
        }
        Ok(cluster)
    }

    /// Starts servers on given ports, and does not wait until they are ready. A test that stands between the servers uses it.
    ///
    /// # Errors
    /// Fails if a server cannot be started.
    pub fn start_on(program: &Path, folder: &Path, network: &Network) -> Result<Cluster, Error> {
        std::fs::create_dir_all(folder).map_err(io(format!("cannot make {}", folder.display())))?;
        let folder = folder.canonicalize().map_err(io(format!("cannot find {}", folder.display())))?;
        let mut servers = Vec::new();
        for (index, port) in network.clients.iter().enumerate() {
            let folder = folder.join(format!("nats-{}", index + 1));
            std::fs::create_dir_all(&folder).map_err(io(format!("cannot make {}", folder.display())))?;
            // The log of an earlier run would look like that of a ready server.
            let _ = std::fs::remove_file(folder.join("nats.log"));
            let text = configuration(&folder, index, network);
            let path = folder.join("nats.conf");
            std::fs::write(&path, text).map_err(io(format!("cannot write {}", path.display())))?;
            servers.push(Server { folder, port: *port, guard: None });
        }
        let mut cluster = Cluster { program: program.to_owned(), servers };
        for index in 0..network.clients.len() {
            cluster.start_server(index)?;
        }
        Ok(cluster)
    }

    /// The addresses with credentials, separated by commas.
    pub fn address(&self) -> String {
        let of = |server: &Server| format!("nats://{USER}:{PASSWORD}@127.0.0.1:{}", server.port);
        self.servers.iter().map(of).collect::<Vec<_>>().join(",")
    }

    /// The address of one server, without credentials.
    pub fn address_of(&self, index: usize) -> String {
        format!("nats://127.0.0.1:{}", self.servers[index].port)
    }

    /// Number of servers, stopped ones included.
    pub fn len(&self) -> usize {
        self.servers.len()
    }

    /// Whether there are no servers.
    pub fn is_empty(&self) -> bool {
        self.servers.is_empty()
    }

    /// The process of a server, as its pid file names it.
    pub fn pid(&self, index: usize) -> Option<u32> {
        let text = std::fs::read_to_string(self.servers[index].folder.join("nats.pid")).ok()?;
        text.trim().parse().ok()
    }

    /// Ends a server with SIGKILL. Nothing happens if it is stopped already.
    pub fn kill(&mut self, index: usize) {
        self.servers[index].kill();
    }

    /// Starts a stopped server again, with its files and its port, and waits until it is ready.
    ///
    /// # Errors
    /// Fails as [`Cluster::start`] does.
    pub fn restart(&mut self, index: usize) -> Result<(), Error> {
        self.relaunch(index)?;
        self.wait_until_ready(index)
    }

    /// Starts a stopped server again, with its files and its port, and does not wait until it is ready.
    ///
    /// # Errors
    /// Fails if the server cannot be started.
    pub fn relaunch(&mut self, index: usize) -> Result<(), Error> {
        self.kill(index);
        // The number of a process that has ended may belong to another one soon.
        for file in ["nats.log", "nats.pid"] {
            let _ = std::fs::remove_file(self.servers[index].folder.join(file));
        }
        self.start_server(index)
    }

    fn start_server(&mut self, index: usize) -> Result<(), Error> {
        let server = &mut self.servers[index];
        let guard = Command::new("sh")
            .args(["-c", GUARD, "nats-guard"])
            .arg(&self.program)
            .args([server.folder.join("nats.conf"), server.folder.join("nats.pid")])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .map_err(io("cannot start sh"))?;
        server.guard = Some(guard);
        Ok(())
    }

    /// Waits until a server knows the leader of JetStream's metadata, which it does not before a majority is there.
    ///
    /// # Errors
    /// Fails if the server ends, or is not ready within a minute.
    pub fn wait_until_ready(&self, index: usize) -> Result<(), Error> {
        let log = self.servers[index].folder.join("nats.log");
        // A server without a cluster has no leader to elect.
        let sign = if self.servers.len() > 1 { "metadata leader" } else { "Server is ready" };
        let until = Instant::now() + READY_WITHIN;
        loop {
            let text = std::fs::read_to_string(&log).unwrap_or_default();
            if text.contains(sign) {
                return Ok(());
            }
            if Instant::now() >= until || text.contains("[FTL]") {
                let lines: Vec<&str> = text.lines().collect();
                let tail = lines[lines.len().saturating_sub(8)..].join("\n");
                let seconds = READY_WITHIN.as_secs();
                return Err(Error::NotReady { index: index + 1, seconds, log, tail });
            }
            std::thread::sleep(LOOK_INTERVAL);
        }
    }
}

impl Server {
    fn kill(&mut self) {
        if let Some(mut guard) = self.guard.take() {
            drop(guard.stdin.take());
            // The guard ends after the server.
            let _ = guard.wait();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Finds free ports of the loopback interface. All sockets are open at the same time, so all ports differ.
///
/// # Errors
/// Fails if no socket can be opened.
pub fn free_ports(count: usize) -> Result<Vec<u16>, Error> {
    let open = |_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let sockets: Vec<TcpListener> =
        (0..count).map(open).collect::<Result<_, _>>().map_err(io("cannot find a free port"))?;
    let port = |socket: &TcpListener| socket.local_addr().map(|address| address.port());
    sockets.iter().map(port).collect::<Result<_, _>>().map_err(io("cannot find a free port"))
}

/// Writes a server's configuration. It is the layout that `deploy/cluster` describes for several machines.
fn configuration(folder: &Path, index: usize, network: &Network) -> String {
    let (number, port) = (index + 1, network.clients[index]);
    let folder = folder.display();
    let peers: Vec<String> = network.routes[index]
        .iter()
        .map(|route| format!("nats-route://{USER}:{PASSWORD}@127.0.0.1:{route}"))
        .collect();
    // Port 1 has no server: a server that learns this address from another server cannot bypass a proxy with it.
    let closed =
        if network.is_closed { "  no_advertise: true\n  cluster_advertise: \"127.0.0.1:1\"\n" } else { "" };
    let cluster = if network.listen.len() > 1 {
        format!(
            "cluster {{\n  name: nowcast\n  listen: 127.0.0.1:{}\n  authorization {{ user: {USER}, password: \"{PASSWORD}\" }}\n  \
{closed}  routes: [{}]\n}}\n",
            network.listen[index],
            peers.join(", ")
        )
    } else {
        String::new()
    };
    format!(
        "server_name: nowcast-{number}\nlisten: 127.0.0.1:{port}\nlog_file: \"{folder}/nats.log\"\nmax_payload: 8MB\n\
         jetstream {{\n  store_dir: \"{folder}\"\n  sync_interval: always\n  max_memory_store: 64MB\n  max_file_store: 8GB\n}}\n\
         authorization {{ user: {USER}, password: \"{PASSWORD}\" }}\n{cluster}"
    )
}
