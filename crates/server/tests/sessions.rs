//! Clients on sessions: over both carriers, together with plain clients, and clients that violate the protocol.

use std::time::Duration;

use crate::common;
use crate::common::session::Guest;
use crate::common::{PATIENCE, TestServer};
use nowcast::{CarrierKind, Channel, ConnectError, Connector, Error};
use nowcast_server::ServiceConfig;
use nowcast_wire::{Value, encode_to_vec};
use nowcast_world::Input;
use nowcast_world_client::Join;
use nowcast_world_protocol::session::{
    CHAT_LANE, CONTROLS_KEY, Controls, Line, PROTOCOL, STEPS_KEY, Step, Steps, ToWorld, VIEW_KEY, View,
};
use tokio::time::timeout;

const RUN: Controls = Controls { number: 1, forward: 1.0, right: 0.0, yaw: 0.0, run: true, jump: false };

#[tokio::test]
async fn players_on_both_carriers_and_on_the_plain_protocol_share_one_world() {
    let server = TestServer::start().await;
    let mut ada = Guest::join(&server, "plaza", "Ada", CarrierKind::WebTransport).await;
    let mut ben = Guest::join(&server, "plaza", "Ben", CarrierKind::WebSocket).await;
    let mut cleo = server.join("plaza", "encoding=json&name=Cleo&hz=60").await;
    assert_eq!(ada.channel.status().carrier, Some(CarrierKind::WebTransport));
    assert_eq!(ben.channel.status().carrier, Some(CarrierKind::WebSocket));
    let named = |guest: &Guest, id: u32, name: &str| {
        guest.view.players.get(&id).is_some_and(|player| player.name == name)
    };
    let cleo_id = cleo.id;
    let ben_id = ben.id;
    ada.until("Ben and Cleo", |ada| named(ada, ben_id, "Ben") && named(ada, cleo_id, "Cleo")).await;

    let avatar = ada.avatar().expect("the player has an avatar");
    let start = ada.place(avatar).expect("the avatar has a position");
    ada.steer(&Input { forward: 1.0, run: true, ..Input::default() });
    let is_away = move |guest: &Guest| {
        guest.place(avatar).is_some_and(|[x, _, z]| (x - start[0]).hypot(z - start[2]) > 1.0)
    };
    ben.until("Ada's steps", is_away).await;

    ben.say("<b>hello</b>");
    ada.until("the line", |ada| !ada.view.said.is_empty()).await;
    assert_eq!(ada.view.said, [(ben_id, "Ben".into(), "<b>hello</b>".into())]);
    cleo.until_view("the line", |view| view.said == ada.view.said).await;
    let body = ben.avatar().expect("the player has an avatar");
    drop(ben);
    ada.until("Ben to be gone", |ada| {
        !ada.view.players.contains_key(&ben_id) && !ada.view.entities.contains_key(&body)
    })
    .await;
    server.until_metric("nowcast_clients", |clients| clients == 2.0).await;
    server.stop().await;
    assert_eq!(ada.end().await.code, nowcast::session::CloseCode::GOING_AWAY);
}

#[test]
fn the_avatar_of_a_vanished_client_stops_before_the_session_ends() {
    let here = tokio::runtime::Runtime::new().expect("threads can be started");
    let (server, mut ben, ada_id, elsewhere) = here.block_on(async {
        let server = TestServer::start().await;
        let ben = Guest::join(&server, "plaza", "Ben", CarrierKind::WebSocket).await;
        // Ada's program has a separate runtime. It can be ended without a last message, like a killed program.
        let elsewhere = tokio::runtime::Runtime::new().expect("threads can be started");
        let address = server.address;
        let (said, heard) = tokio::sync::oneshot::channel();
        elsewhere.spawn(async move {
            let mut ada = Guest::join_at(address, "plaza", "Ada", CarrierKind::WebTransport).await;
            ada.steer(&Input { forward: 1.0, run: true, ..Input::default() });
            ada.channel.drained().await.expect("the message arrives");
            said.send(ada.avatar().expect("the player has an avatar")).expect("the test waits");
            std::future::pending::<()>().await;
        });
        let ada_id = timeout(PATIENCE, heard).await.expect("Ada joins").expect("Ada sends her join message");
        (server, ben, ada_id, elsewhere)
    });
    elsewhere.shutdown_background();
    here.block_on(async {
        let standing = async {
            let (mut before, mut same) = (ben.place(ada_id), 0);
            while same < 10 {
                ben.take_for(Duration::from_millis(100)).await;
                let now = ben.place(ada_id);
                same = if now.is_some() && now == before { same + 1 } else { 0 };
                before = now;
            }
        };
        timeout(PATIENCE, standing).await.expect("Ada stands still");
        assert!(ben.view.entities.contains_key(&ada_id), "Ada may return, so her avatar stays");
        server.stop().await;
    });
}

/// Found by fuzzing: a server with the default limits of the format read 26 bytes as 1,980,681 steps, in 48 MB.
#[tokio::test]
async fn a_short_message_that_stands_for_millions_of_steps_is_refused() {
    const TWO_MILLION_STEPS: [u8; 26] = [
        0x00, 0xa9, 0x01, 0x89, 0xf2, 0x78, 0x01, 0x00, 0x24, 0x01, 0x00, 0x04, 0x40, 0x50, 0x01, 0x00, 0x99,
        0x01, 0x00, 0x01, 0x3b, 0x00, 0x83, 0x06, 0x00, 0x00,
    ];
    let server = TestServer::start().await;
    let mut guest = Guest::join(&server, "rules", "Guest", CarrierKind::WebSocket).await;
    guest.channel.try_state(STEPS_KEY, &TWO_MILLION_STEPS).expect("our side accepts it");
    let closed = guest.end().await;
    assert_eq!(closed.code.0, 64, "{closed}");
    assert!(closed.reason.contains("bytes of memory"), "{closed}");
    server.stop().await;
}

#[tokio::test]
async fn a_client_that_breaks_a_rule_receives_the_rule_and_no_other_client_is_affected() {
    let server = TestServer::start().await;
    let mut witness = Guest::join(&server, "rules", "Witness", CarrierKind::WebSocket).await;
    let nan = Controls { yaw: f32::NAN, ..RUN };
    let wide = Controls { forward: 3.0, ..RUN };
    let many_steps = Steps { number: 1, steps: vec![Step::default(); 65] };
    let late_view = View { delay_ms: 1_001 };
    let far = ToWorld::Rate { network_hz: 1_000 };
    let shown = Some(f64::NAN);
    let (action, arguments) = ("wave".to_owned(), Value::Nil);
    let no_moment = ToWorld::Act { action, arguments, number: None, step: None, shown };
    let again = ToWorld::Join { protocol: PROTOCOL, name: String::new(), network_hz: 0, key: Vec::new() };
    type Break<'a> = (&'a str, u32, Box<dyn Fn(&Channel) -> Result<(), Error> + 'a>);
    let breaks: [Break<'_>; 11] = [
        ("garbage", 64, Box::new(|channel| channel.try_event(b"\xff\xff\xff"))),
        ("an empty event", 64, Box::new(|channel| channel.try_event(b""))),
        ("a second Join", 64, Box::new(|channel| channel.try_event(&encode_to_vec(&again)))),
        ("a state of another key", 64, Box::new(|channel| channel.try_state(7, b"x"))),
        ("a state on the lane of chat", 64, Box::new(|channel| channel.lane(CHAT_LANE).try_state(1, b"x"))),
        ("too many steps", 64, Box::new(|channel| channel.try_state(STEPS_KEY, &encode_to_vec(&many_steps)))),
        (
            "a view of long ago",
            65,
            Box::new(|channel| channel.try_state(VIEW_KEY, &encode_to_vec(&late_view))),
        ),
        ("NaN", 65, Box::new(|channel| channel.try_state(CONTROLS_KEY, &encode_to_vec(&nan)))),
        ("out of bounds", 65, Box::new(|channel| channel.try_state(CONTROLS_KEY, &encode_to_vec(&wide)))),
        ("no moment", 65, Box::new(|channel| channel.try_event(&encode_to_vec(&no_moment)))),
        ("a rate out of bounds", 65, Box::new(|channel| channel.try_event(&encode_to_vec(&far)))),
    ];
    for (what, code, break_rule) in breaks {
        let mut guest = Guest::join(&server, "rules", "Guest", CarrierKind::WebSocket).await;
        break_rule(&guest.channel).expect("our side accepts it");
        let closed = guest.end().await;
        assert_eq!(closed.code.0, code, "{what}: {closed}");
    }
    let mut noisy = Guest::join(&server, "rules", "Noisy", CarrierKind::WebSocket).await;
    for _ in 0..400 {
        let line = encode_to_vec(&Line { text: "x".into() });
        // The lane may be full for a moment, or the session may be closed already.
        let _ = timeout(Duration::from_secs(1), noisy.channel.lane(CHAT_LANE).event(&line)).await;
    }
    assert_eq!(noisy.end().await.code.0, 66);
    witness.until("all players to be gone", |witness| witness.view.players.len() == 1).await;
    server.stop().await;
}

#[tokio::test]
async fn a_walker_waits_a_second_for_its_client_and_then_stops() {
    let server = TestServer::start().await;
    let mut ada = Guest::join(&server, "plaza", "Ada", CarrierKind::WebSocket).await;
    let ben = Guest::join(&server, "plaza", "Ben", CarrierKind::WebSocket).await;
    let walk = Step { forward: 1.0, run: true, ..Step::default() };
    let steps = Steps { number: 65_530, steps: vec![walk] };
    ada.channel.try_state(STEPS_KEY, &encode_to_vec(&steps)).expect("a state always fits");
    let waited = r#"nowcast_prediction_total{outcome="stalled"}"#;
    server.until_metric(r#"nowcast_prediction_total{outcome="given_up"}"#, |count| count > 10.0).await;
    assert!((60.0..90.0).contains(&server.metric(waited)), "{} waits", server.metric(waited));
    // The distance of one step, and of the slide after it. She must not continue with inputs that the client does not
    // repeat.
    let avatar = ada.avatar().expect("the player has an avatar");
    ada.take_for(Duration::from_millis(100)).await;
    let stands = ada.place(avatar).expect("the avatar has a position");
    ada.take_for(Duration::from_millis(300)).await;
    let after = ada.place(avatar).expect("the avatar has a position");
    assert!((stands[0] - after[0]).hypot(stands[2] - after[2]) < 0.01, "from {stands:?} to {after:?}");

    // After a jump of the client's counter, the steps between are skipped, and later steps take effect.
    let steps = Steps { number: 20_000, steps: vec![Step { yaw: 1.0, ..Step::default() }] };
    let of_ada = server.metric(waited);
    ben.channel
        .try_state(STEPS_KEY, &encode_to_vec(&Steps { number: 9, steps: vec![walk] }))
        .expect("the channel accepts the state");
    server.until_metric(waited, |count| count > of_ada + 10.0).await;
    ben.channel.try_state(STEPS_KEY, &encode_to_vec(&steps)).expect("a state always fits");
    let elsewhere = r#"nowcast_messages_dropped_total{reason="steps_elsewhere"}"#;
    server.until_metric(elsewhere, |count| count == 1.0).await;
}

#[tokio::test]
async fn inputs_and_lines_that_arrive_before_join_wait_for_it() {
    let server = TestServer::start().await;
    let channel = Guest::open(&server, "plaza", CarrierKind::WebSocket).await.expect("the room has space");
    channel.try_state(CONTROLS_KEY, &encode_to_vec(&RUN)).expect("a state always fits");
    let line = Line { text: "before I am here".into() };
    channel.lane(CHAT_LANE).try_event(&encode_to_vec(&line)).expect("the chat lane has space");
    channel.drained().await.expect("both messages arrive");
    let mut ada = Guest::join_by(channel, "Ada").await;
    let avatar = ada.avatar().expect("the player has an avatar");
    let start = ada.place(avatar).expect("the avatar has a position");
    let is_away =
        |ada: &Guest| ada.place(avatar).is_some_and(|[x, _, z]| (x - start[0]).hypot(z - start[2]) > 1.0);
    ada.until("her steps", is_away).await;
    ada.until("her line", |ada| !ada.view.said.is_empty()).await;
    assert_eq!(ada.view.said, [(ada.id, "Ada".into(), line.text)]);
    server.stop().await;
}

#[tokio::test]
async fn a_client_of_another_service_learns_that_this_is_a_world() {
    let server = TestServer::start().await;
    let channel = Guest::open(&server, "plaza", CarrierKind::WebSocket).await.expect("the room has space");
    channel.try_event(b"hello").expect("the lane is empty");
    let closed = timeout(PATIENCE, channel.closed()).await.expect("the session ends");
    assert!(closed.code.0 == 64 && closed.reason.contains("this is a world"), "{closed}");
    server.stop().await;
}

#[tokio::test]
async fn a_client_without_a_valid_name_or_room_receives_the_cause() {
    let server = TestServer::with(|config| {
        config.limits.players_max = 1;
        config.timeouts.handshake = Duration::from_millis(300);
    })
    .await;
    let silent = Guest::open(&server, "one", CarrierKind::WebSocket).await.expect("the room has space");
    assert_eq!(timeout(PATIENCE, silent.closed()).await.expect("the session ends").code.0, 68);
    let other = Guest::open(&server, "one", CarrierKind::WebSocket).await.expect("the room has space");
    // Version 1 of the world protocol differs, but its `Join` has the same fields. So the server can answer it.
    let join = ToWorld::Join { protocol: 1, name: String::new(), network_hz: 0, key: Vec::new() };
    other.try_event(&encode_to_vec(&join)).expect("the lane is empty");
    let closed = timeout(PATIENCE, other.closed()).await.expect("the session ends");
    assert!(
        closed.code.0 == 5
            && closed.reason.contains("version 1 of the world's protocol, this server speaks 8"),
        "{closed}"
    );

    let first = Guest::join(&server, "one", "Ada", CarrierKind::WebSocket).await;
    let second = Guest::open(&server, "one", CarrierKind::WebTransport).await.expect("it may be a program");
    let join = ToWorld::Join { protocol: PROTOCOL, name: String::new(), network_hz: 0, key: Vec::new() };
    second.try_event(&encode_to_vec(&join)).expect("the lane is empty");
    let closed = timeout(PATIENCE, second.closed()).await.expect("the session ends");
    assert!(closed.code.0 == 70 && closed.reason.contains("1 players are in it"), "{closed}");
    let program = Guest::join_as_program(&server, "one", "Studio").await;
    let refusal = Guest::open(&server, "one", CarrierKind::WebTransport).await.expect_err("the room is full");
    assert!(matches!(&refusal, ConnectError::Refused(refusal) if refusal.error == "full"), "{refusal}");
    assert!(refusal.to_string().contains("1 players are in it"), "{refusal}");
    drop(program);
    let refusal = Guest::open(&server, "No.Room", CarrierKind::WebSocket)
        .await
        .expect_err("the name is not the name of a room");
    assert!(
        matches!(&refusal, ConnectError::Refused(refusal) if refusal.error == "no_such_name"),
        "{refusal}"
    );
    drop(first);
    server.stop().await;
}

#[tokio::test]
async fn a_client_that_accepts_only_small_messages_receives_the_required_size() {
    let many =
        r#"local world = require("@nowcast/world") for i = 1, 200 do world.kind("kind " .. i, {}) end"#;
    let server = TestServer::with(|config| config.worlds = vec![common::script("plaza", many)]).await;
    let limits = nowcast::session::Limits { message_bytes_max: 1_024, ..Default::default() };
    let config = nowcast::session::Config { limits, ..Default::default() };
    let url = format!("nowcast://{}/plaza", server.address);
    let channel = Connector::new().session(config).connect(&url).await.expect("the room has space");
    let join = ToWorld::Join { protocol: PROTOCOL, name: "Ada".into(), network_hz: 0, key: Vec::new() };
    channel.try_event(&encode_to_vec(&join)).expect("the lane is empty");
    let closed = timeout(PATIENCE, channel.closed()).await.expect("the session ends");
    assert!(closed.code.0 == 64 && closed.reason.contains("the client takes 1024"), "{closed}");
    server.stop().await;
}

#[tokio::test]
async fn the_list_of_worlds_is_readable_for_allowed_origins_only() {
    let server = TestServer::with(|config| config.entry.origins = vec!["https://example.org".into()]).await;
    let answer = server.get_with("/nowcast/plaza", "Origin: https://example.org\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(answer.contains("access-control-allow-origin: https://example.org"), "{answer}");
    assert!(answer.contains(&format!(r#""webtransport":{{"port":{}"#, server.address.port())), "{answer}");
    let answer = server.get_with("/nowcast/plaza", "Origin: https://example.com\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 403") && answer.contains("wrong_origin"), "{answer}");
    assert!(!answer.contains("access-control-allow-origin"), "{answer}");
    server.stop().await;

    let without = TestServer::with(|config| config.webtransport = false).await;
    assert!(!without.get("/nowcast/plaza").await.contains("webtransport"));
    without.stop().await;
}

#[tokio::test]
async fn an_embedding_program_serves_names_beside_the_rooms() {
    let echo = || {
        ServiceConfig::new("echo", |channel| async move {
            nowcast::echo(&channel).await;
        })
    };
    let server = TestServer::with(|config| config.services.push(echo())).await;
    let url = format!("nowcast://{}/echo", server.address);
    for carrier in [CarrierKind::WebTransport, CarrierKind::WebSocket] {
        let channel =
            timeout(PATIENCE, Connector::new().carriers([carrier]).connect(&url)).await.unwrap().unwrap();
        assert_eq!(channel.command(b"well?", PATIENCE).await.unwrap(), b"well?", "{carrier}");
    }
    // Checks that rooms still admit clients.
    Guest::join(&server, "plaza", "Ada", CarrierKind::WebSocket).await;
    server.stop().await;

    for services in [vec![echo(), echo()], vec![ServiceConfig::new("plaza", |_| async {})]] {
        let config = nowcast_server::Config { services, ..common::config() };
        let Err(error) = nowcast_server::Server::bind(config).await else {
            panic!("two things have one name")
        };
        assert!(error.to_string().contains("choose another name"), "{error}");
    }
}

/// Lets a client join a world and read nothing. Returns the greatest memory that waited for the client until it was closed.
async fn memory_of_a_session_that_never_reads(rules: &str) -> f64 {
    let world = format!(
        "local world = require('@nowcast/world')
        local Person = world.kind('person', {{ walker = {{}} }})
        world.on('join', function(player) player:spawn_avatar(Person, {{ at = vector.create(0, 1, 0) }}) end)
        {rules}"
    );
    let server = TestServer::with(|config| config.worlds = vec![common::script("loud", &world)]).await;
    let channel = Guest::open(&server, "loud", CarrierKind::WebSocket).await.expect("the room has space");
    let guest = Guest::introduce(channel, Join::new("Ada"));
    let (held, mut most) = ("nowcast_session_unread_bytes", 0.0_f64);
    let reading_nothing = async {
        while !server.handle.metrics().contains("reason=\"too_slow\"") {
            most = most.max(server.metric(held));
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(PATIENCE, reading_nothing).await.expect("the client is closed");
    server.until_metric(held, |bytes| bytes == 0.0).await;
    drop(guest);
    server.stop().await;
    most
}

#[tokio::test]
async fn session_that_reads_nothing_is_closed_before_it_holds_more_than_its_budget() {
    let events = "world.event('noise', { text = 'text' })
        world.on('step', function()
            for _ = 1, 8 do world.emit('noise', { text = string.rep('x', 4000) }) end
        end)";
    // Each event keeps the values before it from being replaced.
    let states_between_events = "world.event('beat', { by = 'u8' })
        local Lamp = world.kind('lamp', { attributes = { count = 'u8' } })
        world.on('start', function() for x = 1, 60 do Lamp:spawn { at = vector.create(x / 10, 0, 0) } end end)
        world.on('step', function()
            for _, lamp in Lamp:all() do lamp.count = (lamp.count + 1) % 100 end
            world.emit('beat', { by = 1 })
        end)";
    // The client is to learn of each entity that has gone.
    let entities_that_go = "local Bolt = world.kind('bolt', {})
        world.on('step', function()
            for _, bolt in Bolt:all() do bolt:despawn() end
            for x = 1, 30 do Bolt:spawn { at = vector.create(x / 10, 0, 0) } end
        end)";
    for rules in [events, states_between_events, entities_that_go] {
        let most = memory_of_a_session_that_never_reads(rules).await;
        assert!((100_000.0..1_500_000.0).contains(&most), "{most} bytes waited: {rules}");
    }
}
