//! A session between our endpoint and a foreign WebTransport client, aioquic. `cargo xtask interop` installs aioquic and runs
//! this test, which is ignored otherwise.

use nowcast::{ListenConfig, Listener, MessageKind, Phase, Service};
use std::path::Path;
use std::process::Command;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs aioquic: `cargo xtask interop` installs it and runs this test"]
async fn aioquic_exchanges_packets_with_our_endpoint() {
    let python = std::env::var_os("NOWCAST_AIOQUIC_PYTHON").expect("`cargo xtask interop` sets it");
    let listener = Listener::bind(ListenConfig::loopback(0)).await.unwrap();
    let service = listener.advertise("interop").await.unwrap();
    let port = listener.port().to_string();
    let answering = tokio::spawn(answer(service));
    let client = tokio::task::spawn_blocking(move || {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let script = here.join("tests/aioquic/client.py");
        let vectors = here.join("../../spec/vectors/session/packets.json");
        Command::new(python).arg(script).args(["127.0.0.1", &port, "interop"]).arg(vectors).status()
    });
    assert!(client.await.unwrap().unwrap().success(), "see the output of aioquic above");
    let (code, dropped) = answering.await.unwrap();
    assert_eq!(code, 64, "the close code of aioquic");
    assert!(dropped > 20, "packets out of place are counted: {dropped}");
}

/// Sends messages back, replies to commands with reversed bytes, and returns the close code of the channel and the number of
/// drops.
async fn answer(mut service: Service) -> (u32, u64) {
    let channel = service.accept().await.unwrap();
    while let Ok(message) = channel.receive().await {
        match message.kind {
            MessageKind::State { key } => channel.try_state(key, &message.bytes).unwrap(),
            MessageKind::Event => channel.try_event(&message.bytes).unwrap(),
            MessageKind::Command(id) => {
                let backwards: Vec<u8> = message.bytes.iter().rev().copied().collect();
                channel.try_reply(id, &backwards).unwrap();
            }
            MessageKind::Replication { .. } => panic!("nobody sent any"),
        }
    }
    let status = channel.status();
    let Phase::Closed(closed) = status.phase else { panic!("{:?}", status.phase) };
    let dropped = status.stats.dropped;
    (closed.code.0, dropped.unproven + dropped.malformed + dropped.misplaced)
}
