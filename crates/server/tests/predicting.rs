//! A client in Rust predicts its avatar on a real server.

use std::time::{Duration, Instant};

use nowcast::CarrierKind;
use nowcast_server::world::{Input, STEP_HZ};
use nowcast_world_client::{Join, Predictor, WorldClient};
use tokio::time::{interval, timeout};

use crate::common::session::Guest;
use crate::common::{PATIENCE, TestServer};

/// The distance that the avatar walks, in metres.
const WAY: f32 = 1.0;
/// Maximum difference of positions. The server rounds positions to 1/1,024 m on each axis, and errors below 3 mm are not
/// corrected.
const TOLERANCE: f32 = 0.005;

/// The client of a predicted avatar, and the avatar's first position.
struct Walk {
    client: WorldClient,
    predictor: Predictor,
    start: Option<[f32; 3]>,
    begin: Instant,
    has_arrived: bool,
}

impl Walk {
    /// Takes the steps of a frame. Returns whether the avatar has walked its distance and client and server agree on its
    /// position.
    fn frame(&mut self) -> bool {
        let now = self.begin.elapsed();
        let Self { client, predictor, start, has_arrived, .. } = self;
        if let Some(at) = predictor.position() {
            *has_arrived |= distance(at, *start.get_or_insert(at)) > WAY;
        }
        let forward = if *has_arrived { 0.0 } else { 1.0 };
        predictor.set_input(Input { forward, ..Input::default() }).expect("the input is within its bounds");
        predictor.advance(now, client.view());
        if let Some(steps) = predictor.poll_steps(now) {
            client.send_steps(&steps).expect("a state always fits");
        }
        let own = client.view().avatar().and_then(|avatar| client.view().position(avatar));
        let stands = predictor.velocity().is_some_and(|velocity| distance(velocity, [0.0; 3]) < 0.01);
        let agrees = predictor.position().zip(own).is_some_and(|(at, own)| distance(at, own) < TOLERANCE);
        *has_arrived && stands && agrees
    }
}

fn distance(a: [f32; 3], b: [f32; 3]) -> f32 {
    (0..3).map(|axis| (a[axis] - b[axis]).powi(2)).sum::<f32>().sqrt()
}

#[tokio::test]
async fn a_predicted_avatar_stops_where_the_server_has_it() {
    let server = TestServer::start().await;
    for (room, carrier) in [("east", CarrierKind::WebTransport), ("west", CarrierKind::WebSocket)] {
        let channel = Guest::open(&server, room, carrier).await.expect("the room has space");
        let client = WorldClient::join(channel, Join::new("Ada")).expect("the lane is empty");
        let predictor = Predictor::default();
        let mut walk = Walk { client, predictor, start: None, begin: Instant::now(), has_arrived: false };
        let mut frames = interval(Duration::from_secs(1) / STEP_HZ);
        let walking = async {
            loop {
                tokio::select! {
                    update = walk.client.receive() => {
                        let update = update.expect("the session continues");
                        walk.predictor.handle(&update, walk.client.view());
                    }
                    _ = frames.tick() => if walk.frame() { return },
                }
            }
        };
        timeout(PATIENCE, walking).await.expect("both sides agree on where the avatar stands");
    }
    server.stop().await;
}
