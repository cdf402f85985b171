//! Actions of players in a world, and which clients receive the results: attributes, screens, events.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::common;
use crate::common::session::Guest;
use crate::common::{Player, TestServer};
use nowcast::CarrierKind;
use nowcast_server::world::Value;
use nowcast_world_protocol::plain::ClientMessage;
use nowcast_world_protocol::session::ToWorld;
use serde_json::json;

/// Lets a player send a final chat line, and waits until all clients have received it, with everything before it.
async fn settle(speaker: &mut Player, plain: &mut [&mut Player], sessions: &mut [&mut Guest]) {
    static SETTLED: AtomicU32 = AtomicU32::new(0);
    let word = format!("settled {}", SETTLED.fetch_add(1, Ordering::Relaxed));
    speaker.act("tell", &[("whom", "all".into()), ("word", word.clone().into())]).await;
    let word = json!(word);
    speaker.until_view("the end", |view| view.heard("whispered").any(|said| said["word"] == word)).await;
    for player in plain {
        player.until_view("the end", |view| view.heard("whispered").any(|said| said["word"] == word)).await;
    }
    for guest in sessions {
        guest.until("the end", |guest| guest.view.heard("whispered").any(|said| said["word"] == word)).await;
    }
}

#[tokio::test]
async fn both_protocols_describe_one_room_alike() {
    let server = TestServer::start().await;
    let mut ada = server.join("plaza", "name=Ada").await;
    let mut ben = server.join("plaza", "name=Ben&encoding=msgpack").await;
    let mut cleo = server.join("plaza", "name=Cleo&encoding=msgpack&hz=60").await;
    let mut dora = Guest::join(&server, "plaza", "Dora", CarrierKind::WebSocket).await;
    let mut emil = Guest::join(&server, "plaza", "Emil", CarrierKind::WebTransport).await;
    let late = server.join("plaza", "name=Finn").await;

    ada.act("feel", &[("mood", "curious".into())]).await;
    dora.act("light", &[("lit", true.into()), ("warmth", 0.6.into())]);
    ben.act("drop", &[]).await;
    emil.act("drop", &[]);
    cleo.act("lift", &[("height", 2.5.into())]).await;
    ada.act("show", &[("place", "score".into()), ("value", 3.into())]).await;
    dora.act("show", &[("place", "clock".into()), ("value", common::map(&[("left", 7.into())]))]);
    let (cleo_id, body) = (cleo.id, cleo.avatar());
    cleo.act("change_body", &[]).await;
    ben.say(ClientMessage::Name { name: "Benjamin".into() }).await;
    dora.tell(&ToWorld::Rename { name: "Theodora".into() });
    let finn = late.id;
    drop(late);
    ada.until_view("everything", |view| {
        let is_named = |name: &str| view.players.values().any(|player| player.name == name);
        view.of_kind("ball").count() == 2
            && view
                .of_kind("lamp")
                .all(|(_, lamp)| lamp.attributes["lit"] == true && lamp.place == Some([0.0, 2.5, 40.0]))
            && view.screens.len() == 2
            && is_named("Benjamin")
            && is_named("Theodora")
            && !view.players.contains_key(&finn)
            && view.avatar(cleo_id) != Some(body)
            && !view.entities.contains_key(&body)
    })
    .await;
    settle(&mut ada, &mut [&mut ben, &mut cleo], &mut [&mut dora, &mut emil]).await;

    let mut newcomer = server.join("plaza", "name=Gil").await;
    let mut guest = Guest::join(&server, "plaza", "Hana", CarrierKind::WebSocket).await;
    settle(&mut ada, &mut [&mut ben, &mut cleo, &mut newcomer], &mut [&mut dora, &mut emil, &mut guest])
        .await;
    let expected = ada.view.without_places();
    for (who, view) in [
        ("Ben", &ben.view),
        ("Cleo", &cleo.view),
        ("Dora", &dora.view),
        ("Emil", &emil.view),
        ("a newcomer", &newcomer.view),
        ("a newcomer on a session", &guest.view),
    ] {
        assert_eq!(view.without_places(), expected, "{who}");
    }
    let (_, lamp) = ada.view.of_kind("lamp").next().expect("the view has a lamp");
    assert_eq!(lamp.attributes, json!({ "lit": true, "warmth": 0.5 }), "a multiple of its step");
    assert_eq!(lamp.scale, [1.0, 2.0, 1.0]);
    let (_, post) = guest.view.of_kind("lamp").next().expect("the view has a lamp");
    assert_eq!(post.place, Some([0.0, 2.5, 40.0]), "an entity without rows is placed by its description");
    ada.act("clear", &[]).await;
    for guest in [&mut dora, &mut emil, &mut guest] {
        guest.until("the balls' end", |guest| guest.view.of_kind("ball").count() == 0).await;
    }
    ben.until_view("the balls' end", |view| view.of_kind("ball").count() == 0).await;
    server.stop().await;
}

#[tokio::test]
async fn events_reach_all_players_near_ones_or_one() {
    let server = TestServer::start().await;
    let mut ada = server.join("plaza", "name=Ada").await;
    let mut ben = server.join("plaza", "name=Ben&encoding=msgpack").await;
    let mut cleo = Guest::join(&server, "plaza", "Cleo", CarrierKind::WebSocket).await;
    // The two players stand 1.5 m apart. `near` reaches 2 m.
    for (whom, word) in [("near", "psst"), ("me", "hm"), ("all", "hello")] {
        ada.act("tell", &[("whom", whom.into()), ("word", word.into())]).await;
    }
    settle(&mut ada, &mut [&mut ben], &mut [&mut cleo]).await;
    let heard = |view: &common::view::View| -> Vec<String> {
        let words = view.heard("whispered").filter_map(|payload| payload["word"].as_str());
        words.filter(|word| !word.starts_with("settled")).map(str::to_owned).collect()
    };
    assert_eq!(heard(&ada.view), ["psst", "hm", "hello"]);
    assert_eq!(heard(&ben.view), ["psst", "hello"]);
    assert_eq!(heard(&cleo.view), ["hello"]);
    // An event that the rules send to a joining player reaches that player.
    for (view, name) in [(&ada.view, "Ada"), (&ben.view, "Ben"), (&cleo.view, "Cleo")] {
        assert_eq!(view.heard("greeted").collect::<Vec<_>>(), [&json!({ "name": name })]);
    }
    server.stop().await;
}

#[tokio::test]
async fn a_screen_is_for_all_or_for_one_player_and_can_be_cleared() {
    let server = TestServer::start().await;
    let mut ada = server.join("plaza", "name=Ada").await;
    let mut ben = Guest::join(&server, "plaza", "Ben", CarrierKind::WebSocket).await;
    let show = |place: &str, value: Value, mine: bool| {
        [("place", place.into()), ("value", value), ("mine", mine.into())]
    };
    ada.act("show", &show("score", 1.into(), false)).await;
    ada.act("show", &show("score", 9.into(), true)).await;
    ben.act("show", &show("prompt", "press E".into(), true));
    settle(&mut ada, &mut [], &mut [&mut ben]).await;
    ben.until("his prompt", |ben| ben.view.screen("prompt").is_some()).await;
    assert_eq!(
        ada.view.screen("score"),
        Some(&json!(9.0)),
        "the own screen has priority over the one for all"
    );
    assert_eq!(ben.view.screen("score"), Some(&json!(1.0)));
    assert_eq!(ada.view.screen("prompt"), None);

    // The slot number of Ada's own screen is reused for the screen for all.
    ada.act("show", &show("score", Value::Nil, true)).await;
    ada.act("show", &show("message", "goal!".into(), false)).await;
    ada.until_view("the message", |view| view.screen("message").is_some()).await;
    assert_eq!(ada.view.screen("score"), Some(&json!(1.0)), "the value for all is shown again");
    ada.act("show", &show("score", Value::Nil, false)).await;
    settle(&mut ada, &mut [], &mut [&mut ben]).await;
    assert_eq!(ada.view.screens.len(), 1, "{:?}", ada.view.screens);
    assert_eq!(ben.view.screen("message"), Some(&json!("goal!")));
    assert_eq!((ben.view.screen("score"), ben.view.screen("prompt")), (None, Some(&json!("press E"))));

    let mut late = Guest::join(&server, "plaza", "Cleo", CarrierKind::WebSocket).await;
    settle(&mut ada, &mut [], &mut [&mut late]).await;
    assert_eq!(late.view.screen("message"), Some(&json!("goal!")));
    assert_eq!(late.view.screen("prompt"), None, "no other client has it");
    server.stop().await;
}

#[tokio::test]
async fn chat_that_the_rules_reject_reaches_no_client() {
    let server = TestServer::start().await;
    let mut ada = server.join("plaza", "name=Ada").await;
    let mut ben = server.join("plaza", "name=Ben").await;
    for text in ["a secret", "no secret"] {
        ada.say(ClientMessage::Chat { text: text.into() }).await;
    }
    assert_eq!(ben.until_chat().await.1, "no secret");
    server.stop().await;
}

const REFUSED: &str = r#"nowcast_messages_dropped_total{reason="action_refused"}"#;

#[tokio::test]
async fn an_invalid_action_is_refused_by_name_without_effect() {
    let server = TestServer::start().await;
    let mut ada = server.join("plaza", "name=Ada&encoding=msgpack").await;
    let mut ben = Guest::join(&server, "plaza", "Ben", CarrierKind::WebSocket).await;
    let list = Value::List(vec![1.into()]);
    let wrong: [(&str, Value, &str); 6] = [
        ("fly", Value::Nil, r#"this world knows no action "fly""#),
        ("light", common::map(&[("lit", "yes".into())]), "lit"),
        ("light", common::map(&[("warmth", "hot".into())]), "warmth"),
        ("light", common::map(&[("colour", 7.into())]), "colour"),
        ("feel", common::map(&[("mood", list.clone())]), "mood"),
        ("feel", list, "a map"),
    ];
    for (action, arguments, _) in &wrong {
        let act = ClientMessage::Act { action: (*action).into(), arguments: arguments.clone(), number: None };
        ada.say(act).await;
        ben.tell(&ToWorld::Act {
            action: (*action).into(),
            arguments: arguments.clone(),
            number: None,
            step: None,
            shown: None,
        });
    }
    ada.until_view("the refusals", |view| view.refused.len() == wrong.len()).await;
    ben.until("the refusals", |ben| ben.view.refused.len() == wrong.len()).await;
    for ((action, _, cause), (refused, reason)) in wrong.iter().zip(&ada.view.refused) {
        assert!(action == refused && reason.contains(cause), "{action}: {reason}");
    }
    assert_eq!(ada.view.refused, ben.view.refused, "both protocols give the same answer");
    assert_eq!(server.metric(REFUSED), 2.0 * wrong.len() as f64);

    // A number outside its range is clamped, and a missing argument gets its default.
    ada.act("light", &[("warmth", 7.into())]).await;
    ada.until_view("the light", |view| {
        view.of_kind("lamp").all(|(_, lamp)| lamp.attributes == json!({ "lit": false, "warmth": 1.0 }))
    })
    .await;
    assert_eq!(ada.view.refused.len(), wrong.len());

    let deep = (0..20).fold(Value::Nil, |inner, _| Value::List(vec![inner]));
    ben.act("show", &[("place", "score".into()), ("value", deep)]);
    ben.until("the refusal", |ben| ben.view.refused.len() > wrong.len()).await;
    let (action, reason) = ben.view.refused.last().expect("an action was refused");
    assert!(action == "show" && reason.contains("16 deep"), "{action}: {reason}");

    let long = "x".repeat(65);
    ben.act(&long, &[]);
    assert_eq!(ben.end().await.code.0, 64);
    ada.act(&long, &[]).await;
    let (code, reason) = ada.until_closed().await;
    assert!(code == 4001 && reason.starts_with("out of bounds: length of action"), "{code} {reason}");
    server.stop().await;
}

#[tokio::test]
async fn actions_over_their_rate_are_refused_one_by_one_and_a_flood_of_them_is_closed() {
    let server = TestServer::start().await;
    let mut eager = server.join("plaza", "name=Eager").await;
    for _ in 0..30 {
        eager.act("feel", &[("mood", "eager".into())]).await;
    }
    eager.until_view("the refusals", |view| view.refused.len() >= 8).await;
    let (action, reason) = &eager.view.refused[0];
    assert!(action == "feel" && reason.contains("at most 20 a second"), "{action}: {reason}");
    assert_eq!(server.metric(r#"nowcast_messages_dropped_total{reason="backlog"}"#), 0.0);
    for _ in 0..1_000 {
        eager.act("feel", &[("mood", "very eager".into())]).await;
    }
    let words = "too many messages: act: at most 20 a second, 20 at once; send fewer";
    assert_eq!(eager.until_closed().await, (4008, words.into()));
    server.stop().await;
}

#[tokio::test]
async fn a_client_with_persistently_refused_actions_is_removed() {
    let server = TestServer::start().await;
    let mut witness = server.join("plaza", "name=Witness").await;
    let mut stubborn = server.join("plaza", "name=Stubborn").await;
    // The actions stay within their rate, so the client is closed because of the refusals.
    let mut turns = tokio::time::interval(Duration::from_millis(55));
    let guest = Guest::join(&server, "plaza", "Guest", CarrierKind::WebSocket).await;
    let fly =
        ToWorld::Act { action: "fly".into(), arguments: Value::Nil, number: None, step: None, shown: None };
    let closed = |code| format!(r#"nowcast_client_closed_total{{code="{code}",reason="rate"}}"#);
    while server.metric(&closed(4008)) == 0.0 || server.metric(&closed(66)) == 0.0 {
        turns.tick().await;
        stubborn.act("fly", &[]).await;
        // The channel may be closed already.
        let _ = guest.channel.try_event(&nowcast_wire::encode_to_vec(&fly));
        assert!(server.metric(REFUSED) < 800.0, "nobody minds");
    }
    let ended =
        tokio::time::timeout(common::PATIENCE, guest.channel.closed()).await.expect("the session ends");
    assert!(ended.code.0 == 66 && ended.reason.contains("refused actions"), "{ended}");
    let (code, reason) = stubborn.until_closed().await;
    assert_eq!(
        (code, reason.as_str()),
        (4008, "too many messages: refused actions: at most 4 a second, 40 at once; send fewer")
    );
    let refused = server.metric(REFUSED);
    assert!(refused > 40.0, "{refused} were refused before");
    witness.until_view("its end", |view| view.players.len() == 1).await;
    server.stop().await;
}

/// A world of twelve hundred tiles, all of which can be painted in one step.
const MOSAIC: &str = r#"
local world = require("@nowcast/world")
local Person = world.kind("person", { walker = {} })
local LABEL = string.rep("tile ", 40)
local Tile = world.kind("tile", { attributes = { color = "text", label = "text" } })
world.on("start", function()
    for x = 1, 40 do
        for z = 1, 30 do
            Tile:spawn { at = vector.create(x, 0, z), label = LABEL }
        end
    end
end)
world.on("join", function(player) player:spawn_avatar(Person, { at = vector.create(0, 1, 0) }) end)
world.action("paint", { color = "text" }, function(_, paint)
    for _, tile in Tile:all() do tile.color = paint.color end
end)
"#;

#[tokio::test]
async fn a_step_that_changes_all_of_a_large_world_disconnects_no_client() {
    let server = TestServer::with(|config| config.worlds = vec![common::script("mosaic", MOSAIC)]).await;
    let mut ada = server.join("mosaic", "name=Ada").await;
    let mut ben = server.join("mosaic", "name=Ben&encoding=msgpack").await;
    let mut cleo = Guest::join(&server, "mosaic", "Cleo", CarrierKind::WebSocket).await;
    let is_painted = |view: &common::view::View| {
        view.of_kind("tile").count() == 1_200
            && view.of_kind("tile").all(|(_, tile)| tile.attributes["color"] == "red")
    };
    ada.act("paint", &[("color", "red".into())]).await;
    ada.until_view("the colour", is_painted).await;
    ben.until_view("the colour", is_painted).await;
    cleo.until("the colour", |cleo| is_painted(&cleo.view)).await;
    assert_eq!(server.metric("nowcast_clients"), 3.0);
    server.stop().await;
}
