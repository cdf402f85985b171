//! A world in which bodies fall, and players walk and count.

use nowcast_store::{Origin, Recorder, SavedWorld, Snapshot, Store, WorldName};
use nowcast_world::{
    Action, Behaviour, Body, ColliderShape, Command, Definition, Input, Kind, PlayerId, Random, RestoreError,
    Scene, Spawn, Value, Walker, World,
};

pub(crate) struct Garden;

impl Behaviour for Garden {
    fn start(&mut self, scene: &mut Scene) {
        let ground = scene.kind("ground").expect("the definition has it");
        scene.spawn(ground, Spawn::at([0.0, -1.0, 0.0])).expect("the world has space for the entity");
    }

    fn join(&mut self, scene: &mut Scene, player: PlayerId) {
        let person = scene.kind("person").expect("the definition has it");
        let x = scene.random() as f32 * 8.0 - 4.0;
        scene
            .spawn_avatar(player, person, Spawn::at([x, 1.0, 8.0]))
            .expect("the world has space for the entity");
    }

    fn action(&mut self, scene: &mut Scene, player: PlayerId, action: &str, _: &Value) -> bool {
        if action == "count" {
            let key = format!("count {}", player.0);
            let count = scene.state(&key).and_then(Value::as_f64).unwrap_or(0.0) as i64 + 1;
            scene.set_state(&key, count).expect("a number is small");
            return true;
        }
        let cube = scene.kind("cube").expect("the definition has it");
        let at = [scene.random() as f32 * 6.0 - 3.0, 4.0, scene.random() as f32 * 6.0 - 3.0];
        // A full world accepts no more cubes.
        let _ = scene.spawn(cube, Spawn::at(at));
        true
    }
}

pub(crate) fn definition() -> Definition {
    let ground = Body::fixed(ColliderShape::Box { size: [60.0, 2.0, 60.0] });
    let action = |name: &str| Action::new(name, "").expect("the text is a schema");
    Definition {
        kinds: vec![
            Kind::new("ground").with_body(ground),
            Kind::new("cube").with_body(Body::dynamic(ColliderShape::cube(0.5))),
            Kind::walker("person", Walker::default()),
        ],
        actions: vec![action("count"), action("drop")],
        ..Definition::default()
    }
}

pub(crate) fn origin(seed: u64) -> Origin {
    Origin { definition: [1; 32], sources: [2; 32], seed }
}

pub(crate) fn world(seed: u64) -> World {
    World::new(definition(), seed, Box::new(Garden)).expect("the definition is good")
}

pub(crate) fn restore(snapshot: &Snapshot) -> Result<World, RestoreError> {
    World::restore(definition(), Box::new(Garden), &snapshot.world)
}

pub(crate) fn replay(saved: &SavedWorld) -> World {
    saved.replay(restore).expect("a stored world can be replayed")
}

pub(crate) fn action(player: PlayerId, name: &str) -> Command {
    Command::Action { player, name: name.into(), arguments: Value::Map(Vec::new()) }
}

/// Returns how often a player has counted.
pub(crate) fn count(world: &World, player: u32) -> i64 {
    let count = world.scene().state(&format!("count {player}")).and_then(Value::as_f64);
    count.unwrap_or(0.0) as i64
}

/// A world with its recorder and players. The actions of the players are random, from a seed.
pub(crate) struct Story {
    pub(crate) world: World,
    pub(crate) recorder: Recorder,
    random: Random,
    people: u32,
    /// The time in milliseconds since 1970, which advances with the steps.
    pub(crate) now_ms: u64,
}

pub(crate) const BEGIN_MS: u64 = 1_700_000_000_000;

impl Story {
    pub(crate) fn new(name: &WorldName, seed: u64) -> Story {
        let world = world(seed);
        let recorder = Recorder::new(name.clone(), origin(seed), &world);
        Story { world, recorder, random: Random::new(!seed), people: 0, now_ms: BEGIN_MS }
    }

    /// Resumes a restored world.
    pub(crate) fn resume(saved: &SavedWorld, seed: u64) -> Story {
        let world = replay(saved);
        let people = world.scene().players().map(|player| player.id.0).max().unwrap_or(0);
        let now_ms = BEGIN_MS + world.tick() * 1_000 / 60;
        Story { world, recorder: Recorder::resume(saved), random: Random::new(!seed), people, now_ms }
    }

    /// Steps the world `steps` times, while players join, walk, count and drop cubes.
    pub(crate) fn play(&mut self, store: &dyn Store, steps: u64) {
        for _ in 0..steps {
            if self.recorder.is_snapshot_due(&self.world, store) {
                self.snapshot(store);
            }
            self.act();
            self.world.step();
            while self.world.poll_event().is_some() {}
            self.now_ms = BEGIN_MS + self.world.tick() * 1_000 / 60;
            if self.world.tick().is_multiple_of(3) {
                self.recorder.flush(&self.world, store, self.now_ms);
            }
        }
    }

    pub(crate) fn snapshot(&mut self, store: &dyn Store) {
        self.recorder.snapshot(&mut self.world, store, self.now_ms, b"host".to_vec());
    }

    fn act(&mut self) {
        let Story { world, recorder, random, people, .. } = self;
        let mut apply = |command| recorder.apply(world, command).expect("the world accepts the command");
        if *people < 4 && random.bits().is_multiple_of(20) {
            *people += 1;
            apply(Command::join(PlayerId(*people), format!("person {people}")));
        }
        for player in (1..=*people).map(PlayerId) {
            match random.bits() % 60 {
                0 => apply(action(player, "count")),
                1 => apply(action(player, "drop")),
                2..8 => {
                    let input = Input::new(1.0, random.signed(), 3.0 * random.signed(), true, false);
                    apply(Command::Input { player, input: input.expect("within bounds") });
                }
                _ => {}
            }
        }
    }
}
