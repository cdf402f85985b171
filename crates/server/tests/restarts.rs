//! Worlds that survive their process. The tests cover SIGKILL, a graceful end, new rules, a second process, and worlds that
//! cannot be loaded.

mod common;

use std::sync::Arc;
use std::time::{Duration, Instant};

use common::process::{Folder, Process, serve_if_child};
use common::session::Guest;
use common::view::View;
use common::{PATIENCE, Player, TestServer, config, script};
use nowcast_server::store::{
    Continuity, Moment, Options, Snapshot, SqliteReader, SqliteStore, Store, WorldName,
};
use nowcast_server::world::{Body, ColliderShape, Definition, Kind, Random, World};
use nowcast_server::{BindError, Rules, Server, WorldConfig, restore_kept};
use nowcast_world_protocol::plain::{ClientMessage, Encoding};
use nowcast_world_protocol::session::Outcome;
use serde_json::Value as Json;
use tokio::time::timeout;

const RULES: &str = r#"
local world = require("@nowcast/world")
world.state { count = 0, left = 0 }
local Floor = world.kind("floor", { body = { motion = "fixed", shape = "box", size = vector.create(400, 1, 400) } })
local Block = world.kind("block", { body = { shape = "box", size = vector.create(1, 1, 1) } })
local Person = world.kind("person", { walker = {} })
local function show()
    world.show("count", world.state.count)
    world.show("left", world.state.left)
end
world.on("start", function() Floor:spawn { at = vector.create(0, -0.5, 0) } end)
world.on("join", function(player)
    player:spawn_avatar(Person, { at = vector.create(player.id % 40, 0.92, 20) })
    show()
end)
world.on("leave", function() world.state.left += 1 show() end)
world.action("count", {}, function() world.state.count += 1 show() end)
world.action("build", {}, function()
    world.state.count += 1
    Block:spawn { at = vector.create(0, world.state.count * 1.05, 0) }
    show()
end)
"#;

#[tokio::test]
async fn the_process_that_serves_until_it_is_killed() {
    serve_if_child(script("yard", RULES)).await;
}

/// A server in this process that stores its worlds.
async fn serve(folder: &Folder, world: WorldConfig) -> TestServer {
    TestServer::with(|config| {
        config.worlds = vec![world];
        config.data = Some(folder.0.clone());
    })
    .await
}

fn yard() -> WorldName {
    WorldName::new("yard").expect("the name is valid")
}

fn shown(view: &View, place: &str) -> u64 {
    view.screen(place).and_then(Json::as_f64).map_or(0, |number| number as u64)
}

fn blocks(view: &View) -> usize {
    view.of_kind("block").count()
}

/// Waits for this many steps of the world.
async fn steps(player: &mut Player, steps: u32) {
    let tick = player.view.tick;
    player.until_view("time", |view| view.tick >= tick + u64::from(steps)).await;
}

#[tokio::test]
async fn a_built_tower_stands_after_a_kill_and_equals_the_recording() {
    let folder = Folder::new();
    let process = Process::start(&folder.0);
    let mut ada = TestServer::join_at(process.address, "yard", "name=Ada&hz=60").await;
    for _ in 0..5 {
        ada.act("build", &[]).await;
    }
    ada.until_view("five blocks", |view| blocks(view) == 5 && shown(view, "count") == 5).await;
    steps(&mut ada, 60).await;
    let first = ada.id;
    process.kill();

    let saved = SqliteReader::open(&folder.0).unwrap().load(&yard(), Moment::Last).unwrap();
    let saved = saved.expect("the world was stored");
    let kept = saved.replay(restore_kept).expect("the replay equals the recording");

    let process = Process::start(&folder.0);
    let mut ada = TestServer::join_at(process.address, "yard", "name=Ada&hz=60").await;
    ada.until_view("five blocks", |view| blocks(view) == 5 && shown(view, "count") == 5).await;
    assert!(ada.view.tick >= kept.tick(), "time goes on");
    assert!(ada.id > first, "no number is given twice");
    ada.until_view("the earlier player has left", |view| shown(view, "left") == 1 && view.players.len() == 1)
        .await;
    ada.act("build", &[]).await;
    ada.until_view("six blocks", |view| blocks(view) == 6).await;
    drop(ada);
    process.end();

    // The second process ended with a snapshot. The replay up to that snapshot includes the time of the kill, and every hash
    // is correct.
    let report = SqliteReader::open(&folder.0).unwrap().check(&yard(), restore_kept).unwrap();
    assert_eq!((report.damage, report.holes), (Vec::new(), 0));
    assert!(report.snapshots >= 2 && report.ticks > kept.tick() - saved.snapshot.tick, "{}", report.ticks);
}

#[tokio::test]
async fn state_seen_a_fifth_of_a_second_before_a_kill_survives() {
    const KILLS: usize = 20;
    let seed = std::env::var("NOWCAST_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(|| u64::from(std::process::id()));
    println!("NOWCAST_SEED={seed}");
    let mut random = Random::new(seed);
    let folder = Folder::new();
    let mut acted = 0;
    let mut least = 0;
    for kill in 0..KILLS {
        let process = Process::start(&folder.0);
        let mut ada = TestServer::join_at(process.address, "yard", "name=Ada&hz=60").await;
        ada.until_view("the count", |view| view.screen("count").is_some()).await;
        let found = shown(&ada.view, "count");
        assert!(found >= least, "kill {kill} of seed {seed}: {found} is there, and {least} was seen");
        assert!(found <= acted, "kill {kill} of seed {seed}: {found} of {acted}");
        let end = Instant::now() + Duration::from_millis(250 + random.bits() % 700);
        let mut seen = vec![(Instant::now(), found)];
        while Instant::now() < end {
            // An action in flight at the kill may be applied or not.
            acted += 1;
            ada.act("count", &[]).await;
            let before = shown(&ada.view, "count");
            ada.until_view("the next count", |view| shown(view, "count") > before).await;
            seen.push((Instant::now(), shown(&ada.view, "count")));
            // The rate of actions does not allow a client to act faster than this for long.
            steps(&mut ada, 6).await;
        }
        let killed = Instant::now();
        process.kill();
        let early = seen.iter().rev().find(|(at, _)| killed - *at >= Duration::from_millis(200));
        least = early.map_or(found, |(_, count)| *count);
        acted = seen.last().map_or(acted, |(_, count)| *count);
    }
}

#[tokio::test]
async fn rules_changed_during_downtime_apply_and_failing_ones_are_rolled_back() {
    let folder = Folder::new();
    let server = serve(&folder, script("yard", RULES)).await;
    let mut ada = server.join("yard", "name=Ada&hz=60").await;
    ada.act("build", &[]).await;
    ada.until_view("a block", |view| blocks(view) == 1 && shown(view, "count") == 1).await;
    server.stop().await;

    let by_ten = RULES.replace("count += 1", "count += 10");
    let server = serve(&folder, script("yard", &by_ten)).await;
    let mut ada = server.join("yard", "name=Ada&hz=60").await;
    ada.act("count", &[]).await;
    ada.until_view("the new rule", |view| shown(view, "count") == 11 && blocks(view) == 1).await;
    server.stop().await;

    let bad = format!("{RULES}\nworld.on('step', function() world.state.count = 0 error('no') end)");
    let server = serve(&folder, script("yard", &bad)).await;
    let mut ada = server.join("yard", "name=Ada&hz=60").await;
    let is_back = |view: &View| view.reports.iter().any(|(outcome, _, _)| *outcome == Outcome::RolledBack);
    ada.until_view("the rollback", is_back).await;
    ada.act("count", &[]).await;
    ada.until_view("the earlier rules", |view| shown(view, "count") == 21).await;
    server.stop().await;
    let report = SqliteReader::open(&folder.0).unwrap().check(&yard(), restore_kept).unwrap();
    assert_eq!(report.damage, Vec::<String>::new());
}

#[tokio::test]
async fn a_deserted_room_resumes_when_a_client_returns() {
    let folder = Folder::new();
    let server = TestServer::with(|config| {
        config.worlds = vec![script("yard", RULES)];
        config.data = Some(folder.0.clone());
        config.timeouts.room_empty = Duration::from_millis(20);
        config.timeouts.room_unused = Duration::from_millis(20);
    })
    .await;
    for count in 1..=3 {
        let mut ada = server.join("yard", "name=Ada&hz=60").await;
        ada.act("build", &[]).await;
        ada.until_view("a block more", |view| {
            blocks(view) == count && shown(view, "left") + 1 == count as u64
        })
        .await;
        drop(ada);
        server.until_metric("nowcast_rooms", |rooms| rooms == 0.0).await;
    }
    // A world is stored although its player does nothing, because timers may change it.
    drop(server.join("idle", "name=Ada&hz=60").await);
    server.until_metric("nowcast_rooms", |rooms| rooms == 0.0).await;
    assert!(server.metric("nowcast_store_snapshots_total") >= 3.0);
    assert_eq!(server.metric("nowcast_store_batches_dropped_total"), 0.0);
    let health = server.get("/healthz").await;
    assert!(health.ends_with("\r\n\r\nok\n"), "{health}");
    server.stop().await;
    let kept = SqliteReader::open(&folder.0).unwrap().list().unwrap();
    assert_eq!(kept.iter().map(|world| world.name.as_str()).collect::<Vec<_>>(), ["idle", "yard"]);
}

#[tokio::test]
async fn a_world_that_a_client_only_joined_resumes_after_a_kill_with_the_client() {
    let folder = Folder::new();
    let process = Process::start(&folder.0);
    let mut ada = Guest::join_with(process.address, "yard", "Ada", [7; 16]).await;
    let joined = ada.view.tick;
    ada.until("one second of the world", |ada| ada.view.tick > joined + 60).await;
    let (id, seen) = (ada.id, ada.view.tick);
    process.kill();

    let saved = SqliteReader::open(&folder.0).unwrap().load(&yard(), Moment::Last).unwrap();
    let kept =
        saved.expect("the world was stored").replay(restore_kept).expect("the replay equals the recording");
    assert!(kept.tick() > joined, "stored until step {} of {seen}", kept.tick());
    let process = Process::start(&folder.0);
    let again = Guest::join_with(process.address, "yard", "Ada", [7; 16]).await;
    assert!(again.view.resumed && again.id == id, "the client resumed its player");
    drop(again);
    process.end();
}

#[tokio::test]
async fn rules_with_state_in_variables_lose_only_that_state() {
    let folder = Folder::new();
    let forgetful = RULES.replace(
        "world.state.count += 1\n    Block",
        "built = (built or 0) + 1\n    world.state.count += built\n    Block",
    );
    let forgetful = forgetful.replacen("world.state {", "local built\nworld.state {", 1);
    let world = || script("yard", &forgetful);
    let server = serve(&folder, world()).await;
    let mut ada = server.join("yard", "name=Ada&hz=60").await;
    for count in [1, 3, 6] {
        ada.act("build", &[]).await;
        ada.until_view("the sum", |view| shown(view, "count") == count).await;
    }
    server.stop().await;
    let server = serve(&folder, world()).await;
    let mut ada = server.join("yard", "name=Ada&hz=60").await;
    ada.act("build", &[]).await;
    ada.until_view("the sum", |view| shown(view, "count") == 7 && blocks(view) == 4).await;
    server.stop().await;
}

#[tokio::test]
async fn a_store_that_cannot_write_stops_no_world_and_catches_up() {
    let folder = Folder::new();
    let server = serve(&folder, script("yard", RULES)).await;
    let mut ada = server.join("yard", "name=Ada&hz=60").await;
    ada.act("build", &[]).await;
    ada.until_view("a block", |view| blocks(view) == 1).await;
    server.until_metric("nowcast_store_snapshots_total", |snapshots| snapshots == 1.0).await;

    // No other connection can write while this transaction is open.
    let other = rusqlite::Connection::open(folder.0.join("worlds.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let health = async {
        loop {
            let health = server.get("/healthz").await;
            assert!(health.starts_with("HTTP/1.1 200"), "{health}");
            if health.contains("ok, but ") {
                break health;
            }
            ada.act("count", &[]).await;
            steps(&mut ada, 12).await;
        }
    };
    let health = timeout(PATIENCE, health).await.expect("the problem is reported");
    assert!(health.contains("the disk is behind") || health.contains("worlds are not stored"), "{health}");
    let count = shown(&ada.view, "count");
    ada.act("count", &[]).await;
    ada.until_view("the world continues", |view| shown(view, "count") > count).await;
    let count = shown(&ada.view, "count");
    assert!(server.metric("nowcast_store_queued_bytes") > 0.0);
    other.execute_batch("ROLLBACK").unwrap();
    drop(other);
    let healed = async { while !server.get("/healthz").await.ends_with("\r\n\r\nok\n") {} };
    timeout(PATIENCE, healed).await.expect("the store catches up");
    server.stop().await;

    let server = serve(&folder, script("yard", RULES)).await;
    let mut ada = server.join("yard", "name=Ada&hz=60").await;
    ada.until_view("all of it", |view| shown(view, "count") == count && blocks(view) == 1).await;
    server.stop().await;
}

#[tokio::test]
async fn a_second_server_on_the_same_folder_is_refused_with_a_cure() {
    let folder = Folder::new();
    let server = serve(&folder, script("yard", RULES)).await;
    let mut second = config();
    second.data = Some(folder.0.clone());
    let error = Server::bind(second).await.map(drop).expect_err("the folder is in use");
    assert!(matches!(error, BindError::Store(_)));
    let text = error.to_string();
    assert!(text.contains("another process has it open") && text.contains("choose another folder"), "{text}");
    server.stop().await;
    serve(&folder, script("yard", RULES)).await.stop().await;
}

#[tokio::test]
async fn a_world_that_cannot_be_loaded_is_refused_and_left_unchanged() {
    let folder = Folder::new();
    let store = SqliteStore::open(&folder.0, Options::default()).unwrap();
    let snapshot = Snapshot { world: b"bytes that no server wrote".to_vec(), ..Snapshot::default() };
    store.snapshot(&yard(), snapshot.clone(), Continuity::BeginsAnew, Vec::new()).unwrap();
    drop(store);
    let server = serve(&folder, script("yard", RULES)).await;
    let socket = server.connect("/ws/yard").await.expect("the room is about to open");
    let (code, reason) = Player::new(socket, Encoding::Json).until_closed().await;
    assert_eq!(code, 4011, "{reason}");
    assert!(reason.contains("'yard' cannot be loaded"), "{reason}");
    let health = server.get("/healthz").await;
    assert!(
        health.starts_with("HTTP/1.1 200") && health.contains("ok, but the stored world of room yard"),
        "{health}"
    );
    let mut ada = server.join("elsewhere", "name=Ada&hz=60").await;
    ada.say(ClientMessage::Chat { text: "other rooms open".into() }).await;
    ada.until_chat().await;
    server.stop().await;
    let saved = SqliteReader::open(&folder.0).unwrap().load(&yard(), Moment::Last).unwrap();
    assert_eq!(saved.expect("the world is still stored").snapshot, snapshot);
}

/// A world whose rules are a program. It has a tower of this many storeys.
fn tower(storeys: u32) -> WorldConfig {
    let make = move |seed, _| {
        let ground = Body::fixed(ColliderShape::Box { size: [20.0, 2.0, 20.0] });
        let mut kinds = vec![Kind::new("ground").with_body(ground)];
        kinds.extend((0..storeys).map(|storey| Kind::new(&format!("storey{storey}"))));
        let definition = Definition { kinds, ..Definition::default() };
        World::new(definition, seed, Box::new(())).expect("the definition is good")
    };
    WorldConfig { name: "tower".into(), rules: Rules::Program(Arc::new(make)) }
}

#[tokio::test]
async fn a_programs_world_resumes_and_one_of_another_program_is_set_aside() {
    let folder = Folder::new();
    let names = || -> Vec<String> {
        let kept = SqliteReader::open(&folder.0).unwrap().list().unwrap();
        kept.into_iter().map(|world| world.name.as_str().to_owned()).collect()
    };
    let mut ticks = Vec::new();
    for storeys in [3, 3, 4] {
        let server = serve(&folder, tower(storeys)).await;
        let socket = server.connect("/ws/tower?name=Ada&hz=60").await.expect("the room has space");
        let mut ada = Player::new(socket, Encoding::Json);
        ada.until_view("the beginning", |view| !view.players.is_empty()).await;
        ticks.push(ada.view.tick);
        ada.say(ClientMessage::Chat { text: "I was here".into() }).await;
        ada.until_chat().await;
        steps(&mut ada, 30).await;
        server.stop().await;
        if storeys == 3 {
            assert_eq!(names(), ["tower"]);
        }
    }
    assert!(ticks[1] >= 30 && ticks[2] < 30, "{ticks:?}");
    let names = names();
    assert!(names.len() == 2 && names[0] == "tower" && names[1].starts_with("tower@"), "{names:?}");
}
