//! Configuration of a server, and its limits.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::PathBuf;
use std::time::Duration;

use nowcast::CertificateConfig;
use nowcast::admission::Policy;
use nowcast::endpoint::is_name;
use nowcast_store::Retention;

use crate::limits::Limits;
use crate::logs::LogWriter;
use crate::plain::NETWORK_HZ;
use crate::services::ServiceConfig;
use crate::worlds::WorldConfig;

/// Configuration of a [`Server`](crate::Server): addresses, worlds and limits.
#[derive(Clone, Debug)]
pub struct Config {
    /// The worlds: at least one. A room whose name is no world's shows the first.
    pub worlds: Vec<WorldConfig>,
    /// The services on sessions beside worlds, by the program that embeds the server.
    pub services: Vec<ServiceConfig>,
    /// The addresses to listen on. The default is loopback in both families, because `localhost` may mean either; an
    /// address family that this machine doesn't have is skipped as long as another one works.
    pub hosts: Vec<IpAddr>,
    /// The TCP port; 0 lets the system choose one.
    pub port: u16,
    /// Snapshots a second for clients that don't ask for another rate, 5 to 60.
    pub network_hz: u32,
    /// The seed of every world.
    pub seed: u64,
    /// The rules of admission: with tokens or without, and the allowed origins of pages.
    pub entry: Policy,
    /// Whether WebTransport is served, on UDP with the same port number.
    pub webtransport: bool,
    /// The UDP port that clients are told to connect to, where it is another one than the port that this server has: behind a relay, or
    /// a container whose ports are mapped.
    pub announced_udp_port: Option<u16>,
    /// The identity of the server for clients of WebTransport and HTTPS. The port takes TLS beside plain HTTP.
    pub certificate: CertificateConfig,
    /// Whether browsers of other machines that come without encryption are sent on to HTTPS, on the same port: where the
    /// certificate is one that they may accept.
    pub redirect_to_https: bool,
    /// How many of everything.
    pub limits: Limits,
    /// How long for everything.
    pub timeouts: Timeouts,
    /// The pages that other machines see without a token for the operator.
    pub exposed: Exposed,
    /// The folder in which worlds are kept (`docs/STORAGE.md`), which only one process has at a time; without one, a world
    /// ends with its room.
    pub data: Option<PathBuf>,
    /// How much of the past of these worlds is kept: how far one can look back.
    pub retention: Retention,
    /// The writer of the program's logs, if `/metrics` is to show the number of dropped lines.
    pub logs: Option<LogWriter>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            worlds: Vec::new(),
            services: Vec::new(),
            hosts: vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()],
            port: 7777,
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
            retention: Retention::default(),
            logs: None,
        }
    }
}

/// The pages that other machines see without a token. This machine sees all of them, except through a proxy, which
/// speaks for others.
#[derive(Clone, Copy, Debug, Default)]
pub struct Exposed {
    /// `/metrics`.
    pub metrics: bool,
    /// `/lab`, the page that measures a browser's connection to this server, and costs bandwidth.
    pub lab: bool,
}

/// How long a server waits.
#[derive(Clone, Debug)]
pub struct Timeouts {
    /// From a connection, or the end of the last request on it, to the end of the next request's head.
    pub handshake: Duration,
    /// For a plain HTTP connection in sum; a slow download may take this long.
    pub http: Duration,
    /// Without a message or a pong from a client.
    pub idle: Duration,
    /// Between two pings to a client.
    pub ping: Duration,
    /// Without room in a client's socket.
    pub stalled: Duration,
    /// For a client to take its close frame and answer it.
    pub closing: Duration,
    /// From a room's last player to the end of the room.
    pub room_empty: Duration,
    /// The same, if nobody ever did anything in it.
    pub room_unused: Duration,
    /// For a session without a carrier to go on over another one.
    pub session_resumed: Duration,
    /// For a client that was lost, or was connected when the process ended, to come back: until then its player stays as it was, if
    /// the client has a key (`spec/WORLD.md`, section 1). Counted from the newest packet of the client.
    pub seat_held: Duration,
    /// For one step of a world. A room ends whose step takes longer, and so does one whose slow steps in a row take longer.
    pub step: Duration,
    /// For clients to end after a shutdown. The store has 300 ms more.
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

/// Events a client may leave unread, in bytes.
pub(crate) const EVENTS_BYTES_MAX: usize = 256 * 1024;

/// Of these, lines of chat and what stands before them; a line beyond that is left out.
pub(crate) const CHAT_BYTES_MAX: usize = 64 * 1024;

/// Charge for a waiting event beside its own bytes: an entry of the queue, which doubles when it grows, and an
/// allocation of its own. Without it, many small events would cost several times their limit.
pub(crate) const EVENT_OVERHEAD_BYTES: usize = 192;

/// The most that one event is charged for its own bytes. Longer ones describe many entities at once, and are shared by all clients.
pub(crate) const EVENT_COST_MAX: usize = EVENTS_BYTES_MAX / 4;

/// Maximum memory of a client of the plain protocol beside the description of its world, as `docs/SERVER.md` says.
const CLIENT_BYTES_MAX: usize = 512 * 1024;

/// Texts that a client may say at once, by the rates of lines and names.
const TEXTS_AT_ONCE_MAX: usize = 8;

/// Commands of a client that may wait for the room. While the queue is full, nothing more is read from the client.
pub(crate) const COMMANDS_MAX: usize = 64;

/// Commands of a client that its room takes in one step. Each may bring another one along, which says what the client saw.
pub(crate) const COMMANDS_PER_STEP_MAX: usize = 24;

const _: () =
    assert!(2 * COMMANDS_PER_STEP_MAX + 8 <= nowcast_world::Limits::DEFAULT.commands_per_player_max);

/// Bytes handed to the socket at once. Later messages can still be replaced by newer state.
pub(crate) const WRITE_BATCH_BYTES: usize = 16 * 1024;

/// Bytes of HTTP that wait in the kernel unsent before the socket counts as full; messages have a lower bound.
pub(crate) const UNSENT_BYTES_MAX: u32 = 16 * 1024;

/// The kernel's send buffer for a client; it holds what is in flight, so it bounds the rate on a long link.
pub(crate) const SEND_BUFFER_BYTES: usize = 128 * 1024;

const _: () = assert!(WRITE_BATCH_BYTES < EVENTS_BYTES_MAX);
// The send queue, the WebSocket's output, an incomplete message, and the client's own message.
const _: () = assert!(
    EVENTS_BYTES_MAX + 2 * WRITE_BATCH_BYTES + (4 + TEXTS_AT_ONCE_MAX) * MESSAGE_BYTES_MAX
        <= CLIENT_BYTES_MAX
);
const _: () = assert!(CHAT_BYTES_MAX < EVENTS_BYTES_MAX);
const _: () = assert!(UNSENT_BYTES_MAX as usize <= SEND_BUFFER_BYTES);

impl Config {
    /// Checks what the types don't; the message names the cause and the cure.
    pub(crate) fn check(&self) -> Result<(), String> {
        if !NETWORK_HZ.contains(&self.network_hz) {
            return Err(format!(
                "the network rate of {} Hz is not within {} to {}",
                self.network_hz,
                NETWORK_HZ.start(),
                NETWORK_HZ.end()
            ));
        }
        if self.hosts.is_empty() {
            return Err("there is no address to listen on".into());
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
                return Err(format!("a limit of 0 {name} would let nobody in"));
            }
        }
        for (at, ServiceConfig { name, .. }) in self.services.iter().enumerate() {
            let is_taken = self.services[..at].iter().any(|other| other.name == *name)
                || self.worlds.iter().any(|world| world.name == *name);
            if is_taken || !is_name(name) {
                let cause = if is_taken { "is called like another, or like a world" } else { "has no name" };
                return Err(format!("the service '{name}' {cause}: choose another name"));
            }
        }
        Ok(())
    }
}
