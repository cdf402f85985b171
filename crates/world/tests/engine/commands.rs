use nowcast_world::{Action, ApplyError, Command, Edit, Input, JoinRequest, Limits, Pose, Refusal, To};

use super::*;

/// Repeats all received chat lines.
struct Echo;

impl Behaviour for Echo {
    fn join(&mut self, scene: &mut Scene, player: PlayerId) {
        scene.emit("joined", To::Player(player), Value::Nil).unwrap();
    }

    fn action(&mut self, scene: &mut Scene, _: PlayerId, action: &str, arguments: &Value) -> bool {
        scene.emit(action, To::All, arguments.clone()).unwrap();
        true
    }

    fn message(&mut self, _: &mut Scene, _: PlayerId, text: &str) -> bool {
        text != "secret"
    }
}

fn world() -> World {
    let definition = Definition {
        kinds: vec![Kind::new("mark")],
        actions: vec![Action::new("kick", "power: range(0, 1, 0.5), how: text").unwrap()],
        limits: Limits { players_max: 2, commands_per_player_max: 4, ..Limits::DEFAULT },
        ..Definition::default()
    };
    World::new(definition, 0, Box::new(Echo)).unwrap()
}

fn join(world: &mut World, player: u32) {
    world.apply(Command::join(PlayerId(player), format!(" p{player}\u{7}"))).unwrap();
}

#[test]
fn commands_are_carried_out_at_the_next_step_in_their_order() {
    let mut world = world();
    join(&mut world, 7);
    world.apply(Command::Message { player: ADA, text: "hello".into() }).unwrap();
    world.apply(Command::Rename { player: ADA, name: "Ada".into() }).unwrap();
    world.apply(Command::Message { player: ADA, text: "secret".into() }).unwrap();
    assert_eq!(world.poll_event(), None, "nothing happens between steps");
    world.step();
    let said = Event::Said { player: ADA, name: "p7".into(), text: "hello".into() };
    let renamed = Event::Renamed { player: ADA, name: "Ada".into() };
    let told =
        Event::Emitted { name: "joined".into(), to: To::Player(ADA), payload: Value::Nil, durable: false };
    assert_eq!(drain(&mut world), [Event::Joined(ADA), told, said, renamed]);
}

#[test]
fn arguments_are_checked_and_quantised_before_the_behaviour_sees_them() {
    let mut world = world();
    join(&mut world, 7);
    world.step();
    drain(&mut world);
    let act = |name: &str, arguments| Command::Action { player: ADA, name: name.into(), arguments };
    world.apply(act("kick", map(&[("power", Value::F64(0.7))]))).unwrap();
    world.apply(act("kick", map(&[("power", "hard".into())]))).unwrap();
    world.apply(act("kick", map(&[("strength", 1.into())]))).unwrap();
    world.apply(act("dance", Value::Nil)).unwrap();
    world.step();
    let events = drain(&mut world);
    let payload = map(&[("power", Value::F64(0.5)), ("how", "".into())]);
    assert_eq!(events[0], Event::Emitted { name: "kick".into(), to: To::All, payload, durable: false });
    let reasons: Vec<String> = events[1..]
        .iter()
        .map(|event| match event {
            Event::Refused { player: ADA, refusal } => refusal.to_string(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(
        reasons,
        [
            "action \"kick\": power: a number from 0 to 1 is expected, not text",
            "action \"kick\": a name of power, how is expected, not \"strength\"",
            "this world knows no action \"dance\"",
        ]
    );
    assert_eq!(world.stats().commands_refused, 3);
}

#[test]
fn programs_do_not_take_the_places_of_people() {
    let mut world = world();
    let program = |id| {
        let request = JoinRequest { is_program: true, ..JoinRequest::default() };
        Command::Join { player: PlayerId(id), request }
    };
    (1..=3).for_each(|id| world.apply(program(id)).unwrap());
    (4..=6).for_each(|id| join(&mut world, id));
    world.step();
    let players: Vec<_> = world.scene().players().map(|player| (player.id.0, player.is_program)).collect();
    assert_eq!(players, [(1, true), (2, true), (4, false), (5, false)]);
    let definition = world.scene().definition().clone();
    let restored = World::restore(definition, Box::new(Echo), &world.snapshot()).unwrap();
    assert_eq!(restored.scene().players().len(), 4);
}

#[test]
fn commands_beyond_a_limit_are_refused_by_name_and_counted() {
    let mut world = world();
    (1..=3).for_each(|player| join(&mut world, player));
    join(&mut world, 2);
    world.apply(Command::Leave { player: PlayerId(9) }).unwrap();
    world.step();
    let refusals: Vec<Refusal> = drain(&mut world)
        .into_iter()
        .filter_map(|event| match event {
            Event::Refused { refusal, .. } => Some(refusal),
            _ => None,
        })
        .collect();
    assert_eq!(
        refusals,
        [Refusal::Full { players_max: 2 }, Refusal::PlayerUsed(2), Refusal::UnknownPlayer(9)]
    );

    let message = || Command::Message { player: PlayerId(1), text: "again".into() };
    (0..4).for_each(|_| world.apply(message()).unwrap());
    assert_eq!(world.apply(message()), Err(ApplyError::Full { max: 4 }));
    world.apply(Command::Leave { player: PlayerId(1) }).expect("leaving is always accepted");
    assert!(
        world
            .apply(Command::Input { player: PlayerId(2), input: Input { yaw: f32::NAN, ..Input::default() } })
            .is_err()
    );
    assert_eq!((world.stats().commands_dropped, world.stats().invalid_refused), (1, 1));
}

#[test]
fn a_keeper_edits_the_world_past_its_behaviour() {
    let mut world = world();
    join(&mut world, 7);
    let edit = |edit| Command::Edit { player: ADA, edit };
    let pose = Pose { position: [1.0, 2.0, 3.0], ..Pose::IDENTITY };
    world.apply(edit(Edit::Spawn { kind: "mark".into(), pose })).unwrap();
    world.apply(edit(Edit::Spawn { kind: "dragon".into(), pose })).unwrap();
    world.step();
    let id = world.entities().ids()[0];
    assert_eq!(position(&world, id), [1.0, 2.0, 3.0]);
    let refused =
        Event::Refused { player: ADA, refusal: Refusal::Edit("no kind is called \"dragon\"".into()) };
    assert_eq!(drain(&mut world).last(), Some(&refused));
    world.apply(edit(Edit::Despawn(id))).unwrap();
    world.step();
    assert!(world.entities().is_empty());
}
