//! Power cuts, simulated with a model of the disk.
//!
//! The model: a cut keeps all synced data. Of later writes it keeps any sectors of 512 bytes, and any length of a file
//! that has grown. Files are copied before and after one transaction. The test opens mixtures of the two states that the
//! order of SQLite's syncs allows: the log is synced before its pages are written to the database, and the database is
//! synced before the log is restarted.
//!
//! Not covered: disks that report a sync before it is done, sectors that change without a write, and whether SQLite and
//! the kernel really sync in that order. For the latter, see SQLite's own tests; SQLite documents `synchronous=FULL` as
//! safe.

use std::fs;
use std::path::Path;
use std::sync::mpsc::{Sender, channel};

use nowcast_store::{Moment, Options, SqliteStore, Store};
use nowcast_world::Random;

use super::garden::{self, Story};
use super::{Folder, PATIENCE, name, seeds};

const SECTOR: usize = 512;

/// The database and its log at one moment.
#[derive(Clone, PartialEq)]
struct Disk {
    database: Vec<u8>,
    log: Vec<u8>,
}

impl Disk {
    fn read(folder: &Path) -> Disk {
        let log = fs::read(folder.join("worlds.db-wal")).unwrap_or_default();
        Disk { database: fs::read(folder.join("worlds.db")).expect("the database exists"), log }
    }

    fn write(&self, folder: &Path) {
        fs::write(folder.join("worlds.db"), &self.database).unwrap();
        fs::write(folder.join("worlds.db-wal"), &self.log).unwrap();
        let _ = fs::remove_file(folder.join("worlds.db-shm"));
    }
}

/// Returns a mixture of two states of a file: some sectors of `after`, the other sectors of `before`, and a length between
/// the two lengths.
fn mix(before: &[u8], after: &[u8], random: &mut Random) -> Vec<u8> {
    let share = random.bits() % 5;
    let length = match random.bits() % 3 {
        0 => before.len().max(after.len()),
        1 => before.len(),
        _ => {
            let (low, high) = (before.len().min(after.len()), before.len().max(after.len()));
            low + random.bits() as usize % (high - low + 1)
        }
    };
    let mut mixed = before.to_vec();
    mixed.resize(length, 0);
    for at in (0..length.min(after.len())).step_by(SECTOR) {
        let end = (at + SECTOR).min(length).min(after.len());
        if random.bits() % 4 < share {
            mixed[at..end].copy_from_slice(&after[at..end]);
        }
    }
    mixed
}

/// Opens the files after a cut, and returns their tick and hash.
fn recover(disk: &Disk, scratch: &Folder) -> (u64, u64) {
    disk.write(scratch.path());
    let store = SqliteStore::open(scratch.path(), Options::default()).expect("a cut tears nothing");
    let saved =
        store.load(&name("plaza"), Moment::Last).expect("a cut tears nothing").expect("the world is stored");
    // The world continues, and overwrites the torn bytes.
    let mut story = Story::resume(&saved, 2);
    let found = (saved.tick, story.world.hash());
    story.play(&store, 6);
    story.recorder.flush_all(&story.world, &store, story.now_ms);
    store.commit(PATIENCE).unwrap();
    let again = store.load(&name("plaza"), Moment::Last).unwrap().unwrap();
    assert_eq!(garden::replay(&again).hash(), story.world.hash());
    found
}

/// Writes all pending changes. Then the writer is stopped until it is released.
fn hold(story: &mut Story, store: &dyn Store) -> Sender<()> {
    let (stands, is_standing) = channel();
    let (release, released) = channel::<()>();
    story.recorder.when_kept(Box::new(move |_| {
        stands.send(()).expect("the test waits");
        let _ = released.recv_timeout(PATIENCE);
    }));
    story.recorder.flush_all(&story.world, store, story.now_ms);
    is_standing.recv_timeout(PATIENCE).expect("the data is written");
    release
}

#[test]
fn a_power_cut_leaves_the_state_before_a_commit_or_the_one_after_and_nothing_between() {
    let (folder, scratch) = (Folder::new("power"), Folder::new("after-power"));
    let seed = seeds(0);
    let mut random = Random::new(seed ^ 0xc07);
    let store = folder.open();
    let mut story = Story::new(&name("plaza"), 1);
    story.snapshot(&store);
    store.commit(PATIENCE).unwrap();
    let (mut checkpoints, mut restarts, mut kept, mut lost) = (0, 0, 0, 0);
    for cut in 0..seeds(45) {
        // The writer stops after a commit, so that the next changes are one transaction.
        let release = hold(&mut story, &store);
        let before = (Disk::read(folder.path()), story.world.tick(), story.world.hash());
        let commits = store.stats().commits;
        (0..1 + random.bits() % 4).for_each(|_| story.world.step());
        // Occasionally the state is large, so that the log is checkpointed and restarted.
        if random.bits().is_multiple_of(3) {
            let host = (0..110_000).flat_map(|_| random.bits().to_le_bytes()).collect();
            story.recorder.snapshot(&mut story.world, &store, story.now_ms, host);
        }
        story.recorder.flush_all(&story.world, &store, story.now_ms);
        release.send(()).unwrap();
        store.commit(PATIENCE).unwrap();
        assert_eq!(store.stats().commits, commits + 1);
        let after = (Disk::read(folder.path()), story.world.tick(), story.world.hash());
        let (old, new) = (&before.0, &after.0);
        let place = format!("seed {seed}, cut {cut}");

        // While the log is written, the database is unchanged.
        let torn = Disk { database: old.database.clone(), log: mix(&old.log, &new.log, &mut random) };
        let (tick, hash) = recover(&torn, &scratch);
        assert!([(before.1, before.2), (after.1, after.2)].contains(&(tick, hash)), "{place}: tick {tick}");
        *(if (tick, hash) == (after.1, after.2) { &mut kept } else { &mut lost }) += 1;

        // While the database is written, the log is synced already.
        if old.database != new.database {
            checkpoints += 1;
            let database = mix(&old.database, &new.database, &mut random);
            let torn = Disk { database, log: new.log.clone() };
            assert_eq!(recover(&torn, &scratch), (after.1, after.2), "{place}: while it is written back");
        }
        restarts += u64::from(old.log.get(..32) != new.log.get(..32));
        assert_eq!(recover(new, &scratch), (after.1, after.2), "{place}: after the commit");
    }
    println!(
        "{kept} cuts kept the commit, {lost} lost it whole, {checkpoints} fell into writing back, {restarts} logs began anew"
    );
}

#[test]
fn a_cut_while_a_store_is_created_leaves_none_and_it_is_created_again() {
    let folder = Folder::new("unmade");
    fs::write(folder.path().join("worlds.db.new"), b"half of a database").unwrap();
    fs::write(folder.path().join("worlds.db.new-journal"), b"half of a journal").unwrap();
    let store = folder.open();
    assert!(store.list().unwrap().is_empty());
    assert!(!folder.path().join("worlds.db.new").exists());
}
