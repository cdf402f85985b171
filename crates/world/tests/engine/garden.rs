//! A world that uses every feature of the engine, for tests of determinism.

use nowcast_world::{
    Action, Attributes, Behaviour, Body, ColliderShape, Command, Contact, Definition, Easing, Filter, Input,
    Joint, JointKind, Kind, Motion, PlayerId, Pose, Random, Scene, Spawn, Timer, To, Value, Velocity, Walker,
    World,
};

pub(crate) fn definition() -> Definition {
    let box_of = |size: [f32; 3]| ColliderShape::Box { size };
    let held =
        Attributes::parse("heat: range(0, 1, 0.01), touches: u16, note: text").expect("the text is a schema");
    let ball = Body { restitution: 0.6, ..Body::dynamic(ColliderShape::Sphere { radius: 0.4 }) };
    Definition {
        kinds: vec![
            Kind::new("ground").with_body(Body { friction: 1.0, ..Body::fixed(box_of([60.0, 2.0, 60.0])) }),
            Kind::new("cube")
                .with_body(Body::dynamic(ColliderShape::cube(0.6)))
                .with_attributes(held.clone()),
            Kind::new("ball").with_body(ball).with_attributes(held).reporting_contacts(),
            Kind::new("lift").with_body(Body::kinematic(box_of([3.0, 0.4, 3.0]))),
            Kind::new("shuttle").with_body(Body::kinematic(box_of([1.0, 0.4, 1.0]))),
            Kind::new("zone").with_body(Body::sensor(box_of([6.0, 3.0, 6.0]))).reporting_contacts(),
            Kind::new("lamp"),
            Kind::walker("person", Walker::default()),
        ],
        actions: vec![Action::new("kick", "power: range(0, 1, 0.001)").expect("the text is a schema")],
        state: Value::Map(vec![("kicks".into(), 0.into())]),
        rewinds: true,
        ..Definition::default()
    }
}

/// Balls bounce, towers stand, a lift moves, a lamp is attached to it, two cubes are joined, players kick visible
/// entities.
pub(crate) struct Garden;

impl Behaviour for Garden {
    fn start(&mut self, scene: &mut Scene) {
        let make = |scene: &mut Scene, name: &str, at: [f32; 3]| {
            let kind = scene.kind(name).expect("the definition has it");
            scene.spawn(kind, Spawn::at(at)).expect("the world has space for the entity")
        };
        make(scene, "ground", [0.0, -1.0, 0.0]);
        for storey in 0..6 {
            make(scene, "cube", [4.0, 0.3 + 0.6 * storey as f32, 0.0]);
        }
        let lift = make(scene, "lift", [-6.0, 0.2, 0.0]);
        let lamp = make(scene, "lamp", [-6.0, 1.0, 0.0]);
        scene.set_parent(lamp, Some(lift)).expect("a lamp can hang");
        make(scene, "zone", [0.0, 1.5, 6.0]);
        let upper = make(scene, "cube", [0.0, 4.0, -6.0]);
        let lower = make(scene, "cube", [0.0, 3.0, -6.0]);
        let ball = JointKind::Ball;
        let joint =
            Joint { anchor_a: [0.0, -0.5, 0.0], anchor_b: [0.0, 0.5, 0.0], ..Joint::new(upper, lower, ball) };
        scene.join(joint).expect("both have bodies");
        scene.after(0.5, "ball", Value::Int(0)).expect("the world has space for a timer");
        make(scene, "shuttle", [6.0, 0.2, 6.0]);
        scene.every(0.7, "shuttle", Value::Nil).expect("the world has space for a timer");
    }

    fn join(&mut self, scene: &mut Scene, player: PlayerId) {
        let person = scene.kind("person").expect("the definition has it");
        let x = scene.random() as f32 * 8.0 - 4.0;
        scene
            .spawn_avatar(player, person, Spawn::at([x, 1.0, 8.0]))
            .expect("the world has space for the entity");
        let team = if player.0.is_multiple_of(2) { "red" } else { "blue" };
        scene.set_player_tag(player, team, true).expect("a player has room for a tag");
        scene.show(Some(player), "team", team).expect("the screen has space");
    }

    fn step(&mut self, scene: &mut Scene) {
        let lift = scene.kind("lift").expect("the definition has it");
        let lifts: Vec<_> = scene.entities().of_kind(lift).map(|lift| lift.id).collect();
        let speed = if (scene.tick() / 90).is_multiple_of(2) { 1.0 } else { -1.0 };
        for lift in lifts {
            let velocity = Velocity { linear: [0.0, speed, 0.0], ..Velocity::default() };
            scene.set_velocity(lift, velocity).expect("a lift moves");
        }
    }

    fn timer(&mut self, scene: &mut Scene, timer: &Timer) {
        if timer.name == "shuttle" {
            return send_shuttle(scene);
        }
        let ball = scene.kind("ball").expect("the definition has it");
        let at = [scene.random() as f32 * 6.0 - 3.0, 5.0, scene.random() as f32 * 12.0 - 3.0];
        let count = timer.data.as_f64().unwrap_or(0.0) as i64;
        let id = scene
            .spawn(ball, Spawn::at(at).with("note", format!("ball {count}")))
            .expect("the world has space for the entity");
        scene.push(id, [30.0, 0.0, 5.0], [0.0, 1.0, 0.0]).expect("a ball can be pushed");
        let balls: Vec<_> = scene.entities().of_kind(ball).map(|ball| ball.id).collect();
        if balls.len() > 8 {
            scene.despawn(balls[0]).expect("the ball exists");
        }
        scene.after(0.4, "ball", Value::Int(count + 1)).expect("the world has space for a timer");
    }

    fn contact(&mut self, scene: &mut Scene, contact: &Contact) {
        for id in [contact.a, contact.b] {
            let Some(touches) = scene.attribute(id, "touches").and_then(Value::as_f64) else { continue };
            let heat = (contact.impulse / 20.0).min(1.0);
            scene.set_attribute(id, "touches", touches + 1.0).expect("the attribute is a number");
            scene.set_attribute(id, "heat", f64::from(heat)).expect("the value is clamped");
        }
    }

    fn action(&mut self, scene: &mut Scene, player: PlayerId, _: &str, arguments: &Value) -> bool {
        let Some(avatar) = scene.player(player).and_then(|player| player.avatar) else { return true };
        let power = arguments.get("power").and_then(Value::as_f64).unwrap_or(0.0) as f32;
        let from = scene.pose(avatar).unwrap_or(Pose::IDENTITY).position;
        let filter = Filter { motion: Some(Motion::Dynamic), except: Some(avatar), ..Filter::default() };
        // A kick hits the entity at the position that the player saw.
        scene.rewind(player).expect("the garden remembers");
        let seen = scene.cast_ray(from, [0.3, -0.1, -1.0], 20.0, filter);
        scene.end_rewind();
        if let Ok(Some(hit)) = seen {
            scene
                .apply_impulse(hit.entity, [0.0, power * 60.0, -power * 90.0], Some(hit.point))
                .expect("the ball can move");
            let kicks = scene.state("kicks").and_then(Value::as_f64).unwrap_or(0.0) as i64 + 1;
            scene.set_state("kicks", kicks).expect("the value is within its limit");
            scene
                .emit("kick", To::All, Value::Int(hit.entity.0.into()))
                .expect("the value is within its limit");
        }
        true
    }
}

/// Sends the shuttle to a random place, which pushes cubes and players.
fn send_shuttle(scene: &mut Scene) {
    let kind = scene.kind("shuttle").expect("the definition has it");
    let shuttle = scene.entities().of_kind(kind).map(|shuttle| shuttle.id).next().expect("nobody removes it");
    let position = [scene.random() as f32 * 8.0 - 2.0, 0.3, scene.random() as f32 * 8.0 - 2.0];
    let to = Pose { position, rotation: [0.0, scene.random() as f32, 0.0, 1.0] };
    let easing = if scene.random() < 0.5 { Easing::InOut } else { Easing::Out };
    scene.start_move(shuttle, to, 0.9, easing).expect("a shuttle moves");
}

/// Makes the garden, before its first step.
pub(crate) fn garden(seed: u64) -> World {
    World::new(definition(), seed, Box::new(Garden)).expect("the definition is good")
}

/// Runs random commands of players in the garden, generated from a seed. `between` may read or replace the world before each
/// step.
pub(crate) fn story(seed: u64, ticks: u64, mut between: impl FnMut(&mut World, u64)) -> World {
    let mut world = garden(seed);
    let mut random = Random::new(seed ^ 0x5eed);
    let (mut people, mut next): (Vec<PlayerId>, u32) = (Vec::new(), 1);
    for tick in 0..ticks {
        between(&mut world, tick);
        if people.len() < 5 && random.bits().is_multiple_of(30) {
            people.push(PlayerId(next));
            let join = Command::join(PlayerId(next), format!("person {next}"));
            world.apply(join).expect("the world accepts the command");
            next += 1;
        }
        if people.len() > 3 && random.bits().is_multiple_of(200) {
            let player = people.remove(0);
            world.apply(Command::Leave { player }).expect("leaving is always accepted");
        }
        for player in people.iter().copied() {
            match random.bits() % 40 {
                0 | 1 => {
                    let input = Input::new(
                        1.0,
                        random.signed(),
                        3.0 * random.signed(),
                        true,
                        random.bits().is_multiple_of(3),
                    );
                    world
                        .apply(Command::Input { player, input: input.expect("within bounds") })
                        .expect("the world accepts the command");
                }
                2 => {
                    let arguments = Value::Map(vec![("power".into(), Value::F64(random.unit()))]);
                    let kick = Command::Action { player, name: "kick".into(), arguments };
                    world.apply(kick).expect("the world accepts the command");
                }
                3 => world.apply(Command::StallStep { player }).expect("the world accepts the command"),
                4 => {
                    let first = Input { forward: 1.0, yaw: random.signed(), ..Input::default() };
                    world
                        .apply(Command::CatchUpStep { player, first })
                        .expect("the world accepts the command");
                }
                5 => {
                    let behind_ms = (random.bits() % 600) as u16;
                    world
                        .apply(Command::SetViewDelay { player, behind_ms })
                        .expect("the world accepts the command");
                }
                _ => {}
            }
        }
        world.step();
        while let Some(event) = world.poll_event() {
            assert!(!matches!(event, nowcast_world::Event::Refused { .. }), "{event:?}");
        }
    }
    world
}
