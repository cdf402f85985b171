use nowcast_world::{Attributes, Pose, Random, RestoreError, World};
use proptest::prelude::*;

use super::garden::{Garden, definition, story};
use super::*;

/// The hashes of a world that took snapshots at random steps, and of one that was restored from each of them.
fn written_and_restored(seed: u64, ticks: u64) -> (u64, u64) {
    let mut when = Random::new(!seed);
    let times: Vec<u64> = (0..4).map(|_| when.bits() % ticks).collect();
    let written = story(seed, ticks, |world, tick| {
        if times.contains(&tick) {
            world.snapshot();
        }
    });
    let restored = story(seed, ticks, |world, tick| {
        if times.contains(&tick) {
            let bytes = world.snapshot();
            let other =
                World::restore(definition(), Box::new(Garden), &bytes).expect("the bytes are a snapshot");
            assert_eq!(world.hash(), other.hash(), "seed {seed}, tick {tick}");
            *world = other;
        }
    });
    (written.hash(), restored.hash())
}

/// Seeds that a run tries; `NOWCAST_SEEDS=1000` is the long form.
fn seeds() -> u64 {
    std::env::var("NOWCAST_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(12)
}

#[test]
fn a_restored_world_continues_to_the_last_bit_like_the_original() {
    for seed in 0..seeds() {
        let (written, restored) = written_and_restored(seed, 400);
        assert_eq!(written, restored, "seed {seed}");
    }
}

#[test]
fn the_same_seed_and_commands_give_the_same_world_and_others_a_different_one() {
    for seed in 0..seeds().min(50) {
        let plain = story(seed, 300, |_, _| {});
        let observed = story(seed, 300, |world, _| {
            let _ = (world.hash(), world.poses().count(), world.scene().awake());
        });
        assert_eq!(plain.hash(), observed.hash(), "looking changes nothing, seed {seed}");
        assert_ne!(plain.hash(), story(seed + 1_000_000, 300, |_, _| {}).hash());
    }
}

/// Five towers of ten cubes.
fn towers() -> (World, Vec<EntityId>) {
    let world = world_with(
        ground_and_cubes(),
        |scene| {
            spawn(scene, "ground", [0.0, -1.0, 0.0]);
            for cube in 0..50 {
                spawn(scene, "cube", [3.0 * (cube % 5) as f32, 0.5 + (cube / 5) as f32, 0.0]);
            }
        },
        nothing,
    );
    let cubes = world.entities().ids()[1..].to_vec();
    (world, cubes)
}

fn farthest(before: &[[f32; 3]], world: &World, cubes: &[EntityId]) -> f32 {
    let apart = |(was, id): (&[f32; 3], &EntityId)| {
        let is = position(world, *id);
        (0..3).map(|axis| (was[axis] - is[axis]).abs()).fold(0.0, f32::max)
    };
    before.iter().zip(cubes).map(apart).fold(0.0, f32::max)
}

#[test]
fn sleeping_towers_stay_asleep_and_in_place_to_the_last_bit() {
    let (mut world, cubes) = towers();
    steps(&mut world, 300);
    assert_eq!(world.awake(), 0, "they have come to rest");
    let before: Vec<_> = cubes.iter().map(|id| position(&world, *id)).collect();
    for _ in 0..20 {
        world.snapshot();
        assert_eq!(world.awake(), 0);
        steps(&mut world, 10);
        assert_eq!(world.awake(), 0);
    }
    assert_eq!(farthest(&before, &world, &cubes), 0.0);
}

#[test]
fn towers_that_are_awake_do_not_shake() {
    let (mut world, cubes) = towers();
    steps(&mut world, 20);
    assert!(world.awake() > 0, "they have not come to rest yet");
    for _ in 0..30 {
        world.wake_all();
        let before: Vec<_> = cubes.iter().map(|id| position(&world, *id)).collect();
        world.snapshot();
        world.step();
        let moved = farthest(&before, &world, &cubes);
        assert!(moved < 0.005, "a step after a snapshot moved a cube by {moved} m");
    }
    steps(&mut world, 200);
    assert_eq!(world.awake(), 0, "and they come to rest");
    assert!(position(&world, cubes[49])[1] > 9.4, "upright: {:?}", position(&world, cubes[49]));
}

#[test]
fn a_sleeping_body_wakes_when_something_falls_on_it_after_a_snapshot() {
    let (mut world, cubes) = towers();
    steps(&mut world, 300);
    let bytes = world.snapshot();
    let mut world =
        World::restore(ground_and_cubes(), Box::new(()), &bytes).expect("the bytes are a snapshot");
    let edit = nowcast_world::Edit::Place(
        cubes[0],
        nowcast_world::Pose { position: [30.0, 0.5, 0.0], ..Default::default() },
    );
    world.apply(nowcast_world::Command::join(ADA, "Ada")).unwrap();
    world.apply(nowcast_world::Command::Edit { player: ADA, edit }).unwrap();
    steps(&mut world, 60);
    assert!(
        position(&world, cubes[5])[1] < 1.0,
        "the tower fell when its foot was taken: {:?}",
        position(&world, cubes[5])
    );
}

#[test]
fn a_snapshot_is_small() {
    let (mut world, _) = towers();
    steps(&mut world, 300);
    let bytes = world.snapshot().len();
    assert!(bytes < 51 * 120, "{bytes} bytes for 51 bodies");
}

#[test]
fn attributes_of_another_version_are_matched_by_name() {
    let with = |attributes: &str| Definition {
        kinds: vec![Kind::new("mark").with_attributes(Attributes::parse(attributes).unwrap())],
        ..Definition::default()
    };
    let start = |scene: &mut Scene| {
        let mark = scene.kind("mark").unwrap();
        scene
            .spawn(mark, Spawn::at([1.0, 2.0, 3.0]).with("old", 3).with("stays", "here").with("grows", 250))
            .unwrap();
    };
    let mut world = world_with(with("old: u8, stays: text, grows: u8"), start, nothing);
    let bytes = world.snapshot();
    let newer = with("stays: text, grows: range(0, 1, 0.5), new: u8");
    let world = World::restore(newer, Box::new(()), &bytes).unwrap();
    let id = world.entities().ids()[0];
    let attribute = |name| world.scene().attribute(id, name).cloned();
    assert_eq!(attribute("stays"), Some(Value::from("here")));
    assert_eq!((attribute("old"), attribute("new")), (None, Some(Value::Int(0))));
    assert_eq!(
        attribute("grows"),
        Some(Value::F64(1.0)),
        "a number fits into a range by the rule of the range"
    );

    let gone = World::restore(Definition::default(), Box::new(()), &bytes);
    assert!(matches!(&gone, Err(RestoreError::UnknownKind { kind, count: 1 }) if kind == "mark"));
    assert!(gone.err().unwrap().to_string().contains("formerly"), "it says what helps");
}

#[test]
fn a_renamed_kind_and_attribute_take_over_the_values_of_the_old_names() {
    let with = |kind: Kind| Definition { kinds: vec![kind], ..Definition::default() };
    let attributes = |fields: &str| Attributes::parse(fields).unwrap();
    let start = |scene: &mut Scene| {
        let mark = scene.kind("mark").unwrap();
        scene.spawn(mark, Spawn::at([1.0, 2.0, 3.0]).with("heat", 3)).unwrap();
    };
    let before = with(Kind::new("mark").with_attributes(attributes("heat: u8")));
    let bytes = world_with(before, start, nothing).snapshot();
    let renamed = attributes("warmth: u8").with_former_name("warmth", "heat").unwrap();
    let kind = Kind { formerly: vec!["mark".into()], ..Kind::new("sign").with_attributes(renamed) };
    let world = World::restore(with(kind.clone()), Box::new(()), &bytes).unwrap();
    let id = world.entities().ids()[0];
    assert_eq!(world.scene().attribute(id, "warmth"), Some(&Value::Int(3)));
    let both = Definition { kinds: vec![kind, Kind::new("mark")], ..Definition::default() };
    assert!(both.validate().is_err(), "one name is one kind's");
    let two = attributes("a: u8, b: u8").with_former_name("a", "b");
    assert!(two.is_err(), "one name is one attribute's");
}

#[test]
fn a_resting_body_wakes_only_when_new_rules_change_it() {
    let (mut world, _) = towers();
    steps(&mut world, 600);
    assert_eq!(world.awake(), 0, "everything rests");
    let before = world.scene().definition().clone();
    let bytes = world.snapshot();
    let with = |after: &Definition| {
        let mut world = World::restore(after.clone(), Box::new(()), &bytes).unwrap();
        world.upgrade(Some(&before));
        world
    };
    let mut same = with(&before);
    steps(&mut same, 1);
    assert_eq!(same.awake(), 0);
    let mut after = before.clone();
    for kind in &mut after.kinds {
        if let Some(body) = kind.body.as_mut().filter(|body| body.motion == nowcast_world::Motion::Dynamic) {
            body.shape = ColliderShape::cube(0.5);
        }
    }
    let mut smaller = with(&after);
    let heights =
        |world: &World| -> f32 { world.entities().iter().map(|entity| entity.pose.position[1]).sum() };
    let begun = heights(&smaller);
    steps(&mut smaller, 120);
    assert!(heights(&smaller) < begun - 1.0, "smaller cubes fall onto each other");
}

#[test]
fn an_attached_entity_keeps_following_after_it_was_moved() {
    let definition = Definition { kinds: vec![Kind::new("mark")], ..Definition::default() };
    let start = |scene: &mut Scene| {
        let mark = scene.kind("mark").unwrap();
        let carrier = scene.spawn(mark, Spawn::at([1.0, 0.0, 0.0])).unwrap();
        let carried = scene.spawn(mark, Spawn::at([1.0, 1.0, 0.0])).unwrap();
        scene.set_parent(carried, Some(carrier)).unwrap();
        scene.set_pose(carried, Pose { position: [3.0, 0.0, 0.0], ..Pose::IDENTITY }).unwrap();
    };
    let move_once = |scene: &mut Scene| {
        if scene.tick() == 1 {
            let carrier = scene.entities().ids()[0];
            scene.set_pose(carrier, Pose { position: [5.0, 0.0, 0.0], ..Pose::IDENTITY }).unwrap();
        }
    };
    let mut world = world_with(definition, start, move_once);
    let carried = world.entities().ids()[1];
    let place = |world: &World| world.scene().pose(carried).unwrap().position;
    steps(&mut world, 1);
    assert_eq!(place(&world), [3.0, 0.0, 0.0]);
    steps(&mut world, 2);
    assert_eq!(place(&world), [7.0, 0.0, 0.0], "it keeps its pose relative to its parent");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn damaged_snapshots_are_refused_or_are_worlds(at in any::<prop::sample::Index>(), value in any::<u8>(), cut in any::<prop::sample::Index>()) {
        let mut bytes = story(3, 60, |_, _| {}).snapshot();
        let at = at.index(bytes.len());
        bytes[at] = value;
        if value % 4 == 0 {
            bytes.truncate(cut.index(bytes.len()));
        }
        if let Ok(mut world) = World::restore(definition(), Box::new(()), &bytes) {
            steps(&mut world, 3);
        }
    }
}
