//! Each release stores a world, as a save file and as a store. All later releases must read it.
//!
//! `NOWCAST_BLESS=1 cargo test -p nowcast-store --test store releases` writes the files of a new release, and never
//! overwrites old ones.

use std::fs;
use std::path::{Path, PathBuf};

use nowcast_store::{
    ActionId, Batch, Moment, Note, Once, Origin, Snapshot, SqliteReader, Store, read_file, write_file,
};
use nowcast_world::journal::{Entry, Record};
use nowcast_world::{Command, Edit, EntityId, Input, PlayerId, Pose, Value};

use super::{Folder, PATIENCE, name};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/worlds")
}

/// No engine reads the bytes of this world, so they stay valid for any engine.
fn snapshot() -> Snapshot {
    let mut once = Once::default();
    for number in [1, 2, 5] {
        once.insert(ActionId { client: [4; 16], number }, 90 + number);
    }
    Snapshot {
        origin: Origin { definition: [1; 32], sources: [2; 32], seed: 3 },
        tick: 100,
        hash: 0x0123_4567_89ab_cdef,
        time_ms: 1_700_000_000_000,
        world: (0..2_000u32).map(|at| (at % 251) as u8).collect(),
        once,
        // The bytes in the files of the first release.
        host: b"\x77hat the host keeps".to_vec(),
    }
}

/// One entry of each kind.
fn batches() -> Vec<Batch> {
    let ada = PlayerId(1);
    let edit = |edit| Command::Edit { player: ada, edit };
    let pose = Pose { position: [1.0, 2.5, -3.0], rotation: [0.0, 0.6, 0.0, 0.8] };
    let arguments = Value::Map(vec![("power".into(), Value::F64(0.25)), ("at".into(), Value::Nil)]);
    let commands = [
        Command::join(ada, "Ada"),
        Command::Input { player: ada, input: Input::new(1.0, -0.5, 0.75, true, false).unwrap() },
        Command::Action { player: ada, name: "kick".into(), arguments },
        Command::Message { player: ada, text: "Grüße".into() },
        Command::Rename { player: ada, name: "Ada L.".into() },
        edit(Edit::Spawn { kind: "ball".into(), pose }),
        edit(Edit::Place(EntityId(7), pose)),
        edit(Edit::Attribute(EntityId(7), "heat".into(), Value::F32(0.5))),
        edit(Edit::Despawn(EntityId(7))),
        Command::Leave { player: ada },
    ];
    let mut entries: Vec<Entry> = commands
        .into_iter()
        .zip(100..)
        .map(|(command, tick)| Entry { tick, record: Record::Command(command) })
        .collect();
    entries.push(Entry { tick: 110, record: Record::Settled });
    entries.push(Entry { tick: 110, record: Record::Hash(42) });
    let first = Batch {
        from_tick: 100,
        through_tick: 112,
        time_ms: 1_700_000_000_200,
        entries,
        done: vec![ActionId { client: [4; 16], number: 6 }],
        notes: vec![Note { tick: 105, bytes: b"session 9".to_vec() }],
        accounts: Vec::new(),
    };
    let last = Entry { tick: 115, record: Record::Command(Command::Leave { player: PlayerId(2) }) };
    let second = Batch {
        from_tick: 112,
        through_tick: 120,
        time_ms: 1_700_000_000_400,
        entries: vec![last],
        ..Batch::default()
    };
    vec![first, second]
}

fn bless() {
    let of_release = |extension| folder().join(format!("{}.{extension}", env!("CARGO_PKG_VERSION")));
    let (file, database) = (of_release("ncs"), of_release("db"));
    fs::create_dir_all(folder()).unwrap();
    if !file.exists() {
        fs::write(&file, write_file("plaza", &snapshot(), &batches()).unwrap()).unwrap();
    }
    if !database.exists() {
        let scratch = Folder::new("bless");
        let store = scratch.open();
        store.import(&name("plaza"), &fs::read(&file).unwrap()).unwrap();
        store.commit(PATIENCE).unwrap();
        store.reader().unwrap().backup(&database).unwrap();
    }
}

#[test]
fn worlds_of_every_release_are_read() {
    if std::env::var_os("NOWCAST_BLESS").is_some() {
        bless();
    }
    let mut kept = 0;
    for entry in fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "ncs") {
            let read = read_file(&fs::read(&path).unwrap()).unwrap();
            assert_eq!(read, ("plaza".to_owned(), snapshot(), batches()), "{}", path.display());
        } else {
            let scratch = Folder::new("kept");
            fs::copy(&path, scratch.path().join("worlds.db")).unwrap();
            let saved =
                scratch.open().load(&name("plaza"), Moment::Last).unwrap().expect("the world is stored");
            let expected = (snapshot(), batches(), 120);
            assert_eq!((saved.snapshot, saved.batches, saved.tick), expected, "{}", path.display());
            assert!(SqliteReader::open(scratch.path()).unwrap().check_database().unwrap().is_empty());
        }
        kept += 1;
    }
    assert!(kept >= 2, "no release has kept a world");
}
