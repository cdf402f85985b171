//! A renderer: draws 60 frames a second of whatever the tracker saw last, and says how fresh that was.
//!
//! `cargo run --release -p nowcast-examples --bin renderer` while the tracker runs; a number says for how many seconds.

use nowcast::local::{self, Error, Message};
use nowcast::pack::UnpackError;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

type Pose = (u64, f64, [f64; 3]);

fn main() -> Result<(), Error> {
    let seconds = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(5);
    let mut tracker = local::connect("tracker")?;
    let answer: String = tracker.command(&"recentre".to_owned(), Instant::now() + Duration::from_secs(1))?;
    println!("The tracker says: {answer}.");
    let (mut ages, mut angle) = (Vec::new(), 0.0);
    let begin = Instant::now();
    for frame in 1..=60 * seconds {
        while let Some(message) = tracker.receive()? {
            match message {
                Message::State { .. } => {
                    let (taken, turned, _position): Pose = message.unpack()?;
                    ages.push(nanoseconds().saturating_sub(taken));
                    angle = turned;
                }
                Message::Event { .. } => button(message.unpack()?, angle)?,
                Message::Command(_) => {}
            }
        }
        // Here a real renderer would draw.
        let next = begin + Duration::from_secs(1) * frame / 60;
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
    }
    ages.sort_unstable();
    let age = |part: usize| ages.get(ages.len() * part / 100).map_or(0, |age| age / 1000);
    println!("{} poses in {} frames; age p50 {} µs, p99 {} µs", ages.len(), 60 * seconds, age(50), age(99));
    Ok(())
}

fn button((sample, pressed_at): (u32, f64), seen: f64) -> Result<(), UnpackError> {
    let exact = if pressed_at == seen { "the very pose seen last" } else { "another pose!" };
    println!("Button at sample {sample}, in {exact}: turned by {pressed_at:.3} rad.");
    Ok(())
}

/// The clock that all processes of a machine share.
fn nanoseconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_nanos() as u64)
}
