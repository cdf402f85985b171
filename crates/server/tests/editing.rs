//! A world whose folder is edited while players are in it.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::common::session::Guest;
use crate::common::view::View;
use crate::common::{TestServer, plaza};
use nowcast::CarrierKind;
use nowcast_server::admission::TokenKey;
use nowcast_server::{Rules, WorldConfig};
use nowcast_world_protocol::plain::{ClientMessage, Input};
use nowcast_world_protocol::session::Outcome;
use serde_json::json;

/// A world's folder. It is removed when the test ends.
struct Folder(PathBuf);

impl Folder {
    fn new(rules: &str) -> Self {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("nowcast-edited-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder can be made");
        let folder = Self(folder);
        folder.write(rules);
        folder
    }

    fn path(&self) -> &Path {
        &self.0
    }

    /// Replaces the rules in one step, as an editor does.
    fn write(&self, rules: &str) {
        let (new, main) = (self.0.join("world.luau.new"), self.0.join("world.luau"));
        std::fs::write(&new, rules).expect("a file can be written");
        std::fs::rename(&new, &main).expect("the new file replaces the earlier file");
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

const RULES: &str = r#"
local world = require("@nowcast/world")
world.state { count = 0 }
local Floor = world.kind("floor", { body = { motion = "fixed", shape = "box", size = vector.create(400, 1, 400) } })
local Person = world.kind("person", { walker = {}, attributes = { mood = "text" } })
local Sign = world.kind("sign", { attributes = { text = "text" } })
world.on("start", function()
    Floor:spawn { at = vector.create(0, -0.5, 0) }
    Sign:spawn { at = vector.create(0, 1, 5), text = "first" }
end)
world.on("join", function(player)
    player:spawn_avatar(Person, { at = vector.create(player.id, 0.92, 0) })
end)
world.action("count", {}, function(player)
    world.state.count += 1
    world.show("count", world.state.count)
end)
"#;

async fn serve(folder: &Folder) -> TestServer {
    TestServer::with(|config| {
        let edited = WorldConfig { name: "edited".into(), rules: Rules::Folder(folder.path().to_owned()) };
        config.worlds = vec![plaza(), edited];
    })
    .await
}

fn count(view: &View) -> Option<&serde_json::Value> {
    view.screen("count")
}

#[tokio::test]
async fn new_rules_apply_to_present_players_and_remembered_values_stay() {
    let folder = Folder::new(RULES);
    let server = serve(&folder).await;
    let mut ada = server.join("edited", "name=Ada&hz=60").await;
    let mut ben = Guest::join(&server, "edited", "Ben", CarrierKind::WebSocket).await;
    let mut cleo = server.join("edited-2", "name=Cleo&encoding=msgpack").await;
    ada.act("count", &[]).await;
    ada.until_view("the count", |view| count(view) == Some(&json!(1.0))).await;

    folder.write(
        &RULES
            .replace("count += 1", "count += 10")
            .replace(r#"{ mood = "text" }"#, r#"{ mood = "text", wins = "u8" }"#)
            .replace(
                r#"world.action("count""#,
                "world.action('cheer', {}, function() end)\nworld.action(\"count\"",
            ),
    );
    ada.until_view("version 2", |view| view.version == 2).await;
    ben.until("version 2", |ben| ben.view.version == 2).await;
    cleo.until_view("version 2", |view| view.version == 2).await;
    assert!(ada.view.actions.contains_key("cheer"));
    let later = server.join("edited-3", "").await;
    assert!(
        later.view.version == 1 && later.view.actions.contains_key("cheer"),
        "the other room began with these rules"
    );
    ada.act("count", &[]).await;
    ben.act("cheer", &[]);
    ada.until_view("the count", |view| count(view) == Some(&json!(11.0))).await;
    ben.until("the count", |ben| count(&ben.view) == Some(&json!(11.0))).await;
    for view in [&ada.view, &ben.view] {
        let (_, person) = view.of_kind("person").next().expect("the persons are still in the world");
        assert_eq!(person.attributes, json!({ "mood": "", "wins": 0.0 }), "described by the new definition");
        assert_eq!(view.reports.last(), Some(&(Outcome::Runs, 2, String::new())));
        assert!(view.refused.is_empty(), "{:?}", view.refused);
    }
    assert_eq!(ada.view.without_places(), ben.view.without_places());
    assert_eq!(count(&cleo.view), None, "another room has its own state");
    // The room greets a client before it counts the client.
    server.until_metric("nowcast_clients", |clients| clients == 4.0).await;
    server.stop().await;
}

#[tokio::test]
async fn rules_that_do_not_load_change_nothing_and_editors_receive_file_and_line() {
    let folder = Folder::new(RULES);
    let server = serve(&folder).await;
    let mut ada = server.join("edited", "name=Ada&hz=60").await;
    let mut ben = Guest::join(&server, "edited", "Ben", CarrierKind::WebSocket).await;
    ada.until_view("both", |view| view.of_kind("person").count() == 2 && view.players.len() == 2).await;
    let before = ada.view.without_places();

    folder.write("local world = require('@nowcast/world')\n\nlocal x = = 7");
    let is_told = |view: &View| view.reports.iter().any(|(outcome, _, _)| *outcome == Outcome::Refused);
    ada.until_view("the report", is_told).await;
    ben.until("the report", |ben| is_told(&ben.view)).await;
    let (_, version, text) = ada.view.reports.last().expect("a report was received");
    assert!(*version == 2 && text.starts_with("world.luau:3: "), "{version} {text}");
    assert_eq!(ada.view.reports, ben.view.reports);
    ada.act("count", &[]).await;
    ada.until_view("the count", |view| count(view) == Some(&json!(1.0))).await;
    ada.view.screens.clear();
    assert_eq!(ada.view.without_places(), before, "the rest of the view is unchanged");

    // Clients that join later also receive the error. The list of worlds contains it, too.
    let late = Guest::join(&server, "edited", "Cleo", CarrierKind::WebSocket).await;
    assert_eq!(late.view.version, 1);
    let mut late = late;
    late.until("the report", |late| late.view.reports.last() == ada.view.reports.last()).await;
    let worlds = server.get("/api/worlds").await;
    assert!(worlds.contains(r#""fault":"world.luau:3: "#), "{worlds}");

    folder.write(RULES);
    ada.until_view("the mended rules", |view| {
        view.reports.last().is_some_and(|(is, _, _)| *is == Outcome::Runs)
    })
    .await;
    assert!(server.get("/api/worlds").await.contains(r#""name":"edited","version":""#));
    assert!(!server.get("/api/worlds").await.contains("world.luau:3"));
    server.stop().await;
}

#[tokio::test]
async fn only_editors_receive_reports_about_rules() {
    let folder = Folder::new(RULES);
    let server = TestServer::with(|config| {
        let edited = WorldConfig { name: "edited".into(), rules: Rules::Folder(folder.path().to_owned()) };
        config.worlds = vec![edited];
        config.entry.key = Some(TokenKey::secret(b"32 bytes that nobody else knows.").expect("long enough"));
        config.entry.anonymous = true;
    })
    .await;
    let mut ada = server.join("edited", "name=Ada&hz=60").await;
    folder.write("nonsense");
    server.until_metric(r#"nowcast_rules_total{outcome="refused"}"#, |count| count == 1.0).await;
    folder.write(&RULES.replace("+= 1", "+= 2"));
    ada.until_view("new rules", |view| view.version > 1).await;
    assert!(ada.view.reports.is_empty(), "{:?}", ada.view.reports);
    server.stop().await;
}

/// Rules that change many things and then, after a second, raise an error.
fn failing() -> String {
    let bad = r#"
local Ghost = world.kind("ghost", { body = { shape = "sphere", radius = 0.2 } })
world.on("step", function()
    world.state.steps = (world.state.steps or 0) + 1
    if world.state.steps == 1 then
        for x = 1, 10 do Ghost:spawn { at = vector.create(x, 3, 8) } end
        for _, sign in Sign:all() do sign:despawn() end
        for _, player in world.players() do player.avatar.mood = "haunted" end
        world.show("count", "boo")
        world.show("prompt", "run!", world.players()[1])
        world.state.count = 1000
    end
    if world.state.steps == 60 then error("too many ghosts") end
end)
"#;
    format!("{RULES}{bad}")
}

#[tokio::test]
async fn rules_that_fail_in_their_first_steps_are_rolled_back_with_all_their_effects() {
    let folder = Folder::new(RULES);
    let server = serve(&folder).await;
    let mut ada = server.join("edited", "name=Ada&hz=60").await;
    let mut ben = Guest::join(&server, "edited", "Ben", CarrierKind::WebSocket).await;
    ada.act("count", &[]).await;
    ada.until_view("the count", |view| count(view) == Some(&json!(1.0))).await;
    ada.say(ClientMessage::Input(Input { forward: 1.0, ..Input::default() })).await;
    let avatar = ada.avatar();
    ada.until_view("her steps", |view| view.entities[&avatar].place.is_some_and(|place| place[2] < -0.5))
        .await;
    let before = ada.view.without_places();

    folder.write(&failing());
    ada.until_view("the ghosts", |view| {
        view.of_kind("ghost").count() == 10 && count(view) == Some(&json!("boo"))
    })
    .await;
    assert_eq!(ada.view.of_kind("sign").count(), 0);
    // Ada releases her keys while the new rules run.
    ada.say(ClientMessage::Input(Input::default())).await;
    ben.until("the ghosts", |ben| ben.view.of_kind("ghost").count() == 10).await;
    assert_eq!(ben.view.screen("prompt"), None, "the prompt was shown to the first player only");

    let is_back = |view: &View| {
        view.reports.iter().any(|(outcome, version, text)| {
            (*outcome, *version) == (Outcome::RolledBack, 2)
                && text.starts_with("world.luau:")
                && text.contains("too many ghosts")
                && text.ends_with("version 1 runs again")
        })
    };
    ada.until_view("the rollback", |view| is_back(view) && view.version == 1).await;
    ben.until("the rollback", |ben| is_back(&ben.view) && ben.view.version == 1).await;
    ada.act("count", &[]).await;
    ada.until_view("the count", |view| count(view) == Some(&json!(2.0))).await;
    ben.until("the count", |ben| count(&ben.view) == Some(&json!(2.0))).await;
    for (who, view) in [("Ada", &mut ada.view), ("Ben", &mut ben.view)] {
        view.screens.insert(("count".into(), false), json!(1.0));
        assert_eq!(view.without_places(), before, "{who} has the earlier state");
        assert!(view.screens.keys().all(|(_, personal)| !personal), "{who}: {:?}", view.screens);
    }

    // She must stop, although she walked when the rules were replaced.
    let (mut place, mut same) = (None, 0);
    while same < 30 {
        let tick = ada.view.tick;
        ada.until_view("the next step", |view| view.tick > tick).await;
        let now = ada.view.entities[&avatar].place;
        same = if now == place { same + 1 } else { 0 };
        place = now;
    }
    server.stop().await;
}

#[tokio::test]
async fn a_player_that_joins_while_rules_fail_stays() {
    let folder = Folder::new(RULES);
    let server = serve(&folder).await;
    let mut ada = server.join("edited", "name=Ada&hz=60").await;
    let channel = Guest::open(&server, "edited", CarrierKind::WebSocket).await.expect("the room has space");
    // Version 2 fails in the same step in which a player joins.
    folder.write(&format!("{RULES}\nworld.on('join', function(player) error('no entry') end)"));
    ada.until_view("version 2", |view| view.version == 2).await;
    let mut cleo = Guest::join_by(channel, "Cleo").await;
    let is_old_with_two =
        |view: &View| view.version == 1 && view.of_kind("person").count() == 2 && view.players.len() == 2;
    ada.until_view("version 1", |view| is_old_with_two(view)).await;
    cleo.until("version 1", |cleo| is_old_with_two(&cleo.view)).await;
    assert_eq!(ada.view.without_places(), cleo.view.without_places(), "Cleo has a body by the earlier rules");
    assert_eq!(server.metric(r#"nowcast_rules_total{outcome="rolled_back"}"#), 1.0);

    let ben = server.join("edited", "name=Ben&hz=60").await;
    // A player who leaves while other rules fail stays gone after the rollback.
    folder.write(&failing());
    ada.until_view("the ghosts", |view| view.of_kind("ghost").count() == 10).await;
    let (ben_id, body) = (ben.id, ben.avatar());
    drop(ben);
    ada.until_view("the rollback", |view| view.version == 1).await;
    ada.until_view("two people", |view| {
        !view.players.contains_key(&ben_id) && !view.entities.contains_key(&body) && view.players.len() == 2
    })
    .await;
    server.stop().await;
}

#[tokio::test]
async fn rules_that_fail_with_a_new_text_in_every_step_are_reported_ten_times_a_second_and_counted() {
    const FAILED: &str = r#"nowcast_rules_total{outcome="failed"}"#;
    const DROPPED: &str = r#"nowcast_rules_total{outcome="failed_dropped"}"#;
    let folder = Folder::new(&format!(
        "{RULES}\nlocal step = 0\nworld.on('step', function() step += 1; error('at ' .. step) end)"
    ));
    let server = serve(&folder).await;
    let mut ada = server.join("edited", "name=Ada&hz=60").await;
    let is_summary = |text: &str| text.contains("more errors were raised and left out: at most 10 a second");
    ada.until_view("three summaries", |view| {
        view.reports.iter().filter(|(_, _, text)| is_summary(text)).count() >= 3
    })
    .await;
    let (failed, dropped) = (server.metric(FAILED), server.metric(DROPPED));
    let reported = ada.view.reports.iter().filter(|(_, _, text)| !is_summary(text)).count();
    // The 60 steps of a second raise 60 errors.
    assert!(failed >= 120.0 && dropped >= failed / 2.0, "{failed} errors, {dropped} dropped");
    assert!((20..=60).contains(&reported), "{reported} of {failed} errors were reported");
    server.stop().await;
}
