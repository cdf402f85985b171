//! Names by multicast DNS, on the network segments of this machine: `cargo test -p nowcast --features mdns --test channels multicast`.

#![cfg(feature = "mdns")]

use std::time::Duration;

use nowcast::names::multicast;
use nowcast::{Connector, ListenConfig, Listener, Trust};

#[tokio::test(flavor = "multi_thread")]
async fn an_announced_name_is_found_and_joined_without_a_port() {
    let mut config = ListenConfig::on([[0, 0, 0, 0].into()], 0);
    config.entry.anonymous = true;
    config.name_server = None;
    config.multicast = true;
    let listener = Listener::bind(config).await.unwrap();
    let name = format!("tracker-{}", std::process::id());
    let mut service = listener.advertise(&name).await.unwrap();

    let found =
        multicast::find(&name, Duration::from_secs(20)).await.unwrap().expect("the name is announced");
    assert_eq!(found.port, listener.port());
    let connector = Connector::new().trust(Trust::Announced);
    let url = format!("nowcast://local/{name}");
    let (theirs, ours) = tokio::join!(service.accept(), connector.connect(&url));
    theirs.unwrap().try_event(b"found").unwrap();
    assert_eq!(ours.unwrap().receive().await.unwrap().bytes, b"found");
    drop(service);
    let is_gone =
        async { while multicast::find(&name, Duration::from_millis(500)).await.unwrap().is_some() {} };
    tokio::time::timeout(Duration::from_secs(30), is_gone)
        .await
        .expect("the service sends its goodbye in time");
}
