//! A head tracker: a pose a thousand times a second, a button now and then, and one command that it obeys.
//!
//! `cargo run --release -p nowcast-examples --bin tracker`, then the renderer in another terminal.

use nowcast::local::{self, Channel, Error, Message};
use std::time::{Duration, Instant};

const HEAD: u64 = 1;

fn main() -> Result<(), Error> {
    let mut service = local::advertise("tracker")?;
    println!("The tracker waits for a renderer. Stop it with Ctrl+C.");
    loop {
        let channel = service.accept(None)?;
        println!("Process {} looks.", channel.peer_pid());
        match track(channel) {
            Err(Error::Queue(ended)) => println!("It looks no longer: {ended}."),
            other => return other,
        }
    }
}

fn track(mut channel: Channel) -> Result<(), Error> {
    let begin = Instant::now();
    let mut zero = 0.0;
    for sample in 1_u32.. {
        let angle = f64::from(sample) / 500.0;
        let position = [angle.sin(), 1.7, angle.cos()];
        // A renderer that draws 60 frames a second never sees 940 of these 1,000, and never waits for one of them.
        channel.state(HEAD, &(nanoseconds(), angle - zero, position))?;
        if sample.is_multiple_of(700) {
            // Whoever sees the button pressed has seen the pose it was pressed in.
            channel.event(&(sample, angle - zero))?;
        }
        if let Some(Message::Command(command)) = channel.receive()? {
            zero = angle;
            channel.reply(command, &"the view is straight ahead again".to_owned())?;
        }
        let next = begin + Duration::from_millis(1) * sample;
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
    }
    Ok(())
}

/// The clock that all processes of a machine share.
fn nanoseconds() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0, |now| now.as_nanos() as u64)
}
