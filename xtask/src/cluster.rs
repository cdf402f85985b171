//! `cargo xtask cluster` starts three nats-servers, and servers of Nowcast that share their rooms.

use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::Context as _;
use nowcast_dev_nats::{Cluster, VERSION};

use crate::{client, console, nats, serve, step, tools};

/// Arguments for the servers.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Number of servers of Nowcast
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..=6))]
    servers: u8,
    /// The port of the first server. The others have the next ones
    #[arg(long, default_value_t = 7777)]
    port: u16,
    /// A program to start instead of a newly built one
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
}

/// The names of the servers.
const NAMES: [&str; 6] = ["north", "south", "west", "east", "up", "down"];

/// Starts a program and writes the number of its process into a file. The program ends when the standard input of the shell
/// ends, so it does not outlive a starting process that is killed.
const GUARD: &str = r#"trap "" INT TERM; pid=$1; shift; "$@" & server=$!; echo $server >"$pid"; read -r _; kill -TERM $server; wait"#;

/// Builds the programs unless that was done before, starts them, and waits until they are stopped by Ctrl-C.
pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let program = match &args.program {
        Some(program) => program.clone(),
        None => build()?,
    };
    let folder = nats::files();
    let nats = Cluster::start(&nats::program()?, &folder, 3)?;
    let mut guards = Vec::new();
    for (name, port) in NAMES.into_iter().zip(args.port..).take(args.servers.into()) {
        TcpListener::bind((Ipv4Addr::LOCALHOST, port))
            .with_context(|| format!("port {port} is not free: choose another first port, --port PORT"))?;
        guards.push(start(&program, &nats.address(), (name, port), &folder)?);
    }
    let address = nats.address();
    eprintln!(
        "{} {} nats-servers {VERSION} and {} servers of Nowcast on the loopback interface; files in {}",
        console::green("ready:"),
        nats.len(),
        guards.len(),
        folder.display()
    );
    for (name, port) in NAMES.into_iter().zip(args.port..).take(guards.len()) {
        eprintln!(
            "  {name:<6} http://localhost:{port}/r/playground   kill -9 $(cat {})",
            pid_file(&folder, name).display()
        );
    }
    eprintln!("Open two of these pages: both show one room. Move it, or kill its server:");
    for command in ["status", "move playground south", "drain north"] {
        eprintln!("  {} cluster {command} --cluster {address}", program.display());
    }
    eprintln!("Ctrl-C stops all.");
    loop {
        std::thread::park();
    }
}

/// Builds a server with its client.
fn build() -> anyhow::Result<PathBuf> {
    tools::require_c_compiler()?;
    client::build()?;
    let features = ["--no-default-features", "--features", "cluster"];
    step::run(&[&["cargo", "build", "--package", "nowcast-cli"], &features[..]].concat())?;
    Ok(step::target_dir().join("debug/nowcast"))
}

fn start(program: &Path, cluster: &str, (name, port): (&str, u16), folder: &Path) -> anyhow::Result<Child> {
    let port = port.to_string();
    let guard = Command::new("sh")
        .args(["-c", GUARD, "nowcast-guard"])
        .arg(pid_file(folder, name))
        .arg(program)
        .args(["serve", "--port", &port, "--cluster", cluster, "--cluster-server", name])
        .arg(serve::WORLDS)
        .stdin(Stdio::piped())
        .spawn()
        .context("cannot start sh")?;
    Ok(guard)
}

fn pid_file(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.pid"))
}
