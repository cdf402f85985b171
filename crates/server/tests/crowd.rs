//! Many clients at once: waves of joins and leaves, and clients that read nothing among clients that do.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};

use futures_util::future::join_all;
use nowcast::{CarrierKind, Connector, MessageKind};
use nowcast_server::ServiceConfig;
use nowcast_server::world::Input;
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::common::session::Guest;
use crate::common::{PATIENCE, TestServer};

const CARRIERS: [CarrierKind; 2] = [CarrierKind::WebTransport, CarrierKind::WebSocket];

/// Handles messages until a client has received this number of packets with movement.
async fn take_rounds(guest: &mut Guest, rounds: usize) {
    let mut taken = 0;
    while taken < rounds {
        let received = timeout(PATIENCE, guest.channel.receive()).await;
        let message = received.expect("the rounds continue").expect("the session continues");
        taken += usize::from(matches!(message.kind, MessageKind::Replication { .. }));
        guest.take(&message);
    }
}

#[tokio::test]
async fn waves_of_clients_join_and_leave_on_two_io_threads() {
    const WAVE: usize = 24;
    let server =
        TestServer::with(|config| config.io_threads = NonZeroUsize::new(2).expect("two is not zero")).await;
    let mut witness = Guest::join(&server, "plaza", "Witness", CarrierKind::WebSocket).await;
    for _ in 0..3 {
        let joins = (0..WAVE).map(|number| {
            let carrier = CARRIERS[number % CARRIERS.len()];
            Guest::join(&server, "plaza", "Passer-by", carrier)
        });
        let guests = join_all(joins).await;
        witness.until("all newcomers", |witness| witness.view.players.len() == WAVE + 1).await;
        drop(guests);
        witness.until("their leave", |witness| witness.view.players.len() == 1).await;
    }
    server.stop().await;
}

/// Tells each client the name of the thread of its session.
fn thread_names() -> ServiceConfig {
    ServiceConfig::new("threads", |channel| async move {
        channel.clone().spawn(async move {
            let name = std::thread::current().name().unwrap_or_default().to_owned();
            channel.try_event(name.as_bytes()).expect("the lane has space");
            while channel.receive().await.is_ok() {}
        });
    })
}

#[tokio::test]
#[cfg(target_os = "linux")]
async fn webtransport_clients_of_one_address_use_all_io_threads() {
    const CLIENTS_MAX: usize = 64;
    let server = TestServer::with(|config| {
        config.io_threads = NonZeroUsize::new(2).expect("two is not zero");
        config.services = vec![thread_names()];
    })
    .await;
    let url = format!("nowcast://{}/threads", server.address);
    let connector = Connector::new().carriers([CarrierKind::WebTransport]);
    let (mut channels, mut names) = (Vec::new(), BTreeSet::new());
    while names.len() < 2 {
        assert!(channels.len() < CLIENTS_MAX, "all sessions are on {names:?}");
        let channel = connector.connect(&url).await.expect("the service is open");
        let told = timeout(PATIENCE, channel.receive()).await.expect("the service tells the name");
        names.insert(told.expect("the session continues").bytes);
        channels.push(channel);
    }
    drop(channels);
    server.stop().await;
}

/// Holds the thread of each client's session until `release` sends or ends. Tells that it does by `held`.
fn holding(held: mpsc::Sender<()>, release: Arc<Mutex<std::sync::mpsc::Receiver<()>>>) -> ServiceConfig {
    ServiceConfig::new("holding", move |channel| {
        let (held, release) = (held.clone(), Arc::clone(&release));
        async move {
            channel.clone().spawn(async move {
                held.try_send(()).expect("the test waits");
                // An error means that the test has ended.
                let _ = release.lock().expect("no other session waits").recv();
                while channel.receive().await.is_ok() {}
            });
        }
    })
}

#[tokio::test]
async fn metrics_are_answered_while_the_only_io_thread_is_busy() {
    let (held, mut is_held) = mpsc::channel(1);
    let (release, released) = std::sync::mpsc::channel();
    let server = TestServer::with(|config| {
        config.io_threads = NonZeroUsize::MIN;
        config.services = vec![holding(held, Arc::new(Mutex::new(released)))];
    })
    .await;
    let connector = Connector::new().carriers([CarrierKind::WebSocket]);
    let channel = connector.connect(&format!("nowcast://{}/holding", server.address)).await;
    let channel = channel.expect("the service is open");
    timeout(PATIENCE, is_held.recv()).await.expect("the session begins").expect("the service runs");
    let page = timeout(PATIENCE, server.get("/metrics")).await.expect("the page is answered");
    assert!(page.contains("nowcast_tick_seconds"), "{page}");
    drop(release);
    drop(channel);
    server.stop().await;
}

#[tokio::test]
async fn clients_that_read_nothing_stop_no_round_of_the_others() {
    let server = TestServer::start().await;
    let mut silent = Vec::new();
    for _ in 0..8 {
        silent.push(server.connect("/ws/plaza?hz=60").await.expect("the room has space"));
    }
    let mut readers = Vec::new();
    for carrier in CARRIERS {
        readers.push(Guest::join(&server, "plaza", "Reader", carrier).await);
    }
    // Something moves in every round.
    readers[0].steer(&Input::new(1.0, 0.0, 0.0, true, false).expect("the input is within bounds"));
    join_all(readers.iter_mut().map(|reader| take_rounds(reader, 60))).await;
    drop(silent);
    server.stop().await;
}
