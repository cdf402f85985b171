//! The directory and the locks on Unix systems. A lock binds only programs that ask for it, and an open file can be
//! removed, so the lock file holds the signature, too.

use std::fs::File;
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

use crate::NameError;

/// The end of the path of the file with the signature.
pub(crate) const SIGNATURE: &str = "lock";

/// See [`crate::Directory::open`]. A socket's path may have only 103 bytes on some systems, and their usual directory for
/// temporary files takes half of them.
pub(crate) fn directory(title: &str) -> Result<PathBuf, NameError> {
    let user = rustix::process::geteuid().as_raw();
    let path = match std::env::var_os("XDG_RUNTIME_DIR").filter(|path| Path::new(path).is_absolute()) {
        Some(runtime) => PathBuf::from(runtime).join(title),
        None => PathBuf::from(format!("/tmp/{title}-{user}")),
    };
    match std::fs::DirBuilder::new().mode(0o700).create(&path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error.into()),
        _ => {}
    }
    let found = std::fs::symlink_metadata(&path)?;
    if !found.is_dir() || found.uid() != user || found.mode() & 0o077 != 0 {
        return Err(NameError::Directory(path));
    }
    Ok(path)
}

/// Stands for the lock of the directory, which is not needed here.
pub(crate) struct Held;

/// Locks nothing: a stopped process would delay all others, and [`is_at`] detects a removed lock file.
#[expect(clippy::unnecessary_wraps, reason = "other systems lock the directory, which can fail")]
pub(crate) fn hold(_: &Path) -> io::Result<Held> {
    Ok(Held)
}

/// Opens the lock file of a name, and creates it if `create` is set.
pub(crate) fn open_lock(path: &Path, create: bool) -> io::Result<File> {
    let create = if create { OFlags::CREATE } else { OFlags::empty() };
    let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOFOLLOW | create;
    Ok(File::from(rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR)?))
}

/// Whether the open file is still the one at the path.
pub(crate) fn is_at(file: &File, path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|found| {
        file.metadata().is_ok_and(|ours| (ours.dev(), ours.ino()) == (found.dev(), found.ino()))
    })
}
