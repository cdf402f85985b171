//! The entities that clients receive: near ones, global ones, their own, and entities that come back into range.

use crate::common::session::Guest;
use crate::common::{TestServer, script};
use nowcast::CarrierKind;

/// A road of 400 m with a post and a turning wheel every 20 m.
const ROAD: &str = r#"
    local world = require("@nowcast/world")
    world.settings { interest = { radius = 40 }, gravity = vector.zero }
    local Post = world.kind("post", { body = { motion = "fixed", shape = "box", size = vector.one } })
    local Wheel = world.kind("wheel", { body = { motion = "kinematic", shape = "box", size = vector.one } })
    local Road = world.kind("road", { body = { motion = "fixed", shape = "box", size = vector.create(900, 1, 4) } })
    local Sun = world.kind("sun", { interest = "always" })
    local Card = world.kind("card", { interest = "owner", attributes = { value = "u8" } })
    local Plan = world.kind("plan", { interest = "never" })
    local Person = world.kind("person", { body = { motion = "kinematic", shape = "sphere", radius = 0.5 } })
    world.on("start", function()
        Road:spawn { at = vector.create(0, -2, 0) }
        Sun:spawn { at = vector.create(0, 5000, 0) }
        Plan:spawn { at = vector.zero }
        for x = 0, 400, 20 do
            Post:spawn { at = vector.create(x, 0, 3) }
            Wheel:spawn { at = vector.create(x, 0, -3), spin = vector.create(0, 1, 0) }
        end
    end)
    world.on("join", function(player)
        player:spawn_avatar(Person, { at = vector.zero })
        Card:spawn { at = vector.zero, owner = player, value = player.id }
    end)
    world.action("go", { x = "f32" }, function(player, arguments)
        player.avatar.position = vector.create(arguments.x, 0, 0)
    end)
"#;

async fn road() -> TestServer {
    TestServer::with(|config| config.worlds = vec![script("road", ROAD)]).await
}

/// Returns the positions along the road of the entities of a kind in a client's view.
fn places(guest: &Guest, kind: &str) -> Vec<i32> {
    let ids = guest.view.of_kind(kind).map(|(id, _)| id);
    let mut places: Vec<i32> = ids.filter_map(|id| guest.place(id)).map(|[x, ..]| x.round() as i32).collect();
    places.sort_unstable();
    places
}

fn sees_only_near(guest: &Guest, x: i32) -> bool {
    let places = places(guest, "wheel");
    let mut near = (0..=400).step_by(20).filter(|place| (place - x).abs() <= 40);
    near.all(|place| places.contains(&place)) && places.iter().all(|place| (place - x).abs() < 80)
}

#[tokio::test]
async fn a_client_receives_near_entities_and_everything_near_when_it_returns() {
    let server = road().await;
    let mut ada = Guest::join(&server, "road", "Ada", CarrierKind::WebSocket).await;
    let mut ben = Guest::join(&server, "road", "Ben", CarrierKind::WebTransport).await;
    let body_of_ben = ben.avatar().expect("the player has an avatar");
    ada.until("Ben beside her", |ada| {
        let is_seen = ada.view.entities.contains_key(&body_of_ben) && ada.place(body_of_ben).is_some();
        is_seen && ada.view.players.len() == 2 && sees_only_near(ada, 0)
    })
    .await;

    ben.act("go", &[("x", 300.0.into())]);
    ben.until("the wheels there", |ben| sees_only_near(ben, 300)).await;
    ada.until("Ben out of range", |ada| !ada.view.entities.contains_key(&body_of_ben)).await;
    assert_eq!(ada.view.players.len(), 2, "Ben is still in the room");

    ben.act("go", &[("x", 380.0.into())]);
    ben.until("the wheels at the end", |ben| sees_only_near(ben, 380)).await;
    ada.act("go", &[("x", 370.0.into())]);
    ada.until("Ben at his current position", |ada| {
        let is_seen = ada.view.entities.contains_key(&body_of_ben);
        let place = ada.place(body_of_ben).filter(|_| is_seen);
        assert!(place.is_none_or(|[x, ..]| x > 379.0), "the intermediate position never arrives: {place:?}");
        place.is_some() && sees_only_near(ada, 370)
    })
    .await;
    for counter in ["nowcast_interest_entered_total", "nowcast_interest_left_total"] {
        server.until_metric(counter, |count| count > 0.0).await;
    }
}

#[tokio::test]
async fn kinds_declare_who_receives_them() {
    let server = road().await;
    let mut ada = Guest::join(&server, "road", "Ada", CarrierKind::WebSocket).await;
    let mut ben = Guest::join(&server, "road", "Ben", CarrierKind::WebSocket).await;
    let mut cleo = server.join("road", "name=Cleo").await;
    for guest in [&mut ada, &mut ben] {
        guest.act("go", &[("x", 200.0.into())]);
        guest.until("the wheels there", |guest| sees_only_near(guest, 200)).await;
        let count = |kind: &str| guest.view.of_kind(kind).count();
        assert_eq!([count("sun"), count("road"), count("plan")], [1, 1, 0]);
        let cards: Vec<_> =
            guest.view.of_kind("card").filter_map(|(_, card)| card.attributes["value"].as_f64()).collect();
        assert_eq!(cards, [f64::from(guest.id)], "each client receives its own card");
    }
    cleo.until_view("the whole road", |view| view.of_kind("post").count() == 21).await;
    let secrets = ["card", "plan"].map(|kind| cleo.view.of_kind(kind).count());
    assert_eq!(secrets, [0, 0], "the plain protocol sends no private entities");
}
