//! The figures of steps and clients in the studio.

use crate::common::session::Guest;
use crate::studio::{JSON, Yard, code, get, post, send, until};
use nowcast::CarrierKind;
use nowcast_server::world::Input;
use serde_json::{Value as Json, json};

const RULES: &str = r#"
local world = require("@nowcast/world")
local Crate = world.kind("crate", { attributes = { size = { "f32", default = 1 } } })
local Person = world.kind("person", { walker = {} })
world.on("start", function()
    for n = 1, 3 do Crate:spawn { at = vector.create(n, 0, 0) } end
end)
world.on("join", function(player) player:spawn_avatar(Person, { at = vector.create(0, 0.92, 20) }) end)
world.on("step", function()
    local list = {}
    for n = 1, 100 do table.insert(list, n) end
end)
Crate:on("step", function(crate)
    crate.position = vector.create(crate.position.x, 0, math.sin(world.time()))
end)
"#;

fn hook(profile: &Json, line: u64) -> Option<&Json> {
    profile["hooks"].as_array()?.iter().find(|hook| hook["line"] == line)
}

#[tokio::test]
async fn the_functions_of_rules_are_listed_with_their_time() {
    let yard = Yard::new();
    yard.write("world.luau", RULES);
    let server = yard.serve(|_| {}).await;
    let ada = Guest::join(&server, "yard", "Ada", CarrierKind::WebSocket).await;
    let profile = until(&server, "rooms/yard/profile", |profile| {
        hook(profile, 9).is_some_and(|hook| hook["calls"].as_u64() > Some(20))
    })
    .await;
    let (of_world, of_kind) = (hook(&profile, 9).unwrap(), hook(&profile, 13).unwrap());
    assert_eq!((&of_world["hook"], &of_world["kind"]), (&json!("step"), &Json::Null), "{profile}");
    assert_eq!((&of_kind["hook"], &of_kind["kind"]), (&json!("step"), &json!("crate")), "{profile}");
    assert_eq!(of_world["file"], "world.luau");
    assert!(of_world["bytes"].as_u64() > Some(20 * 1_600), "{of_world}");
    assert!(
        of_world["us"].as_u64() >= of_world["usMax"].as_u64() && of_world["units"].as_u64() > Some(2_000)
    );
    assert!(profile["hookSteps"].as_u64() > Some(20), "{profile}");
    let step = profile["steps"].as_array().unwrap().last().unwrap();
    assert!(step["rulesUs"].as_u64() <= step["phases"]["world"].as_u64(), "{step}");
    assert!(profile["memoryBytes"].as_u64() < profile["memoryBytesMax"].as_u64());
    drop(ada);
    server.stop().await;
}

#[tokio::test]
async fn a_client_on_a_session_is_shown_with_its_link_queue_and_entities() {
    let yard = Yard::new();
    yard.write("world.luau", RULES);
    let server = yard.serve(|_| {}).await;
    let mut ada = Guest::join(&server, "yard", "Ada", CarrierKind::WebTransport).await;
    ada.steer(&Input { forward: 1.0, run: true, ..Input::default() });
    let path = format!("rooms/yard/clients/{}", ada.id);
    let moved = |client: &Json| {
        client["kinds"].as_array().is_some_and(|kinds| {
            kinds.iter().any(|kind| kind["kind"] == "crate" && kind["bytes"].as_f64() > Some(100.0))
        })
    };
    let watched = async {
        loop {
            ada.take_for(std::time::Duration::from_millis(100)).await;
        }
    };
    let described = tokio::select! {
        described = until(&server, &path, moved) => described,
        () = watched => unreachable!("the client stays"),
    };
    let client = &described["client"];
    assert_eq!((&client["carrier"], &client["name"]), (&json!("webtransport"), &json!("Ada")), "{described}");
    for known in ["rttMs", "jitterMs", "lossPerMille", "queueingMs", "rateBytes", "queued", "queuedBytes"] {
        assert!(client[known].is_number(), "{known}: {client}");
    }
    assert!(client["sentBytes"].as_u64() > client["bytes"]["movement"].as_u64(), "{client}");
    assert!(client["bytes"]["description"].as_u64() > Some(0) && client["agesMs"]["near"].is_number());
    assert_eq!(
        described["entities"].as_array().map(Vec::len),
        Some(4),
        "three crates and the avatar: {described}"
    );
    assert!(described["measuredS"].as_f64() > Some(0.0) && described["queue"].is_array(), "{described}");
    assert!(described["agesMs"].as_array().is_some_and(|ages| !ages.is_empty()), "{described}");
    let listed = get(&server, "rooms/yard/clients").await;
    assert_eq!(listed["clients"][0]["player"], ada.id);
    assert_eq!(send(&server, "GET", "rooms/yard/clients/999", "", "").await.0, 404);
    server.stop().await;
}

#[tokio::test]
async fn a_client_is_banned_by_its_key_and_an_unknown_one_on_this_machine_is_refused() {
    let yard = Yard::new();
    let server = yard.serve(|_| {}).await;
    let mut ada = Guest::join_with(server.address, "yard", "Ada", [7; 16]).await;
    let ben = server.join("yard", "name=Ben&hz=60").await;
    let ban = json!({ "reason": "spam", "banS": 3_600 }).to_string();
    let path = |player: u32| format!("rooms/yard/clients/{player}");
    let (status, json) = send(&server, "DELETE", &path(ben.id), JSON, &ban).await;
    assert_eq!((status, code(&json)), (409, "refused"), "{json}");
    let (status, json) = send(&server, "DELETE", &path(ada.id), JSON, &ban).await;
    assert_eq!((status, json["banned"].as_array().map(Vec::len)), (200, Some(1)), "{json}");
    assert_eq!(ada.end().await.code.0, 73, "the client receives the code of a ban");
    let audit = get(&server, "audit").await;
    let entries = audit["entries"].as_array().unwrap();
    assert_eq!((&entries[0]["ok"], &entries[1]["ok"]), (&json!(false), &json!(true)), "{audit}");
    assert_eq!(entries[1]["detail"]["banS"], 3_600);
    let command = json!({ "commands": [{ "type": "set_state", "key": "count", "value": 1 }] });
    post(&server, "rooms/yard/commands", command).await;
    let still = send(&server, "DELETE", &path(ben.id), JSON, r#"{"reason":"enough"}"#).await;
    assert_eq!(still.0, 200);
    assert_eq!(ben.until_closed().await.1, "the world removed you: enough");
    server.stop().await;
}
