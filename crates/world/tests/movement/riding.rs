//! Floors that move: lifts, platforms and turning discs carry the walkers on them.

use nowcast_world::movement::Mover;
use nowcast_world::{
    Behaviour, Body, ColliderShape, Command, Definition, EntityId, Event, Input, Kind, PlayerId, Pose, Scene,
    Solid, SolidMotion, Spawn, Velocity, Walker, World,
};

use super::{AHEAD, GRAVITY, Random, UNTURNED, bits, expect_vector};
use std::fmt::Write as _;

const SECONDS: f32 = 1.0 / 60.0;
const HALF: [f32; 3] = [6.0, 0.5, 6.0];

/// A platform that moves with a velocity and turns about its upright axis.
struct Platform {
    center: [f32; 3],
    turn: [f32; 4],
    linear: [f32; 3],
    spin: f32,
}

impl Platform {
    fn at(center: [f32; 3]) -> Platform {
        Platform { center, turn: UNTURNED, linear: [0.0; 3], spin: 0.0 }
    }

    /// One step of 1/60 s.
    fn step(&mut self) {
        self.center = [0, 1, 2].map(|axis| self.center[axis] + self.linear[axis] * SECONDS);
        let half = self.spin * SECONDS * 0.5;
        let [_, y, _, w] = self.turn;
        let (y, w) = (half * w + y, w - half * y);
        let length = (y * y + w * w).sqrt();
        self.turn = [0.0, y / length, 0.0, w / length];
    }

    fn solid(&self) -> Solid {
        let motion = SolidMotion { pivot: self.center, linear: self.linear, angular: [0.0, self.spin, 0.0] };
        Solid::new(self.center, self.turn, HALF, 0.0).with_motion(motion)
    }
}

/// Lets a walker stand or walk on a platform, and returns the greatest and the least height of its feet above the platform.
fn ride(platform: &mut Platform, mover: &mut Mover, input: Input, steps: u32) -> [f32; 2] {
    let mut gaps = [f32::INFINITY, f32::NEG_INFINITY];
    for _ in 0..steps {
        platform.step();
        mover.step(&Walker::default(), &input, GRAVITY, &[platform.solid()]);
        let gap = mover.position[1] - 0.9 - (platform.center[1] + HALF[1]);
        gaps = [gaps[0].min(gap), gaps[1].max(gap)];
    }
    gaps
}

fn standing() -> (Platform, Mover) {
    let mut platform = Platform::at([0.0, -0.5, 0.0]);
    let mut mover = Mover::new([0.0, 0.95, 0.0]);
    ride(&mut platform, &mut mover, Input::default(), 30);
    (platform, mover)
}

#[test]
fn walker_on_a_moving_platform_keeps_its_place_on_it() {
    let (mut platform, mut mover) = standing();
    platform.linear = [5.0, 0.0, 0.0];
    ride(&mut platform, &mut mover, Input::default(), 30);
    let before = mover.position[0] - platform.center[0];
    ride(&mut platform, &mut mover, Input::default(), 600);
    let slip = mover.position[0] - platform.center[0] - before;
    assert!(slip.abs() < 0.01, "it slipped {slip} m in ten seconds");
    ride(&mut platform, &mut mover, AHEAD, 60);
    assert!((mover.velocity[2] + 3.2).abs() < 1e-2, "it walks on the platform: {mover:?}");
    assert!((mover.velocity[0] - 5.0).abs() < 1e-2, "{mover:?}");
}

#[test]
fn feet_stay_on_a_lift_that_rises_and_descends() {
    let (mut platform, mut mover) = standing();
    for speed in [2.0, -2.0, 5.0, -5.0] {
        // A lift that starts gently, as planned moves do.
        for part in 1..=40 {
            platform.linear[1] = speed * part as f32 / 40.0;
            ride(&mut platform, &mut mover, Input::default(), 1);
        }
        let [least, most] = ride(&mut platform, &mut mover, Input::default(), 120);
        assert!(least > -0.005 && most < 0.005, "{speed} m/s: feet from {least} m to {most} m");
        for part in (0..40).rev() {
            platform.linear[1] = speed * part as f32 / 40.0;
            ride(&mut platform, &mut mover, Input::default(), 1);
        }
    }
}

#[test]
fn walker_on_a_turning_disc_keeps_its_distance_from_the_centre() {
    let (mut platform, mut mover) = standing();
    mover.position[0] = 4.0;
    platform.spin = 1.0;
    ride(&mut platform, &mut mover, Input::default(), 60);
    let distance = |mover: &Mover| mover.position[0].hypot(mover.position[2]);
    let before = distance(&mover);
    ride(&mut platform, &mut mover, Input::default(), 1_200);
    let drift = distance(&mover) - before;
    assert!(drift.abs() < 0.02, "{drift} m in twenty seconds");
}

#[test]
fn jump_from_a_rising_lift_adds_its_speed() {
    let (mut platform, mut mover) = standing();
    platform.linear[1] = 2.0;
    ride(&mut platform, &mut mover, Input::default(), 60);
    ride(&mut platform, &mut mover, Input { jump: true, ..Input::default() }, 1);
    assert!((mover.velocity[1] - (4.95 + 2.0 - GRAVITY * SECONDS)).abs() < 1e-3, "{mover:?}");
}

/// A floor, and a platform that the rules move.
struct Station;

const PLATFORM: EntityId = EntityId(2);

impl Behaviour for Station {
    fn start(&mut self, scene: &mut Scene) {
        for (kind, position) in [("floor", [0.0, -2.5, 0.0]), ("platform", [0.0, -0.5, 0.0])] {
            let kind = scene.kind(kind).expect("the kind is defined");
            scene.spawn(kind, Spawn::at(position)).expect("the world has space for the entity");
        }
    }

    fn join(&mut self, scene: &mut Scene, player: PlayerId) {
        let person = scene.kind("person").expect("the kind is defined");
        scene
            .spawn_avatar(player, person, Spawn::at([1.0, 0.95, 0.0]))
            .expect("the world has space for the entity");
    }

    fn step(&mut self, scene: &mut Scene) {
        let time = scene.tick() as f32 * SECONDS;
        let linear = [2.0 * (0.7 * time).sin(), 0.8 * (1.3 * time).sin(), (0.9 * time).cos()];
        let velocity = Velocity { linear, angular: [0.0, 0.6, 0.0] };
        scene.set_velocity(PLATFORM, velocity).expect("the platform is kinematic");
    }
}

fn station() -> Definition {
    let size = HALF.map(|half| 2.0 * half);
    let kinds = vec![
        Kind::new("floor").with_body(Body::fixed(ColliderShape::Box { size: [80.0, 1.0, 80.0] })),
        Kind::new("platform").with_body(Body::kinematic(ColliderShape::Box { size })),
        Kind::walker("person", Walker::default()),
    ];
    Definition { kinds, ..Definition::default() }
}

const ADA: PlayerId = PlayerId(1);

fn visited() -> (World, EntityId) {
    let mut world = World::new(station(), 0, Box::new(Station)).expect("the definition is valid");
    world.apply(Command::join(ADA, "Ada")).unwrap();
    world.step();
    let avatar =
        world.scene().player(ADA).and_then(|player| player.avatar).expect("the player has an avatar");
    (world, avatar)
}

#[test]
fn world_with_a_moving_platform_moves_its_walkers_by_just_this_step() {
    let (mut world, avatar) = visited();
    let floor = Solid::new([0.0, -2.5, 0.0], UNTURNED, [40.0, 0.5, 40.0], 0.0);
    let platform = |world: &World| {
        let Pose { position, rotation } = world.scene().pose(PLATFORM).expect("the platform exists");
        let Velocity { linear, angular } = world.scene().velocity(PLATFORM).expect("the platform moves");
        Solid::new(position, rotation, HALF, 0.0).with_motion(SolidMotion {
            pivot: position,
            linear,
            angular,
        })
    };
    let mut mover = Mover::new([1.0, 0.95, 0.0]);
    mover.step(&Walker::default(), &Input::default(), GRAVITY, &[floor.clone(), platform(&world)]);
    let mut random = Random(5);
    for step in 0..600 {
        let input = if step % 60 < 40 { Input::default() } else { random.input() };
        world.apply(Command::Input { player: ADA, input }).unwrap();
        world.step();
        mover.step(&Walker::default(), &input, GRAVITY, &[floor.clone(), platform(&world)]);
        let Pose { position, .. } = world.scene().pose(avatar).expect("the avatar exists");
        assert_eq!(position.map(f32::to_bits), mover.position.map(f32::to_bits), "step {step}: {mover:?}");
    }
}

#[test]
fn walker_that_waits_moves_with_its_platform() {
    let (mut world, avatar) = visited();
    (0..120).for_each(|_| world.step());
    let on_platform = |world: &World| {
        let place = |id| world.scene().pose(id).expect("the entity exists").position;
        [0, 1, 2].map(|axis| place(avatar)[axis] - place(PLATFORM)[axis])
    };
    let before = on_platform(&world);
    for _ in 0..20 {
        world.apply(Command::StallStep { player: ADA }).unwrap();
        world.step();
    }
    let after = on_platform(&world);
    let radius = |[x, _, z]: [f32; 3]| x.hypot(z);
    assert!((radius(after) - radius(before)).abs() < 0.02, "{before:?} to {after:?}");
    assert!((after[1] - before[1]).abs() < 0.01, "{before:?} to {after:?}");
}

#[test]
fn restored_world_carries_its_walkers_on_to_the_last_bit() {
    let (mut world, _) = visited();
    (0..100).for_each(|_| world.step());
    let bytes = world.snapshot();
    let mut other = World::restore(station(), Box::new(Station), &bytes).expect("the bytes are a snapshot");
    assert_eq!(other.hash(), world.hash());
    for _ in 0..200 {
        world.step();
        other.step();
        while let Some(event) = world.poll_event() {
            assert!(!matches!(event, Event::Refused { .. }), "{event:?}");
        }
    }
    assert_eq!(other.hash(), world.hash());
}

/// Rides of the vectors, and steps of each.
const RIDES: u32 = 400;
const STEPS: u32 = 120;

/// One ride of the vectors: `spec/MOVEMENT.md`, section 8.
fn ride_hash(number: u32) -> u32 {
    let mut random = Random::of_walk(number);
    let floor = Solid::new([0.0, -3.5, 0.0], UNTURNED, [20.0, 0.5, 20.0], 0.0);
    let [x, y, z] = random.three(-1.0, 1.0);
    let mut mover = Mover::new([x, 1.0 + (y + 1.0) * 0.25, z]);
    let mut platform = Platform::at([0.0, -0.5, 0.0]);
    let mut input = Input::default();
    let mut hash = 0x811c_9dc5_u32;
    for step in 0..STEPS {
        if step % 30 == 0 {
            let [x, y, z] = random.three(-3.0, 3.0);
            platform.linear = [x, y * 0.25, z];
            platform.spin = random.within(-2.0, 2.0);
        }
        if step % 8 == 0 {
            input = random.input();
        }
        platform.step();
        mover.step(&Walker::default(), &input, GRAVITY, &[floor.clone(), platform.solid()]);
        for word in bits(&mover) {
            hash = (hash ^ word).wrapping_mul(0x0100_0193);
        }
    }
    hash
}

#[test]
fn rides_are_those_of_the_specification_to_the_last_bit() {
    let mut text =
        "{ \"about\": \"Hashes of rides on a moving platform: spec/MOVEMENT.md, section 8.\", \"rides\": ["
            .to_owned();
    for number in 0..RIDES {
        let comma = if number == 0 { "" } else { "," };
        let space = if number % 12 == 0 { "\n  " } else { " " };
        write!(text, "{comma}{space}\"{:08x}\"", ride_hash(number)).expect("strings take everything");
    }
    expect_vector("rides.json", &(text + "\n] }\n"));
}
