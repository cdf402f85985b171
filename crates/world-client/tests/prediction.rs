//! Compares a client that predicts its avatar with the engine. Messages arrive late, and the engine takes each of the
//! client's steps.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use nowcast_replication::{History, Moving, Transform, Viewer};
use nowcast_wire::{Effort, Value, encode_to_vec, encode_value};
use nowcast_world::{
    Adjustment, Attributes, Behaviour, Body, BodyRole, ColliderShape, Command, Definition, EntityId, Input,
    Kind, PlayerId, Pose, STEP_HZ, Scene, Spawn, Walker, World,
};
use nowcast_world_client::{Incoming, Predictor, WorldView};
use nowcast_world_protocol::session::{
    Definition as DefinitionMessage, Entity, FromWorld, Kind as KindMessage, PROTOCOL, Place, Player,
    StateKey, Step,
};

/// Delay of a message in each direction, in steps.
const DELAY_STEPS: u32 = 6;
const ADA: PlayerId = PlayerId(1);
const AHEAD: Input = Input { forward: 1.0, right: 0.0, yaw: 0.0, run: false, jump: false };
const KINDS: [&str; 7] = ["floor", "block", "step", "ball", "ladder", "pond", "person"];

/// A yard with a block, a step and a ball. At one step its rules teleport the avatar, at another they launch it, at a third they
/// make it faster.
#[derive(Default)]
struct Yard {
    teleport: Option<(u64, [f32; 3])>,
    launch_tick: Option<u64>,
    hurry_tick: Option<u64>,
    avatar: Option<EntityId>,
}

impl Behaviour for Yard {
    fn start(&mut self, scene: &mut Scene) {
        let places = [
            [0.0, -0.5, 0.0],
            [1.0, 0.5, -3.0],
            [-1.5, 0.06, 1.0],
            [0.0, 0.3, 3.0],
            [8.0, 2.0, 0.0],
            [8.0, 1.5, 8.0],
        ];
        for (kind, position) in KINDS.into_iter().zip(places) {
            let kind = scene.kind(kind).expect("the kind is defined");
            scene.spawn(kind, Spawn::at(position)).expect("the world has space for the entity");
        }
    }

    fn join(&mut self, scene: &mut Scene, player: PlayerId) {
        let person = scene.kind("person").expect("the kind is defined");
        let avatar = scene.spawn_avatar(player, person, Spawn::at([0.0, 1.0, 0.0]));
        self.avatar = Some(avatar.expect("the world has space for the entity"));
    }

    fn step(&mut self, scene: &mut Scene) {
        if let Some((avatar, (tick, position))) = self.avatar.zip(self.teleport)
            && scene.tick() == tick
        {
            scene.set_pose(avatar, Pose { position, ..Pose::IDENTITY }).expect("the pose is valid");
        }
        if let Some(avatar) = self.avatar.filter(|_| Some(scene.tick()) == self.launch_tick) {
            scene.launch(avatar, [3.0, 7.0, 0.0]).expect("it is a walker");
        }
        if let Some(avatar) = self.avatar.filter(|_| Some(scene.tick()) == self.hurry_tick) {
            scene.set_attribute(avatar, "speed", 2.5).expect("it is adjustable");
        }
    }
}

/// The attributes of an adjustable walker.
fn factors() -> Attributes {
    let (fields, defaults): (Vec<_>, Vec<_>) = Adjustment::fields().into_iter().unzip();
    let names: Vec<_> = fields.iter().map(|field| field.name.clone()).collect();
    let attributes = Attributes::from_fields(fields).expect("the fields are valid");
    names.iter().zip(defaults).fold(attributes, |attributes, (name, default)| {
        attributes.with_default(name, default).expect("the default fits")
    })
}

fn definition() -> Definition {
    let shapes = [
        ColliderShape::Box { size: [40.0, 1.0, 40.0] },
        ColliderShape::cube(1.0),
        ColliderShape::Box { size: [2.0, 0.12, 2.0] },
        ColliderShape::Sphere { radius: 0.3 },
        ColliderShape::Box { size: [0.1, 4.0, 2.0] },
        ColliderShape::Box { size: [6.0, 3.0, 6.0] },
    ];
    let fixed = |(name, shape)| {
        let body = match name {
            "ladder" => Body::fixed(shape).with_role(BodyRole::Ladder),
            "pond" => Body::sensor(shape).with_role(BodyRole::Water),
            _ => Body::fixed(shape),
        };
        Kind { body: Some(body), ..Kind::new(name) }
    };
    let mut kinds: Vec<Kind> = KINDS.into_iter().zip(shapes).map(fixed).collect();
    kinds.push(
        Kind::walker("person", Walker { is_adjustable: true, ..Walker::default() })
            .with_attributes(factors()),
    );
    Definition { kinds, ..Definition::default() }
}

/// A client and its server, with delayed messages in both directions.
struct Play {
    world: World,
    history: History,
    viewer: Viewer,
    view: WorldView,
    predictor: Predictor,
    /// The changes of the input that the messages stated, by the client's steps.
    known: BTreeMap<u32, Input>,
    payloads: VecDeque<(u32, Vec<u8>)>,
    /// The avatar's description, when the client receives it.
    described: VecDeque<(u32, Vec<u8>)>,
    now: u32,
    packet: u64,
    /// The positions that the client predicted, by its steps.
    predicted: BTreeMap<u32, [f32; 3]>,
    /// The largest distance of the engine's position after a step from the predicted one, in metres.
    error_metres: f32,
}

impl Play {
    fn of(behaviour: Yard) -> Self {
        let mut world = World::new(definition(), 7, Box::new(behaviour)).expect("the definition is valid");
        world.apply(Command::join(ADA, "Ada")).expect("the world accepts the command");
        for _ in 0..30 {
            world.step();
        }
        let mut play = Self {
            world,
            history: History::default(),
            viewer: Viewer::default(),
            view: WorldView::default(),
            predictor: Predictor::default(),
            known: BTreeMap::new(),
            payloads: VecDeque::new(),
            described: VecDeque::new(),
            now: 0,
            packet: 0,
            predicted: BTreeMap::new(),
            error_metres: 0.0,
        };
        play.describe();
        play.publish(0);
        play
    }

    fn describe(&mut self) {
        let kinds = definition().kinds.iter().map(|kind| KindMessage::describe(kind, 9.81)).collect();
        let (actions, events, assets) = Default::default();
        let definition = DefinitionMessage { version: 1, kinds, actions, events, assets };
        let welcome = FromWorld::Welcome {
            protocol: PROTOCOL,
            player: ADA.0,
            room: "yard".into(),
            world: "yard".into(),
            step_hz: STEP_HZ,
            network_hz: STEP_HZ,
            tick: 0,
            resumed: false,
        };
        for event in [welcome, FromWorld::Define { definition }] {
            self.view.handle(Incoming::Event(&encode_to_vec(&event))).expect("the bytes are an event");
        }
        let mut avatar = None;
        let entities: Vec<_> =
            self.world.entities().iter().map(|seen| (seen.id, seen.kind.0, seen.scale, seen.pose)).collect();
        for (id, kind, scale, Pose { position, rotation }) in entities {
            let is_person = KINDS[usize::from(kind)] == "person";
            avatar = avatar.or(is_person.then_some(id.0));
            let place = (!is_person).then_some(Place { position, rotation });
            let attributes = self.attributes_of(id);
            let kind = kind.into();
            let described = Entity { kind, scale, parent: None, place, attributes, owner: None };
            self.state(StateKey::Entity(id), &encode_to_vec(&described));
        }
        self.state(
            StateKey::Player(ADA),
            &encode_to_vec(&Player { name: "Ada".into(), avatar, program: false }),
        );
    }

    /// The attributes of an entity as clients receive them.
    fn attributes_of(&self, id: EntityId) -> Vec<u8> {
        let seen = self.world.scene().entity(id).expect("the entity exists");
        let kind = &self.world.scene().definition().kinds[usize::from(seen.kind.0)];
        let names = kind.attributes.fields().iter().map(|field| Value::Text(field.name.clone()));
        let pairs = names.zip(seen.attributes.iter().cloned()).collect();
        let mut bytes = Vec::new();
        encode_value(kind.attributes.shape(), &Value::Map(pairs), Effort::default(), &mut bytes)
            .expect("the values fit");
        bytes
    }

    fn state(&mut self, key: StateKey, value: &[u8]) {
        self.view.handle(Incoming::State { key, value }).expect("the bytes are a state");
    }

    /// Sends the movement of the present step, in which the client's step `controls` was taken.
    fn publish(&mut self, controls: u32) {
        let transform = |pose: Pose| Transform { position: pose.position, rotation: pose.rotation };
        self.viewer.set_controls(self.now, controls as u16);
        let moving = self.world.poses().map(|(id, pose)| {
            let moving = Moving::from((id.0, transform(pose)));
            let quantization = moving.quantization.jumped(self.world.scene().jump(id));
            Moving { quantization, ..moving }
        });
        self.history.publish(self.now, moving);
        self.viewer.begin_round(self.history.frames(), None);
        while self.viewer.has_more() {
            let mut payload = Vec::new();
            self.viewer.fill(self.history.frames(), self.packet, 1_100, &mut payload);
            self.viewer.on_outcome(self.packet, true);
            self.packet += 1;
            self.payloads.push_back((self.now + DELAY_STEPS, payload));
        }
    }

    /// One step of the client and one of the world.
    fn step(&mut self, input: Input) {
        self.now += 1;
        let now = Duration::from_secs(self.now.into()) / STEP_HZ + Duration::from_micros(1);
        while let Some((_, described)) = self.described.pop_front_if(|(at, _)| *at <= self.now) {
            let avatar = self.view.avatar().expect("the client has an avatar");
            self.state(StateKey::Entity(avatar), &described);
        }
        while let Some((_, payload)) = self.payloads.pop_front_if(|(at, _)| *at <= self.now) {
            let update = self.view.handle(Incoming::Movement(&payload)).expect("the movement is well-formed");
            self.predictor.handle(&update, &self.view);
        }
        self.predictor.set_input(input).expect("the input is within its bounds");
        self.predictor.advance(now, &self.view);
        let step = self.predictor.step();
        self.predicted.extend(self.predictor.position().map(|position| (step, position)));
        if let Some(steps) = self.predictor.poll_steps(now) {
            let changes = steps.steps.iter().map(|change| {
                let Step { ago, forward, right, yaw, run, jump } = *change;
                let input =
                    Input::new(forward, right, yaw, run, jump).expect("the input is within its bounds");
                (step - u32::from(ago), input)
            });
            self.known.extend(changes);
        }
        // The engine takes the step that the client took some steps ago.
        let taken = step.saturating_sub(DELAY_STEPS);
        if let Some(input) = self.known.get(&taken) {
            self.world.apply(Command::Input { player: ADA, input: *input }).expect("the player exists");
        }
        self.world.step();
        if let Some(predicted) = self.predicted.get(&taken) {
            self.error_metres = self.error_metres.max(distance(*predicted, self.engine_position()));
        }
        self.publish(taken);
        self.describe_avatar();
    }

    /// Sends the description of the avatar if its attributes changed in this step.
    fn describe_avatar(&mut self) {
        let avatar = self.view.avatar().expect("the client has an avatar");
        let seen = self.world.scene().entity(avatar).expect("the avatar exists");
        if seen.changed_tick != self.world.tick() {
            return;
        }
        let (kind, scale) = (seen.kind.0.into(), seen.scale);
        let attributes = self.attributes_of(avatar);
        let described = Entity { kind, scale, parent: None, place: None, attributes, owner: None };
        self.described.push_back((self.now + DELAY_STEPS, encode_to_vec(&described)));
    }

    fn engine_position(&self) -> [f32; 3] {
        let avatar = self.view.avatar().expect("the client has an avatar");
        self.world.entity(avatar).expect("the avatar exists").pose.position
    }

    fn position(&self) -> [f32; 3] {
        self.predictor.position().expect("the avatar is predicted")
    }
}

fn distance(a: [f32; 3], b: [f32; 3]) -> f32 {
    (0..3).map(|axis| (a[axis] - b[axis]).powi(2)).sum::<f32>().sqrt()
}

#[test]
fn a_walk_among_fixed_bodies_is_predicted_without_corrections() {
    let mut play = Play::of(Yard::default());
    let (mut highest, mut farthest) = (0.0_f32, 0.0_f32);
    for step in 0..600_u32 {
        let yaw = step as f32 * 0.02;
        play.step(Input { yaw, run: step % 200 > 100, jump: step % 90 < 3, ..AHEAD });
        if play.predictor.position().is_some() {
            let [x, y, z] = play.position();
            (highest, farthest) = (highest.max(y), farthest.max(x.hypot(z)));
        }
    }
    assert!(play.predicted.len() > 500 && highest > 1.5 && farthest > 1.0, "it walks and jumps");
    assert_eq!(play.predictor.corrections(), 0);
    assert!(play.error_metres < 0.003, "{} m", play.error_metres);
}

#[test]
fn an_avatar_that_climbs_a_ladder_and_swims_is_predicted_without_corrections() {
    use std::f32::consts::{FRAC_PI_2, PI};
    let mut play = Play::of(Yard::default());
    let (mut climbed, mut floated) = (0.0_f32, 0.0_f32);
    for step in 0..640 {
        let input = match step {
            0..230 => Input { yaw: -FRAC_PI_2, ..AHEAD },
            230..260 => Input { yaw: -FRAC_PI_2, ..Input::default() },
            260..330 => Input { yaw: -FRAC_PI_2, forward: -1.0, ..AHEAD },
            330..500 => Input { yaw: PI, ..AHEAD },
            _ => Input { yaw: PI, jump: true, ..Input::default() },
        };
        play.step(input);
        let height = play.engine_position()[1];
        if step < 330 {
            climbed = climbed.max(height);
        } else {
            floated = floated.max(height);
        }
    }
    assert!(climbed > 1.8, "it climbed to {climbed} m");
    assert!(floated > 2.5, "it rose to {floated} m");
    assert_eq!(play.predictor.corrections(), 0);
    assert!(play.error_metres < 0.003, "{} m", play.error_metres);
}

#[test]
fn an_avatar_that_the_rules_move_is_corrected_and_predicted_on() {
    let mut play = Play::of(Yard { teleport: Some((130, [-8.0, 0.9, 5.0])), ..Yard::default() });
    for step in 0..300 {
        play.step(if step < 200 { AHEAD } else { Input::default() });
    }
    assert!(play.predictor.corrections() > 0);
    let position = play.engine_position();
    assert!(position[0] < -7.0, "the rules moved it: {position:?}");
    let error = distance(play.position(), position);
    assert!(error < 0.01, "{:?} is predicted, and the engine has {position:?}", play.position());
}

#[test]
fn an_avatar_that_the_rules_put_a_metre_away_stays_there() {
    let teleport_tick = 130;
    let mut play = Play::of(Yard { teleport: Some((teleport_tick, [1.0, 0.9, 0.0])), ..Yard::default() });
    for _ in 0..200 {
        if play.world.tick() == teleport_tick + 3 * u64::from(DELAY_STEPS) {
            play.error_metres = 0.0;
        }
        play.step(Input::default());
    }
    let [x, ..] = play.engine_position();
    assert!((x - 1.0).abs() < 0.01, "the avatar is at {x} m");
    assert!(play.error_metres < 0.01, "{} m", play.error_metres);
}

#[test]
fn an_avatar_that_the_rules_launch_is_predicted_again_once_the_launch_is_seen() {
    let launch_tick = 130;
    let mut play = Play::of(Yard { launch_tick: Some(launch_tick), ..Yard::default() });
    let mut highest = 0.0_f32;
    for _ in 0..200 {
        // Predictions of later steps were made with an update after the launch.
        let is_seen = play.world.tick() == launch_tick + 3 * u64::from(DELAY_STEPS);
        if is_seen {
            play.error_metres = 0.0;
        }
        play.step(Input::default());
        highest = highest.max(play.engine_position()[1]);
    }
    assert!(highest > 3.0, "it rises to {highest} m");
    assert!(play.predictor.corrections() > 0);
    assert!(play.error_metres < 0.05, "{} m", play.error_metres);
}

#[test]
fn a_change_of_speed_is_predicted_from_its_own_step_on() {
    let hurry_tick = 130;
    let mut play = Play::of(Yard { hurry_tick: Some(hurry_tick), ..Yard::default() });
    let mut fastest = 0.0_f32;
    let mut before = play.engine_position();
    for _ in 0..170 {
        if play.world.tick() == hurry_tick + 3 * u64::from(DELAY_STEPS) {
            play.error_metres = 0.0;
        }
        play.step(Input { yaw: 1.5, ..AHEAD });
        let after = play.engine_position();
        fastest = fastest.max(distance(before, after) * STEP_HZ as f32);
        before = after;
    }
    assert!((fastest - 8.0).abs() < 0.1, "{fastest} m/s");
    assert_eq!(play.predictor.corrections(), 0);
    assert!(play.error_metres < 0.003, "{} m", play.error_metres);
}

#[test]
fn a_pause_leaves_its_steps_out() {
    let mut play = Play::of(Yard::default());
    for _ in 0..60 {
        play.step(AHEAD);
    }
    let (before, position) = (play.predictor.step(), play.position());
    play.predictor.advance(Duration::from_secs(60), &play.view);
    assert!(play.predictor.step() - before > 3_000);
    assert!(distance(play.position(), position) < 0.2, "one step is taken");
}
