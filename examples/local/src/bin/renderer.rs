//! A renderer. It draws 60 frames a second with the tracker's newest pose, and prints the age of the poses.
//!
//! Run `cargo run --release -p nowcast-examples --bin renderer` while the tracker runs. The optional argument is the number of
//! seconds.

use std::time::{Duration, Instant};

use nowcast::MessageKind;
use nowcast::blocking::wait;
use nowcast_examples::{Button, Pose, now_ns};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let seconds = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(5);
    let tracker = wait(nowcast::connect("tracker"))?;
    let answer = wait(tracker.command(b"recentre", Duration::from_secs(1)))?;
    println!("The tracker says: {}.", String::from_utf8_lossy(&answer));
    let (mut ages, mut turned, mut bytes) = (Vec::new(), 0.0, Vec::new());
    let begin = Instant::now();
    for frame in 1..=60 * seconds {
        while let Some(message) = tracker.try_receive_into(&mut bytes)? {
            match message.kind {
                MessageKind::State { .. } => {
                    let pose: Pose = nowcast::decode(&bytes)?;
                    ages.push(now_ns().saturating_sub(pose.taken_ns));
                    turned = pose.turned;
                }
                MessageKind::Event => print(&nowcast::decode(&bytes)?, turned),
                _ => {}
            }
        }
        // A real renderer would draw here.
        let next = begin + Duration::from_secs(1) * frame / 60;
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
    }
    ages.sort_unstable();
    let age = |part: usize| ages.get(ages.len() * part / 100).map_or(0, |age| age / 1000);
    println!("{} poses in {} frames; age p50 {} µs, p99 {} µs", ages.len(), 60 * seconds, age(50), age(99));
    Ok(())
}

fn print(button: &Button, seen: f64) {
    let exact = if button.turned == seen { "the pose that was received last" } else { "another pose!" };
    println!("Button at sample {}, in {exact}: turned by {:.3} rad.", button.sample, button.turned);
}
