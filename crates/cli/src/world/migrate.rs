//! `nowcast world migrate`: a kept world under the rules of a folder.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::bail;
use nowcast_server::store::{
    Continuity, Moment, Options, Problem, SavedWorld, SqliteReader, SqliteStore, Store as _, StoreError,
    WorldName,
};
use nowcast_server::{MigrationError, migrate, read_world};

use super::moment::now_ms;
use super::past;
use crate::output::{self, printable};

/// How long the disk may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// Names that are tried for the world as it was.
const ASIDE_TRIES: u32 = 100;

/// Tells what the rules of a folder would change, and has them hold unless only the plan is wanted.
pub(super) fn run(
    folder: &Path,
    name: &WorldName,
    dir: &Path,
    lost: &[String],
    is_plan: bool,
) -> anyhow::Result<ExitCode> {
    let sources = read_world(dir)?;
    // Whoever changes a world has its folder from the beginning: nothing happens between the plan and the change.
    let store = if is_plan { None } else { Some(SqliteStore::open(folder, Options::default())?) };
    let saved = past::load(&SqliteReader::open(folder)?, name, Moment::Last)?;
    let migration = match migrate(&saved, sources, lost, now_ms()) {
        Ok(migration) => migration,
        Err(error) => {
            output::note(format_args!("{}: {}", printable(name.as_str()), printable(&error.to_string())));
            if matches!(error, MigrationError::Refused(_)) {
                output::note("nothing was changed; --lose KIND leaves the entities of a kind behind");
            } else {
                output::note("nothing was changed");
            }
            return Ok(ExitCode::FAILURE);
        }
    };
    if migration.changes.is_empty() {
        output::line("no kind, attribute, entity or action changes")?;
    }
    for change in &migration.changes {
        output::line(printable(&change.to_string()))?;
    }
    let Some(store) = store else { return Ok(ExitCode::SUCCESS) };
    let aside = set_aside(&store, &saved)?;
    store
        .snapshot(name, migration.snapshot, Continuity::BeginsAnew, Vec::new())
        .map_err(|refused| refused.why)?;
    store.commit(PATIENCE)?;
    output::line(format_args!("{name} has these rules now; as it was it is kept as {aside}"))?;
    Ok(ExitCode::SUCCESS)
}

/// Keeps a world as it is under a name that no room has, so that nobody goes on with it by chance.
fn set_aside(store: &SqliteStore, saved: &SavedWorld) -> anyhow::Result<WorldName> {
    for number in 1..=ASIDE_TRIES {
        let SavedWorld { name, tick, .. } = saved;
        let text = if number == 1 { format!("{name}@{tick}") } else { format!("{name}@{tick}.{number}") };
        let aside = WorldName::new(&text)?;
        match store.import(&aside, &saved.to_file()?) {
            Err(StoreError { problem: Problem::Exists, .. }) => {}
            imported => return Ok(imported.map(|()| aside)?),
        }
    }
    bail!("there are {ASIDE_TRIES} worlds called {}@{} already", saved.name, saved.tick)
}
