//! A full disk: a small file system in memory, in a private mount namespace of the test. On systems without such namespaces
//! the test prints a message and does nothing.

use std::path::Path;
use std::process::Command as Process;
use std::time::Instant;

use nowcast_store::{Health, Moment, Options, SqliteStore, Store};

use super::garden::{self, Story};
use super::{Folder, PATIENCE, completion, name};

const FOLDER: &str = "NOWCAST_STORE_FULL_FOLDER";

#[test]
fn a_full_disk_is_reported_with_its_cure_blocks_no_world_and_is_caught_up() {
    let folder = Folder::new("full");
    let mount = "mount -t tmpfs -o size=3m tmpfs \"$0\" 2>/dev/null || exit 77; exec \"$@\"";
    let child = Process::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", mount])
        .arg(folder.path())
        .arg(std::env::current_exe().expect("a test knows its own program"))
        .args(["--exact", "full_disk::the_process_on_a_small_disk", "--nocapture"])
        .env(FOLDER, folder.path())
        .output();
    match child {
        Ok(child) if child.status.success() => {}
        Ok(child) if child.status.code() == Some(101) => {
            panic!("{}{}", String::from_utf8_lossy(&child.stdout), String::from_utf8_lossy(&child.stderr))
        }
        other => println!("no file system can be mounted here: {:?}", other.map(|child| child.status)),
    }
}

#[test]
fn the_process_on_a_small_disk() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let folder = Path::new(&folder);
    let store =
        SqliteStore::open(folder, Options { queue_bytes_max: 128 << 10, ..Options::default() }).unwrap();
    let mut story = Story::new(&name("plaza"), 1);
    story.play(&store, 60);
    story.recorder.flush_all(&story.world, &store, story.now_ms);
    store.commit(PATIENCE).unwrap();
    let hash = story.world.hash();

    let ballast = folder.join("ballast");
    assert!(std::fs::write(&ballast, vec![1; 4 << 20]).is_err(), "the disk is small, and full now");
    let deadline = Instant::now() + PATIENCE;
    // No call waits. The world takes its steps, even if data cannot be stored.
    while store.stats().batches_dropped == 0 || !matches!(store.health(), Health::Failing { .. }) {
        story.play(&store, 30);
        assert!(Instant::now() < deadline, "{:?}, {:?}", store.health(), store.stats());
    }
    let Health::Failing { cause, cure } = store.health() else { panic!("{:?}", store.health()) };
    assert!(cause.contains("worlds.db") && cause.contains("the disk is full"), "{cause}");
    assert!(cure.contains("Free space"), "{cure}");
    assert!(store.stats().queued_bytes <= 128 << 10);
    let kept = store.load(&name("plaza"), Moment::Last).unwrap().unwrap();
    assert!(kept.tick >= 60 && kept.replay(garden::restore).is_ok());
    if kept.tick == 60 {
        assert_eq!(garden::replay(&kept).hash(), hash);
    }

    std::fs::remove_file(&ballast).unwrap();
    let (then, told) = completion();
    story.recorder.when_kept(then);
    while store.health() != Health::Healthy || story.recorder.needs_snapshot() {
        story.play(&store, 3);
        assert!(Instant::now() < deadline, "{:?}, {:?}", store.health(), store.stats());
    }
    story.recorder.flush_all(&story.world, &store, story.now_ms);
    store.commit(PATIENCE).unwrap();
    assert_eq!(told.recv_timeout(PATIENCE).expect("the completion is called"), Ok(()));
    let saved = store.load(&name("plaza"), Moment::Last).unwrap().unwrap();
    assert_eq!(garden::replay(&saved).hash(), story.world.hash());
    assert!(store.stats().commits_failed > 0);
    let report = store.reader().unwrap().check(&name("plaza"), garden::restore).unwrap();
    assert_eq!((report.damage.as_slice(), report.holes), (&[][..], 1));
}
