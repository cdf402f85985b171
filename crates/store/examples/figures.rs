//! What lasting costs: bytes of the journal, time on the thread that steps the world, and time until a world is back.
//! `cargo run --release -p nowcast-store --example figures [BODIES] [PLAYERS]`

use std::time::{Duration, Instant};

use nowcast_store::{Moment, Options, Origin, Recorder, SqliteStore, Store, WorldName};
use nowcast_world::{
    Behaviour, Body, ColliderShape, Command, Definition, Input, Kind, PlayerId, Random, Scene, Spawn, Walker,
    World,
};

/// A grid of cubes at rest, and people.
struct Yard {
    bodies: usize,
}

impl Behaviour for Yard {
    fn start(&mut self, scene: &mut Scene) {
        let [ground, cube] = ["ground", "cube"].map(|name| scene.kind(name).expect("the definition has it"));
        scene.spawn(ground, Spawn::at([0.0, -1.0, 0.0])).expect("there is room");
        for index in 0..self.bodies {
            let at = [2.0 * (index % 100) as f32, 0.25, 2.0 * (index / 100) as f32];
            scene.spawn(cube, Spawn::at(at)).expect("there is room");
        }
    }

    fn join(&mut self, scene: &mut Scene, player: PlayerId) {
        let person = scene.kind("person").expect("the definition has it");
        let at = [-10.0 - 2.0 * (player.0 % 20) as f32, 0.9, 2.0 * (player.0 / 20) as f32];
        scene.spawn_avatar(player, person, Spawn::at(at)).expect("there is room");
    }
}

fn definition() -> Definition {
    let ground = Body::fixed(ColliderShape::Box { size: [1_000.0, 2.0, 1_000.0] });
    let cube = Body::dynamic(ColliderShape::cube(0.5));
    let kinds = vec![
        Kind::new("ground").with_body(ground),
        Kind::new("cube").with_body(cube),
        Kind::walker("person", Walker::default()),
    ];
    Definition { kinds, ..Definition::default() }
}

/// The value below which this share of all lies.
fn quantile(times: &mut [Duration], share: f64) -> Duration {
    times.sort_unstable();
    times.get(((times.len() - 1) as f64 * share) as usize).copied().unwrap_or_default()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse::<usize>());
    let bodies = arguments.next().transpose()?.unwrap_or(10_000);
    let players = arguments.next().transpose()?.unwrap_or(200);
    let folder = std::env::temp_dir().join(format!("nowcast-figures-{}", std::process::id()));
    let name = WorldName::new("yard")?;
    let store = SqliteStore::open(&folder, Options::default())?;
    let mut world = World::new(definition(), 1, Box::new(Yard { bodies }))?;
    let mut recorder = Recorder::new(name.clone(), Origin::default(), &world);
    for player in 1..=players as u32 {
        recorder.apply(&mut world, Command::Join { player: PlayerId(player), name: String::new() })?;
    }
    (0..180).for_each(|_| world.step());
    let begun = Instant::now();
    recorder.snapshot(&mut world, &store, 1, Vec::new());
    println!(
        "{bodies} bodies, {players} players; a snapshot takes {:.1?} of the world's thread",
        begun.elapsed()
    );
    store.commit(Duration::from_secs(60))?;
    println!("and {} kB in the store", store.stats().snapshot_bytes / 1_000);

    let mut random = Random::new(2);
    let (mut steps, mut flushes) = (Vec::new(), Vec::new());
    let mut yaws = vec![0.0f32; players];
    let before = store.stats().batch_bytes;
    for tick in 0..3_600u32 {
        let begun = Instant::now();
        for (player, yaw) in yaws.iter_mut().enumerate() {
            // Thirty times a second, as clients send, and everybody looks around all the time.
            if (tick as usize + player).is_multiple_of(2) {
                *yaw += 0.05 * random.signed();
                let input = Input::new(1.0, 0.0, *yaw, false, false)?;
                recorder.apply(&mut world, Command::Input { player: PlayerId(player as u32 + 1), input })?;
            }
        }
        world.step();
        steps.push(begun.elapsed());
        while world.poll_event().is_some() {}
        let begun = Instant::now();
        recorder.flush(&world, &store, u64::from(tick));
        flushes.push(begun.elapsed());
    }
    recorder.flush_all(&world, &store, 3_600);
    store.commit(Duration::from_secs(60))?;
    println!(
        "a step takes {:.1?} (p50), {:.1?} (p99); its flush {:.1?} (p50), {:.1?} (p99)",
        quantile(&mut steps, 0.5),
        quantile(&mut steps, 0.99),
        quantile(&mut flushes, 0.5),
        quantile(&mut flushes, 0.99)
    );
    println!("the journal grows by {:.1} kB/s", (store.stats().batch_bytes - before) as f64 / 60e3);
    println!("the longest transaction took {:.1?}", store.stats().commit_max);
    drop(store);

    let begun = Instant::now();
    let store = SqliteStore::open(&folder, Options::default())?;
    let saved = store.load(&name, Moment::Last)?.ok_or("it was kept")?;
    let loaded = begun.elapsed();
    let again =
        saved.replay(|snapshot| World::restore(definition(), Box::new(Yard { bodies }), &snapshot.world))?;
    assert_eq!(again.hash(), world.hash());
    println!(
        "opened and read in {loaded:.1?}; 60 s replayed, and the same hash, after {:.1?}",
        begun.elapsed()
    );
    drop(store);
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}
