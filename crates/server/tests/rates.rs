//! Clients that exceed their rates, and clients whose messages waited while the connection was interrupted.

use std::time::Duration;

use crate::common::TestServer;
use crate::common::session::Guest;
use nowcast::CarrierKind;
use nowcast_wire::encode_to_vec;
use nowcast_world_client::Identity;
use nowcast_world_protocol::plain::ClientMessage;
use nowcast_world_protocol::session::{CHAT_LANE, Line};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::{interval, sleep};

const DROPPED: &str = r#"nowcast_messages_dropped_total{reason="rate"}"#;

#[tokio::test]
async fn each_line_of_25_quick_ones_reaches_all_or_is_reported_to_its_speaker_as_dropped() {
    let server = TestServer::start().await;
    let mut witness = server.join("plaza", "name=Witness").await;
    let mut ada = Guest::join(&server, "plaza", "Ada", CarrierKind::WebSocket).await;
    let mut ben = server.join("plaza", "name=Ben").await;
    for line in 0..25 {
        ada.say(&format!("ada {line}"));
        ben.say(ClientMessage::Chat { text: format!("ben {line}") }).await;
    }
    let all = |said: usize, unsaid: usize| said + unsaid == 25;
    let of = |said: &[(u32, String, String)], id| said.iter().filter(|(from, ..)| *from == id).count();
    ada.until("all of Ada's lines", |ada| all(of(&ada.view.said, ada.id), ada.view.unsaid.len())).await;
    let ben_id = ben.id;
    ben.until_view("all of Ben's lines", |view| all(of(&view.said, ben_id), view.unsaid.len())).await;
    for unsaid in [&ada.view.unsaid, &ben.view.unsaid] {
        assert!(unsaid.len() >= 15, "the burst is of five: {unsaid:?}");
        assert!(unsaid.iter().all(|(_, reason)| reason.contains("at most 2 lines a second")), "{unsaid:?}");
    }
    assert_eq!(server.metric(DROPPED), (ada.view.unsaid.len() + ben.view.unsaid.len()) as f64);
    let heard = 50 - ada.view.unsaid.len() - ben.view.unsaid.len();
    witness.until_view("the other lines", |view| view.said.len() == heard).await;
    server.stop().await;
}

#[tokio::test]
async fn fifteen_lines_that_wait_for_join_are_all_sent() {
    let server = TestServer::start().await;
    let channel = Guest::open(&server, "plaza", CarrierKind::WebSocket).await.expect("the room has space");
    for line in 0..15 {
        let line = encode_to_vec(&Line { text: format!("line {line}") });
        channel.lane(CHAT_LANE).try_event(&line).expect("the chat lane has space");
    }
    channel.drained().await.expect("all messages arrive");
    let mut ada = Guest::join_by(channel, "Ada").await;
    ada.until("her lines", |ada| ada.view.said.len() == 15).await;
    assert_eq!(ada.view.unsaid, []);
    server.stop().await;
}

#[tokio::test]
async fn a_client_that_reconnects_continues_with_the_rates_that_it_has_left() {
    let server = TestServer::start().await;
    let identity = Identity::generate().expect("the system has random numbers");
    for has_account in [false, true] {
        // One visit sends as many lines as the burst allows, so only lines of several visits exceed the rate.
        for visit in 0.. {
            assert!(visit < 50, "each visit has the whole burst");
            let mut ada = match has_account {
                false => Guest::join_with(server.address, "plaza", "Ada", [7; 16]).await,
                true => Guest::join_with_identity(server.address, "plaza", "Ada", &identity).await,
            };
            for line in 0..5 {
                ada.say(&format!("line {line}"));
            }
            ada.until("all lines", |ada| ada.view.said.len() + ada.view.unsaid.len() == 5).await;
            if !ada.view.unsaid.is_empty() {
                break;
            }
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn owner_requests_over_the_rate_are_denied() {
    let server = TestServer::start().await;
    let mut ben = server.join("plaza", "name=Ben").await;
    for _ in 0..60 {
        ben.say(ClientMessage::Despawn { entity: 4_000_000 }).await;
    }
    ben.until_view("denials by the rate", |view| {
        view.denied.iter().any(|(request, _, reason)| request == "despawn" && reason.contains("40 at once"))
    })
    .await;
    server.stop().await;
}

/// Relays bytes between clients and a server. During an interruption, it relays nothing.
struct Relay {
    address: std::net::SocketAddr,
    is_cut: watch::Sender<bool>,
}

impl Relay {
    async fn to(server: std::net::SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        let address = listener.local_addr().expect("the server listens");
        let (is_cut, cut) = watch::channel(false);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let Ok(server) = TcpStream::connect(server).await else { return };
                let ((from_client, to_client), (from_server, to_server)) =
                    (client.into_split(), server.into_split());
                tokio::spawn(pass_on(from_client, to_server, cut.clone()));
                tokio::spawn(pass_on(from_server, to_client, cut.clone()));
            }
        });
        Self { address, is_cut }
    }
}

async fn pass_on(
    mut from: impl AsyncReadExt + Unpin,
    mut to: impl AsyncWriteExt + Unpin,
    mut cut: watch::Receiver<bool>,
) {
    let mut bytes = vec![0; 16 * 1024];
    while let Ok(count @ 1..) = from.read(&mut bytes).await {
        if cut.wait_for(|is_cut| !is_cut).await.is_err() || to.write_all(&bytes[..count]).await.is_err() {
            return;
        }
    }
}

#[tokio::test]
async fn actions_at_the_full_rate_through_a_cut_of_five_seconds_all_take_effect() {
    let server = TestServer::start().await;
    let relay = Relay::to(server.address).await;
    let mut ada = Guest::join_at(relay.address, "plaza", "Ada", CarrierKind::WebSocket).await;
    let mut ben = server.join("plaza", "name=Ben&encoding=json&hz=60").await;
    relay.is_cut.send_replace(true);
    let mut turns = interval(Duration::from_millis(50));
    for number in 0..100_u32 {
        turns.tick().await;
        ada.act("show", &[("place", "count".into()), ("value", number.into())]);
    }
    relay.is_cut.send_replace(false);
    ben.until_view("the last action", |view| {
        view.screen("count").and_then(serde_json::Value::as_f64) == Some(99.0)
    })
    .await;
    ada.until("the end of the waiting messages", |ada| ada.view.screen("count").is_some()).await;
    assert_eq!(ada.view.refused, []);
    assert_eq!(server.metric(DROPPED), 0.0);
    assert_eq!(server.metric(r#"nowcast_messages_dropped_total{reason="backlog"}"#), 0.0);
    assert_eq!(server.metric(r#"nowcast_messages_dropped_total{reason="world_backlog"}"#), 0.0);
    server.stop().await;
}

#[tokio::test]
async fn a_plain_client_that_was_cut_off_for_four_seconds_may_send_the_waiting_messages() {
    let server = TestServer::start().await;
    let mut ada = server.join("plaza", "name=Ada").await;
    let ada_id = ada.id;
    // The test needs a time in which no message of the client arrives.
    sleep(Duration::from_secs(4)).await;
    for line in 0..12 {
        ada.say(ClientMessage::Chat { text: format!("line {line}") }).await;
    }
    ada.until_view("her lines", |view| view.said.iter().filter(|(from, ..)| *from == ada_id).count() == 12)
        .await;
    assert_eq!(server.metric(DROPPED), 0.0);
    server.stop().await;
}

#[tokio::test]
async fn help_and_unknown_commands_are_answered_and_not_sent_to_others() {
    let server = TestServer::start().await;
    let mut ada = server.join("plaza", "name=Ada").await;
    let mut witness = server.join("plaza", "name=Witness").await;
    for line in ["/help", "/dance", "//help is a command"] {
        ada.say(ClientMessage::Chat { text: line.into() }).await;
    }
    witness.until_view("the only line", |view| !view.said.is_empty()).await;
    assert_eq!(witness.view.said[0].2, "/help is a command");
    ada.until_view("both answers", |view| {
        view.notices.iter().filter(|notice| notice.contains("/ban, /unban and /bans")).count() == 2
    })
    .await;
    server.stop().await;
}

#[tokio::test]
async fn newcomers_of_a_room_without_its_own_world_receive_the_name_of_the_shown_world() {
    let empty = || crate::common::script("empty", "");
    let server = TestServer::with(|config| config.worlds.push(empty())).await;
    let mut ada = server.join("elsewhere", "name=Ada").await;
    ada.until_view("the notice", |view| {
        view.notices
            .iter()
            .any(|notice| notice.contains("No world is called elsewhere: this room shows plaza"))
    })
    .await;
    // After a reconnect, and after a move of the room, the client knows what the room shows.
    let key = format!("name=Cleo&key={}", "0c".repeat(16));
    let first = server.join("elsewhere", &key).await;
    let mut cleo = server.join("elsewhere", &key).await;
    assert_eq!(cleo.id, first.id);
    cleo.say(ClientMessage::Chat { text: "/help".into() }).await;
    cleo.until_view("an answer", |view| !view.notices.is_empty()).await;
    assert!(cleo.view.notices.iter().all(|notice| !notice.contains("No world")), "{:?}", cleo.view.notices);
    let mut ben = server.join("plaza-2", "name=Ben").await;
    ben.say(ClientMessage::Chat { text: "/help".into() }).await;
    ben.until_view("an answer", |view| !view.notices.is_empty()).await;
    assert!(ben.view.notices.iter().all(|notice| !notice.contains("No world")), "{:?}", ben.view.notices);
    server.stop().await;
}
