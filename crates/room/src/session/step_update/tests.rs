use std::collections::BTreeMap;

use nowcast_script::Assets;
use nowcast_wire::decode;
use nowcast_world::{
    Attributes, Behaviour, Body, ColliderShape, Command, Definition, Kind, KindId, Motion, Pose, Scene,
    Spawn, Walker, World,
};
use nowcast_world_protocol::session::{Entity, Place};
use proptest::prelude::*;

use super::*;
use crate::dictionary::attribute_bytes;

/// The state that one client has.
#[derive(Clone, Debug, Default, PartialEq)]
struct Known {
    entities: BTreeMap<u32, Entity>,
    players: BTreeMap<u32, Player>,
    screens: BTreeMap<(String, bool), Value>,
}

impl Known {
    /// Builds the state of a client that sees the whole world.
    fn of(world: &World, player: PlayerId) -> Self {
        let scene = world.scene();
        let entities = world.entities().iter().map(|entity| {
            let kind = scene.kind_of(entity.kind);
            let is_put =
                kind.body.as_ref().is_some_and(|body| matches!(body.motion, Motion::Fixed | Motion::Sensor));
            let Pose { position, rotation } = entity.pose;
            let seen = Entity {
                kind: entity.kind.0.into(),
                scale: entity.scale,
                parent: entity.parent.map(|parent| parent.0),
                place: (is_put && entity.parent.is_none()).then_some(Place { position, rotation }),
                attributes: attribute_bytes(&kind.attributes, &entity),
                owner: entity.owner.map(|owner| owner.0),
            };
            (entity.id.0, seen)
        });
        let players = scene.players().map(|player| (player.id.0, player.into()));
        let screens = scene.screens().filter(|(whose, _, _)| whose.is_none_or(|whose| whose == player));
        let screens =
            screens.map(|(whose, place, value)| ((place.to_owned(), whose.is_some()), value.clone()));
        Self { entities: entities.collect(), players: players.collect(), screens: screens.collect() }
    }

    /// Applies changes as a client of the plain protocol does.
    fn hear(&mut self, changes: &Changes, replicated: &ReplicatedState, player: PlayerId) {
        for id in &changes.left {
            assert!(self.players.remove(&id.0).is_some(), "{id:?} left and was not there");
        }
        for id in &changes.gone {
            assert!(self.entities.remove(&id.0).is_some(), "{id:?} is gone and was not there");
        }
        for id in &changes.described {
            self.entities
                .insert(id.0, replicated.entity(*id).expect("the entity or player exists").entity.clone());
        }
        for id in &changes.attributes {
            let known = self.entities.get_mut(&id.0).expect("the entity was described");
            known
                .attributes
                .clone_from(&replicated.entity(*id).expect("the entity or player exists").entity.attributes);
        }
        for id in &changes.players {
            self.players.insert(id.0, replicated.player(*id).expect("the player exists").clone());
        }
        let shown = changes.screens.iter().cloned();
        shown
            .filter(|shown| shown.player.is_none_or(|whose| whose == player))
            .for_each(|shown| self.see(shown));
    }

    fn see(&mut self, ScreenValue { player, place, value, .. }: ScreenValue) {
        let key = (place, player.is_some());
        match value {
            Value::Nil => self.screens.remove(&key),
            value => self.screens.insert(key, value),
        };
    }

    /// Builds the same state from the states of a session.
    fn of_states(states: &BTreeMap<u64, Vec<u8>>) -> Self {
        let mut known = Self::default();
        for (key, bytes) in states.iter().filter(|(_, bytes)| !bytes.is_empty()) {
            match StateKey::of(*key).expect("the key is in the specification") {
                StateKey::Entity(id) => drop(known.entities.insert(id.0, decode(bytes).unwrap())),
                StateKey::Player(id) => drop(known.players.insert(id.0, decode(bytes).unwrap())),
                StateKey::Screen(_) => {
                    let Screen { place, personal, value } = decode(bytes).unwrap();
                    if value != Value::Nil {
                        let twice = known.screens.insert((place, personal), value);
                        assert_eq!(twice, None, "one place has two keys");
                    }
                }
            }
        }
        known
    }
}

/// Two clients of one player: one on a session, which keeps states by their keys, and one of the plain protocol.
#[derive(Default)]
struct Client {
    states: BTreeMap<u64, Vec<u8>>,
    interest_set: Option<InterestSet>,
    plain: Known,
}

impl Client {
    fn put<V: AsRef<[u8]>>(&mut self, states: impl Iterator<Item = (u64, V)>) {
        self.states.extend(states.map(|(key, value)| (key, value.as_ref().to_vec())));
    }

    /// Applies an update as a client that sees the whole world.
    fn hear(&mut self, update: &StepUpdate, id: PlayerId) {
        let interest_set = self.interest_set.get_or_insert_with(|| InterestSet::new(id.0));
        interest_set.add_created(update.created());
        let entities: Vec<_> = update.entities_for(interest_set).collect();
        self.put(entities.into_iter());
        self.put(update.states_for(id));
    }

    /// Applies the greeting of a newcomer.
    fn greeted(
        world: &World,
        replicated: &ReplicatedState,
        (dictionary, interest_grid): (&Dictionary, &InterestGrid),
        id: PlayerId,
    ) -> Self {
        let mut client = Self::default();
        client.put(StepUpdate::all(replicated, dictionary).states_for(id));
        let mut interest_set = InterestSet::new(id.0);
        let look = interest_set.refresh(interest_grid.grid_snapshot(), None, usize::MAX);
        client.put(
            states_of_change(&look, replicated.descriptions(), (0, interest_grid.grid_snapshot()))
                .into_iter(),
        );
        client.interest_set = Some(interest_set);
        client.states.extend(replicated.screens_of(id).map(|shown| state_of_screen(&shown)));
        client.plain = Known { screens: BTreeMap::new(), ..Known::of(world, id) };
        replicated.screens_of(id).for_each(|shown| client.plain.see(shown));
        client
    }
}

/// Rules that make random calls. Refused calls have no effect.
struct Whims;

impl Behaviour for Whims {
    fn join(&mut self, scene: &mut Scene, player: PlayerId) {
        if draw(scene, 4) > 0 {
            let kind = scene.kind("person").expect("the kind is defined");
            let _ = scene.spawn_avatar(player, kind, Spawn::at([0.0, 5.0, 0.0]));
        }
    }

    fn step(&mut self, scene: &mut Scene) {
        for _ in 0..draw(scene, 6) {
            whim(scene);
        }
    }
}

fn draw(scene: &mut Scene, below: u64) -> u64 {
    (scene.random() * below as f64) as u64
}

fn whim(scene: &mut Scene) {
    let place = [draw(scene, 20) as f32, draw(scene, 20) as f32, 0.0];
    let ids = scene.entities().ids().to_vec();
    let mut entity = || ids.get(draw(scene, ids.len().max(1) as u64) as usize).copied();
    let (one, other) = (entity().unwrap_or(EntityId(1)), entity());
    let players: Vec<PlayerId> = scene.players().map(|player| player.id).collect();
    let whose = players.get(draw(scene, players.len() as u64 + 1) as usize).copied();
    let number = Value::from(draw(scene, 3));
    let _ = match draw(scene, 12) {
        0 | 1 if ids.len() < 40 => {
            let kind = KindId(draw(scene, scene.definition().kinds.len() as u64) as u16);
            let scale = (draw(scene, 2) == 0).then_some([1.0, 2.0, 1.0]);
            scene.spawn(kind, Spawn { scale, ..Spawn::at(place) }).map(drop)
        }
        2 => scene.despawn(one),
        3 | 4 => scene.set_attribute(one, "level", number),
        5 => scene.set_pose(one, Pose { position: place, ..Pose::IDENTITY }),
        6 => scene.set_parent(one, other.filter(|_| number != Value::from(0_u64))),
        7 => whose.map_or(Ok(()), |player| {
            let kind = scene.kind("person").expect("the kind is defined");
            scene.spawn_avatar(player, kind, Spawn::at(place)).map(drop)
        }),
        _ => {
            let at = ["score", "clock", "prompt"][draw(scene, 3) as usize];
            let value = if number == Value::from(0_u64) { Value::Nil } else { number };
            scene.show(whose, at, value)
        }
    };
}

/// One of two definitions of the same kinds.
fn definition(which: bool) -> Definition {
    let cube = ColliderShape::cube(1.0);
    let attributes = |text: &str| Attributes::parse(text).expect("the text has the form of attributes");
    let level = if which { "level: u8?" } else { "level: u16?, label: text" };
    let kind = |name: &str, body: Body| Kind::new(name).with_body(body).with_attributes(attributes(level));
    Definition {
        kinds: vec![
            kind("post", Body::fixed(cube.clone())),
            kind("zone", Body::sensor(cube.clone())),
            kind("crate", Body::dynamic(cube)).with_attributes(attributes("level: range(0, 1, 0.5)")),
            Kind::new("mark").with_attributes(attributes("level: any")),
            Kind::walker("person", Walker::default()),
        ],
        ..Definition::default()
    }
}

#[derive(Clone, Copy, Debug)]
enum Deed {
    Join,
    Leave(prop::sample::Index),
    Rename(prop::sample::Index),
    Step,
    /// The world continues from its own snapshot, as when it is recorded.
    Settle,
    /// New rules are loaded, and the current world is kept for a rollback.
    Redefine,
    /// The rules and the world are rolled back. Players who joined stay, and players who left stay away.
    TakeBack,
}

fn deeds() -> impl Strategy<Value = Vec<Deed>> {
    let deed = prop_oneof![
        2 => Just(Deed::Join),
        1 => any::<prop::sample::Index>().prop_map(Deed::Leave),
        1 => any::<prop::sample::Index>().prop_map(Deed::Rename),
        8 => Just(Deed::Step),
        1 => Just(Deed::Settle),
        1 => Just(Deed::Redefine),
        1 => Just(Deed::TakeBack),
    ];
    prop::collection::vec(deed, 1..60)
}

/// A world, the state that was sent, and the state that the clients have.
struct Room {
    world: World,
    which: bool,
    dictionary: Dictionary,
    kept: Option<(Vec<u8>, bool)>,
    replicated: ReplicatedState,
    interest_grid: InterestGrid,
    steps: u32,
    clients: BTreeMap<PlayerId, Client>,
    last_player: u32,
}

impl Room {
    fn new(seed: u64) -> Self {
        let world = World::new(definition(true), seed, Box::new(Whims)).expect("the definition is good");
        let dictionary = Dictionary::new(world.scene().definition(), &Assets::default(), 1);
        let (replicated, interest_grid, clients) = Default::default();
        let (kept, steps, last_player) = (None, 0, 0);
        Self { world, which: true, dictionary, kept, replicated, interest_grid, steps, clients, last_player }
    }

    fn apply(&mut self, command: Command) {
        self.world.apply(command).expect("the world accepts the command");
    }

    fn restore(&mut self, bytes: &[u8], which: bool) {
        self.world =
            World::restore(definition(which), Box::new(Whims), bytes).expect("the bytes are a snapshot");
        self.which = which;
        self.dictionary = Dictionary::new(self.world.scene().definition(), &Assets::default(), 1);
        self.replicated.invalidate();
    }

    fn carry_out(&mut self, deed: Deed) {
        match deed {
            Deed::Join => {
                self.last_player += 1;
                let player = PlayerId(self.last_player);
                self.apply(Command::join(player, format!("player {player:?}")));
                self.world.step();
                self.tell();
                let by = (&self.dictionary, &self.interest_grid);
                let client = Client::greeted(&self.world, &self.replicated, by, player);
                self.clients.insert(player, client);
            }
            Deed::Leave(index) if !self.clients.is_empty() => {
                let player = *index.get(&self.clients.keys().copied().collect::<Vec<_>>());
                self.clients.remove(&player);
                self.apply(Command::Leave { player });
            }
            Deed::Rename(index) if !self.clients.is_empty() => {
                let player = *index.get(&self.clients.keys().copied().collect::<Vec<_>>());
                let name = format!("since {}", self.world.tick());
                self.apply(Command::Rename { player, name });
            }
            Deed::Settle => self.world.settle(),
            Deed::Redefine => {
                self.world.apply_waiting();
                let bytes = self.world.snapshot();
                let which = self.which;
                self.restore(&bytes, !which);
                self.kept = Some((bytes, which));
            }
            Deed::TakeBack => {
                self.world.apply_waiting();
                let Some((bytes, which)) = self.kept.take() else { return };
                self.restore(&bytes, which);
                let there: Vec<_> = self.world.scene().players().map(|player| player.id).collect();
                let left = there.iter().filter(|player| !self.clients.contains_key(player));
                let came = self.clients.keys().filter(|player| !there.contains(player));
                let commands: Vec<_> = left
                    .map(|player| Command::Leave { player: *player })
                    .chain(came.map(|player| Command::join(*player, "back")))
                    .collect();
                commands.into_iter().for_each(|command| self.apply(command));
            }
            Deed::Step | Deed::Leave(_) | Deed::Rename(_) => {}
        }
        self.world.step();
        self.tell();
    }

    /// Sends the changes to all clients.
    fn tell(&mut self) {
        let changes = self.replicated.update(&self.world, &self.dictionary);
        self.steps += 1;
        let placed = self.world.entities().iter().map(|entity| self.dictionary.placed(&entity));
        self.interest_grid.update(self.steps, placed);
        let update =
            StepUpdate::of(&changes, &self.replicated, (self.steps.into(), &self.interest_grid), &[], None);
        for (player, client) in &mut self.clients {
            client.hear(&update, *player);
            client.plain.hear(&changes, &self.replicated, *player);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn updates_converge_to_the_world_for_each_client(seed in any::<u64>(), deeds in deeds()) {
        let mut room = Room::new(seed);
        for deed in deeds {
            room.carry_out(deed);
            for (player, client) in &room.clients {
                let world = Known::of(&room.world, *player);
                prop_assert_eq!(&Known::of_states(&client.states), &world, "a session of {:?}", player);
                prop_assert_eq!(&client.plain, &world, "a plain client of {:?}", player);
            }
        }
    }
}

#[test]
fn the_newer_value_wins_if_the_key_of_one_players_place_becomes_everybodys() {
    let [ada, everybody] = [Some(PlayerId(1)), None];
    let shown = |player, place: &str, value| ScreenValue { number: 0, player, place: place.into(), value };
    let shown = vec![shown(ada, "prompt", Value::Nil), shown(everybody, "score", 3.into())];
    let changes = Changes { screens: shown, ..Changes::default() };
    let mut client = Client::default();
    let interest_grid = InterestGrid::default();
    client.put(
        StepUpdate::of(&changes, &ReplicatedState::default(), (0, &interest_grid), &[], None)
            .states_for(PlayerId(1)),
    );
    let expected = BTreeMap::from([(("score".to_owned(), false), 3.into())]);
    assert_eq!(Known::of_states(&client.states).screens, expected);
}
