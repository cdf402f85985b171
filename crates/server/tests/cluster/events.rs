//! Events of rooms that move.

use std::net::SocketAddr;
use std::time::Duration;

use nowcast::{CarrierKind, Connector};
use nowcast_cluster::ControlRequest;
use nowcast_server::Config;
use nowcast_server::world::Value;
use nowcast_world_client::{FollowingClient, Join, Update};
use nowcast_world_protocol::session::FromWorld;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::unbounded_channel;
use tokio::time::{Instant, sleep_until, timeout};

use super::common::{PATIENCE, script};
use super::{Nats, ask, name};

/// A world that emits an event in each step.
const DRUM: &str = r#"
local world = require("@nowcast/world")
world.state { beats = 0 }
world.on("step", function()
    world.state.beats += 1
    world.emit("beat", { number = world.state.beats })
end)
"#;

/// Time by which the messages of the source are late. The target begins long before their arrival.
const LATE: Duration = Duration::from_millis(400);

/// Number of events after the move.
const EVENTS: usize = 120;

/// Starts a relay to a server. What the server sends arrives late.
async fn late_relay(server: SocketAddr) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
    let address = listener.local_addr().expect("the socket is bound");
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let Ok(server) = TcpStream::connect(server).await else { return };
            let (mut from_client, mut to_client) = client.into_split();
            let (mut from_server, mut to_server) = server.into_split();
            tokio::spawn(async move { copy(&mut from_client, &mut to_server).await });
            let (sender, mut late) = unbounded_channel();
            tokio::spawn(async move {
                let mut bytes = [0; 65_536];
                while let Ok(length @ 1..) = from_server.read(&mut bytes).await {
                    if sender.send((Instant::now() + LATE, bytes[..length].to_vec())).is_err() {
                        return;
                    }
                }
            });
            tokio::spawn(async move {
                while let Some((at, bytes)) = late.recv().await {
                    sleep_until(at).await;
                    if to_client.write_all(&bytes).await.is_err() {
                        return;
                    }
                }
            });
        }
    });
    address
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_in_rust_receives_each_event_once_although_those_of_the_source_are_late() {
    let nats = Nats::start();
    let drum = |config: &mut Config| config.worlds = vec![script("yard", DRUM)];
    let north = nats.serve_with("north", drum).await;
    let url = format!("nowcast://{}/yard", late_relay(north.address).await);
    let connector = Connector::new().carriers([CarrierKind::WebSocket]);
    let mut ada = FollowingClient::join(connector, &url, Join::new("Ada").key([7; 16])).await.expect("joins");
    let south = nats.serve_with("south", drum).await;
    let link = nats.link().await;
    let to_south = ControlRequest::Move { room: name("yard"), target: name("south") };
    // The first server learns of the second one within its interval.
    let moving = async { while ask(&link, &to_south, "north").await.is_err() {} };
    tokio::pin!(moving);
    let (mut has_moved, mut numbers, mut after) = (false, Vec::new(), 0);
    let receiving = async {
        while after < EVENTS {
            tokio::select! {
                () = &mut moving, if !has_moved => has_moved = true,
                update = ada.receive() => {
                    let update = update.expect("the client stays in the room");
                    if let Update::Event(FromWorld::Happened { payload, .. }) = update {
                        numbers.push(payload.get("number").and_then(Value::as_f64).expect("an event has a number"));
                        after += usize::from(ada.moves() > 0);
                    }
                }
            }
        }
    };
    timeout(PATIENCE, receiving).await.expect("the client follows");
    let gaps: Vec<_> = numbers.windows(2).filter(|pair| pair[1] != pair[0] + 1.0).collect();
    assert!(gaps.is_empty(), "{gaps:?}");
    assert_eq!(ada.moves(), 1);
    drop(ada);
    south.stop().await;
    north.stop().await;
}
