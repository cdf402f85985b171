//! Rooms that show history: permission to view, the shown state, playback, and copies of a moment.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::common::process::Folder;
use crate::common::session::Guest;
use crate::common::view::View;
use crate::common::{Player, TestServer, script};
use nowcast::{CarrierKind, Connector};
use nowcast_server::admission::{Claims, TokenKey, unix_time};
use nowcast_server::script::Sources;
use nowcast_server::store::UtcTime;
use nowcast_server::{Config, Rules};
use nowcast_world_client::Join;
use nowcast_world_protocol::plain::ClientMessage;
use serde_json::Value as Json;

const RULES: &str = r#"
local world = require("@nowcast/world")
world.state { count = 0 }
local Floor = world.kind("floor", { body = { motion = "fixed", shape = "box", size = vector.create(400, 1, 400) } })
local Block = world.kind("block", { body = { motion = "fixed", shape = "box", size = vector.create(1, 1, 1) } })
local Person = world.kind("person", { walker = {} })
world.on("start", function() Floor:spawn { at = vector.create(0, -0.5, 0) } end)
world.on("join", function(player) player:spawn_avatar(Person, { at = vector.create(player.id, 0.92, 20) }) end)
world.action("build", {}, function()
    world.state.count += 1
    Block:spawn { at = vector.create(0, world.state.count, 0) }
    world.show("count", world.state.count)
    world.emit("built", { count = world.state.count })
end)
world.action("clear", {}, function() for _, block in Block:all() do block:despawn() end end)
"#;

async fn serve(folder: &Folder, change: impl FnOnce(&mut Config)) -> TestServer {
    TestServer::with(|config| {
        config.worlds = vec![script("yard", RULES)];
        config.data = Some(folder.0.clone());
        change(config);
    })
    .await
}

fn blocks(view: &View) -> usize {
    view.of_kind("block").count()
}

/// Waits for this many steps of the world.
async fn steps(player: &mut Player, steps: u64) {
    let tick = player.view.tick;
    player.until_view("time", |view| view.tick >= tick + steps).await;
}

fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("the time is after 1970").as_millis() as u64
}

/// Formats a time in the notation of room names, to the millisecond.
fn moment(time_ms: u64) -> String {
    let seconds = UtcTime(time_ms).to_string().replace(['-', ':', 'Z'], "");
    format!("{seconds}.{:03}Z", time_ms % 1_000)
}

/// Builds blocks with the numbers 0, 1, 2, …, with pauses between them. Returns when there are `count` blocks.
async fn build(ada: &mut Player, count: usize) -> Vec<u64> {
    // A world is stored from its first player action on.
    ada.act("clear", &[]).await;
    steps(ada, 30).await;
    let mut times = vec![now_ms()];
    for built in 1..=count {
        steps(ada, 30).await;
        ada.act("build", &[]).await;
        ada.until_view("a block more", |view| blocks(view) == built).await;
        steps(ada, 30).await;
        times.push(now_ms());
    }
    times
}

async fn say(player: &mut Player, text: &str) {
    player.say(ClientMessage::Chat { text: text.into() }).await;
}

fn state<'v>(view: &'v View, name: &str) -> Option<&'v Json> {
    view.screen("@past")?.get(name)
}

#[tokio::test]
async fn history_shows_the_old_state_and_the_present_continues() {
    let folder = Folder::new();
    let server = serve(&folder, |_| {}).await;
    let mut ada = server.join("yard", "name=Ada&hz=60").await;
    let times = build(&mut ada, 2).await;
    ada.act("clear", &[]).await;
    ada.until_view("nothing", |view| blocks(view) == 0).await;

    let mut eve = server.join(&format!("yard.{}", moment(times[2])), "name=Eve&hz=60").await;
    eve.until_view("both blocks", |view| blocks(view) == 2).await;
    eve.until_view("Ada, and not Eve", |view| {
        view.players.len() == 1 && view.players.values().all(|person| person.name == "Ada")
    })
    .await;
    eve.until_view("the state of the room", |view| state(view, "room") == Some(&Json::from("yard"))).await;
    assert_eq!(state(&eve.view, "exact"), Some(&Json::from(true)));
    let number =
        |view: &View, name: &str| state(view, name).and_then(Json::as_f64).expect("the state has this value");
    let at = number(&eve.view, "at");
    assert!((at - times[2] as f64).abs() < 40.0, "{at} is shown, and {} was requested", times[2]);
    assert!(number(&eve.view, "from") <= times[0] as f64 && number(&eve.view, "to") >= at);

    // The same room shows another moment. It sends only the differences.
    say(&mut eve, &format!("/at {}", moment(times[1]))).await;
    eve.until_view("one block", |view| {
        blocks(view) == 1 && view.screen("count").and_then(Json::as_f64) == Some(1.0)
    })
    .await;

    // No action is possible.
    eve.act("build", &[]).await;
    eve.until_view("the refusal", |view| view.refused.iter().any(|(_, why)| why.contains("the past"))).await;
    say(&mut eve, "hello").await;
    eve.until_view("a notice", |view| view.notices.iter().any(|text| text.contains("not sent in the past")))
        .await;
    say(&mut eve, "/ban Ada").await;
    eve.until_view("another", |view| view.notices.iter().any(|text| text.contains("in the room itself")))
        .await;
    assert_eq!(blocks(&eve.view), 1);

    // History can be shown again, up to the present.
    let tick = ada.view.tick;
    say(&mut eve, "/play").await;
    eve.until_view("the second block again", |view| blocks(view) == 2).await;
    eve.until_view("the events of the rules", |view| {
        view.heard("built").any(|payload| payload["count"].as_f64() == Some(2.0))
    })
    .await;
    eve.until_view("the clearing", |view| blocks(view) == 0).await;
    say(&mut eve, "/pause").await;
    eve.until_view("the pause", |view| state(view, "playing") == Some(&Json::from(false))).await;
    ada.until_view("time", |view| view.tick > tick).await;
    ada.act("build", &[]).await;
    ada.until_view("the present", |view| blocks(view) == 1 && view.players.len() == 1).await;

    let rooms = server.get("/api/rooms").await;
    assert!(rooms.contains(r#""name":"yard","#) && !rooms.contains("yard."), "{rooms}");
    drop(eve);
    server.until_metric("nowcast_rooms", |rooms| rooms == 1.0).await;
    server.stop().await;
    let reader = nowcast_server::store::SqliteReader::open(&folder.0).expect("the store exists");
    let names: Vec<_> =
        reader.list().expect("the list can be read").into_iter().map(|world| world.name).collect();
    assert_eq!(names.len(), 1, "no history room is stored: {names:?}");
}

#[tokio::test]
async fn a_moment_before_the_history_shows_the_first_one_and_says_so() {
    let folder = Folder::new();
    let server = serve(&folder, |_| {}).await;
    let mut ada = server.join("yard", "name=Ada&hz=60").await;
    build(&mut ada, 1).await;
    let address = format!("nowcast://{}/yard.-1d", server.address);
    let channel = Connector::new().carriers([CarrierKind::WebSocket]).connect(&address).await;
    let mut eve = Guest::introduce(channel.expect("the room has space"), Join::new("Eve"));
    eve.until("the beginning", |eve| eve.view.screen("@past").is_some() && blocks(&eve.view) == 0).await;
    let older = |eve: &Guest| {
        let notices = eve.view.notices.iter();
        notices.filter(|text| text.contains("older than the stored history")).count()
    };
    eve.until("the notice that the moment is older", |eve| older(eve) == 1).await;
    eve.say("/at 999999999");
    eve.until("the end", |eve| blocks(&eve.view) == 1).await;
    assert_eq!(older(&eve), 1, "a step of the history is not older than it");
    eve.say("/at -1d");
    eve.until("the first moment again", |eve| blocks(&eve.view) == 0 && older(eve) == 2).await;
    eve.say("/at noon");
    eve.until("the notice about times", |eve| {
        eve.view.notices.iter().any(|text| text.contains("such as -5m"))
    })
    .await;
    server.stop().await;
}

#[tokio::test]
async fn earlier_rules_apply_in_their_own_time() {
    let folder = Folder::new();
    let server = serve(&folder, |_| {}).await;
    let mut ada = server.join("yard", "name=Ada&hz=60").await;
    let times = build(&mut ada, 1).await;
    server.stop().await;
    let newer = format!("{RULES}\nworld.kind('cloud', {{}})\nworld.action('rain', {{}}, function() end)");
    let server = serve(&folder, |config| {
        config.worlds[0].rules = Rules::Script(Sources::of_main(&newer));
    })
    .await;
    let mut ada = server.join("yard", "name=Ada&hz=60").await;
    ada.act("build", &[]).await;
    ada.until_view("two blocks", |view| blocks(view) == 2).await;
    steps(&mut ada, 60).await;
    let late = now_ms();
    steps(&mut ada, 150).await;
    let mut eve = server.join(&format!("yard.{}", moment(times[1])), "name=Eve&hz=60").await;
    eve.until_view("one block", |view| blocks(view) == 1 && !view.actions.contains_key("rain")).await;
    say(&mut eve, &format!("/at {}", moment(late))).await;
    eve.until_view("newer rules", |view| blocks(view) == 2 && view.actions.contains_key("rain")).await;
    say(&mut eve, &format!("/at {}", moment(times[1]))).await;
    eve.until_view("older rules", |view| blocks(view) == 1 && !view.actions.contains_key("rain")).await;
    // Playback passes over the time in which no server ran.
    say(&mut eve, "/play").await;
    eve.until_view("the second block", |view| blocks(view) == 2 && view.actions.contains_key("rain")).await;
    server.stop().await;
}

#[tokio::test]
async fn a_moment_can_be_copied_to_a_separate_room() {
    let folder = Folder::new();
    let server = serve(&folder, |config| config.worlds.push(script("attic", RULES))).await;
    let mut ada = server.join("yard", "name=Ada&hz=60").await;
    let times = build(&mut ada, 2).await;
    let mut eve = server.join(&format!("yard.{}", moment(times[1])), "name=Eve&hz=60").await;
    eve.until_view("one block", |view| blocks(view) == 1).await;
    for (name, why) in [
        ("yard", "a room of that name has players"),
        ("Old Yard", "a room is called by"),
        ("attic-2", "shows the world attic: call it yard-attic-2"),
    ] {
        say(&mut eve, &format!("/copy {name}")).await;
        eve.until_view(why, |view| view.notices.iter().any(|text| text.contains(why))).await;
    }
    // The test waits, because chat has a rate limit.
    steps(&mut eve, 120).await;
    say(&mut eve, "/copy yard-old").await;
    eve.until_view("the copy", |view| view.notices.iter().any(|text| text.contains("/r/yard-old"))).await;
    let mut ben = server.join("yard-old", "name=Ben&hz=60").await;
    ben.until_view("one block", |view| blocks(view) == 1).await;
    ben.act("build", &[]).await;
    ben.until_view("a second one", |view| blocks(view) == 2).await;
    drop(ben);
    steps(&mut eve, 60).await;
    eve.view.notices.clear();
    say(&mut eve, "/copy yard-old").await;
    let is_refused =
        |text: &String| text.contains("a room of that name") || text.contains("already has that name");
    eve.until_view("the refusal", |view| view.notices.iter().any(is_refused)).await;
    server.stop().await;
}

fn key() -> TokenKey {
    TokenKey::secret(b"32 bytes that nobody else knows.").expect("the secret is long enough")
}

fn token(name: &str, role: Option<&str>) -> String {
    let claims = Claims::new(unix_time() + Duration::from_secs(600)).name(name).room("yard");
    let claims = match role {
        Some(role) => claims.role(role),
        None => claims,
    };
    claims.sign(&key()).expect("a secret signs")
}

#[tokio::test]
async fn only_editors_view_history_and_history_rooms_are_limited() {
    let folder = Folder::new();
    let server = serve(&folder, |config| {
        config.entry.key = Some(key());
        config.limits.past_rooms_max = 1;
    })
    .await;
    let (editor, visitor) = (token("Eve", Some("editor")), token("Ben", None));
    let mut ada = server.join("yard", &format!("token={visitor}&hz=60")).await;
    build(&mut ada, 1).await;
    say(&mut ada, "/at -5m").await;
    ada.until_view("the refusal", |view| view.notices.iter().any(|text| text.contains("role 'editor'")))
        .await;
    assert!(ada.view.said.is_empty(), "no other client receives a command");

    let connect = |room: &str, token: &str| {
        let address = format!("nowcast://{}/{room}", server.address);
        let connector = Connector::new().carriers([CarrierKind::WebSocket]).token(token);
        async move { connector.connect(&address).await }
    };
    let refused = connect("yard.-1s", &visitor).await.expect_err("the client is not an editor").to_string();
    assert!(refused.contains("viewing history requires"), "{refused}");
    assert!(server.connect(&format!("/ws/yard.-1s?token={visitor}")).await.is_err());
    assert!(server.connect(&format!("/ws/yard.-1s?token={editor}&name=Eve")).await.is_ok());
    for name in ["yard.", "yard.soon", "yard.-5m.-5m", "Yard.-5m"] {
        assert!(connect(name, &editor).await.is_err(), "{name}");
    }
    server.until_metric("nowcast_rooms", |rooms| rooms == 1.0).await;
    let eve = connect("yard.-1s", &editor).await.expect("the client is an editor");
    let mut eve = Guest::introduce(eve, Join::new(""));
    eve.until("the past", |eve| eve.view.screen("@past").is_some()).await;
    let full =
        connect("yard.-2s", &editor).await.expect_err("another room already shows history").to_string();
    assert!(full.contains("1 rooms already show history"), "{full}");
    drop(eve);
    server.until_metric("nowcast_rooms", |rooms| rooms == 1.0).await;
    server.stop().await;
}

#[tokio::test]
async fn without_a_store_or_a_stored_world_there_is_no_history() {
    let server = TestServer::with(|config| config.worlds = vec![script("yard", RULES)]).await;
    let answer = server.get("/nowcast/yard.-5m").await;
    assert!(answer.contains("no_such_name") && answer.contains("keeps no worlds"), "{answer}");
    server.stop().await;

    let folder = Folder::new();
    let server = serve(&folder, |_| {}).await;
    let socket = server
        .connect("/ws/yard.-5m?name=Eve")
        .await
        .expect("a client without the role is admitted to receive the reason");
    let (code, reason) =
        Player::new(socket, nowcast_world_protocol::plain::Encoding::Json).until_closed().await;
    assert_eq!(code, 4011);
    assert!(reason.contains("no history of room 'yard' is stored"), "{reason}");
    server.until_metric("nowcast_rooms", |rooms| rooms == 0.0).await;
    server.stop().await;
}
