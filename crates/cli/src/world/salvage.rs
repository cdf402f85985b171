//! `nowcast world check --salvage` writes the readable part of damaged worlds to save files.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::bail;
use nowcast_server::restore_kept;
use nowcast_server::store::{ReturnError, SavedWorld, SqliteReader, WorldName};
use nowcast_server::world::STEP_HZ;

use super::files::write_new;
use crate::output::{self, printable};

/// Writes the readable part of each damaged world to a file, and prints the losses. The store is not changed.
pub(super) fn run(
    reader: &SqliteReader,
    worlds: &[WorldName],
    into: Option<&Path>,
) -> anyhow::Result<ExitCode> {
    let mut damaged = Vec::new();
    for world in worlds {
        let report = reader.check(world, restore_kept)?;
        if report.damage.is_empty() {
            output::line(format_args!("{}: nothing is wrong with it", printable(world.as_str())))?;
        } else {
            damaged.push(world);
        }
    }
    if into.is_some() && damaged.len() > 1 {
        bail!(
            "{} worlds are damaged: name one of them to salvage it into a file of your choice",
            damaged.len()
        );
    }
    let mut code = ExitCode::SUCCESS;
    for world in damaged {
        let file = into.map_or_else(|| file_of(world), Path::to_path_buf);
        if let Err(error) = salvage(reader, world, &file) {
            code = ExitCode::FAILURE;
            output::note(format_args!("{}: {}", printable(world.as_str()), printable(&format!("{error:#}"))));
        }
    }
    Ok(code)
}

fn salvage(reader: &SqliteReader, world: &WorldName, file: &Path) -> anyhow::Result<()> {
    let Some(saved) = reader.salvage(world)? else { bail!("the world no longer exists") };
    let name = printable(world.as_str());
    for lost in &saved.damage {
        output::note(format_args!("{name}: lost: {}", printable(lost)));
    }
    let newest = reader.list()?.into_iter().find(|known| known.name == *world).map(|known| known.tick);
    if let Some(ticks) = newest.and_then(|newest| newest.checked_sub(saved.tick)).filter(|ticks| *ticks > 0) {
        output::note(format_args!("{name}: lost: the last {} s of play", ticks.div_ceil(STEP_HZ.into())));
    }
    let bytes = saved.to_file()?;
    write_new(file, &bytes)?;
    output::line(format_args!(
        "{} has {name} at step {}, {} bytes: {}. `nowcast world restore NAME {0}` restores the world",
        file.display(),
        saved.tick,
        bytes.len(),
        printable(&proof(&saved))
    ))?;
    Ok(())
}

/// Describes which part of the data is known to be correct.
fn proof(saved: &SavedWorld) -> String {
    match saved.replay(restore_kept) {
        Ok(_) => "the history was replayed, and every hash is right".to_owned(),
        Err(error @ ReturnError::Replay(_)) => {
            format!("the world can be restored, but differs from its recording ({error})")
        }
        Err(error @ ReturnError::Restore { .. }) => format!("the world could not be verified ({error})"),
    }
}

/// Returns a file in the current folder that is named after the world.
fn file_of(world: &WorldName) -> PathBuf {
    let letter = |c: char| if c.is_alphanumeric() || matches!(c, '-' | '_' | '@') { c } else { '_' };
    let name: String = world.as_str().chars().map(letter).collect();
    PathBuf::from(format!("{name}.salvaged.ncs"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_salvaged_file_is_in_the_current_folder_for_every_name_of_a_world() {
        for (name, file) in [
            ("plaza", "plaza.salvaged.ncs"),
            ("plaza@500.2", "plaza@500_2.salvaged.ncs"),
            ("../etc/world", "___etc_world.salvaged.ncs"),
        ] {
            assert_eq!(file_of(&WorldName::new(name).unwrap()), PathBuf::from(file));
        }
    }
}
