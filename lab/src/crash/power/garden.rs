//! A world with falling bodies, and with players who walk and count. It is recorded as a server would record it.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nowcast_store::{
    ActionId, Completion, Mark, MarkKind, Once, Origin, Recorder, SavedWorld, Snapshot, Store, WorldName,
};
use nowcast_world::{
    Action, Behaviour, Body, ColliderShape, Command, Definition, DefinitionError, Input, Kind, PlayerId,
    Random, RestoreError, Scene, Spawn, Value, Walker, World,
};

const ADA: PlayerId = PlayerId(1);
const CLIENT: [u8; 16] = [7; 16];
const BEGIN_MS: u64 = 1_700_000_000_000;
const ORIGIN: Origin = Origin { definition: [1; 32], sources: [2; 32], seed: 1 };

/// The behaviour of the garden, which applies the players' actions.
struct Garden;

impl Behaviour for Garden {
    fn start(&mut self, scene: &mut Scene) {
        let ground = scene.kind("ground").expect("the definition has this kind");
        scene.spawn(ground, Spawn::at([0.0, -1.0, 0.0])).expect("there is room");
    }

    fn join(&mut self, scene: &mut Scene, player: PlayerId) {
        let person = scene.kind("person").expect("the definition has this kind");
        scene.spawn_avatar(player, person, Spawn::at([0.0, 1.0, 8.0])).expect("there is room");
    }

    fn action(&mut self, scene: &mut Scene, _: PlayerId, action: &str, _: &Value) -> bool {
        if action == "count" {
            let count = counted(scene) + 1;
            scene.set_state("count", i64::try_from(count).unwrap_or(i64::MAX)).expect("a number is small");
            return true;
        }
        let cube = scene.kind("cube").expect("the definition has this kind");
        let at = [scene.random() as f32 * 6.0 - 3.0, 4.0, scene.random() as f32 * 6.0 - 3.0];
        // A full world accepts no more cubes, which is not an error here.
        let _ = scene.spawn(cube, Spawn::at(at));
        true
    }
}

fn counted(scene: &Scene) -> u64 {
    scene.state("count").and_then(Value::as_f64).unwrap_or(0.0) as u64
}

fn definition() -> Result<Definition, DefinitionError> {
    let ground = Body::fixed(ColliderShape::Box { size: [60.0, 2.0, 60.0] });
    Ok(Definition {
        kinds: vec![
            Kind::new("ground").with_body(ground),
            Kind::new("cube").with_body(Body::dynamic(ColliderShape::cube(0.5))),
            Kind::walker("person", Walker::default()),
        ],
        actions: vec![Action::new("count", "")?, Action::new("drop", "")?],
        ..Definition::default()
    })
}

/// Restores the garden from a snapshot.
pub(super) fn restore(snapshot: &Snapshot) -> Result<World, RestoreError> {
    let definition = definition().expect("the schema is valid");
    World::restore(definition, Box::new(Garden), &snapshot.world)
}

/// Returns the number of counts in a world.
pub(super) fn count(world: &World) -> u64 {
    counted(world.scene())
}

/// The states that a store has confirmed, each with the position of the disk at that time.
#[derive(Clone, Default, Debug)]
pub(super) struct Confirmed(Arc<Mutex<Vec<(usize, Kept)>>>);

#[derive(Clone, Copy, Debug)]
enum Kept {
    Tick(u64),
    Action(u64),
    Mark(u64),
}

/// The minimum state that a disk must have after a cut.
#[derive(Default, Debug)]
pub(super) struct Least {
    pub(super) tick: Option<u64>,
    pub(super) actions: BTreeSet<u64>,
    pub(super) marks: BTreeSet<u64>,
}

impl Confirmed {
    /// Returns a completion that is called when data is stored. The completion calls `position` and records the data.
    fn when_kept(&self, what: Kept, position: &Position) -> Completion {
        let (told, position) = (self.clone(), Arc::clone(position));
        Box::new(move |outcome| {
            if outcome.is_ok() {
                told.lock().push((position(), what));
            }
        })
    }

    /// Returns the state that was confirmed before a step of the disk.
    pub(super) fn before(&self, position: usize) -> Least {
        let mut least = Least::default();
        for (_, kept) in self.lock().iter().filter(|(at, _)| *at <= position) {
            match kept {
                Kept::Tick(tick) => least.tick = least.tick.max(Some(*tick)),
                Kept::Action(number) => drop(least.actions.insert(*number)),
                Kept::Mark(number) => drop(least.marks.insert(*number)),
            }
        }
        least
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(usize, Kept)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A function that returns the current position of the disk.
pub(super) type Position = Arc<dyn Fn() -> usize + Send + Sync>;

/// A garden with its recorder. A seed determines the actions of its players.
pub(super) struct Story {
    pub(super) world: World,
    recorder: Recorder,
    name: WorldName,
    random: Random,
    /// Number of durable actions and of marks that were tried.
    pub(super) tried: u64,
    pub(super) marked: u64,
    /// The ticks that the store may have, each with the world's hash at that tick.
    pub(super) states: BTreeSet<(u64, u64)>,
    pub(super) confirmed: Confirmed,
    position: Position,
}

impl Story {
    pub(super) fn new(name: &WorldName, seed: u64, position: Position) -> Story {
        let definition = definition().expect("the schema is valid");
        let world = World::new(definition, 1, Box::new(Garden)).expect("the definition is valid");
        let recorder = Recorder::new(name.clone(), ORIGIN, &world);
        let states = BTreeSet::from([(world.tick(), world.hash())]);
        Story {
            world,
            recorder,
            name: name.clone(),
            random: Random::new(seed),
            tried: 0,
            marked: 0,
            states,
            confirmed: Confirmed::default(),
            position,
        }
    }

    /// Resumes a restored world.
    pub(super) fn resume(
        saved: &SavedWorld,
        world: World,
        [tried, marked]: [u64; 2],
        seed: u64,
        position: Position,
    ) -> Story {
        let states = BTreeSet::from([(world.tick(), world.hash())]);
        Story {
            world,
            recorder: Recorder::resume(saved),
            name: saved.name.clone(),
            random: Random::new(seed),
            tried,
            marked,
            states,
            confirmed: Confirmed::default(),
            position,
        }
    }

    /// Continues the world with a reopened store.
    pub(super) fn reopen(&mut self, saved: &SavedWorld) {
        self.recorder = Recorder::resume(saved);
    }

    /// Runs one round: at least one durable action, some steps, and occasionally a snapshot, a mark, or cubes.
    pub(super) fn round(&mut self, store: &dyn Store) {
        self.act(store);
        for _ in 0..1 + self.random.bits() % 4 {
            self.world.step();
            while self.world.poll_event().is_some() {}
            self.states.insert((self.world.tick(), self.world.hash()));
        }
        // A large snapshot is taken occasionally, so that the log is checkpointed and restarted.
        let snapshot_bytes = match self.random.bits() % 16 {
            0 => Some(600_000),
            1..4 => Some(2_000),
            _ => None,
        };
        if self.recorder.needs_snapshot() || snapshot_bytes.is_some() {
            self.snapshot(store, snapshot_bytes.unwrap_or(0));
        }
        let then = self.confirmed.when_kept(Kept::Tick(self.world.tick()), &self.position);
        self.recorder.when_kept(then);
        self.recorder.flush_all(&self.world, store, self.now_ms());
    }

    /// Passes the whole world to a store whose journal has a gap.
    pub(super) fn fill_gap(&mut self, store: &dyn Store) {
        if self.recorder.needs_snapshot() {
            self.snapshot(store, 0);
        }
        let then = self.confirmed.when_kept(Kept::Tick(self.world.tick()), &self.position);
        self.recorder.when_kept(then);
        self.recorder.flush_all(&self.world, store, self.now_ms());
    }

    /// Returns the time of the world.
    pub(super) fn now_ms(&self) -> u64 {
        BEGIN_MS + self.world.tick() * 1_000 / 60
    }

    fn snapshot(&mut self, store: &dyn Store, host_bytes: usize) {
        let host = (0..host_bytes / 8).flat_map(|_| self.random.bits().to_le_bytes()).collect();
        let now_ms = self.now_ms();
        self.recorder.snapshot(&mut self.world, store, now_ms, host);
        // The restart rebuilds the physics, so the state at this tick changes.
        self.states.insert((self.world.tick(), self.world.hash()));
    }

    fn act(&mut self, store: &dyn Store) {
        if self.world.scene().player(ADA).is_none() {
            self.apply(Command::join(ADA, "Ada"));
        }
        let yaw = 3.0 * self.random.signed();
        let input = Input::new(1.0, self.random.signed(), yaw, true, false).expect("within bounds");
        self.apply(Command::Input { player: ADA, input });
        if self.random.bits().is_multiple_of(4) {
            self.apply(action("drop"));
        }
        self.tried += 1;
        let id = ActionId { client: CLIENT, number: self.tried };
        let then = self.confirmed.when_kept(Kept::Action(self.tried), &self.position);
        self.recorder.apply_once(&mut self.world, id, action("count"), then).expect("there is room");
        if self.random.bits().is_multiple_of(3) {
            self.mark(store);
        }
    }

    fn apply(&mut self, command: Command) {
        self.recorder.apply(&mut self.world, command).expect("there is room");
    }

    fn mark(&mut self, store: &dyn Store) {
        self.marked += 1;
        let then = self.confirmed.when_kept(Kept::Mark(self.marked), &self.position);
        let mark = Mark {
            kind: MarkKind::TokenUsed,
            key: self.marked.to_be_bytes().to_vec(),
            note: self.name.to_string(),
            expires_ms: u64::from(u32::MAX) * 1_000,
        };
        // A mark that is refused is not confirmed.
        let _ = store.mark(mark, BEGIN_MS, Box::new(move |outcome| then(outcome.map(drop))));
    }
}

fn action(name: &str) -> Command {
    Command::Action { player: ADA, name: name.into(), arguments: Value::Map(Vec::new()) }
}

/// Returns the numbers of the durable actions that were applied, among the numbers up to `tried`.
pub(super) fn done(once: &Once, tried: u64) -> BTreeSet<u64> {
    (1..=tried).filter(|number| once.contains(ActionId { client: CLIENT, number: *number })).collect()
}

/// Returns the marks that a store has.
pub(super) fn marks(store: &dyn Store) -> Result<BTreeSet<u64>, nowcast_store::StoreError> {
    let marks = store.marks(MarkKind::TokenUsed, BEGIN_MS)?;
    Ok(marks.into_iter().filter_map(|mark| mark.key.try_into().ok().map(u64::from_be_bytes)).collect())
}
