//! Reads a world's folder, and watches the folder for changes.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use notify::event::ModifyKind;
use notify::{EventHandler, EventKind, PollWatcher, RecommendedWatcher, RecursiveMode, Watcher};
use nowcast_script::{
    ASSET_BYTES_MAX, ASSETS_BYTES_MAX, ASSETS_FOLDER, ASSETS_MAX, Assets, Fault, Limits, MAIN, Sources,
    asset_kind,
};

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::oneshot;
use tracing::{debug, warn};

use super::WorldError;

/// Maximum depth of nested folders that are read.
const DEPTH_MAX: usize = 16;

/// Maximum files and folders that are visited below a world's folder.
const FILES_MAX: usize = 65_536;

/// Time without a change after which the folder is read. Editors write a file in several steps, so reading at the first
/// change would be too early.
const SETTLE: Duration = Duration::from_millis(15);

/// Maximum number of waits of [`SETTLE`]. After that, the folder is read even if its files keep changing.
const SETTLES_MAX: usize = 20;

/// Interval between checks whether the path still leads to the same folder.
const LOOK: Duration = Duration::from_secs(1);

/// The reason why a world cannot be read from a folder.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FolderError {
    /// The folder has no main module.
    #[error("{} is not a world: it has no {MAIN} (`nowcast new DIR` makes a world)", .0.display())]
    NoWorld(PathBuf),
    /// The folder has rules in TypeScript that were not compiled.
    #[error("{} has world.ts, but no {MAIN}: compile it with `npm install` and `npm run build` in the folder", .0.display())]
    NotBuilt(PathBuf),
    /// The system reported an error.
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
        /// The folder.
        folder: PathBuf,
        /// Maximum number of modules.
        max: usize,
    },
    /// A module is too large.
    #[error("{} has {bytes} bytes, but a module has {max} at most", path.display())]
    TooLarge {
        /// The path of the module.
        path: PathBuf,
        /// Size in bytes.
        bytes: u64,
        /// The largest size.
        max: usize,
    },
    /// A module is not text.
    #[error("{} is not UTF-8", .0.display())]
    NotText(PathBuf),
    /// There are too many assets.
    #[error("{} has more than {max} assets", folder.display())]
    TooManyAssets {
        /// The folder.
        folder: PathBuf,
        /// Maximum number of assets.
        max: usize,
    },
    /// An asset is too large.
    #[error("{} has {bytes} bytes, but an asset has {max} at most: make its textures smaller, or split it", path.display())]
    AssetTooLarge {
        /// The path of the asset.
        path: PathBuf,
        /// Size in bytes.
        bytes: u64,
        /// The largest size.
        max: usize,
    },
    /// All assets together are too large.
    #[error("the assets in {} have more than {max} bytes together", folder.display())]
    AssetsTooLarge {
        /// The folder.
        folder: PathBuf,
        /// Maximum size in bytes.
        max: usize,
    },
    /// There are too many files.
    #[error("{} has more than {max} files and folders: keep other files elsewhere", folder.display())]
    TooManyFiles {
        /// The folder.
        folder: PathBuf,
        /// Maximum number of files.
        max: usize,
    },
    /// A file is a link to a place outside the world's folder.
    #[error("{} is a link to a place outside the world's folder: copy the file into the folder", .0.display())]
    Outside(PathBuf),
    /// An entry with the name of a module or an asset is not a regular file.
    #[error("{} is not a regular file: remove it, or rename it", .0.display())]
    NotAFile(PathBuf),
    /// The name of an asset is not text.
    #[error("the name of {} is not UTF-8: rename it", .0.display())]
    AssetName(PathBuf),
}

/// The folder with packages of npm, which a world in TypeScript has.
const PACKAGES: &str = "node_modules";

/// Reads every module of a world's folder, with its path in the folder. Skips hidden files, packages of npm, and files that
/// are not Luau.
///
/// # Errors
/// [`FolderError`] names the file and the problem.
pub fn read_world(folder: &Path) -> Result<Sources, FolderError> {
    let root = Root::of(folder)?;
    if !folder.join(MAIN).is_file() {
        if folder.join("world.ts").is_file() {
            return Err(FolderError::NotBuilt(folder.to_owned()));
        }
        return Err(FolderError::NoWorld(folder.to_owned()));
    }
    let Limits { modules_max, module_bytes_max, .. } = Limits::DEFAULT;
    let mut modules = Vec::new();
    root.find(folder, "", DEPTH_MAX, &mut { FILES_MAX }, &mut |name, path| {
        if !name.ends_with(".luau") {
            return Ok(());
        }
        if modules.len() >= modules_max {
            return Err(FolderError::TooMany { folder: folder.to_owned(), max: modules_max });
        }
        modules.push((name, path));
        Ok(())
    })?;
    let mut sources = Sources::default();
    for (name, path) in modules {
        let content = root.read(&path, module_bytes_max, |path, bytes| FolderError::TooLarge {
            path,
            bytes,
            max: module_bytes_max,
        })?;
        sources.insert(name, String::from_utf8(content).map_err(|_| FolderError::NotText(path))?);
    }
    Ok(sources)
}

/// Reads and checks every asset of a world's folder, and returns all faults. Skips hidden files and files whose names are
/// not asset names. Assets that `known` already has are reused.
///
/// # Errors
/// [`FolderError`] if a file cannot be read, or exceeds the limits of a world.
pub fn read_assets(folder: &Path, known: &Assets) -> Result<(Assets, Vec<Fault>), FolderError> {
    let beginning = folder.join(ASSETS_FOLDER);
    let mut paths = Vec::new();
    let root = Root::of(folder)?;
    if beginning.is_dir() {
        root.find(&beginning, ASSETS_FOLDER, DEPTH_MAX, &mut { FILES_MAX }, &mut |name, path| {
            if path.file_name().is_none_or(|name| name.to_str().is_none()) {
                return Err(FolderError::AssetName(path));
            }
            if asset_kind(&name).is_none() {
                return Ok(());
            }
            if paths.len() >= ASSETS_MAX {
                return Err(FolderError::TooManyAssets { folder: beginning.clone(), max: ASSETS_MAX });
            }
            paths.push((name, path));
            Ok(())
        })?;
    }
    paths.sort_unstable();
    let mut bytes = 0;
    let mut files = Vec::with_capacity(paths.len());
    for (name, path) in paths {
        let content = root.read(&path, ASSET_BYTES_MAX, |path, bytes| FolderError::AssetTooLarge {
            path,
            bytes,
            max: ASSET_BYTES_MAX,
        })?;
        bytes += content.len();
        if bytes > ASSETS_BYTES_MAX {
            return Err(FolderError::AssetsTooLarge { folder: beginning, max: ASSETS_BYTES_MAX });
        }
        files.push((name, content));
    }
    Ok(Assets::read(files, known))
}

/// The path of a world's folder, without links. No file outside of this folder is read.
pub(super) struct Root(PathBuf);

impl Root {
    pub(super) fn of(folder: &Path) -> Result<Root, FolderError> {
        // A missing folder counts as a folder without a main module.
        folder.canonicalize().map(Root).map_err(|_| FolderError::NoWorld(folder.to_owned()))
    }

    /// Calls `found` with the name and the path of every file in a folder and its subfolders, except hidden ones. Does not
    /// follow links to folders, because they may lead back or out of the folder. Visits at most `files_left` entries.
    pub(super) fn find(
        &self,
        folder: &Path,
        prefix: &str,
        depth_left: usize,
        files_left: &mut usize,
        found: &mut dyn FnMut(String, PathBuf) -> Result<(), FolderError>,
    ) -> Result<(), FolderError> {
        for entry in std::fs::read_dir(folder).map_err(|error| io(folder, &error))? {
            let entry = entry.map_err(|error| io(folder, &error))?;
            let path = entry.path();
            *files_left = files_left
                .checked_sub(1)
                .ok_or_else(|| FolderError::TooManyFiles { folder: self.0.clone(), max: FILES_MAX })?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with('.') || name == PACKAGES {
                continue;
            }
            let kind = entry.file_type().map_err(|error| io(&path, &error))?;
            let name = format!("{prefix}{name}");
            if kind.is_dir() {
                if depth_left > 0 {
                    self.find(&path, &format!("{name}/"), depth_left - 1, files_left, found)?;
                }
            } else if !(kind.is_symlink() && path.is_dir()) {
                found(name, path)?;
            }
        }
        Ok(())
    }

    /// Reads a regular file inside the folder. Reads at most `max` bytes, even if the file grows in the meantime. A link
    /// must also lead to a regular file inside the folder.
    fn read(
        &self,
        path: &Path,
        max: usize,
        too_large: impl Fn(PathBuf, u64) -> FolderError,
    ) -> Result<Vec<u8>, FolderError> {
        let real = path.canonicalize().map_err(|error| io(path, &error))?;
        if !real.starts_with(&self.0) {
            return Err(FolderError::Outside(path.to_owned()));
        }
        // Opening a named pipe would block until a writer opens it.
        if !std::fs::metadata(&real).map_err(|error| io(path, &error))?.is_file() {
            return Err(FolderError::NotAFile(path.to_owned()));
        }
        let file = File::open(&real).map_err(|error| io(path, &error))?;
        let bytes = file.metadata().map_err(|error| io(path, &error))?.len();
        if bytes > max as u64 {
            return Err(too_large(path.to_owned(), bytes));
        }
        let mut content = Vec::new();
        file.take(max as u64 + 1).read_to_end(&mut content).map_err(|error| io(path, &error))?;
        if content.len() > max {
            return Err(too_large(path.to_owned(), content.len() as u64));
        }
        Ok(content)
    }
}

fn io(path: &Path, error: &std::io::Error) -> FolderError {
    FolderError::Io { path: path.to_owned(), cause: error.to_string() }
}

/// Watches a folder until the value is dropped.
pub(crate) struct FolderWatch {
    _alive: Arc<()>,
    news: Sender<News>,
}

impl FolderWatch {
    /// Reads the folder without waiting for a report of the system. Returns once the current contents are in force
    /// or have failed to load.
    pub(crate) async fn read_now(&self) {
        let (read, done) = oneshot::channel();
        // The thread ends only if it panics. Then nobody reads the folder until the server starts again.
        if self.news.send(News::ReadNow(read)).is_ok() {
            let _ = done.await;
        }
    }
}

/// A reason to read a folder.
enum News {
    /// The system reports a change. `is_of_root` states whether it concerns the folder itself.
    Change { is_of_root: bool },
    /// Somebody waits until the current contents are read.
    ReadNow(oneshot::Sender<()>),
}

/// Calls `changed` on a separate thread after the folder changed, once no further changes follow. The watch ends when the
/// result is dropped. If the folder is removed and created again, or replaced, that counts as a change, and the new folder
/// is watched. If the system cannot report changes, the folder is compared every second.
pub(super) fn watch(
    folder: &Path,
    changed: impl FnMut() + Send + 'static,
) -> Result<FolderWatch, WorldError> {
    watch_by(folder, changed, |on_event, config| Ok(Box::new(RecommendedWatcher::new(on_event, config)?)))
}

/// Like [`watch`], with the system's way to report changes as an argument.
fn watch_by(
    folder: &Path,
    changed: impl FnMut() + Send + 'static,
    by_system: impl FnOnce(OnEvent, notify::Config) -> notify::Result<Box<dyn Watcher + Send>>,
) -> Result<FolderWatch, WorldError> {
    let refused = |cause: String| WorldError::Watch { folder: folder.to_owned(), cause };
    let (sender, receiver) = channel();
    let on_event = OnEvent { place: Arc::default(), sender: sender.clone() };
    // Links to folders are not followed when the world is read, so they need not be watched.
    let config = notify::Config::default().with_follow_symlinks(false).with_poll_interval(LOOK);
    let by_system = by_system(on_event.clone(), config)
        .and_then(|watcher| Watched::begin(folder, watcher, Arc::clone(&on_event.place)));
    let watched = by_system.or_else(|error| {
        let place = Arc::clone(&on_event.place);
        let watched = Watched::begin(folder, Box::new(PollWatcher::new(on_event, config)?), place)?;
        warn!(
            folder = %folder.display(), %error,
            "the system does not report changes of this folder, so it is compared every second; on Linux, sysctl \
             fs.inotify.max_user_watches and fs.inotify.max_user_instances raise the limits"
        );
        Ok(watched)
    });
    let watched = watched.map_err(|error: notify::Error| refused(error.to_string()))?;
    let alive = Arc::new(());
    let is_wanted = Arc::downgrade(&alive);
    thread::Builder::new()
        .name("world watch".to_owned())
        .spawn(move || settle(&receiver, watched, &is_wanted, changed))
        .map_err(|error| refused(error.to_string()))?;
    Ok(FolderWatch { _alive: alive, news: sender })
}

/// Receives the events of a folder.
#[derive(Clone)]
struct OnEvent {
    place: Arc<Mutex<PathBuf>>,
    sender: Sender<News>,
}

impl EventHandler for OnEvent {
    fn handle_event(&mut self, event: notify::Result<notify::Event>) {
        let is_access = event.as_ref().is_ok_and(|event| matches!(event.kind, EventKind::Access(_)));
        if is_access {
            return;
        }
        // An event that cannot be read may concern the folder itself.
        let is_of_root = event.map_or(true, |event| {
            let may_end_watch =
                matches!(event.kind, EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_)));
            may_end_watch && event.paths.contains(&self.place.lock())
        });
        // The thread that receives the events may have ended.
        let _ = self.sender.send(News::Change { is_of_root });
    }
}

/// A watched folder, with its identity when the watch began.
struct Watched {
    folder: PathBuf,
    watcher: Box<dyn Watcher + Send>,
    /// The path of the folder without links, when the watch began. A watch does not follow links.
    place: Arc<Mutex<PathBuf>>,
    /// The watch. `None` while the folder is not watched.
    identity: Option<(u64, u64)>,
}

impl Watched {
    fn begin(
        folder: &Path,
        watcher: Box<dyn Watcher + Send>,
        place: Arc<Mutex<PathBuf>>,
    ) -> notify::Result<Self> {
        let mut watched = Self { folder: folder.to_owned(), watcher, place, identity: None };
        watched.begin_again()?;
        Ok(watched)
    }

    fn begin_again(&mut self) -> notify::Result<()> {
        let identity = identity(&self.folder);
        let place = self.folder.canonicalize().map_err(notify::Error::io)?;
        self.place().clone_from(&place);
        self.watcher.watch(&place, RecursiveMode::Recursive)?;
        self.identity = identity;
        Ok(())
    }

    fn place(&self) -> MutexGuard<'_, PathBuf> {
        self.place.lock()
    }

    /// If another folder has the path now, watches that folder. Returns whether the folder was replaced or removed.
    fn look(&mut self) -> bool {
        let found = identity(&self.folder);
        if found == self.identity {
            return false;
        }
        self.identity = None;
        // The watch of a removed folder has already ended. If this call fails, the next check tries it again.
        let place = self.place().clone();
        let _ = self.watcher.unwatch(&place);
        if found.is_some()
            && let Err(error) = self.begin_again()
        {
            debug!(folder = %self.folder.display(), %error, "cannot watch a world's folder yet");
        }
        true
    }
}

/// Returns the device and inode number of a folder on Unix. On other systems, returns only whether the folder exists.
fn identity(folder: &Path) -> Option<(u64, u64)> {
    let metadata = std::fs::metadata(folder).ok()?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        Some((metadata.dev(), metadata.ino()))
    }
    #[cfg(not(unix))]
    metadata.is_dir().then_some((0, 0))
}

fn settle(news: &Receiver<News>, mut watched: Watched, is_wanted: &Weak<()>, mut changed: impl FnMut()) {
    while is_wanted.strong_count() > 0 {
        let first = match news.recv_timeout(LOOK) {
            Ok(first) => first,
            Err(RecvTimeoutError::Timeout) => {
                if watched.look() {
                    changed();
                }
                continue;
            }
            Err(RecvTimeoutError::Disconnected) => return,
        };
        let (mut is_of_root, mut waiting) = (false, Vec::new());
        // Returns whether somebody waits.
        let mut take = |next| match next {
            News::Change { is_of_root: also } => {
                is_of_root |= also;
                false
            }
            News::ReadNow(read) => {
                waiting.push(read);
                true
            }
        };
        let mut is_awaited = take(first);
        for _ in 0..SETTLES_MAX {
            if is_awaited {
                break;
            }
            match news.recv_timeout(SETTLE) {
                Ok(next) => is_awaited = take(next),
                Err(RecvTimeoutError::Timeout) => break,
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
        // One read serves all changes and all requests that have arrived.
        for next in news.try_iter() {
            take(next);
        }
        if is_of_root {
            // A new folder may have the inode number of the removed one.
            watched.identity = None;
        }
        watched.look();
        changed();
        for read in waiting {
            // The request may have ended meanwhile.
            let _ = read.send(());
        }
    }
}

#[cfg(test)]
mod tests;
