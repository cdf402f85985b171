//! Worlds as they were: copied into new rooms, or shown without being kept.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use nowcast_server::store::{Moment, Options, SavedWorld, SqliteReader, SqliteStore, WorldName};
use nowcast_server::{Config, Rules, Server, WorldConfig, kept_rules, restore_kept};

use super::moment::now_ms;
use crate::output::{self, printable};
use crate::serve::{asked_to_stop, web_address};

/// The room of a world whose own name is none of a room's.
const ROOM: &str = "past";

/// Copies a world as it was into a new one.
pub(super) fn copy(
    folder: &Path,
    name: &WorldName,
    to: &WorldName,
    moment: Moment,
) -> anyhow::Result<ExitCode> {
    let saved = SavedWorld { name: to.clone(), ..load(&SqliteReader::open(folder)?, name, moment)? };
    let store = SqliteStore::open(folder, Options::default())?;
    store.import(to, &saved.to_file()?)?;
    output::line(format_args!("{} has {name} as it was {}", printable(to.as_str()), told(&saved)))?;
    Ok(ExitCode::SUCCESS)
}

/// Serves a world as it was, until it is asked to stop. Nothing of that is kept.
pub(super) fn replay(folder: &Path, name: &WorldName, moment: Moment, port: u16) -> anyhow::Result<ExitCode> {
    let saved = load(&SqliteReader::open(folder)?, name, moment)?;
    let (offered, sources) =
        kept_rules(&saved.snapshot).map_err(|cause| anyhow::anyhow!("{name} cannot be shown: {cause}"))?;
    if let Err(error) = saved.replay(restore_kept) {
        output::note(format_args!("it is only almost as it was: {}", printable(&error.to_string())));
    }
    let room = if is_room_name(name.as_str()) { name.clone() } else { WorldName::new(ROOM)? };
    let when = told(&saved);
    let copy = Copy::new()?;
    let saved = SavedWorld { name: room.clone(), ..saved };
    SqliteStore::open(&copy.0, Options::default())?.import(&room, &saved.to_file()?)?;
    let config = Config {
        worlds: vec![WorldConfig { name: offered, rules: Rules::Script(sources) }],
        port,
        data: Some(copy.0.clone()),
        ..Config::default()
    };
    tokio::runtime::Runtime::new().context("cannot start the runtime")?.block_on(async {
        let stop = asked_to_stop();
        let server = Server::bind(config).await?;
        output::line(format_args!(
            "{name} as it was {when} is at {}/r/{room}\nIt goes on from there, and nothing of that is kept. Ctrl-C ends it.",
            web_address(&server.addresses())
        ))?;
        server.run(stop).await;
        Ok(ExitCode::SUCCESS)
    })
}

/// A world as it was.
pub(super) fn load(reader: &SqliteReader, name: &WorldName, moment: Moment) -> anyhow::Result<SavedWorld> {
    if let Some(saved) = reader.load(name, moment)? {
        return Ok(saved);
    }
    match reader.list()?.into_iter().find(|world| world.name == *name) {
        None => bail!("there is no world {name}; `nowcast world list` lists them"),
        Some(world) => {
            let seconds = now_ms().saturating_sub(world.since_ms) / 1_000;
            bail!("nothing is kept of {name} from then: one can look back {seconds} s")
        }
    }
}

/// When a world was like this.
pub(super) fn told(saved: &SavedWorld) -> String {
    let seconds = now_ms().saturating_sub(saved.time_ms()) / 1_000;
    format!("at step {}, about {seconds} s ago", saved.tick)
}

/// As the server has it: small letters, digits, hyphens and underscores.
fn is_room_name(name: &str) -> bool {
    (1..=32).contains(&name.len())
        && name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_'))
}

/// A folder that goes with what is in it.
struct Copy(PathBuf);

impl Copy {
    fn new() -> anyhow::Result<Copy> {
        let folder = std::env::temp_dir().join(format!("nowcast-past-{}", std::process::id()));
        std::fs::create_dir(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        Ok(Copy(folder))
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        // What stays behind lies in the folder for what is temporary.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
