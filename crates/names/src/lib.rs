//! Service names, and the files by which one user's programs on one machine find each other.
//!
//! ```
//! use nowcast_names::Directory;
//!
//! let directory = Directory::open("nowcast-example")?;
//! let name = format!("doc-names-{}", std::process::id());
//! let claim = directory.claim(&name)?; // in the process that offers a service
//! let listed = directory.advertised()?; // in any process of the same user
//! assert!(listed.iter().any(|listed| listed.name == name && listed.alive));
//! drop(claim);
//! assert!(directory.advertised()?.iter().all(|listed| listed.name != name));
//! # Ok::<_, nowcast_names::NameError>(())
//! ```
//!
//! **The one invariant**: a name belongs to the process that holds the lock of its file. The system releases the lock
//! when that process ends in any way. Whether a name is in use is therefore never guessed from a process id, and
//! another process can claim the name of a dead one at once.
//!
//! Each name has a lock, a signature with the process and the time of the claim, and a file that belongs to the
//! transport: a socket, or a port with secrets. All of them lie in a directory that only its user may enter.

#[cfg(unix)]
mod unix;
#[cfg(not(unix))]
mod windows;

#[cfg(unix)]
use unix as system;
#[cfg(not(unix))]
use windows as system;

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Maximum length of a name, in bytes.
pub const NAME_BYTES_MAX: usize = 64;

/// Whether a text is a valid name: 1 to 64 of `a–z A–Z 0–9 . _ -`, not beginning with a dot.
#[must_use]
pub fn is_name(text: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    (1..=NAME_BYTES_MAX).contains(&text.len()) && !text.starts_with('.') && text.bytes().all(is_allowed)
}

/// The reason why a name cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NameError {
    /// A living process has the name.
    #[error("the name {name:?} is taken by process {pid}")]
    Taken {
        /// The name.
        name: String,
        /// The process that has it; 0 if it is unknown.
        pid: u32,
    },
    /// The text is not a name: see [`is_name`].
    #[error("{0:?} is not a name: use 1 to 64 letters, digits, '-', '_' and '.', not beginning with '.'")]
    Name(String),
    /// The directory of names belongs to another user, or others may write to it.
    #[error("the directory {0} is not private to this user")]
    Directory(PathBuf),
    /// The system refused.
    #[error("the system refused: {0}")]
    System(#[from] io::Error),
}

/// A name in use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Advertised {
    /// The name.
    pub name: String,
    /// The process that advertises it.
    pub pid: u32,
    /// Time since the name was advertised.
    pub age: Duration,
    /// Whether the process is alive. The files of a dead one are removed when this is returned.
    pub alive: bool,
}

/// A directory of names, which only its user may enter.
#[derive(Debug, Clone)]
pub struct Directory {
    path: PathBuf,
}

impl Directory {
    /// Opens the directory of this user with this title, and creates it if it is missing:
    /// `$XDG_RUNTIME_DIR/TITLE`, or `/tmp/TITLE-USER` if that variable is not set. On Windows it is
    /// `%LOCALAPPDATA%\TITLE\names`.
    ///
    /// # Errors
    /// [`NameError::Directory`] if another user could have put something there.
    pub fn open(title: &str) -> Result<Directory, NameError> {
        Ok(Directory { path: system::directory(title)? })
    }

    /// The path of the directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Claims a name for this process. A dead process's name is taken over.
    ///
    /// # Errors
    /// [`NameError::Taken`] if a living process has the name, and [`NameError::Name`].
    pub fn claim(&self, name: &str) -> Result<Claim, NameError> {
        let files = self.files(name)?;
        loop {
            let _held = system::hold(&self.path)?;
            let lock = system::open_lock(&files.lock, true)?;
            match lock.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    let pid = files.signature().map_or(0, |(pid, _)| pid);
                    return Err(NameError::Taken { name: name.to_owned(), pid });
                }
                Err(TryLockError::Error(error)) => return Err(error.into()),
            }
            // Otherwise another process has removed the file since it was opened.
            if system::is_at(&lock, &files.lock) {
                files.sign()?;
                remove(&files.socket)?;
                let (directory, name) = (self.path.clone(), name.to_owned());
                return Ok(Claim { lock: Mutex::new(Some(lock)), directory, name, files });
            }
        }
    }

    /// Returns the path of the transport's file for a name, whether the name is in use or not.
    ///
    /// # Errors
    /// [`NameError::Name`].
    pub fn socket_path(&self, name: &str) -> Result<PathBuf, NameError> {
        Ok(self.files(name)?.socket)
    }

    /// Returns the names in use, sorted. Names of dead processes are removed, and listed as dead.
    ///
    /// # Errors
    /// If the directory cannot be read.
    pub fn advertised(&self) -> Result<Vec<Advertised>, NameError> {
        let _held = system::hold(&self.path)?;
        let mut names = Vec::new();
        for file in std::fs::read_dir(&self.path)? {
            let path = file?.path();
            let file_name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let Some(name) = file_name.strip_suffix(".lock").filter(|name| is_name(name)) else { continue };
            // A file that is gone belonged to a service that has just released its name.
            names.extend(self.inspect(name).ok());
        }
        names.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(names)
    }

    /// Checks whether a name's process is alive, and removes the files of a dead one.
    fn inspect(&self, name: &str) -> Result<Advertised, NameError> {
        let files = self.files(name)?;
        let lock = system::open_lock(&files.lock, false)?;
        let (pid, since) = files.signature().unwrap_or_default();
        let since = UNIX_EPOCH + Duration::from_millis(since);
        let age = SystemTime::now().duration_since(since).unwrap_or_default();
        let alive = lock.try_lock().is_err();
        if !alive && system::is_at(&lock, &files.lock) {
            files.remove_all()?;
        }
        Ok(Advertised { name: name.to_owned(), pid, age, alive })
    }

    fn files(&self, name: &str) -> Result<Files, NameError> {
        if !is_name(name) {
            return Err(NameError::Name(name.to_owned()));
        }
        let path = |end: &str| self.path.join(format!("{name}.{end}"));
        Ok(Files { lock: path("lock"), signature: path(system::SIGNATURE), socket: path("sock") })
    }
}

/// A name of this process. Dropping it releases the name.
#[derive(Debug)]
pub struct Claim {
    /// Held while the name is ours.
    lock: Mutex<Option<File>>,
    directory: PathBuf,
    name: String,
    files: Files,
}

impl Claim {
    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The path at which the transport makes its file. There is none yet, and it is removed with the claim.
    #[must_use]
    pub fn socket_path(&self) -> &Path {
        &self.files.socket
    }

    /// Releases the name before the claim is dropped.
    pub fn release(&self) {
        let Some(_lock) = self.lock.lock().unwrap_or_else(PoisonError::into_inner).take() else { return };
        // Done while the lock is held, so that no successor's files are removed. If it fails, the next process removes
        // them.
        if let Ok(_held) = system::hold(&self.directory) {
            let _ = self.files.remove_all();
        }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.release();
    }
}

/// The files of a name.
#[derive(Debug)]
struct Files {
    lock: PathBuf,
    signature: PathBuf,
    socket: PathBuf,
}

impl Files {
    /// Writes this process and the current time in milliseconds since 1970.
    fn sign(&self) -> io::Result<()> {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        std::fs::write(&self.signature, format!("{} {}", std::process::id(), since.as_millis()))
    }

    /// Returns the process that has signed, and the time in milliseconds since 1970.
    fn signature(&self) -> Option<(u32, u64)> {
        let text = std::fs::read_to_string(&self.signature).ok()?;
        let (pid, since) = text.split_once(' ')?;
        Some((pid.parse().ok()?, since.parse().ok()?))
    }

    fn remove_all(&self) -> io::Result<()> {
        remove(&self.socket)?;
        // A second removal of the lock could hit the file of a successor.
        if self.signature != self.lock {
            remove(&self.signature)?;
        }
        remove(&self.lock)
    }
}

fn remove(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A directory for one test, because every listing removes dead names.
    fn directory(of: &str) -> (Directory, String) {
        let directory = Directory::open(&format!("nowcast-names-{of}")).expect("it is private");
        (directory, format!("{of}-{}", std::process::id()))
    }

    #[test]
    fn claimed_name_is_refused_to_others_and_free_again_after_its_release() {
        let (directory, name) = directory("claimed");
        let claim = directory.claim(&name).expect("free");
        let refused = directory.claim(&name).expect_err("taken");
        let ours = std::process::id();
        assert!(matches!(refused, NameError::Taken { pid, .. } if pid == ours), "{refused}");
        let listed = directory.advertised().expect("readable");
        let listed = listed.into_iter().find(|listed| listed.name == name).expect("listed");
        assert!(listed.alive && listed.pid == ours && listed.age < Duration::from_secs(60), "{listed:?}");
        drop(claim);
        assert_eq!(directory.claim(&name).expect("free again").name(), name);
    }

    #[test]
    fn files_without_a_lock_are_listed_as_dead_and_removed() {
        let (directory, name) = directory("dead");
        let files = directory.files(&name).expect("a name");
        // The files of a process that was killed.
        std::fs::write(&files.lock, "").expect("there is room");
        std::fs::write(&files.signature, "1 0").expect("there is room");
        std::fs::write(&files.socket, "").expect("there is room");
        let listed = directory.advertised().expect("readable");
        let listed = listed.into_iter().find(|listed| listed.name == name).expect("listed once");
        assert!(!listed.alive && listed.pid == 1, "{listed:?}");
        assert!([&files.lock, &files.signature, &files.socket].iter().all(|file| !file.exists()));
    }

    #[test]
    fn claim_finds_no_file_of_a_dead_transport() {
        let (directory, name) = directory("stale");
        std::fs::write(directory.socket_path(&name).expect("a name"), "stale").expect("there is room");
        let claim = directory.claim(&name).expect("free");
        assert!(!claim.socket_path().exists());
    }

    #[test]
    fn names_that_could_leave_their_directory_are_refused() {
        let (directory, _) = directory("refused");
        for name in ["", ".", "../escape", "a/b", "a\\b", "white space", "ünïcode", &"x".repeat(65)] {
            assert!(matches!(directory.claim(name), Err(NameError::Name(_))), "{name:?}");
            assert!(directory.socket_path(name).is_err(), "{name:?}");
        }
    }

    #[test]
    fn only_one_of_many_threads_claims_a_name_at_any_time() {
        let (directory, name) = directory("contended");
        let holders = std::sync::atomic::AtomicUsize::new(0);
        let claims = std::sync::atomic::AtomicUsize::new(0);
        let order = std::sync::atomic::Ordering::SeqCst;
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        if let Ok(_claim) = directory.claim(&name) {
                            assert_eq!(holders.fetch_add(1, order), 0, "two hold the name");
                            claims.fetch_add(1, order);
                            holders.fetch_sub(1, order);
                        }
                        directory.advertised().expect("readable");
                    }
                });
            }
        });
        assert!(claims.into_inner() > 0, "no thread claimed the name");
    }
}
