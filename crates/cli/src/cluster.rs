//! `nowcast cluster`

use std::process::ExitCode;

use anyhow::{Context as _, bail};
use nowcast_cluster::{ControlAnswer, ControlRequest, Name, Release, ServerEntry, ServerPhase, choose};
use nowcast_jetstream::{Directory, Link, LinkOptions, drain, send};

use crate::output;

/// Show a cluster's servers and rooms, and move rooms (docs/how-to/cluster.md)
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// List the servers, and each room's owner
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
    /// Move all of a server's rooms to other servers. From then on the server takes no rooms, and you can stop the
    /// server
    Drain {
        /// Name of the server
        server: String,
        #[command(flatten)]
        nats: Nats,
    },
    /// Show how the servers can be upgraded one after the other: which rooms move, and whether the releases may be mixed
    Upgrade {
        /// Only show the plan. To carry it out, drain, stop and start one server after the other
        #[arg(long, required = true)]
        dry_run: bool,
        /// Release to which the servers are upgraded, such as 1.4.0 [default: this program's release]
        #[arg(long, value_name = "RELEASE", value_parser = read_release)]
        release: Option<Release>,
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
                let target =
                    Name::new(&server).with_context(|| format!("'{server}' is not a valid server name"))?;
                let link = nats.connect().await?;
                let directory = Directory::read(&link).await?;
                let found = directory.rooms.iter().find(|(name, _)| name.as_str() == room);
                let Some((room, entry)) = found.filter(|(_, entry)| !entry.is_released) else {
                    bail!("no server owns room {room}: `nowcast cluster status` lists the rooms");
                };
                let request = ControlRequest::Move { room: *room, target };
                print(send(&link, entry.owner.name, &request).await?)
            }
            Command::Drain { server, nats } => {
                let name =
                    Name::new(&server).with_context(|| format!("'{server}' is not a valid server name"))?;
                let report = |text: &str| output::note(format_args!("{text}"));
                print(drain(&nats.connect().await?, name, report).await?)
            }
            Command::Upgrade { dry_run: _, release, nats } => {
                let directory = Directory::read(&nats.connect().await?).await?;
                for line in plan_upgrade(&directory, release.unwrap_or(Release::CURRENT))? {
                    output::line(line)?;
                }
                Ok(ExitCode::SUCCESS)
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

/// Prints the answer of a server.
fn print(answer: ControlAnswer) -> anyhow::Result<ExitCode> {
    match answer.into_result() {
        Ok(text) => {
            output::line(format_args!("{text}"))?;
            Ok(ExitCode::SUCCESS)
        }
        Err(cause) => bail!("{cause}"),
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

/// Reads a release: three numbers with dots between them.
fn read_release(text: &str) -> Result<Release, String> {
    let numbers: Option<Vec<u16>> = text.split('.').map(|number| number.parse().ok()).collect();
    match numbers.as_deref() {
        Some(&[major, minor, patch]) => Ok(Release { major, minor, patch }),
        _ => Err("write three numbers, such as 1.4.0".to_owned()),
    }
}

/// Returns the steps of an upgrade as lines: for each running server its releases, and the rooms that move away from it.
///
/// # Errors
/// Fails with the name of a server whose release is not a neighbour of the new one.
fn plan_upgrade(directory: &Directory, release: Release) -> anyhow::Result<Vec<String>> {
    let running: Vec<&ServerEntry> =
        directory.servers.iter().filter(|server| server.phase != ServerPhase::Dead).collect();
    for server in &running {
        let checked = release.check_neighbour(server.release);
        checked.with_context(|| format!("the server {} cannot be upgraded to {release}", server.id.name))?;
    }
    let mut lines = Vec::new();
    for server in &running {
        let name = server.id.name;
        if server.release == release {
            lines.push(format!("{name}: has release {release} already, nothing moves"));
            continue;
        }
        lines
            .push(format!("{name}: drain, stop, start with release {release} instead of {}", server.release));
        let owned = directory.rooms.iter().filter(|(_, room)| room.owner == server.id && !room.is_released);
        for (room, entry) in owned {
            let others = running.iter().copied().filter(|other| other.id != server.id);
            lines.push(match choose(others, &entry.requires, 0) {
                Some(target) => format!("  room {room} moves, for example to {}", target.name),
                None => format!("  room {room} waits, because no other running server may take it"),
            });
        }
    }
    if lines.is_empty() {
        lines.push("no server runs in this cluster".to_owned());
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use nowcast_cluster::{Epoch, Load, RoomEntry, ServerId};

    use super::*;

    fn release(minor: u16) -> Release {
        Release { major: 1, minor, patch: 0 }
    }

    fn server(name: &str, minor: u16, phase: ServerPhase) -> ServerEntry {
        ServerEntry {
            id: ServerId { name: Name::new(name).expect("the name is valid"), incarnation: 1 },
            phase,
            release: release(minor),
            lease_ms: 2_000,
            client_address: "".into(),
            tags: Vec::new(),
            load: Load::default(),
        }
    }

    fn directory(servers: Vec<ServerEntry>) -> Directory {
        let room = |name: &str, tags: &[&str]| {
            let requires = tags.iter().map(|tag| Name::new(tag).expect("the tag is valid")).collect();
            let entry = RoomEntry {
                epoch: Epoch(1),
                newest_epoch: Epoch(1),
                owner: servers[0].id,
                is_released: false,
                target: None,
                requires,
            };
            (Name::new(name).expect("the name is valid"), entry)
        };
        let rooms = vec![room("plaza", &[]), room("attic", &["gpu"])];
        Directory { servers, rooms }
    }

    #[test]
    fn the_plan_of_an_upgrade_names_releases_and_rooms() {
        let serving = ServerPhase::Serving;
        let servers = vec![
            server("north", 3, serving),
            server("south", 4, serving),
            server("west", 1, ServerPhase::Dead),
        ];
        let plan = plan_upgrade(&directory(servers), release(4)).expect("the releases are neighbours");
        let expected = [
            "north: drain, stop, start with release 1.4.0 instead of 1.3.0",
            "  room plaza moves, for example to south",
            "  room attic waits, because no other running server may take it",
            "south: has release 1.4.0 already, nothing moves",
        ];
        assert_eq!(plan, expected);
    }

    #[test]
    fn an_upgrade_over_several_releases_is_refused_by_name() {
        let servers = vec![server("north", 2, ServerPhase::Serving)];
        let refused = plan_upgrade(&directory(servers), release(4)).expect_err("the releases are apart");
        let text = format!("{refused:#}");
        assert!(
            text.contains("the server north cannot be upgraded to 1.4.0") && text.contains("1.2.0"),
            "{text}"
        );
        assert!(read_release("1.4").is_err() && read_release("1.4.x").is_err());
        assert_eq!(read_release("1.4.0"), Ok(release(4)));
    }
}
