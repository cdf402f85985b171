//! Bots in the playground, as another client sees them.

use std::path::Path;
use std::thread;
use std::time::Duration;

use nowcast::{Channel, Connector, MessageKind};
use nowcast_lab::bots::{self, Plan, Protocol};
use nowcast_server::{Config, Rules, Server, WorldConfig, read_world};
use nowcast_wire::{decode, encode_to_vec};
use nowcast_world_protocol::plain::Encoding;
use nowcast_world_protocol::session::{FromWorld, PROTOCOL, ToWorld, WORLD_LANE};

/// Maximum time for bots to find a block, carry it away and release it, on a machine that is busy with other work.
const PATIENCE: Duration = Duration::from_secs(120);

#[test]
fn bots_carry_blocks_over_sessions() {
    somebody_sees_bots_carry_blocks(Protocol::Session);
}

#[test]
fn bots_carry_blocks_over_the_plain_protocol() {
    somebody_sees_bots_carry_blocks(Protocol::Plain(Encoding::Custom16));
}

fn somebody_sees_bots_carry_blocks(protocol: Protocol) {
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../worlds/playground");
        let rules = Rules::Script(read_world(&folder).unwrap());
        let worlds = vec![WorldConfig { name: "playground".into(), rules }];
        let hosts = vec![[127, 0, 0, 1].into()];
        let server = Server::bind(Config { worlds, hosts, port: 0, ..Config::default() }).await.unwrap();
        let handle = server.handle();
        let running = tokio::spawn(server.run(std::future::pending()));
        let address = handle.addresses()[0];
        let url = format!("ws://{address}/ws/playground");
        let plan = Plan { count: 4, seconds: PATIENCE.as_secs(), url, protocol, ..Plan::default() };
        // The bots continue to play until the server ends.
        thread::spawn(move || bots::run(&plan));

        let channel = Connector::new().connect(&format!("nowcast://{address}/playground")).await.unwrap();
        let join = ToWorld::Join { protocol: PROTOCOL, name: "Ada".into(), network_hz: 5, key: Vec::new() };
        channel.try_event(&encode_to_vec(&join)).unwrap();
        for event in ["taken", "thrown"] {
            let seen = tokio::time::timeout(PATIENCE, happens(&channel, event)).await;
            seen.unwrap_or_else(|_| panic!("no bot was seen to do it: {event}"));
        }
        handle.shutdown();
        running.await.unwrap();
    });
}

/// Waits until the world emits an event of this name.
async fn happens(channel: &Channel, name: &str) {
    loop {
        let message = channel.receive().await.expect("the server stays");
        let is_event = message.kind == MessageKind::Event && message.lane.number() == WORLD_LANE;
        if is_event
            && let Ok(FromWorld::Happened { event, .. }) = decode(&message.bytes)
            && event == name
        {
            return;
        }
    }
}
