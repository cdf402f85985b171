//! Several worlds on one server, and faulty worlds.

use std::time::Duration;

use crate::common;
use crate::common::session::Guest;
use crate::common::{Player, TestServer, config, plaza, sample, script};
use nowcast::CarrierKind;
use nowcast_server::admission::{Claims, TokenKey, unix_time};
use nowcast_server::{Config, Server};
use nowcast_world_protocol::plain::{ClientMessage, Encoding};
use nowcast_world_protocol::session::Outcome;
use serde_json::Value as Json;

/// Returns the body of an answer as JSON.
fn body(answer: &str) -> Json {
    let (_, body) = answer.split_once("\r\n\r\n").expect("the answer has a head");
    serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {answer}"))
}

#[tokio::test]
async fn rooms_show_the_worlds_of_their_names_side_by_side() {
    let server = TestServer::with(|config| {
        config.worlds = vec![plaza(), sample("playground"), sample("football"), sample("minimal")];
        config.limits.rooms_per_address_max = 16;
    })
    .await;
    let mut players = Vec::new();
    for (room, world, kind) in [
        ("plaza", "plaza", "lamp"),
        ("playground", "playground", "block"),
        ("football-2", "football", "ball"),
        ("minimal", "minimal", "ball"),
        ("anywhere", "plaza", "lamp"),
        ("plaza--tuesday", "plaza", "lamp"),
    ] {
        let mut player = server.join(room, "hz=20").await;
        assert_eq!(player.view.world, world, "{room}");
        player.until_view(kind, |view| view.of_kind(kind).next().is_some()).await;
        players.push(player);
    }
    assert_eq!(players[1].view.of_kind("block").count(), 300);
    let mut guest = Guest::join(&server, "playground", "Ada", CarrierKind::WebSocket).await;
    guest.until("the blocks", |guest| guest.view.of_kind("block").count() == 300).await;

    let rooms = body(&server.get("/api/rooms").await);
    let rooms: Vec<String> = rooms["rooms"]
        .as_array()
        .expect("the value is a list")
        .iter()
        .map(|room| format!("{} {} {}", room["name"], room["world"], room["players"]))
        .collect();
    assert_eq!(
        rooms,
        [
            r#""anywhere" "plaza" 1"#,
            r#""football-2" "football" 1"#,
            r#""minimal" "minimal" 1"#,
            r#""playground" "playground" 2"#,
            r#""plaza" "plaza" 1"#,
        ]
    );
    assert!(!server.get("/api/worlds").await.contains("tuesday"), "a private room is not listed");
    let studio = server.get("/studio/api/rooms").await;
    assert!(studio.contains("plaza--tuesday"), "operators see private rooms: {studio}");
    let worlds = body(&server.get("/api/worlds").await);
    let worlds = worlds["worlds"].as_array().expect("the value is a list");
    let names: Vec<&str> = worlds.iter().filter_map(|world| world["name"].as_str()).collect();
    assert_eq!(names, ["plaza", "playground", "football", "minimal"], "in the order of the configuration");
    assert_eq!(worlds[0]["rooms"], serde_json::json!(["anywhere", "plaza"]));
    for world in worlds {
        let version = world["version"].as_str().expect("the version is a hash");
        assert!(version.len() == 16 && world["fault"].is_null(), "{world}");
    }
    // An action in one world has no effect in another.
    players[0].act("light", &[("lit", true.into())]).await;
    let is_lit =
        |view: &common::view::View| view.of_kind("lamp").all(|(_, lamp)| lamp.attributes["lit"] == true);
    players[0].until_view("the light", is_lit).await;
    let other = players.get_mut(4).expect("there are six");
    let now = other.view.tick;
    other.until_view("a second", |view| view.tick > now + 60).await;
    assert!(!is_lit(&other.view));
    server.stop().await;
}

#[tokio::test]
async fn start_pages_receive_the_description_of_a_world_with_its_picture() {
    let server = TestServer::with(|config| {
        config.worlds = vec![sample("football"), plaza()];
        config.world_groups.insert("plaza".to_owned(), "Quiet places".to_owned());
    })
    .await;
    let worlds = body(&server.get("/api/worlds").await);
    let football = &worlds["worlds"][0];
    assert!(football["goal"].as_str().is_some_and(|goal| goal.contains("goals")), "{football}");
    assert_eq!(football["how"].as_array().map(Vec::len), Some(3), "{football}");
    let picture = football["picture"].as_str().expect("the world has a picture");
    let answer = server.get(picture).await;
    let head = answer.split("\r\n\r\n").next().unwrap_or_default();
    assert!(head.starts_with("HTTP/1.1 200") && head.contains("image/webp"), "{head}");
    let plain = &worlds["worlds"][1];
    assert!(football["group"].is_null() && plain["group"] == "Quiet places", "{worlds}");
    assert!(plain["goal"].is_null() && plain["picture"].is_null() && plain["how"] == serde_json::json!([]));
    server.stop().await;
}

#[tokio::test]
async fn a_server_without_a_world_or_with_one_that_does_not_load_is_not_started() {
    let start = |worlds| async { Server::bind(Config { worlds, ..config() }).await.map(drop) };
    let error = start(Vec::new()).await.expect_err("the configuration has no world");
    assert_eq!(error.to_string(), "there is no world to serve");
    let broken = script("park", "local world = require('@nowcast/world')\nworld.kin('tree')");
    let error = start(vec![plaza(), broken]).await.expect_err("the world does not load");
    assert!(error.to_string().starts_with("world park: world.luau:2: "), "{error}");
    let error = start(vec![plaza(), plaza()]).await.expect_err("which of the two?");
    assert_eq!(error.to_string(), r#"two worlds are called "plaza""#);
}

/// A world whose rules never finish.
const RUNAWAY: &str = r#"
local world = require("@nowcast/world")
local Person = world.kind("person", { walker = {} })
world.on("join", function(player) player:spawn_avatar(Person, { at = vector.create(0, 1, 0) }) end)
world.on("step", function()
    while true do end
end)
"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_runaway_script_disconnects_no_client_and_does_not_affect_another_room() {
    let server = TestServer::with(|config| config.worlds = vec![plaza(), script("runaway", RUNAWAY)]).await;
    let mut good = server.join("plaza", "hz=60").await;
    let mut bad = server.join("runaway", "hz=60").await;
    let mut guest = Guest::join(&server, "runaway", "Ada", CarrierKind::WebSocket).await;
    for player in [&mut good, &mut bad] {
        let now = player.view.tick;
        player.until_view("two seconds", |view| view.tick > now + 120).await;
    }
    let now = guest.view.tick;
    guest.until("two seconds", |guest| guest.view.tick > now + 120).await;
    for view in [&bad.view, &guest.view] {
        let failed: Vec<&str> = view
            .reports
            .iter()
            .filter(|(outcome, _, _)| *outcome == Outcome::Failed)
            .map(|(_, _, text)| text.as_str())
            .collect();
        assert!(failed.iter().any(|text| text.starts_with("world.luau:6: ")), "{failed:?}");
        assert!(failed.len() <= 2, "each error is reported once, not in every step: {failed:?}");
    }
    assert!(good.view.reports.iter().all(|(is, _, _)| *is == Outcome::Runs), "{:?}", good.view.reports);
    let failed = server.metric(r#"nowcast_rules_total{outcome="failed"}"#);
    assert!(failed > 100.0, "each of its steps counts: {failed}");
    assert_eq!(server.metric("nowcast_clients"), 3.0);
    bad.say(ClientMessage::Chat { text: "still here".into() }).await;
    assert_eq!(bad.until_chat().await.1, "still here");
    server.stop().await;
}

/// A world for one player.
const HERMITAGE: &str = r#"
local world = require("@nowcast/world")
world.settings { players_max = 1 }
local Person = world.kind("person", { walker = {} })
world.on("join", function(player) player:spawn_avatar(Person, { at = vector.create(0, 1, 0) }) end)
"#;

#[tokio::test]
async fn a_client_refused_by_a_full_world_receives_the_reason_and_leaves_no_trace() {
    let key = TokenKey::secret(b"32 bytes that nobody else knows.").expect("the secret is long enough");
    let token = Claims::new(unix_time() + Duration::from_secs(600)).name("Ada").sign(&key);
    let token = token.expect("a secret signs");
    let server = TestServer::with(|config| {
        config.worlds = vec![script("hermitage", HERMITAGE)];
        config.entry.key = Some(key);
        config.entry.anonymous = true;
    })
    .await;
    let mut hermit = server.join("hermitage", "name=Eve&hz=60").await;
    let socket = server.connect(&format!("/ws/hermitage?token={token}")).await.expect("the room has seats");
    let (code, reason) = Player::new(socket, Encoding::Json).until_closed().await;
    assert_eq!(
        (code, reason.as_str()),
        (4011, "room 'hermitage' is full, 1 players are in it: try again later, or enter another room")
    );
    let channel =
        Guest::open(&server, "hermitage", CarrierKind::WebSocket).await.expect("the room has seats");
    let join = nowcast_world_protocol::session::ToWorld::Join {
        protocol: nowcast_world_protocol::session::PROTOCOL,
        name: "Cleo".into(),
        network_hz: 0,
        key: Vec::new(),
    };
    channel.try_event(&nowcast_wire::encode_to_vec(&join)).expect("the lane is empty");
    let closed = tokio::time::timeout(common::PATIENCE, channel.closed()).await.expect("the session ends");
    assert_eq!(closed.code.0, 70, "{closed}");

    // The name in the refused token must be free.
    hermit.say(ClientMessage::Name { name: "Ada".into() }).await;
    let id = hermit.id;
    hermit.until_view("her name", |view| view.players[&id].name == "Ada").await;
    drop(hermit);
    server.until_metric("nowcast_clients", |clients| clients == 0.0).await;
    assert_eq!(server.join("hermitage", &format!("token={token}")).await.name(), "Ada");
    server.stop().await;
}
