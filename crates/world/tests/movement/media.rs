//! Walkers on ladders and in water.

use nowcast_world::movement::Mover;
use nowcast_world::{
    Behaviour, Body, BodyRole, ColliderShape, Command, Definition, EntityId, Input, Kind, PlayerId, Pose,
    Scene, Solid, Spawn, Walker, World,
};

use super::{AHEAD, GRAVITY, Random, UNTURNED, bits, expect_vector, floor, standing, walk};
use std::fmt::Write as _;

/// A ladder of 4 m on a wall behind z = −2, whose top is level with the ledge on the wall.
fn ladder() -> [Solid; 3] {
    let wall = Solid::new([0.0, 2.0, -4.2], UNTURNED, [5.0, 2.0, 2.0], 0.0);
    let ladder = Solid::new([0.0, 2.0, -2.1], UNTURNED, [0.4, 2.0, 0.1], 0.0).with_role(BodyRole::Ladder);
    [floor(), wall, ladder]
}

/// A pool of 3 m with a rim 0.2 m above the water, from z = −8 on.
fn pool() -> [Solid; 4] {
    let water = Solid::new([0.0, -1.7, 0.0], UNTURNED, [8.0, 1.5, 8.0], 0.0).with_role(BodyRole::Water);
    let ground = Solid::new([0.0, -3.7, 0.0], UNTURNED, [8.0, 0.5, 8.0], 0.0);
    let rim = Solid::new([0.0, -1.7, -10.0], UNTURNED, [8.0, 1.7, 2.0], 0.0);
    let far_rim = Solid::new([0.0, -1.7, 10.0], UNTURNED, [8.0, 1.7, 2.0], 0.0);
    [water, ground, rim, far_rim]
}

const JUMP: Input = Input { forward: 0.0, right: 0.0, yaw: 0.0, run: false, jump: true };

#[test]
fn walker_climbs_a_ladder_to_the_ledge_at_its_top() {
    let solids = ladder();
    let mut mover = standing(&solids);
    walk(&mut mover, AHEAD, &solids, 90);
    assert!(mover.position[1] > 2.0 && mover.position[1] < 4.5, "it climbs: {mover:?}");
    assert!((mover.velocity[1] - 2.4).abs() < 0.01, "three quarters of the walking speed: {mover:?}");
    walk(&mut mover, AHEAD, &solids, 90);
    assert!((mover.position[1] - 4.9).abs() < 0.01 && mover.position[2] < -2.5, "on the ledge: {mover:?}");
    assert!(mover.steps_since_ground == 0, "{mover:?}");
}

#[test]
fn walker_hangs_on_a_ladder_descends_and_walks_away_at_its_foot() {
    let solids = ladder();
    let mut mover = standing(&solids);
    walk(&mut mover, AHEAD, &solids, 90);
    walk(&mut mover, Input::default(), &solids, 30);
    let place = mover.position;
    walk(&mut mover, Input::default(), &solids, 300);
    let moved = (0..3).map(|axis| (mover.position[axis] - place[axis]).abs()).fold(0.0, f32::max);
    assert!(moved < 1e-3, "it moved {moved} m in five seconds");
    let back = Input { forward: -1.0, ..AHEAD };
    walk(&mut mover, back, &solids, 30);
    assert!((mover.velocity[1] + 2.4).abs() < 0.01, "{mover:?}");
    walk(&mut mover, back, &solids, 90);
    assert!((mover.position[1] - 0.9).abs() < 0.01 && mover.position[2] > -1.0, "{mover:?}");
}

#[test]
fn jump_on_a_ladder_leaves_it() {
    let solids = ladder();
    let mut mover = standing(&solids);
    walk(&mut mover, AHEAD, &solids, 90);
    walk(&mut mover, JUMP, &solids, 1);
    assert!((mover.velocity[2] - 2.475).abs() < 1e-4 && mover.velocity[1] > 2.4, "{mover:?}");
    walk(&mut mover, Input::default(), &solids, 90);
    assert!((mover.position[1] - 0.9).abs() < 0.01 && mover.position[2] > -1.4, "{mover:?}");
}

#[test]
fn walker_at_the_side_of_a_ladder_on_the_floor_walks_past_it() {
    let solids = ladder();
    let mut mover = standing(&solids);
    mover.position = [-1.5, 0.9, -1.68];
    walk(&mut mover, Input { forward: 0.0, right: 1.0, ..AHEAD }, &solids, 60);
    assert!((mover.position[1] - 0.9).abs() < 1e-3 && mover.position[0] > 1.0, "{mover:?}");
}

#[test]
fn swimmer_sinks_without_input_keeps_its_depth_while_it_moves_and_rises_with_jump() {
    let solids = pool();
    let mut mover = Mover::new([0.0, 2.0, 0.0]);
    walk(&mut mover, Input::default(), &solids, 120);
    assert!((mover.velocity[1] + 0.48).abs() < 1e-3, "{mover:?}");
    walk(&mut mover, AHEAD, &solids, 30);
    let depth = mover.position[1];
    walk(&mut mover, AHEAD, &solids, 60);
    assert!((mover.position[1] - depth).abs() < 1e-3, "{mover:?}");
    assert!((mover.velocity[2] + 2.4).abs() < 1e-3, "{mover:?}");
    walk(&mut mover, JUMP, &solids, 20);
    assert!((mover.velocity[1] - 3.2).abs() < 1e-3, "{mover:?}");
    walk(&mut mover, Input::default(), &solids, 600);
    assert!((mover.position[1] - (-3.2 + 0.9)).abs() < 1e-3, "it stands on the ground: {mover:?}");
}

#[test]
fn swimmer_leaps_out_of_the_water_onto_the_rim() {
    let solids = pool();
    let mut mover = Mover::new([0.0, -1.0, -5.0]);
    for _ in 0..240 {
        walk(&mut mover, Input { jump: true, ..AHEAD }, &solids, 1);
        if mover.position[2] < -8.5 {
            break;
        }
    }
    walk(&mut mover, Input::default(), &solids, 60);
    assert!((mover.position[1] - 0.9).abs() < 0.01 && mover.position[2] < -8.4, "{mover:?}");
}

/// A hall with a ladder on a wall and a pool; the first player stands before the ladder, and the others come beside it.
struct Hall;

impl Behaviour for Hall {
    fn start(&mut self, scene: &mut Scene) {
        let places = [
            ("floor", [0.0, -0.5, 14.0]),
            ("wall", [0.0, 2.0, -4.2]),
            ("ladder", [0.0, 2.0, -2.1]),
            ("water", [0.0, -1.7, 0.0]),
        ];
        for (kind, position) in places {
            let kind = scene.kind(kind).expect("the kind is defined");
            scene.spawn(kind, Spawn::at(position)).expect("the world has space");
        }
    }

    fn join(&mut self, scene: &mut Scene, player: PlayerId) {
        let person = scene.kind("person").expect("the kind is defined");
        let at = [0.72 * (player.0 - 1) as f32, 2.0, -1.6];
        scene.spawn_avatar(player, person, Spawn::at(at)).expect("the world has space");
    }
}

fn hall() -> Definition {
    let boxed = |size| ColliderShape::Box { size };
    let kinds = vec![
        Kind::new("floor").with_body(Body::fixed(boxed([40.0, 1.0, 12.0]))),
        Kind::new("wall").with_body(Body::fixed(boxed([10.0, 4.0, 4.0]))),
        Kind::new("ladder").with_body(Body::fixed(boxed([3.0, 4.0, 0.2])).with_role(BodyRole::Ladder)),
        Kind::new("water").with_body(Body::sensor(boxed([16.0, 3.0, 16.0])).with_role(BodyRole::Water)),
        Kind::walker("person", Walker::default()),
    ];
    Definition { kinds, ..Definition::default() }
}

fn hall_solids() -> Vec<Solid> {
    let solid = |center, size: [f32; 3]| Solid::new(center, UNTURNED, size.map(|edge| edge * 0.5), 0.0);
    vec![
        solid([0.0, -0.5, 14.0], [40.0, 1.0, 12.0]),
        solid([0.0, 2.0, -4.2], [10.0, 4.0, 4.0]),
        solid([0.0, 2.0, -2.1], [3.0, 4.0, 0.2]).with_role(BodyRole::Ladder),
        solid([0.0, -1.7, 0.0], [16.0, 3.0, 16.0]).with_role(BodyRole::Water),
    ]
}

fn joined(players: u32) -> World {
    let mut world = World::new(hall(), 1, Box::new(Hall)).expect("the definition is valid");
    for player in 1..=players {
        let join = Command::join(PlayerId(player), format!("player {player}"));
        world.apply(join).expect("the world accepts the command");
    }
    world
}

fn place(world: &World, player: u32) -> Pose {
    let avatar = world.scene().player(PlayerId(player)).and_then(|player| player.avatar);
    world.scene().pose(avatar.expect("there is an avatar")).expect("the avatar exists")
}

fn give(world: &mut World, player: u32, input: Input) {
    world.apply(Command::Input { player: PlayerId(player), input }).expect("the player is in the world");
}

#[test]
fn walker_of_a_world_climbs_and_swims_by_the_specification_to_the_last_bit_and_after_restores() {
    let mut world = joined(1);
    world.step();
    let mut mover = Mover::new([0.0, 2.0, -1.6]);
    mover.step(&Walker::default(), &Input::default(), GRAVITY, &hall_solids());
    let mut random = Random(9);
    let (mut climbed, mut swum) = (0, 0);
    for step in 0..1_500 {
        if step % 97 == 0 {
            let bytes = world.snapshot();
            let restored = World::restore(hall(), Box::new(Hall), &bytes).expect("it is a snapshot");
            assert_eq!(restored.hash(), world.hash());
            world = restored;
            // A snapshot moves a body in motion by at most 4 µm.
            let found = place(&world, 1).position;
            let moved = (0..3).map(|axis| (found[axis] - mover.position[axis]).abs()).fold(0.0, f32::max);
            assert!(moved < 4e-6, "step {step}: {moved} m");
            mover.position = found;
        }
        let mut input = random.input();
        // Mostly toward the ladder, so that the walker comes back to it.
        input.yaw = if step % 300 < 200 { 0.0 } else { input.yaw };
        give(&mut world, 1, input);
        world.step();
        climbed += u32::from(mover.position[1] > 0.0 && mover.position[2] > -2.0);
        swum += u32::from(mover.position[1] < -0.2);
        mover.step(&Walker::default(), &input, GRAVITY, &hall_solids());
        let found = place(&world, 1).position;
        assert_eq!(found.map(f32::to_bits), mover.position.map(f32::to_bits), "step {step}: {mover:?}");
        if mover.position[1] < -20.0 {
            break;
        }
    }
    assert!(climbed > 100 && swum > 100, "{climbed} steps on the ladder, {swum} in water");
}

#[test]
fn walkers_that_touch_each_other_hang_on_a_ladder_and_climb_it_by_physics() {
    let mut world = joined(3);
    for _ in 0..120 {
        world.step();
    }
    let before = [1, 2, 3].map(|player| place(&world, player).position[1]);
    assert!(before.iter().all(|height| *height > 1.5), "they hang: {before:?}");
    for player in 1..=3 {
        give(&mut world, player, AHEAD);
    }
    for _ in 0..40 {
        world.step();
    }
    for (player, before) in (1..).zip(before) {
        let rise = place(&world, player).position[1] - before;
        assert!((1.2..1.8).contains(&rise), "player {player} rose {rise} m in 40 steps");
    }
}

#[test]
fn walkers_that_touch_each_other_swim_by_physics_and_fall_when_the_water_is_removed() {
    let mut world = joined(2);
    for player in 1..=2 {
        give(&mut world, player, Input { forward: -1.0, ..AHEAD });
    }
    for _ in 0..90 {
        world.step();
    }
    for player in 1..=2 {
        give(&mut world, player, Input::default());
    }
    for _ in 0..60 {
        world.step();
    }
    let before = place(&world, 1).position[1];
    for _ in 0..30 {
        world.step();
    }
    let sunk = before - place(&world, 1).position[1];
    assert!((0.2..0.28).contains(&sunk), "it sank {sunk} m in half a second");
    let edit = nowcast_world::Edit::Despawn(EntityId(4));
    world.apply(Command::Edit { player: PlayerId(1), edit }).expect("the water exists");
    for _ in 0..60 {
        world.step();
    }
    assert!(place(&world, 1).position[1] < before - 4.0, "{:?}", place(&world, 1));
}

#[test]
fn ladder_that_moves_and_water_that_is_solid_are_refused_by_name() {
    let refused = |body: Body| {
        let definition =
            Definition { kinds: vec![Kind::new("thing").with_body(body)], ..Definition::default() };
        definition.validate().expect_err("the role is impossible").to_string()
    };
    let cube = ColliderShape::cube(1.0);
    let moving = refused(Body::kinematic(cube.clone()).with_role(BodyRole::Ladder));
    assert!(moving.contains("role") && moving.contains("a ladder needs the motion \"fixed\""), "{moving}");
    let solid = refused(Body::fixed(cube).with_role(BodyRole::Water));
    assert!(solid.contains("water needs the motion \"sensor\""), "{solid}");
    let flat = ColliderShape::TriangleMesh {
        vertices: vec![[0.0; 3], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]],
        triangles: vec![[0, 1, 2]],
    };
    let flat = refused(Body::sensor(flat).with_role(BodyRole::Water));
    assert!(flat.contains("a shape with an inside"), "{flat}");
}

const WALKS: u32 = 400;
const STEPS: u32 = 120;

/// One walk of the vectors: `spec/MOVEMENT.md`, section 8.
fn media_hash(number: u32) -> (u32, [u32; 2]) {
    let mut random = Random::of_walk(number);
    let floor = Solid::new([0.0, -3.5, 0.0], UNTURNED, [20.0, 0.5, 20.0], 0.0);
    let center = random.three(-2.0, 2.0);
    let turn = random.turn();
    let board = Solid::new(center, turn, [0.5, 1.5, 0.05], 0.0).with_role(BodyRole::Ladder);
    let pole =
        Solid::new(random.three(-2.0, 2.0), UNTURNED, [0.0, 1.5, 0.0], 0.2).with_role(BodyRole::Ladder);
    let drop = Solid::new(random.three(-2.0, 2.0), UNTURNED, [0.0; 3], 1.0).with_role(BodyRole::Water);
    let lake = Solid::new([0.0, -2.0, 0.0], UNTURNED, [20.0, 1.0, 20.0], 0.0).with_role(BodyRole::Water);
    let solids = [floor, board, pole, drop, lake];
    let [x, y, z] = random.three(-2.0, 2.0);
    let mut mover = Mover::new([x, 1.0 + (y + 2.0) * 0.25, z]);
    let mut input = Input::default();
    let (mut hash, mut steps) = (0x811c_9dc5_u32, [0, 0]);
    for step in 0..STEPS {
        if step % 8 == 0 {
            input = random.input();
        }
        mover.step(&Walker::default(), &input, GRAVITY, &solids);
        steps[usize::from(mover.position[1] < -1.0)] += u32::from(mover.is_held(&Walker::default(), &solids));
        for word in bits(&mover) {
            hash = (hash ^ word).wrapping_mul(0x0100_0193);
        }
    }
    (hash, steps)
}

#[test]
fn walks_on_ladders_and_in_water_are_those_of_the_specification_to_the_last_bit() {
    let mut text =
        "{ \"about\": \"Hashes of walks on ladders and in water: spec/MOVEMENT.md, section 8.\", \"walks\": [".to_owned();
    let mut held = [0, 0];
    for number in 0..WALKS {
        let (hash, steps) = media_hash(number);
        held = [held[0] + steps[0], held[1] + steps[1]];
        let comma = if number == 0 { "" } else { "," };
        let space = if number % 12 == 0 { "\n  " } else { " " };
        write!(text, "{comma}{space}\"{hash:08x}\"").expect("strings take everything");
    }
    assert!(held.iter().all(|steps| *steps > 2_000), "steps above and below the surface: {held:?}");
    expect_vector("media.json", &(text + "\n] }\n"));
}
