//! Limits on bodies in one place.

use nowcast_world::{Command, Limits, Player, Pose, SceneError};

use super::*;

const MAX: usize = Limits::DEFAULT.overlaps_max;

/// Balls, fixed blocks, platforms that rules move, zones, and people.
fn definition() -> Definition {
    let sized = |size| ColliderShape::Box { size };
    let zone = Body { motion: nowcast_world::Motion::Sensor, ..Body::fixed(sized([200.0; 3])) };
    let kinds = vec![
        Kind::new("ball").with_body(Body::dynamic(ColliderShape::Sphere { radius: 0.5 })),
        Kind::new("block").with_body(Body::fixed(sized([1.0; 3]))),
        Kind::new("platform").with_body(Body::kinematic(sized([40.0, 0.5, 40.0]))),
        Kind::new("zone").with_body(zone),
        Kind::walker("person", nowcast_world::Walker::default()),
    ];
    Definition { kinds, ..Definition::default() }
}

fn try_spawn(scene: &mut Scene, kind: &str, position: [f32; 3], scale: f32) -> Result<EntityId, SceneError> {
    let kind = scene.kind(kind).expect("the definition has it");
    scene.spawn(kind, Spawn { scale: Some([scale; 3]), ..Spawn::at(position) })
}

fn at(position: [f32; 3]) -> Pose {
    Pose { position, ..Pose::IDENTITY }
}

#[test]
fn bodies_spawned_at_one_point_in_each_step_are_refused_by_name() {
    let start = |scene: &mut Scene| {
        for _ in 0..=MAX {
            spawn(scene, "ball", [0.0; 3]);
        }
        let (next, kept) = (scene.next_id(), scene.kept_bytes());
        let error = try_spawn(scene, "ball", [0.3, 0.0, 0.0], 1.0).unwrap_err();
        assert_eq!(error, SceneError::Crowded { max: MAX });
        assert!(error.to_string().contains("too many bodies overlap here"), "{error}");
        assert_eq!((scene.next_id(), scene.kept_bytes()), (next, kept), "nothing has changed");
        spawn(scene, "ball", [3.0, 0.0, 0.0]);
    };
    let step = |scene: &mut Scene| {
        let spawned = (0..1_900).filter(|_| try_spawn(scene, "ball", [50.0, 0.0, 0.0], 1.0).is_ok());
        assert!(spawned.count() <= MAX + 1);
    };
    let mut world = world_with(definition(), start, step);
    steps(&mut world, 3);
    assert!(world.entities().len() <= 4 * (MAX + 1) + 1);
}

#[test]
fn bodies_of_growing_sizes_at_one_point_are_refused() {
    let start = |scene: &mut Scene| {
        let spawned =
            (0..1_900).filter(|n| try_spawn(scene, "ball", [0.0; 3], 1.01_f32.powi(*n / 2)).is_ok());
        assert_eq!(spawned.count(), MAX + 1);
    };
    world_with(definition(), start, nothing);
}

#[test]
fn teleports_into_a_crowd_are_refused() {
    let start = |scene: &mut Scene| {
        let first = spawn(scene, "ball", [0.0; 3]);
        for n in 1..=MAX {
            let ball = spawn(scene, "ball", [0.0, 2.0 * n as f32, 0.0]);
            scene.set_pose(ball, at([0.0; 3])).expect("the world has space for the entity");
        }
        let late = spawn(scene, "ball", [9.0, 0.0, 0.0]);
        assert_eq!(scene.set_pose(late, at([0.0; 3])), Err(SceneError::Crowded { max: MAX }));
        assert_eq!(scene.pose(late), Some(at([9.0, 0.0, 0.0])), "it stays");
        scene.set_pose(first, at([0.1, 0.0, 0.0])).expect("a ball does not overlap itself");
        scene.set_pose(first, at([-9.0, 0.0, 0.0])).expect("the ball leaves the crowd");
        scene.set_pose(late, at([0.0; 3])).expect("the world has space again");
    };
    world_with(definition(), start, nothing);
}

#[test]
fn piles_platforms_and_zones_are_no_crowds() {
    let start = |scene: &mut Scene| {
        spawn(scene, "zone", [0.0; 3]);
        for n in 0..1_000 {
            let place = [n % 10, n / 10 % 10, n / 100].map(|v| v as f32);
            spawn(scene, "block", place);
            spawn(scene, "ball", place.map(|v| v + 20.0));
            spawn(scene, "block", [place[0] - 40.0, 0.0, place[2] + place[1] * 10.0]);
        }
        spawn(scene, "zone", [0.0; 3]);
        let platform = spawn(scene, "platform", [25.0, 19.5, 25.0]);
        scene.set_pose(platform, at([25.0, 19.25, 25.0])).expect("balls on a platform are smaller");
    };
    let step = |scene: &mut Scene| {
        let platform = scene.kind("platform").expect("the kind is defined");
        let platform = scene.entities().of_kind(platform).next().expect("the platform exists").id;
        let pose = scene.pose(platform).expect("the platform exists");
        scene.set_pose(platform, pose).expect("balls on a platform are smaller");
    };
    let mut world = world_with(definition(), start, step);
    steps(&mut world, 2);
}

/// Gives everybody a body at the same place.
struct Square;

impl Behaviour for Square {
    fn join(&mut self, scene: &mut Scene, player: PlayerId) {
        let person = scene.kind("person").expect("the kind is defined");
        scene.spawn_avatar(player, person, Spawn::default()).expect("avatars are not refused");
        if scene.players().len() == 200 {
            spawn(scene, "ball", [0.0; 3]);
            let avatar =
                scene.players().find_map(|player: &Player| player.avatar).expect("a player has an avatar");
            scene.set_pose(avatar, at([0.0; 3])).expect("avatars are not refused");
        }
    }
}

#[test]
fn avatars_of_all_players_may_begin_at_one_place() {
    let mut world = World::new(definition(), 1, Box::new(Square)).expect("the definition is good");
    for id in 1..=200 {
        world.apply(Command::join(PlayerId(id), "guest")).expect("the world accepts the command");
    }
    world.step();
    assert_eq!(world.entities().len(), 201);
}

#[test]
fn restored_world_refuses_the_same_bodies() {
    fn press(scene: &mut Scene) {
        let tick = scene.tick();
        for n in 0..20_u32 {
            let place = [(n % 4) as f32 * 0.4, 0.1 * (tick % 7) as f32, (n % 3) as f32 * 0.3];
            let _ = try_spawn(scene, "ball", place, 0.5 + (tick % 3) as f32);
        }
        let ids = scene.entities().ids().to_vec();
        if let Some(id) = ids.get(tick as usize % ids.len()) {
            let _ = scene.set_pose(*id, at([0.5, 0.0, 0.5]));
        }
    }
    let mut world = world_with(definition(), nothing, press);
    steps(&mut world, 20);
    let count = world.entities().len();
    assert!(count < 20 * 20, "some were refused");
    let bytes = world.snapshot();
    let behaviour = Told { start: nothing, step: press };
    let mut restored =
        World::restore(definition(), Box::new(behaviour), &bytes).expect("the snapshot is intact");
    for _ in 0..40 {
        world.step();
        restored.step();
    }
    assert!(world.entities().len() > count);
    assert_eq!(restored.hash(), world.hash());
}
