//! Reading a world's folder, and noticing its changes.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use nowcast_script::{
    ASSET_BYTES_MAX, ASSETS_BYTES_MAX, ASSETS_FOLDER, ASSETS_MAX, Assets, Fault, Limits, MAIN, Sources,
    asset_kind,
};

use super::WorldError;

/// Folders in folders that are looked into.
const DEPTH_MAX: usize = 16;

/// After a change, for so long more changes are waited for: editors write a file in several steps.
const SETTLE: Duration = Duration::from_millis(15);

/// A folder whose files change all the time is read after this many waits.
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
        /// The path.
        path: PathBuf,
        /// The system's error.
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
    /// There are too many assets.
    #[error("{} has more than {max} assets", folder.display())]
    TooManyAssets {
        /// Where.
        folder: PathBuf,
        /// How many there may be.
        max: usize,
    },
    /// An asset is too large.
    #[error("{} has {bytes} bytes, but an asset has {max} at most: make its textures smaller, or split it", path.display())]
    AssetTooLarge {
        /// Which.
        path: PathBuf,
        /// Its size.
        bytes: u64,
        /// The largest size.
        max: usize,
    },
    /// All assets together are too large.
    #[error("the assets in {} have more than {max} bytes together", folder.display())]
    AssetsTooLarge {
        /// Where.
        folder: PathBuf,
        /// How many bytes there may be.
        max: usize,
    },
    /// The name of an asset cannot be told.
    #[error("the name of {} is not UTF-8: give it another", .0.display())]
    AssetName(PathBuf),
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

/// Reads and checks every asset of a world's folder, and returns all faults. Hidden files, and files whose names are no
/// assets', are left out. Assets that `known` has already are shared with it.
///
/// # Errors
/// [`FolderError`] says what cannot be read, or is beyond what a world may have.
pub fn read_assets(folder: &Path, known: &Assets) -> Result<(Assets, Vec<Fault>), FolderError> {
    let beginning = folder.join(ASSETS_FOLDER);
    let mut paths = Vec::new();
    if beginning.is_dir() {
        find_assets(&beginning, ASSETS_FOLDER, &mut paths, DEPTH_MAX)?;
    }
    paths.sort_unstable();
    let mut bytes = 0;
    let mut files = Vec::with_capacity(paths.len());
    for (name, path) in paths {
        let content = read_asset(&path)?;
        bytes += content.len();
        if bytes > ASSETS_BYTES_MAX {
            return Err(FolderError::AssetsTooLarge { folder: beginning, max: ASSETS_BYTES_MAX });
        }
        files.push((name, content));
    }
    Ok(Assets::read(files, known))
}

fn find_assets(
    folder: &Path,
    prefix: &str,
    paths: &mut Vec<(String, PathBuf)>,
    depth_left: usize,
) -> Result<(), FolderError> {
    for entry in std::fs::read_dir(folder).map_err(|error| io(folder, &error))? {
        let path = entry.map_err(|error| io(folder, &error))?.path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
            return Err(FolderError::AssetName(path));
        };
        let name = format!("{prefix}{name}");
        if name[prefix.len()..].starts_with('.') {
            continue;
        }
        if path.is_dir() {
            if depth_left > 0 {
                find_assets(&path, &format!("{name}/"), paths, depth_left - 1)?;
            }
        } else if asset_kind(&name).is_some() && path.is_file() {
            if paths.len() >= ASSETS_MAX {
                return Err(FolderError::TooManyAssets { folder: folder.to_owned(), max: ASSETS_MAX });
            }
            paths.push((name, path));
        }
    }
    Ok(())
}

/// Reads no more than a file may have, even if it grows meanwhile.
fn read_asset(path: &Path) -> Result<Vec<u8>, FolderError> {
    let open = File::open(path).map_err(|error| io(path, &error))?;
    let bytes = open.metadata().map_err(|error| io(path, &error))?.len();
    let mut content = Vec::new();
    if bytes <= ASSET_BYTES_MAX as u64 {
        let mut open = open.take(ASSET_BYTES_MAX as u64 + 1);
        open.read_to_end(&mut content).map_err(|error| io(path, &error))?;
    }
    let bytes = bytes.max(content.len() as u64);
    if bytes > ASSET_BYTES_MAX as u64 {
        return Err(FolderError::AssetTooLarge { path: path.to_owned(), bytes, max: ASSET_BYTES_MAX });
    }
    Ok(content)
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
            // The receiver is gone, and so is the folder's world.
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
    fn assets_are_the_files_below_assets_whose_names_say_so() {
        let folder = std::env::temp_dir().join(format!("nowcast-assets-{}", std::process::id()));
        let write = |path: &str, text: &[u8]| {
            let path = folder.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("world.luau", b"-- rules");
        assert!(read_assets(&folder, &Assets::default()).unwrap().0.is_empty(), "there need not be any");
        write("assets/birds/owl.ogg", b"OggS");
        write("assets/door.blend", b"a source");
        write("assets/.hidden.ogg", b"OggS");
        write("sound.ogg", b"OggS");
        let (assets, faults) = read_assets(&folder, &Assets::default()).unwrap();
        let names: Vec<_> = assets.iter().map(|asset| asset.name.as_str()).collect();
        assert_eq!((names, faults), (vec!["assets/birds/owl.ogg"], vec![]));
        write("assets/wrong.png", b"no picture");
        let (assets, faults) = read_assets(&folder, &assets).unwrap();
        assert_eq!((assets.len(), faults[0].file.as_deref()), (1, Some("assets/wrong.png")));
        File::create(folder.join("assets/huge.wav")).unwrap().set_len(ASSET_BYTES_MAX as u64 + 1).unwrap();
        let refused = read_assets(&folder, &assets).unwrap_err();
        assert!(matches!(refused, FolderError::AssetTooLarge { .. }), "{refused}");
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
