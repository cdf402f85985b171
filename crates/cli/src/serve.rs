//! `nowcast serve`

mod logging;
mod other_machines;
mod start_error;
mod world_list;

use std::ffi::OsString;
use std::fmt::Display;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::pin::pin;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use clap::ValueEnum;
use nowcast::CarrierLayer;
use nowcast_engine::endpoint::addresses_of_this_machine;
use nowcast_server::admission::{KeyError, Network, Policy, SigningSecret, parse_origin};
use nowcast_server::store::Retention;
use nowcast_server::{
    CertificateConfig, Checker, Config, Exposed, Limits, Server, Timeouts, WebhookConfig, WebhookUrl,
    parse_base_path,
};
use tracing::warn;

use crate::host::resolve;
use crate::measuring;
use crate::output;
use crate::recorder::{self, RECORD_MB};
use crate::token;
use crate::world::data;
use crate::world::studio_check::StudioCheck;
use logging::{LogFormat, start_logging};
use other_machines::{Encryption, for_other_machines};
use start_error::with_flag;
use world_list::WorldList;

/// Serve worlds that browsers and programs join
///
/// Without a folder, the sample worlds are served. When you save a world's rules, they apply at once. Rules that do not load
/// are refused. Rules that fail in their first two seconds are rolled back together with their effects.
///
/// A room's name selects the world: the rooms football and football-2 show the world football. Every other room shows the
/// first world.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Folders of worlds (`nowcast new` creates one), each served under its own name, in the order of the start page. A text
    /// file in place of a folder lists folders, one a line; a line that ends with a colon is a heading of the start page
    #[arg(value_name = "DIR")]
    dirs: Vec<PathBuf>,

    /// A world's folder, to be served under another name
    #[arg(long = "world", value_name = "NAME=DIR", value_parser = named_world)]
    worlds: Vec<(String, PathBuf)>,

    /// Port for TCP and for the UDP of WebTransport; 0 lets the system choose one
    #[arg(long, default_value_t = 7777)]
    port: u16,

    /// Address or name to listen on; 0.0.0.0 is every IPv4 address of this machine, :: every address of both families [default:
    /// loopback in both families]
    #[arg(long)]
    host: Option<String>,

    /// Snapshots a second for clients that do not request another rate
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(5..=60))]
    network_hz: u32,

    /// Path of this server on the host that users open, such as /game/, behind a proxy. The proxy may strip the path
    #[arg(long, value_name = "PATH", default_value = "/", value_parser = parse_base_path)]
    base_path: String,

    /// Number of threads that own client connections. Besides these, each room has one thread [default: half the processors, at
    /// most 8]
    #[arg(long, value_name = "COUNT")]
    io_threads: Option<NonZeroUsize>,

    /// Maximum number of open rooms
    #[arg(long, default_value_t = Limits::default().rooms_max)]
    rooms_max: usize,

    /// Maximum number of open rooms that clients from one address have opened
    #[arg(long, default_value_t = Limits::default().rooms_per_address_max)]
    rooms_per_address_max: usize,

    /// Maximum number of people in one room, and maximum number of programs, up to 4,096
    #[arg(long, default_value_t = Limits::default().players_max)]
    players_max: usize,

    /// Maximum number of players in one room from one address; not applied to loopback if only this machine is served
    #[arg(long, default_value_t = Limits::default().players_per_address_max)]
    players_per_address_max: usize,

    /// Maximum number of actions that one client sends in a second, and at once
    #[arg(long, value_name = "COUNT", default_value_t = Limits::default().actions_hz, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    actions_hz: u32,

    /// Maximum number of TCP connections from one address
    #[arg(long, default_value_t = Limits::default().connections_per_address_max)]
    connections_per_address_max: usize,

    /// File with the key that verifies tokens (`nowcast token` makes keys and tokens). Without a key, all programs on this
    /// machine may join
    #[arg(long, value_name = "FILE")]
    token_key_file: Option<PathBuf>,

    /// Admit all clients without a token, including other machines
    #[arg(long)]
    anonymous: bool,

    /// Web origin whose pages may join, such as `https://example.org`; may be repeated [default: on loopback without a key, the
    /// pages of this server; elsewhere every page]
    #[arg(long = "allow-origin", value_name = "ORIGIN", value_parser = parse_origin)]
    origins: Vec<String>,

    /// Address of a proxy in front of this server, such as 127.0.0.1, or a network such as 10.0.0.0/8. The server trusts this
    /// proxy's X-Forwarded-For header; may be repeated
    #[arg(long = "proxy", value_name = "ADDRESS")]
    proxies: Vec<Network>,

    /// PEM file with this server's certificate chain, the server's own certificate first. Used for HTTPS and WebTransport,
    /// and read again after changes [default: a certificate made here, which pages of this server accept]
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,

    /// PEM file with the certificate's private key
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,

    /// Serve other machines on a local network over HTTPS, on the same port, with a certificate made here. Their browsers show a
    /// warning once. Afterwards headsets and WebTransport work
    #[arg(long, conflicts_with_all = ["tls_cert", "insecure"])]
    self_signed: bool,

    /// Disable WebTransport and open no UDP port, so that browsers join over WebSocket
    #[arg(long)]
    no_webtransport: bool,

    /// UDP port that clients connect to for WebTransport, if it differs from --port: behind a relay, or behind the port mapping
    /// of a container (`docker -p`)
    #[arg(long, value_name = "PORT", conflicts_with = "no_webtransport", value_parser = clap::value_parser!(u16).range(1..))]
    announced_udp_port: Option<u16>,

    /// Maximum duration of a world's step, in seconds. If a step takes longer, the room is ended
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = Timeouts::default().step.as_secs(),
        value_parser = clap::value_parser!(u64).range(1..=3_600)
    )]
    step_timeout: u64,

    /// Accept sessions from other machines over plain WebSocket. Use this only if a proxy encrypts them, or if the network is
    /// trusted
    #[arg(long)]
    insecure: bool,

    /// Show an operator's page to other machines without a token; may be repeated
    #[arg(long, value_name = "PAGE")]
    expose: Vec<Page>,

    /// The folder for stored worlds. Stored worlds outlive this process (docs/reference/store.md). Only one server can use a folder at a
    /// time [default: $XDG_DATA_HOME/nowcast, or ~/.local/share/nowcast;
    /// on Windows %LOCALAPPDATA%\nowcast]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,

    /// Store no worlds: each world ends with its room
    #[arg(long, conflicts_with = "data")]
    no_data: bool,

    /// Addresses of a cluster's nats-servers, which store the worlds instead of a folder: nats://USER:PASSWORD@HOST:PORT,
    /// several separated by commas (docs/how-to/cluster.md)
    #[cfg(feature = "cluster")]
    #[arg(long, value_name = "NATS", conflicts_with_all = ["data", "no_data", "base_path"])]
    cluster: Option<String>,

    /// Name of the cluster, the same on all servers
    #[cfg(feature = "cluster")]
    #[arg(long, value_name = "NAME", default_value = "nowcast", requires = "cluster")]
    cluster_name: String,

    /// Name of this server in the cluster. No other running server may have the same name [default: server- and the port]
    #[cfg(feature = "cluster")]
    #[arg(long, value_name = "NAME", requires = "cluster")]
    cluster_server: Option<String>,

    /// Origin at which clients reach this server, such as http://10.0.0.1:7777, when another server sends them here [default:
    /// http://localhost with the port]
    #[cfg(feature = "cluster")]
    #[arg(long, value_name = "ORIGIN", requires = "cluster", value_parser = parse_origin)]
    cluster_address: Option<String>,

    /// Tag of this server, such as region-eu, for rooms that require a tag; may be repeated
    #[cfg(feature = "cluster")]
    #[arg(long = "cluster-tag", value_name = "TAG", requires = "cluster")]
    cluster_tags: Vec<String>,

    /// Tag that a server must have to run the rooms NAME and NAME-..., the same on all servers; may be repeated
    #[cfg(feature = "cluster")]
    #[arg(long = "cluster-require", value_name = "NAME=TAG", requires = "cluster", value_parser = required_tag)]
    cluster_requires: Vec<(String, String)>,

    /// Milliseconds without an answer from NATS after which this server's rooms wait, and other servers may take them
    #[cfg(feature = "cluster")]
    #[arg(long, value_name = "MS", default_value_t = nowcast_server::cluster::LEASE.as_millis() as u64, requires = "cluster", value_parser = clap::value_parser!(u64).range(500..=60_000))]
    cluster_lease: u64,

    /// Publish joins, leaves, chat and room events as NATS subjects
    #[cfg(feature = "cluster")]
    #[arg(long, requires = "cluster")]
    cluster_events: bool,

    /// Accept commands to rooms through NATS subjects. Each command needs a token with the role editor
    #[cfg(feature = "cluster")]
    #[arg(long, requires = "cluster")]
    cluster_commands: bool,

    /// URL of your back end, which receives joins, leaves, chat, events and ends of all rooms (docs/how-to/back-end.md)
    #[arg(long, value_name = "URL", requires = "webhook_key_file")]
    webhook: Option<WebhookUrl>,

    /// File with the secret that signs the webhook's requests (`nowcast token --make-key` makes one)
    #[arg(long, value_name = "FILE", requires = "webhook")]
    webhook_key_file: Option<PathBuf>,

    /// Hours of history that stored worlds keep (`nowcast world replay`)
    #[arg(long, value_name = "HOURS", default_value_t = Retention::default().keep.as_secs() / 3_600)]
    keep_hours: u64,

    /// Maximum size of all stored worlds together, in megabytes. Above this size, the largest world's oldest history is
    /// deleted
    #[arg(long, value_name = "MB", default_value_t = Retention::default().bytes_max >> 20)]
    keep_mb: u64,

    /// Seed for the worlds' random numbers
    #[arg(long, default_value_t = Config::default().seed)]
    seed: u64,

    /// Log format on the standard error. The variable RUST_LOG selects the lines
    #[arg(long, value_enum, default_value_t = LogFormat::Text)]
    log_format: LogFormat,

    /// Serve the documents at /docs/, with a live world on their first page. Without a folder, the documents beside this program
    /// are served
    #[arg(long, value_name = "DIR", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    docs: Option<OsString>,

    /// Record all sessions' packets in this file, which must not exist yet: for Wireshark and `nowcast play`. Anyone with the
    /// file can read the players' messages
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,

    /// Maximum size of the record, in megabytes. Later packets are not recorded
    #[arg(long, value_name = "MB", requires = "record", default_value_t = RECORD_MB)]
    record_mb: u64,

    /// Maximum memory for all histories in the studio, in megabytes. Older entries are dropped
    #[arg(long, value_name = "MB", default_value_t = Config::default().studio_bytes_max >> 20, value_parser = megabytes)]
    studio_mb: usize,

    /// Open the world in a browser
    #[arg(long)]
    open: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Page {
    /// `/metrics`
    Metrics,
    /// `/lab`
    Lab,
}

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let logs = start_logging(args.log_format)?;
    raise_open_files_limit();
    let open = args.open;
    let docs = args.docs.is_some();
    let recorder = args.record.as_deref().map(|file| recorder::create(file, args.record_mb)).transpose()?;
    let mut config = Config { logs: Some(logs.0.clone()), ..config(args)? };
    config.layers.extend(recorder.iter().map(|recorder| Arc::new(recorder.clone()) as Arc<dyn CarrierLayer>));
    let advice = Encryption::of(&config);
    let how_to_open = if config.entry.key.is_some() {
        "Every client needs a token: add ?token=TOKEN to an address; nowcast token makes one."
    } else {
        "Open this address in two browser tabs: both are in the same world."
    };
    let kept = match &config.data {
        Some(folder) => format!("Worlds are stored in {}.", folder.display()),
        #[cfg(feature = "cluster")]
        None if config.cluster.is_some() => "Worlds are stored in the cluster.".to_owned(),
        None => "Worlds are not stored.".to_owned(),
    };
    let base_path = config.base_path.clone();
    let base = base_path.trim_end_matches('/');
    let names: Vec<String> = config.worlds.iter().map(|world| world.name.clone()).collect();
    run_to_end(async {
        let mut stop = pin!(asked_to_stop());
        outlive_file_size_limit();
        // The server is bound in a separate task, because loading the scripts may take a long time.
        let binding = tokio::spawn(Server::bind(config));
        let server = tokio::select! {
            bound = binding => bound.context("the server cannot start")?.map_err(with_flag)?,
            () = &mut stop => return Ok(ExitCode::SUCCESS),
        };
        let address = web_address(&server.addresses()) + base;
        let first = names.first().map_or("playground", String::as_str);
        let others: String = for_other_machines(&advice, &server.addresses(), base)
            .into_iter()
            .map(|line| line + "\n")
            .collect();
        let documents = if docs { format!("The documents are at {address}/docs/\n") } else { String::new() };
        announce(format_args!(
            "Nowcast is at {address}\n\
             {documents}{others}\
             {how_to_open} Worlds: {}.\n\
             Each world has a room with its name, /r/NAME. Every other /r/NAME is a separate room that shows {first}.\n\
             The studio shows and edits rooms: {address}/studio/\n\
             Programs join at {}/{first}, WebSocket clients without an SDK at {}/ws/{first} (spec/PLAIN.md).\n\
             {kept} Ctrl-C ends the server.",
            names.join(", "),
            address.replacen("http", "nowcast", 1),
            address.replacen("http", "ws", 1)
        ));
        if open && let Err(error) = open::that_detached(&address) {
            warn!("cannot open a browser ({error}): open {address} yourself");
        }
        server.run(stop).await;
        recorder.as_ref().map_or(Ok(()), recorder::finish)?;
        Ok(ExitCode::SUCCESS)
    })
}

/// Runs a server on a runtime. A task that is blocked by a disk or a script does not delay the end of the program.
pub(crate) fn run_to_end(server: impl Future<Output = anyhow::Result<ExitCode>>) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Runtime::new().context("cannot start the runtime")?;
    let outcome = runtime.block_on(server);
    runtime.shutdown_background();
    outcome
}

/// Prints the address of the server. If the reader leaves early (`| head -1`) or the disk is full, the server continues.
pub(crate) fn announce(text: impl Display) {
    if let Err(error) = output::line(text) {
        warn!(%error, "cannot print the address of the server");
    }
}

/// Makes a write beyond the process's file size limit (`ulimit -f`) fail, like a write to a full disk. Without a handler, SIGXFSZ
/// would end the process.
fn outlive_file_size_limit() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        // The handler stays installed when the stream of signals is dropped. If the handler cannot be installed, the server
        // runs until the limit is reached.
        let _ = signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw()));
    }
}

/// Parses the maximum memory of histories.
fn megabytes(text: &str) -> Result<usize, String> {
    text.parse()
        .ok()
        .filter(|mb| (4..=4_096).contains(mb))
        .ok_or_else(|| "it is not a number from 4 to 4096".into())
}

/// Parses `NAME=DIR`.
fn named_world(text: &str) -> Result<(String, PathBuf), String> {
    match text.split_once('=') {
        Some((name, dir)) if !name.is_empty() && !dir.is_empty() => Ok((name.to_owned(), dir.into())),
        _ => Err("expected NAME=DIR, such as plaza=worlds/plaza".to_owned()),
    }
}

/// Returns the folder of the documents: the given one, or else the folder that archives and packages put beside the program.
fn documents(given: OsString) -> anyhow::Result<PathBuf> {
    if !given.is_empty() {
        return Ok(given.into());
    }
    let program = std::env::current_exe().and_then(|path| path.canonicalize());
    let program = program.context("cannot find the folder of this program: name one, --docs=DIR")?;
    let beside = program.parent().unwrap_or(&program);
    let places = [beside.join("docs"), beside.join("../share/nowcast/docs")];
    places.iter().find(|place| place.join("index.html").is_file()).cloned().with_context(|| {
        let places = places.map(|place| place.display().to_string()).join(" nor ");
        format!("the documents are neither in {places}: name their folder, --docs=DIR (`cargo xtask docs --served` builds it)")
    })
}

fn config(args: Args) -> anyhow::Result<Config> {
    let defaults = Config::default();
    let WorldList { worlds, groups } = WorldList::new(args.dirs, args.worlds)?;
    let hosts = match args.host {
        None => defaults.hosts,
        Some(host) => resolve("--host ", &host)?,
    };
    let limits = Limits {
        rooms_max: args.rooms_max,
        rooms_per_address_max: args.rooms_per_address_max,
        players_max: args.players_max,
        players_per_address_max: args.players_per_address_max,
        actions_hz: args.actions_hz,
        connections_per_address_max: args.connections_per_address_max,
        ..defaults.limits
    };
    let entry = Policy {
        key: token::key(args.token_key_file.as_deref())?,
        anonymous: args.anonymous,
        origins: args.origins,
        proxies: args.proxies,
        plain_http: args.insecure,
        ..Policy::default()
    };
    let certificate = match (args.tls_cert, args.tls_key) {
        (Some(chain), Some(key)) => CertificateConfig::Files { chain, key },
        _ if args.self_signed => CertificateConfig::SelfSigned {
            names: addresses_of_this_machine().iter().map(ToString::to_string).collect(),
        },
        _ => CertificateConfig::Development,
    };
    let redirect_to_https = certificate != CertificateConfig::Development;
    let retention = Retention {
        keep: Duration::from_secs(args.keep_hours.saturating_mul(3_600)),
        bytes_max: args.keep_mb.saturating_mul(1 << 20),
    };
    let docs = args.docs.map(documents).transpose()?;
    let webhook = args.webhook.zip(args.webhook_key_file);
    let webhook = webhook
        .map(|(url, file)| Ok::<_, KeyError>(WebhookConfig::new(url, SigningSecret::read(&file)?)))
        .transpose()?;
    #[cfg(feature = "cluster")]
    let cluster = args.cluster.map(|addresses| nowcast_server::cluster::ClusterConfig {
        addresses,
        name: args.cluster_name,
        replicas: 3,
        server: args.cluster_server.unwrap_or_else(|| format!("server-{}", args.port)),
        client_address: args.cluster_address.unwrap_or_else(|| format!("http://localhost:{}", args.port)),
        tags: args.cluster_tags,
        requires: args.cluster_requires,
        lease: Duration::from_millis(args.cluster_lease),
        publishes: args.cluster_events,
        accepts_commands: args.cluster_commands,
    });
    #[cfg(feature = "cluster")]
    let keeps_folder = cluster.is_none();
    #[cfg(not(feature = "cluster"))]
    let keeps_folder = true;
    let data = if args.no_data || !keeps_folder { None } else { Some(data::folder(args.data)?) };
    Ok(Config {
        worlds,
        world_groups: groups,
        services: vec![measuring::service(args.expose.contains(&Page::Lab))],
        hosts,
        data,
        #[cfg(feature = "cluster")]
        cluster,
        docs,
        webhook,
        retention,
        port: args.port,
        io_threads: args.io_threads.unwrap_or(defaults.io_threads),
        base_path: args.base_path,
        network_hz: args.network_hz,
        seed: args.seed,
        entry,
        webtransport: !args.no_webtransport,
        announced_udp_port: args.announced_udp_port,
        certificate,
        exposed: Exposed {
            metrics: args.expose.contains(&Page::Metrics),
            lab: args.expose.contains(&Page::Lab),
        },
        redirect_to_https,
        studio_bytes_max: args.studio_mb.saturating_mul(1 << 20),
        limits,
        checker: Some(Checker(Arc::new(StudioCheck))),
        timeouts: Timeouts { step: Duration::from_secs(args.step_timeout), ..defaults.timeouts },
        ..defaults
    })
}

/// Returns an address for a browser on this machine. Browsers regard `localhost` as secure, with any port.
pub(crate) fn web_address(addresses: &[SocketAddr]) -> String {
    let Some(first) = addresses.first() else { return String::new() };
    if first.ip().is_loopback() || first.ip().is_unspecified() {
        format!("http://localhost:{}", first.port())
    } else {
        format!("http://{first}")
    }
}

/// Reads `NAME=TAG`.
#[cfg(feature = "cluster")]
fn required_tag(text: &str) -> Result<(String, String), String> {
    let (rooms, tag) = text.split_once('=').ok_or("write NAME=TAG, such as plaza=region-eu")?;
    Ok((rooms.to_owned(), tag.to_owned()))
}

/// Raises the limit of open files. A connection is an open file, and many Unix systems allow a process only 1,024 of them unless
/// it asks for more. Other systems have no such limit.
pub(crate) fn raise_open_files_limit() {
    #[cfg(unix)]
    raise_limit_of_unix();
}

#[cfg(unix)]
fn raise_limit_of_unix() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    // If the request is refused, the server supports fewer clients. The server reports when this lower limit is reached.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
}

/// Completes at Ctrl-C. On Unix, it also completes at a termination signal, or when the terminal closes. Signals count from the
/// call of this function, not only while the future is awaited.
#[cfg_attr(
    not(unix),
    expect(clippy::manual_async_fn, reason = "on Unix the call acts before its future is awaited")
)]
pub(crate) fn asked_to_stop() -> impl Future<Output = ()> {
    #[cfg(unix)]
    let signals = {
        use tokio::signal::unix::{SignalKind, signal};
        let hangup = || if is_hangup_ignored() { Ok(None) } else { signal(SignalKind::hangup()).map(Some) };
        signal(SignalKind::terminate())
            .and_then(|ended| Ok((ended, signal(SignalKind::interrupt())?, hangup()?)))
    };
    async move {
        #[cfg(unix)]
        if let Ok((mut terminated, mut interrupted, mut hung_up)) = signals {
            let hung_up = async {
                match &mut hung_up {
                    Some(signal) => signal.recv().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                _ = terminated.recv() => {}
                _ = interrupted.recv() => {}
                _ = hung_up => {}
            }
            return;
        }
        if tokio::signal::ctrl_c().await.is_err() {
            // Without signals, the process can only be ended from outside.
            std::future::pending::<()>().await;
        }
    }
}

/// Whether this program should outlive its terminal, as under `nohup`. A program that listens for the signal would lose this
/// protection. The result is known only on Linux; on other systems it is false.
#[cfg(unix)]
fn is_hangup_ignored() -> bool {
    const HANGUP: u64 = 1;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    ignored.is_some_and(|mask| mask & HANGUP != 0)
}
