//! A head tracker. It sends a pose a thousand times a second and a button event now and then, and handles one command.
//!
//! Run `cargo run --release -p nowcast-examples --bin tracker`, and then the renderer in another terminal.

use std::time::{Duration, Instant};

use nowcast::blocking::{self, wait};
use nowcast::{Channel, Error, MessageKind};
use nowcast_examples::{Button, HEAD, Pose, now_ns};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut service = blocking::advertise("tracker")?;
    println!("The tracker waits for a renderer. Stop it with Ctrl+C.");
    loop {
        let channel = wait(service.accept())?;
        println!("Process {} looks.", channel.entry().process.unwrap_or_default());
        if let Err(ended) = track(&channel) {
            println!("The renderer has left: {ended}.");
        }
    }
}

fn track(channel: &Channel) -> Result<(), Error> {
    let (poses, buttons) = (channel.lane(0).typed::<Pose>(), channel.lane(0).typed::<Button>());
    let begin = Instant::now();
    let mut zero = 0.0;
    for sample in 1_u32.. {
        let angle = f64::from(sample) / 500.0;
        let position = [angle.sin(), 1.7, angle.cos()];
        // A renderer that draws 60 frames a second never receives 940 of these 1,000 poses, and never waits for any of them.
        poses.try_state(HEAD, &Pose { taken_ns: now_ns(), turned: angle - zero, position })?;
        if sample.is_multiple_of(700) {
            // A receiver of this event has already received the pose at which the button was pressed.
            wait(buttons.event(&Button { sample, turned: angle - zero }))?;
        }
        if let Some(message) = channel.try_receive()?
            && let MessageKind::Command(command) = message.kind
        {
            zero = angle;
            wait(channel.reply(command, b"the view is straight ahead again"))?;
        }
        let next = begin + Duration::from_millis(1) * sample;
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
    }
    Ok(())
}
