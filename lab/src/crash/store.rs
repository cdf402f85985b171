//! `lab store` measures the cost of storage for the thread of a world, the stored bytes, and the time to restore a world.

use std::time::{Duration, Instant};

use nowcast_store::{
    Moment, Options, Origin, Recorder, SavedWorld, SqliteStore, Store, StoreError, WorldName,
};
use nowcast_world::{
    Behaviour, Body, ColliderShape, Command, Definition, Input, Kind, PlayerId, Random, Scene, Spawn, Walker,
    World,
};
use thiserror::Error;

use super::TrialFolder;
use super::power;
use crate::report::{Cell, Column, Report, Samples, Section, Table};

/// Additional time of a sync on the slow disk.
const SLOW_SYNC: Duration = Duration::from_millis(20);

/// Maximum time until all data has reached the disk.
const PATIENCE: Duration = Duration::from_secs(120);

/// Duration of a step of a world.
const STEP: Duration = Duration::from_nanos(1_000_000_000 / 60);

/// Number of steps before the measurement, in which the bodies come to rest.
const SETTLE_STEPS: u64 = 180;

/// The options of a run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Number of bodies in the world.
    pub bodies: usize,
    /// Number of players. They continually walk and turn.
    pub players: u32,
    /// Seconds of the world's time for each measurement, and of the journal that a start replays.
    pub seconds: u64,
    /// Seed for the turns of the players.
    pub seed: u64,
}

impl Plan {
    /// The full run, which takes about six minutes.
    pub const FULL: Plan = Plan { bodies: 10_000, players: 200, seconds: 60, seed: 1 };
    /// The quick run, which takes about half a minute.
    pub const QUICK: Plan = Plan { bodies: 1_000, players: 50, seconds: 4, seed: 1 };
}

/// The reason why a measurement failed.
#[derive(Debug, Error)]
pub enum StoreFiguresError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The folder of the trial failed.
    #[error("the trial: {0}")]
    Io(#[from] std::io::Error),
    /// The restored world differs from the stored one. In that case no figure is valid.
    #[error("{0}")]
    Wrong(String),
}

type Result<T> = std::result::Result<T, StoreFiguresError>;

/// Runs all measurements.
///
/// # Errors
/// If the store fails, or if the restored world differs.
pub fn run(plan: &Plan, command: String, progress: &mut dyn FnMut(&str)) -> Result<Report> {
    let mut report = Report::new("Cost of storing worlds", command).seed(plan.seed);
    if !report.machine.release_build {
        report.note("This is a DEBUG build: its times are not valid.");
    }
    report.section(of_ticks(plan, progress)?);
    report.section(of_journal(plan, progress)?);
    report.section(of_return(plan, progress)?);
    Ok(report)
}

/// Measures the cost of a tick without a store, with a store, and with a store on a slow disk.
fn of_ticks(plan: &Plan, progress: &mut dyn FnMut(&str)) -> Result<Section> {
    let mut section = Section::new("A tick with storage and without");
    section.text(format!(
        "{} bodies at rest and {} people who walk and turn, sixty steps a second for {} s: the time of the step and of passing its changes to the store, without waiting for the next step. The slow disk takes {} ms longer for each sync.",
        plan.bodies,
        plan.players,
        plan.seconds,
        SLOW_SYNC.as_millis()
    ));
    let mut table = Table::new(vec![
        Column::text("storage"),
        Column::number("p50", "ms"),
        Column::number("p99", "ms"),
        Column::number("greatest", "ms"),
        Column::number("longest commit", "ms"),
        Column::number("refused", "batches"),
        Column::number("samples", "ticks"),
    ]);
    for (name, sync) in
        [("none", None), ("this disk", Some(Duration::ZERO)), ("a slow disk", Some(SLOW_SYNC))]
    {
        progress(&format!("ticks with storage: {name}"));
        let folder = TrialFolder::new("store")?;
        let disk = power::watch(&folder.path)?;
        let store = match sync {
            Some(delay) => {
                let store = SqliteStore::open(&folder.path, Options::default())?;
                disk.delay_syncs(delay.max(Duration::from_nanos(1)));
                Some(store)
            }
            None => None,
        };
        let mut yard = Yard::new(plan, plan.players);
        if let Some(store) = &store {
            yard.snapshot(store);
        }
        let mut times = yard.run(plan.seconds * 60, store.as_ref(), true);
        let [p50, p99, greatest] = [0.5, 0.99, 1.0].map(|share| Cell::number(times.quantile(share), 3));
        let stats = store.as_ref().map(|store| store.stats());
        let longest = stats.map_or(Cell::Missing, |stats| Cell::number(milliseconds(stats.commit_max), 1));
        let refused = stats.map_or(Cell::Missing, |stats| Cell::number(stats.batches_dropped as f64, 0));
        table.row(vec![Cell::text(name), p50, p99, greatest, longest, refused, Cell::count(times.len())]);
    }
    section.table(table);
    Ok(section)
}

/// Measures the bytes of the journal.
fn of_journal(plan: &Plan, progress: &mut dyn FnMut(&str)) -> Result<Section> {
    let mut section = Section::new("Bytes of the journal");
    section.text("Thirty inputs a second from each player, as clients send them; bytes for each second of the world's time.");
    let mut table = Table::new(vec![
        Column::text("people"),
        Column::number("journal", "bytes/s"),
        Column::number("snapshot", "kB"),
    ]);
    for players in [0, plan.players] {
        progress(&format!("the journal of {players} people"));
        let folder = TrialFolder::new("store")?;
        let store = SqliteStore::open(&folder.path, Options::default())?;
        let mut yard = Yard::new(plan, players);
        yard.snapshot(&store);
        store.commit(PATIENCE)?;
        let before = store.stats().batch_bytes;
        yard.run(plan.seconds * 60, Some(&store), false);
        store.commit(PATIENCE)?;
        let rate = (store.stats().batch_bytes - before) as f64 / plan.seconds as f64;
        let snapshot = store.stats().snapshot_bytes as f64 / 1e3;
        table.row(vec![Cell::number(players.into(), 0), Cell::number(rate, 0), Cell::number(snapshot, 1)]);
    }
    section.table(table);
    Ok(section)
}

/// Measures the time to restore a world.
fn of_return(plan: &Plan, progress: &mut dyn FnMut(&str)) -> Result<Section> {
    progress("a world that is resumed");
    let folder = TrialFolder::new("store")?;
    let store = SqliteStore::open(&folder.path, Options::default())?;
    let mut yard = Yard::new(plan, plan.players);
    yard.snapshot(&store);
    yard.run(plan.seconds * 60, Some(&store), false);
    store.commit(PATIENCE)?;
    drop(store);

    let begun = Instant::now();
    let store = SqliteStore::open(&folder.path, Options::default())?;
    let saved = store.load(&name(), Moment::Last)?;
    let saved: SavedWorld = saved.ok_or_else(|| StoreFiguresError::Wrong("the world is gone".into()))?;
    let read = begun.elapsed();
    let bodies = plan.bodies;
    let again = saved
        .replay(|snapshot| World::restore(definition(), Box::new(Rules { bodies }), &snapshot.world))
        .map_err(|error| StoreFiguresError::Wrong(error.to_string()))?;
    let hash = again.hash();
    let mut again = again;
    again.step();
    let ticked = begun.elapsed();
    if hash != yard.world.hash() {
        return Err(StoreFiguresError::Wrong("the restored world differs from the stored one".into()));
    }
    let mut section = Section::new("From the start to the first tick");
    section.text(format!(
        "{} bodies, {} people, and {} s of journal; the restored world has the same hash.",
        plan.bodies, plan.players, plan.seconds
    ));
    let mut table = Table::new(vec![Column::text("until"), Column::number("time", "ms")]);
    for (name, time) in [("opened and read", read), ("replayed, and the first tick", ticked)] {
        table.row(vec![Cell::text(name), Cell::number(milliseconds(time), 0)]);
    }
    section.table(table);
    Ok(section)
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

fn name() -> WorldName {
    WorldName::new("yard").expect("the name is valid")
}

/// The rules of the measured world: a grid of cubes at rest, and players.
struct Rules {
    bodies: usize,
}

impl Behaviour for Rules {
    fn start(&mut self, scene: &mut Scene) {
        let [ground, cube] =
            ["ground", "cube"].map(|name| scene.kind(name).expect("the definition has this kind"));
        scene.spawn(ground, Spawn::at([0.0, -1.0, 0.0])).expect("there is room");
        for index in 0..self.bodies {
            let at = [2.0 * (index % 100) as f32, 0.25, 2.0 * (index / 100) as f32];
            scene.spawn(cube, Spawn::at(at)).expect("there is room");
        }
    }

    fn join(&mut self, scene: &mut Scene, player: PlayerId) {
        let person = scene.kind("person").expect("the definition has this kind");
        let at = [-10.0 - 2.0 * (player.0 % 20) as f32, 0.9, 2.0 * (player.0 / 20) as f32];
        scene.spawn_avatar(player, person, Spawn::at(at)).expect("there is room");
    }
}

fn definition() -> Definition {
    let ground = Body::fixed(ColliderShape::Box { size: [1_000.0, 2.0, 1_000.0] });
    let kinds = vec![
        Kind::new("ground").with_body(ground),
        Kind::new("cube").with_body(Body::dynamic(ColliderShape::cube(0.5))),
        Kind::walker("person", Walker::default()),
    ];
    Definition { kinds, ..Definition::default() }
}

/// A world with these rules, and its recorder.
struct Yard {
    world: World,
    recorder: Recorder,
    random: Random,
    yaws: Vec<f32>,
    /// The time of the world in milliseconds.
    now_ms: u64,
}

impl Yard {
    fn new(plan: &Plan, players: u32) -> Yard {
        let rules = Box::new(Rules { bodies: plan.bodies });
        let mut world = World::new(definition(), plan.seed, rules).expect("the definition is valid");
        let mut recorder = Recorder::new(name(), Origin::default(), &world);
        for player in 1..=players {
            let join = Command::join(PlayerId(player), "");
            recorder.apply(&mut world, join).expect("there is room");
        }
        (0..SETTLE_STEPS).for_each(|_| world.step());
        let yaws = vec![0.0; players as usize];
        Yard { world, recorder, random: Random::new(!plan.seed), yaws, now_ms: 1 }
    }

    fn snapshot(&mut self, store: &dyn Store) {
        self.recorder.snapshot(&mut self.world, store, self.now_ms, Vec::new());
    }

    /// Runs steps, at sixty a second or at full speed. Returns the milliseconds of each step.
    fn run(&mut self, steps: u64, store: Option<&SqliteStore>, is_paced: bool) -> Samples {
        let mut times = Samples::new();
        let mut due = Instant::now();
        for step in 0..steps {
            let begun = Instant::now();
            for (index, yaw) in self.yaws.iter_mut().enumerate() {
                if (step as usize + index).is_multiple_of(2) {
                    *yaw += 0.05 * self.random.signed();
                    let input = Input::new(1.0, 0.0, *yaw, false, false).expect("within bounds");
                    let command = Command::Input { player: PlayerId(index as u32 + 1), input };
                    self.recorder.apply(&mut self.world, command).expect("there is room");
                }
            }
            self.world.step();
            while self.world.poll_event().is_some() {}
            self.now_ms += 1_000 / 60;
            if let Some(store) = store {
                self.recorder.flush(&self.world, store, self.now_ms);
            }
            times.push(milliseconds(begun.elapsed()));
            due += STEP;
            if is_paced {
                std::thread::sleep(due.saturating_duration_since(Instant::now()));
            }
        }
        if let Some(store) = store {
            self.recorder.flush_all(&self.world, store, self.now_ms);
        }
        times
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_returns_plausible_figures() {
        let plan = Plan { bodies: 50, players: 4, seconds: 1, seed: 3 };
        let report = run(&plan, "cargo xtask lab store".into(), &mut |_| {}).expect("the world is restored");
        let rows: Vec<usize> = report
            .sections
            .iter()
            .flat_map(|section| &section.tables)
            .map(|table| table.rows.len())
            .collect();
        assert_eq!(rows, [3, 2, 2]);
    }
}
