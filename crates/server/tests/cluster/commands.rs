//! Commands to rooms by subjects of NATS.

use std::time::Duration;

use nowcast_cluster::ControlRequest;
use nowcast_server::Config;
use nowcast_server::admission::{Claims, TokenKey, unix_time};
use serde_json::{Value as Json, json};
use tokio::time::{sleep, timeout};

use crate::common::{PATIENCE, TestServer};
use crate::plain_nats::PlainNats;
use crate::{Nats, ask, count_once, counts, enter_cluster, join, name};

/// The subject of the room.
const YARD: &str = "nowcast.command.yard";

fn key() -> TokenKey {
    TokenKey::secret(b"32 bytes that nobody else knows.").expect("the secret is long enough")
}

fn token(change: impl FnOnce(Claims) -> Claims) -> String {
    let claims = change(Claims::new(unix_time() + Duration::from_secs(600)).name("console"));
    claims.sign(&key()).expect("the claims are within their bounds")
}

fn editor() -> String {
    token(|claims| claims.role("editor"))
}

/// Lets a server accept commands. Players need no token.
fn accept_commands(config: &mut Config) {
    config.entry.key = Some(key());
    config.entry.anonymous = true;
    config.cluster.as_mut().expect("the server is in a cluster").accepts_commands = true;
}

fn message(token: &str, command: &Json) -> String {
    json!({ "version": 1, "token": token, "command": command }).to_string()
}

/// Sends a command until a server receives the subject.
async fn command(client: &mut PlainNats, token: &str, command: &Json) -> Json {
    let sending = async {
        loop {
            let answer = client.request(YARD, &message(token, command)).await;
            if !answer.is_null() {
                return answer;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, sending).await.expect("a server receives the subject")
}

fn done(server: &TestServer) -> f64 {
    server.metric("nowcast_cluster_commands_total{outcome=\"done\"}")
}

#[tokio::test(flavor = "multi_thread")]
async fn the_owner_of_a_room_alone_carries_out_commands_and_the_next_owner_keeps_their_effect() {
    let nats = Nats::start();
    let north = nats.serve_with("north", accept_commands).await;
    let south = nats.serve_with("south", accept_commands).await;
    let mut client = PlainNats::requester(&nats.servers).await;
    let say = json!({ "type": "say", "text": "The gate opens soon" });
    assert_eq!(client.request(YARD, &message(&editor(), &say)).await, Json::Null, "no server runs the room");
    let mut ada = join(north.address, "Ada", [7; 16]).await;
    let (owner, other) =
        if north.metric("nowcast_rooms") == 1.0 { (&north, &south) } else { (&south, &north) };

    let answer = command(&mut client, &editor(), &say).await;
    assert_eq!((&answer["ok"], &answer["room"]), (&true.into(), &"yard".into()), "{answer}");
    assert_eq!((&answer["version"], &answer["epoch"], &answer["clients"]), (&1.into(), &1.into(), &1.into()));
    ada.until("the text", |guest| guest.view.notices.contains(&"The gate opens soon".to_owned())).await;

    let edit = json!({ "type": "edit", "edits": [
        { "type": "set_state", "key": "counts", "value": 40 },
        { "type": "despawn", "entity": 4_000_000 },
    ] });
    let answer = command(&mut client, &token(|claims| claims.role("editor").room("yard")), &edit).await;
    assert_eq!((&answer["ok"], &answer["results"][0]["ok"]), (&true.into(), &true.into()), "{answer}");
    assert_eq!(answer["results"][1]["ok"], false, "there is no such entity: {answer}");
    assert!(answer["step"].as_u64().is_some_and(|step| step > 0), "{answer}");
    let act = json!({ "type": "act", "player": ada.id, "action": "count", "arguments": {} });
    assert_eq!(command(&mut client, &editor(), &act).await["ok"], true);
    ada.until("the count of the edit and the action", |guest| counts(&guest.view) == 41).await;
    assert_eq!((done(owner), done(other)), (3.0, 0.0));

    let (from, to) = if std::ptr::eq(owner, &north) { ("north", "south") } else { ("south", "north") };
    let link = nats.link().await;
    let moving = ControlRequest::Move { room: name("yard"), target: name(to) };
    // A server is a target after the owner has observed a renewal of its lease.
    let moved = async {
        while let Err(cause) = ask(&link, &moving, from).await {
            assert!(cause.contains("is not alive"), "{cause}");
            sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(PATIENCE, moved).await.expect("the owner observes the target");
    let kick = json!({ "type": "disconnect", "player": ada.id, "reason": "enough" });
    let mut ada = join(other.address, "Ada", [7; 16]).await;
    ada.until("the count of the first owner", |guest| counts(&guest.view) == 41).await;
    let answer = command(&mut client, &editor(), &kick).await;
    assert_eq!((&answer["ok"], &answer["epoch"]), (&true.into(), &2.into()), "{answer}");
    assert!(ada.end().await.reason.contains("enough"));
    assert_eq!((done(owner), done(other)), (3.0, 1.0));
    let audit = other.get_with("/studio/api/audit", &format!("Authorization: Bearer {}\r\n", editor())).await;
    assert!(audit.contains(r#""who":"console""#) && audit.contains(r#""action":"disconnect""#), "{audit}");
    south.stop().await;
    north.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_without_the_right_or_beyond_the_limits_are_refused_by_name_and_counted() {
    let nats = Nats::start();
    let north = nats.serve_with("north", accept_commands).await;
    let mut client = PlainNats::requester(&nats.servers).await;
    let mut ada = join(north.address, "Ada", [7; 16]).await;
    let say = json!({ "type": "say", "text": "hello" });
    command(&mut client, &editor(), &say).await;
    let act = |player: u32, action: &str| json!({ "type": "act", "player": player, "action": action, "arguments": null });
    for (body, code) in [
        ("hello".to_owned(), "invalid"),
        (json!({ "version": 1, "command": say }).to_string(), "invalid"),
        (json!({ "version": 2, "token": editor(), "command": say }).to_string(), "invalid"),
        (json!({ "version": 1, "token": editor(), "command": say, "room": "attic" }).to_string(), "invalid"),
        (message(&editor(), &json!({ "type": "say", "text": "hello", "loud": true })), "invalid"),
        (message("x", &say), "no_token"),
        (message(&token(|claims| claims.role("editor").room("attic")), &say), "no_token"),
        (message(&token(|claims| claims.role("editor").once("ticket")), &say), "no_role"),
        (message(&token(|claims| claims.role("inspector")), &say), "no_role"),
        (message(&token(|claims| claims), &say), "no_role"),
        (message(&editor(), &act(ada.id, "fly")), "refused"),
        (message(&editor(), &act(99, "count")), "not_found"),
        (message(&editor(), &json!({ "type": "say", "text": "x".repeat(70_000) })), "too_large"),
    ] {
        let answer = client.request(YARD, &body).await;
        let shown: String = body.chars().take(120).collect();
        assert_eq!(
            (&answer["ok"], &answer["error"]["code"]),
            (&false.into(), &code.into()),
            "{shown}: {answer}"
        );
        assert!(answer["error"]["cure"].is_string(), "{answer}");
    }
    north.until_metric("nowcast_cluster_commands_total{outcome=\"no_role\"}", |value| value == 3.0).await;
    // One write with more commands than the room accepts at once.
    for _ in 0..200 {
        client.publish(YARD, &message(&editor(), &act(ada.id, "count"))).await;
    }
    let too_often = "nowcast_cluster_commands_total{outcome=\"too_often\"}";
    north.until_metric(too_often, |count| count >= 100.0).await;
    ada.until("some of the actions", |guest| counts(&guest.view) > 0).await;
    count_once(&mut ada, 1).await;
    drop(ada);
    north.stop().await;
}

#[test]
fn commands_without_a_key_for_tokens_are_refused_at_the_start() {
    let mut config = crate::common::config();
    enter_cluster(&mut config, "nats://127.0.0.1:1", "north");
    config.cluster.as_mut().expect("the server is in a cluster").accepts_commands = true;
    let runtime = tokio::runtime::Runtime::new().expect("the runtime starts");
    let refused = match runtime.block_on(nowcast_server::Server::bind(config)) {
        Err(error) => error.to_string(),
        Ok(_) => panic!("the server starts"),
    };
    assert!(refused.contains("--token-key-file") && refused.contains("--cluster-commands"), "{refused}");
}
