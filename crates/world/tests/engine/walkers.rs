//! Walkers whose step is planned before physics: rules and other bodies meet them as they meet walkers moved by physics.

use nowcast_world::{
    Behaviour, Body, ColliderShape, Contact, Definition, EntityId, Input, Kind, Scene, Spawn, Velocity,
    Walker, World,
};

use super::{Told, spawn, steps, world_with};

const FLOOR: EntityId = EntityId(1);
const WALL: EntityId = EntityId(2);
const WALKER: EntityId = EntityId(3);

fn definition() -> Definition {
    let cuboid = |x, y, z| ColliderShape::Box { size: [x, y, z] };
    let shot = Body { gravity_scale: 0.0, ..Body::dynamic(ColliderShape::Sphere { radius: 0.2 }) };
    let kinds = vec![
        Kind::new("floor").with_body(Body::fixed(cuboid(50.0, 1.0, 50.0))),
        Kind::new("pad").with_body(Body::fixed(cuboid(50.0, 1.0, 50.0))).reporting_contacts(),
        Kind::new("wall").with_body(Body::fixed(cuboid(6.0, 3.0, 1.0))),
        Kind::new("shot").with_body(shot),
        Kind::walker("walker", Walker::default()),
    ];
    Definition { kinds, ..Definition::default() }
}

fn go(scene: &mut Scene) {
    let input = Input::new(1.0, 0.0, 0.0, false, false).expect("the input is valid");
    scene.set_input(WALKER, input).expect("the walker exists");
}

/// Puts a walker on a floor, or above it, and lets it walk toward a wall that is 5 m away.
fn put_walker(scene: &mut Scene, floor: &str, height: f32) {
    spawn(scene, floor, [0.0, -0.5, 0.0]);
    spawn(scene, "wall", [0.0, 1.5, -5.5]);
    spawn(scene, "walker", [0.0, height, 0.0]);
    go(scene);
}

fn walk() -> World {
    world_with(definition(), |scene| put_walker(scene, "floor", 0.9), |_| ())
}

#[test]
fn walker_on_its_way_touches_the_floor_and_then_the_wall() {
    let mut world = walk();
    let touching = |world: &World| world.scene().touching(WALKER).expect("the walker exists");
    steps(&mut world, 60);
    assert_eq!(touching(&world), [FLOOR]);
    assert_eq!(world.scene().touching(FLOOR).expect("the floor exists"), [WALKER]);
    steps(&mut world, 60);
    assert_eq!(touching(&world), [FLOOR, WALL]);
    steps(&mut world, 300);
    assert_eq!(touching(&world), [FLOOR, WALL]);
}

#[test]
fn walker_in_the_air_touches_nothing() {
    let mut world = world_with(definition(), |scene| put_walker(scene, "floor", 3.0), |_| ());
    steps(&mut world, 10);
    assert_eq!(world.scene().touching(WALKER).expect("the walker exists"), []);
}

#[test]
fn fast_shot_does_not_pass_through_a_walker_and_pushes_it() {
    let mut alone = walk();
    steps(&mut alone, 30);
    let at = alone.scene().pose(WALKER).expect("the walker exists").position;
    // The shot flies 0.5 m a step, and meets the walker within step 30 at another moment in each trial.
    for trial in 0..10 {
        let start = move |scene: &mut Scene| {
            put_walker(scene, "floor", 0.9);
            let kind = scene.kind("shot").expect("the definition has it");
            let from = [15.0 + 0.05 * trial as f32, 0.9, at[2]];
            let velocity = Velocity { linear: [-30.0, 0.0, 0.0], ..Velocity::default() };
            scene.spawn(kind, Spawn { velocity, ..Spawn::at(from) }).expect("there is space");
        };
        let mut world = world_with(definition(), start, |_| ());
        steps(&mut world, 60);
        let place = |id| world.scene().pose(id).expect("the entity exists").position;
        let walker = place(WALKER);
        let speed = world.scene().velocity(EntityId(4)).expect("the shot exists").linear[0];
        assert!(speed > -15.0, "trial {trial}: the shot still has {speed} m/s");
        assert!(walker[0] < -0.01, "trial {trial}: nothing pushed the walker at {walker:?}");
    }
}

#[test]
fn floor_that_reports_contacts_reports_a_walker_that_lands_with_its_impulse() {
    #[derive(Default)]
    struct Pad;
    impl Behaviour for Pad {
        fn start(&mut self, scene: &mut Scene) {
            put_walker(scene, "pad", 4.0);
        }

        fn contact(&mut self, scene: &mut Scene, contact: &Contact) {
            assert_eq!((contact.a, contact.b), (FLOOR, WALKER));
            if contact.is_begin && scene.state("impulse").is_none() {
                scene.set_state("impulse", f64::from(contact.impulse)).expect("a number is small");
            }
        }
    }
    let mut world = World::new(definition(), 1, Box::new(Pad)).expect("the definition is valid");
    steps(&mut world, 90);
    let impulse = world.scene().state("impulse").and_then(|value| value.as_f64()).expect("the walker landed");
    // The step of the specification stopped the fall, so the impulse is that of 70 kg for a step.
    assert!((impulse - 70.0 * 9.81 / 60.0).abs() < 0.1, "{impulse}");
}

#[test]
fn removed_bodies_touch_nothing() {
    let mut world = world_with(
        definition(),
        |scene| put_walker(scene, "floor", 0.9),
        |scene| {
            if scene.tick() == 30 {
                scene.despawn(FLOOR).expect("the floor exists");
                assert_eq!(scene.touching(WALKER).expect("the walker exists"), []);
            }
        },
    );
    steps(&mut world, 60);
    let place = world.scene().pose(WALKER).expect("the walker exists").position;
    assert!(place[1] < 0.0, "the walker falls without its floor: {place:?}");
}

#[test]
fn walker_that_passes_through_the_wall_still_touches_the_floor() {
    let mut world = world_with(
        definition(),
        |scene| put_walker(scene, "floor", 0.9),
        |scene| {
            if scene.tick() == 30 {
                scene.set_passes(WALKER, Some(WALL)).expect("both exist");
                assert_eq!(scene.touching(WALKER).expect("the walker exists"), [FLOOR]);
            }
        },
    );
    steps(&mut world, 180);
    assert_eq!(world.scene().touching(WALKER).expect("the walker exists"), [FLOOR]);
    let place = world.scene().pose(WALKER).expect("the walker exists").position;
    assert!(place[2] < -6.0, "{place:?}");
}

#[test]
fn walker_in_mid_walk_continues_to_the_last_bit_after_a_restore() {
    let mut world = walk();
    for _ in 0..12 {
        steps(&mut world, 13);
        let start: fn(&mut Scene) = |_| ();
        let behaviour = Box::new(Told { start, step: start });
        let mut restored =
            World::restore(definition(), behaviour, &world.snapshot()).expect("the snapshot is valid");
        for _ in 0..20 {
            steps(&mut world, 1);
            restored.step();
            assert_eq!(world.hash(), restored.hash());
        }
    }
}

#[test]
fn walker_that_has_walked_falls_asleep_where_it_stands() {
    let mut world = world_with(
        definition(),
        |scene| put_walker(scene, "floor", 0.9),
        |scene| {
            if scene.tick() == 90 {
                scene.set_input(WALKER, Input::default()).expect("the walker exists");
            }
        },
    );
    steps(&mut world, 85);
    assert_eq!(world.awake(), 1);
    steps(&mut world, 60);
    let stood = world.scene().pose(WALKER).expect("the walker exists").position;
    steps(&mut world, 180);
    assert_eq!(world.awake(), 0);
    let stands = world.scene().pose(WALKER).expect("the walker exists").position;
    for (before, after) in stood.into_iter().zip(stands) {
        assert!((before - after).abs() < 1e-4, "{stood:?} {stands:?}");
    }
}
