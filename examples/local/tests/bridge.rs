//! Runs a tracker, a bridge and a server as real processes with real sockets. An arm of the robots must follow the tracker.
#![cfg(target_os = "linux")]

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use nowcast::{Connector, MessageKind};
use nowcast_server::{Config, Rules, Server, WorldConfig, read_world};
use nowcast_wire::{Shape, Value, decode, decode_value, encode_to_vec};
use nowcast_world_protocol::session::{Entity, FromWorld, PROTOCOL, StateKey, ToWorld, WORLD_LANE};
use tokio::time::timeout;

const PATIENCE: Duration = Duration::from_secs(60);

/// A process that ends when this value is dropped.
struct Program(Child);

impl Program {
    fn start(path: &str, arguments: &[&str], names: &Path) -> Self {
        let mut command = Command::new(path);
        // The local names are in a separate folder, so that the test does not disturb a tracker of the user.
        command.args(arguments).env("XDG_RUNTIME_DIR", names).stdout(Stdio::null());
        Self(command.spawn().expect("the program can be started"))
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test]
async fn an_arm_of_the_world_follows_a_tracker_in_shared_memory() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../worlds/robots");
    let sources = read_world(&folder).expect("the sample worlds can be read");
    let robots = WorldConfig { name: "robots".into(), rules: Rules::Script(sources) };
    let config =
        Config { worlds: vec![robots], hosts: vec![[127, 0, 0, 1].into()], port: 0, ..Config::default() };
    let server = Server::bind(config).await.expect("a port is free");
    let handle = server.handle();
    let url = format!("nowcast://{}/robots", handle.addresses()[0]);
    let running = tokio::spawn(server.run(std::future::pending()));

    let names = std::env::temp_dir().join(format!("nowcast-bridge-{}", std::process::id()));
    std::fs::create_dir_all(&names).expect("a folder can be made");
    let tracker = Program::start(env!("CARGO_BIN_EXE_tracker"), &[], &names);
    let mut bridge = Program::start(env!("CARGO_BIN_EXE_bridge"), &[&url], &names);

    let channel = Connector::new().connect(&url).await.expect("there is room");
    let join = ToWorld::Join { protocol: PROTOCOL, name: "Watcher".into(), network_hz: 20, key: Vec::new() };
    channel.try_event(&encode_to_vec(&join)).expect("the queue is empty");
    let watching = async {
        let (mut arms, mut turns) = (None, Vec::new());
        while turns.len() < 20 {
            if let Some(status) = bridge.0.try_wait().expect("the status of the process can be read") {
                // The tracker may not have advertised its name yet.
                assert!(!status.success());
                tokio::time::sleep(Duration::from_millis(50)).await;
                bridge = Program::start(env!("CARGO_BIN_EXE_bridge"), &[&url], &names);
            }
            let Ok(received) = timeout(Duration::from_millis(200), channel.receive()).await else { continue };
            let message = received.expect("the server continues");
            match (message.kind, message.lane.number()) {
                (MessageKind::Event, WORLD_LANE) => {
                    if let FromWorld::Define { definition } =
                        decode(&message.bytes).expect("the message is an event")
                    {
                        let mut kinds = definition.kinds.iter().zip(0u32..);
                        let (kind, number) =
                            kinds.find(|(kind, _)| kind.name == "arm").expect("there are arms");
                        arms =
                            Some((number, Shape::from_bytes(&kind.attributes).expect("the shape is valid")));
                    }
                }
                (MessageKind::State { key }, WORLD_LANE) => {
                    let Some(StateKey::Entity(_)) = StateKey::of(key.raw()) else { continue };
                    let (kind, shape) = arms.as_ref().expect("arms are defined first");
                    let entity: Entity = decode(&message.bytes).expect("the message is an entity");
                    if entity.kind != *kind {
                        continue;
                    }
                    let arm = decode_value(shape, &entity.attributes)
                        .expect("the attributes have the shape of the kind");
                    if arm.get("label").and_then(Value::as_text) == Some("Arm 1: tracker") {
                        turns.push(arm.get("turn").and_then(Value::as_f64).expect("the arm has a turn"));
                    }
                }
                _ => {}
            }
        }
        turns
    };
    let turns = timeout(PATIENCE, watching).await.expect("the arm follows");
    let least = turns.iter().copied().fold(f64::MAX, f64::min);
    let most = turns.iter().copied().fold(f64::MIN, f64::max);
    assert!(most > least, "the arm turns: {turns:?}");

    drop((tracker, bridge));
    handle.shutdown();
    timeout(PATIENCE, running).await.expect("the server ends").expect("the server doesn't panic");
    std::fs::remove_dir_all(&names).expect("the folder is there");
}
