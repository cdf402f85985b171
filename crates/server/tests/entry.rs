//! Joins with tokens on sessions and by the plain protocol.

mod common;

use std::net::SocketAddr;
use std::time::Duration;

use common::process::{Folder, Process, serve_if_child_with};
use common::session::Guest;
use common::{PATIENCE, TestServer, plaza};
use nowcast::{CarrierKind, Channel, ConnectError, Connector};
use nowcast_server::admission::{Claims, Policy, TokenKey, unix_time};
use nowcast_server::world::PlayerId;
use nowcast_server::{Config, Server};
use nowcast_wire::{decode, encode_to_vec};
use nowcast_world_client::Join;
use nowcast_world_protocol::session::{FromWorld, PROTOCOL, Player, StateKey, ToWorld, WORLD_LANE};
use tokio::time::timeout;

fn key() -> TokenKey {
    TokenKey::secret(b"32 bytes that nobody else knows.").expect("the secret is long enough")
}

fn claims() -> Claims {
    Claims::new(unix_time() + Duration::from_secs(600)).name("Ada")
}

async fn guarded() -> TestServer {
    TestServer::with(|config| config.entry.key = Some(key())).await
}

async fn connect(
    server: &TestServer,
    room: &str,
    token: Option<&str>,
    carrier: CarrierKind,
) -> Result<Channel, ConnectError> {
    let connector = Connector::new().carriers([carrier]);
    let connector = match token {
        Some(token) => connector.token(token),
        None => connector,
    };
    connector.connect(&format!("nowcast://{}/{room}", server.address)).await
}

/// Joins, and returns the name that the world assigns.
async fn name_of(channel: &Channel, asked: &str) -> String {
    let join = ToWorld::Join { protocol: PROTOCOL, name: asked.into(), network_hz: 60, key: Vec::new() };
    channel.try_event(&encode_to_vec(&join)).expect("the lane is empty");
    let mut own = None;
    loop {
        let message = timeout(PATIENCE, channel.receive())
            .await
            .expect("a message arrives")
            .expect("the session continues");
        match (message.kind, message.lane.number()) {
            (nowcast::MessageKind::Event, WORLD_LANE) => {
                if let FromWorld::Welcome { player, .. } =
                    decode(&message.bytes).expect("the message is an event")
                {
                    own = Some(StateKey::Player(PlayerId(player)).number());
                }
            }
            (nowcast::MessageKind::State { key }, WORLD_LANE) if own == Some(key.raw()) => {
                return decode::<Player>(&message.bytes).expect("the message is a player").name;
            }
            _ => {}
        }
    }
}

#[tokio::test]
async fn a_token_admits_its_own_name_over_any_carrier() {
    let server = guarded().await;
    let token = claims().room("plaza").sign(&key()).expect("a secret signs");
    for carrier in [CarrierKind::WebTransport, CarrierKind::WebSocket] {
        let channel = connect(&server, "plaza", Some(&token), carrier).await.expect("the token is good");
        assert_eq!(name_of(&channel, "Mallory").await, "Ada", "{carrier}");
        let error = connect(&server, "cellar", Some(&token), carrier)
            .await
            .expect_err("the token is for another room");
        assert!(error.to_string().contains("unauthorised"), "{error}");
        let error = connect(&server, "plaza", None, carrier).await.expect_err("a token is needed");
        assert!(error.to_string().contains("a token is needed"), "{error}");
        // The first player must leave, because two players of one name would get numbers.
        channel.close(0, "done");
        server.until_metric("nowcast_clients", |clients| clients == 0.0).await;
    }
    let once = claims().once("1").sign(&key()).expect("a secret signs");
    let first = connect(&server, "plaza", Some(&once), CarrierKind::WebSocket)
        .await
        .expect("the token was not used yet");
    let error =
        connect(&server, "plaza", Some(&once), CarrierKind::WebSocket).await.expect_err("the token was used");
    assert!(error.to_string().contains("used"), "{error}");
    drop(first);
    server.stop().await;
}

#[tokio::test]
async fn the_plain_protocol_uses_the_same_admission() {
    let server = guarded().await;
    for (query, cause) in
        [("", "a token is needed"), ("?resume=1", "a token is needed"), ("?token=a.b.c", "token")]
    {
        let answer = server
            .get_with(
                &format!("/ws/plaza{query}"),
                "Upgrade: websocket\r\nConnection: upgrade\r\nSec-WebSocket-Version: 13\r\n\
                 Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n",
            )
            .await;
        assert!(answer.starts_with("HTTP/1.1 401") && answer.contains(cause), "{query}: {answer}");
    }
    let token = claims().once("2").sign(&key()).expect("a secret signs");
    let parameters = format!("encoding=json&name=Mallory&token={token}");
    let ada = server.join("plaza", &parameters).await;
    assert_eq!(ada.name(), "Ada");
    assert!(
        server.connect(&format!("/ws/plaza?{parameters}")).await.is_err(),
        "the token was valid for one join"
    );
    server.stop().await;
}

#[tokio::test]
async fn a_single_use_token_stays_used_in_the_next_process() {
    let folder = Folder::new();
    let serve = || {
        TestServer::with(|config| {
            config.entry.key = Some(key());
            config.data = Some(folder.0.clone());
        })
    };
    let session = claims().once("1").sign(&key()).expect("a secret signs");
    let plain = claims().once("2").sign(&key()).expect("a secret signs");
    let unused = claims().once("3").sign(&key()).expect("a secret signs");
    let server = serve().await;
    drop(
        connect(&server, "plaza", Some(&session), CarrierKind::WebSocket)
            .await
            .expect("the token was not used yet"),
    );
    drop(server.join("plaza", &format!("token={plain}")).await);
    server.stop().await;

    let server = serve().await;
    let again = connect(&server, "plaza", Some(&session), CarrierKind::WebSocket).await;
    assert!(again.expect_err("the token was used").to_string().contains("used"));
    assert!(server.connect(&format!("/ws/plaza?token={plain}")).await.is_err(), "the token was used");
    assert_eq!(server.join("plaza", &format!("token={unused}")).await.name(), "Ada");
    server.stop().await;
}

/// Returns the end of a session that joins with this key and is refused.
async fn refused(address: SocketAddr, token: &str, key: [u8; 16]) -> Option<u32> {
    let connector = Connector::new().carriers([CarrierKind::WebSocket]).token(token);
    let channel =
        connector.connect(&format!("nowcast://{address}/plaza")).await.expect("a client may name itself");
    let mut guest = Guest::introduce(channel, Join::new("").key(key));
    let welcomed = async {
        loop {
            match guest.channel.receive().await {
                Ok(message) => guest.take(&message),
                Err(nowcast::Error::Closed(closed)) => return Some(closed.code.0),
                Err(other) => panic!("{other}"),
            }
            if guest.id != 0 {
                return None;
            }
        }
    };
    timeout(PATIENCE, welcomed).await.expect("the server sends a message")
}

#[tokio::test]
async fn a_single_use_token_readmits_its_own_client_after_a_kill_and_no_other() {
    let folder = Folder::new();
    let ours = claims().once("1").sign(&key()).expect("a secret signs");
    let plain = claims().once("2").sign(&key()).expect("a secret signs");
    let secret = "07".repeat(16);
    let process = Process::start(&folder.0);
    assert_eq!(refused(process.address, &ours, [7; 16]).await, None);
    let parameters = format!("token={plain}&key={secret}");
    let ada = TestServer::join_at(process.address, "plaza", &parameters).await;
    let first = ada.id;
    // The process is killed right after the welcome. A client is welcomed only when the use of its token is stored.
    process.kill();

    let process = Process::start(&folder.0);
    assert_eq!(
        refused(process.address, &ours, [8; 16]).await,
        Some(74),
        "the token belongs to another client"
    );
    assert_eq!(refused(process.address, &ours, [7; 16]).await, None, "the same client rejoins");
    let stolen = format!("ws://{}/ws/plaza?token={plain}&key={}", process.address, "08".repeat(16));
    let stream = tokio::net::TcpStream::connect(process.address).await.expect("the server listens");
    assert!(
        tokio_tungstenite::client_async(stolen, stream).await.is_err(),
        "the token belongs to another client"
    );
    let ada = TestServer::join_at(process.address, "plaza", &parameters).await;
    assert!(ada.name() == "Ada" || ada.name().starts_with("Ada ("), "{}", ada.name());
    assert!(ada.id >= first);
    process.end();
}

#[tokio::test]
async fn the_process_that_serves_until_it_is_killed() {
    serve_if_child_with(plaza(), |config| config.entry.key = Some(key())).await;
}

#[tokio::test]
async fn a_key_without_the_token_is_another_client() {
    let server = TestServer::with(|config| {
        config.entry.key = Some(key());
        config.entry.anonymous = true;
    })
    .await;
    let secret = "07".repeat(16);
    let token = claims().sign(&key()).expect("a secret signs");
    let ada = server.join("plaza", &format!("token={token}&key={secret}")).await;
    let first = ada.id;
    drop(ada);
    server.until_metric("nowcast_clients", |clients| clients == 0.0).await;
    let thief = server.join("plaza", &format!("name=Ada&key={secret}")).await;
    assert!(!thief.view.resumed && thief.id != first);
    assert_ne!(thief.name(), "Ada", "her name waits for her");
    let ada = server.join("plaza", &format!("token={token}&key={secret}")).await;
    assert!(ada.view.resumed && ada.id == first);
    assert_eq!(ada.name(), "Ada");
    server.stop().await;
}

#[tokio::test]
async fn no_server_is_open_to_a_network_by_accident() {
    let everywhere = |entry: Policy| Config {
        hosts: vec![[0, 0, 0, 0].into()],
        webtransport: false,
        entry,
        ..common::config()
    };
    let Err(error) = Server::bind(everywhere(Policy::default())).await else {
        panic!("the server is open to the network")
    };
    assert!(error.to_string().contains("give a key for tokens, or allow anonymous entry"), "{error}");
    let anonymous = Policy { anonymous: true, ..Policy::default() };
    assert!(Server::bind(everywhere(anonymous)).await.is_ok());
    let keyed = Policy { key: Some(key()), ..Policy::default() };
    assert!(Server::bind(everywhere(keyed)).await.is_ok());
}
