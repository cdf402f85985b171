//! Worlds stored by servers of each release (`spec/vectors/store/`). Every later release must load them.
//!
//! `NOWCAST_BLESS=1 cargo test -p nowcast-room --lib released` writes the file of a new release, and never overwrites the
//! file of an old release. The tests do not compare results of the physics engine, because a later engine may compute other
//! results. Therefore no entity in these worlds moves.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nowcast_script::{Limits, Live, Sources};
use nowcast_store::{ActionId, Moment, Options, Recorder, SqliteStore, Store, WorldName, read_file};
use nowcast_world::{Command, PlayerId, Value, World};

use super::{HostState, kept_rules, migrate, origin, restore_kept};

const RULES: &str = r#"
local world = require("@nowcast/world")
world.state { count = 0, names = {} }
local Floor = world.kind("floor", { body = { motion = "fixed", shape = "box", size = vector.create(40, 1, 40) } })
local Lamp = world.kind("lamp", { attributes = { heat = "f32", title = "text", level = { "u8", min = 0, max = 9 } }, tags = { "light" } })
local Person = world.kind("person", { walker = {} })
world.event("lit", { level = "u8" })
world.timer("out", function() end)
world.on("start", function()
    Floor:spawn { at = vector.create(0, -0.5, 0) }
    Lamp:spawn { at = vector.create(1, 2, 3), heat = 0.5, title = "Größe", level = 7, private = { since = 1 } }
end)
world.on("join", function(player)
    player:spawn_avatar(Person, { at = vector.create(0, 0.92, 5) })
    table.insert(world.state.names, player.name)
    world.after(3600, "out", { of = player.name })
end)
world.action("count", {}, function()
    world.state.count += 1
    world.show("count", world.state.count)
end)
"#;

const ADA: PlayerId = PlayerId(1);
const PATIENCE: Duration = Duration::from_secs(120);

fn vectors() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec/vectors/store")
}

fn park() -> WorldName {
    WorldName::new("park").expect("the name is valid")
}

/// A folder that is removed with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        Folder(std::env::temp_dir().join(format!("nowcast-released-{}-{name}", std::process::id())))
    }

    fn open(&self) -> SqliteStore {
        SqliteStore::open(&self.0, Options::default()).expect("the folder is this test's own")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Writes a world of this release: a snapshot, and events after it.
fn bless() {
    let file = vectors().join(format!("{}.ncs", env!("CARGO_PKG_VERSION")));
    if file.exists() {
        return;
    }
    let folder = Folder::new("bless");
    let store = folder.open();
    let sources = Sources::of_main(RULES);
    let mut live = Live::new(sources.clone(), 3, Limits::DEFAULT).expect("the rules load");
    let origin = origin(live.world(), Some(&sources), 3);
    let mut recorder = Recorder::new(park(), origin, live.world());
    let apply = |live: &mut Live, recorder: &mut Recorder, command: Command| {
        live.apply(command.clone()).expect("the world accepts the command");
        recorder.took(live.world(), command);
        live.step();
    };
    apply(&mut live, &mut recorder, Command::join(ADA, "Ada"));
    let host = HostState {
        offered: "park".into(),
        last_player: 1,
        seats: Default::default(),
        sources: Some(sources),
    };
    recorder.snapshot(live.parts().0, &store, 1_700_000_000_000, host.to_bytes());
    let count = Command::Action { player: ADA, name: "count".into(), arguments: Value::Map(Vec::new()) };
    let id = ActionId { client: [5; 16], number: 1 };
    recorder
        .apply_once(live.parts().0, id, count.clone(), Box::new(drop))
        .expect("the world accepts the command");
    live.step();
    apply(&mut live, &mut recorder, count);
    recorder.flush_all(live.world(), &store, 1_700_000_000_100);
    store.commit(PATIENCE).expect("the world is stored");
    let bytes =
        store.reader().and_then(|reader| reader.export(&park(), Moment::Last)).expect("the world is stored");
    fs::create_dir_all(vectors()).expect("the folder of the vectors");
    fs::write(file, bytes).expect("the vector is written");
}

fn state(world: &World, key: &str) -> Option<Value> {
    world.scene().state(key).cloned()
}

#[test]
fn stored_worlds_of_every_release_resume() {
    if std::env::var_os("NOWCAST_BLESS").is_some() {
        bless();
    }
    let mut kept = 0;
    for entry in fs::read_dir(vectors()).expect("the vectors are there") {
        let path = entry.expect("the entry can be read").path();
        if path.extension().is_none_or(|extension| extension != "ncs") {
            continue;
        }
        let release = path.file_stem().expect("the file has a name").to_string_lossy().into_owned();
        let file = fs::read(&path).expect("the file can be read");
        assert_eq!(read_file(&file).expect("the bytes are a world").0, "park", "{release}");
        let folder = Folder::new(&release);
        let store = folder.open();
        store.import(&park(), &file).unwrap_or_else(|error| panic!("{release}: {error}"));
        let saved =
            store.load(&park(), Moment::Last).expect("the store is intact").expect("the world is stored");
        assert!(saved.once().contains(ActionId { client: [5; 16], number: 1 }), "{release}");
        let world = saved.replay_unchecked(restore_kept).unwrap_or_else(|error| panic!("{release}: {error}"));
        check_values(&release, &world);
        assert_eq!(state(&world, "count").and_then(|count| count.as_f64()), Some(2.0), "{release}");

        let (offered, sources) = kept_rules(&saved.snapshot).expect("the rules are stored");
        assert_eq!(offered, "park", "{release}");
        let migration = migrate(&saved, sources, &[], 1).unwrap_or_else(|error| panic!("{release}: {error}"));
        let world = restore_kept(&migration.snapshot).expect("the rules take it");
        check_values(&release, &world);
        kept += 1;
    }
    assert!(kept > 0, "no release has a stored world");
}

/// Checks that the world has the values that were stored.
fn check_values(release: &str, world: &World) {
    let scene = world.scene();
    assert_eq!(scene.player(ADA).map(|player| player.name.as_str()), Some("Ada"), "{release}");
    let lamp = scene.kind("lamp").expect("the rules have it");
    let lamps: Vec<_> = world.entities().iter().filter(|entity| entity.kind == lamp).collect();
    assert_eq!(lamps.len(), 1, "{release}");
    assert_eq!(lamps[0].pose.position, [1.0, 2.0, 3.0], "{release}");
    let attribute =
        |name: &str| scene.attribute(lamps[0].id, name).expect("the lamp has the attribute").clone();
    assert_eq!(attribute("title"), Value::from("Größe"), "{release}");
    assert_eq!(attribute("heat").as_f64(), Some(0.5), "{release}");
    // An attribute with bounds is quantised.
    assert!(attribute("level").as_f64().is_some_and(|level| (level - 7.0).abs() < 0.01), "{release}");
    let names = Value::List(vec![Value::from("Ada")]);
    assert_eq!(state(world, "names"), Some(names), "{release}");
}
