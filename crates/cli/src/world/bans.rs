//! `nowcast world ban`, `unban` and `bans` manage bans while no server runs.

use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;

use anyhow::bail;
use nowcast_server::store::{MarkKind, Options, SqliteReader, SqliteStore, Store as _, read_duration};
use nowcast_server::{BANS_MAX, Ban, BanScope, BannedBy};

use super::past::now_ms;
use crate::output::{self, printable};

/// Maximum time to wait for the disk.
const PATIENCE: Duration = Duration::from_secs(60);

/// The client to ban, the worlds, and the duration.
#[derive(clap::Args)]
pub(super) struct Args {
    /// The room, or with --world the world, for all of its rooms
    place: String,
    /// Ban every client that presents a token with this name
    #[arg(long, value_name = "NAME", conflicts_with = "address", required_unless_present = "address")]
    token: Option<String>,
    /// Ban every client from this address, for 30 days at most. For IPv6, the ban applies to the network of 64 bits
    #[arg(long, value_name = "ADDRESS")]
    address: Option<IpAddr>,
    /// In all rooms of the world
    #[arg(long)]
    world: bool,
    /// Duration, such as 2h (s, m, h or d) [default for an address: one day; for a name: until you lift the ban]
    #[arg(long = "for", value_name = "TIME", value_parser = duration)]
    lasts: Option<Duration>,
    /// Reason that is shown to the banned client
    #[arg(long, value_name = "TEXT", default_value = "")]
    why: String,
}

fn duration(text: &str) -> Result<Duration, String> {
    read_duration(text).ok_or_else(|| "expected how long, such as 2h (s, m, h or d)".to_owned())
}

/// Bans a client. The ban takes effect at the next start of the server.
pub(super) fn ban(folder: &Path, args: Args) -> anyhow::Result<()> {
    let Args { place, token, address, world, lasts, why } = args;
    let scope = if world { BanScope::World(place) } else { BanScope::Room(place) };
    let (by, name) = match (token, address) {
        (Some(name), _) => (BannedBy::token(&name), name),
        (None, Some(address)) => (BannedBy::address(address), String::new()),
        (None, None) => bail!("name the client: --token NAME or --address ADDRESS"),
    };
    let ban = Ban::new(scope, by, lasts, &name, &why, now_ms())?;
    let store = SqliteStore::open(folder, Options::default())?;
    let (kept, mark) = (store.marks(MarkKind::Ban, now_ms())?, ban.to_mark());
    if kept.len() >= BANS_MAX && !kept.iter().any(|known| known.key == mark.key) {
        bail!("the list of bans is full ({BANS_MAX}): remove some first");
    }
    store.mark(mark, now_ms(), Box::new(|_| ())).map_err(|refused| refused.why)?;
    store.commit(PATIENCE)?;
    output::line(printable(&ban.to_string()))?;
    Ok(())
}

/// Lifts the bans of a room or a world with this name or id.
pub(super) fn unban(folder: &Path, place: &str, who: &str) -> anyhow::Result<()> {
    drop(SqliteReader::open(folder)?);
    let store = SqliteStore::open(folder, Options::default())?;
    let bans = read(&store.reader()?, Some(place))?;
    let gone: Vec<Ban> = bans.into_iter().filter(|ban| ban.is_called(who)).collect();
    if gone.is_empty() {
        bail!("no ban of {place} has this name or id; `nowcast world bans` lists them");
    }
    for ban in &gone {
        store.unmark(MarkKind::Ban, &ban.to_mark().key, Vec::new()).map_err(|refused| refused.why)?;
    }
    store.commit(PATIENCE)?;
    for ban in gone {
        output::line(format_args!("taken back: {}", printable(&ban.to_string())))?;
    }
    Ok(())
}

/// Lists all bans, or those of one room or world.
pub(super) fn list(reader: &SqliteReader, place: Option<&str>) -> anyhow::Result<()> {
    let bans = read(reader, place)?;
    if bans.is_empty() {
        output::note("nobody is banned");
    }
    for ban in bans {
        output::line(printable(&ban.to_string()))?;
    }
    Ok(())
}

fn read(reader: &SqliteReader, place: Option<&str>) -> anyhow::Result<Vec<Ban>> {
    let marks = reader.marks(MarkKind::Ban, now_ms())?;
    let bans = marks.iter().filter_map(Ban::from_mark);
    Ok(bans.filter(|ban| place.is_none_or(|place| ban.place() == place)).collect())
}
