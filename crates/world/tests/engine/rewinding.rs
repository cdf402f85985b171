use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use nowcast_world::journal::{self, Entry, Record};
use nowcast_world::{Action, Command, Filter, Input, Pose, Random, SceneError, Velocity, Walker};

use super::*;

/// The view of a player: the seen place of every entity, and the hit of a ray from above at each of these places.
#[derive(Clone, PartialEq, Debug, Default)]
struct Seen {
    places: BTreeMap<EntityId, [f32; 3]>,
    /// For each cube: whether a ray down at its seen position hits it, and a ray down at its current one.
    is_met: BTreeMap<EntityId, [bool; 2]>,
    overlaps: BTreeMap<EntityId, bool>,
}

/// Cubes that slide about and are sometimes teleported; a player's action queries its view.
struct Sliding {
    random: Random,
    seen: Rc<RefCell<Vec<Seen>>>,
}

const CUBES: usize = 10;

fn definition() -> Definition {
    let mut definition = ground_and_cubes();
    definition.kinds.push(Kind::walker("person", Walker::default()));
    definition.actions = vec![Action::new("look", "").expect("the text is a schema")];
    Definition { rewinds: true, ..definition }
}

impl Behaviour for Sliding {
    fn start(&mut self, scene: &mut Scene) {
        spawn(scene, "ground", [0.0, -1.0, 0.0]);
        for cube in 0..CUBES {
            spawn(scene, "cube", [3.0 * cube as f32 - 15.0, 0.5, 0.0]);
        }
    }

    fn join(&mut self, scene: &mut Scene, player: PlayerId) {
        let person = scene.kind("person").expect("the definition has it");
        scene
            .spawn_avatar(player, person, Spawn::at([30.0, 1.0, 30.0]))
            .expect("the world has space for the entity");
    }

    fn step(&mut self, scene: &mut Scene) {
        let cube = cubes(scene)[(self.random.bits() % CUBES as u64) as usize];
        let [x, z] = [self.random.signed(), self.random.signed()];
        let linear = [8.0 * x, 2.0, 8.0 * z];
        scene.set_velocity(cube, Velocity { linear, ..Velocity::default() }).expect("the cube can move");
        if self.random.bits().is_multiple_of(20) {
            let pose = Pose { position: [12.0 * z, 3.0, 12.0 * x], ..Pose::IDENTITY };
            scene.set_pose(cube, pose).expect("the cube can be put there");
        }
    }

    fn action(&mut self, scene: &mut Scene, player: PlayerId, _: &str, _: &Value) -> bool {
        let now: BTreeMap<_, _> = cubes(scene).iter().map(|id| (*id, scene.pose(*id).unwrap())).collect();
        scene.rewind(player).expect("the world remembers");
        assert_eq!(scene.rewind(player), Err(SceneError::Rewound));
        let mut seen = Seen::default();
        for (id, is) in now {
            let was = scene.seen_pose(id).expect("the entity exists");
            assert_eq!(scene.pose(id), Some(is), "where it is stays what it is");
            let meets = |at: [f32; 3]| {
                let from = [at[0], at[1] + 40.0, at[2]];
                let hit = scene.cast_ray(from, [0.0, -1.0, 0.0], 100.0, Filter::default());
                hit.expect("the ray is valid").is_some_and(|hit| hit.entity == id)
            };
            seen.places.insert(id, was.position);
            seen.is_met.insert(id, [meets(was.position), meets(is.position)]);
            let probe = ColliderShape::Sphere { radius: 0.2 };
            let found =
                scene.overlaps(&probe, Pose { position: was.position, ..Pose::IDENTITY }, Filter::default());
            seen.overlaps.insert(id, found.expect("the place is valid").contains(&id));
        }
        let avatar = scene.player(player).and_then(|player| player.avatar).expect("the player has an avatar");
        assert_eq!(scene.seen_pose(avatar), scene.pose(avatar), "oneself is seen at once");
        scene.end_rewind();
        self.seen.borrow_mut().push(seen);
        true
    }
}

fn cubes(scene: &Scene) -> Vec<EntityId> {
    let cube = scene.kind("cube").expect("the definition has it");
    scene.entities().of_kind(cube).map(|cube| cube.id).collect()
}

fn sliding() -> (World, Rc<RefCell<Vec<Seen>>>) {
    let seen = Rc::default();
    let behaviour = Sliding { random: Random::new(11), seen: Rc::clone(&seen) };
    let mut world = World::new(definition(), 1, Box::new(behaviour)).expect("the definition is good");
    world.apply(Command::join(ADA, "Ada")).expect("the world accepts the command");
    (world, seen)
}

/// Sets Ada's view delay, and lets her act.
fn look(world: &mut World, behind_ms: u16) {
    world.apply(Command::SetViewDelay { player: ADA, behind_ms }).expect("the world accepts the command");
    let arguments = Value::Map(Vec::new());
    world
        .apply(Command::Action { player: ADA, name: "look".into(), arguments })
        .expect("the world accepts the command");
    world.apply_waiting();
}

#[test]
fn a_rewound_query_finds_entities_where_the_player_saw_them() {
    let (mut world, seen) = sliding();
    let mut past: Vec<BTreeMap<EntityId, [f32; 3]>> = Vec::new();
    let mut random = Random::new(5);
    for _ in 0..300 {
        let places = cubes(world.scene()).into_iter().map(|id| (id, position(&world, id)));
        past.push(places.collect());
        // Whole steps: a step is 16⅔ ms, so three are 50 ms.
        let steps_ago = 3 * (random.bits() % 13) as usize;
        look(&mut world, (steps_ago / 3 * 50) as u16);
        let seen = seen.borrow_mut().pop().expect("the action ran");
        let was = &past[(past.len() - 1).saturating_sub(steps_ago.min(30))];
        if past.len() > 31 {
            assert_eq!(&seen.places, was, "{steps_ago} steps ago");
            assert!(seen.overlaps.values().all(|overlaps| *overlaps), "each is found where it was seen");
        }
        world.step();
    }
    assert_eq!(world.stats().past_shortened, 0);
}

#[test]
fn a_ray_hits_an_entity_at_its_seen_position_and_not_at_its_current_one() {
    let (mut world, seen) = sliding();
    steps(&mut world, 200);
    let (mut was_met, mut was_missed) = (0, 0);
    for _ in 0..100 {
        look(&mut world, 400);
        let seen = seen.borrow_mut().pop().expect("the action ran");
        for (id, [at_seen, at_now]) in &seen.is_met {
            let apart = (0..3).map(|axis| seen.places[id][axis] - position(&world, *id)[axis]);
            let is_elsewhere = apart.map(|part| part * part).sum::<f32>() > 9.0;
            was_met += u32::from(*at_seen);
            was_missed += u32::from(is_elsewhere && !at_now);
            assert!(!(is_elsewhere && *at_now), "{id:?} is met where it was not seen");
        }
        world.step();
    }
    // A ray does not hit an entity under another one.
    assert!(was_met > 700 && was_missed > 50, "{was_met} met, {was_missed} missed");
}

#[test]
fn between_two_steps_an_entity_is_seen_between_its_positions() {
    let (mut world, seen) = sliding();
    steps(&mut world, 100);
    look(&mut world, 50);
    look(&mut world, 58);
    look(&mut world, 67);
    let [later, between, earlier] =
        <[Seen; 3]>::try_from(seen.borrow_mut().split_off(0)).expect("the action ran");
    for (id, place) in &between.places {
        let (a, b) = (earlier.places[id], later.places[id]);
        let way = |from: [f32; 3], to: [f32; 3]| {
            (0..3).map(|axis| (to[axis] - from[axis]) * (to[axis] - from[axis])).sum::<f32>().sqrt()
        };
        assert!(way(a, *place) + way(*place, b) < way(a, b) + 0.02, "{id:?}: {a:?} {place:?} {b:?}");
    }
}

#[test]
fn a_restored_world_records_the_same_past_as_the_original() {
    let (mut world, seen) = sliding();
    steps(&mut world, 90);
    look(&mut world, 300);
    let bytes = world.snapshot();
    let others = Rc::default();
    let behaviour = Sliding { random: Random::new(0), seen: Rc::clone(&others) };
    let mut other =
        World::restore(definition(), Box::new(behaviour), &bytes).expect("the bytes are a snapshot");
    assert_eq!(other.hash(), world.hash());
    look(&mut world, 300);
    look(&mut other, 300);
    assert_eq!(seen.borrow().last(), others.borrow().last());
    assert_eq!(other.scene().player(ADA).map(|ada| ada.behind_ms), Some(300));
    // Rules without rewinding restore the same bytes, and record no past.
    let forgetful = Definition { rewinds: false, ..definition() };
    World::restore(forgetful, Box::new(()), &bytes).expect("the bytes are a snapshot");
}

#[test]
fn a_world_without_rewinding_reports_that() {
    let said = Rc::new(RefCell::new(None));
    let answer = Rc::clone(&said);
    let step = move |scene: &mut Scene| *answer.borrow_mut() = Some(scene.rewind(ADA));
    let mut world = world_with(ground_and_cubes(), nothing, step);
    world.step();
    assert_eq!(*said.borrow(), Some(Err(SceneError::NoPast)));
}

#[test]
fn waiting_and_making_up_replay_from_the_journal_to_the_same_hash() {
    for seed in 0..8 {
        let mut entries: Vec<Entry> = Vec::new();
        let mut random = Random::new(seed);
        let mut world = super::garden::garden(seed);
        for tick in 0..400 {
            let mut commands = Vec::new();
            let player = PlayerId(1);
            match random.bits() % 6 {
                _ if tick == 0 => commands.push(Command::join(player, "Ada")),
                0 => commands.push(Command::StallStep { player }),
                1 => commands.push(Command::CatchUpStep {
                    player,
                    first: Input { forward: 1.0, yaw: random.signed(), run: true, ..Input::default() },
                }),
                2 => commands.push(Command::Input {
                    player,
                    input: Input { forward: 1.0, yaw: 3.0 * random.signed(), ..Input::default() },
                }),
                3 => commands.push(Command::SetViewDelay { player, behind_ms: (random.bits() % 500) as u16 }),
                4 => commands.push(Command::Action {
                    player,
                    name: "kick".into(),
                    arguments: map(&[("power", Value::F64(random.unit()))]),
                }),
                _ => {}
            }
            for command in commands {
                world.apply(command.clone()).expect("the world accepts the command");
                entries.push(Entry { tick, record: Record::Command(command) });
            }
            world.step();
            drain(&mut world);
            if tick % 100 == 99 {
                world.apply_waiting();
                world.snapshot();
                entries.push(Entry { tick: tick + 1, record: Record::Settled });
                entries.push(Entry { tick: tick + 1, record: Record::Hash(world.hash()) });
            }
        }
        let mut bytes = Vec::new();
        journal::encode(&entries, &mut bytes);
        let mut again = super::garden::garden(seed);
        journal::replay(&mut again, journal::decode(&bytes).expect("the bytes are a journal"), 400)
            .unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        assert_eq!(again.hash(), world.hash(), "seed {seed}");
    }
}
