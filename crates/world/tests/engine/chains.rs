//! Chains of bodies, with and without a heavy weight at the end.

use nowcast_world::{Joint, JointKind, Mass, Pose, Velocity};

use super::*;

const LINKS: usize = 12;
const LINK_KILOGRAMS: f32 = 0.2;

fn definition(weight_kilograms: f32, linear_damping: f32) -> Definition {
    let body = |shape, kilograms| {
        let mass = Mass::Kilograms(kilograms);
        Body { mass, linear_damping, ..Body::dynamic(shape) }
    };
    let link = body(ColliderShape::Capsule { radius: 0.06, height: 0.5 }, LINK_KILOGRAMS);
    let weight = body(ColliderShape::cube(0.6), weight_kilograms);
    let anchor = Body::kinematic(ColliderShape::Sphere { radius: 0.1 });
    let kinds = [("anchor", anchor), ("link", link), ("weight", weight)];
    let kinds = kinds.map(|(name, body)| Kind::new(name).with_body(body)).into();
    Definition { kinds, ..Definition::default() }
}

/// Hangs links from a kinematic body, and a weight from the last link.
fn hang(scene: &mut Scene, kind: JointKind, links: usize) {
    let (mut last, mut below) = (spawn(scene, "anchor", [0.0, 12.0, 0.0]), 0.0);
    for number in 0..=links {
        let (name, above) = if number < links { ("link", 0.3) } else { ("weight", 0.4) };
        let next = spawn(scene, name, [0.0, 12.0 - 0.6 * number as f32 - above, 0.0]);
        let (anchor_a, anchor_b) = ([0.0, below, 0.0], [0.0, above, 0.0]);
        scene.join(Joint { anchor_a, anchor_b, ..Joint::new(last, next, kind) }).unwrap();
        (last, below) = (next, -0.3);
    }
}

/// A chain with a weight at the end. The body that it hangs from moves aside from 3 to 5 s.
fn chain(kind: JointKind, weight_kilograms: f32, linear_damping: f32) -> World {
    world_with(
        definition(weight_kilograms, linear_damping),
        move |scene| hang(scene, kind, LINKS),
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

/// Returns the largest gap in 8 s.
fn gap_max(mut world: World) -> f32 {
    let gaps = (0..8 * 60).map(|_| {
        world.step();
        gap(&world)
    });
    gaps.fold(0.0, f32::max)
}

fn awake(world: &World) -> usize {
    let is_awake = |id: &EntityId| world.scene().is_asleep(*id) == Some(false);
    world.entities().iter().map(|entity| entity.id).filter(is_awake).count()
}

/// Regression test: with a weight of 100 links, a rope stretched without bound, and gaps of other joints were 7 cm.
#[test]
fn chains_do_not_stretch_under_a_weight_of_a_hundred_links() {
    let hinge = JointKind::Hinge { axis: [0.0, 0.0, 1.0], limits: None, motor: None };
    for kind in [JointKind::Ball, hinge, JointKind::Rope { length: 0.05 }] {
        let worst = gap_max(chain(kind, 100.0 * LINK_KILOGRAMS, 0.0));
        eprintln!("{kind:?}: {worst:.4} m");
        assert!(worst < 0.05, "{kind:?}: {worst} m");
    }
}

/// Regression test: a rope of 50 equal links stretched by 4.6 m.
#[test]
fn chains_of_fifty_links_do_not_stretch_under_their_own_weight() {
    for kind in [JointKind::Ball, JointKind::Rope { length: 0.05 }] {
        let world = world_with(definition(LINK_KILOGRAMS, 0.0), move |scene| hang(scene, kind, 50), nothing);
        let worst = gap_max(world);
        eprintln!("{kind:?}: {worst:.4} m");
        assert!(worst < 0.05, "{kind:?}: {worst} m");
    }
}

#[test]
fn chains_that_were_moved_come_to_rest() {
    for (kind, ratio) in
        [(JointKind::Ball, 1.0), (JointKind::Ball, 100.0), (JointKind::Rope { length: 0.05 }, 10.0)]
    {
        let mut world = chain(kind, ratio * LINK_KILOGRAMS, 0.0);
        steps(&mut world, 6 * 60);
        assert!(awake(&world) > LINKS, "the chain swings");
        steps(&mut world, 54 * 60);
        assert_eq!(awake(&world), 0, "{kind:?}, 1:{ratio}");
    }
}

#[test]
fn a_chain_with_little_damping_of_its_own_swings_on() {
    let mut world = chain(JointKind::Ball, LINK_KILOGRAMS, 0.001);
    steps(&mut world, 60 * 60);
    assert!(awake(&world) > LINKS);
}

#[test]
fn a_restored_chain_continues_to_the_last_bit() {
    let kilograms = 30.0 * LINK_KILOGRAMS;
    let mut world = chain(JointKind::Ball, kilograms, 0.0);
    steps(&mut world, 250);
    let bytes = world.snapshot();
    let mut restored = World::restore(definition(kilograms, 0.0), Box::new(()), &bytes).unwrap();
    steps(&mut restored, 40);
    // Without its behaviour, the anchor of the restored world keeps its velocity until tick 300.
    steps(&mut world, 40);
    assert_eq!(world.hash(), restored.hash());
}

#[test]
fn a_body_without_joints_moves_like_one_that_never_had_any() {
    let mut world = world_with(
        definition(LINK_KILOGRAMS, 0.0),
        |scene| {
            let [a, b, _] = [0.0, 5.0, 9.0].map(|x| spawn(scene, "link", [x, 12.0, 0.0]));
            let joint = scene.join(Joint::new(a, b, JointKind::Rope { length: 20.0 })).unwrap();
            scene.part(joint).unwrap();
        },
        nothing,
    );
    steps(&mut world, 60);
    let heights = [1, 2, 3].map(|id| position(&world, EntityId(id))[1]);
    assert_eq!(heights, [heights[2]; 3]);
}
