//! A model of a disk that records writes and syncs. It restores the disk as a power cut at any moment would leave it. It can also
//! fail on request, and be slow.
//!
//! In this model, a cut keeps all synced data. For later writes to a file, each sector of 512 bytes is present, absent, or
//! present up to some byte. Unwritten bytes behind the old end of a file are zeros or random. New and deleted names reach the
//! disk in order, up to a random one. If a new file is synced, its name is also on the disk. A failed sync loses part of its data
//! for ever, as on Linux (<https://lwn.net/Articles/752063/>).
//!
//! The model does not include disks that report a sync before it is done, sectors that change without a write, and read errors.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use nowcast_world::Random;

const SECTOR: usize = 512;

/// Maximum number of consecutive requests that fail.
const FAULTS_IN_ROW: u64 = 4;

/// Maximum number of series of failures. A transaction of a large snapshot has about three hundred writes. If one in fifty of
/// them failed, nearly every attempt would fail. A store that waits up to two seconds between attempts would then never finish.
/// With this limit, all pauses together take about a minute.
const FAULT_ROWS: u64 = 8;

/// The number of a file of a disk, in the order of creation. A name that is deleted and created again is another file.
pub(super) type FileId = usize;

/// The folders that are watched.
static WATCHED: Mutex<Vec<(PathBuf, Weak<Disk>)>> = Mutex::new(Vec::new());

/// The disk of one folder.
#[derive(Debug)]
pub(in crate::crash) struct Disk {
    folder: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    log: Vec<Step>,
    names: BTreeMap<String, FileId>,
    files: FileId,
    faults: Option<Faults>,
    failed: u64,
    sync_delay: Duration,
    drops_syncs: bool,
}

/// The outcome of a request to the disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Verdict {
    Works,
    Fails,
    /// The disk is full.
    Full,
}

/// Decides which requests fail: occasionally one request, together with some requests that follow it.
#[derive(Debug)]
struct Faults {
    random: Random,
    one_in: u64,
    /// Number of requests that succeed before the next series of failures.
    working: u64,
    left: u64,
    rows_left: u64,
}

impl Faults {
    fn new(one_in: u64, seed: u64) -> Faults {
        let mut random = Random::new(seed);
        let working = pause(one_in, &mut random);
        Faults { random, one_in, working, left: 0, rows_left: FAULT_ROWS }
    }
}

/// Returns the number of requests before the next failure. This number is one less than `one_in` on average, and always below
/// twice `one_in`.
fn pause(one_in: u64, random: &mut Random) -> u64 {
    random.bits() % (2 * one_in - 1)
}

/// The events on the disk, in order.
#[derive(Debug)]
enum Step {
    /// A file is created.
    Make {
        file: FileId,
        name: String,
    },
    /// A file appears that was renamed to its final name after it was synced.
    Appear {
        file: FileId,
        name: String,
        bytes: Vec<u8>,
    },
    Delete {
        name: String,
        is_synced: bool,
    },
    Write {
        file: FileId,
        at: u64,
        bytes: Vec<u8>,
    },
    Truncate {
        file: FileId,
        length: u64,
    },
    Sync {
        file: FileId,
        worked: bool,
    },
}

impl Disk {
    /// Watches an existing folder while the disk exists. The VFS must be installed before.
    pub(in crate::crash) fn watch(folder: &Path) -> std::io::Result<Arc<Disk>> {
        let folder = folder.canonicalize()?;
        let mut state = State {
            log: Vec::new(),
            names: BTreeMap::new(),
            files: 0,
            faults: None,
            failed: 0,
            sync_delay: Duration::ZERO,
            drops_syncs: false,
        };
        for entry in std::fs::read_dir(&folder)? {
            let path = entry?.path();
            let name = name_of(&path);
            // After a cut, the shared-memory index of a log is rebuilt, and locks are released. Therefore these files are left
            // out.
            if path.is_file() && name != "lock" && !name.ends_with("-shm") {
                state.appear(name, std::fs::read(&path)?);
            }
        }
        let disk = Arc::new(Disk { folder: folder.clone(), state: Mutex::new(state) });
        let mut watched = WATCHED.lock().unwrap_or_else(PoisonError::into_inner);
        watched.retain(|(_, disk)| disk.strong_count() > 0);
        watched.push((folder, Arc::downgrade(&disk)));
        Ok(disk)
    }

    /// Returns the disk that watches the folder of a file.
    pub(super) fn of(path: &Path) -> Option<Arc<Disk>> {
        let parent = path.parent()?;
        let watched = WATCHED.lock().unwrap_or_else(PoisonError::into_inner);
        // SQLite only passes absolute paths.
        watched.iter().find(|(folder, _)| folder == parent).and_then(|(_, disk)| disk.upgrade())
    }

    /// Returns the number of steps so far. A cut at this position happens after all these steps.
    pub(super) fn position(&self) -> usize {
        self.lock().log.len()
    }

    /// Lets requests fail from now on. On average, one write, truncation or sync in `one_in` fails. The first failure is among
    /// the first `2 * one_in` requests, and up to three more follow it directly. The number of series is limited. 0 stops the
    /// failures.
    pub(super) fn fail(&self, one_in: u64, seed: u64) {
        self.lock().faults = (one_in > 0).then(|| Faults::new(one_in, seed));
    }

    /// If set, later syncs make nothing durable, like those of a disk that reports a sync too early.
    pub(super) fn drop_syncs(&self, drops_syncs: bool) {
        self.lock().drops_syncs = drops_syncs;
    }

    /// Returns the number of requests that failed on purpose.
    pub(super) fn failed(&self) -> u64 {
        self.lock().failed
    }

    /// Makes each sync take this much longer from now on. Steps are then not recorded, so cuts are not possible.
    pub(in crate::crash) fn delay_syncs(&self, delay: Duration) {
        self.lock().sync_delay = delay;
    }

    /// Returns the states that a power cut would leave, at positions in rising order.
    pub(super) fn cuts(&self) -> Cuts<'_> {
        Cuts { state: self.lock(), at: 0, files: Vec::new(), names: BTreeMap::new(), changes: Vec::new() }
    }

    pub(super) fn open(&self, path: &Path, may_make: bool, open: impl FnOnce() -> bool) -> Option<FileId> {
        let mut state = self.lock();
        let was_there = path.exists();
        if !open() {
            return None;
        }
        let name = name_of(path);
        if let Some(file) = state.names.get(&name).filter(|_| was_there) {
            return Some(*file);
        }
        if was_there || !may_make {
            return Some(state.appear(name, std::fs::read(path).unwrap_or_default()));
        }
        let file = state.number(&name);
        state.log.push(Step::Make { file, name });
        Some(file)
    }

    pub(super) fn delete(&self, path: &Path, is_synced: bool, delete: impl FnOnce() -> i32) -> i32 {
        let mut state = self.lock();
        let outcome = delete();
        let name = name_of(path);
        if outcome == 0 && state.names.remove(&name).is_some() {
            state.log.push(Step::Delete { name, is_synced });
        }
        outcome
    }

    /// Performs a write. `write` receives the number of bytes to write, and the outcome of the request.
    pub(super) fn write(
        &self,
        file: FileId,
        at: u64,
        bytes: &[u8],
        write: impl FnOnce(usize, Verdict) -> i32,
    ) -> i32 {
        let mut state = self.lock();
        let verdict = state.judge();
        let part = if verdict == Verdict::Works { bytes.len() } else { bytes.len() / 2 };
        let outcome = write(part, verdict);
        state.log.push(Step::Write { file, at, bytes: bytes[..part].to_vec() });
        outcome
    }

    pub(super) fn truncate(&self, file: FileId, length: u64, truncate: impl FnOnce(Verdict) -> i32) -> i32 {
        let mut state = self.lock();
        let outcome = truncate(state.judge());
        if outcome == 0 {
            state.log.push(Step::Truncate { file, length });
        }
        outcome
    }

    pub(super) fn sync(&self, file: FileId, sync: impl FnOnce(Verdict) -> i32) -> i32 {
        let (verdict, delay) = {
            let mut state = self.lock();
            (state.judge(), state.sync_delay)
        };
        let outcome = sync(verdict);
        if delay > Duration::ZERO {
            std::thread::sleep(delay);
        }
        let mut state = self.lock();
        if !state.drops_syncs {
            state.log.push(Step::Sync { file, worked: outcome == 0 });
        }
        if delay > Duration::ZERO {
            // Slow disks are used for long measurements that need no cuts. The log would fill the memory.
            state.log.clear();
        }
        outcome
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Each step is recorded as a whole, so the state is consistent.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let mut watched = WATCHED.lock().unwrap_or_else(PoisonError::into_inner);
        watched.retain(|(folder, disk)| *folder != self.folder || disk.strong_count() > 0);
    }
}

impl State {
    /// Adds a file that exists with all of its bytes.
    fn appear(&mut self, name: String, bytes: Vec<u8>) -> FileId {
        let file = self.number(&name);
        self.log.push(Step::Appear { file, name, bytes });
        file
    }

    fn number(&mut self, name: &str) -> FileId {
        let file = self.files;
        self.files += 1;
        self.names.insert(name.to_owned(), file);
        file
    }

    fn judge(&mut self) -> Verdict {
        let Some(faults) = &mut self.faults else { return Verdict::Works };
        if faults.left == 0 {
            if faults.rows_left == 0 {
                return Verdict::Works;
            }
            if faults.working > 0 {
                faults.working -= 1;
                return Verdict::Works;
            }
            faults.rows_left -= 1;
            faults.working = pause(faults.one_in, &mut faults.random);
            faults.left = 1 + faults.random.bits() % FAULTS_IN_ROW;
        }
        faults.left -= 1;
        self.failed += 1;
        if faults.random.bits().is_multiple_of(3) { Verdict::Full } else { Verdict::Fails }
    }
}

/// The files of the folder after a cut, by name.
pub(super) type Image = BTreeMap<String, Vec<u8>>;

/// The states that power cuts would leave. The disk stays locked until this value is dropped.
pub(super) struct Cuts<'d> {
    state: MutexGuard<'d, State>,
    at: usize,
    files: Vec<File>,
    /// The names that have reached the disk.
    names: BTreeMap<String, FileId>,
    /// The changes of names that have not reached the disk.
    changes: Vec<(String, Option<FileId>)>,
}

#[derive(Default)]
struct File {
    synced: Vec<u8>,
    pending: Vec<Change>,
}

/// The position in the log at which the bytes of a change are recorded.
#[derive(Clone, Copy)]
struct Change(usize);

impl Cuts<'_> {
    /// Returns the number of all steps.
    pub(super) fn len(&self) -> usize {
        self.state.log.len()
    }

    /// Whether a step is a sync. Cuts next to a sync lose unsynced data, or happen just after it was saved.
    pub(super) fn is_sync(&self, step: usize) -> bool {
        matches!(self.state.log.get(step), Some(Step::Sync { .. }))
    }

    /// Returns the state that a cut after this many steps leaves. The positions of successive calls must not decrease.
    pub(super) fn at(&mut self, position: usize, random: &mut Random) -> Image {
        assert!(position >= self.at, "time goes on");
        while self.at < position {
            self.step(random);
        }
        let mut names = self.names.clone();
        let kept = random.bits() as usize % (self.changes.len() + 1);
        apply_names(&mut names, &self.changes[..kept]);
        let torn = |(name, file): (String, FileId)| (name, self.torn(&self.files[file], random));
        names.into_iter().map(torn).collect()
    }

    fn step(&mut self, random: &mut Random) {
        let index = self.at;
        self.at += 1;
        match &self.state.log[index] {
            Step::Make { file, name } => {
                add_file(&mut self.files, *file, Vec::new());
                self.changes.push((name.clone(), Some(*file)));
            }
            Step::Appear { file, name, bytes } => {
                add_file(&mut self.files, *file, bytes.clone());
                apply_names(&mut self.names, &std::mem::take(&mut self.changes));
                self.names.remove(&format!("{name}.new"));
                self.names.insert(name.clone(), *file);
            }
            Step::Delete { name, is_synced } => {
                self.changes.push((name.clone(), None));
                if *is_synced {
                    apply_names(&mut self.names, &std::mem::take(&mut self.changes));
                }
            }
            Step::Write { file, .. } | Step::Truncate { file, .. } => {
                self.files[*file].pending.push(Change(index));
            }
            Step::Sync { file, worked: true } => {
                let File { synced, pending } = &mut self.files[*file];
                pending.drain(..).for_each(|change| keep(&self.state.log[change.0], synced));
                if let Some(made) = self.changes.iter().position(|(_, made)| *made == Some(*file)) {
                    let reached: Vec<_> = self.changes.drain(..=made).collect();
                    apply_names(&mut self.names, &reached);
                }
            }
            Step::Sync { file, worked: false } => {
                self.files[*file].pending.retain(|_| random.bits().is_multiple_of(2));
            }
        }
    }

    /// Returns a file as a cut leaves it.
    fn torn(&self, file: &File, random: &mut Random) -> Vec<u8> {
        let mut bytes = file.synced.clone();
        // The share of the bytes that reach the disk: none, a quarter, a half, three quarters, or all.
        let share = random.bits() % 5;
        let is_junk = random.bits().is_multiple_of(2);
        for change in &file.pending {
            match &self.state.log[change.0] {
                Step::Truncate { length, .. } if random.bits() % 4 < share => {
                    bytes.truncate(*length as usize);
                }
                Step::Write { at, bytes: written, .. } => {
                    tear(&mut bytes, file.synced.len(), *at as usize, written, share, is_junk, random);
                }
                _ => {}
            }
        }
        bytes
    }
}

/// Applies some sectors of a write. Of these sectors, some are applied only up to some byte.
fn tear(
    bytes: &mut Vec<u8>,
    synced: usize,
    at: usize,
    written: &[u8],
    share: u64,
    is_junk: bool,
    random: &mut Random,
) {
    let end = at + written.len();
    let mut from = at;
    while from < end {
        let to = ((from / SECTOR + 1) * SECTOR).min(end);
        let sector = &written[from - at..to - at];
        let kept = match random.bits() % 4 {
            quarter if quarter < share && random.bits().is_multiple_of(16) => {
                random.bits() as usize % (sector.len() + 1)
            }
            quarter if quarter < share => sector.len(),
            _ => 0,
        };
        // The new length of a file may reach the disk before its bytes.
        if kept > 0 || (to > bytes.len() && random.bits().is_multiple_of(4)) {
            let before = bytes.len();
            if to > before {
                bytes.resize(to, 0);
                if is_junk {
                    bytes[before.max(synced)..].fill_with(|| random.bits() as u8);
                }
            }
            bytes[from..from + kept].copy_from_slice(&sector[..kept]);
        }
        from = to;
    }
}

fn keep(step: &Step, bytes: &mut Vec<u8>) {
    match step {
        Step::Write { at, bytes: written, .. } => {
            let (from, to) = (*at as usize, *at as usize + written.len());
            bytes.resize(bytes.len().max(to), 0);
            bytes[from..to].copy_from_slice(written);
        }
        Step::Truncate { length, .. } => bytes.truncate(*length as usize),
        _ => {}
    }
}

fn add_file(files: &mut Vec<File>, file: FileId, synced: Vec<u8>) {
    debug_assert_eq!(files.len(), file, "files are numbered in the order of creation");
    files.push(File { synced, pending: Vec::new() });
}

fn apply_names(names: &mut BTreeMap<String, FileId>, changes: &[(String, Option<FileId>)]) {
    for (name, file) in changes {
        match file {
            Some(file) => names.insert(name.clone(), *file),
            None => names.remove(name),
        };
    }
}

fn name_of(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crash::TrialFolder;

    #[test]
    fn a_failing_disk_works_again_after_a_bounded_number_of_failures() {
        let folder = TrialFolder::new("disk").expect("there is room");
        let disk = Disk::watch(&folder.path).expect("the folder exists");
        for seed in 0..20 {
            let before = disk.failed();
            disk.fail(1, seed);
            let verdicts: Vec<Verdict> = (0..100).map(|_| disk.lock().judge()).collect();
            let failed = disk.failed() - before;
            assert!((FAULT_ROWS..=FAULT_ROWS * FAULTS_IN_ROW).contains(&failed), "{failed} of seed {seed}");
            assert!(verdicts[failed as usize..].iter().all(|verdict| *verdict == Verdict::Works));
        }
    }
}
