//! Worlds as folders: made, checked, and played by their tests.

pub(crate) mod check;
pub(crate) mod new;
pub(crate) mod test;

use std::path::Path;

use anyhow::{Context as _, bail};
use nowcast_script::{Limits, MAIN, Sources};

/// Folders in folders that are looked into.
const DEPTH_MAX: usize = 16;

/// Every module of a world's folder, by its path in it. Hidden files and what is no Luau are left out.
fn read(folder: &Path) -> anyhow::Result<Sources> {
    if !folder.join(MAIN).is_file() {
        bail!("{} is no world: it has no {MAIN} (`nowcast new DIR` makes a world)", folder.display());
    }
    let mut sources = Sources::default();
    read_into(folder, "", &mut sources, DEPTH_MAX)?;
    Ok(sources)
}

fn read_into(folder: &Path, prefix: &str, sources: &mut Sources, depth_left: usize) -> anyhow::Result<()> {
    let cannot_read = || format!("cannot read {}", folder.display());
    for entry in std::fs::read_dir(folder).with_context(cannot_read)? {
        let entry = entry.with_context(cannot_read)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = entry.path();
        if name.starts_with('.') {
            continue;
        }
        if path.is_dir() {
            if depth_left > 0 {
                read_into(&path, &format!("{prefix}{name}/"), sources, depth_left - 1)?;
            }
        } else if name.ends_with(".luau") {
            if sources.iter().count() >= Limits::DEFAULT.modules_max {
                bail!("{} has more than {} modules", folder.display(), Limits::DEFAULT.modules_max);
            }
            let cannot_read = || format!("cannot read {}", path.display());
            let bytes = std::fs::metadata(&path).with_context(cannot_read)?.len();
            if bytes > Limits::DEFAULT.module_bytes_max as u64 {
                bail!(
                    "{} has {bytes} bytes, but a module has {} at most",
                    path.display(),
                    Limits::DEFAULT.module_bytes_max
                );
            }
            sources
                .insert(format!("{prefix}{name}"), std::fs::read_to_string(&path).with_context(cannot_read)?);
        }
    }
    Ok(())
}
