//! Measures the time of a step while 200 people run about in the sample playground, take its blocks and throw them: `cargo
//! run --release -p nowcast-server --example crowd -- [people] [seconds]`. A world admits 256 people, and refuses further
//! ones.

use std::path::Path;
use std::time::Instant;

use nowcast_server::read_world;
use nowcast_server::script::{Limits, Live};
use nowcast_server::world::{Command, Input, PlayerId, STEP_HZ, Value};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let people: u32 = arguments.next().map_or(Ok(200), |text| text.parse())?;
    let seconds: u32 = arguments.next().map_or(Ok(20), |text| text.parse())?;

    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../worlds/playground");
    let mut live = Live::new(read_world(&folder)?, 1, Limits::DEFAULT)?;
    for player in (1..=people).map(PlayerId) {
        live.apply(Command::join(player, format!("bot {}", player.0)))?;
        // One person joins in each step, because the rules need some work to find a free position.
        live.step();
    }
    let mut random = 1u64;
    let mut draw = move || {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 40) as f32 / (1u64 << 24) as f32
    };
    let mut steps = Vec::new();
    for tick in 0..seconds * STEP_HZ {
        for player in (1..=people).map(PlayerId) {
            if draw() < 0.02 {
                let yaw = draw() * std::f32::consts::TAU;
                let input = Input::new(1.0, draw() - 0.5, yaw, draw() < 0.5, draw() < 0.2)?;
                live.apply(Command::Input { player, input })?;
            }
            if draw() < 0.01 {
                let (name, arguments) =
                    if draw() < 0.5 { ("grab", Value::Nil) } else { ("throw", throw(draw(), 0.4)) };
                live.apply(Command::Action { player, name: name.to_owned(), arguments })?;
            }
        }
        let began = Instant::now();
        live.step();
        steps.push(began.elapsed());
        while live.poll_event().is_some() {}
        while live.poll_report().is_some() {}
        if tick % STEP_HZ == STEP_HZ - 1 {
            let second = &mut steps.clone()[(tick + 1 - STEP_HZ) as usize..];
            second.sort();
            println!(
                "second {:3}: p50 {:?}, max {:?}, awake {}",
                tick / STEP_HZ,
                second[30],
                second[59],
                live.world().awake()
            );
        }
    }
    steps.sort();
    let at = |share: f64| steps[((steps.len() - 1) as f64 * share) as usize];
    println!(
        "{} people, {} steps: p50 {:?}, p99 {:?}, max {:?}",
        live.world().scene().players().count(),
        steps.len(),
        at(0.5),
        at(0.99),
        at(1.0)
    );
    println!("{:?}, {:?}, hash {:016x}", live.world().stats(), live.stats(), live.world().hash());
    Ok(())
}

fn throw(power: f32, pitch: f32) -> Value {
    Value::Map(vec![("power".into(), power.into()), ("pitch".into(), pitch.into())])
}
