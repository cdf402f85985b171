use nowcast_world::{Contact, Filter, Joint, JointKind, Motion, Motor, Pose, SceneError, Velocity};

use super::*;

fn kinds(kinds: Vec<Kind>) -> Definition {
    let mut definition = ground_and_cubes();
    definition.kinds.extend(kinds);
    definition
}

#[test]
fn every_shape_falls_and_comes_to_rest_on_the_ground() {
    let hull = (0..8)
        .map(|corner| [corner & 1, corner >> 1 & 1, corner >> 2].map(|side| side as f32 - 0.5))
        .collect();
    let shapes = [
        ColliderShape::Sphere { radius: 0.5 },
        ColliderShape::Capsule { radius: 0.3, height: 1.2 },
        ColliderShape::Cylinder { radius: 0.5, height: 1.0 },
        ColliderShape::Cone { radius: 0.5, height: 1.0 },
        ColliderShape::ConvexHull { points: hull },
        ColliderShape::Compound {
            parts: vec![
                (Pose::IDENTITY, ColliderShape::cube(0.5)),
                (Pose { position: [0.5, 0.0, 0.0], ..Pose::IDENTITY }, ColliderShape::cube(0.5)),
            ],
        },
    ];
    let names: Vec<String> = (0..shapes.len()).map(|index| format!("shape {index}")).collect();
    let body = |shape: &ColliderShape| Body { angular_damping: 2.0, ..Body::dynamic(shape.clone()) };
    let definition = kinds(
        names.iter().zip(&shapes).map(|(name, shape)| Kind::new(name).with_body(body(shape))).collect(),
    );
    let mut world = world_with(
        definition,
        move |scene| {
            spawn(scene, "ground", [0.0, -1.0, 0.0]);
            for (index, name) in names.iter().enumerate() {
                spawn(scene, name, [3.0 * index as f32, 2.0, 0.0]);
            }
        },
        nothing,
    );
    steps(&mut world, 400);
    for entity in world.entities().iter().skip(1) {
        let height = entity.pose.position[1];
        assert!(
            (0.15..0.75).contains(&height),
            "{} lies at {height}",
            world.scene().kind_of(entity.kind).name
        );
    }
}

#[test]
fn meshes_and_height_fields_carry_falling_bodies() {
    let slope = ColliderShape::HeightField {
        heights: vec![0.0, 0.0, 0.0, 1.0, 1.0, 1.0],
        columns: 3,
        size: [10.0, 10.0],
    };
    let roof = ColliderShape::TriangleMesh {
        vertices: vec![[-5.0, 2.0, -5.0], [5.0, 2.0, -5.0], [5.0, 2.0, 5.0], [-5.0, 2.0, 5.0]],
        triangles: vec![[0, 2, 1], [0, 3, 2]],
    };
    let definition = kinds(vec![
        Kind::new("slope").with_body(Body::fixed(slope)),
        Kind::new("roof").with_body(Body::fixed(roof)),
    ]);
    let mut world = world_with(
        definition,
        |scene| {
            spawn(scene, "slope", [0.0; 3]);
            spawn(scene, "roof", [20.0, 0.0, 0.0]);
        },
        nothing,
    );
    world.step();
    let height = |x: f32, z: f32| {
        let hit = world.scene().cast_ray([x, 10.0, z], [0.0, -1.0, 0.0], 20.0, Filter::default());
        hit.unwrap().map(|hit| hit.point[1])
    };
    let near = |found: Option<f32>, expected: f32| found.is_some_and(|found| (found - expected).abs() < 0.01);
    assert!(near(height(0.0, -4.9), 0.01) && near(height(0.0, 4.9), 0.99), "rows go along Z");
    assert!(near(height(20.0, 0.0), 2.0));
    assert_eq!(height(50.0, 0.0), None);
}

#[test]
fn scale_is_felt_by_physics_and_refused_where_a_shape_has_none() {
    let ball = Kind::new("ball").with_body(Body::dynamic(ColliderShape::Sphere { radius: 0.5 }));
    let mut world = world_with(
        kinds(vec![ball]),
        |scene| {
            spawn(scene, "ground", [0.0, -1.0, 0.0]);
            let [cube, ball] = ["cube", "ball"].map(|name| scene.kind(name).unwrap());
            scene.spawn(cube, Spawn { scale: Some([1.0, 3.0, 1.0]), ..Spawn::at([0.0, 2.0, 0.0]) }).unwrap();
            let flat = scene.spawn(ball, Spawn { scale: Some([1.0, 2.0, 1.0]), ..Spawn::default() });
            assert!(matches!(flat, Err(SceneError::BadScale(_))));
        },
        nothing,
    );
    steps(&mut world, 120);
    let top = world.entities().poses()[1].position[1];
    assert!((top - 1.5).abs() < 0.02, "it stands on its foot, {top}");
}

#[test]
fn impulses_and_forces_move_free_bodies_from_the_first_step_on() {
    let mut world = world_with(
        Definition { gravity: [0.0; 3], ..ground_and_cubes() },
        |scene| {
            let [a, b] = [0.0, 5.0].map(|x| spawn(scene, "cube", [x, 0.0, 0.0]));
            let mass = 100.0;
            scene.apply_impulse(a, [mass, 0.0, 0.0], None).unwrap();
            scene.push(b, [0.0, 0.0, 60.0 * mass], [0.0; 3]).unwrap();
            let ground = spawn(scene, "ground", [0.0, -9.0, 0.0]);
            assert!(matches!(scene.push(ground, [1.0; 3], [0.0; 3]), Err(SceneError::NoBody(_))));
            assert!(matches!(scene.push(a, [f32::NAN; 3], [0.0; 3]), Err(SceneError::BadNumber(_))));
        },
        nothing,
    );
    steps(&mut world, 10);
    let speed = |row: usize| world.entities().velocities()[row].linear.map(|v| (v * 100.0).round() / 100.0);
    assert_eq!(speed(0), [1.0, 0.0, 0.0]);
    assert_eq!(speed(1), [0.0, 0.0, 1.0], "a force acts for one step");
}

#[test]
fn joints_hold_until_they_are_removed_with_a_call_or_a_body() {
    let mut world = world_with(
        ground_and_cubes(),
        |scene| {
            spawn(scene, "ground", [0.0, -20.0, 0.0]);
            for (index, kind) in [
                JointKind::Fixed,
                JointKind::Ball,
                JointKind::Hinge { axis: [0.0, 0.0, 1.0], limits: Some([-0.5, 0.5]), motor: None },
                JointKind::Slider {
                    axis: [0.0, 1.0, 0.0],
                    limits: Some([0.0, 0.5]),
                    motor: Some(Motor { velocity: 1.0, force_max: 1e5 }),
                },
                JointKind::Spring { length: 2.0, stiffness: 5_000.0, damping: 500.0 },
            ]
            .into_iter()
            .enumerate()
            {
                let x = 5.0 * index as f32;
                let [upper, lower] = [10.0, 8.0].map(|y| spawn(scene, "cube", [x, y, 0.0]));
                let joint = Joint {
                    anchor_a: [0.0, -1.0, 0.0],
                    anchor_b: [0.0, 1.0, 0.0],
                    ..Joint::new(upper, lower, kind)
                };
                scene.join(joint).unwrap();
                assert!(scene.join(Joint::new(upper, upper, JointKind::Ball)).is_err());
            }
        },
        |scene| {
            if scene.tick() == 40 {
                let first = scene.joints().next().unwrap().0;
                scene.part(first).unwrap();
            }
            if scene.tick() == 41 {
                let (_, joint) = scene.joints().next().unwrap();
                let a = joint.a;
                scene.despawn(a).unwrap();
            }
        },
    );
    steps(&mut world, 40);
    for (_, joint) in world.scene().joints() {
        let [a, b] = [joint.a, joint.b].map(|id| position(&world, id));
        let apart = (0..3).map(|axis| (a[axis] - b[axis]).powi(2)).sum::<f32>().sqrt();
        assert!(apart < 4.5, "{:?}: {apart} m", joint.kind);
    }
    steps(&mut world, 3);
    assert_eq!(world.scene().joints().count(), 3);
}

/// Records contacts.
struct Witness;

impl Behaviour for Witness {
    fn start(&mut self, scene: &mut Scene) {
        spawn(scene, "ground", [0.0, -1.0, 0.0]);
        spawn(scene, "zone", [0.0, 2.0, 0.0]);
        spawn(scene, "ball", [0.0, 6.0, 0.0]);
    }

    fn contact(&mut self, scene: &mut Scene, contact: &Contact) {
        let line = format!("{}{}{}", contact.a.0, if contact.is_begin { "+" } else { "-" }, contact.b.0);
        let before = scene.state("seen").and_then(Value::as_text).unwrap_or_default().to_owned();
        assert!(contact.impulse > 0.0 || !contact.is_begin || contact.a.0 == 2, "{contact:?}");
        scene.set_state("seen", format!("{before} {line}")).unwrap();
        if before.matches("1+3").count() == 1 && line == "1-3" {
            scene.despawn(EntityId(3)).unwrap();
        }
    }
}

#[test]
fn contacts_are_reported_at_their_beginning_and_end_also_across_a_snapshot() {
    let ball = Body { restitution: 0.8, ..Body::dynamic(ColliderShape::Sphere { radius: 0.5 }) };
    let definition = || {
        kinds(vec![
            Kind::new("ball").with_body(ball.clone()).reporting_contacts(),
            Kind::new("zone").with_body(Body::sensor(ColliderShape::Box { size: [4.0, 1.0, 4.0] })),
        ])
    };
    let seen = |every: u64| {
        let mut world = World::new(definition(), 0, Box::new(Witness)).unwrap();
        for tick in 0..300 {
            if every > 0 && tick % every == 0 {
                let bytes = world.snapshot();
                world = World::restore(definition(), Box::new(Witness), &bytes).unwrap();
            }
            world.step();
        }
        world.scene().state("seen").cloned()
    };
    let expected = Some(Value::from(" 2+3 2-3 1+3 1-3"));
    assert_eq!(seen(0), expected);
    assert_eq!(seen(7), expected, "contacts that existed before a snapshot do not begin again after it");
}

#[test]
fn lifts_carry_attached_entities_and_move_to_their_target() {
    let definition = kinds(vec![
        Kind::new("lift").with_body(Body::kinematic(ColliderShape::Box { size: [3.0, 0.5, 3.0] })),
        Kind::new("lamp"),
    ]);
    let mut world = world_with(
        definition,
        |scene| {
            let lift = spawn(scene, "lift", [0.0; 3]);
            let lamp = spawn(scene, "lamp", [1.0, 2.0, 0.0]);
            scene.set_parent(lamp, Some(lift)).unwrap();
            assert_eq!(scene.set_parent(lift, Some(lamp)), Err(SceneError::BadParent(lift)));
            spawn(scene, "cube", [0.0, 0.75, 0.0]);
        },
        |scene| {
            let lift = scene.entities().ids()[0];
            if scene.tick() == 60 {
                scene.despawn(lift).unwrap();
            } else if scene.tick() < 60 {
                let height = (scene.tick() + 1) as f32 / 60.0;
                scene.move_to(lift, Pose { position: [0.0, height, 0.0], ..Pose::IDENTITY }).unwrap();
            }
        },
    );
    steps(&mut world, 60);
    let heights: Vec<f32> = world.entities().poses().iter().map(|pose| pose.position[1]).collect();
    let expected = [1.0, 3.0, 1.75];
    assert!(heights.iter().zip(expected).all(|(is, wanted)| (is - wanted).abs() < 0.05), "{heights:?}");
    world.step();
    assert_eq!(world.entities().len(), 1, "the lamp went with the lift");
}

#[test]
fn queries_find_entities_by_motion_and_tag() {
    let mut world = world_with(
        kinds(vec![Kind::new("zone").with_body(Body::sensor(ColliderShape::cube(4.0)))]),
        |scene| {
            spawn(scene, "ground", [0.0, -1.0, 0.0]);
            let near = spawn(scene, "cube", [0.0, 0.5, -3.0]);
            let far = spawn(scene, "cube", [0.0, 0.5, -6.0]);
            spawn(scene, "zone", [0.0, 1.0, -3.0]);
            scene.set_tag(far, "goal", true).unwrap();
            assert_eq!(scene.distance(near, far).map(|metres| (metres * 100.0).round()), Ok(200.0));
        },
        nothing,
    );
    steps(&mut world, 2);
    let scene = world.scene();
    let ray = |filter| {
        scene
            .cast_ray([0.0, 0.5, 0.0], [0.0, 0.0, -2.0], 50.0, filter)
            .unwrap()
            .map(|hit| (hit.entity.0, hit.distance))
    };
    assert_eq!(ray(Filter::default()).map(|hit| hit.0), Some(2));
    assert_eq!(ray(Filter { tag: Some("goal"), ..Filter::default() }).map(|hit| hit.0), Some(3));
    assert_eq!(ray(Filter { motion: Some(Motion::Sensor), ..Filter::default() }).map(|hit| hit.0), Some(4));
    assert_eq!(ray(Filter { motion: Some(Motion::Fixed), ..Filter::default() }), None);
    let ids = |ids: Vec<EntityId>| ids.into_iter().map(|id| id.0).collect::<Vec<_>>();
    let around = Pose { position: [0.0, 0.5, -4.5], ..Pose::IDENTITY };
    let ball = ColliderShape::Sphere { radius: 1.6 };
    assert_eq!(ids(scene.overlaps(&ball, around, Filter::default()).unwrap()), [1, 2, 3, 4]);
    let fly = scene.cast_shape(
        &ColliderShape::cube(0.5),
        Pose { position: [0.0, 0.5, 0.0], ..Pose::IDENTITY },
        [0.0, 0.0, -1.0],
        9.0,
        Filter::default(),
    );
    assert_eq!(fly.unwrap().map(|hit| hit.entity.0), Some(2));
    assert_eq!(ids(scene.touching(EntityId(2)).unwrap()), [1, 4]);
    assert!(scene.cast_ray([0.0; 3], [0.0; 3], 1.0, Filter::default()).is_err());
}

#[test]
fn a_body_passes_through_another_until_it_may_touch_it_again() {
    let mut world = world_with(
        ground_and_cubes(),
        |scene| {
            let ground = spawn(scene, "ground", [0.0, -1.0, 0.0]);
            let cube = spawn(scene, "cube", [0.0, 0.5, 0.0]);
            scene.set_passes(cube, Some(ground)).unwrap();
            spawn(scene, "cube", [5.0, 0.5, 0.0]);
        },
        nothing,
    );
    steps(&mut world, 30);
    let heights = [1, 2].map(|row: usize| world.entities().poses()[row].position[1]);
    assert!(heights[0] < 0.0 && heights[1] > 0.45, "{heights:?}");
}

#[test]
fn a_teleported_entity_is_normalised_and_velocities_are_bounded() {
    let mut world = world_with(
        ground_and_cubes(),
        |scene| {
            let cube = spawn(scene, "cube", [0.0, 0.5, 0.0]);
            scene.set_pose(cube, Pose { position: [9.0, 9.0, 9.0], rotation: [0.0, 2.0, 0.0, 0.0] }).unwrap();
            assert!(scene.set_pose(cube, Pose { position: [f32::INFINITY; 3], ..Pose::IDENTITY }).is_err());
            assert!(scene.set_velocity(cube, Velocity { linear: [1e9; 3], ..Velocity::default() }).is_err());
            assert_eq!(
                scene.set_velocity(EntityId(99), Velocity::default()),
                Err(SceneError::UnknownEntity(EntityId(99)))
            );
        },
        nothing,
    );
    let id = world.entities().ids()[0];
    assert_eq!(drain(&mut world), [Event::Spawned(id)]);
    assert_eq!(world.entity(id).unwrap().pose.rotation, [0.0, 1.0, 0.0, 0.0]);
}

/// Sets the position of a cube, and of what is attached to it, to `at` of the step, or leaves it there. Returns the numbers of
/// its jumps after each step.
fn jumps(at: impl Fn(u64) -> Option<f32> + 'static) -> Vec<u8> {
    let mut world = world_with(
        ground_and_cubes(),
        |scene| {
            let cube = spawn(scene, "cube", [0.0, 0.5, 0.0]);
            let rider = spawn(scene, "ground", [0.0, 5.0, 0.0]);
            scene.set_parent(rider, Some(cube)).unwrap();
        },
        move |scene| {
            let (cube, mut pose) = (EntityId(1), scene.pose(EntityId(1)).unwrap());
            if let Some(x) = at(scene.tick()) {
                pose.position[0] = x;
                scene.set_pose(cube, pose).unwrap();
            }
        },
    );
    let number = |world: &World| [1, 2].map(|id| world.scene().jump(EntityId(id)));
    (0..120)
        .map(|_| {
            world.step();
            let [cube, rider] = number(&world);
            assert_eq!(cube, rider, "what is attached jumps, too");
            cube
        })
        .collect()
}

#[test]
fn an_entity_that_the_rules_put_elsewhere_jumps_for_a_second() {
    for metres in [0.5, 3.9, 15.0] {
        let seen = jumps(move |tick| (tick == 10).then_some(metres));
        assert_eq!((seen[9], seen[10], seen[60], seen[75]), (0, 1, 1, 0));
        // The entity is set again in the following steps.
        let seen = jumps(move |tick| (10..20).contains(&tick).then_some(metres + tick as f32 * 0.001));
        assert!(seen[9] == 0 && seen[11..60].iter().all(|number| *number > 0), "{seen:?}");
    }
    let seen = jumps(|tick| (tick % 20 == 0).then_some(tick as f32));
    assert_eq!((seen[0], seen[20], seen[40], seen[60]), (0, 1, 2, 3), "each jump has another number");
    // A client with few rounds sees no row between the two jumps.
    let seen = jumps(|tick| (tick % 65 == 5).then_some(tick as f32));
    assert_eq!((seen[5], seen[69], seen[70]), (1, 0, 2), "{seen:?}");
}

#[test]
fn an_entity_whose_position_is_set_in_every_step_moves() {
    assert!(jumps(|tick| Some(tick as f32 * 0.1)).iter().all(|number| *number == 0));
    let fast = jumps(|tick| Some((tick as f32 * 0.02).sin() * 30.0));
    assert_eq!(fast[119], 0, "only the beginning of a fast movement is a jump");
}
