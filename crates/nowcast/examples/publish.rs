//! One publisher and many subscribers: `cargo run -p nowcast --example publish`, then `nowcast watch tracker` in
//! several terminals.

use std::time::Duration;

use nowcast::{ListenConfig, Listener};
use nowcast_wire::Wire;

#[derive(Wire)]
struct Pose {
    position: [f32; 3],
    yaw: f32,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let listener = Listener::bind(ListenConfig::loopback(0)).await?;
    let tracker = listener.publish("tracker").await?;
    println!("nowcast://localhost:{}/tracker", listener.port());
    let poses = tracker.typed::<Pose>();
    let mut ticks = tokio::time::interval(Duration::from_millis(16));
    for tick in 0_u32.. {
        ticks.tick().await;
        let yaw = tick as f32 / 60.0;
        poses.state(1, &Pose { position: [yaw.cos(), 1.7, yaw.sin()], yaw })?;
        if tick % 600 == 0 {
            tracker.event(b"ten seconds")?;
            println!("{} subscribers, {:?}", tracker.subscribers(), tracker.counters());
        }
    }
    Ok(())
}
