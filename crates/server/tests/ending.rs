//! The start and the end of a server.

use std::time::Duration;

use crate::common::{PATIENCE, TestServer, config, plaza};
use nowcast_server::admission::Policy;
use nowcast_server::{BindError, Config, Server};

#[tokio::test]
async fn all_clients_are_informed_when_the_server_ends_and_the_port_is_free_again() {
    let server = TestServer::start().await;
    let address = server.address;
    let ada = tokio::spawn(server.join("plaza", "").await.until_closed());
    let bob = tokio::spawn(server.join("park", "encoding=msgpack").await.until_closed());
    // An idle connection of a browser and a connection without any request must not delay the end.
    let _idle = tokio::net::TcpStream::connect(address).await.unwrap();
    server.until_metric("nowcast_clients", |clients| clients == 2.0).await;
    server.stop().await;
    for player in [ada, bob] {
        assert_eq!(player.await.unwrap(), (1001, "server is shutting down".into()));
    }
    let again = TestServer::with(|config| config.port = address.port()).await;
    again.join("plaza", "").await;
}

#[tokio::test]
async fn a_client_that_does_not_answer_does_not_delay_the_end() {
    let server = TestServer::with(|config| config.timeouts.shutdown = Duration::from_millis(300)).await;
    let silent = server.join("plaza", "").await;
    server.stop().await;
    drop(silent);
}

#[tokio::test]
async fn the_future_given_to_run_ends_the_server_too() {
    let server = Server::bind(config()).await.unwrap();
    tokio::time::timeout(PATIENCE, server.run(async {})).await.expect("the server ends");
}

#[tokio::test]
async fn an_unavailable_port_or_address_is_named_with_a_cure() {
    let first = TestServer::start().await;
    let port = first.address.port();
    let host = first.address.ip();
    let error = bind(Config { hosts: vec![host], port, ..config() }).await;
    assert!(matches!(error, BindError::Sockets(nowcast::BindError::Taken { .. })));
    let says = error.to_string();
    assert!(
        says.contains(&format!("port {port} on 127.0.0.1 is taken")) && says.lines().count() == 1,
        "{says}"
    );

    // An address for documentation (RFC 5737), which no machine has.
    let hosts = vec![[192, 0, 2, 1].into()];
    let entry = Policy { anonymous: true, ..Policy::default() };
    let error = bind(Config { hosts, entry, ..config() }).await;
    assert_eq!(error.to_string(), "192.0.2.1 is not an address of this machine: listen on one that is");

    let error = bind(Config { network_hz: 400, ..config() }).await;
    assert_eq!(error.to_string(), "the network rate of 400 Hz is not within 5 to 60");
}

#[tokio::test]
async fn both_families_of_the_loopback_share_one_port() {
    let server = Server::bind(Config { worlds: vec![plaza()], port: 0, ..Config::default() }).await.unwrap();
    let addresses = server.addresses();
    // A machine without IPv6 has one address. All addresses have the same port.
    assert!(!addresses.is_empty());
    assert!(
        addresses.iter().all(|address| address.ip().is_loopback() && address.port() == addresses[0].port())
    );
}

async fn bind(config: Config) -> BindError {
    match Server::bind(config).await {
        Ok(server) => panic!("the server listens on {:?}", server.addresses()),
        Err(error) => error,
    }
}
