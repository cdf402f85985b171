//! Observes SQLite's files: a [`Disk`] sees each write and each sync in a watched folder first.
//!
//! SQLite accesses files through a "VFS" (<https://sqlite.org/vfs.html>). The VFS of this module is a copy of the system's VFS.
//! For files in watched folders, it replaces four methods: write, truncate, sync and close. All other files use the system's
//! methods.
//!
//! | memory | acquired | released |
//! | --- | --- | --- |
//! | the VFS | `install`, once | never |
//! | `Watched`, behind the system's own part of a file | `open` | `close` |
#![allow(unsafe_code)]

use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
use std::mem::{align_of, size_of};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::ptr;
use std::sync::{Arc, Once, OnceLock};

use rusqlite::ffi::{
    SQLITE_IOERR_FSYNC, SQLITE_IOERR_TRUNCATE, SQLITE_IOERR_WRITE, SQLITE_OK, SQLITE_OPEN_CREATE,
    SQLITE_OPEN_MAIN_DB, SQLITE_OPEN_MAIN_JOURNAL, SQLITE_OPEN_WAL, sqlite3_file, sqlite3_filename,
    sqlite3_int64, sqlite3_io_methods, sqlite3_vfs, sqlite3_vfs_find, sqlite3_vfs_register,
};

use super::disk::{Disk, FileId, Verdict};

const NAME: &CStr = c"nowcast-disk";

/// The system's VFS, from the first [`install`] on.
static SYSTEM: OnceLock<System> = OnceLock::new();

struct System(*mut sqlite3_vfs);

// SAFETY: SQLite's own VFS is a static of its library, and any thread may call it.
unsafe impl Send for System {}
// SAFETY: as above.
unsafe impl Sync for System {}

/// The record of a file in a watched folder. It is stored behind the system's own part of the file, in memory that SQLite
/// provides and does not move.
#[repr(C)]
struct Watched {
    methods: sqlite3_io_methods,
    system: *const sqlite3_io_methods,
    disk: Arc<Disk>,
    file: FileId,
}

/// Watches files of this process from now on. Files in folders that are not watched use the system's VFS.
pub(super) fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: a null name requests the default VFS, which SQLite creates if there is none.
        let system = unsafe { sqlite3_vfs_find(ptr::null()) };
        assert!(!system.is_null(), "SQLite has files");
        SYSTEM.get_or_init(|| System(system));
        // SAFETY: SQLite's VFS is a valid structure until the program ends. It is copied together with its private data, because
        // its methods need these data in every VFS.
        let mut ours = unsafe { *system };
        ours.szOsFile = c_int::try_from(watched_at() + size_of::<Watched>()).expect("a file is small");
        ours.pNext = ptr::null_mut();
        ours.zName = NAME.as_ptr();
        ours.xOpen = Some(open);
        ours.xDelete = Some(delete);
        let ours = Box::leak(Box::new(ours));
        // SAFETY: the structure and its name exist until the program ends.
        let registered = unsafe { sqlite3_vfs_register(ours, 1) };
        assert_eq!(registered, SQLITE_OK, "SQLite takes a VFS");
    });
}

fn system() -> *mut sqlite3_vfs {
    SYSTEM.get().expect("`install` runs before files are opened").0
}

/// Returns the offset of [`Watched`] in the memory of a file. The record is behind the system's own part.
fn watched_at() -> usize {
    // SAFETY: the pointer refers to SQLite's own structure, which lives as long as the program.
    let bytes = unsafe { (*system()).szOsFile };
    usize::try_from(bytes).expect("a size").next_multiple_of(align_of::<Watched>())
}

/// Returns the record of a file.
///
/// # Safety
/// `file` must have been opened by [`open`] with the methods of a [`Watched`], and must not be closed.
unsafe fn watched<'f>(file: *mut sqlite3_file) -> &'f Watched {
    // SAFETY: `open` has put the value there. SQLite aligns the memory of files to eight bytes, and nothing writes to this place
    // until `close`.
    unsafe { &*file.byte_add(watched_at()).cast::<Watched>() }
}

/// Returns the path that SQLite passes.
///
/// # Safety
/// `name` must be null, or a text that ends with a zero and lives as long as the path is used.
unsafe fn path<'n>(name: *const c_char) -> Option<&'n Path> {
    if name.is_null() {
        return None;
    }
    // SAFETY: the caller guarantees this.
    let name = unsafe { CStr::from_ptr(name) };
    Some(Path::new(OsStr::from_bytes(name.to_bytes())))
}

unsafe extern "C" fn open(
    _: *mut sqlite3_vfs,
    name: sqlite3_filename,
    file: *mut sqlite3_file,
    flags: c_int,
    flags_out: *mut c_int,
) -> c_int {
    let system = system();
    // SAFETY: the system's VFS has this method, and its part of the file lies first.
    let system_open =
        || unsafe { ((*system).xOpen.expect("xOpen is set"))(system, name, file, flags, flags_out) };
    let kinds = SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL;
    // SAFETY: SQLite's names are texts that live until the file is closed. The name of a file without a name is null.
    let Some(path) = (unsafe { path(name) }).filter(|_| flags & kinds != 0) else { return system_open() };
    let Some(disk) = Disk::of(path) else { return system_open() };
    let mut outcome = SQLITE_OK;
    let opened = disk.open(path, flags & SQLITE_OPEN_CREATE != 0, || {
        outcome = system_open();
        outcome == SQLITE_OK
    });
    let Some(id) = opened else { return outcome };
    // SAFETY: the system has opened the file and set its methods, which live until it is closed.
    let system_methods = unsafe { (*file).pMethods };
    // SAFETY: as above; the structure is copied.
    let mut methods = unsafe { *system_methods };
    // Without the methods of version 3, no file is mapped into memory. A mapping would bypass the watched methods.
    methods.iVersion = methods.iVersion.min(2);
    methods.xWrite = Some(write);
    methods.xTruncate = Some(truncate);
    methods.xSync = Some(sync);
    methods.xClose = Some(close);
    let own = Watched { methods, system: system_methods, disk, file: id };
    // SAFETY: `szOsFile` has room for a `Watched` behind the system's part, aligned; `close` drops this value.
    unsafe {
        let place = file.byte_add(watched_at()).cast::<Watched>();
        place.write(own);
        (*file).pMethods = &raw const (*place).methods;
    }
    SQLITE_OK
}

unsafe extern "C" fn close(file: *mut sqlite3_file) -> c_int {
    // SAFETY: SQLite closes a file once, and `open` has opened this one. The value that is taken out is not used again.
    let own = unsafe { file.byte_add(watched_at()).cast::<Watched>().read() };
    // SAFETY: the system's methods belong to the first part of the same file.
    unsafe {
        (*file).pMethods = own.system;
        ((*own.system).xClose.expect("xClose is set"))(file)
    }
}

unsafe extern "C" fn write(
    file: *mut sqlite3_file,
    bytes: *const c_void,
    length: c_int,
    at: sqlite3_int64,
) -> c_int {
    // SAFETY: only files that `open` has opened have this method.
    let own = unsafe { watched(file) };
    let count = usize::try_from(length).unwrap_or(0);
    // SAFETY: SQLite lends `count` bytes for the length of the call.
    let slice = unsafe { std::slice::from_raw_parts(bytes.cast::<u8>(), count) };
    own.disk.write(own.file, u64::try_from(at).unwrap_or(0), slice, |part, verdict| {
        let part = c_int::try_from(part).unwrap_or(length);
        // SAFETY: the system's method of the same file, with no more bytes than were lent.
        let outcome = unsafe { ((*own.system).xWrite.expect("xWrite is set"))(file, bytes, part, at) };
        match verdict {
            Verdict::Works => outcome,
            Verdict::Fails => SQLITE_IOERR_WRITE,
            Verdict::Full => rusqlite::ffi::SQLITE_FULL,
        }
    })
}

unsafe extern "C" fn truncate(file: *mut sqlite3_file, length: sqlite3_int64) -> c_int {
    // SAFETY: only files that `open` has opened have this method.
    let own = unsafe { watched(file) };
    own.disk.truncate(own.file, u64::try_from(length).unwrap_or(0), |verdict| match verdict {
        // SAFETY: the system's method of the same file.
        Verdict::Works => unsafe { ((*own.system).xTruncate.expect("xTruncate is set"))(file, length) },
        Verdict::Fails | Verdict::Full => SQLITE_IOERR_TRUNCATE,
    })
}

unsafe extern "C" fn sync(file: *mut sqlite3_file, flags: c_int) -> c_int {
    // SAFETY: only files that `open` has opened have this method.
    let own = unsafe { watched(file) };
    own.disk.sync(own.file, |verdict| match verdict {
        // SAFETY: the system's method of the same file.
        Verdict::Works => unsafe { ((*own.system).xSync.expect("xSync is set"))(file, flags) },
        Verdict::Fails | Verdict::Full => SQLITE_IOERR_FSYNC,
    })
}

unsafe extern "C" fn delete(_: *mut sqlite3_vfs, name: *const c_char, sync_folder: c_int) -> c_int {
    let system = system();
    // SAFETY: the system's VFS has this method.
    let system_delete = || unsafe { ((*system).xDelete.expect("xDelete is set"))(system, name, sync_folder) };
    // SAFETY: SQLite's names are texts that live until the call is over.
    match unsafe { path(name) }.and_then(|path| Some((path, Disk::of(path)?))) {
        Some((path, disk)) => disk.delete(path, sync_folder != 0, system_delete),
        None => system_delete(),
    }
}
