//! Earlier states of worlds: copied into new rooms, or shown without being stored.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, bail};
use nowcast_server::store::{
    At, Moment, Options, Problem, SavedWorld, SqliteReader, SqliteStore, StoreError, WorldName,
};
use nowcast_server::{Config, Rules, Server, WorldConfig, is_world_name, kept_rules, restore_kept};

use crate::output::{self, printable};
use crate::serve::{announce, asked_to_stop, run_to_end, web_address};

/// Number of names that are tried for a world that is replaced.
const ASIDE_TRIES: u32 = 100;

/// The room of a world whose own name is not a valid name of a room.
const ROOM: &str = "past";

/// Copies an earlier state of a world to a new world.
pub(super) fn copy(
    folder: &Path,
    name: &WorldName,
    to: &WorldName,
    moment: Moment,
) -> anyhow::Result<ExitCode> {
    let saved = SavedWorld { name: to.clone(), ..load(&SqliteReader::open(folder)?, name, moment)? };
    let store = SqliteStore::open(folder, Options::default())?;
    store.import(to, &saved.to_file()?)?;
    output::line(format_args!("{} has {name} as it was {}", printable(to.as_str()), moment_text(&saved)))?;
    Ok(ExitCode::SUCCESS)
}

/// Serves an earlier state of a world until the program is asked to stop. Nothing is stored.
pub(super) fn replay(folder: &Path, name: &WorldName, moment: Moment, port: u16) -> anyhow::Result<ExitCode> {
    let saved = load(&SqliteReader::open(folder)?, name, moment)?;
    let (offered, sources) =
        kept_rules(&saved.snapshot).map_err(|cause| anyhow::anyhow!("{name} cannot be shown: {cause}"))?;
    if let Err(error) = saved.replay(restore_kept) {
        output::note(format_args!(
            "it differs slightly from the earlier state: {}",
            printable(&error.to_string())
        ));
    }
    let room = if is_world_name(name.as_str()) { name.clone() } else { WorldName::new(ROOM)? };
    let when = moment_text(&saved);
    let copy = Copy::new()?;
    let saved = SavedWorld { name: room.clone(), ..saved };
    SqliteStore::open(&copy.0, Options::default())?.import(&room, &saved.to_file()?)?;
    let config = Config {
        worlds: vec![WorldConfig { name: offered, rules: Rules::Script(sources) }],
        port,
        data: Some(copy.0.clone()),
        ..Config::default()
    };
    run_to_end(async {
        let stop = asked_to_stop();
        let server = Server::bind(config).await?;
        announce(format_args!(
            "{name} as it was {when} is at {}/r/{room}\nIt continues from there, and nothing is stored. Ctrl-C ends it.",
            web_address(&server.addresses())
        ));
        server.run(stop).await;
        Ok(ExitCode::SUCCESS)
    })
}

/// Loads an earlier state of a world.
pub(super) fn load(reader: &SqliteReader, name: &WorldName, moment: Moment) -> anyhow::Result<SavedWorld> {
    if let Some(saved) = reader.load(name, moment)? {
        return Ok(saved);
    }
    match reader.list()?.into_iter().find(|world| world.name == *name) {
        None => bail!("there is no world {name}; `nowcast world list` lists them"),
        Some(world) => {
            let seconds = now_ms().saturating_sub(world.since_ms) / 1_000;
            bail!(
                "no history of {name} from that time is stored: the stored history covers the last {seconds} s"
            )
        }
    }
}

/// Describes the time of this state of a world.
pub(super) fn moment_text(saved: &SavedWorld) -> String {
    let seconds = now_ms().saturating_sub(saved.time_ms()) / 1_000;
    format!("at step {}, about {seconds} s ago", saved.tick)
}

/// Stores a world under a name that no room can have, so that no client can continue it by accident.
pub(super) fn aside(
    name: &WorldName,
    tick: u64,
    keep: impl Fn(&WorldName) -> Result<(), StoreError>,
) -> anyhow::Result<WorldName> {
    for number in 1..=ASIDE_TRIES {
        let text = if number == 1 { format!("{name}@{tick}") } else { format!("{name}@{tick}.{number}") };
        let aside = WorldName::new(&text)?;
        match keep(&aside) {
            Err(StoreError { problem: Problem::Exists, .. }) => {}
            kept => return Ok(kept.map(|()| aside)?),
        }
    }
    bail!("there are {ASIDE_TRIES} worlds called {name}@{tick} already")
}

/// Returns the requested time, or the newest one.
pub(super) fn moment(at: Option<At>) -> Moment {
    at.map_or(Moment::Last, |at| at.moment(now_ms()))
}

/// Milliseconds since 1970.
pub(super) fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}

/// A folder that is removed with its contents when this value is dropped.
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
        // If the folder cannot be removed, it stays among the system's temporary files.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
