//! Chains of bodies with a heavy weight at the end.

use nowcast_world::{Joint, JointKind, Mass, Pose, Velocity};

use super::*;

const LINKS: usize = 12;
const LINK_KILOGRAMS: f32 = 0.2;

/// A chain of 12 links that hangs from a kinematic body, and carries a weight. The body moves aside from 3 to 5 s.
fn chain(kind: JointKind, weight_kilograms: f32, linear_damping: f32) -> World {
    let body = |shape, kilograms| {
        let mass = Mass::Kilograms(kilograms);
        Body { mass, linear_damping, ..Body::dynamic(shape) }
    };
    let link = body(ColliderShape::Capsule { radius: 0.06, height: 0.5 }, LINK_KILOGRAMS);
    let weight = body(ColliderShape::cube(0.6), weight_kilograms);
    let anchor = Body::kinematic(ColliderShape::Sphere { radius: 0.1 });
    let kinds = [("anchor", anchor), ("link", link), ("weight", weight)];
    let kinds = kinds.map(|(name, body)| Kind::new(name).with_body(body)).into();
    world_with(
        Definition { kinds, ..Definition::default() },
        move |scene| {
            let (mut last, mut below) = (spawn(scene, "anchor", [0.0, 12.0, 0.0]), 0.0);
            for number in 0..=LINKS {
                let (name, above) = if number < LINKS { ("link", 0.3) } else { ("weight", 0.4) };
                let next = spawn(scene, name, [0.0, 12.0 - 0.6 * number as f32 - above, 0.0]);
                let (anchor_a, anchor_b) = ([0.0, below, 0.0], [0.0, above, 0.0]);
                scene.join(Joint { anchor_a, anchor_b, ..Joint::new(last, next, kind) }).unwrap();
                (last, below) = (next, -0.3);
            }
        },
        |scene| {
            let anchor = scene.entities().iter().next().unwrap().id;
            let speed = if (180..300).contains(&scene.tick()) { 2.0 } else { 0.0 };
            scene.set_velocity(anchor, Velocity { linear: [speed, 0.0, 0.0], angular: [0.0; 3] }).unwrap();
        },
    )
}

/// Returns the largest distance between the two anchors of a joint, less the length of a rope.
fn gap(world: &World) -> f32 {
    let place = |id: EntityId, position: [f32; 3]| {
        let pose = world.entity(id).unwrap().pose;
        pose.then(&Pose { position, ..Pose::IDENTITY }).position
    };
    let gaps = world.scene().joints().map(|(_, joint)| {
        let (a, b) = (place(joint.a, joint.anchor_a), place(joint.b, joint.anchor_b));
        let apart = (0..3).map(|axis| (a[axis] - b[axis]).powi(2)).sum::<f32>().sqrt();
        let length = if let JointKind::Rope { length } = joint.kind { length } else { 0.0 };
        apart - length
    });
    gaps.fold(0.0, f32::max)
}

/// Regression test: with a weight of 100 links, a rope stretched without bound, and gaps of other joints were 7 cm.
#[test]
fn chains_do_not_stretch_under_a_weight_of_a_hundred_links() {
    let hinge = JointKind::Hinge { axis: [0.0, 0.0, 1.0], limits: None, motor: None };
    for kind in [JointKind::Ball, hinge, JointKind::Rope { length: 0.05 }] {
        let mut world = chain(kind, 100.0 * LINK_KILOGRAMS, 0.0);
        let mut worst = 0.0f32;
        for _ in 0..8 * 60 {
            world.step();
            worst = worst.max(gap(&world));
        }
        eprintln!("{kind:?}: {worst:.4} m");
        assert!(worst < 0.05, "{kind:?}: {worst} m");
    }
}

#[test]
fn a_chain_with_damping_that_was_moved_comes_to_rest() {
    let mut world = chain(JointKind::Ball, 10.0 * LINK_KILOGRAMS, 0.5);
    steps(&mut world, 6 * 60);
    let awake = |world: &World| {
        let is_awake = |id: &EntityId| world.scene().is_asleep(*id) == Some(false);
        world.entities().iter().map(|entity| entity.id).filter(is_awake).count()
    };
    assert!(awake(&world) > LINKS, "the chain swings");
    steps(&mut world, 30 * 60);
    assert_eq!(awake(&world), 0);
}
