//! Flat ground of any make carries bodies as one box does: inner edges neither stop, lift nor deflect them.

use nowcast_world::{Body, ColliderShape, Definition, EntityId, Kind, Pose, Scene, Spawn, Velocity, World};

use super::{Told, nothing, spawn, steps, world_with};

const LENGTH: usize = 20;
const SPEED: f32 = 3.0;

fn tile(x: f32, z: f32) -> ColliderShape {
    ColliderShape::Box { size: [x, 1.0, z] }
}

/// A square mesh of `LENGTH` × `LENGTH` cells.
fn mesh(is_flipped: bool) -> ColliderShape {
    let side = LENGTH as u32 + 1;
    let half = LENGTH as f32 / 2.0;
    let vertices =
        (0..side * side).map(|at| [(at % side) as f32 - half, 0.0, (at / side) as f32 - half]).collect();
    let mut triangles = Vec::new();
    for row in 0..LENGTH as u32 {
        for column in 0..LENGTH as u32 {
            let at = row * side + column;
            triangles.extend([[at, at + side, at + 1], [at + 1, at + side, at + side + 1]]);
        }
    }
    if is_flipped {
        triangles.iter_mut().for_each(|[_, b, c]| std::mem::swap(b, c));
    }
    ColliderShape::TriangleMesh { vertices, triangles }
}

/// A ground whose surface is at 0: a name, and the places of each shape.
type Ground = (&'static str, ColliderShape, Vec<[f32; 3]>);

fn grounds() -> Vec<Ground> {
    let long = LENGTH as f32;
    let centers = || (0..LENGTH).map(|at| at as f32 + 0.5 - long / 2.0);
    let grid: Vec<[f32; 3]> = centers().flat_map(|x| centers().map(move |z| [x, -0.5, z])).collect();
    let hull_corners =
        (0..8).map(|at| [at & 1, at >> 1 & 1, at >> 2].map(|side| side as f32 - 0.5)).collect();
    let parts = centers().map(|x| (Pose { position: [x, -0.5, 0.0], ..Pose::IDENTITY }, tile(1.0, long)));
    // Rows of overlapping tiles that are shifted against each other.
    let staggered = (0..100).map(|at| {
        let (row, column) = (at % 10, at / 10);
        [2.0 * column as f32 - 9.0 + 0.7 * (row % 3) as f32, -0.5, 2.0 * row as f32 - 9.0]
    });
    let origin = vec![[0.0; 3]];
    vec![
        ("one box", tile(long, long), vec![[0.0, -0.5, 0.0]]),
        ("a mesh", mesh(false), origin.clone()),
        ("a mesh that is seen from below", mesh(true), origin.clone()),
        (
            "heights",
            ColliderShape::HeightField { heights: vec![0.0; 100], columns: 10, size: [long, long] },
            origin.clone(),
        ),
        ("tiles", tile(1.0, 1.0), grid.clone()),
        ("staggered tiles", tile(2.8, 2.0), staggered.collect()),
        ("hulls", ColliderShape::ConvexHull { points: hull_corners }, grid),
        ("a compound of tiles", ColliderShape::Compound { parts: parts.collect() }, origin),
    ]
}

fn movers() -> [(&'static str, Body, f32); 3] {
    let free = |shape| Body { friction: 0.0, restitution: 0.0, ..Body::dynamic(shape) };
    let ball = ColliderShape::Sphere { radius: 0.3 };
    let capsule = ColliderShape::Capsule { radius: 0.3, height: 1.2 };
    [
        ("ball", Body { restitution: 0.0, ..Body::dynamic(ball) }, 0.3),
        ("capsule", Body { locks_rotation: true, ..free(capsule) }, 0.6),
        ("crate", free(ColliderShape::cube(0.6)), 0.3),
    ]
}

/// Lets a mover go for 4 s. Returns its positions after each step, once it has settled.
fn track((_, shape, places): &Ground, mover: &Body, height: f32, way: [f32; 2]) -> Vec<[f32; 3]> {
    let kinds = vec![
        Kind::new("mover").with_body(mover.clone()),
        Kind::new("ground").with_body(Body::fixed(shape.clone())),
    ];
    let is_ball = matches!(mover.shape, ColliderShape::Sphere { .. });
    let (places, id) = (places.clone(), EntityId(places.len() as u32 + 1));
    let start = move |scene: &mut Scene| {
        for place in &places {
            spawn(scene, "ground", *place);
        }
        let [x, z] = way;
        let spin = if is_ball { SPEED / 0.3 } else { 0.0 };
        let velocity = Velocity { linear: [SPEED * x, 0.0, SPEED * z], angular: [spin * z, 0.0, -spin * x] };
        let kind = scene.kind("mover").expect("the definition has it");
        let at = [-6.3 * x + 0.13 * z, height, -6.3 * z + 0.13 * x];
        scene.spawn(kind, Spawn { velocity, ..Spawn::at(at) }).expect("there is space");
    };
    let mut world: World = world_with(Definition { kinds, ..Definition::default() }, start, nothing);
    steps(&mut world, 12);
    (0..228)
        .map(|_| {
            world.step();
            world.scene().pose(id).expect("the mover exists").position
        })
        .collect()
}

#[test]
fn bodies_go_as_far_over_flat_ground_of_any_make_as_over_one_box() {
    let mut faults = String::new();
    let grounds = grounds();
    for (mover, body, height) in movers() {
        for way in [[1.0, 0.0], [0.8, 0.6]] {
            let expected = track(&grounds[0], &body, height, way);
            for ground in &grounds[1..] {
                let found = track(ground, &body, height, way);
                let mut worst = [0.0f32; 3];
                for (found, expected) in found.iter().zip(&expected) {
                    let [x, y, z] = [0, 1, 2].map(|axis| found[axis] - expected[axis]);
                    let off = [x * way[0] + z * way[1], y, z * way[0] - x * way[1]];
                    worst = [0, 1, 2].map(|axis| worst[axis].max(off[axis].abs()));
                }
                let [along, up, aside] = worst;
                let text =
                    format!("{mover} {way:?} over {}: {along} m along, {up} m up, {aside} m aside", ground.0);
                println!("{text}");
                if along > 0.01 * SPEED * 4.0 || up > 0.001 || aside > 0.01 {
                    faults += &(text + "\n");
                }
            }
        }
    }
    assert!(faults.is_empty(), "{faults}");
}

#[test]
fn bodies_on_tiles_and_on_meshes_fall_asleep() {
    for ground in grounds() {
        for (mover, body, height) in movers() {
            let kinds = vec![
                Kind::new("mover").with_body(body),
                Kind::new("ground").with_body(Body::fixed(ground.1.clone())),
            ];
            let places = ground.2.clone();
            let start = move |scene: &mut Scene| {
                for place in &places {
                    spawn(scene, "ground", *place);
                }
                // On a corner of four tiles, on a seam, and on the middle of a tile.
                for place in [[0.0, 0.0], [2.0, 0.4], [4.5, 0.5]] {
                    spawn(scene, "mover", [place[0], height, place[1]]);
                }
            };
            let mut world = world_with(Definition { kinds, ..Definition::default() }, start, nothing);
            steps(&mut world, 400);
            assert_eq!(world.awake(), 0, "{mover} on {}", ground.0);
        }
    }
}

#[test]
fn restored_world_with_tiles_that_came_and_went_continues_to_the_last_bit() {
    let kinds = || {
        vec![
            Kind::new("tile").with_body(Body::fixed(tile(1.0, 1.0))),
            Kind::new("ball")
                .with_body(Body { restitution: 0.0, ..Body::dynamic(ColliderShape::Sphere { radius: 0.3 }) }),
        ]
    };
    let start = |scene: &mut Scene| {
        for at in 0..12 {
            spawn(scene, "tile", [at as f32 + 0.5, -0.5, 0.0]);
        }
        let kind = scene.kind("ball").expect("the definition has it");
        let velocity = Velocity { linear: [2.0, 0.0, 0.0], ..Velocity::default() };
        scene.spawn(kind, Spawn { velocity, ..Spawn::at([0.5, 0.3, 0.0]) }).expect("there is space");
    };
    let step = |scene: &mut Scene| match scene.tick() {
        40 => scene.despawn(EntityId(1)).expect("the tile exists"),
        50 => scene
            .set_pose(EntityId(12), Pose { position: [20.0, 5.0, 0.0], ..Pose::IDENTITY })
            .expect("it exists"),
        60 => scene
            .set_pose(EntityId(12), Pose { position: [11.5, -0.5, 0.0], ..Pose::IDENTITY })
            .expect("it exists"),
        _ => {}
    };
    let definition = || Definition { kinds: kinds(), ..Definition::default() };
    let mut world = world_with(definition(), start, step);
    for _ in 0..9 {
        steps(&mut world, 17);
        let behaviour = Box::new(Told { start: nothing as fn(&mut Scene), step });
        let mut restored = World::restore(definition(), behaviour, &world.snapshot()).expect("it is valid");
        for _ in 0..25 {
            steps(&mut world, 1);
            restored.step();
            assert_eq!(world.hash(), restored.hash(), "tick {}", world.tick());
        }
    }
}
