//! Walkers whose speed is changed, or that are frozen, by the rules of a world.

use nowcast_world::movement::Mover;
use nowcast_world::{
    Adjustment, Attributes, Behaviour, Body, ColliderShape, Command, Definition, Input, Kind, Motion,
    PlayerId, Pose, Scene, Solid, Spawn, Value, Walker, World,
};

use super::{GRAVITY, Random, bits, expect_vector, floor};
use std::fmt::Write as _;

/// A hall with a floor. The private value of the world's only player sets the factors of its walker.
struct Hall;

impl Behaviour for Hall {
    fn start(&mut self, scene: &mut Scene) {
        let floor = scene.kind("floor").expect("the kind is defined");
        scene.spawn(floor, Spawn::at([0.0, -0.5, 0.0])).expect("the world has space");
    }

    fn join(&mut self, scene: &mut Scene, player: PlayerId) {
        let person = scene.kind("person").expect("the kind is defined");
        scene.spawn_avatar(player, person, Spawn::at([0.0, 1.0, 0.0])).expect("the world has space");
    }

    fn action(&mut self, scene: &mut Scene, player: PlayerId, _: &str, arguments: &Value) -> bool {
        let avatar = scene.player(player).and_then(|player| player.avatar).expect("there is an avatar");
        for name in ["speed", "jump", "frozen"] {
            let value = arguments.get(name).cloned().expect("the action has this argument");
            scene.set_attribute(avatar, name, value).expect("the walker is adjustable");
        }
        true
    }
}

fn adjustable() -> Attributes {
    let (fields, defaults): (Vec<_>, Vec<_>) = Adjustment::fields().into_iter().unzip();
    let names: Vec<_> = fields.iter().map(|field| field.name.clone()).collect();
    let attributes = Attributes::from_fields(fields).expect("the fields are valid");
    names.iter().zip(defaults).fold(attributes, |attributes, (name, default)| {
        attributes.with_default(name, default).expect("the default fits")
    })
}

fn hall() -> World {
    let floor = Body::new(Motion::Fixed, ColliderShape::Box { size: [40.0, 1.0, 40.0] });
    let walker = Walker { is_adjustable: true, ..Walker::default() };
    let person = Kind::walker("person", walker).with_attributes(adjustable());
    let adjust = nowcast_world::Action {
        name: "adjust".into(),
        arguments: adjustable(),
        hint: Value::Nil,
        durable: false,
    };
    let kinds = vec![Kind::new("floor").with_body(floor), person];
    let definition = Definition { kinds, actions: vec![adjust], ..Definition::default() };
    World::new(definition, 1, Box::new(Hall)).expect("the definition is valid")
}

const ADA: PlayerId = PlayerId(1);

fn adjust(speed: f64, jump: f64, is_frozen: bool) -> Command {
    let pairs = [("speed", speed.into()), ("jump", jump.into()), ("frozen", Value::Bool(is_frozen))];
    let arguments = Value::Map(pairs.into_iter().map(|(name, value)| (name.into(), value)).collect());
    Command::Action { player: ADA, name: "adjust".into(), arguments }
}

fn place(world: &World) -> Pose {
    let avatar = world.scene().player(ADA).and_then(|ada| ada.avatar).expect("there is an avatar");
    world.scene().pose(avatar).expect("the avatar exists")
}

fn joined() -> World {
    let mut world = hall();
    world.apply(Command::join(ADA, "Ada")).expect("the world accepts the command");
    world.step();
    world
}

#[test]
fn an_adjusted_walker_of_a_world_takes_the_steps_of_the_specification_to_the_last_bit() {
    let mut world = joined();
    let mut mover = Mover::new([0.0, 1.0, 0.0]);
    mover.step(&Walker::default(), &Input::default(), GRAVITY, &[floor()]);
    let mut random = Random(5);
    let mut adjustment = Adjustment::default();
    let mut frozen_steps = 0;
    for step in 0..600 {
        if step % 40 == 20 {
            adjustment = random.adjustment();
            let Adjustment { speed, jump, is_frozen } = adjustment;
            world.apply(adjust(speed.into(), jump.into(), is_frozen)).expect("the world accepts it");
        }
        let input = random.input();
        world.apply(Command::Input { player: ADA, input }).expect("the player is in the world");
        world.step();
        if adjustment.is_frozen {
            frozen_steps += 1;
            mover.freeze();
        } else {
            mover.step(&adjustment.of(&Walker::default()), &input, GRAVITY, &[floor()]);
        }
        let found = place(&world).position;
        assert_eq!(found.map(f32::to_bits), mover.position.map(f32::to_bits), "step {step}: {adjustment:?}");
        if found[0].abs().max(found[2].abs()) > 15.0 {
            break;
        }
    }
    assert!(frozen_steps > 30, "{frozen_steps}");
}

#[test]
fn a_frozen_walker_hangs_in_the_air_and_falls_when_it_is_released() {
    let mut world = joined();
    world.apply(adjust(1.0, 1.0, false)).expect("the world accepts it");
    let jump = Input { jump: true, ..Input::default() };
    for _ in 0..30 {
        world.step();
    }
    world.apply(Command::Input { player: ADA, input: jump }).expect("the player is in the world");
    for _ in 0..20 {
        world.step();
    }
    let height = place(&world).position[1];
    assert!(height > 1.5, "{height}");
    world.apply(adjust(1.0, 1.0, true)).expect("the world accepts it");
    world.apply(Command::Input { player: ADA, input: Input::default() }).expect("the player is here");
    for _ in 0..300 {
        world.step();
        assert_eq!(place(&world).position[1], height);
    }
    let other =
        World::restore(hall_definition(), Box::new(Hall), &world.snapshot()).expect("it is a snapshot");
    assert_eq!(other.hash(), world.hash());
    world.apply(adjust(1.0, 1.0, false)).expect("the world accepts it");
    for _ in 0..120 {
        world.step();
    }
    assert!((place(&world).position[1] - 0.9).abs() < 0.01, "{:?}", place(&world));
}

fn hall_definition() -> Definition {
    hall().scene().definition().clone()
}

#[test]
fn a_sleeping_walker_takes_the_jump_of_a_step_that_it_catches_up() {
    let (mut plain, mut late) = (joined(), joined());
    for _ in 0..240 {
        plain.step();
        late.step();
    }
    let asleep = |world: &World| {
        let avatar = world.scene().player(ADA).and_then(|ada| ada.avatar).expect("there is an avatar");
        world.scene().is_asleep(avatar)
    };
    assert_eq!(asleep(&late), Some(true));
    let jump = Input { jump: true, ..Input::default() };
    plain.apply(Command::Input { player: ADA, input: jump }).expect("the player is in the world");
    plain.step();
    plain.apply(Command::Input { player: ADA, input: Input::default() }).expect("the player is here");
    plain.step();
    late.apply(Command::CatchUpStep { player: ADA, first: jump }).expect("the player is in the world");
    late.step();
    assert_eq!(place(&late), place(&plain));
    assert!(place(&late).position[1] > 0.95, "{:?}", place(&late));
}

impl Random {
    /// Factors of the vectors: `spec/MOVEMENT.md`, section 8.
    fn adjustment(&mut self) -> Adjustment {
        let mut factor = || (self.next() % 161) as f32 / 64.0;
        let (speed, jump) = (factor(), factor());
        Adjustment { speed, jump, is_frozen: self.next() & 0x700 == 0 }
    }
}

/// Walks of the vectors, and steps of each.
const WALKS: u32 = 400;
const STEPS: u32 = 80;

fn adjusted_hash(number: u32) -> u32 {
    let mut random = Random::of_walk(number);
    let (solids, mut mover): (Vec<Solid>, Mover) = random.scene();
    let (mut input, mut adjustment) = (Input::default(), Adjustment::default());
    let mut hash = 0x811c_9dc5_u32;
    for step in 0..STEPS {
        if step % 8 == 0 {
            input = random.input();
        }
        if step % 16 == 0 {
            adjustment = random.adjustment();
        }
        if adjustment.is_frozen {
            mover.freeze();
        } else {
            mover.step(&adjustment.of(&Walker::default()), &input, GRAVITY, &solids);
        }
        for word in bits(&mover) {
            hash = (hash ^ word).wrapping_mul(0x0100_0193);
        }
    }
    hash
}

#[test]
fn adjusted_walks_are_those_of_the_specification_to_the_last_bit() {
    let mut text =
        "{ \"about\": \"Hashes of walks with changing speeds: spec/MOVEMENT.md, section 8.\", \"walks\": ["
            .to_owned();
    for number in 0..WALKS {
        let comma = if number == 0 { "" } else { "," };
        let space = if number % 12 == 0 { "\n  " } else { " " };
        write!(text, "{comma}{space}\"{:08x}\"", adjusted_hash(number)).expect("strings take everything");
    }
    expect_vector("adjusted.json", &(text + "\n] }\n"));
}
