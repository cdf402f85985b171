//! Durable actions and reconnecting clients, with SIGKILL, lost connections and new rules.

mod common;

use std::collections::BTreeSet;
use std::time::Duration;

use common::process::{Folder, Process, serve_if_child};
use common::session::Guest;
use common::view::View;
use common::{PATIENCE, Player, TestServer, script};
use nowcast::CarrierKind;
use nowcast_server::world::{Input, Random};
use nowcast_wire::Value;
use nowcast_world_protocol::plain::{ClientMessage, Encoding};
use serde_json::Value as Json;
use tokio::time::timeout;

const RULES: &str = r#"
local world = require("@nowcast/world")
world.state { seen = {}, left = 0, most = 0 }
local Floor = world.kind("floor", { body = { motion = "fixed", shape = "box", size = vector.create(400, 1, 400) } })
local Ball = world.kind("ball", { body = { shape = "sphere", radius = 0.2 } })
local Person = world.kind("person", { walker = {}, attributes = { hat = "text", holding = "entity?" } })
local function show()
    local list = {}
    for name, count in world.state.seen do table.insert(list, `{name}={count}`) end
    world.show("seen", table.concat(list, " "))
    world.show("left", world.state.left)
end
world.on("start", function() Floor:spawn { at = vector.create(0, -0.5, 0) } end)
world.on("join", function(player)
    player:spawn_avatar(Person, { at = vector.create(player.id % 40, 0.92, 20) })
    show()
end)
world.on("leave", function() world.state.left += 1 show() end)
world.action("count", { what = "text" }, function(player, arguments)
    world.state.seen[arguments.what] = (world.state.seen[arguments.what] or 0) + 1
    world.emit("counted", arguments.what)
    show()
end, { durable = true, label = "Count" })
world.action("shout", {}, function() world.emit("shouted", true) end)
world.action("dress", { hat = "text" }, function(player, arguments)
    player.avatar.hat = arguments.hat
    player.avatar.holding = Ball:spawn { at = player.avatar.position + vector.create(0, 3, 0) }
    world.show("message", "a fine hat", player)
end)
"#;

#[tokio::test]
async fn the_process_that_serves_until_it_is_killed() {
    serve_if_child(script("yard", RULES)).await;
}

/// A server in this process that stores its worlds.
async fn serve(folder: &Folder, seat_held: Duration) -> TestServer {
    TestServer::with(|config| {
        config.worlds = vec![script("yard", RULES)];
        config.data = Some(folder.0.clone());
        config.timeouts.seat_held = seat_held;
    })
    .await
}

const LONG: Duration = Duration::from_secs(600);

fn key(of: u8) -> [u8; 16] {
    [of; 16]
}

/// Returns the parameters for a client of the plain protocol that joins with its key.
fn with_key(name: &str, of: u8) -> String {
    format!("name={name}&hz=60&key={}", format!("{of:02x}").repeat(16))
}

fn left(view: &View) -> u64 {
    view.screen("left").and_then(Json::as_f64).map_or(0, |number| number as u64)
}

/// Returns how often each name was counted.
fn seen(view: &View) -> Vec<(String, u32)> {
    let text = view.screen("seen").and_then(Json::as_str).unwrap_or_default();
    let pairs = text.split_whitespace().filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, count)| (name.to_owned(), count.parse().expect("the value is a number"))).collect()
}

fn count_of(view: &View, name: &str) -> u32 {
    seen(view).into_iter().find(|(known, _)| known == name).map_or(0, |(_, count)| count)
}

fn named(number: u32) -> Value {
    Value::from(format!("n{number}"))
}

/// A client of either protocol that sends counting actions.
enum Counter {
    Plain(Box<Player>),
    Session(Box<Guest>),
}

impl Counter {
    async fn join(process: &Process, is_plain: bool) -> Self {
        if is_plain {
            let parameters = with_key("Ada", 7);
            Self::Plain(Box::new(TestServer::join_at(process.address, "yard", &parameters).await))
        } else {
            Self::Session(Box::new(Guest::join_with(process.address, "yard", "Ada", key(7)).await))
        }
    }

    fn view(&self) -> &View {
        match self {
            Self::Plain(player) => &player.view,
            Self::Session(guest) => &guest.view,
        }
    }

    fn id(&self) -> u32 {
        match self {
            Self::Plain(player) => player.id,
            Self::Session(guest) => guest.id,
        }
    }

    async fn count(&mut self, number: u32) {
        let arguments = [("what", named(number))];
        match self {
            Self::Plain(player) => player.act_once(number, "count", &arguments).await,
            Self::Session(guest) => guest.act_once(number, "count", &arguments),
        }
    }

    async fn until(&mut self, what: &str, holds: impl Fn(&View) -> bool) {
        match self {
            Self::Plain(player) => player.until_view(what, holds).await,
            Self::Session(guest) => guest.until(what, |guest| holds(&guest.view)).await,
        }
    }
}

#[tokio::test]
async fn after_twenty_kills_each_confirmed_count_exists_once_and_each_other_once_it_was_retried() {
    const KILLS: u32 = 20;
    const ACTIONS_AT_ONCE: u64 = 20;
    let seed = std::env::var("NOWCAST_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(|| u64::from(std::process::id()));
    println!("NOWCAST_SEED={seed}");
    let mut random = Random::new(seed);
    let folder = Folder::new();
    let (mut last, mut confirmed, mut tried_again) = (0, BTreeSet::new(), 0);
    let mut id = None;
    for kill in 0..=KILLS {
        let process = Process::start(&folder.0);
        // The same client joins over either protocol.
        let mut ada = Counter::join(&process, random.bits().is_multiple_of(2)).await;
        ada.until("the counts", |view| view.screen("seen").is_some()).await;
        let place = format!("kill {kill} of seed {seed}");
        assert!(id.is_none_or(|id| id == ada.id()) || last == 0, "{place}: she is another player");
        id = Some(ada.id());
        let there = seen(ada.view());
        for (name, count) in &there {
            assert_eq!(*count, 1, "{place}: {name} happened {count} times");
        }
        for number in &confirmed {
            assert_eq!(count_of(ada.view(), &format!("n{number}")), 1, "{place}: {number} was confirmed");
        }
        let open: Vec<u32> = (1..=last).filter(|number| !confirmed.contains(number)).collect();
        tried_again += open.len();
        for number in &open {
            ada.count(*number).await;
        }
        ada.until("the earlier actions", |view| open.iter().all(|number| view.done.contains(number))).await;
        if kill < KILLS {
            // Together with the retried actions, these actions stay within the limit of pending actions.
            for _ in 0..=random.bits() % (ACTIONS_AT_ONCE / 2) {
                last += 1;
                ada.count(last).await;
                // The client waits for the answer in some cases only.
                if !random.bits().is_multiple_of(3) {
                    ada.until("an answer", |view| view.done.contains(&last) || !view.undone.is_empty()).await;
                }
            }
        } else {
            ada.until("all of them", |view| seen(view).len() == last as usize).await;
            assert!(seen(ada.view()).iter().all(|(_, count)| *count == 1), "{place}");
        }
        assert!(ada.view().undone.is_empty(), "{place}: {:?}", ada.view().refused);
        confirmed.extend(ada.view().done.iter().copied());
        process.kill();
    }
    println!("{last} counts, {tried_again} of them tried again after a kill");
    assert_eq!(confirmed.len(), last as usize);
}

#[tokio::test]
async fn after_a_kill_clients_of_both_protocols_resume_their_players() {
    let folder = Folder::new();
    let process = Process::start(&folder.0);
    let mut ada = Guest::join_with(process.address, "yard", "Ada", key(1)).await;
    let mut ben = TestServer::join_at(process.address, "yard", &with_key("Ben", 2)).await;
    let mut eve = TestServer::join_at(process.address, "yard", "name=Eve&hz=60").await;
    assert!(!ada.view.resumed && !ben.view.resumed);
    for (act, hat) in [(0, "red"), (1, "blue")] {
        let arguments = [("hat", Value::from(hat))];
        if act == 0 {
            ada.act("dress", &arguments);
        } else {
            ben.act("dress", &arguments).await;
        }
    }
    let is_dressed = |view: &View, id: u32, hat: &str| {
        let avatar = view.avatar(id).and_then(|avatar| view.entities.get(&avatar));
        avatar
            .is_some_and(|avatar| avatar.attributes["hat"] == hat && avatar.attributes["holding"].is_number())
    };
    let (first, second) = (ada.id, ben.id);
    ada.until("both hats", |ada| {
        is_dressed(&ada.view, first, "red") && is_dressed(&ada.view, second, "blue")
    })
    .await;
    ada.steer(&Input { forward: 1.0, ..Input::default() });
    let avatar = ada.avatar().unwrap();
    ada.until("her walk", |ada| ada.place(avatar).is_some_and(|place| place[2] < 18.0)).await;
    let tick = eve.view.tick;
    eve.until_view("time for a commit", |view| view.tick > tick + 60).await;
    let attributes = ada.view.entities[&avatar].attributes.clone();
    process.kill();

    let process = Process::start(&folder.0);
    let mut ben = TestServer::join_at(process.address, "yard", &with_key("Ben", 2)).await;
    assert!(ben.view.resumed && ben.id == second);
    ben.until_view("his message", |view| view.screen("message") == Some(&Json::from("a fine hat"))).await;
    let mut ada = Guest::join_with(process.address, "yard", "Ada", key(1)).await;
    assert!(ada.view.resumed && ada.id == first && ada.avatar() == Some(avatar));
    ada.until("her earlier state", |ada| {
        ada.view.entities.get(&avatar).is_some_and(|seen| seen.attributes == attributes)
            && ada.view.screen("message") == Some(&Json::from("a fine hat"))
            && ada.view.players.get(&first).is_some_and(|ada| ada.name == "Ada")
    })
    .await;
    assert!(ada.place(avatar).is_some_and(|place| place[2] < 18.5), "her position is unchanged");
    // Clients without a key left when the process ended. Clients with a key did not.
    ada.until("Eve's leave", |ada| left(&ada.view) == 1 && ada.view.players.len() == 2).await;
    let other = Guest::join_with(process.address, "yard", "Ada", key(3)).await;
    assert!(!other.view.resumed && other.id > first.max(second));
    // No input was in force while no client was connected. From now on, her input is in force.
    let place = ada.place(avatar).unwrap();
    ada.steer(&Input { forward: 1.0, ..Input::default() });
    ada.until("her next step", |ada| ada.place(avatar).is_some_and(|now| now[2] < place[2] - 1.0)).await;
    process.end();
}

#[tokio::test]
async fn a_player_that_does_not_return_in_time_is_removed() {
    let folder = Folder::new();
    let server = serve(&folder, LONG).await;
    let mut ada = server.join("yard", &with_key("Ada", 1)).await;
    ada.act("shout", &[]).await;
    ada.until_view("a shout", |view| view.heard("shouted").count() == 1).await;
    // A server that ends leaves its players in the world.
    server.stop().await;

    let server = serve(&folder, Duration::from_millis(300)).await;
    let mut ben = server.join("yard", "name=Ben&hz=60").await;
    ben.until_view("Ada's leave", |view| left(view) == 1 && view.players.len() == 1).await;
    let ada = server.join("yard", &with_key("Ada", 1)).await;
    assert!(!ada.view.resumed);
    server.stop().await;
}

#[tokio::test]
async fn a_client_whose_connection_broke_resumes_its_seat_and_one_that_said_bye_does_not() {
    let server = TestServer::with(|config| config.worlds = vec![script("yard", RULES)]).await;
    let mut ben = server.join("yard", "name=Ben&hz=60").await;
    let ada = server.join("yard", &with_key("Ada", 1)).await;
    let (first, avatar) = (ada.id, ada.avatar());
    drop(ada);
    server.until_metric("nowcast_clients", |clients| clients == 1.0).await;
    let ada = server.join("yard", &with_key("Ada", 1)).await;
    assert!(ada.view.resumed && ada.id == first && ada.avatar() == avatar);
    // Another connection of the same client replaces the first, whichever protocol it uses.
    let guest = Guest::join_with(server.address, "yard", "Ada", key(1)).await;
    assert!(guest.view.resumed && guest.id == first);
    let (code, _) = ada.until_closed().await;
    assert_eq!(code, 4014);
    let mut ada = server.join("yard", &with_key("Ada", 1)).await;
    assert!(ada.view.resumed && ada.id == first);
    let closed = timeout(PATIENCE, guest.channel.closed()).await.expect("the session ends");
    assert_eq!(closed.code.0, 72, "{closed}");
    assert_eq!(left(&ben.view), 0);

    futures_util::SinkExt::close(&mut ada.socket).await.expect("the connection is open");
    ben.until_view("Ada's leave", |view| left(view) == 1 && view.players.len() == 1).await;
    let ada = server.join("yard", &with_key("Ada", 1)).await;
    assert!(!ada.view.resumed && ada.id > first);
    assert_eq!(server.metric("nowcast_players_resumed_total"), 3.0);
    server.stop().await;
}

#[tokio::test]
async fn a_reserved_seat_is_released_when_the_world_is_full() {
    let small = RULES.replace("world.state {", "world.settings { players_max = 1 }\nworld.state {");
    let server = TestServer::with(|config| config.worlds = vec![script("yard", &small)]).await;
    drop(server.join("yard", &with_key("Ada", 1)).await);
    server.until_metric("nowcast_clients", |clients| clients == 0.0).await;
    let mut ben = server.join("yard", "name=Ben&hz=60").await;
    ben.until_view("Ada's leave", |view| left(view) == 1 && view.players.len() == 1).await;
    let socket =
        server.connect(&format!("/ws/yard?{}", with_key("Ada", 1))).await.expect("the room has seats");
    let (code, reason) = Player::new(socket, Encoding::Json).until_closed().await;
    assert_eq!(code, 4011, "{reason}");
    server.stop().await;
}

#[tokio::test]
async fn without_a_store_a_numbered_action_happens_once_and_is_confirmed_after_its_effects() {
    let server = TestServer::with(|config| config.worlds = vec![script("yard", RULES)]).await;
    let mut ada = server.join("yard", &with_key("Ada", 1)).await;
    for _ in 0..3 {
        ada.act_once(1, "count", &[("what", "hat".into())]).await;
    }
    ada.until_view("the first answer", |view| !view.done.is_empty()).await;
    assert_eq!(count_of(&ada.view, "hat"), 1);
    assert_eq!(ada.view.heard("counted").count(), 1);
    ada.until_view("all answers", |view| view.done == [1, 1, 1]).await;
    drop(ada);
    let mut guest = Guest::join_with(server.address, "yard", "Ada", key(1)).await;
    guest.act_once(1, "count", &[("what", "hat".into())]);
    guest.act_once(2, "count", &[("what", "hat".into())]);
    guest.until("both answers", |guest| guest.view.done == [1, 2]).await;
    assert_eq!(count_of(&guest.view, "hat"), 2);
    // The numbers of another client are independent.
    let mut ben = server.join("yard", &with_key("Ben", 2)).await;
    ben.act_once(1, "count", &[("what", "hat".into())]).await;
    ben.until_view("his answer", |view| view.done == [1] && count_of(view, "hat") == 3).await;
    server.stop().await;
}

#[tokio::test]
async fn a_refused_action_is_answered_by_number_and_has_no_effect() {
    let folder = Folder::new();
    let server = serve(&folder, LONG).await;
    let mut ada = server.join("yard", &with_key("Ada", 1)).await;
    ada.act_once(1, "fly", &[]).await;
    ada.act_once(2, "count", &[("what", 7.into())]).await;
    ada.until_view("two refusals", |view| view.undone == [1, 2]).await;
    assert!(ada.view.refused[0].1.contains("fly"), "{:?}", ada.view.refused);
    ada.act_once(2, "count", &[("what", "hat".into())]).await;
    ada.until_view("the answer", |view| view.done == [2] && count_of(view, "hat") == 1).await;
    // An action over the rate has no effect, but is answered.
    for number in 3..33 {
        // An applied action is confirmed again on each retry.
        ada.act_once(2, "count", &[("what", "hat".into())]).await;
        ada.act_once(number, "count", &[("what", named(number))]).await;
    }
    ada.until_view("all answers", |view| view.done.len() + view.undone.len() == 3 + 60).await;
    assert!(!ada.view.undone[2..].contains(&2));
    let done: BTreeSet<u32> = ada.view.done.iter().copied().collect();
    assert!(ada.view.undone.len() > 2, "some actions were over the rate");
    for number in 3..33 {
        let count = count_of(&ada.view, &format!("n{number}"));
        assert_eq!(count, u32::from(done.contains(&number)), "{number}");
    }
    ada.act_once(0, "count", &[("what", "hat".into())]).await;
    let (code, _) = ada.until_closed().await;
    assert_eq!(code, 4001);

    let mut nobody = server.join("yard", "name=Ben&hz=60").await;
    nobody.act_once(1, "count", &[("what", "hat".into())]).await;
    let (code, reason) = nobody.until_closed().await;
    assert_eq!((code, reason.contains("no key")), (4000, true), "{reason}");
    let guest = Guest::join(&server, "yard", "Ben", CarrierKind::WebSocket).await;
    guest.act_once(1, "count", &[("what", "hat".into())]);
    let closed = timeout(PATIENCE, guest.channel.closed()).await.expect("the session ends");
    assert_eq!(closed.code.0, 64, "{closed}");
    server.stop().await;
}

#[tokio::test]
async fn an_action_that_is_not_durable_is_answered_after_its_events_each_time_it_arrives() {
    let server = TestServer::with(|config| config.worlds = vec![script("yard", RULES)]).await;
    let mut ada = server.join("yard", "name=Ada&hz=60").await;
    for (number, action) in [(9, "shout"), (9, "shout"), (7, "fly")] {
        ada.act_once(number, action, &[]).await;
    }
    ada.until_view("the answers", |view| view.done == [9, 9] && view.undone == [7]).await;
    assert_eq!(ada.view.heard("shouted").count(), 2);
    for number in 100..140 {
        ada.act_once(number, "shout", &[]).await;
    }
    ada.until_view("all answers", |view| view.done.len() + view.undone.len() == 3 + 40).await;
    assert!(ada.view.undone.len() > 1, "some actions were over the rate");
    assert_eq!(ada.view.heard("shouted").count(), ada.view.done.len());

    let mut guest = Guest::join(&server, "yard", "Ben", CarrierKind::WebSocket).await;
    guest.act_once(u32::MAX, "shout", &[]);
    guest.until("his answer", |guest| guest.view.done == [u32::MAX]).await;
    assert!(guest.view.heard("shouted").count() >= 1);
    server.stop().await;
}

#[tokio::test]
async fn only_events_of_durable_actions_wait_for_the_store() {
    let folder = Folder::new();
    let server = serve(&folder, LONG).await;
    let mut ada = server.join("yard", &with_key("Ada", 1)).await;
    ada.act_once(1, "count", &[("what", "first".into())]).await;
    ada.until_view("the answer", |view| view.done == [1] && view.heard("counted").count() == 1).await;

    // No other connection can write while this transaction is open.
    let other = rusqlite::Connection::open(folder.0.join("worlds.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    ada.act_once(2, "count", &[("what", "second".into())]).await;
    ada.act("shout", &[]).await;
    ada.until_view("the outcome of both", |view| {
        count_of(view, "second") == 1 && view.heard("shouted").count() == 1
    })
    .await;
    let tick = ada.view.tick;
    ada.until_view("time", |view| view.tick > tick + 30).await;
    assert_eq!((ada.view.heard("counted").count(), ada.view.done.len()), (1, 1));
    other.execute_batch("ROLLBACK").unwrap();
    ada.until_view("the answer", |view| view.done == [1, 2]).await;
    assert_eq!(ada.view.heard("counted").count(), 2, "the events arrive before the answer");
    server.stop().await;
}

#[tokio::test]
async fn an_invalid_key_is_refused() {
    let server = TestServer::with(|config| config.worlds = vec![script("yard", RULES)]).await;
    for key in ["", "12", &"0".repeat(33), &"zz".repeat(16), &"é".repeat(16)] {
        let answer = server.connect(&format!("/ws/yard?key={key}")).await.map(drop);
        assert!(answer.is_err(), "{key}");
    }
    let mut ada = server.join("yard", "name=Ada").await;
    ada.say(ClientMessage::Chat { text: "hello".into() }).await;
    ada.until_chat().await;
    server.stop().await;
}

#[tokio::test]
async fn actions_after_the_data_folder_was_removed_are_refused_and_healthz_says_why() {
    let folder = Folder::new();
    let server = serve(&folder, LONG).await;
    let mut ada = server.join("yard", &with_key("Ada", 7)).await;
    ada.act_once(1, "count", &[("what", named(1))]).await;
    ada.until_view("the answer", |view| view.done == [1]).await;
    std::fs::remove_dir_all(&folder.0).expect("the store made it");
    let mut number = 1;
    // The first actions may run before the store notices the missing files. None of these actions is confirmed.
    while !ada.view.refused.iter().any(|(_, reason)| reason.contains("was not carried out")) {
        number += 1;
        ada.act_once(number, "count", &[("what", named(number))]).await;
        ada.until_view("the answer", |view| view.undone.contains(&number)).await;
    }
    assert_eq!(ada.view.done, [1]);
    let (_, reason) = ada.view.refused.last().expect("an action was refused");
    assert!(reason.contains("was removed or replaced"), "{reason}");
    let health = server.get("/healthz").await;
    assert!(health.contains("worlds are not stored") && health.contains("removed or replaced"), "{health}");
    server.stop().await;
}

/// Rules with an action that uses up the work of a step.
const TOIL: &str = r#"
local world = require("@nowcast/world")
local Person = world.kind("person", { walker = {} })
world.state { count = 0 }
world.on("join", function(player)
    player:spawn_avatar(Person, { at = vector.create(0, 1, 0) })
    world.show("count", world.state.count)
end)
world.action("toil", {}, function() while true do end end)
world.action("wave", {}, function() world.emit("waved", true) end)
world.action("count", {}, function()
    world.state.count += 1
    world.show("count", world.state.count)
end, { durable = true })
"#;

#[tokio::test]
async fn an_action_that_finds_no_work_left_in_its_step_is_refused_and_may_be_repeated() {
    let folder = Folder::new();
    let serve = || {
        TestServer::with(|config| {
            config.worlds = vec![script("yard", TOIL)];
            config.data = Some(folder.0.clone());
        })
    };
    let server = serve().await;
    let mut ada = Guest::join_with(server.address, "yard", "Ada", key(1)).await;
    let mut number = 0;
    // The actions of one packet nearly always share a step.
    while ada.view.undone.is_empty() && number < 20 {
        number += 1;
        ada.act("toil", &[]);
        ada.act("wave", &[]);
        ada.act_once(number, "count", &[]);
        ada.until("an answer", |ada| ada.view.done.contains(&number) || ada.view.undone.contains(&number))
            .await;
    }
    assert_eq!(ada.view.undone, [number]);
    for (refused, reason) in &ada.view.refused {
        assert!(["wave", "count"].contains(&refused.as_str()) && reason.contains("try again"), "{reason}");
    }
    assert_eq!(ada.view.refused.iter().filter(|(refused, _)| refused == "count").count(), 1);
    let dropped = r#"nowcast_messages_dropped_total{reason="no_work_left"}"#;
    server.until_metric(dropped, |dropped| dropped > 0.0).await;
    // The refused number is not stored.
    drop(ada);
    server.stop().await;
    let server = serve().await;
    let mut ada = Guest::join_with(server.address, "yard", "Ada", key(1)).await;
    ada.act_once(number, "count", &[]);
    ada.until("the repeated action", |ada| ada.view.done.contains(&number)).await;
    let count = f64::from(number);
    ada.until("its effect", |ada| ada.view.screen("count").and_then(Json::as_f64) == Some(count)).await;
    server.stop().await;
}
