//! How long a step takes when 200 people run about in a playground whose 300 blocks are all awake:
//! `cargo run --release -p nowcast-server --example crowd -- [people] [seconds]`.

use std::time::{Duration, Instant};

use nowcast_server::playground::{Action, Config, Playground};
use nowcast_server::world::{Input, STEP_HZ};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let people: usize = arguments.next().map_or(Ok(200), |text| text.parse())?;
    let seconds: u32 = arguments.next().map_or(Ok(20), |text| text.parse())?;

    let mut world = Playground::new(Config::default());
    let avatars =
        (0..people).map(|index| world.join(&format!("bot {index}"))).collect::<Result<Vec<_>, _>>()?;
    let mut random = 1u64;
    let mut draw = move || {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 40) as f32 / (1u64 << 24) as f32
    };
    let mut steps = Vec::new();
    for tick in 0..seconds * STEP_HZ {
        for avatar in &avatars {
            if draw() < 0.02 {
                let yaw = draw() * std::f32::consts::TAU;
                world.set_input(*avatar, Input::new(1.0, draw() - 0.5, yaw, draw() < 0.5, draw() < 0.2)?);
            }
            if draw() < 0.01 {
                world.act(*avatar, if draw() < 0.5 { Action::grab() } else { Action::throw(draw(), 0.4) });
            }
        }
        // Every tenth of a second nobody may sleep: the worst case is what is measured.
        if tick % 6 == 0 {
            world.wake_all();
        }
        let (took, ()) = timed(|| world.step());
        steps.push(took);
        if tick % STEP_HZ == STEP_HZ - 1 {
            let second = &mut steps.clone()[(tick + 1 - STEP_HZ) as usize..];
            second.sort();
            println!(
                "second {:3}: p50 {:?}, max {:?}, awake {}",
                tick / STEP_HZ,
                second[30],
                second[59],
                world.awake()
            );
        }
    }
    steps.sort();
    let at = |share: f64| steps[((steps.len() - 1) as f64 * share) as usize];
    println!(
        "{people} people, {} steps: p50 {:?}, p99 {:?}, max {:?}",
        steps.len(),
        at(0.5),
        at(0.99),
        at(1.0)
    );
    println!("{:?}, hash {:016x}", world.stats(), world.hash());
    Ok(())
}

fn timed<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let start = Instant::now();
    let result = work();
    (start.elapsed(), result)
}
