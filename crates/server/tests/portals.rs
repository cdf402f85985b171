//! Portals: rules send a player to another room of the server, with data that the player cannot change.

use crate::common::{Player, TestServer, script};
use nowcast_world::Value;
use nowcast_world_protocol::plain::ClientMessage;

const HALL: &str = r#"
local world = require("@nowcast/world")
world.command("go", { arguments = { { "room", "text" } } }, function(player, room) player:send_to(room, { coins = 3 }) end)
"#;

const SHOP: &str = r#"
local world = require("@nowcast/world")
world.on("arrive", function(player, data, from) world.show("arrived", `{player.name} {data.coins} {from}`) end)
"#;

async fn server() -> TestServer {
    TestServer::with(|config| config.worlds = vec![script("hall", HALL), script("shop", SHOP)]).await
}

async fn arrive(player: &mut Player, arguments: Value) {
    let action = "@arrive".to_owned();
    player.say(ClientMessage::Act { action, arguments, number: None }).await;
}

async fn until_notice(player: &mut Player, words: &str) {
    player.until_view(words, |view| view.notices.iter().any(|text| text.contains(words))).await;
}

fn with_ticket(ticket: &str) -> Value {
    Value::Map(vec![(Value::Text("ticket".into()), Value::Text(ticket.into()))])
}

#[tokio::test]
async fn a_player_goes_to_another_room_with_data_once() {
    let server = server().await;
    let mut ada = server.join("hall", "name=Ada&hz=60").await;
    ada.say(ClientMessage::Chat { text: "/go shop-2".into() }).await;
    ada.until_view("the way to the shop", |view| view.heard("@go").next().is_some()).await;
    let go = ada.view.heard("@go").next().expect("the event was received").clone();
    assert_eq!(go["room"], "shop-2");
    let ticket = go["ticket"].as_str().expect("a ticket is a text");
    drop(ada);

    let mut elsewhere = server.join("shop", "name=Eve&hz=60").await;
    arrive(&mut elsewhere, with_ticket(ticket)).await;
    until_notice(&mut elsewhere, "has ended").await;
    let mut ada = server.join("shop-2", "name=Ada&hz=60").await;
    arrive(&mut ada, with_ticket(ticket)).await;
    let arrived = |view: &crate::common::view::View| {
        view.screen("arrived").and_then(|value| value.as_str()) == Some("Ada 3 hall")
    };
    ada.until_view("the data of the hall", arrived).await;
    arrive(&mut ada, with_ticket(ticket)).await;
    until_notice(&mut ada, "has ended").await;
}

#[tokio::test]
async fn clients_cannot_arrive_without_a_ticket_and_rules_send_nobody_to_an_unknown_room() {
    let server = server().await;
    let mut ada = server.join("hall", "name=Ada&hz=60").await;
    ada.say(ClientMessage::Chat { text: "/go nowhere".into() }).await;
    until_notice(&mut ada, "the room nowhere, but no world of this server has that name").await;
    ada.say(ClientMessage::Chat { text: "/go hall".into() }).await;
    until_notice(&mut ada, "you are in the room hall already").await;
    assert_eq!(ada.view.heard("@go").count(), 0);
    let mut eve = server.join("shop", "name=Eve&hz=60").await;
    let coins = Value::Map(vec![(Value::Text("coins".into()), Value::Int(999))]);
    let forged =
        vec![(Value::Text("data".into()), coins), (Value::Text("from".into()), Value::Text("hall".into()))];
    arrive(&mut eve, Value::Map(forged)).await;
    until_notice(&mut eve, "has ended").await;
    assert_eq!(eve.view.screen("arrived"), None);
}
