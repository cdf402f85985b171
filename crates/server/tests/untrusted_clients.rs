//! Limits for untrusted clients: resources, pages and names.

use std::time::Duration;

use crate::common::{PATIENCE, Player, TestServer};
use nowcast_server::admission::{Claims, TokenKey, unix_time};
use nowcast_world_protocol::plain::{ClientMessage, Input, ServerMessage};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

fn key() -> TokenKey {
    TokenKey::secret(b"32 bytes that nobody else knows.").expect("the secret is long enough")
}

fn token(name: &str) -> String {
    let claims = Claims::new(unix_time() + Duration::from_secs(600)).name(name);
    claims.sign(&key()).expect("a secret signs")
}

fn operator_token() -> String {
    let claims = Claims::new(unix_time() + Duration::from_secs(600)).role("editor operator");
    claims.sign(&key()).expect("a secret signs")
}

/// A server that admits clients without tokens. A token assigns a name.
async fn mixed() -> TestServer {
    TestServer::with(|config| {
        config.entry.key = Some(key());
        config.entry.anonymous = true;
    })
    .await
}

/// Waits until a player has another name than this, and returns it.
async fn name_other_than(player: &mut Player, before: &str) -> String {
    let id = player.id;
    player.until_view("another name", |view| view.players[&id].name != before).await;
    player.name().to_owned()
}

async fn until_notice(player: &mut Player) -> String {
    player
        .until(|message| match message {
            ServerMessage::Notice { text } => Some(text.clone()),
            _ => None,
        })
        .await
}

#[tokio::test]
async fn a_tokens_name_belongs_to_its_holder_and_stays() {
    let server = mixed().await;
    // A guest who already has this name is renamed when the bearer of the token joins.
    let mut early = server.join("plaza", "name=ADA&hz=60").await;
    assert_eq!(early.name(), "ADA");
    let mut ada = server.join("plaza", &format!("hz=60&token={}", token("Ada"))).await;
    assert_eq!(ada.name(), "Ada");
    let id = early.id;
    assert_eq!(name_other_than(&mut early, "ADA").await, format!("guest-{id}"));

    // A guest can neither join with the name nor change to it. The same holds for the name with a letter of another script.
    let mut late = server.join("plaza", "name=%D0%90da&hz=60").await;
    let guest = format!("guest-{}", late.id);
    assert_eq!(late.name(), guest);
    assert!(until_notice(&mut late).await.contains("token"));
    late.say(ClientMessage::Name { name: "A\u{3164}da".into() }).await;
    assert!(until_notice(&mut late).await.contains("token"));
    late.say(ClientMessage::Name { name: "Eve".into() }).await;
    assert_eq!(name_other_than(&mut late, &guest).await, "Eve");

    // The bearer of the token keeps the name. A second bearer of a token with the same name gets a number.
    ada.say(ClientMessage::Name { name: "Eve".into() }).await;
    assert!(until_notice(&mut ada).await.contains("cannot change"));
    let second = server.join("plaza", &format!("hz=60&token={}", token("ada"))).await;
    assert_eq!(second.name(), "ada (2)");
    assert_eq!(server.metric(r#"nowcast_messages_dropped_total{reason="name_bound"}"#), 1.0);
    assert_eq!(server.metric(r#"nowcast_messages_dropped_total{reason="name_taken"}"#), 1.0);

    // When the bearers have left, guests can use the name.
    drop((ada, second));
    server.until_metric("nowcast_clients", |clients| clients == 2.0).await;
    late.say(ClientMessage::Name { name: "Ada".into() }).await;
    assert_eq!(name_other_than(&mut late, "Eve").await, "Ada");
    server.stop().await;
}

const UPGRADE: &str = "Connection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
     Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";

/// Returns the head of the answer to a request with these headers.
async fn head(server: &TestServer, path: &str, headers: &str) -> String {
    let mut stream = TcpStream::connect(server.address).await.expect("the server listens");
    let request = format!("GET {path} HTTP/1.1\r\n{headers}\r\n");
    stream.write_all(request.as_bytes()).await.expect("the server reads");
    let mut head = Vec::new();
    let reading = async {
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.expect("the server answers"));
        }
    };
    timeout(PATIENCE, reading).await.expect("the answer has a head");
    String::from_utf8_lossy(&head).into_owned()
}

#[tokio::test]
async fn clients_behind_a_proxy_on_this_machine_have_no_local_privileges() {
    let server = TestServer::start().await;
    let local = "Host: localhost\r\n";
    let forwarded = [
        "Host: localhost\r\nX-Forwarded-For: 203.0.113.7\r\n",
        "Host: localhost\r\nX-Forwarded-For: 127.0.0.1\r\n",
        "Host: localhost\r\nForwarded: for=203.0.113.7\r\n",
        "Host: localhost\r\nX-Real-IP: 203.0.113.7\r\n",
        "Host: play.example.org\r\n",
    ];
    let upgrade = |path: &str, headers: &str| {
        let (path, headers) = (path.to_owned(), format!("{headers}{UPGRADE}"));
        let server = &server;
        async move { head(server, &path, &headers).await }
    };
    assert!(upgrade("/ws/plaza?role=program", local).await.starts_with("HTTP/1.1 101"));
    for headers in forwarded {
        assert!(
            upgrade("/ws/plaza", headers).await.starts_with("HTTP/1.1 101"),
            "{headers}: a player may join"
        );
        assert!(upgrade("/ws/plaza?role=program", headers).await.starts_with("HTTP/1.1 403"), "{headers}");
        assert!(upgrade("/ws/plaza.-5m", headers).await.starts_with("HTTP/1.1 403"), "{headers}");
        let session = format!("{headers}Sec-WebSocket-Protocol: nowcast.1\r\n");
        assert!(upgrade("/nowcast/plaza.-5m", &session).await.starts_with("HTTP/1.1 401"), "{headers}");
    }
    server.stop().await;

    // If a trusted proxy states no client address, its clients do not count as local.
    let server = TestServer::with(|config| {
        config.entry.proxies = vec!["127.0.0.1".parse().expect("the text is an address")];
    })
    .await;
    for forwarded in ["", "X-Forwarded-For: unknown\r\n", "X-Forwarded-For: 203.0.113.7\r\n"] {
        let headers = format!("{local}{forwarded}{UPGRADE}");
        let refused = head(&server, "/ws/plaza?role=program", &headers).await;
        assert!(refused.starts_with("HTTP/1.1 403"), "{forwarded}: {refused}");
        let metrics = head(&server, "/metrics", &format!("{local}{forwarded}")).await;
        assert!(metrics.starts_with("HTTP/1.1 403"), "{forwarded}: {metrics}");
    }
    server.stop().await;
}

#[tokio::test]
async fn one_address_cannot_take_all_rooms() {
    let server = TestServer::with(|config| {
        // If tokens are required, clients on this machine have the same limits as other clients.
        config.entry.key = Some(key());
        config.entry.anonymous = true;
        config.limits.rooms_max = 4;
        config.limits.rooms_per_address_max = 2;
    })
    .await;
    let mut seats = Vec::new();
    for room in ["one", "two"] {
        seats.push(server.connect(&format!("/ws/{room}")).await.expect("the room has space"));
    }
    assert!(server.connect("/ws/three").await.is_err(), "a third room is over the limit");
    let refused = r#"nowcast_connections_refused_total{reason="rooms_per_address_max"}"#;
    assert_eq!(server.metric(refused), 1.0);
    seats.push(server.connect("/ws/one").await.expect("an open room may be entered"));
    seats.push(
        server.connect_from([127, 0, 0, 2], "/ws/three").await.expect("another address has its own limit"),
    );
    server.stop().await;
}

#[tokio::test]
async fn a_room_without_actions_gives_way_soon() {
    let server = TestServer::with(|config| {
        config.timeouts.room_empty = PATIENCE * 10;
        config.timeouts.room_unused = Duration::from_millis(50);
    })
    .await;
    let still = server.join("still", "hz=60").await;
    let mut lively = server.join("lively", "hz=60").await;
    lively.say(ClientMessage::Input(Input { forward: 1.0, ..Input::default() })).await;
    let id = lively.avatar();
    let mut places = Vec::new();
    lively
        .until(|message| {
            let ServerMessage::Move { entities, .. } = message else { return None };
            places.extend(entities.iter().find(|entity| entity.id == id).map(|entity| entity.position_z));
            (places.last()? != places.first()?).then_some(())
        })
        .await;
    drop((still, lively));
    server.until_metric("nowcast_rooms", |rooms| rooms == 1.0).await;
    server.until_metric("nowcast_clients", |clients| clients == 0.0).await;
    assert!(
        server.get("/api/rooms").await.contains(r#""name":"lively""#),
        "a room with actions stays longer"
    );
    server.stop().await;
}

#[tokio::test]
async fn operator_pages_are_shown_to_this_machine_and_operator_tokens_only() {
    let server = mixed().await;
    let forwarded = "X-Forwarded-For: 203.0.113.7\r\n";
    for path in ["/metrics", "/lab", "/lab.html"] {
        let shown = server.get(path).await;
        assert!(!shown.starts_with("HTTP/1.1 403"), "{path}: {shown}");
        let refused = server.get_with(path, forwarded).await;
        assert!(refused.starts_with("HTTP/1.1 403") && refused.contains("--expose"), "{path}: {refused}");
        let ordinary = format!("{path}?token={}", token("Ada"));
        assert!(server.get_with(&ordinary, forwarded).await.starts_with("HTTP/1.1 403"), "{path}");
        let token = operator_token();
        let credentials = format!("{forwarded}Authorization: Bearer {token}\r\n");
        assert!(!server.get_with(path, &credentials).await.starts_with("HTTP/1.1 403"), "{path}");
        let query = format!("{path}?token={token}");
        assert!(!server.get_with(&query, forwarded).await.starts_with("HTTP/1.1 403"), "{path}");
        let bad = format!("{path}?token={}x", &token[..token.len() - 1]);
        assert!(server.get_with(&bad, forwarded).await.starts_with("HTTP/1.1 403"), "{path}");
    }
    server.stop().await;
    let open = TestServer::with(|config| config.exposed.metrics = true).await;
    assert!(open.get_with("/metrics", forwarded).await.starts_with("HTTP/1.1 200"));
    assert!(open.get_with("/lab", forwarded).await.starts_with("HTTP/1.1 403"));
    open.stop().await;
}
