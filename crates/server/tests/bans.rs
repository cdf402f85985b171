//! Bans: affected clients, marks, scopes, durations, and restarts of the server.

mod common;

use std::time::Duration;

use common::process::{Folder, Process, serve_if_child};
use common::session::Guest;
use common::{Player, TestServer, script};
use nowcast::{CarrierKind, Connector};
use nowcast_server::admission::{Claims, TokenKey, unix_time};
use nowcast_world_client::Join;
use nowcast_world_protocol::plain::{ClientMessage, Encoding};

const RULES: &str = r#"
local world = require("@nowcast/world")
local Floor = world.kind("floor", { body = { motion = "fixed", shape = "box", size = vector.create(400, 1, 400) } })
local Person = world.kind("person", { walker = {} })
world.on("start", function() Floor:spawn { at = vector.create(0, -0.5, 0) } end)
world.on("join", function(player) player:spawn_avatar(Person, { at = vector.create(player.id, 0.92, 20) }) end)
world.on("message", function(player, text) if text == "out" then player:kick("you asked for it") end
	if text == "ban me" then player:ban("spam", { hours = 2, world = true }) end end)
"#;

/// The close code of a banned client, in the plain protocol and on sessions.
const BANNED: (u16, u32) = (4015, 73);

#[tokio::test]
async fn the_process_that_serves_until_it_is_killed() {
    serve_if_child(script("yard", RULES)).await;
}

fn key() -> TokenKey {
    TokenKey::secret(b"32 bytes that nobody else knows.").expect("the secret is long enough")
}

fn token(name: &str, role: Option<&str>) -> String {
    let claims = Claims::new(unix_time() + Duration::from_secs(600)).name(name);
    let claims = match role {
        Some(role) => claims.role(role),
        None => claims,
    };
    claims.sign(&key()).expect("a secret signs")
}

async fn guarded() -> TestServer {
    TestServer::with(|config| {
        config.worlds = vec![script("yard", RULES)];
        config.entry.key = Some(key());
    })
    .await
}

async fn say(player: &mut Player, text: &str) {
    player.say(ClientMessage::Chat { text: text.into() }).await;
}

async fn noticed(player: &mut Player, words: &str) -> String {
    player.until_view(words, |view| view.notices.iter().any(|text| text.contains(words))).await;
    let found = player.view.notices.iter().rev().find(|text| text.contains(words)).cloned();
    player.view.notices.clear();
    found.expect("the notice was received")
}

/// Opens a WebSocket of the plain protocol, and waits for its end.
async fn turned_away(server: &TestServer, path: &str) -> (u16, String) {
    let socket = server.connect(path).await.expect("a banned client is admitted to receive the reason");
    Player::new(socket, Encoding::Json).until_closed().await
}

#[tokio::test]
async fn a_client_that_the_rules_kick_receives_the_reason_and_may_join_again() {
    const REASON: &str = "the world removed you: you asked for it";
    let server = TestServer::with(|config| config.worlds = vec![script("yard", RULES)]).await;
    let mut ada = server.join("yard", "name=Ada&hz=60").await;
    let mut eve = Guest::join(&server, "yard", "Eve", CarrierKind::WebSocket).await;
    say(&mut ada, "out").await;
    assert_eq!(ada.until_closed().await, (4017, REASON.to_owned()));
    eve.say("out");
    let closed = eve.end().await;
    assert_eq!((closed.code.0, closed.reason.as_str()), (75, REASON));
    let counted = r#"nowcast_client_closed_total{code="75",reason="kicked"}"#;
    server.until_metric(counted, |count| count == 1.0).await;
    server.until_metric("nowcast_clients", |clients| clients == 0.0).await;
    drop(server.join("yard", "name=Ada&hz=60").await);
}

#[tokio::test]
async fn a_client_that_the_rules_ban_leaves_and_stays_out_of_all_rooms_of_the_world() {
    let server = guarded().await;
    let (editor, ben) = (token("Eve", Some("editor")), token("Ben", None));
    let mut mallory = server.join("yard", &format!("token={ben}&hz=60")).await;
    say(&mut mallory, "ban me").await;
    assert_eq!(mallory.until_closed().await.0, BANNED.0);
    let (code, reason) = turned_away(&server, &format!("/ws/yard-2?token={ben}")).await;
    assert_eq!(code, BANNED.0);
    assert!(
        reason.starts_with("you are banned from this world until ") && reason.ends_with(": spam"),
        "{reason}"
    );
    let mut eve = server.join("yard", &format!("token={editor}&hz=60")).await;
    say(&mut eve, "/unban ben").await;
    noticed(&mut eve, "taken back").await;
    drop(server.join("yard", &format!("token={ben}&hz=60")).await);
}

#[tokio::test]
async fn a_banned_client_receives_the_reason_and_stays_out_until_the_ban_is_lifted() {
    let server = guarded().await;
    let (editor, ben) = (token("Eve", Some("editor")), token("Ben", None));
    let mut eve = server.join("yard", &format!("token={editor}&hz=60")).await;
    let mut mallory = server.join("yard", &format!("token={ben}&hz=60")).await;
    say(&mut mallory, "/ban Eve").await;
    noticed(&mut mallory, "requires the role 'editor'").await;
    say(&mut eve, "/ban Nobody").await;
    noticed(&mut eve, "no player here is called Nobody").await;
    say(&mut eve, "/ban eve").await;
    noticed(&mut eve, "cannot ban yourself").await;
    say(&mut eve, "/ban --for 2h ben: he shouts").await;
    let told = noticed(&mut eve, "banned").await;
    assert!(told.contains("room yard") && told.contains("by the token's name"), "{told}");
    let (code, reason) = mallory.until_closed().await;
    assert_eq!(code, BANNED.0);
    assert!(
        reason.starts_with("you are banned from this room until ") && reason.ends_with(": he shouts"),
        "{reason}"
    );
    server.until_metric("nowcast_clients", |clients| clients == 1.0).await;
    assert!(eve.view.said.is_empty(), "no other client receives a command");

    let (code, _) = turned_away(&server, &format!("/ws/yard?token={ben}")).await;
    assert_eq!(code, BANNED.0);
    let connector = Connector::new().carriers([CarrierKind::WebSocket]).token(&ben);
    let channel = connector
        .connect(&format!("nowcast://{}/yard", server.address))
        .await
        .expect("the client is admitted");
    let mut session = Guest::introduce(channel, Join::new(""));
    let closed = session.end().await;
    assert_eq!(closed.code.0, BANNED.1);
    let counted = r#"nowcast_client_closed_total{code="73",reason="banned"}"#;
    server.until_metric(counted, |count| count >= 1.0).await;
    // The ban does not apply in another room or to another name.
    drop(server.join("yard-2", &format!("token={ben}&hz=60")).await);
    drop(server.join("yard", &format!("token={}&hz=60", token("Ada", None))).await);

    say(&mut eve, "/bans").await;
    noticed(&mut eve, "by the token's name, until ").await;
    say(&mut eve, "/unban ben").await;
    noticed(&mut eve, "taken back").await;
    drop(server.join("yard", &format!("token={ben}&hz=60")).await);

    // The ban applies in all rooms of the world, even if no player of that name is in this room. Players in other rooms are
    // removed, too.
    let elsewhere = server.join("yard-2", &format!("token={ben}&hz=60")).await;
    pause(&mut eve).await;
    say(&mut eve, "/ban --token Eve").await;
    noticed(&mut eve, "you cannot ban yourself").await;
    pause(&mut eve).await;
    say(&mut eve, "/ban --world --token Ben").await;
    noticed(&mut eve, "world yard").await;
    assert_eq!(elsewhere.until_closed().await.0, BANNED.0);
    assert_eq!(turned_away(&server, &format!("/ws/yard-3?token={ben}")).await.0, BANNED.0);
    server.stop().await;
}

/// Waits for 120 steps, because chat has a rate limit.
async fn pause(player: &mut Player) {
    let tick = player.view.tick;
    player.until_view("time", |view| view.tick >= tick + 120).await;
}

#[tokio::test]
async fn a_ban_survives_a_restart_of_the_server() {
    let folder = Folder::new();
    let process = Process::start(&folder.0);
    let secret = "07".repeat(16);
    let mut eve = TestServer::join_at(process.address, "yard", "name=Eve&hz=60").await;
    let mallory = TestServer::join_at(process.address, "yard", &format!("name=Mallory&key={secret}")).await;
    eve.until_view("Mallory", |view| view.players.values().any(|person| person.name == "Mallory")).await;
    say(&mut eve, "/ban Mallory").await;
    noticed(&mut eve, "banned: ").await;
    assert_eq!(mallory.until_closed().await.0, BANNED.0);
    // A name that the server does not know cannot be banned. The editor receives a reason.
    let ghost = TestServer::join_at(process.address, "yard", "name=Ghost").await;
    eve.until_view("a ghost", |view| view.players.values().any(|person| person.name == "Ghost")).await;
    say(&mut eve, "/ban Ghost").await;
    noticed(&mut eve, "cannot be identified").await;
    drop(ghost);
    // The test waits for the next commit, which stores the ban.
    pause(&mut eve).await;
    process.kill();

    let process = Process::start(&folder.0);
    let mut eve = TestServer::join_at(process.address, "yard", "name=Eve&hz=60").await;
    let path = format!("ws://{}/ws/yard?name=Mallory&key={secret}", process.address);
    let stream = tokio::net::TcpStream::connect(process.address).await.expect("the server listens");
    let (socket, _) = tokio_tungstenite::client_async(path, stream)
        .await
        .expect("a banned client is admitted to receive the reason");
    assert_eq!(Player::new(socket, Encoding::Json).until_closed().await.0, BANNED.0);
    say(&mut eve, "/unban Mallory").await;
    noticed(&mut eve, "taken back").await;
    TestServer::join_at(process.address, "yard", &format!("name=Mallory&key={secret}")).await;
    process.end();
}
