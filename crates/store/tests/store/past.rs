//! Reading history, pruning, moving worlds, and checks.

use std::time::Duration;

use nowcast_store::{Moment, Origin, Problem, Recorder, Retention, SqliteReader, Store, Stretch};
use nowcast_world::journal::Record;
use nowcast_world::{Command, PlayerId, journal};

use super::garden::{self, BEGIN_MS, Story};
use super::{Folder, PATIENCE, name, seeds};

/// A minute of a world with a snapshot after every ten seconds, and its hashes by tick.
fn minute(folder: &Folder, seed: u64) -> Vec<u64> {
    let store = folder.open();
    let mut story = Story::new(&name("plaza"), seed);
    let mut hashes = vec![story.world.hash()];
    for tick in 1..=1_800u64 {
        story.play(&store, 1);
        hashes.push(story.world.hash());
        if tick % 600 == 0 {
            story.snapshot(&store);
            // A snapshot changes the course of the world.
            hashes[tick as usize] = story.world.hash();
        }
    }
    hashes
}

#[test]
fn every_moment_of_the_history_can_be_restored() {
    for seed in 0..seeds(1) {
        let folder = Folder::new("past");
        let hashes = minute(&folder, seed);
        let reader = SqliteReader::open(folder.path()).unwrap();
        for tick in [0, 1, 2, 30, 59, 599, 601, 777, 1_199, 1_201, 1_800] {
            let saved = reader.load(&name("plaza"), Moment::Tick(tick)).unwrap().unwrap();
            assert_eq!(saved.tick, tick);
            assert_eq!(garden::replay(&saved).hash(), hashes[tick as usize], "seed {seed}, tick {tick}");
            assert!(saved.snapshot.tick <= tick && tick - saved.snapshot.tick <= 600);
        }
        for second in [0, 7, 13, 29] {
            let moment = Moment::TimeMs(BEGIN_MS + second * 1_000);
            let saved = reader.load(&name("plaza"), moment).unwrap().unwrap();
            assert_eq!(saved.tick, second * 60, "seed {seed}, second {second}");
            assert_eq!(garden::replay(&saved).hash(), hashes[saved.tick as usize]);
        }
        let late = reader.load(&name("plaza"), Moment::TimeMs(u64::MAX)).unwrap().unwrap();
        assert_eq!(late.tick, 1_800);
        assert!(reader.load(&name("plaza"), Moment::TimeMs(BEGIN_MS - 1)).unwrap().is_none());
        assert!(reader.load(&name("attic"), Moment::Last).unwrap().is_none());
    }
}

#[test]
fn a_moment_is_followed_by_the_later_commands_to_the_same_hash() {
    for seed in 0..seeds(1) {
        let folder = Folder::new("stretch");
        let hashes = minute(&folder, seed);
        let reader = SqliteReader::open(folder.path()).unwrap();
        // The periods cross the snapshot at tick 600, reach to the end of the stored history, and begin at its end.
        for (second, next, through) in [(7, 5, 720), (28, 60, 1_800), (30, 60, 1_800), (0, 0, 0)] {
            let moment = Moment::TimeMs(BEGIN_MS + second * 1_000);
            let stretch = reader.load_stretch(&name("plaza"), moment, Duration::from_secs(next));
            let stretch = stretch.unwrap().unwrap();
            let tick = second * 60;
            assert_eq!((stretch.saved.tick, stretch.through_tick), (tick, through), "seed {seed}");
            assert_eq!(stretch.through_ms, BEGIN_MS + through * 1_000 / 60, "seed {seed}");
            assert_eq!(stretch.time_ms, BEGIN_MS + second * 1_000, "seed {seed}");
            let mut world = garden::replay(&stretch.saved);
            assert_eq!(world.hash(), hashes[tick as usize], "seed {seed}, second {second}");
            journal::replay(&mut world, stretch.next, through).unwrap();
            assert_eq!(world.hash(), hashes[through as usize], "seed {seed}, second {second}");
        }
        let step = reader.load_stretch(&name("plaza"), Moment::Tick(90), Duration::from_secs(1));
        let step = step.unwrap().unwrap();
        assert_eq!((step.saved.tick, step.through_tick, step.time_ms), (90, 150, BEGIN_MS + 1_500));
        assert_eq!(reader.span(&name("plaza")).unwrap(), Some((BEGIN_MS, BEGIN_MS + 30_000)));
        assert_eq!(reader.span(&name("attic")).unwrap(), None);
        let next = |after_ms| reader.next_snapshot(&name("plaza"), after_ms).unwrap();
        assert_eq!(next(BEGIN_MS + 9_999), Some(BEGIN_MS + 10_000));
        assert_eq!((next(BEGIN_MS + 10_000), next(u64::MAX)), (Some(BEGIN_MS + 20_000), None));
        let early = Moment::TimeMs(BEGIN_MS - 1);
        assert!(reader.load_stretch(&name("plaza"), early, Duration::ZERO).unwrap().is_none());
    }
}

#[test]
fn commands_recorded_after_a_moment_are_not_in_it_even_after_a_long_stall() {
    let folder = Folder::new("held-up");
    let store = folder.open();
    let mut story = Story::new(&name("plaza"), 1);
    story.snapshot(&store);
    let mut record = |ticks: u64, now_ms: u64| {
        for _ in 0..ticks {
            story.world.step();
        }
        story.recorder.apply(&mut story.world, Command::Leave { player: PlayerId(9) }).unwrap();
        story.world.step();
        story.recorder.flush(&story.world, &store, BEGIN_MS + now_ms);
    };
    // Six steps at normal speed, and six more steps that take ten seconds.
    record(5, 100);
    record(5, 10_100);
    store.commit(PATIENCE).unwrap();
    for (time_ms, tick, entries) in
        [(99, 5, 0), (100, 6, 1), (5_000, 11, 1), (10_099, 11, 1), (10_100, 12, 2)]
    {
        let moment = Moment::TimeMs(BEGIN_MS + time_ms);
        let stretch = store.reader().unwrap().load_stretch(&name("plaza"), moment, Duration::ZERO);
        let Stretch { saved, time_ms: shown_ms, .. } = stretch.unwrap().unwrap();
        let commands = saved.entries().filter(|entry| matches!(entry.record, Record::Command(_)));
        assert_eq!((saved.tick, commands.count()), (tick, entries), "after {time_ms} ms");
        let again = store.load(&name("plaza"), Moment::TimeMs(shown_ms)).unwrap().unwrap();
        assert_eq!(again.tick, tick, "the time that is told leads there again");
    }
}

#[test]
fn a_world_that_is_replaced_is_kept_under_another_name_with_its_past() {
    let folder = Folder::new("replace");
    let hashes = minute(&folder, 2);
    let store = folder.open();
    let (plaza, aside) = (name("plaza"), name("plaza@1800"));
    let file = store.reader().unwrap().export(&plaza, Moment::Tick(700)).unwrap();
    store.replace(&plaza, &aside, &file).unwrap();
    let now = store.load(&plaza, Moment::Last).unwrap().unwrap();
    assert_eq!((now.tick, garden::replay(&now).hash()), (700, hashes[700]));
    for tick in [30, 1_199, 1_800] {
        let before = store.load(&aside, Moment::Tick(tick)).unwrap().unwrap();
        assert_eq!(garden::replay(&before).hash(), hashes[tick as usize]);
    }
    let error = store.replace(&plaza, &aside, &file).unwrap_err();
    assert!(matches!(error.problem, Problem::Exists), "{error}");
    assert_eq!(store.load(&plaza, Moment::Last).unwrap().unwrap().tick, 700, "nothing was changed");
    store.replace(&name("yard"), &name("nobody"), &file).unwrap();
    let names: Vec<_> = store.list().unwrap().into_iter().map(|world| world.name.to_string()).collect();
    assert_eq!(names, ["plaza", "plaza@1800", "yard"]);
}

#[test]
fn a_check_replays_from_snapshot_to_snapshot_and_finds_nothing_wrong() {
    let folder = Folder::new("check");
    minute(&folder, 3);
    let reader = SqliteReader::open(folder.path()).unwrap();
    let report = reader.check(&name("plaza"), garden::restore).unwrap();
    assert_eq!(
        (report.damage.as_slice(), report.snapshots, report.ticks, report.holes),
        (&[][..], 4, 1_800, 0)
    );
    assert_eq!(reader.check_database().unwrap(), Vec::<String>::new());
}

#[test]
fn pruning_by_age_leaves_worlds_whole() {
    let folder = Folder::new("old");
    minute(&folder, 4);
    let store = folder.open();
    let retention = Retention { keep: Duration::from_secs(15), ..Retention::default() };
    let now_ms = BEGIN_MS + 30_000;
    let pruned = store.prune(&retention, now_ms).unwrap();
    assert_eq!(pruned.snapshots, 1, "of 0, 10, 20 and 30 s the second is the newest before 15 s ago");
    assert!(pruned.batches > 0);
    assert_eq!(
        store.prune(&retention, now_ms).unwrap(),
        Default::default(),
        "there is nothing more to forget"
    );
    let reader = store.reader().unwrap();
    assert!(reader.load(&name("plaza"), Moment::Tick(599)).unwrap().is_none());
    assert_eq!(garden::replay(&reader.load(&name("plaza"), Moment::Tick(700)).unwrap().unwrap()).tick(), 700);
    let report = reader.check(&name("plaza"), garden::restore).unwrap();
    assert_eq!((report.damage.as_slice(), report.snapshots, report.ticks), (&[][..], 3, 1_200));
}

#[test]
fn pruning_by_size_never_removes_the_newest_state() {
    let folder = Folder::new("much");
    minute(&folder, 5);
    let store = folder.open();
    let before = store.list().unwrap().remove(0).bytes;
    let retention = Retention { bytes_max: before / 2, ..Retention::default() };
    assert!(store.prune(&retention, BEGIN_MS).unwrap().snapshots > 0);
    let after = store.list().unwrap().remove(0);
    assert!(after.bytes <= before / 2 && after.snapshots > 0);
    let retention = Retention { keep: Duration::ZERO, bytes_max: 0 };
    store.prune(&retention, u64::MAX).unwrap();
    let left = store.list().unwrap().remove(0);
    assert_eq!((left.snapshots, left.batches, left.tick), (1, 0, 1_800));
    let saved = store.load(&name("plaza"), Moment::Last).unwrap().unwrap();
    assert_eq!(garden::replay(&saved).tick(), 1_800);
}

#[test]
fn pruning_by_size_holds_over_all_worlds_and_takes_from_the_largest() {
    let folder = Folder::new("together");
    let store = folder.open();
    let mut random = nowcast_world::Random::new(1);
    for (world, snapshots, words) in [("quiet", 4, 1_000), ("loud", 10, 50_000), ("louder", 12, 50_000)] {
        let mut story = Story::new(&name(world), 1);
        for _ in 0..snapshots {
            let host = (0..words).flat_map(|_| random.bits().to_le_bytes()).collect();
            story.recorder.snapshot(&mut story.world, &store, BEGIN_MS, host);
            story.world.step();
            story.recorder.flush_all(&story.world, &store, BEGIN_MS);
        }
    }
    store.commit(PATIENCE).unwrap();
    let snapshots = || store.list().unwrap().iter().map(|world| world.snapshots).collect::<Vec<_>>();
    assert_eq!(snapshots(), [10, 12, 4], "ordered by name");
    let retention = Retention { bytes_max: 2_500_000, ..Retention::default() };
    assert_eq!(store.prune(&retention, BEGIN_MS).unwrap().snapshots, 16);
    assert_eq!(snapshots(), [3, 3, 4], "the quiet world keeps its past");
    let bytes: u64 = store.list().unwrap().iter().map(|world| world.bytes).sum();
    assert!(bytes <= 2_500_000, "{bytes}");
    let retention = Retention { bytes_max: 1, ..Retention::default() };
    store.prune(&retention, BEGIN_MS).unwrap();
    assert_eq!(snapshots(), [1, 1, 1], "the newest state of each world stays");
}

#[test]
fn pruning_returns_space_to_the_file_system() {
    let folder = Folder::new("room");
    let store = folder.open();
    let mut story = Story::new(&name("plaza"), 1);
    let mut random = nowcast_world::Random::new(1);
    for _ in 0..10 {
        let host = (0..50_000).flat_map(|_| random.bits().to_le_bytes()).collect();
        story.recorder.snapshot(&mut story.world, &store, BEGIN_MS, host);
        story.world.step();
        story.recorder.flush_all(&story.world, &store, BEGIN_MS);
    }
    store.commit(PATIENCE).unwrap();
    let retention = Retention { keep: Duration::ZERO, ..Retention::default() };
    assert_eq!(store.prune(&retention, BEGIN_MS + 1).unwrap().snapshots, 9);
    drop(store);
    let bytes = std::fs::metadata(folder.path().join("worlds.db")).unwrap().len();
    assert!(bytes < 1_000_000, "{bytes} bytes for one snapshot of 400,000");
}

#[test]
fn pruning_returns_all_pages_of_a_large_journal_while_the_store_is_open() {
    let folder = Folder::new("large");
    let store = folder.open();
    let mut story = Story::new(&name("plaza"), 1);
    story.snapshot(&store);
    let mut random = nowcast_world::Random::new(1);
    for _ in 0..48 {
        let bytes = (0..1 << 17).flat_map(|_| random.bits().to_le_bytes()).collect();
        story.recorder.note(&story.world, bytes);
        story.world.step();
        story.recorder.flush_all(&story.world, &store, BEGIN_MS);
        // A slow disk would let the records wait until the store has no room.
        store.commit(PATIENCE).unwrap();
    }
    assert!(story.recorder.is_snapshot_due(&story.world, &store), "so much journal wants a snapshot");
    story.snapshot(&store);
    assert!(!story.recorder.is_snapshot_due(&story.world, &store));
    store.commit(PATIENCE).unwrap();
    let bytes = || std::fs::metadata(folder.path().join("worlds.db")).unwrap().len();
    let retention = Retention { bytes_max: 1, ..Retention::default() };
    store.prune(&retention, BEGIN_MS + 1).unwrap();
    // A checkpoint of SQLite's log applies the smaller size to the file.
    let deadline = std::time::Instant::now() + PATIENCE;
    while bytes() > 2_000_000 {
        assert!(std::time::Instant::now() < deadline, "{} bytes", bytes());
        story.play(&store, 30);
        store.commit(PATIENCE).unwrap();
    }
}

#[test]
fn a_world_can_be_moved_as_one_file_and_continues_elsewhere() {
    let (here, there) = (Folder::new("here"), Folder::new("there"));
    let hashes = minute(&here, 6);
    let mut story = {
        let store = here.open();
        let saved = store.load(&name("plaza"), Moment::Last).unwrap().unwrap();
        let mut story = Story::resume(&saved, 6);
        assert_eq!(story.world.hash(), hashes[1_800]);
        story.play(&store, 100);
        // At the end nothing happens for a while. This time is not recorded in a batch.
        for _ in 0..120 {
            story.world.step();
            story.recorder.flush(&story.world, &store, story.now_ms);
        }
        story.recorder.flush_all(&story.world, &store, story.now_ms);
        story
    };
    let file = SqliteReader::open(here.path()).unwrap().export(&name("plaza"), Moment::Last).unwrap();
    let store = there.open();
    store.import(&name("copy"), &file).unwrap();
    let error = store.import(&name("copy"), &file).unwrap_err().to_string();
    assert!(error.contains("there is a world of this name already"), "{error}");
    let saved = store.load(&name("copy"), Moment::Last).unwrap().unwrap();
    let mut copy = Story::resume(&saved, 6);
    assert_eq!((copy.world.tick(), copy.world.hash()), (story.world.tick(), story.world.hash()));
    copy.play(&store, 50);
    story.recorder.apply(&mut story.world, Command::Leave { player: PlayerId(1) }).unwrap();
    store.commit(PATIENCE).unwrap();
    assert_eq!(store.load(&name("copy"), Moment::Last).unwrap().unwrap().tick, copy.world.tick() / 3 * 3);
    store.remove(&name("copy")).unwrap();
    assert!(store.list().unwrap().is_empty() && store.remove(&name("copy")).is_err());
}

#[test]
fn a_backup_is_taken_while_the_world_runs_and_is_a_complete_store() {
    let (folder, other) = (Folder::new("backup"), Folder::new("restored"));
    let store = folder.open();
    let mut story = Story::new(&name("plaza"), 7);
    story.play(&store, 300);
    story.recorder.flush_all(&story.world, &store, story.now_ms);
    store.commit(PATIENCE).unwrap();
    let hash = story.world.hash();
    let to = other.path().join("worlds.db");
    store.reader().unwrap().backup(&to).unwrap();
    story.play(&store, 300);
    assert!(store.reader().unwrap().backup(&to).is_err(), "nothing is overwritten");
    let saved = other.open().load(&name("plaza"), Moment::Last).unwrap().unwrap();
    assert_eq!(garden::replay(&saved).hash(), hash);
}

#[test]
fn a_past_state_becomes_the_present_behind_a_hole_that_the_check_knows() {
    let folder = Folder::new("return");
    let hashes = minute(&folder, 8);
    let store = folder.open();
    let past = store.load(&name("plaza"), Moment::Tick(900)).unwrap().unwrap();
    let mut world = garden::replay(&past);
    assert_eq!(world.hash(), hashes[900]);
    let mut recorder = Recorder::new(name("plaza"), garden::origin(8), &world);
    recorder.snapshot(&mut world, &store, BEGIN_MS + 40_000, Vec::new());
    recorder.apply(&mut world, Command::Leave { player: PlayerId(1) }).unwrap();
    world.step();
    recorder.flush(&world, &store, BEGIN_MS + 40_050);
    store.commit(PATIENCE).unwrap();
    let saved = store.load(&name("plaza"), Moment::Last).unwrap().unwrap();
    assert_eq!((saved.tick, garden::replay(&saved).hash()), (901, world.hash()));
    let before = store.load(&name("plaza"), Moment::TimeMs(BEGIN_MS + 30_000)).unwrap().unwrap();
    assert_eq!(garden::replay(&before).hash(), hashes[1_800], "moments before the hole can still be loaded");
    let report = store.reader().unwrap().check(&name("plaza"), garden::restore).unwrap();
    assert_eq!((report.damage.as_slice(), report.holes), (&[][..], 1));
}

#[test]
fn a_world_with_other_rules_begins_a_new_history_and_the_check_uses_the_rules_of_each() {
    let folder = Folder::new("rules");
    let store = folder.open();
    let mut story = Story::new(&name("plaza"), 9);
    story.play(&store, 201);
    story.recorder.flush_all(&story.world, &store, story.now_ms);
    // The next snapshot has the tick of the last batch, but the journal does not lead to it.
    let changed = Origin { sources: [9; 32], ..garden::origin(9) };
    story.recorder.set_origin(changed);
    story.recorder.apply(&mut story.world, Command::Leave { player: PlayerId(1) }).unwrap();
    story.snapshot(&store);
    story.play(&store, 60);
    store.commit(PATIENCE).unwrap();
    assert_eq!(store.list().unwrap()[0].origin, changed);
    let saved = store.load(&name("plaza"), Moment::Last).unwrap().unwrap();
    assert_eq!((saved.snapshot.tick, saved.snapshot.origin), (201, changed));
    let before = store.load(&name("plaza"), Moment::Tick(200)).unwrap().unwrap();
    assert_eq!(before.snapshot.origin, garden::origin(9));
    let report = store.reader().unwrap().check(&name("plaza"), garden::restore).unwrap();
    assert_eq!((report.damage.as_slice(), report.holes), (&[][..], 1));
}
