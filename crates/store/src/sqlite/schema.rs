//! The files of a store, and the checks before any of them is changed.
//!
//! | file | content |
//! | --- | --- |
//! | `worlds.db` | the database, with `-wal` and `-shm` next to it while it is open |
//! | `worlds.db.new` | a database under construction; it becomes `worlds.db` when it is complete |
//! | `lock` | locked by the writing process |

use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use parking_lot::Mutex;
use rusqlite::{Connection, OpenFlags};

use crate::error::{Problem, StoreError};
use crate::fail_point::{FailPoint, pass};

/// Identifies the file as a store of nowcast: `NOWC`.
const APPLICATION_ID: i32 = 0x4e4f_5743;

/// The version of the tables.
const VERSION: i64 = 2;

/// The first bytes of every SQLite database.
const SQLITE_MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// Bytes of the log's file that are kept for reuse.
const LOG_BYTES_MAX: i64 = 64 << 20;

/// Time for which one connection waits for another connection of the same store.
const BUSY: Duration = Duration::from_secs(5);

/// The number of a batch is one more than that of the previous batch. A snapshot has the number of its last batch. A
/// missing number is a hole, and a hole is followed by a snapshot.
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
CREATE TABLE accounts (
    world TEXT NOT NULL,
    account TEXT NOT NULL,
    version INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    changed_ms INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (world, account)
) STRICT, WITHOUT ROWID;
";

/// The database of a folder.
pub(super) fn database(folder: &Path) -> PathBuf {
    folder.join("worlds.db")
}

/// The exclusive lock of this process on a folder, held until this value is dropped. The kernel also releases the lock when
/// the process ends in any way.
///
/// There are two locks: one on the file `lock`, and on Unix one on the folder itself. So a second process is refused
/// even if `lock` was removed.
pub(super) struct FolderLock {
    lock: File,
    folder: Option<File>,
    places: Places,
}

impl FolderLock {
    /// Adds the database to the files whose removal is detected.
    pub(super) fn watch_database(&mut self, folder: &Path) -> Result<(), StoreError> {
        let path = database(folder);
        self.places.add(&path).map_err(|error| StoreError::new(&path, error.into()))
    }

    /// The path of the database.
    pub(super) fn database(&self) -> PathBuf {
        self.places.0.first().map_or_else(PathBuf::new, |(folder, _)| database(folder))
    }

    /// The files whose removal is detected.
    pub(super) fn places(&self) -> &Places {
        &self.places
    }
}

impl Drop for FolderLock {
    fn drop(&mut self) {
        // Closing the file is not enough, because a child of this process between `fork` and `exec` shares the open file and
        // its lock. If unlocking fails, the next process that opens the folder reports an error.
        let _ = self.lock.unlock();
        if let Some(folder) = &self.folder {
            let _ = folder.unlock();
        }
    }
}

/// Files and folders of an open store, each with its identity when it was opened.
#[derive(Clone, Debug, Default)]
pub(super) struct Places(Vec<(PathBuf, Identity)>);

/// The device and number of a file on Unix. On other systems only a missing file is detected.
type Identity = (u64, u64);

impl Places {
    fn add(&mut self, path: &Path) -> std::io::Result<()> {
        self.0.push((path.to_owned(), identity(&fs::metadata(path)?)));
        Ok(())
    }

    /// Checks whether all files are still the files that were opened.
    ///
    /// # Errors
    /// Returns [`Problem::Gone`] with the first file that is not.
    pub(super) fn check(&self) -> Result<(), Problem> {
        let is_there =
            |path: &Path, known: &Identity| fs::metadata(path).is_ok_and(|found| identity(&found) == *known);
        match self.0.iter().find(|(path, known)| !is_there(path, known)) {
            Some((path, _)) => Err(Problem::Gone(path.clone())),
            None => Ok(()),
        }
    }
}

#[cfg(unix)]
fn identity(metadata: &fs::Metadata) -> Identity {
    use std::os::unix::fs::MetadataExt as _;
    (metadata.dev(), metadata.ino())
}

#[cfg(not(unix))]
fn identity(_: &fs::Metadata) -> Identity {
    (0, 0)
}

/// Locks the folder for this process.
pub(super) fn lock(folder: &Path) -> Result<FolderLock, StoreError> {
    fs::create_dir_all(folder).map_err(|error| StoreError::new(folder, error.into()))?;
    let path = folder.join("lock");
    let failed = |error: std::io::Error| StoreError::new(&path, error.into());
    let mut file =
        File::options().read(true).write(true).create(true).truncate(false).open(&path).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(in_use(folder, file)),
        Err(TryLockError::Error(error)) => return Err(failed(error)),
    }
    let folder_file = match lock_folder_itself(folder) {
        Ok(folder_file) => folder_file,
        Err(FolderTaken) => return Err(in_use(folder, file)),
    };
    file.set_len(0).and_then(|()| file.seek(SeekFrom::Start(0))).map_err(failed)?;
    // The pid is written only for the error above. The lock is held even if writing the pid fails. If the disk is full,
    // opening the database reports it.
    let _ = writeln!(file, "{}", std::process::id());
    let mut places = Places::default();
    places.add(folder).and_then(|()| places.add(&path)).map_err(failed)?;
    Ok(FolderLock { lock: file, folder: folder_file, places })
}

fn in_use(folder: &Path, lock: File) -> StoreError {
    let mut text = String::new();
    let pid = lock.take(32).read_to_string(&mut text).ok().and_then(|_| text.trim().parse().ok());
    StoreError::new(folder, Problem::InUse { pid })
}

/// The error for a folder that another process has locked.
struct FolderTaken;

/// Locks the folder itself, if the file system supports that. Otherwise only the file `lock` protects the folder.
fn lock_folder_itself(folder: &Path) -> Result<Option<File>, FolderTaken> {
    if !cfg!(unix) {
        return Ok(None);
    }
    let Ok(file) = File::open(folder) else { return Ok(None) };
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Err(FolderTaken),
        Err(TryLockError::Error(_)) => Ok(None),
    }
}

/// A connection to a store whose file was checked.
pub(super) struct Database {
    pub(super) connection: Connection,
    /// Dropped after the connection.
    _open: OpenFile,
}

/// The number of connections of this process to each file.
static OPEN_FILES: Mutex<BTreeMap<PathBuf, usize>> = Mutex::new(BTreeMap::new());

/// Registers a connection of this process to a file. SQLite's locks on a file belong to the process, and the kernel
/// drops them all when the process closes *any* handle of that file. So the file is read without SQLite only while no
/// connection has it open.
struct OpenFile(PathBuf);

impl Drop for OpenFile {
    fn drop(&mut self) {
        let mut files = OPEN_FILES.lock();
        match files.get_mut(&self.0) {
            Some(count) if *count > 1 => *count -= 1,
            _ => drop(files.remove(&self.0)),
        }
    }
}

/// Opens the database for writing, and makes one if there is none. The folder must be locked.
pub(super) fn open_writer(folder: &Path) -> Result<Database, StoreError> {
    open(folder, |path, is_known| {
        if !is_known && !examine(path)? {
            create(folder, path)?;
        }
        open_existing(path)
    })
}

/// Opens the database for reading, even while another process writes.
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

/// Opens only one file at a time. `make` receives whether this process has the file open already.
fn open(
    folder: &Path,
    make: impl FnOnce(&Path, bool) -> Result<Connection, Problem>,
) -> Result<Database, StoreError> {
    let path = database(folder);
    let mut files = OPEN_FILES.lock();
    // The path is made canonical, because one file may have several paths. If there is no folder, there is no file, either.
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
    // A log that has grown long is truncated when it restarts.
    connection.pragma_update_and_check(None, "journal_size_limit", LOG_BYTES_MAX, |_| Ok(()))?;
    // On macOS a plain sync leaves bytes in the cache of the disk.
    connection.pragma_update(None, "fullfsync", true)?;
    connection.pragma_update(None, "checkpoint_fullfsync", true)?;
    // Checks now, and not only at the first commit, whether the database can be written.
    connection.execute_batch("BEGIN IMMEDIATE; ROLLBACK;")?;
    Ok(connection)
}

/// The file is untrusted: no code in it is executed.
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
        other => {
            Err(Problem::damaged("the header", format!("no release wrote version {other} of the tables")))
        }
    }
}

/// Returns whether there is a database, or an error if there is a file that is not a database. It only reads bytes, so a
/// foreign file is never changed, not even by a recovery.
fn examine(path: &Path) -> Result<bool, Problem> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error.into()),
    };
    let mut header = Vec::new();
    (&mut file).take(100).read_to_end(&mut header)?;
    if header.is_empty() {
        return Err(Problem::damaged("the file", "it is empty, which a store never is"));
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
    // If there is a log next to the file, the file may be shorter than its header states, because the log has the missing
    // pages.
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

/// Makes a database atomically: it exists completely or not at all.
fn create(folder: &Path, path: &Path) -> Result<(), Problem> {
    let unfinished = folder.join("worlds.db.new");
    for name in ["worlds.db.new", "worlds.db.new-journal"] {
        match fs::remove_file(folder.join(name)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
    }
    // SQLite would apply the remaining files of a removed database to the new one.
    for name in ["worlds.db-wal", "worlds.db-journal"] {
        if folder.join(name).exists() {
            let what = format!("{name} is there without worlds.db: put that back, or take this away, too");
            return Err(Problem::damaged("the folder", what));
        }
    }
    create_private(&unfinished)?;
    let connection = Connection::open(&unfinished)?;
    connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "application_id", APPLICATION_ID)?;
    connection.execute_batch(&format!("BEGIN; {TABLES} PRAGMA user_version = {VERSION}; COMMIT;"))?;
    connection.close().map_err(|(_, error)| error)?;
    sync_file(&unfinished)?;
    pass(FailPoint::DatabaseMade);
    fs::rename(&unfinished, path)?;
    sync_folder(folder)?;
    if let Some(parent) = folder.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        sync_folder(parent)?;
    }
    Ok(())
}

/// Creates an empty file that other users of the machine cannot read. SQLite gives the files next to a database the permissions of
/// the database. On other systems than Unix, the folder's permissions apply.
pub(super) fn create_private(path: &Path) -> std::io::Result<()> {
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map(drop)
}

/// Writes the content of a file to the disk. Windows does this only for a file that is open for writing.
pub(super) fn sync_file(path: &Path) -> std::io::Result<()> {
    File::options().write(true).open(path)?.sync_all()
}

/// The new name of a file is durable only after its folder is synced.
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
    fn folder_is_free_again_although_a_forked_child_still_has_the_lock_file_open() {
        let folder = std::env::temp_dir().join(format!("nowcast-store-lock-{}", std::process::id()));
        let taken = lock(&folder).expect("nobody has it");
        // `fork` gives a child the same open files until it calls `exec`.
        let of_the_child = [&taken.lock, taken.folder.as_ref().expect("the folder can be locked")]
            .map(|file| file.try_clone().expect("the system has file descriptors"));
        assert!(matches!(lock(&folder), Err(StoreError { problem: Problem::InUse { .. }, .. })));
        drop(taken);
        assert!(lock(&folder).is_ok());
        drop(of_the_child);
        fs::remove_dir_all(&folder).expect("the test made it");
    }

    #[test]
    #[cfg(unix)]
    fn a_removed_lock_file_lets_no_second_process_in() {
        let folder = std::env::temp_dir().join(format!("nowcast-store-unlocked-{}", std::process::id()));
        let taken = lock(&folder).expect("nobody has it");
        fs::remove_file(folder.join("lock")).expect("the lock file exists");
        assert!(matches!(lock(&folder), Err(StoreError { problem: Problem::InUse { .. }, .. })));
        assert!(matches!(taken.places().check(), Err(Problem::Gone(path)) if path == folder.join("lock")));
        drop(taken);
        assert!(lock(&folder).is_ok());
        fs::remove_dir_all(&folder).expect("the test made it");
    }
}
