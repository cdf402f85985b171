//! Invalid files in the folder of a store. Each error names the file and the place, and says how to correct the problem.
//! Nothing is overwritten.

use std::fs;
use std::path::Path;

use nowcast_store::{
    Batch, Moment, Options, Problem, SqliteReader, SqliteStore, Store, StoreError, write_file,
};
use rusqlite::Connection;

use super::garden::{self, Story};
use super::{Folder, PATIENCE, name};

fn refused(folder: &Path) -> StoreError {
    let writer = SqliteStore::open(folder, Options::default()).err().expect("the store is refused");
    let reader = SqliteReader::open(folder).err().expect("a reader refuses it, too");
    assert_eq!(writer.problem.to_string(), reader.problem.to_string());
    writer
}

/// A store with two snapshots of one world and a journal after each.
fn made() -> Folder {
    let folder = Folder::new("damaged");
    let store = folder.open();
    let mut story = Story::new(&name("plaza"), 1);
    story.play(&store, 200);
    story.snapshot(&store);
    story.play(&store, 200);
    story.recorder.flush_all(&story.world, &store, story.now_ms);
    store.commit(PATIENCE).unwrap();
    folder
}

/// Changes the database without the store, as a faulty disk does.
fn tamper(folder: &Folder, sql: &str) {
    let connection = Connection::open(folder.path().join("worlds.db")).unwrap();
    connection.execute_batch(sql).unwrap();
}

/// The number of the last stored batch.
fn last_batch(folder: &Folder) -> i64 {
    let connection = Connection::open(folder.path().join("worlds.db")).unwrap();
    connection.query_row("SELECT max(number) FROM journal", [], |row| row.get(0)).unwrap()
}

#[test]
fn a_foreign_file_is_rejected_and_left_unchanged() {
    let other = Folder::new("foreign");
    let path = other.path().join("worlds.db");
    let connection = Connection::open(&path).unwrap();
    connection.execute_batch("CREATE TABLE songs (title TEXT); INSERT INTO songs VALUES ('Ada');").unwrap();
    drop(connection);
    for bytes in [fs::read(&path).unwrap(), b"notes of somebody".to_vec(), vec![0; 8_192], vec![7]] {
        fs::write(&path, &bytes).unwrap();
        let error = refused(other.path());
        assert!(matches!(error.problem, Problem::Foreign(_)), "{error}");
        let text = error.to_string();
        assert!(text.contains("worlds.db") && text.contains("nothing was changed"), "{text}");
        assert_eq!(fs::read(&path).unwrap(), bytes);
    }
    fs::write(&path, b"").unwrap();
    let error = refused(other.path());
    assert!(matches!(error.problem, Problem::Damaged { .. }), "an empty file was one before: {error}");
}

#[test]
fn a_store_of_a_newer_release_is_rejected_and_left_unchanged() {
    let folder = made();
    tamper(&folder, "PRAGMA user_version = 7;");
    let bytes = fs::read(folder.path().join("worlds.db")).unwrap();
    let error = refused(folder.path());
    assert!(matches!(error.problem, Problem::Newer { found: 7, known: 2 }), "{error}");
    assert!(error.to_string().contains("Use the release that wrote it"), "{error}");
    assert_eq!(fs::read(folder.path().join("worlds.db")).unwrap(), bytes);
}

#[test]
fn a_file_that_was_cut_off_is_refused_by_its_length() {
    let folder = made();
    let path = folder.path().join("worlds.db");
    let bytes = fs::read(&path).unwrap();
    for length in [50, 99, 100, 4_095, 4_096, bytes.len() - 1] {
        fs::write(&path, &bytes[..length]).unwrap();
        let error = refused(folder.path());
        assert!(matches!(error.problem, Problem::Damaged { .. }), "{length} bytes: {error}");
        assert!(error.to_string().contains("cut off"), "{length} bytes: {error}");
    }
    fs::write(&path, &bytes).unwrap();
    assert!(folder.open().load(&name("plaza"), Moment::Last).unwrap().is_some());
}

#[test]
fn a_journal_that_is_left_without_its_database_is_not_taken_for_a_new_one() {
    let folder = made();
    fs::rename(folder.path().join("worlds.db"), folder.path().join("worlds.db-wal")).unwrap();
    let error = SqliteStore::open(folder.path(), Options::default()).err().expect("the store is refused");
    assert!(error.to_string().contains("worlds.db-wal is there without worlds.db"), "{error}");
    assert!(!folder.path().join("worlds.db").exists());
}

#[test]
fn a_second_process_is_refused_and_a_reader_is_not() {
    let folder = made();
    let store = folder.open();
    let error = SqliteStore::open(folder.path(), Options::default()).err().expect("the store is refused");
    let pid = std::process::id();
    assert!(matches!(error.problem, Problem::InUse { pid: Some(found) } if found == pid), "{error}");
    assert!(error.to_string().contains("End the other process"), "{error}");
    assert_eq!(SqliteReader::open(folder.path()).unwrap().list().unwrap().len(), 1);
    drop(store);
    folder.open();
}

#[test]
fn a_folder_that_cannot_be_written_is_named_with_its_cure() {
    let file = Folder::new("file");
    fs::write(file.path().join("taken"), b"a file").unwrap();
    let mut places = vec![file.path().join("taken"), file.path().join("taken/below")];
    if cfg!(target_os = "linux") {
        places.push("/proc/nowcast".into());
    }
    for place in places {
        let error = SqliteStore::open(&place, Options::default()).err().expect("the store is refused");
        let text = error.to_string();
        assert!(text.starts_with(&place.display().to_string()) && text.ends_with('.'), "{text}");
    }
}

#[test]
fn a_changed_batch_is_reported_with_its_place_and_a_salvage_reads_up_to_it() {
    for (sql, what) in [
        ("UPDATE journal SET body = zeroblob(length(body)) WHERE number = PLACE;", "its checksum is wrong"),
        ("UPDATE journal SET through_tick = through_tick + 1 WHERE number = PLACE;", "its checksum is wrong"),
        ("DELETE FROM journal WHERE number = PLACE;", "it is missing"),
        (
            "UPDATE journal SET number = -1 WHERE number = PLACE; \
          UPDATE journal SET number = PLACE WHERE number = PLACE + 1;",
            "its checksum is wrong",
        ),
    ] {
        let folder = made();
        let place = last_batch(&folder) - 1;
        tamper(&folder, &sql.replace("PLACE", &place.to_string()));
        let store = folder.open();
        let error = store.load(&name("plaza"), Moment::Last).unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains(&format!("world plaza: batch {place} is damaged")) && text.contains(what),
            "{text}"
        );
        assert!(text.contains("salvage"), "{text}");
        let reader = store.reader().unwrap();
        let saved = reader.salvage(&name("plaza")).unwrap().unwrap();
        assert_eq!(saved.damage.len(), 1);
        let world = garden::replay(&saved);
        assert!((200..400).contains(&world.tick()) && world.tick() == saved.tick);
        let report = reader.check(&name("plaza"), garden::restore).unwrap();
        assert!(
            report.damage.len() == 1 && report.damage[0].contains(&format!("batch {place}")),
            "{:?}",
            report.damage
        );
        // A host that continues a salvaged world begins with a snapshot. The damaged records do not prevent this.
        let mut story = Story::resume(&saved, 1);
        assert!(story.recorder.needs_snapshot());
        story.play(&store, 30);
        story.recorder.flush_all(&story.world, &store, story.now_ms);
        store.commit(PATIENCE).unwrap();
        let saved = store.load(&name("plaza"), Moment::Last).unwrap().unwrap();
        assert_eq!(garden::replay(&saved).hash(), story.world.hash());
    }
}

#[test]
fn a_tick_that_no_replay_reaches_is_damage_and_a_salvage_ends_before_it() {
    let folder = made();
    tamper(&folder, "UPDATE worlds SET tick = 1 << 62;");
    let store = folder.open();
    let error = store.load(&name("plaza"), Moment::Last).unwrap_err().to_string();
    assert!(error.contains("the table of worlds is damaged") && error.contains("too long after"), "{error}");
    let saved = store.reader().unwrap().salvage(&name("plaza")).unwrap().unwrap();
    assert!(
        (390..=400).contains(&saved.tick) && saved.damage.len() == 1,
        "{}: {:?}",
        saved.tick,
        saved.damage
    );
    assert_eq!(garden::replay(&saved).tick(), saved.tick);
    let batch = Batch { from_tick: 1 << 62, through_tick: 1 << 62, ..Batch::default() };
    let file = write_file("copy", &saved.snapshot, &[batch]).unwrap();
    let error = store.import(&name("copy"), &file).unwrap_err().to_string();
    assert!(error.contains("its ticks are not in order"), "{error}");
}

#[test]
fn a_changed_snapshot_is_reported_and_a_salvage_uses_the_one_before() {
    let folder = made();
    let newest = "(SELECT max(number) FROM snapshots)";
    tamper(
        &folder,
        &format!("UPDATE snapshots SET file = substr(file, 1, length(file) - 9) WHERE number = {newest};"),
    );
    let store = folder.open();
    let error = store.load(&name("plaza"), Moment::Last).unwrap_err().to_string();
    assert!(error.contains("snapshot") && error.contains("cut off"), "{error}");
    assert_eq!(store.list().unwrap().len(), 1, "a list shows it all the same");
    let saved = store.reader().unwrap().salvage(&name("plaza")).unwrap().unwrap();
    assert_eq!((saved.snapshot.tick, saved.tick, saved.damage.len()), (0, 400, 1));
    assert_eq!(garden::replay(&saved).tick(), 400, "the journal leads past the damaged snapshot");
    tamper(&folder, "UPDATE snapshots SET file = x'00';");
    let error = store.reader().unwrap().salvage(&name("plaza")).unwrap_err().to_string();
    assert!(error.contains("every snapshot is damaged"), "{error}");
}

#[test]
fn pages_of_noise_are_errors_and_never_a_panic() {
    let folder = made();
    let path = folder.path().join("worlds.db");
    let bytes = fs::read(&path).unwrap();
    let mut random = nowcast_world::Random::new(11);
    for round in 0..super::seeds(60) {
        let mut damaged = bytes.clone();
        for _ in 0..1 + random.bits() % 4 {
            let at = random.bits() as usize % (bytes.len() - 600);
            let length = 1 + random.bits() as usize % 512;
            damaged[at..at + length].iter_mut().for_each(|byte| *byte = random.bits() as u8);
        }
        fs::write(&path, &damaged).unwrap();
        let Ok(reader) = SqliteReader::open(folder.path()) else { continue };
        let _ = (reader.list(), reader.check_database());
        if let Ok(Some(saved)) = reader.load(&name("plaza"), Moment::Last) {
            // If a world is read without an error, it equals the written world to the last bit.
            assert!(saved.replay(garden::restore).is_ok(), "round {round}");
        }
        let _ = (reader.salvage(&name("plaza")), reader.check(&name("plaza"), garden::restore));
    }
}

#[test]
fn a_save_file_that_is_none_is_not_imported() {
    let folder = made();
    let store = folder.open();
    let file = store.reader().unwrap().export(&name("plaza"), Moment::Last).unwrap();
    for bad in [&file[..file.len() - 1], b"nothing", &[]] {
        let error = store.import(&name("copy"), bad).unwrap_err().to_string();
        assert!(error.contains("the save file is damaged"), "{error}");
    }
    assert_eq!(store.list().unwrap().len(), 1);
}
