//! The studio over real HTTP: access, editing, files, errors of rules, and time travel.

use std::path::Path;
use std::time::Duration;

use crate::common::process::Folder;
use crate::common::{PATIENCE, Player, TestServer};
use nowcast_server::admission::{Claims, TokenKey, unix_time};
use nowcast_server::script::{Limits, Scenario};
use nowcast_server::{Config, Rules, WorldConfig, read_world};
use serde_json::{Value as Json, json};
use tokio::time::timeout;

const RULES: &str = r#"
local world = require("@nowcast/world")
world.state { count = 0 }
local Crate = world.kind("crate", { tags = { "first" }, attributes = { label = "text", size = { "f32", default = 1 } } })
local Person = world.kind("person", { walker = {} })
world.on("start", function()
    for n = 1, 3 do Crate:spawn { at = vector.create(n, 0, 0), label = `Crate {n}` } end
end)
world.on("join", function(player) player:spawn_avatar(Person, { at = vector.create(0, 0.92, 20) }) end)
world.action("count", {}, function() world.state.count += 1 end)
world.action("award", {}, function() world.state.count = world.state.count + 100 end, { back_end = true })
world.action("read", {}, function(player) world.emit("state", { count = world.state.count, extra = tostring(world.state.extra) }) end)
"#;

/// Boxes that push each other all the time. A snapshot changes their course a little.
const HEAP: &str = r#"
local Floor = world.kind("floor", { body = { motion = "fixed", shape = "box", size = vector.create(40, 1, 40) } })
local Box = world.kind("box", { body = { shape = "box", size = vector.create(1, 1, 1), mass = 1 } })
world.on("start", function()
    Floor:spawn { at = vector.create(60, -0.5, 0) }
    for n = 1, 6 do Box:spawn { at = vector.create(60 + n % 2 * 0.3, n, 0) } end
end)
world.on("step", function()
    for _, box in Box:all() do box:apply_impulse((vector.create(60, 0, 0) - box.position) * 0.05 + vector.create(0, 0.05, 0.01)) end
end)
"#;

/// A folder with the world of these tests, and the folder of the store.
pub(crate) struct Yard {
    world: Folder,
    data: Folder,
}

impl Yard {
    pub(crate) fn new() -> Self {
        let yard = Self { world: Folder::new(), data: Folder::new() };
        std::fs::create_dir_all(&yard.world.0).expect("the folder can be created");
        yard.write("world.luau", RULES);
        yard
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        std::fs::write(self.world.0.join(path), text).expect("the file can be written");
    }

    fn path(&self) -> &Path {
        &self.world.0
    }

    pub(crate) async fn serve(&self, change: impl FnOnce(&mut Config)) -> TestServer {
        TestServer::with(|config| {
            config.worlds =
                vec![WorldConfig { name: "yard".into(), rules: Rules::Folder(self.world.0.clone()) }];
            config.data = Some(self.data.0.clone());
            change(config);
        })
        .await
    }
}

/// Sends a request to the interface. Returns the status and the body.
pub(crate) async fn send(
    server: &TestServer,
    method: &str,
    path: &str,
    headers: &str,
    body: &str,
) -> (u16, Json) {
    let length = body.len();
    let answer = server
        .raw(&format!(
            "{method} /studio/api/{path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{headers}Content-Length: {length}\r\n\r\n{body}"
        ))
        .await;
    let status =
        answer.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("the answer has a status");
    let body = answer.split_once("\r\n\r\n").map(|(_, body)| body).unwrap_or_default();
    (status, serde_json::from_str(body).unwrap_or(Json::Null))
}

pub(crate) const JSON: &str = "Content-Type: application/json\r\n";

pub(crate) async fn get(server: &TestServer, path: &str) -> Json {
    let (status, json) = send(server, "GET", path, "", "").await;
    assert_eq!(status, 200, "{path}: {json}");
    json
}

pub(crate) async fn post(server: &TestServer, path: &str, body: Json) -> Json {
    let (status, json) = send(server, "POST", path, JSON, &body.to_string()).await;
    assert!(status == 200 || status == 201, "{path}: {status} {json}");
    json
}

pub(crate) async fn put(server: &TestServer, path: &str, headers: &str, text: &str) -> (u16, Json) {
    let body = json!({ "text": text }).to_string();
    send(server, "PUT", path, &format!("{JSON}{headers}"), &body).await
}

pub(crate) fn code(json: &Json) -> &str {
    json["error"]["code"].as_str().unwrap_or_default()
}

/// Asks until an answer satisfies a condition.
pub(crate) async fn until(server: &TestServer, path: &str, holds: impl Fn(&Json) -> bool) -> Json {
    let asking = async {
        loop {
            let json = get(server, path).await;
            if holds(&json) {
                return json;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(PATIENCE, asking).await.unwrap_or_else(|_| panic!("{path} does not change"))
}

pub(crate) async fn steps(player: &mut Player, steps: u64) {
    let tick = player.view.tick;
    player.until_view("time", |view| view.tick >= tick + steps).await;
}

#[tokio::test]
async fn access_without_a_role_or_from_another_site_is_refused() {
    let yard = Yard::new();
    let key = TokenKey::secret(b"32 bytes that nobody else knows.").expect("the secret is long enough");
    let signed = key.clone();
    let server = yard.serve(|config| config.entry.key = Some(key)).await;
    let token = |role: Option<&str>, room: Option<&str>, jti: Option<&str>| {
        let mut claims = Claims::new(unix_time() + Duration::from_secs(600)).name("ada");
        claims.role = role.map(str::to_owned);
        claims.room = room.map(str::to_owned);
        claims.jti = jti.map(str::to_owned);
        format!(
            "Authorization: Bearer {}\r\n",
            claims.sign(&signed).expect("the claims are within their bounds")
        )
    };
    for (headers, expected) in [
        (String::new(), (401, "no_token")),
        ("Authorization: Bearer x\r\n".to_owned(), (401, "no_token")),
        (token(None, None, None), (403, "no_role")),
        (token(Some("operator"), None, None), (403, "no_role")),
        (token(Some("editor"), Some("plaza"), None), (401, "no_token")),
        (token(Some("editor"), None, Some("once")), (403, "no_role")),
    ] {
        let (status, json) = send(&server, "GET", "rooms", &headers, "").await;
        assert_eq!((status, code(&json)), expected, "{headers}: {json}");
    }
    let cookie = token(Some("editor"), None, None).replace("Authorization: Bearer ", "Cookie: token=");
    assert_eq!(send(&server, "GET", "rooms", &cookie, "").await.0, 401, "cookies are ignored");
    let inspector = token(Some("inspector"), None, None);
    assert_eq!(send(&server, "GET", "rooms", &inspector, "").await.0, 200);
    let body = json!({ "text": "" }).to_string();
    let headers = format!("{JSON}{inspector}");
    let (status, json) = send(&server, "PUT", "worlds/yard/files/x.luau", &headers, &body).await;
    assert_eq!((status, code(&json)), (403, "no_role"));
    let editor = token(Some("guide editor"), Some("studio"), None);
    for (headers, expected) in [
        ("Origin: http://evil.example\r\n", 403),
        ("Origin: null\r\n", 403),
        ("Origin: https://localhost\r\n", 403),
        ("Sec-Fetch-Site: cross-site\r\n", 403),
        ("Sec-Fetch-Site: same-site\r\n", 403),
        ("Origin: http://localhost\r\nSec-Fetch-Site: same-origin\r\n", 200),
    ] {
        let (status, json) = send(&server, "GET", "session", &format!("{editor}{headers}"), "").await;
        assert_eq!(status, expected, "{headers}: {json}");
    }
    let session = send(&server, "GET", "session", &editor, "").await.1;
    assert_eq!((&session["role"], &session["name"]), (&json!("editor"), &json!("ada")));
    let audit = send(&server, "GET", "audit", &editor, "").await.1;
    assert_eq!(audit["entries"][0]["ok"], false, "the refused change is recorded: {audit}");
    server.stop().await;
}

#[tokio::test]
async fn large_untyped_and_frequent_requests_are_refused() {
    let yard = Yard::new();
    let server = yard.serve(|_| {}).await;
    let (status, json) =
        send(&server, "POST", "rooms/yard/commands", "Content-Type: text/plain\r\n", "{}").await;
    assert_eq!((status, code(&json)), (415, "not_json"));
    let long = format!("{{\"text\":\"{}\"}}", "x".repeat(2 << 20));
    let (status, json) = send(&server, "PUT", "worlds/yard/files/x.luau", JSON, &long).await;
    assert_eq!((status, code(&json)), (413, "too_large"));
    let (status, json) = put(&server, "worlds/yard/files/x.luau", "", &"x".repeat(300_000)).await;
    assert_eq!((status, code(&json)), (413, "too_large"));
    let (status, json) = send(&server, "GET", "rooms/nowhere/state", "", "").await;
    assert_eq!((status, code(&json)), (404, "not_found"));
    let mut refused = 0;
    for _ in 0..200 {
        let (status, json) = send(&server, "GET", "session", "", "").await;
        if status == 429 {
            assert_eq!(code(&json), "too_often");
            refused += 1;
        }
    }
    assert!(refused > 0, "a burst of 200 requests is limited");
    server.stop().await;
}

#[tokio::test]
async fn edits_reach_clients_and_rules_and_actions_run_as_a_player() {
    let yard = Yard::new();
    let server = yard.serve(|_| {}).await;
    let mut ada = server.join("yard", "name=Ada&hz=60").await;
    let listed = get(&server, "rooms/yard/entities?kind=crate&search=crate%202").await;
    assert_eq!((listed["total"].as_u64(), listed["rows"][0]["label"].as_str()), (Some(1), Some("Crate 2")));
    let id = listed["rows"][0]["id"].as_u64().expect("the row has an id");
    let commands = json!({ "commands": [
        { "type": "set_attribute", "entity": id, "name": "label", "value": "Renamed" },
        { "type": "set_attribute", "entity": id, "name": "colour", "value": "red" },
        { "type": "set_private", "entity": id, "value": { "secret": 7 } },
        { "type": "set_state", "key": "count", "value": 41 },
        { "type": "set_state", "key": "extra", "value": "yes" },
        { "type": "spawn", "kind": "crate", "pose": { "position": [9, 1, 9] } },
        { "type": "move", "entity": id, "pose": { "position": [5, 0, 5], "rotation": [0, 0, 0, 1] } },
        { "type": "despawn", "entity": 99_999 },
    ] });
    let done = post(&server, "rooms/yard/commands", commands).await;
    let oks: Vec<bool> = done["results"].as_array().unwrap().iter().map(|it| it["ok"] == true).collect();
    assert_eq!(oks, [true, false, true, true, true, true, true, false], "{done}");
    let spawned = done["results"][5]["id"].as_u64().expect("a spawned entity has an id");
    ada.until_view("the label", |view| {
        let crates: Vec<_> = view.of_kind("crate").collect();
        crates.len() == 4 && crates.iter().any(|entity| format!("{entity:?}").contains("Renamed"))
    })
    .await;
    let entity = get(&server, &format!("rooms/yard/entities/{id}")).await;
    assert_eq!(entity["attributes"]["label"], "Renamed");
    assert_eq!(entity["private"]["secret"], 7);
    assert_eq!(entity["pose"]["position"], json!([5.0, 0.0, 5.0]));
    assert_eq!(entity["tags"], json!(["first"]));
    assert_eq!(get(&server, &format!("rooms/yard/entities/{spawned}")).await["kind"], "crate");
    get(&server, "rooms/yard/log").await;
    ada.act("count", &[]).await;
    ada.act("read", &[]).await;
    let log = until(&server, "rooms/yard/log", |log| log.to_string().contains("\"event\"")).await;
    let event = log["lines"].as_array().unwrap().iter().find(|line| line["type"] == "event").unwrap();
    assert_eq!(event["data"]["count"], 42, "the rules count on from the edited state: {event}");
    assert_eq!(event["data"]["extra"], "yes");
    post(
        &server,
        "rooms/yard/commands",
        json!({ "commands": [{ "type": "set_state", "key": "extra", "value": null }] }),
    )
    .await;
    ada.act("count", &[]).await;
    let state = until(&server, "rooms/yard/state", |state| state["state"]["count"] == 43).await;
    assert_eq!(state["state"].get("extra"), None, "a removed key stays removed: {state}");
    assert_eq!(state["players"][0]["name"], "Ada");
    let clients = get(&server, "rooms/yard/clients").await;
    assert_eq!(clients["clients"][0]["carrier"], "plain");
    let profile = until(&server, "rooms/yard/profile", |profile| {
        profile["steps"].as_array().is_some_and(|steps| !steps.is_empty())
    })
    .await;
    assert!(profile["steps"][0]["phases"]["world"].is_u64(), "{profile}");
    let audit = get(&server, "audit").await;
    assert_eq!(audit["entries"][0]["action"], "commands");
    post(&server, "rooms/yard/act", json!({ "player": ada.id, "action": "count" })).await;
    until(&server, "rooms/yard/state", |state| state["state"]["count"] == 44).await;
    ada.act("award", &[]).await;
    ada.until_view("the refusal", |view| {
        view.refused.iter().any(|(action, reason)| action == "award" && reason.contains("back end"))
    })
    .await;
    post(&server, "rooms/yard/act", json!({ "player": ada.id, "action": "award" })).await;
    until(&server, "rooms/yard/state", |state| state["state"]["count"] == 144).await;
    for (player, action, refused) in [(ada.id, "fly", (409, "refused")), (99, "count", (404, "not_found"))] {
        let body = json!({ "player": player, "action": action }).to_string();
        let (status, json) = send(&server, "POST", "rooms/yard/act", JSON, &body).await;
        assert_eq!((status, code(&json)), refused, "{json}");
    }
    let (status, _) = send(&server, "DELETE", &format!("rooms/yard/clients/{}", ada.id), JSON, "{}").await;
    assert_eq!(status, 200);
    assert_eq!(ada.until_closed().await.1, "the world removed you");
    server.stop().await;
}

#[tokio::test]
async fn files_are_saved_by_revision_and_never_outside_of_the_folder() {
    let yard = Yard::new();
    let server = yard.serve(|_| {}).await;
    let listed = get(&server, "worlds/yard/files").await;
    assert_eq!(
        (listed["writable"].as_bool(), listed["files"][0]["path"].as_str()),
        (Some(true), Some("world.luau"))
    );
    let read = get(&server, "worlds/yard/files/world.luau").await;
    assert_eq!(read["text"], RULES);
    let revision = format!("If-Match: {}\r\n", read["revision"]);
    let edited = RULES.replace("Crate {n}", "Box {n}");
    let (status, saved) = put(&server, "worlds/yard/files/world.luau", &revision, &edited).await;
    assert_eq!((status, saved["created"].as_bool()), (200, Some(false)), "{saved}");
    let (status, json) = put(&server, "worlds/yard/files/world.luau", &revision, RULES).await;
    assert_eq!((status, code(&json)), (412, "changed"), "the second author is warned");
    assert_eq!(json["error"]["revision"], saved["revision"]);
    let (status, made) =
        put(&server, "worlds/yard/files/lib/new.luau", "If-None-Match: *\r\n", "return {}").await;
    assert_eq!((status, made["created"].as_bool()), (200, Some(true)), "{made}");
    assert_eq!(put(&server, "worlds/yard/files/lib/new.luau", "If-None-Match: *\r\n", "").await.0, 412);
    assert_eq!(std::fs::read_to_string(yard.path().join("lib/new.luau")).unwrap(), "return {}");
    #[cfg(unix)]
    {
        let outside = Folder::new();
        std::fs::create_dir_all(&outside.0).unwrap();
        std::os::unix::fs::symlink(&outside.0, yard.path().join("linked")).unwrap();
        std::os::unix::fs::symlink("/etc/hostname", yard.path().join("host.md")).unwrap();
        assert_eq!(put(&server, "worlds/yard/files/linked/x.luau", "", "").await.0, 400);
        assert_eq!(put(&server, "worlds/yard/files/host.md", "", "").await.0, 400);
        assert_eq!(send(&server, "GET", "worlds/yard/files/host.md", "", "").await.0, 400);
        assert_eq!(std::fs::read_dir(&outside.0).unwrap().count(), 0);
    }
    let revision = get(&server, "worlds/yard/files/world.luau").await["revision"].clone();
    let several = |revision: &Json| {
        json!({ "files": [
            { "path": "lib/a.luau", "text": "return 1", "revision": null },
            { "path": "world.luau", "text": RULES, "revision": revision },
        ] })
        .to_string()
    };
    let (status, json) = send(&server, "PUT", "worlds/yard/files", JSON, &several(&json!("0"))).await;
    assert_eq!((status, code(&json)), (412, "changed"), "{json}");
    assert!(!yard.path().join("lib/a.luau").exists(), "none of the files is saved");
    let (status, json) = send(&server, "PUT", "worlds/yard/files", JSON, &several(&revision)).await;
    assert_eq!(
        (status, &json["files"][0]["created"], &json["files"][1]["created"]),
        (200, &json!(true), &json!(false)),
        "{json}"
    );
    assert_eq!(std::fs::read_to_string(yard.path().join("world.luau")).unwrap(), RULES);
    let hidden = std::fs::read_dir(yard.path()).unwrap().flatten();
    assert!(hidden.into_iter().all(|entry| !entry.file_name().to_string_lossy().starts_with(".studio")));
    for path in [
        "../x.luau",
        "a/../../x.luau",
        "%2e%2e/x.luau",
        "..%2fx.luau",
        ".git/x.luau",
        "x.sh",
        "a//b.luau",
        "/x.luau",
    ] {
        let (status, json) = put(&server, &format!("worlds/yard/files/{path}"), "", "x").await;
        assert!(status == 400 || status == 404, "{path}: {status} {json}");
    }
    let (status, _) = send(&server, "DELETE", "worlds/yard/files/lib/new.luau", JSON, "{}").await;
    assert_eq!(status, 200);
    assert!(!yard.path().join("lib/new.luau").exists());
    let types = get(&server, "worlds/yard/types").await;
    assert!(types["files"]["world.luau"].as_str().is_some_and(|text| text.len() > 1_000));
    let lines = std::fs::read_to_string(yard.data.0.join("studio-audit.jsonl")).unwrap();
    assert!(lines.lines().all(|line| serde_json::from_str::<Json>(line).is_ok()), "{lines}");
    server.stop().await;
}

#[tokio::test]
async fn a_broken_rule_is_reported_with_its_line() {
    let yard = Yard::new();
    let server = yard.serve(|_| {}).await;
    let mut ada = server.join("yard", "name=Ada&hz=60").await;
    put(&server, "worlds/yard/files/world.luau", "", "local x = =\nlocal y = 1\n").await;
    let faults = get(&server, "worlds/yard/faults").await;
    assert_eq!((&faults["file"], &faults["line"]), (&json!("world.luau"), &json!(1)), "{faults}");
    let failing = RULES
        .replace("world.state.count += 1", "print('counting')")
        .replace("world.emit(\"state\"", "local nothing = nil; nothing.x = 1 world.emit(\"state\"");
    put(&server, "worlds/yard/files/world.luau", "", &failing).await;
    assert_eq!(get(&server, "worlds/yard/faults").await["fault"], Json::Null);
    until(&server, "rooms/yard/log", |log| log.to_string().contains("version 3 runs")).await;
    ada.act("count", &[]).await;
    until(&server, "rooms/yard/log", |log| log.to_string().contains("counting")).await;
    ada.act("read", &[]).await;
    let log = until(&server, "rooms/yard/log", |log| log.to_string().contains("attempt to index nil")).await;
    let lines = log["lines"].as_array().unwrap();
    let error = lines.iter().rfind(|line| line["type"] == "error").unwrap();
    assert_eq!((&error["file"], &error["line"]), (&json!("world.luau"), &json!(12)), "{error}");
    let later = get(&server, &format!("rooms/yard/log?after={}", log["next"])).await;
    assert!(later["lines"].as_array().unwrap().len() < lines.len());
    server.stop().await;
}

#[tokio::test]
async fn a_moment_is_stepped_replayed_with_a_fix_and_saved_as_a_test() {
    let yard = Yard::new();
    let fixed = format!("{RULES}{HEAP}");
    let broken = fixed.replace("world.state.count += 1", "world.state.count += 2");
    yard.write("world.luau", &broken);
    let server = yard.serve(|_| {}).await;
    let mut ada = server.join("yard", "name=Ada&hz=60").await;
    steps(&mut ada, 60).await;
    for count in 1..=3 {
        ada.act("count", &[]).await;
        until(&server, "rooms/yard/state", |state| state["state"]["count"] == 2 * count).await;
        steps(&mut ada, 30).await;
    }
    let edit = json!({ "commands": [{ "type": "set_state", "key": "note", "value": "by hand" }] });
    let edited = post(&server, "rooms/yard/commands", edit).await["tick"].as_u64().expect("a tick");
    steps(&mut ada, 60).await;

    let history = until(&server, "rooms/yard/history", |history| {
        history["to"]["tick"].as_u64().is_some_and(|tick| tick > edited + 1)
    })
    .await;
    assert_eq!(history["stored"], true);
    let last = edited + 1;
    let moment = post(&server, "rooms/yard/moments", json!({ "step": last })).await;
    assert_eq!((moment["tick"].as_u64(), moment["exact"].as_bool()), (Some(last), Some(true)), "{moment}");
    let id = |moment: &Json| moment["id"].as_str().expect("a moment has an id").to_owned();
    let at = format!("moments/{}", id(&moment));
    let state = get(&server, &format!("{at}/state")).await;
    assert_eq!(
        (&state["state"]["count"], &state["state"]["note"]),
        (&json!(6), &json!("by hand")),
        "{state}"
    );
    assert_eq!(get(&server, &format!("{at}/entities?kind=crate")).await["total"], 3);

    let first = post(&server, "rooms/yard/moments", json!({ "step": last - 60 })).await;
    let back = format!("moments/{}", id(&first));
    let compared = get(&server, &format!("moments/compare?a={}&b={}", id(&first), id(&moment))).await;
    assert!(compared["differences"]["state"].as_array().is_some_and(|state| !state.is_empty()), "{compared}");
    let stepped = post(&server, &format!("{back}/step"), json!({ "steps": 60 })).await;
    assert_eq!(stepped["tick"], moment["tick"]);
    let compared = get(&server, &format!("moments/compare?a={}&b={}", id(&first), id(&moment))).await;
    assert_eq!(compared["differences"]["total"], 0, "both ways lead to the same world: {compared}");
    let stepped = post(&server, &format!("{back}/step"), json!({ "steps": -150 })).await;
    assert_eq!(stepped["tick"].as_u64(), Some(last - 150));
    let before = get(&server, &format!("{back}/state")).await["state"]["count"].as_u64().expect("a count");
    assert!(before < 6);

    let recorded =
        post(&server, &format!("{back}/replay"), json!({ "rules": "recorded", "until": last })).await;
    assert_eq!(
        (recorded["exact"].as_bool(), recorded["reached"].as_u64()),
        (Some(true), Some(last)),
        "{recorded}"
    );
    let unchanged =
        post(&server, &format!("{back}/replay"), json!({ "rules": "current", "until": last })).await;
    assert_eq!(
        (unchanged["exact"].as_bool(), &unchanged["differences"]["total"]),
        (Some(true), &json!(0)),
        "{unchanged}"
    );
    put(&server, "worlds/yard/files/world.luau", "", &fixed).await;
    let fixed = post(&server, &format!("{back}/replay"), json!({ "rules": "current", "until": last })).await;
    let count =
        fixed["differences"]["state"].as_array().unwrap().iter().find(|it| it["key"] == "count").unwrap();
    assert_eq!(count["a"], 6, "{fixed}");
    assert_eq!(count["b"].as_u64(), Some(before + (6 - before) / 2), "{fixed}");
    // The fix counts otherwise, and moves nothing.
    assert_eq!(fixed["differences"]["total"], 1, "{fixed}");

    let written = post(&server, &format!("{back}/test"), json!({ "name": "early-count" })).await;
    assert_eq!(written["test"], "tests/early-count.luau");
    let sources = read_world(yard.path()).expect("the folder is a world");
    let scenario = Scenario::new(sources, "tests/early-count.luau", Limits::DEFAULT).expect("the test loads");
    let outcome = scenario.run(0, 1);
    assert_eq!((outcome.failure, outcome.steps >= 60), (None, true));
    let mut failing = std::fs::read_to_string(yard.path().join("tests/early-count.luau")).unwrap();
    failing = failing.replace(
        "test.step(60)",
        &format!("test.equal(require(\"@nowcast/world\").state.count, {})", before + 1),
    );
    yard.write("tests/early-count.luau", &failing);
    let sources = read_world(yard.path()).expect("the folder is a world");
    let scenario = Scenario::new(sources, "tests/early-count.luau", Limits::DEFAULT).expect("the test loads");
    assert!(scenario.run(0, 1).failure.is_some(), "the case begins with the saved state");
    let (status, _) = send(&server, "DELETE", &back, JSON, "{}").await;
    assert_eq!(status, 200);
    assert_eq!(send(&server, "GET", &format!("{back}/state"), "", "").await.0, 404);
    server.stop().await;
}
