//! The directory and the locks on systems where no other process can read a locked file, and where an open file cannot
//! be identified. So the signature has a separate file, and files are created and removed under a lock on the
//! directory.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use crate::NameError;

/// The suffix of the signature file's path.
pub(crate) const SIGNATURE: &str = "pid";

/// The lock of the directory itself; no name begins with a dot.
const DIRECTORY_LOCK: &str = ".lock";

/// See [`crate::Directory::open`]. Only the user and the administrators of the machine can read the files there.
pub(crate) fn directory(title: &str) -> Result<PathBuf, NameError> {
    let profile = std::env::var_os("LOCALAPPDATA").map(PathBuf::from).filter(|path| path.is_absolute());
    let profile = profile.ok_or_else(|| NameError::Directory(PathBuf::from("%LOCALAPPDATA%")))?;
    let path = profile.join(title).join("names");
    std::fs::create_dir_all(&path)?;
    Ok(path)
}

/// Locks the directory for creating and removing files, until the returned value is dropped.
pub(crate) fn hold(directory: &Path) -> io::Result<File> {
    let lock = open_lock(&directory.join(DIRECTORY_LOCK), true)?;
    lock.lock()?;
    Ok(lock)
}

/// Opens the lock file of a name, and creates it if `create` is set.
pub(crate) fn open_lock(path: &Path, create: bool) -> io::Result<File> {
    File::options().read(true).write(true).create(create).truncate(false).open(path)
}

/// Whether the open file is still the one at the path, which the lock of the directory guarantees.
pub(crate) fn is_at(_: &File, _: &Path) -> bool {
    true
}
