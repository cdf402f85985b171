//! Reading a world's folder, and noticing its changes.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use nowcast_script::{Limits, MAIN, Sources};

use super::WorldError;

/// Folders in folders that are looked into.
const DEPTH_MAX: usize = 16;

/// After a change, for so long more changes are waited for: editors write a file in several steps.
const SETTLE: Duration = Duration::from_millis(15);

/// A folder whose files change all the time is read at the latest after so many waits.
const SETTLES_MAX: usize = 20;

/// Why a folder is no world that can be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FolderError {
    /// It has no main module.
    #[error("{} is no world: it has no {MAIN} (`nowcast new DIR` makes a world)", .0.display())]
    NoWorld(PathBuf),
    /// The system refuses.
    #[error("cannot read {}: {cause}", path.display())]
    Io {
        /// What.
        path: PathBuf,
        /// What the system says.
        cause: String,
    },
    /// There are too many modules.
    #[error("{} has more than {max} modules", folder.display())]
    TooMany {
        /// Where.
        folder: PathBuf,
        /// How many there may be.
        max: usize,
    },
    /// A module is too large.
    #[error("{} has {bytes} bytes, but a module has {max} at most", path.display())]
    TooLarge {
        /// Which.
        path: PathBuf,
        /// Its size.
        bytes: u64,
        /// The largest size.
        max: usize,
    },
    /// A module is no text.
    #[error("{} is not UTF-8", .0.display())]
    NotText(PathBuf),
}

/// Every module of a world's folder, by its path in it. Hidden files and what is no Luau are left out.
///
/// # Errors
/// [`FolderError`] names the file and what is wrong with it.
pub fn read_world(folder: &Path) -> Result<Sources, FolderError> {
    if !folder.join(MAIN).is_file() {
        return Err(FolderError::NoWorld(folder.to_owned()));
    }
    let mut sources = Sources::default();
    read_into(folder, "", &mut sources, DEPTH_MAX)?;
    Ok(sources)
}

fn read_into(
    folder: &Path,
    prefix: &str,
    sources: &mut Sources,
    depth_left: usize,
) -> Result<(), FolderError> {
    let Limits { modules_max, module_bytes_max, .. } = Limits::DEFAULT;
    for entry in std::fs::read_dir(folder).map_err(|error| io(folder, &error))? {
        let entry = entry.map_err(|error| io(folder, &error))?;
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
            if sources.iter().count() >= modules_max {
                return Err(FolderError::TooMany { folder: folder.to_owned(), max: modules_max });
            }
            let bytes = std::fs::metadata(&path).map_err(|error| io(&path, &error))?.len();
            if bytes > module_bytes_max as u64 {
                return Err(FolderError::TooLarge { path, bytes, max: module_bytes_max });
            }
            let text = std::fs::read(&path).map_err(|error| io(&path, &error))?;
            let text = String::from_utf8(text).map_err(|_| FolderError::NotText(path))?;
            sources.insert(format!("{prefix}{name}"), text);
        }
    }
    Ok(())
}

fn io(path: &Path, error: &std::io::Error) -> FolderError {
    FolderError::Io { path: path.to_owned(), cause: error.to_string() }
}

/// Calls `changed` on a thread of its own when something in the folder changed and has settled, until what is returned is
/// dropped.
pub(super) fn watch(
    folder: &Path,
    changed: impl FnMut() + Send + 'static,
) -> Result<RecommendedWatcher, WorldError> {
    let refused = |cause: String| WorldError::Watch { folder: folder.to_owned(), cause };
    let (sender, receiver) = channel();
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        // Reading is no change; what cannot be said exactly may be one.
        if event.map_or(true, |event| !matches!(event.kind, EventKind::Access(_))) {
            // Whoever listened is gone, and so is the folder's world.
            let _ = sender.send(());
        }
    })
    .map_err(|error| refused(error.to_string()))?;
    watcher.watch(folder, RecursiveMode::Recursive).map_err(|error| refused(error.to_string()))?;
    thread::Builder::new()
        .name("world watch".to_owned())
        .spawn(move || settle(&receiver, changed))
        .map_err(|error| refused(error.to_string()))?;
    Ok(watcher)
}

fn settle(changes: &Receiver<()>, mut changed: impl FnMut()) {
    while changes.recv().is_ok() {
        for _ in 0..SETTLES_MAX {
            match changes.recv_timeout(SETTLE) {
                Ok(()) => {}
                Err(RecvTimeoutError::Timeout) => break,
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
        changed();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_world_is_its_modules_by_path_and_nothing_else() {
        let folder = std::env::temp_dir().join(format!("nowcast-folder-{}", std::process::id()));
        let write = |path: &str, text: &[u8]| {
            let path = folder.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        assert_eq!(read_world(&folder), Err(FolderError::NoWorld(folder.clone())));
        write("world.luau", b"-- rules");
        write("parts/door.luau", b"return {}");
        write(".nowcast/world.luau", b"types");
        write("README.md", b"text");
        let sources = read_world(&folder).unwrap();
        let paths: Vec<_> = sources.iter().map(|(path, _)| path.to_owned()).collect();
        assert_eq!(paths, ["parts/door.luau", "world.luau"]);
        write("broken.luau", b"\xff\xfe");
        assert_eq!(read_world(&folder), Err(FolderError::NotText(folder.join("broken.luau"))));
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_folder_whose_files_change_is_told_of() {
        let folder = std::env::temp_dir().join(format!("nowcast-watch-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (sender, told) = channel();
        let watcher = watch(&folder, move || sender.send(()).unwrap()).unwrap();
        std::fs::write(folder.join("world.luau"), "-- rules").unwrap();
        told.recv_timeout(Duration::from_secs(60)).expect("the change is noticed");
        drop(watcher);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
