//! `nowcast world restore` replaces a stored world by an earlier state, or by the state in a file.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context as _;
use nowcast_server::restore_kept;
use nowcast_server::store::{
    Moment, Options, Problem, SavedWorld, SqliteReader, SqliteStore, StoreError, UtcTime, WorldName,
    read_file,
};
use nowcast_server::world::{STEP_HZ, World};

use super::files::read_world_file;
use super::past;
use crate::output::{self, printable};

/// The state to restore.
pub(super) enum To {
    /// The world in a file.
    Saved(Box<SavedWorld>),
    /// The state of the world at a time in its history.
    Moment(Moment),
}

/// Prints the differences. Restores the world if the world should be replaced or does not exist. The replaced world is stored
/// under another name.
pub(super) fn run(folder: &Path, name: &WorldName, to: To, is_to_replace: bool) -> anyhow::Result<ExitCode> {
    // A command that changes a world locks its folder from the beginning. So nothing can happen between the report and the
    // change.
    let is_to_write = is_to_replace || (matches!(to, To::Saved(_)) && !is_there(folder, name)?);
    let store = if is_to_write { Some(SqliteStore::open(folder, Options::default())?) } else { None };
    let reader = SqliteReader::open(folder)?;
    let saved = match to {
        To::Saved(saved) => *saved,
        To::Moment(moment) => past::load(&reader, name, moment)?,
    };
    let tick = print_difference(&reader, name, &saved)?;
    let shown = printable(name.as_str());
    let Some(store) = store else {
        output::note(format_args!(
            "nothing was changed; --replace restores {shown}, and stores the present world under another name"
        ));
        return Ok(ExitCode::FAILURE);
    };
    let file = saved.to_file()?;
    match tick {
        None => {
            store.import(name, &file)?;
            output::line(format_args!("{shown} is stored in {}", folder.display()))?;
        }
        Some(tick) => {
            let aside = past::aside(name, tick, |aside| store.replace(name, aside, &file))?;
            output::line(format_args!("{shown} is restored; the former world is stored as {aside}"))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn is_there(folder: &Path, name: &WorldName) -> anyhow::Result<bool> {
    match SqliteReader::open(folder) {
        Ok(reader) => Ok(reader.list()?.iter().any(|world| world.name == *name)),
        Err(StoreError { problem: Problem::NoStore, .. }) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Loads a world from a file that `nowcast world export` wrote.
pub(super) fn load_file(file: &Path, name: &WorldName) -> anyhow::Result<SavedWorld> {
    let bytes = read_world_file(file)?;
    let (_, snapshot, batches) =
        read_file(&bytes).with_context(|| format!("{} is not a world", file.display()))?;
    let tick = batches.last().map_or(snapshot.tick, |batch| batch.through_tick);
    Ok(SavedWorld { name: name.clone(), snapshot, batches, tick, damage: Vec::new() })
}

/// Prints the differences from the stored state. Returns the tick of that state, or `None` if there is no such world.
fn print_difference(
    reader: &SqliteReader,
    name: &WorldName,
    saved: &SavedWorld,
) -> anyhow::Result<Option<u64>> {
    let Some(summary) = reader.list()?.into_iter().find(|world| world.name == *name) else {
        output::line(format_args!("there is no world {} yet", printable(name.as_str())))?;
        return Ok(None);
    };
    output::line(format_args!(
        "kept now      step {}, last kept {}",
        summary.tick,
        UtcTime(summary.changed_ms)
    ))?;
    output::line(format_args!("restored      step {}, of {}", saved.tick, UtcTime(saved.time_ms())))?;
    if saved.tick < summary.tick {
        let seconds = (summary.tick - saved.tick) / u64::from(STEP_HZ);
        output::line(format_args!("undone        {seconds} s of play"))?;
    }
    let now = match reader.load(name, Moment::Last) {
        Ok(now) => now.context("the world existed a moment ago")?,
        Err(error) => {
            output::note(format_args!(
                "the stored world cannot be compared: {}",
                printable(&error.to_string())
            ));
            return Ok(Some(summary.tick));
        }
    };
    if now.snapshot.origin.sources != saved.snapshot.origin.sources {
        output::line("rules         others")?;
    }
    let world = |saved: &SavedWorld| saved.replay_unchecked(restore_kept).map_err(|error| error.to_string());
    match (world(&now), world(saved)) {
        (Ok(now), Ok(then)) => print_entities(&now, &then)?,
        (Err(cause), _) | (_, Err(cause)) => {
            output::note(format_args!(
                "the entities of the two worlds cannot be compared: {}",
                printable(&cause)
            ));
        }
    }
    Ok(Some(summary.tick))
}

/// Prints the kinds whose number of entities differs.
fn print_entities(now: &World, then: &World) -> anyhow::Result<()> {
    let (now, then) = (entities_by_kind(now), entities_by_kind(then));
    for kind in now.keys().chain(then.keys().filter(|kind| !now.contains_key(*kind))) {
        let [before, after] = [&now, &then].map(|counts| counts.get(kind).copied().unwrap_or(0));
        if before != after {
            output::line(format_args!("{:<13} {before} now, {after} then", printable(kind)))?;
        }
    }
    Ok(())
}

fn entities_by_kind(world: &World) -> BTreeMap<String, usize> {
    let kinds = &world.scene().definition().kinds;
    let mut counts: BTreeMap<String, usize> = kinds.iter().map(|kind| (kind.name.clone(), 0)).collect();
    for id in world.entities().kinds() {
        if let Some(count) = kinds.get(usize::from(id.0)).and_then(|kind| counts.get_mut(&kind.name)) {
            *count += 1;
        }
    }
    counts
}
