use nowcast_world::journal::{self, Entry, Record};
use nowcast_world::{
    Area, Attributes, Beyond, Command, GIFTS_MAX, JoinRequest, Motion, OWNED_MAX, OwnedBy, OwnerError,
    OwnerLeaves, OwnerRequest, OwnerRules, Pose, Random, Refusal, Velocity, Walker,
};

use super::*;

const TRACKER: PlayerId = PlayerId(8);

/// A hall with a player, and entities that players or programs may own. No player may own the entity "shy".
struct Hall;

impl Behaviour for Hall {
    fn start(&mut self, scene: &mut Scene) {
        spawn(scene, "ground", [0.0, -1.0, 0.0]);
        for (kind, x) in [("hand", 0.0), ("crate", 2.0), ("target", 4.0), ("strict", 6.0), ("shy", 8.0)] {
            spawn(scene, kind, [x, 1.0, 0.0]);
        }
    }

    fn join(&mut self, scene: &mut Scene, player: PlayerId) {
        if scene.player(player).is_some_and(|player| !player.is_program) {
            let person = scene.kind("person").unwrap();
            scene.spawn_avatar(player, person, Spawn::at([0.0, 0.9, 2.0])).unwrap();
        }
    }

    fn own(&mut self, scene: &mut Scene, entity: EntityId, _: PlayerId) -> bool {
        scene.kind_of(scene.entity(entity).unwrap().kind).name != "shy"
    }

    fn release(&mut self, scene: &mut Scene, entity: EntityId, player: PlayerId) {
        assert_eq!(scene.entity(entity).unwrap().owner, Some(player), "a last time");
        scene.emit("released", nowcast_world::To::All, Value::from(u64::from(entity.0))).unwrap();
    }
}

fn definition() -> Definition {
    let cube = ColliderShape::cube(0.5);
    let by = |by| OwnerRules { by: Some(by), ..OwnerRules::default() };
    let heat = Attributes::parse("heat: range(0, 1, 0.25), secret: u8").unwrap();
    let kind = |name: &str, motion: Option<Motion>, owner: OwnerRules| {
        let body = motion.map(|motion| Body::new(motion, cube.clone()));
        Kind { body, owner, attributes: heat.clone(), ..Kind::new(name) }
    };
    let area = Some(Area { at: [4.0, 1.0, 0.0], size: [4.0, 2.0, 4.0] });
    let attributes = vec!["heat".to_owned()];
    Definition {
        kinds: vec![
            Kind::new("ground").with_body(Body::fixed(ColliderShape::Box { size: [60.0, 2.0, 60.0] })),
            Kind::walker("person", Walker::default()),
            kind(
                "hand",
                Some(Motion::Kinematic),
                OwnerRules { speed: 6.0, reach: Some(3.0), ..by(OwnedBy::Player) },
            ),
            kind(
                "crate",
                Some(Motion::Dynamic),
                OwnerRules { leave: OwnerLeaves::Keep, ..by(OwnedBy::Anyone) },
            ),
            kind(
                "target",
                None,
                OwnerRules {
                    spawns_max: 3,
                    area,
                    attributes,
                    leave: OwnerLeaves::Despawn,
                    ..by(OwnedBy::Program)
                },
            ),
            kind(
                "strict",
                None,
                OwnerRules { beyond: Beyond::Refuse, reach: Some(3.0), ..by(OwnedBy::Program) },
            ),
            kind("shy", None, by(OwnedBy::Anyone)),
        ],
        ..Definition::default()
    }
}

fn hall() -> World {
    let mut world = World::new(definition(), 1, Box::new(Hall)).expect("the definition is good");
    world.apply(Command::join(ADA, "Ada")).unwrap();
    world.apply(join_program(TRACKER, "tracker")).unwrap();
    world.step();
    drain(&mut world);
    world
}

const HAND: EntityId = EntityId(2);
const CRATE: EntityId = EntityId(3);
const TARGET: EntityId = EntityId(4);
const STRICT: EntityId = EntityId(5);
const SHY: EntityId = EntityId(6);

fn own(player: PlayerId, entity: EntityId) -> Command {
    Command::Own { player, entity, number: 1 }
}

fn to(player: PlayerId, entity: EntityId, position: [f32; 3]) -> Command {
    Command::Move { player, entity, pose: Pose { position, ..Pose::IDENTITY }, velocity: None }
}

fn release(player: PlayerId, entity: EntityId) -> Command {
    Command::Release { player, entity, to: None }
}

fn join_program(player: PlayerId, name: &str) -> Command {
    let request = JoinRequest { name: name.into(), is_program: true, ..JoinRequest::default() };
    Command::Join { player, request }
}

/// Returns the reason why a command is refused.
fn refused(world: &mut World, command: Command) -> Option<OwnerError> {
    drain(world);
    world.apply(command).expect("its numbers are good");
    world.step();
    drain(world).into_iter().find_map(|event| match event {
        Event::Refused { refusal: Refusal::Owner { why, .. }, .. } => Some(why),
        _ => None,
    })
}

fn owner(world: &World, id: EntityId) -> Option<PlayerId> {
    world.entity(id).expect("the entity exists").owner
}

#[test]
fn an_owner_moves_its_entity_within_the_speed_and_reach_of_its_kind() {
    let mut world = hall();
    assert_eq!(refused(&mut world, own(ADA, HAND)), None);
    assert_eq!(owner(&world, HAND), Some(ADA));
    world.apply(to(ADA, HAND, [1.5, 1.0, 2.0])).unwrap();
    world.step();
    let [x, _, z] = position(&world, HAND);
    assert!(((x * x + z * z).sqrt() - 0.1).abs() < 1e-3, "6 m/s are 0.1 m a step: {x} {z}");
    steps(&mut world, 60);
    assert!((position(&world, HAND)[0] - 1.5).abs() < 1e-4, "it is there: {:?}", position(&world, HAND));
    world.apply(to(ADA, HAND, [100.0, 0.9, 2.0])).unwrap();
    steps(&mut world, 120);
    let [x, ..] = position(&world, HAND);
    assert!((x - 3.0).abs() < 1e-3, "three metres from her: {x}");
    assert_eq!(world.stats().moves_clamped, 1);
}

#[test]
fn forbidden_requests_are_refused_by_name_and_change_nothing() {
    let mut world = hall();
    let nobody = EntityId(99);
    let not_for = |kind: &str, whom| OwnerError::NotForYou { kind: kind.into(), whom };
    let before = world.hash();
    world.step();
    assert_ne!(before, world.hash(), "time passes");
    for (command, why) in [
        (own(ADA, nobody), OwnerError::UnknownEntity),
        (own(ADA, EntityId(1)), OwnerError::NotGiven("ground".into())),
        (own(ADA, TARGET), not_for("target", "programs")),
        (own(TRACKER, HAND), not_for("hand", "people")),
        (own(ADA, SHY), OwnerError::Denied),
        (to(ADA, HAND, [0.0; 3]), OwnerError::NotYours),
        (to(ADA, nobody, [0.0; 3]), OwnerError::UnknownEntity),
        (release(ADA, HAND), OwnerError::NotYours),
        (Command::Set { player: ADA, entity: HAND, attributes: Value::Nil }, OwnerError::NotYours),
        (Command::Despawn { player: ADA, entity: HAND }, OwnerError::NotYours),
    ] {
        assert_eq!(refused(&mut world, command.clone()), Some(why), "{command:?}");
    }
    assert!((2..=6).all(|id| owner(&world, EntityId(id)).is_none()));
    assert_eq!(refused(&mut world, own(TRACKER, CRATE)), None);
    assert_eq!(refused(&mut world, own(ADA, CRATE)), Some(OwnerError::Taken(TRACKER)));
    assert_eq!(refused(&mut world, to(ADA, CRATE, [0.0; 3])), Some(OwnerError::NotYours));
    assert_eq!(world.stats().commands_refused, 12);
}

#[test]
fn numbers_that_no_world_holds_never_reach_it() {
    let mut world = hall();
    world.apply(own(ADA, HAND)).unwrap();
    world.step();
    let hash = world.hash();
    for bad in [f32::NAN, f32::INFINITY, 1e30] {
        assert!(world.apply(to(ADA, HAND, [0.0, bad, 0.0])).is_err());
        let pose = Pose { rotation: [bad; 4], ..Pose::IDENTITY };
        assert!(world.apply(Command::Move { player: ADA, entity: HAND, pose, velocity: None }).is_err());
        let velocity = Some(Velocity { linear: [bad; 3], angular: [0.0; 3] });
        let pose = Pose::IDENTITY;
        assert!(world.apply(Command::Move { player: ADA, entity: HAND, pose, velocity }).is_err());
        let (kind, attributes) = ("target".to_owned(), Value::Nil);
        let pose = Pose { position: [bad; 3], ..Pose::IDENTITY };
        assert!(world.apply(Command::Spawn { player: TRACKER, kind, pose, attributes, number: 1 }).is_err());
    }
    assert_eq!((world.hash(), world.stats().invalid_refused), (hash, 12));
}

#[test]
fn if_a_kind_refuses_distant_targets_nothing_is_clamped() {
    let mut world = hall();
    assert_eq!(refused(&mut world, own(TRACKER, STRICT)), None);
    assert_eq!(refused(&mut world, to(TRACKER, STRICT, [6.0, 1.0, 2.9])), Some(OwnerError::TooFast));
    assert_eq!(refused(&mut world, to(TRACKER, STRICT, [6.0, 1.0, 3.1])), Some(OwnerError::OutOfReach));
    assert_eq!(position(&world, STRICT), [6.0, 1.0, 0.0]);
    assert_eq!(refused(&mut world, to(TRACKER, STRICT, [6.0, 1.0, 0.15])), None);
    assert_eq!(
        position(&world, STRICT),
        [6.0, 1.0, 0.15],
        "a tenth of a second's way at ten metres a second"
    );
}

#[test]
fn a_program_spawns_its_entities_and_sets_the_attributes_that_the_kind_allows() {
    let mut world = hall();
    let spawn = |position: [f32; 3], attributes: &[(&str, Value)]| Command::Spawn {
        player: TRACKER,
        kind: "target".into(),
        pose: Pose { position, ..Pose::IDENTITY },
        attributes: map(attributes),
        number: 7,
    };
    world.apply(spawn([4.0, 1.0, 1.0], &[("heat", Value::F64(0.6))])).unwrap();
    world.step();
    let made = *world.entities().ids().last().unwrap();
    assert!(drain(&mut world).contains(&Event::Granted { player: TRACKER, entity: made, number: 7 }));
    assert_eq!(owner(&world, made), Some(TRACKER));
    assert_eq!(world.scene().attribute(made, "heat"), Some(&Value::F64(0.5)), "quantised");
    let set = |attributes: &[(&str, Value)]| Command::Set {
        player: TRACKER,
        entity: made,
        attributes: map(attributes),
    };
    let secret = refused(&mut world, set(&[("heat", Value::F64(1.0)), ("secret", 3.into())]));
    assert_eq!(secret, Some(OwnerError::Attribute("secret".into())));
    assert!(matches!(refused(&mut world, set(&[("heat", "hot".into())])), Some(OwnerError::Impossible(_))));
    assert_eq!(world.scene().attribute(made, "heat"), Some(&Value::F64(0.5)), "all of them, or none");
    assert_eq!(refused(&mut world, set(&[("heat", Value::F64(1.0))])), None);
    assert_eq!(world.scene().attribute(made, "heat"), Some(&Value::F64(1.0)));
    assert_eq!(refused(&mut world, spawn([40.0, 1.0, 1.0], &[])), Some(OwnerError::OutsideArea));
    assert_eq!(refused(&mut world, spawn([4.0, 1.0, 0.0], &[])), None);
    assert_eq!(refused(&mut world, spawn([4.0, 1.0, 0.0], &[])), None);
    assert_eq!(refused(&mut world, spawn([4.0, 1.0, 0.0], &[])), Some(OwnerError::TooMany { max: 3 }));
    assert_eq!(refused(&mut world, Command::Despawn { player: TRACKER, entity: made }), None);
    assert!(world.entity(made).is_none());
}

#[test]
fn when_an_owner_leaves_each_entity_follows_the_rule_of_its_kind() {
    let mut world = hall();
    let bo = PlayerId(9);
    world.apply(join_program(bo, "bo")).unwrap();
    for entity in [CRATE, TARGET, STRICT] {
        world.apply(own(bo, entity)).unwrap();
    }
    world.step();
    drain(&mut world);
    world.apply(Command::Leave { player: bo }).unwrap();
    world.step();
    let released =
        drain(&mut world).into_iter().filter(|event| matches!(event, Event::Emitted { .. })).count();
    assert_eq!(released, 3, "the rules hear of each");
    assert_eq!(owner(&world, CRATE), Some(bo), "it stays owned by the player who left");
    assert!(world.entity(TARGET).is_none());
    assert_eq!(owner(&world, STRICT), None);
    assert_eq!(refused(&mut world, own(ADA, CRATE)), Some(OwnerError::Taken(bo)));
}

#[test]
fn an_entity_is_passed_on_to_a_player_that_may_own_it() {
    let mut world = hall();
    assert_eq!(refused(&mut world, own(ADA, CRATE)), None);
    let pass = |to: u32| Command::Release { player: ADA, entity: CRATE, to: Some(PlayerId(to)) };
    assert_eq!(refused(&mut world, pass(77)), Some(OwnerError::UnknownPlayer(PlayerId(77))));
    world.apply(to(ADA, CRATE, [2.0, 3.0, 0.0])).unwrap();
    steps(&mut world, 60);
    assert!((position(&world, CRATE)[1] - 3.0).abs() < 0.02, "she holds it up");
    assert_eq!(refused(&mut world, pass(8)), None);
    assert_eq!(owner(&world, CRATE), Some(TRACKER));
    steps(&mut world, 120);
    assert!(
        position(&world, CRATE)[1] < 0.3,
        "the former owner's target no longer counts, so the crate falls"
    );
    assert_eq!(refused(&mut world, to(ADA, CRATE, [0.0; 3])), Some(OwnerError::NotYours));
}

#[test]
fn no_player_owns_more_than_the_maximum() {
    let mut definition = definition();
    definition.kinds[4].owner.spawns_max = OWNED_MAX as u32;
    let mut world = World::new(definition, 1, Box::new(Hall)).unwrap();
    world.apply(join_program(TRACKER, "tracker")).unwrap();
    for number in 0..=OWNED_MAX as u32 {
        let pose = Pose { position: [4.0, 1.0, 0.0], ..Pose::IDENTITY };
        let (kind, attributes) = ("target".to_owned(), Value::Nil);
        world.apply(Command::Spawn { player: TRACKER, kind, pose, attributes, number }).unwrap();
    }
    world.step();
    let granted = drain(&mut world).iter().filter(|event| matches!(event, Event::Granted { .. })).count();
    assert_eq!((granted, world.stats().commands_refused), (OWNED_MAX, 1));
    assert_eq!(refused(&mut world, own(TRACKER, CRATE)), Some(OwnerError::TooMany { max: OWNED_MAX }));
}

/// A hall in which TRACKER has spawned targets and given them to a program 9, and that program.
fn hall_with_gifts() -> (World, PlayerId) {
    let mut definition = definition();
    definition.kinds[4].owner.spawns_max = OWNED_MAX as u32;
    let mut world = World::new(definition, 1, Box::new(Hall)).unwrap();
    let victim = PlayerId(9);
    for (player, name) in [(TRACKER, "tracker"), (victim, "victim")] {
        world.apply(join_program(player, name)).unwrap();
    }
    for _ in 0..GIFTS_MAX {
        let entity = world.scene().next_id();
        assert_eq!(refused(&mut world, target_of(TRACKER)), None);
        let gift = Command::Release { player: TRACKER, entity, to: Some(victim) };
        assert_eq!(refused(&mut world, gift), None);
        assert_eq!(owner(&world, entity), Some(victim));
    }
    (world, victim)
}

fn target_of(player: PlayerId) -> Command {
    let pose = Pose { position: [4.0, 1.0, 0.0], ..Pose::IDENTITY };
    Command::Spawn { player, kind: "target".into(), pose, attributes: Value::Nil, number: 1 }
}

#[test]
fn gifts_do_not_count_against_the_limit_of_their_owner() {
    let (mut world, victim) = hall_with_gifts();
    for _ in 0..OWNED_MAX {
        assert_eq!(refused(&mut world, target_of(victim)), None, "gifts take no place");
    }
    assert_eq!(refused(&mut world, target_of(victim)), Some(OwnerError::TooMany { max: OWNED_MAX }));
    assert_eq!(refused(&mut world, target_of(TRACKER)), None);
    let last = world.entities().ids().last().copied().unwrap();
    let gift = Command::Release { player: TRACKER, entity: last, to: Some(victim) };
    let error = OwnerError::TooManyGifts { player: victim, max: GIFTS_MAX };
    assert_eq!(refused(&mut world, gift.clone()), Some(error));
    let first = EntityId(7);
    assert_eq!(refused(&mut world, release(victim, first)), None, "it gives one of them back");
    assert_eq!(refused(&mut world, gift), None, "there is room for another gift");
    assert_eq!(
        refused(&mut world, own(victim, first)),
        Some(OwnerError::TooMany { max: OWNED_MAX }),
        "an entity that a player asks for counts"
    );
}

#[test]
fn gifts_are_saved_and_snapshots_of_unknown_versions_are_refused_by_name() {
    let (mut world, victim) = hall_with_gifts();
    let mut definition = definition();
    definition.kinds[4].owner.spawns_max = OWNED_MAX as u32;
    let mut bytes = world.snapshot();
    assert_eq!(bytes[7], 10, "the version of snapshots");
    let mut restored =
        World::restore(definition.clone(), Box::new(Hall), &bytes).expect("the bytes are a snapshot");
    assert_eq!(restored.hash(), world.hash());
    for _ in 0..OWNED_MAX {
        assert_eq!(refused(&mut restored, target_of(victim)), None, "gifts take no place");
    }
    for version in [1, 9, 11] {
        bytes[7] = version;
        let error = World::restore(definition.clone(), Box::new(Hall), &bytes).map(drop).unwrap_err();
        assert!(error.to_string().contains(&format!("version {version}")), "{error}");
    }
}

#[test]
fn a_target_moves_on_with_its_velocity_for_a_tenth_of_a_second() {
    let mut world = hall();
    assert_eq!(refused(&mut world, own(TRACKER, TARGET)), None);
    let pose = Pose { position: [4.0, 1.0, 0.0], ..Pose::IDENTITY };
    let velocity = Some(Velocity { linear: [3.0, 0.0, 0.0], angular: [0.0, 1.0, 0.0] });
    world.apply(Command::Move { player: TRACKER, entity: TARGET, pose, velocity }).unwrap();
    steps(&mut world, 3);
    assert!((position(&world, TARGET)[0] - 4.15).abs() < 1e-4);
    steps(&mut world, 60);
    assert!(
        (position(&world, TARGET)[0] - 4.3).abs() < 1e-4,
        "then its motion is unknown, and it stands still"
    );
    assert!((world.entity(TARGET).unwrap().pose.yaw() - 0.1).abs() < 1e-4);
}

#[test]
fn contradictory_owner_rules_are_refused_when_the_world_is_made() {
    let broken = |change: fn(&mut Kind)| {
        let mut definition = definition();
        change(&mut definition.kinds[3]);
        let error = definition.validate().expect_err("the definition is invalid");
        error.path
    };
    assert_eq!(broken(|kind| kind.owner.speed = f32::NAN), "kinds.crate.owner.speed");
    assert_eq!(broken(|kind| kind.owner.reach = Some(-1.0)), "kinds.crate.owner.reach");
    assert_eq!(broken(|kind| kind.owner.spawns_max = 1_000), "kinds.crate.owner.spawns");
    assert_eq!(broken(|kind| kind.owner.attributes = vec!["x".into()]), "kinds.crate.owner.attributes.x");
    assert_eq!(broken(|kind| kind.body = Some(Body::fixed(ColliderShape::cube(1.0)))), "kinds.crate.owner");
}

/// A random command of a player, which may be forbidden.
fn whim(random: &mut Random) -> Command {
    let player = PlayerId(7 + (random.bits() % 4) as u32);
    let entity = EntityId(2 + (random.bits() % 12) as u32);
    let position = [0, 1, 2].map(|_| 6.0 * random.signed());
    let rotation = [0, 1, 2, 3].map(|_| random.signed());
    let pose = Pose { position, rotation }.checked().unwrap_or(Pose::IDENTITY);
    let velocity = random.bits().is_multiple_of(2).then(|| Velocity {
        linear: [0, 1, 2].map(|_| 5.0 * random.signed()),
        angular: [0, 1, 2].map(|_| 5.0 * random.signed()),
    });
    let heat = map(&[("heat", Value::F64(random.unit()))]);
    match random.bits() % 16 {
        0..4 => Command::Own { player, entity, number: 3 },
        4..9 => Command::Move { player, entity, pose, velocity },
        9 => Command::Set { player, entity, attributes: heat },
        10 => Command::Spawn { player, kind: "target".into(), pose, attributes: heat, number: 4 },
        11 => Command::Despawn { player, entity },
        12 => Command::Leave { player },
        _ => {
            let to =
                Some(PlayerId(7 + (random.bits() % 4) as u32)).filter(|_| random.bits().is_multiple_of(2));
            Command::Release { player, entity, to }
        }
    }
}

/// A world with random owner commands, and its journal. `between` may read or replace the world before each step.
fn story(seed: u64, mut between: impl FnMut(&mut World, u64, &mut Vec<Entry>)) -> (World, Vec<Entry>) {
    let mut random = Random::new(seed);
    let mut world = World::new(definition(), seed, Box::new(Hall)).unwrap();
    let mut entries = Vec::new();
    let mut next = 7;
    for tick in 0..240 {
        between(&mut world, tick, &mut entries);
        let mut commands: Vec<_> = (0..random.bits() % 3).map(|_| whim(&mut random)).collect();
        if tick % 40 == 0 {
            let (player, name) = (PlayerId(next), format!("player {next}"));
            next += 1;
            commands.push(if next % 2 == 0 {
                Command::join(player, name)
            } else {
                join_program(player, &name)
            });
        }
        for command in commands {
            world.apply(command.clone()).expect("its numbers are good");
            entries.push(Entry { tick, record: Record::Command(command) });
        }
        world.step();
        drain(&mut world);
    }
    (world, entries)
}

#[test]
fn restored_and_replayed_worlds_agree_to_the_last_bit_under_any_owner_commands() {
    let seeds = std::env::var("NOWCAST_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(12);
    for seed in 0..seeds {
        let mut when = Random::new(!seed);
        let times: Vec<u64> = (0..4).map(|_| when.bits() % 240).collect();
        let (written, entries) = story(seed, |world, tick, entries| {
            if times.contains(&tick) {
                world.snapshot();
                entries.push(Entry { tick, record: Record::Settled });
            }
        });
        let (restored, _) = story(seed, |world, tick, _| {
            if times.contains(&tick) {
                let bytes = world.snapshot();
                let other =
                    World::restore(definition(), Box::new(Hall), &bytes).expect("the bytes are a snapshot");
                assert_eq!(world.hash(), other.hash(), "seed {seed}, tick {tick}");
                *world = other;
            }
        });
        assert_eq!(written.hash(), restored.hash(), "seed {seed}");
        assert!(written.stats().commands_refused > 0, "owners are refused things, too: seed {seed}");
        let mut bytes = Vec::new();
        journal::encode(&entries, &mut bytes);
        let decoded = journal::decode(&bytes).expect("the bytes are a journal");
        assert_eq!(decoded, entries, "seed {seed}");
        let mut again = World::new(definition(), seed, Box::new(Hall)).unwrap();
        journal::replay(&mut again, decoded, 240).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        assert_eq!(again.hash(), written.hash(), "seed {seed}");
    }
}

#[test]
fn requests_have_the_names_of_the_protocols() {
    let words = [OwnerRequest::Own, OwnerRequest::Move, OwnerRequest::Despawn].map(OwnerRequest::word);
    assert_eq!(words, ["own", "move", "despawn"]);
}

#[test]
fn a_player_sets_allowed_attributes_of_its_own_avatar_only() {
    let mut definition = definition();
    let person = &mut definition.kinds[1];
    person.attributes = Attributes::parse("outfit: u16, team: u8").unwrap();
    person.owner.attributes = vec!["outfit".to_owned()];
    let mut world = World::new(definition, 1, Box::new(Hall)).expect("the definition is good");
    let bo = PlayerId(9);
    world.apply(Command::join(ADA, "Ada")).unwrap();
    world.apply(Command::join(bo, "Bo")).unwrap();
    world.step();
    let avatar = world.scene().player(ADA).and_then(|ada| ada.avatar).expect("Ada has a body");
    let set = |player, name: &str, value: i64| Command::Set {
        player,
        entity: avatar,
        attributes: map(&[(name, value.into())]),
    };
    assert_eq!(refused(&mut world, set(ADA, "outfit", 7)), None);
    assert_eq!(world.scene().attribute(avatar, "outfit"), Some(&Value::Int(7)));
    assert_eq!(refused(&mut world, set(bo, "outfit", 8)), Some(OwnerError::NotYours));
    assert_eq!(refused(&mut world, set(ADA, "team", 1)), Some(OwnerError::Attribute("team".into())));
    assert!(matches!(refused(&mut world, set(ADA, "outfit", 70_000)), Some(OwnerError::Impossible(_))));
    assert_eq!(world.scene().attribute(avatar, "outfit"), Some(&Value::Int(7)));
}

#[test]
fn a_further_attribute_keeps_the_order_of_names_and_the_defaults() {
    use nowcast_wire::shape::{Field, NumberType, Type};
    let attributes = Attributes::parse("heat: u8, team: u8").unwrap();
    let attributes = attributes.with_default("heat", Value::Int(3)).unwrap();
    let attributes = attributes.with_default("team", Value::Int(5)).unwrap();
    let wider = attributes.with_field(Field::new("hue", Type::Number(NumberType::U16))).unwrap();
    let names: Vec<&str> = wider.fields().iter().map(|field| field.name.as_str()).collect();
    assert_eq!(names, ["heat", "hue", "team"]);
    assert_eq!(wider.defaults(), [Value::Int(3), Value::Int(0), Value::Int(5)]);
    assert!(wider.with_field(Field::new("team", Type::Number(NumberType::U8))).is_err());
}

#[test]
fn entities_on_an_avatar_stay_when_their_player_leaves_unless_their_kind_goes_with_it() {
    let kind = |name: &str, leave| {
        let owner = OwnerRules { leave, ..OwnerRules::default() };
        Kind { owner, ..Kind::new(name) }
    };
    let mut definition = definition();
    definition.kinds.extend([kind("lamp", OwnerLeaves::Release), kind("hat", OwnerLeaves::Despawn)]);
    definition.kinds.push(Kind::new("flame"));
    let dress = |scene: &mut Scene| {
        if scene.tick() == 1 {
            let person = scene.kind("person").expect("the definition has it");
            let avatar = scene.spawn_avatar(ADA, person, Spawn::at([0.0, 0.9, 2.0])).expect("there is space");
            let [lamp, hat, flame] = ["lamp", "hat", "flame"].map(|kind| spawn(scene, kind, [1.0, 1.0, 2.0]));
            for (child, parent) in [(lamp, avatar), (hat, avatar), (flame, lamp)] {
                scene.set_parent(child, Some(parent)).expect("both exist");
            }
        }
    };
    let mut world = world_with(definition, nothing, dress);
    world.apply(Command::join(ADA, "Ada")).expect("there is space");
    steps(&mut world, 3);
    let [avatar, lamp, hat, flame] = [1, 2, 3, 4].map(EntityId);
    let at = |world: &World| world.scene().pose(lamp).expect("the lamp exists").position;
    let before = at(&world);
    assert_eq!(world.entity(lamp).expect("the lamp exists").parent, Some(avatar));
    world.apply(Command::Leave { player: ADA }).expect("the player is in the world");
    steps(&mut world, 2);
    assert!(world.entity(avatar).is_none() && world.entity(hat).is_none());
    assert_eq!(world.entity(lamp).expect("the lamp stays").parent, None);
    assert_eq!(world.entity(flame).expect("the flame stays").parent, Some(lamp));
    assert_eq!(at(&world), before);
}
