//! Clients that predict bodies (`packages/predict-rapier`) use the engine's physics in WebAssembly. The test here and the
//! self-check of that package compute the same scene and must get the same bits.

use rapier3d::prelude::*;

use super::Physics;

/// The result of the scene in `packages/predict-rapier/src/self-check.ts`.
fn expected() -> u32 {
    let source = include_str!("../../../../packages/predict-rapier/src/self-check.ts");
    let (_, from) = source.split_once("SCENE_HASH = 0x").expect("the hash of the scene");
    let digits = from.split(';').next().expect("a statement ends");
    u32::from_str_radix(digits, 16).expect("a number in hex")
}

#[test]
fn boxes_a_ball_and_a_person_fall_on_each_other_as_they_do_at_clients() {
    // Uses the physics of the engine with all its settings, not a Rapier world with defaults.
    let mut physics = Physics::new([0.0, -9.81, 0.0]);
    let world = &mut physics.world;
    let ground =
        ColliderBuilder::cuboid(20.0, 0.5, 20.0).translation(Vector::new(0.0, -0.5, 0.0)).friction(1.0);
    world.colliders.insert(ground);
    for at in 0..6 {
        let at = f64::from(at);
        let angle = 0.3 * at;
        let pose = Pose::from_parts(
            Vector::new((0.2 * at) as f32, (0.7 + 1.1 * at) as f32, (0.1 * at) as f32),
            Rotation::from_xyzw(0.0, (0.1 * angle) as f32, 0.0, 1.0),
        );
        let body =
            RigidBodyBuilder::dynamic().pose(pose).angvel(Vector::new(angle as f32, -angle as f32, 1.0));
        world.insert(body, ColliderBuilder::cuboid(0.5, 0.4, 0.3).density(60.0).friction(0.8));
    }
    let ball = RigidBodyBuilder::dynamic()
        .translation(Vector::new(-6.0, 1.0, 0.0))
        .linvel(Vector::new(8.0, 2.0, 0.25));
    world.insert(ball, ColliderBuilder::ball(0.4).mass(20.0).restitution(0.6));
    let person = RigidBodyBuilder::dynamic()
        .translation(Vector::new(2.5, 0.9, 0.0))
        .linvel(Vector::new(-3.2, 0.0, 0.0))
        .lock_rotations();
    world.insert(person, ColliderBuilder::capsule_y(0.55, 0.35).mass(70.0).friction(0.0));
    for _ in 0..120 {
        physics.step();
    }
    // FNV-1a over the bits of all poses.
    let mut hash = 0x811c_9dc5_u32;
    for (_, body) in physics.world.bodies.iter() {
        let turn = body.rotation();
        let places = [body.translation(), body.linvel(), body.angvel()].map(|vector| vector.to_array());
        for part in places.into_iter().flatten().chain([turn.x, turn.y, turn.z, turn.w]) {
            hash = (hash ^ part.to_bits()).wrapping_mul(16_777_619);
        }
    }
    assert_eq!(hash, expected(), "{hash:#x} {:#x}", expected());
}
