//! `cargo xtask nats` builds nats-server and starts three of it as a cluster.

use std::path::PathBuf;

use nowcast_dev_nats::{Cluster, VERSION, install};

use crate::{console, step};

/// Arguments for the servers.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only build nats-server, and print its path
    #[arg(long)]
    build: bool,
    /// Number of servers
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u8).range(1..=9))]
    servers: u8,
}

/// The folder of the servers' files.
pub(crate) fn files() -> PathBuf {
    step::target_dir().join("cluster")
}

/// Builds nats-server unless that was done before, and returns its path.
pub(crate) fn program() -> anyhow::Result<PathBuf> {
    Ok(install(&step::target_dir().join("nats"))?)
}

/// Starts the servers, prints their addresses, and waits until they are stopped by Ctrl-C.
pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let program = program()?;
    if args.build {
        println!("{}", program.display());
        return Ok(());
    }
    let folder = files();
    let cluster = Cluster::start(&program, &folder, args.servers.into())?;
    eprintln!(
        "{} {} nats-servers {VERSION} on the loopback interface, with JetStream and `sync_interval: always`; files in {}",
        console::green("ready:"),
        cluster.len(),
        folder.display()
    );
    println!("{}", cluster.address());
    eprintln!("Ctrl-C stops them.");
    loop {
        std::thread::park();
    }
}
