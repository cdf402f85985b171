//! Tests of the exact step of walkers: its rules, its use by worlds, and the vectors of `spec/MOVEMENT.md`.

mod adjusting;
mod grounds;
mod media;
mod riding;

use std::f32::consts::PI;
use std::fmt::Write as _;
use std::path::PathBuf;

use nowcast_world::movement::Mover;
use nowcast_world::{
    Behaviour, Body, ColliderShape, Command, Definition, Input, Kind, Motion, PlayerId, Pose, Scene, Solid,
    Spawn, Walker, World,
};

const GRAVITY: f32 = 9.81;
const UNTURNED: [f32; 4] = [0.0, 0.0, 0.0, 1.0];
const AHEAD: Input = Input { forward: 1.0, right: 0.0, yaw: 0.0, run: false, jump: false };

fn floor() -> Solid {
    Solid::new([0.0, -0.5, 0.0], UNTURNED, [20.0, 0.5, 20.0], 0.0)
}

fn walk(mover: &mut Mover, input: Input, solids: &[Solid], steps: u32) {
    for _ in 0..steps {
        mover.step(&Walker::default(), &input, GRAVITY, solids);
    }
}

/// A walker at rest on the floor.
fn standing(solids: &[Solid]) -> Mover {
    let mut mover = Mover::new([0.0, 0.95, 0.0]);
    walk(&mut mover, Input::default(), solids, 30);
    mover
}

#[test]
fn a_walker_walks_and_runs_at_the_speeds_of_its_kind_and_stays_where_it_stops() {
    let solids = [floor()];
    let mut mover = standing(&solids);
    assert!((mover.position[1] - 0.9).abs() < 1e-4);
    walk(&mut mover, AHEAD, &solids, 60);
    assert!((mover.velocity[2] + 3.2).abs() < 1e-3, "{mover:?}");
    walk(&mut mover, Input { run: true, ..AHEAD }, &solids, 60);
    assert!((mover.velocity[2] + 6.4).abs() < 1e-3, "{mover:?}");
    walk(&mut mover, Input::default(), &solids, 20);
    let place = mover.position;
    walk(&mut mover, Input::default(), &solids, 600);
    let drift = (mover.position[0] - place[0]).hypot(mover.position[2] - place[2]);
    assert!(drift < 1e-4, "it drifted {drift} m in ten seconds");
}

#[test]
fn a_jump_clears_a_block_of_one_metre_and_a_held_button_waits_for_the_ground() {
    let solids = [floor()];
    let mut mover = standing(&solids);
    let jump = Input { jump: true, ..Input::default() };
    let mut highest = 0.0_f32;
    for _ in 0..50 {
        walk(&mut mover, jump, &solids, 1);
        highest = highest.max(mover.position[1] - 0.9);
    }
    assert!((1.1..1.3).contains(&highest), "it rose by {highest}");
}

#[test]
fn a_stair_of_fifteen_centimetres_is_climbed_and_a_wall_is_slid_along() {
    let stair = |number: f32| {
        Solid::new([0.0, 0.15 * number - 0.5, -1.0 - 0.4 * number - 5.0], UNTURNED, [2.0, 0.5, 5.0], 0.0)
    };
    let solids = [floor(), stair(1.0), stair(2.0), stair(3.0)];
    let mut mover = standing(&solids);
    walk(&mut mover, AHEAD, &solids, 90);
    assert!((mover.position[1] - 0.9 - 0.45).abs() < 0.02, "{:?}", mover.position);

    let solids = [floor(), Solid::new([0.0, 1.0, -2.0], UNTURNED, [10.0, 1.0, 0.5], 0.0)];
    let mut mover = standing(&solids);
    walk(&mut mover, Input { right: 1.0, ..AHEAD }, &solids, 120);
    assert!((mover.position[2] + 1.15).abs() < 1e-3, "{:?}", mover.position);
    assert!(mover.position[0] > 2.0, "{:?}", mover.position);
}

#[test]
fn a_slope_of_thirty_degrees_is_walked_at_full_speed_and_one_of_seventy_is_not() {
    let slope = |degrees: f32| {
        let half = degrees.to_radians() / 2.0;
        Solid::new([0.0, 0.0, -12.0], [half.sin(), 0.0, 0.0, half.cos()], [5.0, 0.5, 11.0], 0.0)
    };
    let solids = [floor(), slope(30.0)];
    let mut mover = standing(&solids);
    mover.position = [0.0, 5.0, -14.0];
    walk(&mut mover, Input::default(), &solids, 120);
    let before = mover.position;
    walk(&mut mover, Input::default(), &solids, 120);
    assert!((mover.position[1] - before[1]).abs() < 1e-3, "it slid from {before:?} to {:?}", mover.position);
    walk(&mut mover, AHEAD, &solids, 30);
    let speed = mover.velocity.iter().map(|v| v * v).sum::<f32>().sqrt();
    assert!((speed - 3.2).abs() < 0.01 && mover.velocity[1] > 1.0, "{:?}", mover.velocity);

    let solids = [floor(), slope(70.0)];
    let mut mover = standing(&solids);
    mover.position[2] = -4.0;
    walk(&mut mover, AHEAD, &solids, 240);
    assert!(mover.position[1] < 2.0, "it climbed to {:?}", mover.position);
}

#[test]
fn a_walker_at_maximum_fall_speed_lands_on_a_thin_floor() {
    let solids = [Solid::new([0.0, 0.0, 0.0], UNTURNED, [5.0, 0.05, 5.0], 0.0)];
    for start in 0..200 {
        let mut mover = Mover::new([0.0, 6.0 + 0.01 * start as f32, 0.0]);
        mover.velocity[1] = -40.0;
        walk(&mut mover, Input::default(), &solids, 60);
        assert!((mover.position[1] - 0.95).abs() < 1e-3, "{:?}", mover.position);
    }
}

#[test]
fn obstacles_out_of_reach_change_no_bit() {
    let mut random = Random(7);
    for _ in 0..200 {
        let (solids, mut mover) = random.scene();
        let mut near_only = mover;
        for _ in 0..STEPS {
            let input = random.input();
            let [low, high] = mover.reach(&Walker::default());
            let is_near = |solid: &&Solid| {
                let extent = (0..3).map(|axis| solid.half[axis]).map(|half| half * half).sum::<f32>().sqrt()
                    + solid.radius;
                (0..3).all(|axis| {
                    solid.center[axis] + extent >= low[axis] && solid.center[axis] - extent <= high[axis]
                })
            };
            let near: Vec<Solid> = solids.iter().filter(is_near).cloned().collect();
            mover.step(&Walker::default(), &input, GRAVITY, &solids);
            near_only.step(&Walker::default(), &input, GRAVITY, &near);
            assert_eq!(bits(&mover), bits(&near_only));
        }
    }
}

struct Yard;

impl Behaviour for Yard {
    fn start(&mut self, scene: &mut Scene) {
        for (kind, position) in YARD {
            let kind = scene.kind(kind).expect("the kind is defined");
            scene.spawn(kind, Spawn::at(position)).expect("the world has space for the entity");
        }
    }

    fn join(&mut self, scene: &mut Scene, player: PlayerId) {
        let person = scene.kind("person").expect("the kind is defined");
        scene
            .spawn_avatar(player, person, Spawn::at([0.0, 1.0, 0.0]))
            .expect("the world has space for the entity");
    }
}

const YARD: [(&str, [f32; 3]); 4] = [
    ("floor", [0.0, -0.5, 0.0]),
    ("block", [1.0, 0.5, -3.0]),
    ("step", [-1.5, 0.06, 1.0]),
    ("ball", [0.0, 0.3, 3.0]),
];

fn yard() -> World {
    let fixed = |name: &str, shape| Kind { body: Some(Body::new(Motion::Fixed, shape)), ..Kind::new(name) };
    let cuboid = |size| ColliderShape::Box { size };
    let kinds = vec![
        fixed("floor", cuboid([40.0, 1.0, 40.0])),
        fixed("block", cuboid([2.0, 1.0, 1.0])),
        fixed("step", cuboid([2.0, 0.12, 2.0])),
        fixed("ball", ColliderShape::Sphere { radius: 0.8 }),
        Kind::walker("person", Walker::default()),
    ];
    World::new(Definition { kinds, ..Definition::default() }, 0, Box::new(Yard))
        .expect("the definition is valid")
}

#[test]
fn a_world_of_static_bodies_moves_its_walkers_by_exactly_this_step() {
    let mut world = yard();
    let ada = PlayerId(1);
    world.apply(Command::join(ada, "Ada")).unwrap();
    world.step();
    let avatar =
        world.scene().player(ada).and_then(|player| player.avatar).expect("the player has an avatar");
    let solids = [
        floor(),
        Solid::new([1.0, 0.5, -3.0], UNTURNED, [1.0, 0.5, 0.5], 0.0),
        Solid::new([-1.5, 0.06, 1.0], UNTURNED, [1.0, 0.06, 1.0], 0.0),
        Solid::new([0.0, 0.3, 3.0], UNTURNED, [0.0; 3], 0.8),
    ];
    let mut mover = Mover::new([0.0, 1.0, 0.0]);
    let mut random = Random(3);
    mover.step(&Walker::default(), &Input::default(), GRAVITY, &solids);
    for step in 0..1_200 {
        let input = random.input();
        world.apply(Command::Input { player: ada, input }).unwrap();
        world.step();
        mover.step(&Walker::default(), &input, GRAVITY, &solids);
        let Pose { position, .. } = world.scene().pose(avatar).expect("the avatar exists");
        assert_eq!(
            position.map(f32::to_bits),
            mover.position.map(f32::to_bits),
            "after {step} steps: {mover:?}"
        );
        // A walker near the edge is put back, both in the world and in the separate walker.
        if mover.position[0].abs().max(mover.position[2].abs()) > 15.0 {
            break;
        }
    }
}

/// A yard with a player, and the player's position after each step, computed from the player's input alone.
struct Walk {
    world: World,
    ada: PlayerId,
}

impl Walk {
    fn new() -> Walk {
        let mut world = yard();
        let ada = PlayerId(1);
        world.apply(Command::join(ada, "Ada")).unwrap();
        world.step();
        Walk { world, ada }
    }

    fn step(&mut self, commands: impl IntoIterator<Item = Command>) -> [u32; 3] {
        for command in commands {
            self.world.apply(command).unwrap();
        }
        self.world.step();
        let avatar = self
            .world
            .scene()
            .player(self.ada)
            .and_then(|player| player.avatar)
            .expect("the player has an avatar");
        self.world.scene().pose(avatar).expect("the avatar exists").position.map(f32::to_bits)
    }
}

#[test]
fn a_walker_that_waits_and_catches_up_takes_the_same_steps_to_the_last_bit() {
    for seed in 1..30 {
        let (mut plain, mut late) = (Walk::new(), Walk::new());
        let (mut random, mut network) = (Random(seed), Random(seed * 77 + 1));
        let player = plain.ada;
        let mut place = plain.step([]);
        late.step([]);
        for _ in 0..60 {
            while network.next() % 3 == 0 {
                assert_eq!(
                    late.step([Command::StallStep { player }]),
                    place,
                    "a stalled player does not move"
                );
            }
            let [first, second] = [random.input(), random.input()];
            plain.step([Command::Input { player, input: first }]);
            place = plain.step([Command::Input { player, input: second }]);
            let found = if network.next() % 2 == 0 && late.world.scene().may_stride(player) {
                let input = Command::Input { player, input: second };
                late.step([Command::CatchUpStep { player, first }, input])
            } else {
                late.step([Command::Input { player, input: first }]);
                late.step([Command::Input { player, input: second }])
            };
            assert_eq!(found, place, "seed {seed}");
        }
    }
}

/// Steps of one walk of the vectors.
const STEPS: u32 = 40;
const WALKS: u32 = 10_000;

/// The generator of the vectors, as defined in `spec/MOVEMENT.md` (Marsaglia, Xorshift RNGs, 2003).
struct Random(u32);

impl Random {
    fn of_walk(number: u32) -> Random {
        Random(number.wrapping_mul(2_654_435_761) | 1)
    }

    fn next(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        self.0
    }

    fn within(&mut self, low: f32, high: f32) -> f32 {
        low + (high - low) * ((self.next() >> 8) as f32 / 16_777_216.0)
    }

    fn three(&mut self, low: f32, high: f32) -> [f32; 3] {
        [self.within(low, high), self.within(low, high), self.within(low, high)]
    }

    fn solid(&mut self) -> Solid {
        let form = self.next() % 4;
        let center = self.three(-3.0, 3.0);
        let center = [center[0], (center[1] + 3.0) * 0.25, center[2]];
        let half = self.three(0.1, 1.0);
        match form {
            0 => Solid::new(center, UNTURNED, half, 0.0),
            1 => Solid::new(center, UNTURNED, [0.0, half[1], 0.0], half[0]),
            2 => Solid::new(center, UNTURNED, [0.0; 3], half[0]),
            _ => Solid::new(center, self.turn(), half, 0.0),
        }
    }

    /// A rotation of the vectors.
    fn turn(&mut self) -> [f32; 4] {
        let [x, y, z] = self.three(-1.0, 1.0);
        let w = self.within(0.1, 1.0);
        let length = (x * x + y * y + z * z + w * w).sqrt();
        [x / length, y / length, z / length, w / length]
    }

    fn scene(&mut self) -> (Vec<Solid>, Mover) {
        let mut solids = vec![floor()];
        for _ in 0..5 {
            solids.push(self.solid());
        }
        let place = self.three(-3.0, 3.0);
        (solids, Mover::new([place[0], 1.0 + (place[1] + 3.0) * 0.25, place[2]]))
    }

    fn input(&mut self) -> Input {
        let [forward, right, turn] = self.three(-1.0, 1.0);
        let buttons = self.next();
        let (run, jump) = (buttons & 0x100 != 0, buttons & 0x600 == 0);
        Input::new(forward, right, turn * PI, run, jump).expect("within bounds")
    }
}

fn bits(mover: &Mover) -> [u32; 6] {
    let [x, y, z] = mover.position.map(f32::to_bits);
    let [vx, vy, vz] = mover.velocity.map(f32::to_bits);
    [x, y, z, vx, vy, vz]
}

/// One walk of the vectors. Controls change every eighth step, and the hash covers every bit of every step.
fn walk_hash(number: u32) -> u32 {
    let mut random = Random::of_walk(number);
    let (solids, mut mover) = random.scene();
    let mut input = Input::default();
    let mut hash = 0x811c_9dc5_u32;
    for step in 0..STEPS {
        if step % 8 == 0 {
            input = random.input();
        }
        mover.step(&Walker::default(), &input, GRAVITY, &solids);
        for word in bits(&mover) {
            hash = (hash ^ word).wrapping_mul(0x0100_0193);
        }
    }
    hash
}

/// One walk in readable form: its position and velocity after every step.
fn walk_text(number: u32) -> String {
    let mut random = Random::of_walk(number);
    let (solids, mut mover) = random.scene();
    let mut text = format!("  {{ \"walk\": {number}, \"solids\": [");
    for (at, Solid { center, axes, half, radius, .. }) in solids.iter().enumerate() {
        let comma = if at == 0 { "" } else { "," };
        write!(text, "{comma}\n    {{ \"center\": {center:?}, \"axes\": {axes:?}, \"half\": {half:?}, \"radius\": {radius:?} }}")
            .expect("strings take everything");
    }
    write!(text, "],\n    \"start\": {:?}, \"steps\": [", mover.position).expect("strings take everything");
    let mut input = Input::default();
    for step in 0..STEPS {
        if step % 8 == 0 {
            input = random.input();
        }
        mover.step(&Walker::default(), &input, GRAVITY, &solids);
        let Input { forward, right, yaw, run, jump } = input;
        let comma = if step == 0 { "" } else { "," };
        write!(
            text,
            "{comma}\n    {{ \"input\": [{forward:?}, {right:?}, {yaw:?}, {run}, {jump}], \"position\": {:?}, \"velocity\": {:?} }}",
            mover.position, mover.velocity
        )
        .expect("strings take everything");
    }
    text + "] }"
}

/// `NOWCAST_BLESS=1` writes the file again after a deliberate change.
fn expect_vector(name: &str, text: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../spec/vectors/movement").join(name);
    if std::env::var_os("NOWCAST_BLESS").is_some() {
        std::fs::create_dir_all(path.parent().expect("the path has a parent")).unwrap();
        std::fs::write(&path, text).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap();
    assert!(kept == text, "{} says otherwise", path.display());
}

#[test]
fn ten_thousand_random_walks_match_the_specification_to_the_last_bit() {
    let mut text =
        "{ \"about\": \"Hashes of random walks: spec/MOVEMENT.md, section 8.\", \"walks\": [".to_owned();
    for number in 0..WALKS {
        let comma = if number == 0 { "" } else { "," };
        let space = if number % 12 == 0 { "\n  " } else { " " };
        write!(text, "{comma}{space}\"{:08x}\"", walk_hash(number)).expect("strings take everything");
    }
    expect_vector("hashes.json", &(text + "\n] }\n"));
}

#[test]
fn the_walks_that_the_specification_spells_out_are_walked_so() {
    let walks: Vec<String> = (0..4).map(walk_text).collect();
    expect_vector("walks.json", &format!("[\n{}\n]\n", walks.join(",\n")));
}

#[test]
fn every_yaw_is_quantised_as_specified() {
    let half = 0.5 / 8_192.0;
    let edges = [0.0, -0.0, half, -half, 1.5 * half, -3.0 * half, PI, -PI, PI + 1e-6, -PI - 1e-6, f32::MAX];
    let mut random = Random::of_walk(0);
    let drawn = (0..400_usize).map(|number| random.within(-1.0, 1.0) * [PI, 10.0, 1e4, 1e30][number % 4]);
    let mut text =
        "{ \"about\": \"Yaws, and how many parts of 1/8192 they are taken for: spec/MOVEMENT.md, section 3.\", \"yaws\": [".to_owned();
    for (number, yaw) in edges.into_iter().chain(drawn).enumerate() {
        let comma = if number == 0 { "" } else { "," };
        let space = if number % 6 == 0 { "\n  " } else { " " };
        let parts = Input::new(0.0, 0.0, yaw, false, false).expect("within bounds").yaw * 8_192.0;
        write!(text, "{comma}{space}[{yaw:?}, {}]", parts as i32).expect("strings take everything");
    }
    expect_vector("yaws.json", &(text + "\n] }\n"));
}
