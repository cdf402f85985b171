//! A disk that is too slow delays no world, and a later snapshot replaces the lost records.

use std::sync::mpsc::channel;
use std::time::Instant;

use nowcast_store::{ActionId, Attempt, Batch, Health, Moment, Options, RefusedWhy, SqliteStore, Store};
use nowcast_world::{Command, PlayerId};

use super::garden::{self, BEGIN_MS, Story};
use super::{Folder, PATIENCE, completion, name};

/// Waits until a condition holds.
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::yield_now();
    }
}

/// A completion that blocks the writer until it is released, like a slow disk.
fn hold(story: &mut Story) -> std::sync::mpsc::Sender<()> {
    let (go, wait) = channel::<()>();
    story.recorder.when_kept(Box::new(move |_| {
        let _ = wait.recv_timeout(PATIENCE);
    }));
    go
}

#[test]
fn records_over_the_limit_are_counted_and_a_snapshot_catches_up() {
    let (folder, plaza) = (Folder::new("behind"), name("plaza"));
    let store = SqliteStore::open(folder.path(), Options { queue_bytes_max: 64 << 10, ..Options::default() })
        .unwrap();
    let mut story = Story::new(&plaza, 1);
    story.snapshot(&store);
    store.commit(PATIENCE).unwrap();
    assert_eq!(store.health(), Health::Healthy);
    story.recorder.apply(&mut story.world, Command::join(PlayerId(1), "Ada")).unwrap();
    story.world.step();
    let go = hold(&mut story);
    story.recorder.flush(&story.world, &store, story.now_ms);
    // A durable action, which must be stored eventually, and a flood of chat, which fills the queue.
    let id = ActionId { client: [1; 16], number: 1 };
    let (then, told) = completion();
    let mut flood = 0;
    while !story.recorder.needs_snapshot() {
        let text = "x".repeat(400) + &flood.to_string();
        let command = Command::Message { player: PlayerId(1), text };
        story.recorder.apply(&mut story.world, command).unwrap();
        story.world.step();
        while story.world.poll_event().is_some() {}
        story.recorder.flush(&story.world, &store, story.now_ms);
        flood += 1;
        assert!(flood < 10_000, "the queue has an end");
    }
    let attempt =
        story.recorder.apply_once(&mut story.world, id, garden::action(PlayerId(1), "count"), then).unwrap();
    assert_eq!(attempt, Attempt::First);
    story.world.step();
    story.recorder.flush(&story.world, &store, story.now_ms);
    assert!(store.stats().queued_bytes <= 64 << 10 && store.stats().batches_dropped > 0);
    assert!(matches!(store.health(), Health::Behind { worlds: 1, .. }), "{:?}", store.health());
    // While the queue has no room, a snapshot is refused, and the action waits for the next snapshot.
    assert!(!story.recorder.is_snapshot_due(&story.world, &store), "none is made in vain");
    go.send(()).unwrap();
    until("the disk keeps up again", || {
        if story.recorder.is_snapshot_due(&story.world, &store) {
            story.snapshot(&store);
        }
        !story.recorder.needs_snapshot()
    });
    assert_eq!(told.recv_timeout(PATIENCE).expect("the completion is called"), Ok(()));
    story.play(&store, 30);
    story.recorder.flush_all(&story.world, &store, story.now_ms);
    store.commit(PATIENCE).unwrap();
    until("all is well", || store.health() == Health::Healthy);
    let saved = store.load(&plaza, Moment::Last).unwrap().unwrap();
    assert!(saved.once().contains(id));
    let again = garden::replay(&saved);
    assert_eq!((again.hash(), garden::count(&again, 1) >= 1), (story.world.hash(), true));
    let report = store.reader().unwrap().check(&plaza, garden::restore).unwrap();
    assert_eq!((report.damage.as_slice(), report.holes), (&[][..], 1), "the hole is known");
}

#[test]
fn a_batch_that_does_not_follow_is_never_kept() {
    let (folder, plaza) = (Folder::new("follow"), name("plaza"));
    let store = folder.open();
    let batch =
        |from_tick, through_tick| Batch { from_tick, through_tick, time_ms: BEGIN_MS, ..Batch::default() };
    let give = |batch: &Batch| {
        let (then, told) = completion();
        store
            .append(&plaza, batch.clone(), vec![then])
            .map(|()| told.recv_timeout(PATIENCE).expect("the completion is called"))
    };
    assert!(give(&batch(0, 3)).unwrap().is_err(), "there is no such world yet");
    assert_eq!(give(&batch(0, 3)).unwrap_err().why, RefusedWhy::SnapshotNeeded);
    let mut story = Story::new(&plaza, 1);
    story.snapshot(&store);
    assert_eq!(give(&batch(0, 3)).unwrap(), Ok(()));
    assert!(give(&batch(4, 6)).unwrap().is_err(), "a step is missing");
    assert_eq!(give(&batch(3, 6)).unwrap_err().why, RefusedWhy::SnapshotNeeded);
    assert_eq!(give(&batch(9, 6)).unwrap_err().why, RefusedWhy::Invalid);
    assert_eq!(store.load(&plaza, Moment::Last).unwrap().unwrap().tick, 3);
    assert_eq!(store.stats().batches_dropped, 4);
}

#[test]
fn a_completion_that_panics_is_counted_and_harms_no_other() {
    let (folder, plaza) = (Folder::new("panic"), name("plaza"));
    let store = folder.open();
    let mut story = Story::new(&plaza, 1);
    story.recorder.when_kept(Box::new(|_| panic!("the test itself panics here")));
    story.snapshot(&store);
    let (then, told) = completion();
    story.recorder.when_kept(then);
    story.recorder.flush(&story.world, &store, story.now_ms);
    assert_eq!(told.recv_timeout(PATIENCE).expect("the completion is called"), Ok(()));
    store.commit(PATIENCE).unwrap();
    assert_eq!(store.stats().completions_panicked, 1);
}

#[test]
fn many_worlds_share_a_transaction() {
    let folder = Folder::new("many");
    let store = folder.open();
    let mut stories: Vec<_> = (0..20).map(|seed| Story::new(&name(&format!("world {seed}")), seed)).collect();
    for _ in 0..20 {
        stories.iter_mut().for_each(|story| story.play(&store, 3));
    }
    store.commit(PATIENCE).unwrap();
    let stats = store.stats();
    assert!(stats.commits * 4 < stats.batches + stats.snapshots, "{stats:?}");
    assert_eq!(store.list().unwrap().len(), 20);
    for story in &mut stories {
        story.recorder.flush_all(&story.world, &store, story.now_ms);
    }
    drop(store);
    let store = folder.open();
    for (seed, story) in stories.iter().enumerate() {
        let saved = store.load(&name(&format!("world {seed}")), Moment::Last).unwrap().unwrap();
        assert_eq!(garden::replay(&saved).hash(), story.world.hash());
    }
}

/// Returns the locks of this process on a file.
#[cfg(target_os = "linux")]
fn locks(path: &std::path::Path) -> usize {
    use std::os::unix::fs::MetadataExt;
    let inode = std::fs::metadata(path).expect("the file exists").ino().to_string();
    let pid = std::process::id().to_string();
    let is_ours = |line: &&str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        words.contains(&pid.as_str()) && words.iter().any(|word| word.rsplit(':').next() == Some(&inode))
    };
    std::fs::read_to_string("/proc/locks").expect("Linux has it").lines().filter(is_ours).count()
}

#[test]
#[cfg(target_os = "linux")]
fn a_reader_of_the_same_process_takes_no_lock_away() {
    let folder = Folder::new("locks");
    let store = folder.open();
    let mut story = Story::new(&name("plaza"), 1);
    story.play(&store, 10);
    store.commit(PATIENCE).unwrap();
    let path = folder.path().join("worlds.db");
    let before = locks(&path);
    assert!(before > 0, "SQLite holds a lock as long as a database is open");
    for _ in 0..3 {
        assert_eq!(store.list().unwrap().len(), 1);
        nowcast_store::SqliteReader::open(&folder.path().join(".")).unwrap();
        assert_eq!(locks(&path), before);
    }
    drop(store);
    assert_eq!(locks(&path), 0);
}
