//! Players join, see each other, move, chat and leave.

use crate::common;
use crate::common::TestServer;
use nowcast_world_protocol::plain::{ClientMessage, Encoding, Input, PROTOCOL, ServerMessage};

const FORWARD: Input = Input { forward: 1.0, right: 0.0, yaw: 0.0, run: true, jump: false };

#[tokio::test]
async fn a_player_receives_its_id_the_definition_and_all_entities() {
    let server = TestServer::start().await;
    let bob = server.join("plaza", "name=Bob").await;
    let socket = server.connect("/ws/plaza?name=Ada%20L.&hz=20").await.unwrap();
    let mut ada = common::Player::new(socket, Encoding::Json);
    let ServerMessage::Welcome { protocol, player, room, world, step_hz, network_hz, .. } = ada.next().await
    else {
        panic!("the first message is the welcome");
    };
    assert_eq!((protocol, room.as_str(), world.as_str()), (PROTOCOL, "plaza", "plaza"));
    assert_eq!((step_hz, network_hz), (60, 20));
    let ServerMessage::Define { version, kinds, actions, events, assets } = ada.next().await else {
        panic!("the second message is the definition");
    };
    assert_eq!(version, 1);
    let person = kinds.iter().find(|kind| kind.name == "person").expect("the kind is defined");
    assert_eq!(person.attributes["mood"], "text");
    assert!(person.walker.get("walk_speed").is_some(), "{person:?}");
    assert_eq!(person.body.get("motion").and_then(|motion| motion.as_text()), Some("dynamic"));
    let light = actions.iter().find(|action| action.name == "light").expect("the action is defined");
    assert_eq!((&*light.arguments["lit"], &*light.arguments["warmth"]), ("bool", "range(0, 1, 0.25)"));
    assert_eq!(light.hint.get("key").and_then(|key| key.as_text()), Some("l"));
    assert_eq!((events.len(), &*events[0].payload["word"]), (1, "text"));
    assert!(assets.is_empty(), "{assets:?}");

    let people = [ada.next().await, ada.next().await];
    let named = |id, name: &str| {
        people.iter().any(|message| {
            matches!(message, ServerMessage::Player { id: of, name: is, avatar: Some(_), program: false } if *of == id && is == name)
        })
    };
    assert!(named(bob.id, "Bob") && named(player, "Ada L."), "the players follow: {people:?}");
    assert!(matches!(ada.next().await, ServerMessage::Spawn { .. }), "the entities follow");
    ada.id = player;
    assert_eq!(ada.view.entities[&ada.avatar()].kind, "person");
    assert_eq!(ada.view.entities[&bob.avatar()].kind, "person");
    assert!(ada.view.of_kind("floor").count() == 1);
}

#[tokio::test]
async fn with_each_encoding_one_player_moves_and_the_others_see_it() {
    let server = TestServer::start().await;
    for encoding in Encoding::ALL {
        let room = format!("room-{encoding}");
        let mut mover = server.join(&room, &format!("encoding={encoding}&name=Ada")).await;
        for watching in Encoding::ALL {
            let mut watcher = server.join(&room, &format!("encoding={watching}")).await;
            let start = position(&mut watcher, mover.avatar()).await;
            mover.say(ClientMessage::Input(FORWARD)).await;
            watcher
                .until(|message| {
                    let [x, _, z] = moved(message, mover.avatar())?;
                    ((x - start[0]).hypot(z - start[2]) > 0.5).then_some(())
                })
                .await;
            mover.say(ClientMessage::Input(Input::default())).await;
        }
    }
}

#[tokio::test]
async fn a_client_has_the_correct_state_even_after_missed_snapshots() {
    let server = TestServer::start().await;
    let mut mover = server.join("plaza", "hz=60").await;
    let mut seldom = server.join("plaza", "encoding=msgpack&hz=5").await;
    let mut often = server.join("plaza", "encoding=json&hz=60").await;
    mover.say(ClientMessage::Input(FORWARD)).await;
    seldom.until(|message| moved(message, mover.avatar())).await;
    mover.say(ClientMessage::Input(Input::default())).await;

    let [slow, fast] = [rest(&mut seldom, mover.avatar()).await, rest(&mut often, mover.avatar()).await];
    for axis in 0..3 {
        // A walker that comes to rest may still move once more by the rounding of positions.
        assert!((slow[axis] - fast[axis]).abs() < 1.5e-4, "{slow:?} {fast:?}");
    }
}

#[tokio::test]
async fn chat_names_and_leaves_reach_all_clients() {
    let server = TestServer::start().await;
    let mut ada = server.join("plaza", "name=Ada").await;
    let mut bob = server.join("plaza", "name=Bob&encoding=msgpack").await;
    ada.say(ClientMessage::Chat { text: "hello <b>Bob</b>".into() }).await;
    assert_eq!(bob.until_chat().await, ("Ada".into(), "hello <b>Bob</b>".into()));
    assert_eq!(ada.until_chat().await, ("Ada".into(), "hello <b>Bob</b>".into()));

    bob.say(ClientMessage::Name { name: "Robert".into() }).await;
    let bob_id = bob.id;
    ada.until_view("his new name", |view| view.players[&bob_id].name == "Robert").await;
    let avatar = bob.avatar();
    bob.socket.close(None).await.unwrap();
    ada.until_view("his end", |view| {
        !view.players.contains_key(&bob_id) && !view.entities.contains_key(&avatar)
    })
    .await;
    server.until_metric("nowcast_clients", |clients| clients == 1.0).await;
}

#[tokio::test]
async fn pings_and_rates_are_answered() {
    let server = TestServer::start().await;
    let mut ada = server.join("plaza", "encoding=msgpack").await;
    ada.say(ClientMessage::Ping { time: 12345.678 }).await;
    ada.until(|message| (*message == ServerMessage::Pong { time: 12345.678 }).then_some(())).await;
    ada.say(ClientMessage::Rate { hz: 60 }).await;
    ada.until(|message| (*message == ServerMessage::Rate { hz: 60 }).then_some(())).await;
    // With the new rate, `move` arrives with every step.
    let mut ticks = Vec::new();
    ada.until(|message| {
        if let ServerMessage::Move { tick, .. } = message {
            ticks.push(*tick);
        }
        ticks.windows(2).rev().take(5).filter(|pair| pair[1] == pair[0] + 1).count().ge(&5).then_some(())
    })
    .await;
}

#[tokio::test]
async fn rooms_have_separate_worlds_and_end_when_deserted() {
    let server =
        TestServer::with(|config| config.timeouts.room_empty = std::time::Duration::from_millis(50)).await;
    let mut ada = server.join("one", "name=Ada").await;
    let mut bob = server.join("two", "name=Bob").await;
    let list = server.get("/api/rooms").await;
    assert!(
        list.contains(r#"{"name":"one","world":"plaza","players":1,"playersMax":256},{"name":"two","world":"plaza","players":1"#),
        "{list}"
    );

    ada.say(ClientMessage::Chat { text: "only here".into() }).await;
    assert_eq!(ada.until_chat().await.1, "only here");
    bob.say(ClientMessage::Chat { text: "only there".into() }).await;
    assert_eq!(bob.until_chat().await.1, "only there");

    drop(ada);
    server.until_metric("nowcast_rooms", |rooms| rooms == 1.0).await;
    drop(bob);
    server.until_metric("nowcast_rooms", |rooms| rooms == 0.0).await;
    server.join("one", "").await;
}

/// Returns the position of an entity as soon as it is known.
async fn position(player: &mut common::Player, id: u32) -> [f64; 3] {
    player.until_view("the entity", |view| view.entities.contains_key(&id)).await;
    player.view.entities[&id].place.expect("this protocol always sends the position")
}

fn moved(message: &ServerMessage, id: u32) -> Option<[f64; 3]> {
    let ServerMessage::Move { entities, .. } = message else { return None };
    let entity = entities.iter().find(|entity| entity.id == id)?;
    Some([entity.position_x, entity.position_y, entity.position_z])
}

/// Waits until an entity has moved and its position is then unchanged for three snapshots. Returns this position.
async fn rest(player: &mut common::Player, id: u32) -> [f64; 3] {
    let mut last = None;
    let mut still = 0;
    player
        .until(|message| {
            let ServerMessage::Move { .. } = message else { return None };
            match moved(message, id) {
                Some(position) => (last, still) = (Some(position), 0),
                None => still += 1,
            }
            last.filter(|_| still >= 3)
        })
        .await
}
