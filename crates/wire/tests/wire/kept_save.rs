//! Every release stores a save file in the repository. All later releases must read it.

use std::collections::BTreeMap;
use std::path::Path;

use nowcast_wire::{Wire, save};

#[derive(Wire, Debug, PartialEq)]
struct Game {
    version: u32,
    time: f64,
    hero: Hero,
    scenes: Vec<Scene>,
    flags: BTreeMap<String, i32>,
}

#[derive(Wire, Debug, PartialEq)]
struct Hero {
    name: String,
    position: [f32; 3],
    health: Option<f32>,
}

#[derive(Wire, Debug, PartialEq)]
struct Scene {
    name: String,
    visited: bool,
    entities: Vec<Entity>,
}

#[derive(Wire, Debug, PartialEq)]
struct Entity {
    id: u32,
    kind: Kind,
    #[wire(quat(12))]
    rotation: [f32; 4],
    tags: Vec<String>,
}

#[derive(Wire, Debug, PartialEq)]
enum Kind {
    Rock,
    Npc { faction: String, mood: i8 },
    Door(bool),
}

fn game() -> Game {
    let entity = |i: u32| Entity {
        id: 1000 + i,
        kind: match i % 3 {
            0 => Kind::Rock,
            1 => Kind::Npc { faction: "town".into(), mood: -(i as i8) },
            _ => Kind::Door(i.is_multiple_of(2)),
        },
        rotation: [0.0, 0.0, 0.0, 1.0],
        tags: (0..i % 3).map(|tag| format!("tag {tag}")).collect(),
    };
    let scene = |i: u32| Scene {
        name: format!("Village {i}"),
        visited: i == 1,
        entities: (0..9 + i).map(entity).collect(),
    };
    Game {
        version: 7,
        time: 123_456.789,
        hero: Hero { name: "Aveline Größe".into(), position: [1.5, 0.0, -3.25], health: Some(87.5) },
        scenes: (0..4).map(scene).collect(),
        flags: (0..20).map(|i| (format!("flag_killed_{i}"), i * 977)).collect(),
    }
}

#[test]
fn every_stored_save_file_is_read() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/saves");
    if std::env::var_os("NOWCAST_BLESS").is_some() {
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join(concat!(env!("CARGO_PKG_VERSION"), ".ncs"));
        if !path.exists() {
            save::to_file(&path, &game(), save::Options::default()).unwrap();
        }
    }
    let mut kept = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let read: Game = save::from_file(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert_eq!(read, game(), "{}", path.display());
        kept += 1;
    }
    assert!(kept > 0, "no release has kept a file");
}
