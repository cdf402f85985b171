//! Configuration of a server, and its limits.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use nowcast::admission::Policy;
use nowcast::names::is_name;
use nowcast::{CarrierLayer, CertificateConfig};
use nowcast_room::{EVENTS_BYTES_MAX, RoomsConfig};
use nowcast_store::Retention;
use nowcast_world_protocol::plain::NETWORK_HZ;

use crate::checker::Checker;
use crate::limits::Limits;
use crate::logs::LogWriter;
use crate::services::ServiceConfig;
use crate::webhook::WebhookConfig;
use crate::worlds::WorldConfig;

/// Configuration of a [`Server`](crate::Server): addresses, worlds and limits.
#[derive(Clone, Debug)]
pub struct Config {
    /// The worlds: at least one. A room whose name selects no world shows the first world.
    pub worlds: Vec<WorldConfig>,
    /// The headings below which the start page lists worlds, by the names of the worlds. Worlds without a heading come first.
    pub world_groups: HashMap<String, String>,
    /// The services on sessions, besides worlds, of the program that embeds the server.
    pub services: Vec<ServiceConfig>,
    /// The addresses to listen on. By default the loopback addresses of IPv4 and IPv6, because `localhost` may mean
    /// either. If this machine lacks one address family, the addresses of this family are skipped.
    pub hosts: Vec<IpAddr>,
    /// The TCP port; 0 lets the system choose one.
    pub port: u16,
    /// The path of the server's addresses on the host that users open: `/`, or a path such as `/game/` behind a proxy. The server
    /// answers at the root, too, so a proxy may strip the path.
    pub base_path: String,
    /// The number of threads that own the connections of clients. Besides these, each room has one thread. The default is half
    /// of the processors, at least 1 and at most 8.
    pub io_threads: NonZeroUsize,
    /// Snapshots a second for clients that request no rate, 5 to 60.
    pub network_hz: u32,
    /// The seed of every world.
    pub seed: u64,
    /// The rules of admission: whether tokens are required, and the allowed origins of pages.
    pub entry: Policy,
    /// Whether WebTransport is served, on UDP with the same port number.
    pub webtransport: bool,
    /// The UDP port that the server announces to clients, if it differs from the port of this process. It differs behind a
    /// relay, or in a container with mapped ports.
    pub announced_udp_port: Option<u16>,
    /// The server's identity for WebTransport and HTTPS. The port accepts TLS and plain HTTP.
    pub certificate: CertificateConfig,
    /// Whether browsers of other machines that use plain HTTP are redirected to HTTPS on the same port. Use it only with a
    /// certificate that browsers accept.
    pub redirect_to_https: bool,
    /// Maximum counts.
    pub limits: Limits,
    /// Maximum waiting times.
    pub timeouts: Timeouts,
    /// The pages that other machines may open without an operator token.
    pub exposed: Exposed,
    /// The folder of the stored worlds (`docs/reference/store.md`). Only one process may use it at a time. Without a folder, a
    /// world ends with its room.
    pub data: Option<PathBuf>,
    /// The cluster that keeps the worlds instead of a folder (`docs/how-to/cluster.md`). Its servers own different rooms.
    #[cfg(feature = "cluster")]
    pub cluster: Option<crate::cluster::ClusterConfig>,
    /// The back end that receives the events of all rooms (`docs/how-to/back-end.md`).
    pub webhook: Option<WebhookConfig>,
    /// How long these worlds keep stored history.
    pub retention: Retention,
    /// The folder of the documents, built for the address `/docs/`, where they are served. Pages of rooms may then be shown in
    /// frames of this server's own pages.
    pub docs: Option<PathBuf>,
    /// The writer of the program's logs. If present, `/metrics` shows its number of dropped lines.
    pub logs: Option<LogWriter>,
    /// Layers around each carrier of a room's sessions, the innermost first: packet records, or bad links for tests.
    pub layers: Vec<Arc<dyn CarrierLayer>>,
    /// Maximum bytes of all histories that the studio shows. Older entries are dropped.
    pub studio_bytes_max: usize,
    /// Finds the mistakes of rules for the studio. Without it, the studio shows only the mistakes that loading the rules
    /// finds.
    pub checker: Option<Checker>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            worlds: Vec::new(),
            world_groups: HashMap::new(),
            services: Vec::new(),
            hosts: vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()],
            port: 7777,
            base_path: "/".to_owned(),
            io_threads: default_io_threads(),
            network_hz: 10,
            seed: 1,
            entry: Policy::default(),
            webtransport: true,
            announced_udp_port: None,
            certificate: CertificateConfig::Development,
            redirect_to_https: false,
            limits: Limits::default(),
            timeouts: Timeouts::default(),
            exposed: Exposed::default(),
            data: None,
            #[cfg(feature = "cluster")]
            cluster: None,
            webhook: None,
            retention: Retention::default(),
            docs: None,
            logs: None,
            layers: Vec::new(),
            studio_bytes_max: 32 << 20,
            checker: None,
        }
    }
}

/// Parses a base path. Adds the slashes at both ends.
///
/// # Errors
///
/// A part of the path has other characters than `a-z A-Z 0-9 . _ -`.
pub fn parse_base_path(text: &str) -> Result<String, String> {
    let parts = text.split('/').filter(|part| !part.is_empty());
    parts
        .map(|part| {
            if is_name(part) {
                Ok(part)
            } else {
                Err(format!("'{part}' is no part of a path: use a-z A-Z 0-9 . _ -, as in /game/"))
            }
        })
        .try_fold("/".to_owned(), |path, part| Ok(path + part? + "/"))
}

/// Maximum number of I/O threads by default.
const IO_THREADS_MAX: usize = 8;

fn default_io_threads() -> NonZeroUsize {
    let processors = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    NonZeroUsize::new((processors / 2).min(IO_THREADS_MAX)).unwrap_or(NonZeroUsize::MIN)
}

/// The pages that other machines may open without a token. Clients on this machine may open all pages. Requests through a
/// proxy on this machine may not, because a proxy forwards requests of other machines.
#[derive(Clone, Copy, Debug, Default)]
pub struct Exposed {
    /// Whether other machines may open `/metrics`.
    pub metrics: bool,
    /// Whether other machines may open `/lab`, the page that measures a browser's connection to this server. The measurement
    /// uses bandwidth.
    pub lab: bool,
}

/// Maximum waiting times of a server.
#[derive(Clone, Debug)]
pub struct Timeouts {
    /// Maximum time from the start of a connection, or from the end of its last request, to the end of the next request's
    /// head.
    pub handshake: Duration,
    /// Maximum total time of a plain HTTP connection. A slow download may take this long.
    pub http: Duration,
    /// Maximum time without a message or a pong from a client.
    pub idle: Duration,
    /// Time between two pings to a client.
    pub ping: Duration,
    /// Maximum time without space in a client's socket.
    pub stalled: Duration,
    /// Maximum time for a client to read its close frame and answer it.
    pub closing: Duration,
    /// Time for which a room stays open after its last player left.
    pub room_empty: Duration,
    /// Time for which a room stays open after its last player left, if no player ever did anything in it.
    pub room_unused: Duration,
    /// Maximum time for a session without a carrier to resume on another carrier.
    pub session_resumed: Duration,
    /// Time for a client to reconnect after it was lost, or after a restart of the process. During this time, the player of
    /// a client with a key stays unchanged (`spec/WORLD.md`, section 1). The time is counted from the newest packet of the
    /// client.
    pub seat_held: Duration,
    /// Maximum duration of a world's step. A room ends if one step takes longer, or if consecutive slow steps together
    /// take longer.
    pub step: Duration,
    /// Maximum time for clients to close their connections after a shutdown begins. The store has another 300 ms.
    pub shutdown: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            handshake: Duration::from_secs(5),
            http: Duration::from_secs(120),
            idle: Duration::from_secs(60),
            ping: Duration::from_secs(20),
            stalled: Duration::from_secs(30),
            closing: Duration::from_secs(2),
            room_empty: Duration::from_secs(60),
            room_unused: Duration::from_secs(2),
            session_resumed: Duration::from_secs(20),
            seat_held: Duration::from_secs(30),
            step: Duration::from_secs(10),
            shutdown: Duration::from_millis(2_300),
        }
    }
}

/// The largest message a client may send, in bytes.
pub(crate) const MESSAGE_BYTES_MAX: usize = 4_096;

/// Maximum memory of a client of the plain protocol, besides the description of its world (`docs/reference/limits.md`).
const CLIENT_BYTES_MAX: usize = 512 * 1024;

/// Maximum texts that a client may send at once, by the rates of lines and names.
const TEXTS_AT_ONCE_MAX: usize = 8;

/// Maximum bytes that are handed to the socket at once. Messages that are not handed over yet can still be replaced by newer
/// state.
pub(crate) const WRITE_BATCH_BYTES: usize = 16 * 1024;

/// Bytes of HTTP that wait unsent in the kernel before the socket counts as full. Messages have a lower limit.
pub(crate) const UNSENT_BYTES_MAX: u32 = 16 * 1024;

/// Size of the kernel's send buffer for a client. The buffer holds the bytes in flight, so its size limits the rate on a
/// link with a long delay.
pub(crate) const SEND_BUFFER_BYTES: usize = 128 * 1024;

/// The part of the studio's histories that belongs to no room: metrics, and the audit log.
const STUDIO_BYTES_OF_SERVER: usize = 2 << 20;

const _: () = assert!(WRITE_BATCH_BYTES < EVENTS_BYTES_MAX);
// The sum of the send queue, the WebSocket's output, an incomplete message, and the client's own message.
const _: () = assert!(
    EVENTS_BYTES_MAX + 2 * WRITE_BATCH_BYTES + (4 + TEXTS_AT_ONCE_MAX) * MESSAGE_BYTES_MAX
        <= CLIENT_BYTES_MAX
);
const _: () = assert!(UNSENT_BYTES_MAX as usize <= SEND_BUFFER_BYTES);

impl Config {
    /// Returns the part of the configuration that rooms use.
    pub(crate) fn rooms(&self) -> RoomsConfig {
        let Limits { rooms_max, rooms_per_address_max, past_rooms_max, .. } = self.limits;
        RoomsConfig {
            seed: self.seed,
            rooms_max,
            rooms_per_address_max,
            past_rooms_max,
            players_max: self.limits.players_max,
            players_per_address_max: self.limits.players_per_address_max,
            actions_hz: self.limits.actions_hz,
            is_loopback_only: self.hosts.iter().all(|host| host.to_canonical().is_loopback()),
            needs_tokens: self.entry.key.is_some(),
            room_empty: self.timeouts.room_empty,
            room_unused: self.timeouts.room_unused,
            seat_held: self.timeouts.seat_held,
            step: self.timeouts.step,
            retention: self.retention,
            studio_bytes_max: self.studio_bytes_max.saturating_sub(STUDIO_BYTES_OF_SERVER)
                / (rooms_max + past_rooms_max).max(1),
        }
    }

    /// Checks the constraints that the types do not express. The error message names the cause and how to correct it.
    pub(crate) fn check(&self) -> Result<(), String> {
        if !NETWORK_HZ.contains(&self.network_hz) {
            return Err(format!(
                "the network rate of {} Hz is not within {} to {}",
                self.network_hz,
                NETWORK_HZ.start(),
                NETWORK_HZ.end()
            ));
        }
        if parse_base_path(&self.base_path)? != self.base_path {
            return Err(format!("the base path '{}' does not begin and end with a slash", self.base_path));
        }
        if self.hosts.is_empty() {
            return Err("there is no address to listen on".into());
        }
        #[cfg(feature = "cluster")]
        if self.cluster.is_some() && self.data.is_some() {
            return Err(
                "worlds are kept in a cluster or in a folder, not in both: leave out one of them".into()
            );
        }
        #[cfg(feature = "cluster")]
        if self.cluster.as_ref().is_some_and(|cluster| cluster.accepts_commands) && self.entry.key.is_none() {
            return Err(
                "commands by subject have tokens: give a key for tokens (--token-key-file), or leave out \
                        --cluster-commands"
                    .into(),
            );
        }
        self.entry.check(&self.hosts).map_err(|error| error.to_string())?;
        let Limits { rooms_max, players_max, connections_max, connections_per_address_max, .. } = self.limits;
        for (name, value) in [
            ("rooms", rooms_max),
            ("rooms of one address", self.limits.rooms_per_address_max),
            ("players", players_max),
            ("players of one address", self.limits.players_per_address_max),
            ("connections", connections_max),
            ("connections of one address", connections_per_address_max),
        ] {
            if value == 0 {
                return Err(format!("a limit of 0 {name} would admit no client"));
            }
        }
        if players_max > nowcast_room::PLAYERS_MAX {
            let max = nowcast_room::PLAYERS_MAX;
            return Err(format!(
                "a limit of {players_max} players is above {max}, the most that clients accept"
            ));
        }
        for (at, ServiceConfig { name, .. }) in self.services.iter().enumerate() {
            let is_taken = self.services[..at].iter().any(|other| other.name == *name)
                || self.worlds.iter().any(|world| world.name == *name);
            if is_taken || !is_name(name) {
                let cause =
                    if is_taken { "has the name of another service, or of a world" } else { "has no name" };
                return Err(format!("the service '{name}' {cause}: choose another name"));
            }
        }
        Ok(())
    }
}
