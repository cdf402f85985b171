//! `nowcast world migrate` applies the rules of a folder to a stored world.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use nowcast_server::store::{Continuity, Moment, Options, SqliteReader, SqliteStore, Store as _, WorldName};
use nowcast_server::{MigrationError, migrate, read_world};

use super::past::{self, now_ms};
use crate::output::{self, printable};

/// Maximum time to wait for the disk.
const PATIENCE: Duration = Duration::from_secs(60);

/// Prints the changes that the rules of a folder would make. Applies them unless only the plan is requested.
pub(super) fn run(
    folder: &Path,
    name: &WorldName,
    dir: &Path,
    lost: &[String],
    is_plan: bool,
) -> anyhow::Result<ExitCode> {
    let sources = read_world(dir)?;
    // A command that changes a world locks its folder from the beginning. So nothing can happen between the plan and the change.
    let store = if is_plan { None } else { Some(SqliteStore::open(folder, Options::default())?) };
    let saved = past::load(&SqliteReader::open(folder)?, name, Moment::Last)?;
    let migration = match migrate(&saved, sources, lost, now_ms()) {
        Ok(migration) => migration,
        Err(error) => {
            output::note(format_args!("{}: {}", printable(name.as_str()), printable(&error.to_string())));
            if matches!(error, MigrationError::Refused(_)) {
                output::note("nothing was changed; --lose KIND removes the entities of a kind");
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
    let file = saved.to_file()?;
    let aside = past::aside(name, saved.tick, |aside| store.import(aside, &file))?;
    store
        .snapshot(name, migration.snapshot, Continuity::BeginsAnew, Vec::new())
        .map_err(|refused| refused.why)?;
    store.commit(PATIENCE)?;
    output::line(format_args!("{name} now has these rules; its former state is stored as {aside}"))?;
    Ok(ExitCode::SUCCESS)
}
