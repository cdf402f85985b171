//! Owner commands on sessions and in the plain protocol, and the rejection of forbidden commands.

use std::time::Duration;

use crate::common::session::Guest;
use crate::common::{PATIENCE, TestServer, map, script};
use nowcast::{CarrierKind, Connector, Error};
use nowcast_server::admission::{Claims, TokenKey, unix_time};
use nowcast_wire::{Value, encode_to_vec};
use nowcast_world_protocol::plain::ClientMessage;
use nowcast_world_protocol::session::{OWNED_KEYS, Owned, PROTOCOL, Place, ToWorld, WORLD_LANE};
use serde_json::json;
use tokio::time::timeout;

const HALL: &str = r#"
    local world = require("@nowcast/world")
    local Hand = world.kind("hand", {
        body = { motion = "kinematic", shape = "sphere", radius = 0.1 },
        attributes = { grip = { "f32", min = 0, max = 1, step = 0.25 }, secret = "u8" },
        owner = { by = "anyone", speed = 50, reach = 4, attributes = { "grip" }, spawns = 2, leave = "despawn" },
    })
    local Target = world.kind("target", { owner = { by = "program", beyond = "refuse", speed = 20, reach = 3 } })
    local Stone = world.kind("stone", {})
    local Person = world.kind("person", { walker = {} })
    world.state { programs = 0 }
    world.on("start", function()
        Hand:spawn { at = vector.create(1, 1, 0) }
        Target:spawn { at = vector.create(5, 1, 0) }
        Stone:spawn { at = vector.create(9, 1, 0) }
    end)
    world.on("join", function(player) player:spawn_avatar(Person, { at = vector.create(0, 1, 0) }) end)
    world.on("program_join", function(player)
        world.state.programs += 1
        world.show("programs", world.state.programs)
    end)
    world.on("program_leave", function(player)
        world.state.programs -= 1
        world.show("programs", world.state.programs)
    end)
"#;

const HAND: u32 = 1;
const TARGET: u32 = 2;
const STONE: u32 = 3;

async fn hall() -> TestServer {
    TestServer::with(|config| config.worlds = vec![script("hall", HALL)]).await
}

fn own(entity: u32) -> ToWorld {
    ToWorld::Own { entity, number: entity + 100 }
}

#[tokio::test]
async fn a_program_moves_its_entities_freely_and_all_clients_see_it() {
    let server = hall().await;
    let mut ada = server.join("hall", "name=Ada&hz=60").await;
    let mut tracker = Guest::join_as_program(&server, "hall", "tracker").await;
    assert_eq!(tracker.avatar(), None);
    ada.until_view("the program", |view| view.screen("programs") == Some(&json!(1.0))).await;
    tracker.tell(&own(TARGET));
    tracker.until("the answer", |tracker| tracker.view.granted == [(TARGET, TARGET + 100)]).await;
    let id = ada.view.players.iter().find(|(_, player)| player.name == "tracker").map(|(id, _)| *id);
    assert_eq!(tracker.view.entities[&TARGET].owner, id, "the entity was sent before the answer");
    for view in [&ada.view, &tracker.view] {
        let programs: Vec<_> = view.players.values().filter(|player| player.program).collect();
        assert!(view.players.len() == 2 && programs.len() == 1 && programs[0].name == "tracker", "{view:?}");
    }
    for step in 1..=20 {
        tracker.bring(TARGET, [5.0, 1.0, 0.1 * step as f32]);
    }
    ada.until_view("the newest place", |view| {
        view.entities[&TARGET].place.is_some_and(|[_, _, z]| (z - 2.0).abs() < 0.01)
    })
    .await;
    assert_eq!(ada.view.entities[&TARGET].owner, id);

    let spawn = |number| ToWorld::Spawn {
        number,
        kind: "hand".into(),
        place: Place { position: [2.0, 1.0, 0.0], rotation: [0.0, 0.0, 0.0, 1.0] },
        attributes: map(&[("grip", Value::F64(0.6))]),
    };
    tracker.tell(&spawn(7));
    tracker.until("its hand", |tracker| tracker.view.granted.len() == 2).await;
    let (made, number) = tracker.view.granted[1];
    assert_eq!(
        (number, &tracker.view.entities[&made].attributes),
        (7, &json!({ "grip": 0.5, "secret": 0.0 }))
    );
    tracker.tell(&ToWorld::Set { entity: made, attributes: map(&[("grip", Value::F64(1.0))]) });
    ada.until_view("the grip", |view| {
        view.entities.get(&made).is_some_and(|hand| hand.attributes["grip"] == json!(1.0))
    })
    .await;
    drop(tracker);
    ada.until_view("its end", |view| {
        !view.entities.contains_key(&made)
            && view.entities[&TARGET].owner.is_none()
            && view.screen("programs") == Some(&json!(0.0))
    })
    .await;
    server.stop().await;
}

#[tokio::test]
async fn programs_do_not_take_the_seats_of_people_and_are_not_counted_as_people() {
    let server = TestServer::with(|config| {
        config.worlds = vec![script("hall", HALL)];
        config.limits.players_max = 1;
    })
    .await;
    let mut program = server.join("hall", "name=Studio&role=program").await;
    let mut ada = server.join("hall", "name=Ada").await;
    for client in [&mut program, &mut ada] {
        client.until_view("both players", |view| view.players.len() == 2).await;
        let programs = client.view.players.values().filter(|player| player.program);
        assert_eq!(programs.map(|player| player.name.as_str()).collect::<Vec<_>>(), ["Studio"]);
    }
    let rooms = server.get("/api/rooms").await;
    assert!(rooms.contains(r#""players":1,"playersMax":1"#), "{rooms}");
    for role in ["player", "program"] {
        let refused = server.connect(&format!("/ws/hall?role={role}")).await.map(drop);
        assert!(refused.is_err_and(|error| error.to_string().contains("503")), "{role}");
    }
    drop(ada);
    server.until_metric("nowcast_clients", |clients| clients == 1.0).await;
    let ben = server.join("hall", "name=Ben").await;
    assert_eq!(ben.name(), "Ben");
    server.stop().await;
}

#[tokio::test]
async fn forbidden_owner_commands_are_denied_and_counted_and_the_client_stays() {
    let server = hall().await;
    let mut ada = Guest::join(&server, "hall", "Ada", CarrierKind::WebSocket).await;
    let mut tracker = Guest::join_as_program(&server, "hall", "tracker").await;
    tracker.tell(&own(HAND));
    tracker.tell(&own(TARGET));
    tracker.until("both", |tracker| tracker.view.granted.len() == 2).await;
    for entity in [HAND, TARGET, STONE, 4_000_000_000] {
        ada.tell(&own(entity));
    }
    ada.bring(HAND, [0.0; 3]);
    ada.bring(77, [0.0; 3]);
    ada.tell(&ToWorld::Release { entity: TARGET, to: None });
    ada.tell(&ToWorld::Set { entity: HAND, attributes: map(&[("grip", 1.into())]) });
    ada.until("the answers", |ada| ada.view.denied.len() == 8).await;
    let mut denied = ada.view.denied.clone();
    denied.sort();
    let expected = [
        ("move", 77, "there is no such entity"),
        ("move", HAND, "you do not own the entity"),
        ("own", 4_000_000_000, "there is no such entity"),
        ("own", HAND, &format!("player {} owns it", tracker.id)),
        ("own", STONE, "no player may ask for a \"stone\""),
        ("own", TARGET, "only programs may own a \"target\""),
        ("release", TARGET, "you do not own the entity"),
        ("set", HAND, "you do not own the entity"),
    ];
    let mut expected = expected.map(|(request, entity, why)| (request.to_owned(), entity, why.to_owned()));
    expected.sort();
    let without_number = |list: &[(String, u32, String)]| -> Vec<(String, u32)> {
        list.iter().map(|(request, entity, _)| (request.clone(), *entity)).collect()
    };
    assert_eq!(without_number(&denied), without_number(&expected));
    for (found, wanted) in denied.iter().zip(&expected) {
        assert!(found.2 == wanted.2 || wanted.2.ends_with("owns it"), "{found:?} is not {wanted:?}");
    }
    tracker.bring(TARGET, [5.0, 1.0, 90.0]);
    tracker.tell(&ToWorld::Set { entity: HAND, attributes: map(&[("secret", 1.into())]) });
    tracker.until("the answers", |tracker| tracker.view.denied.len() == 2).await;
    let mut reasons: Vec<_> = tracker.view.denied.iter().map(|(_, _, reason)| reason.as_str()).collect();
    reasons.sort_unstable();
    assert_eq!(reasons, ["its owner may not set \"secret\"", "the position is out of reach"]);
    let dropped = server.metric("nowcast_messages_dropped_total{reason=\"owner_refused\"}");
    assert_eq!(dropped, 10.0);
    server.stop().await;
}

#[tokio::test]
async fn numbers_outside_every_world_close_a_session() {
    let server = hall().await;
    for (position, velocity) in [
        ([f32::NAN, 0.0, 0.0], None),
        ([0.0, f32::INFINITY, 0.0], None),
        ([1e9; 3], None),
        ([0.0; 3], Some(f32::NAN)),
    ] {
        let mut tracker = Guest::join_as_program(&server, "hall", "tracker").await;
        let velocity = velocity
            .map(|part| nowcast_world_protocol::session::Moving { linear: [part; 3], angular: [0.0; 3] });
        let owned = Owned { position, rotation: [0.0, 0.0, 0.0, 1.0], velocity };
        let lane = tracker.channel.lane(WORLD_LANE);
        lane.try_state(OWNED_KEYS + 1, &encode_to_vec(&owned)).expect("a state is taken");
        assert_eq!(tracker.end().await.code.0, 65, "{owned:?}");
    }
    let mut tracker = Guest::join_as_program(&server, "hall", "tracker").await;
    let lane = tracker.channel.lane(WORLD_LANE);
    lane.try_state(1u64 << 34, &[]).expect("a state is taken");
    assert_eq!(tracker.end().await.code.0, 64, "a key without a meaning");
    server.stop().await;
}

#[tokio::test]
async fn a_stock_client_can_own_and_move_entities() {
    let server = hall().await;
    let mut ada = server.join("hall", "name=Ada&hz=60").await;
    ada.say(ClientMessage::Own { entity: HAND, number: 3 }).await;
    ada.until_view("the answer", |view| view.granted == [(HAND, 3)]).await;
    let bring = |x: f64| ClientMessage::Move {
        entity: HAND,
        position: [x, 1.0, 0.0],
        rotation: [0.0, 0.0, 0.0, 1.0],
        velocity: None,
        spin: None,
    };
    for step in 0..200 {
        ada.say(bring(1.0 + f64::from(step % 10) * 0.1)).await;
    }
    ada.say(bring(2.0)).await;
    ada.until_view("the newest place", |view| {
        view.entities[&HAND].place.is_some_and(|[x, ..]| (x - 2.0).abs() < 0.01)
    })
    .await;
    ada.say(ClientMessage::Set { entity: HAND, attributes: map(&[("grip", Value::F64(1.0))]) }).await;
    ada.until_view("the grip", |view| view.entities[&HAND].attributes["grip"] == json!(1.0)).await;
    ada.say(ClientMessage::Own { entity: TARGET, number: 4 }).await;
    ada.until_view("the refusal", |view| view.denied.len() == 1).await;
    let mut program = server.join("hall", "name=Prog&role=program").await;
    program.say(ClientMessage::Own { entity: TARGET, number: 1 }).await;
    program.until_view("the answer", |view| view.granted == [(TARGET, 1)]).await;
    server.stop().await;
}

#[tokio::test]
async fn where_tokens_are_required_a_program_needs_the_program_role() {
    let key = TokenKey::secret(b"32 bytes that nobody else knows.").expect("the secret is long enough");
    let server = TestServer::with(|config| {
        config.worlds = vec![script("hall", HALL)];
        config.entry.key = Some(key.clone());
    })
    .await;
    let token = |role: &str| {
        let claims = Claims::new(unix_time() + Duration::from_secs(600)).role(role);
        claims.sign(&key).expect("a secret signs")
    };
    for (role, may) in [("program", true), ("editor program", true), ("editor", false), ("programs", false)] {
        let url = format!("nowcast://{}/hall", server.address);
        let connector = Connector::new().carriers([CarrierKind::WebSocket]).token(token(role));
        let channel = connector.connect(&url).await.expect("the token is good");
        let join = ToWorld::JoinProgram {
            protocol: PROTOCOL,
            name: "tracker".into(),
            network_hz: 0,
            key: Vec::new(),
        };
        channel.try_event(&encode_to_vec(&join)).expect("the lane is empty");
        let answer = timeout(PATIENCE, channel.receive()).await.expect("the server answers");
        match answer {
            Ok(_) => assert!(may, "{role}"),
            Err(Error::Closed(closed)) => assert_eq!((may, closed.code.0), (false, 71), "{role}"),
            Err(other) => panic!("{other}"),
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn rules_read_the_roles_of_a_token() {
    let rules = r#"
        local world = require("@nowcast/world")
        world.on("join", function(player)
            local is_builder = if player:has_role("builder") then "builds" else "watches"
            world.show("roles", `{table.concat(player.roles, " ")}: {is_builder}`, player)
        end)"#;
    let key = TokenKey::secret(b"32 bytes that nobody else knows.").expect("the secret is long enough");
    let server = TestServer::with(|config| {
        config.worlds = vec![script("hall", rules)];
        config.entry.key = Some(key.clone());
    })
    .await;
    let token = |role: &str| {
        let claims = Claims::new(unix_time() + Duration::from_secs(600)).role(role);
        claims.sign(&key).expect("a secret signs")
    };
    let expected = [("keeper builder", "builder keeper: builds"), ("editor", "editor: watches")];
    for (roles, shown) in expected {
        let mut client = server.join("hall", &format!("token={}", token(roles))).await;
        client.until_view("its roles", |view| view.screen("roles") == Some(&json!(shown))).await;
    }
    server.stop().await;
}
