//! `nowcast cluster`

use std::process::ExitCode;

use anyhow::{Context as _, bail};
use nowcast_cluster::Name;
use nowcast_jetstream::{ControlAnswer, ControlRequest, Directory, Link, LinkOptions};

use crate::output;

/// Show the servers and rooms of a cluster, and move rooms (docs/CLUSTER.md)
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// List the servers, and the owner of each room
    Status {
        #[command(flatten)]
        nats: Nats,
    },
    /// Move a room to another server while people are in it
    Move {
        /// Name of the room
        room: String,
        /// Name of the server that gets the room
        server: String,
        #[command(flatten)]
        nats: Nats,
    },
    /// Move all rooms of a server to others. From then on the server takes no rooms, and it can be stopped
    Drain {
        /// Name of the server
        server: String,
        #[command(flatten)]
        nats: Nats,
    },
}

/// The place of a cluster.
#[derive(clap::Args)]
struct Nats {
    /// Addresses of the nats-servers: nats://USER:PASSWORD@HOST:PORT, several separated by commas
    #[arg(long, value_name = "NATS")]
    cluster: String,

    /// Name of the cluster
    #[arg(long, value_name = "NAME", default_value = "nowcast")]
    cluster_name: String,
}

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Runtime::new().context("cannot start the runtime")?;
    runtime.block_on(async {
        match args.command {
            Command::Status { nats } => show(&Directory::read(&nats.connect().await?).await?),
            Command::Move { room, server, nats } => {
                let link = nats.connect().await?;
                let directory = Directory::read(&link).await?;
                let found = directory.rooms.iter().find(|(name, _)| name.as_str() == room);
                let Some((_, entry)) = found.filter(|(_, entry)| !entry.is_released) else {
                    bail!("no server owns room {room}: `nowcast cluster status` lists the rooms");
                };
                ask(&link, ControlRequest::Move { room, target: server }, entry.owner.name).await
            }
            Command::Drain { server, nats } => {
                let name =
                    Name::new(&server).with_context(|| format!("'{server}' is no name of a server"))?;
                ask(&nats.connect().await?, ControlRequest::Drain, name).await
            }
        }
    })
}

impl Nats {
    async fn connect(self) -> anyhow::Result<Link> {
        let options = LinkOptions { name: self.cluster_name, ..LinkOptions::default() };
        let link = Link::connect(&self.cluster, options).await?;
        for warning in link.warnings() {
            output::note(format_args!("{warning}"));
        }
        Ok(link)
    }
}

/// Sends a request to a server, and prints its answer.
async fn ask(link: &Link, request: ControlRequest, server: Name) -> anyhow::Result<ExitCode> {
    match request.send(link, server).await? {
        ControlAnswer::Done { text } => {
            output::line(format_args!("{text}"))?;
            Ok(ExitCode::SUCCESS)
        }
        ControlAnswer::Failed { cause } => bail!("{cause}"),
    }
}

fn show(directory: &Directory) -> anyhow::Result<ExitCode> {
    output::line(format_args!(
        "{:<24} {:<9} {:<8} {:>6} {:>8}  address",
        "server", "phase", "release", "rooms", "clients"
    ))?;
    for server in &directory.servers {
        output::line(format_args!(
            "{:<24} {:<9} {:<8} {:>6} {:>8}  {}",
            server.id.to_string(),
            format!("{:?}", server.phase).to_lowercase(),
            server.release.to_string(),
            server.load.rooms,
            server.load.clients,
            server.client_address
        ))?;
    }
    output::line(format_args!("\n{:<32} {:>6}  owner", "room", "epoch"))?;
    for (name, room) in &directory.rooms {
        let owner = if room.is_released { "nobody".to_owned() } else { room.owner.to_string() };
        output::line(format_args!("{:<32} {:>6}  {owner}", name.to_string(), room.epoch.to_string()))?;
    }
    Ok(ExitCode::SUCCESS)
}
