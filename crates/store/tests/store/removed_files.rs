//! Another program removes, replaces or moves files of an open store. The store then confirms only records that the next
//! process can find.

use std::fs;
use std::time::Instant;

use nowcast_store::{ActionId, Health, Lost, Moment, Problem, RefusedWhy, Store};
use nowcast_world::{Command, PlayerId};

use super::garden::{self, Story};
use super::{Folder, PATIENCE, completion, name};

/// A durable action of player 1, and its outcome.
fn act_once(story: &mut Story, store: &dyn Store, number: u64) -> Result<(), Lost> {
    let (then, told) = completion();
    let id = ActionId { client: [1; 16], number };
    story.recorder.apply_once(&mut story.world, id, garden::action(PlayerId(1), "count"), then).unwrap();
    let deadline = Instant::now() + PATIENCE;
    loop {
        story.play(store, 3);
        if let Ok(outcome) = told.try_recv() {
            return outcome;
        }
        assert!(Instant::now() < deadline, "{:?}", store.health());
        std::thread::yield_now();
    }
}

fn begin(store: &dyn Store) -> Story {
    let mut story = Story::new(&name("plaza"), 1);
    let command = Command::join(PlayerId(1), "Ada");
    story.recorder.apply(&mut story.world, command).unwrap();
    story.snapshot(store);
    assert_eq!(act_once(&mut story, store, 1), Ok(()));
    story
}

fn assert_gone(folder: &Folder, store: &nowcast_store::SqliteStore) {
    let Health::Gone { cause, cure } = store.health() else { panic!("{:?}", store.health()) };
    assert!(cause.contains(&folder.path().display().to_string()) && cause.contains("removed"), "{cause}");
    assert!(cure.contains("Put it back"), "{cure}");
    assert!(matches!(store.commit(PATIENCE).unwrap_err().problem, Problem::Gone(_)));
    assert!(matches!(store.load(&name("plaza"), Moment::Last).unwrap_err().problem, Problem::Gone(_)));
}

#[test]
fn durable_actions_after_the_folder_was_removed_are_never_confirmed() {
    let folder = Folder::new("removed");
    let store = folder.open();
    let mut story = begin(&store);
    fs::remove_dir_all(folder.path()).unwrap();
    assert_eq!(act_once(&mut story, &store, 2), Err(Lost));
    assert_gone(&folder, &store);
    // Another program creates the folder again.
    fs::create_dir(folder.path()).unwrap();
    assert_eq!(act_once(&mut story, &store, 3), Err(Lost));
    assert_gone(&folder, &store);
    let (then, told) = completion();
    let refused = store.unmark(nowcast_store::MarkKind::Ban, b"key", vec![then]).unwrap_err();
    assert_eq!(refused.why, RefusedWhy::Gone);
    drop((refused, told, store));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing was written into the new folder");
}

#[test]
fn durable_actions_after_the_lock_was_removed_are_never_confirmed() {
    let folder = Folder::new("lock-removed");
    let store = folder.open();
    let mut story = begin(&store);
    fs::remove_file(folder.path().join("lock")).unwrap();
    let second = nowcast_store::SqliteStore::open(folder.path(), Default::default());
    assert!(second.is_err(), "no second process has the store");
    drop(second);
    assert_eq!(act_once(&mut story, &store, 2), Err(Lost));
    assert!(matches!(store.health(), Health::Gone { .. }));
}

#[test]
fn a_folder_that_is_moved_away_and_back_keeps_worlds_again() {
    let folder = Folder::new("moved");
    let away = folder.path().with_extension("away");
    let store = folder.open();
    let mut story = begin(&store);
    fs::rename(folder.path(), &away).unwrap();
    assert_eq!(act_once(&mut story, &store, 2), Err(Lost));
    fs::rename(&away, folder.path()).unwrap();
    let deadline = Instant::now() + PATIENCE;
    while store.health() != Health::Healthy || story.recorder.needs_snapshot() {
        story.play(&store, 3);
        assert!(Instant::now() < deadline, "{:?}", store.health());
    }
    assert_eq!(act_once(&mut story, &store, 3), Ok(()));
    story.recorder.flush_all(&story.world, &store, story.now_ms);
    store.commit(PATIENCE).unwrap();
    let saved = store.load(&name("plaza"), Moment::Last).unwrap().unwrap();
    assert_eq!(garden::replay(&saved).hash(), story.world.hash());
}

#[test]
fn only_the_owner_reads_the_files_of_a_new_store_and_of_its_copy() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = Folder::new("private");
    let store = folder.open();
    begin(&store);
    store.reader().unwrap().backup(&folder.path().join("copy.db")).unwrap();
    for name in ["worlds.db", "worlds.db-wal", "worlds.db-shm", "copy.db"] {
        let mode = fs::metadata(folder.path().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}
