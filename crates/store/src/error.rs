//! The errors of a store. Each error names the file and the place in the file, and says how to correct the problem.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::name::WorldName;

/// A failure of a store. The text names the file and the place, and says how to correct the problem.
#[derive(Debug)]
pub struct StoreError {
    /// The file or folder.
    pub file: PathBuf,
    /// The affected world, if any.
    pub world: Option<WorldName>,
    /// The fault.
    pub problem: Problem,
}

/// A fault in a store, or in a request to the store.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// The file belongs to another program. The file was not changed.
    #[error("it is not a store of nowcast ({0})")]
    Foreign(String),
    /// A newer release wrote the file. The file was not changed.
    #[error("it has format version {found}, and this program knows versions up to {known}")]
    Newer {
        /// The version of the file.
        found: i64,
        /// The newest version that this program knows.
        known: i64,
    },
    /// Another process has the store open for writing.
    #[error("another process has it open{}", .pid.map_or(String::new(), |pid| format!(" (pid {pid})")))]
    InUse {
        /// The pid of the other process, if known.
        pid: Option<u32>,
    },
    /// The file system is read-only.
    #[error("it cannot be written")]
    ReadOnly,
    /// The disk is full.
    #[error("the disk is full")]
    Full,
    /// The file system failed for another reason.
    #[error("the disk failed: {0}")]
    Disk(String),
    /// The folder has no store.
    #[error("there is no store in this folder")]
    NoStore,
    /// The bytes differ from those that were written.
    #[error("{place} is damaged: {what}")]
    Damaged {
        /// The place.
        place: String,
        /// The fault.
        what: String,
    },
    /// A world with this name exists already.
    #[error("there is a world of this name already")]
    Exists,
    /// No world with this name exists.
    #[error("there is no world of this name")]
    Missing,
    /// A record is larger than the store can read back.
    #[error("{what} has {bytes} bytes, and the maximum is {max}")]
    TooLarge {
        /// The record.
        what: &'static str,
        /// The size of the record.
        bytes: u64,
        /// The maximum.
        max: u64,
    },
    /// A file of the store, or its folder, was removed or replaced while the store was open. Another process would not
    /// find new data.
    #[error("{} was removed or replaced while it was open", .0.display())]
    Gone(PathBuf),
    /// The servers that keep the worlds do not answer, or refuse a request. The text names the server and the cause.
    #[error("{0}")]
    Unreachable(String),
    /// Another server owns the world. The journal refuses everything that this server writes.
    #[error("another server owns the world")]
    Fenced,
    /// The disk was too slow: not everything was written within the given time.
    #[error("not everything was written within the given time")]
    Late,
    /// The writer has ended.
    #[error("the store is closed")]
    Closed,
}

impl Problem {
    pub(crate) fn damaged(place: impl Into<String>, what: impl ToString) -> Problem {
        Problem::Damaged { place: place.into(), what: what.to_string() }
    }

    /// Returns a sentence that says how to correct the problem.
    pub fn cure(&self) -> &'static str {
        match self {
            Problem::Foreign(_) => "Choose another folder; nothing was changed in this one.",
            Problem::Newer { .. } => {
                "Use the release that wrote it, or a newer one; nothing was changed in it."
            }
            Problem::InUse { .. } => "End the other process, or choose another folder.",
            Problem::ReadOnly => {
                "Give this user the right to write there, remount the disk, or choose another folder."
            }
            Problem::Full => {
                "Free space on the disk, or prune old states. Waiting data is written as soon as there is space."
            }
            Problem::Disk(_) => {
                "Check the system's log for this disk. The server tries to write waiting data again."
            }
            Problem::NoStore => "Choose the folder that the server names when it starts.",
            Problem::Damaged { .. } => {
                "Keep a copy of the folder, read the undamaged data with salvage, or restore a backup."
            }
            Problem::Exists => "Choose another name.",
            Problem::Missing => "Check the list of worlds.",
            Problem::TooLarge { .. } => "Store less data in the world, or take snapshots more often.",
            Problem::Gone(_) => {
                "Put it back, or end the server and start it again. Nothing is stored until then."
            }
            Problem::Unreachable(_) => "Waiting data is written as soon as they answer.",
            Problem::Fenced => "Join the room on the server that owns it.",
            Problem::Late => "Check the store's health: the disk is slow, full, or gone.",
            Problem::Closed => "Open it again.",
        }
    }
}

impl StoreError {
    pub(crate) fn new(file: &Path, problem: Problem) -> StoreError {
        StoreError { file: file.to_owned(), world: None, problem }
    }

    pub(crate) fn of(self, world: &WorldName) -> StoreError {
        StoreError { world: Some(world.clone()), ..self }
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.file.display())?;
        if let Some(world) = &self.world {
            write!(f, "world {world}: ")?;
        }
        write!(f, "{}. {}", self.problem, self.problem.cure())
    }
}

impl std::error::Error for StoreError {}

impl From<std::io::Error> for Problem {
    fn from(error: std::io::Error) -> Problem {
        use std::io::ErrorKind;
        match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => Problem::Full,
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => Problem::ReadOnly,
            _ => Problem::Disk(error.to_string()),
        }
    }
}

impl From<rusqlite::Error> for Problem {
    fn from(error: rusqlite::Error) -> Problem {
        use rusqlite::ErrorCode;
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Problem::Full,
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => Problem::ReadOnly,
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Problem::InUse { pid: None },
            Some(ErrorCode::NotADatabase) => Problem::Foreign("no SQLite database".to_owned()),
            Some(ErrorCode::SystemIoFailure | ErrorCode::CannotOpen) => Problem::Disk(error.to_string()),
            _ => Problem::damaged("the database", error),
        }
    }
}
