//! The files of a store, and what is checked before any of them is touched.
//!
//! | file | what it is |
//! | --- | --- |
//! | `worlds.db` | the database, with `-wal` and `-shm` beside it while it is open |
//! | `worlds.db.new` | a database that is being made; it becomes `worlds.db` when it is complete |
//! | `lock` | held by the process that writes |

use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use crate::error::{Problem, StoreError};
use crate::fail_point::{FailPoint, pass};

/// Says in the file whose it is: `NOWC`.
const APPLICATION_ID: i32 = 0x4e4f_5743;

/// The version of the tables.
const VERSION: i64 = 1;

/// The first bytes of every SQLite database.
const SQLITE_MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// Bytes of the log's file that are kept for reuse.
const LOG_BYTES_MAX: i64 = 64 << 20;

/// How long one connection waits for another of the same store.
const BUSY: Duration = Duration::from_secs(5);

/// A batch's number is one more than that of the batch before. A snapshot has the number of the last batch that is in it.
/// A number that is missing is a hole, and behind a hole there is a snapshot.
const TABLES: &str = "
CREATE TABLE worlds (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    tick INTEGER NOT NULL,
    number INTEGER NOT NULL,
    created_ms INTEGER NOT NULL,
    changed_ms INTEGER NOT NULL
) STRICT;
CREATE TABLE snapshots (
    world INTEGER NOT NULL,
    number INTEGER NOT NULL,
    tick INTEGER NOT NULL,
    time_ms INTEGER NOT NULL,
    file BLOB NOT NULL,
    PRIMARY KEY (world, number)
) STRICT;
CREATE TABLE journal (
    world INTEGER NOT NULL,
    number INTEGER NOT NULL,
    from_tick INTEGER NOT NULL,
    through_tick INTEGER NOT NULL,
    time_ms INTEGER NOT NULL,
    checksum INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (world, number)
) STRICT, WITHOUT ROWID;
CREATE TABLE marks (
    kind INTEGER NOT NULL,
    key BLOB NOT NULL,
    note TEXT NOT NULL,
    expires_ms INTEGER NOT NULL,
    PRIMARY KEY (kind, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX marks_by_expiry ON marks (expires_ms);
";

/// The database of a folder.
pub(super) fn database(folder: &Path) -> PathBuf {
    folder.join("worlds.db")
}

/// A folder that is taken for this process, until this is dropped. The kernel lets go of it when the process ends, however
/// it ends.
pub(super) struct FolderLock(File);

impl Drop for FolderLock {
    fn drop(&mut self) {
        // Closing is not enough: a child of this process that is between `fork` and `exec` has the same open file, and with it
        // the lock. A folder that cannot be let go of is told to who wants it next.
        let _ = self.0.unlock();
    }
}

/// Takes the folder for this process.
pub(super) fn lock(folder: &Path) -> Result<FolderLock, StoreError> {
    fs::create_dir_all(folder).map_err(|error| StoreError::new(folder, error.into()))?;
    let path = folder.join("lock");
    let failed = |error: std::io::Error| StoreError::new(&path, error.into());
    let mut file =
        File::options().read(true).write(true).create(true).truncate(false).open(&path).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut text = String::new();
            let pid = file.take(32).read_to_string(&mut text).ok().and_then(|_| text.trim().parse().ok());
            return Err(StoreError::new(folder, Problem::InUse { pid }));
        }
        Err(TryLockError::Error(error)) => return Err(failed(error)),
    }
    file.set_len(0).and_then(|()| file.seek(SeekFrom::Start(0))).map_err(failed)?;
    // For people and for the error above; the lock holds without it, and a full disk is told by what follows.
    let _ = writeln!(file, "{}", std::process::id());
    Ok(FolderLock(file))
}

/// A connection to a store that was examined.
pub(super) struct Database {
    pub(super) connection: Connection,
    /// Dropped after the connection.
    _open: OpenFile,
}

/// The files to which this process has connections, and how many.
static OPEN_FILES: Mutex<BTreeMap<PathBuf, usize>> = Mutex::new(BTreeMap::new());

/// Says that this process has a connection to a file. SQLite's locks on a file belong to the process, and the kernel drops
/// them all when the process closes *any* handle of that file. So the file is read past SQLite only while no connection
/// has it open.
struct OpenFile(PathBuf);

impl Drop for OpenFile {
    fn drop(&mut self) {
        let mut files = OPEN_FILES.lock().unwrap_or_else(PoisonError::into_inner);
        match files.get_mut(&self.0) {
            Some(count) if *count > 1 => *count -= 1,
            _ => drop(files.remove(&self.0)),
        }
    }
}

/// Opens the database for writing; makes one if there is none. The folder has to be locked.
pub(super) fn open_writer(folder: &Path) -> Result<Database, StoreError> {
    open(folder, |path, is_known| {
        if !is_known && !examine(path)? {
            create(folder, path)?;
        }
        open_existing(path)
    })
}

/// Opens the database for reading, beside whoever writes.
pub(super) fn open_reader(folder: &Path) -> Result<Database, StoreError> {
    open(folder, |path, is_known| {
        if !is_known && !examine(path)? {
            return Err(Problem::NoStore);
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags)?;
        harden(&connection)?;
        check_version(&connection)?;
        Ok(connection)
    })
}

/// Opens one file at a time, and tells `make` whether this process has it open already.
fn open(
    folder: &Path,
    make: impl FnOnce(&Path, bool) -> Result<Connection, Problem>,
) -> Result<Database, StoreError> {
    let path = database(folder);
    let mut files = OPEN_FILES.lock().unwrap_or_else(PoisonError::into_inner);
    // One file may have several paths; where there is no folder, there is no file either.
    let name = folder.canonicalize().map_or_else(|_| path.clone(), |folder| database(&folder));
    let connection =
        make(&path, files.contains_key(&name)).map_err(|problem| StoreError::new(&path, problem))?;
    *files.entry(name.clone()).or_default() += 1;
    Ok(Database { connection, _open: OpenFile(name) })
}

fn open_existing(path: &Path) -> Result<Connection, Problem> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    harden(&connection)?;
    check_version(&connection)?;
    let mode: String = connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0))?;
    if mode != "wal" {
        return Err(Problem::Disk(format!("the file system allows no write-ahead log (it stays {mode})")));
    }
    connection.pragma_update(None, "synchronous", "FULL")?;
    // A log that was long once is cut when it begins anew.
    connection.pragma_update_and_check(None, "journal_size_limit", LOG_BYTES_MAX, |_| Ok(()))?;
    // On macOS a plain sync leaves bytes in the disk's own memory.
    connection.pragma_update(None, "fullfsync", true)?;
    connection.pragma_update(None, "checkpoint_fullfsync", true)?;
    // Whether it can be written is found out now and not at the first commit.
    connection.execute_batch("BEGIN IMMEDIATE; ROLLBACK;")?;
    Ok(connection)
}

/// The file may be anybody's: nothing that stands in it is carried out.
fn harden(connection: &Connection) -> Result<(), Problem> {
    connection.busy_timeout(BUSY)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    connection.pragma_update(None, "cell_size_check", true)?;
    connection.pragma_update(None, "mmap_size", 0)?;
    Ok(())
}

fn check_version(connection: &Connection) -> Result<(), Problem> {
    let id: i32 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    judge(id, version)
}

fn judge(id: i32, version: i64) -> Result<(), Problem> {
    if id != APPLICATION_ID {
        return Err(Problem::Foreign("an SQLite database of another program".to_owned()));
    }
    match version {
        VERSION => Ok(()),
        newer if newer > VERSION => Err(Problem::Newer { found: newer, known: VERSION }),
        other => Err(Problem::damaged("the header", format!("version {other} was never written"))),
    }
}

/// Whether there is a database; an error where there is another file. It reads bytes alone, so that nothing of a foreign
/// file is changed, not even by a recovery.
fn examine(path: &Path) -> Result<bool, Problem> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error.into()),
    };
    let mut header = Vec::new();
    (&mut file).take(100).read_to_end(&mut header)?;
    if header.is_empty() {
        return Err(Problem::damaged("the file", "it is empty, and a store never is"));
    }
    if !header.starts_with(SQLITE_MAGIC) {
        return Err(Problem::Foreign("no SQLite database".to_owned()));
    }
    let number =
        |at: usize| header.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map(i32::from_be_bytes);
    let (Some(version), Some(id), Some(pages)) = (number(60), number(68), number(28)) else {
        return Err(Problem::damaged("the header", "the file was cut off"));
    };
    judge(id, version.into())?;
    // With a log beside it the file may be shorter than its header says: the log has the rest.
    let log = path.with_file_name("worlds.db-wal");
    if !log.metadata().is_ok_and(|log| log.len() > 0) {
        check_length(&header, pages, file.metadata()?.len())?;
    }
    Ok(true)
}

fn check_length(header: &[u8], pages: i32, bytes: u64) -> Result<(), Problem> {
    let page_bytes = match header.get(16..18) {
        Some([0, 1]) => 65_536,
        Some([high, low]) => u64::from(u16::from_be_bytes([*high, *low])),
        _ => 0,
    };
    let needed = page_bytes * u64::from(pages.unsigned_abs());
    if bytes < needed {
        let what = format!("it has {bytes} of {needed} bytes: it was cut off");
        return Err(Problem::damaged("the file", what));
    }
    Ok(())
}

/// Makes a database that is there as a whole or not at all.
fn create(folder: &Path, path: &Path) -> Result<(), Problem> {
    let unfinished = folder.join("worlds.db.new");
    for name in ["worlds.db.new", "worlds.db.new-journal"] {
        match fs::remove_file(folder.join(name)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
    }
    // What is left of a database that somebody took away would be taken for this one's.
    for name in ["worlds.db-wal", "worlds.db-journal"] {
        if folder.join(name).exists() {
            let what = format!("{name} is there without worlds.db: put that back, or take this away, too");
            return Err(Problem::damaged("the folder", what));
        }
    }
    let connection = Connection::open(&unfinished)?;
    connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "application_id", APPLICATION_ID)?;
    connection.execute_batch(&format!("BEGIN; {TABLES} PRAGMA user_version = {VERSION}; COMMIT;"))?;
    connection.close().map_err(|(_, error)| error)?;
    File::open(&unfinished)?.sync_all()?;
    pass(FailPoint::DatabaseMade);
    fs::rename(&unfinished, path)?;
    sync_folder(folder)?;
    if let Some(parent) = folder.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        sync_folder(parent)?;
    }
    Ok(())
}

/// A new name is durable once its folder is.
pub(super) fn sync_folder(folder: &Path) -> Result<(), Problem> {
    #[cfg(unix)]
    File::open(folder)?.sync_all()?;
    #[cfg(not(unix))]
    let _ = folder;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_let_go_of_while_a_child_that_has_just_begun_still_holds_the_file() {
        let folder = std::env::temp_dir().join(format!("nowcast-store-lock-{}", std::process::id()));
        let taken = lock(&folder).expect("nobody has it");
        // What `fork` gives a child until it calls `exec`: the same open file.
        let of_the_child = taken.0.try_clone().expect("there are descriptors");
        assert!(matches!(lock(&folder), Err(StoreError { problem: Problem::InUse { .. }, .. })));
        drop(taken);
        assert!(lock(&folder).is_ok());
        drop(of_the_child);
        fs::remove_dir_all(&folder).expect("it is this test's own");
    }
}
