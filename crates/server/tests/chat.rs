//! Chat of many players, and a client whose connection is too slow for it.

use std::time::{Duration, Instant};

use crate::common::{PATIENCE, TestServer};
use futures_util::StreamExt;
use nowcast::session::{Config, Limits};
use nowcast::{Channel, Connector, MessageKind};
use nowcast_wire::{decode, encode_to_vec};
use nowcast_world_protocol::plain::{ClientMessage, Encoding, ServerMessage};
use nowcast_world_protocol::session::{CHAT_LANE, MISSED_KEY, Missed, PROTOCOL, Said, ToWorld};
use tokio::task::JoinSet;
use tokio::time::{interval, timeout};
use tokio_tungstenite::tungstenite::Message;

const TALKERS: usize = 30;
const SENT: &str = r#"nowcast_bytes_total{direction="out"}"#;
const MISSED: &str = "nowcast_chat_lines_missed_total";

/// The longest possible line.
fn line() -> String {
    "🦀".repeat(300)
}

/// Joins players who send the longest lines as often as allowed, and read all lines.
async fn crowd(server: &TestServer) -> JoinSet<()> {
    let mut crowd = JoinSet::new();
    for _ in 0..TALKERS {
        let mut talker = server.join("plaza", "encoding=msgpack&hz=5").await;
        crowd.spawn(async move {
            let say = ClientMessage::Chat { text: line() }.encode(Encoding::MsgPack);
            let mut turns = interval(Duration::from_millis(500));
            loop {
                tokio::select! {
                    _ = turns.tick() => talker.send(say.clone()).await,
                    message = talker.socket.next() => match message {
                        Some(Ok(Message::Text(_) | Message::Binary(_) | Message::Ping(_))) => {}
                        other => panic!("a talker that reads stays: {other:?}"),
                    },
                }
            }
        });
    }
    crowd
}

#[tokio::test]
async fn a_slow_plain_client_receives_the_number_of_dropped_lines_and_stays() {
    let server = TestServer::start().await;
    let mut slow = server.join_narrowly("plaza", "encoding=json&hz=5").await;
    let mut crowd = crowd(&server).await;
    let (began, before) = (Instant::now(), server.metric(SENT));
    server.until_metric(MISSED, |lines| lines >= 10.0).await;
    let rate = (server.metric(SENT) - before) / began.elapsed().as_secs_f64() / TALKERS as f64;
    assert!(rate < 40_000.0, "{rate} bytes a second and member");
    assert!(server.metric(r#"nowcast_messages_dropped_total{reason="chat_budget"}"#) > 0.0);
    let (mut lines, mut missed) = (0, 0);
    while missed == 0 || lines == 0 {
        match slow.next().await {
            ServerMessage::Chat { .. } => lines += 1,
            ServerMessage::Missed { lines } => missed += lines,
            _ => {}
        }
    }
    slow.until_chat().await;
    assert!(
        missed >= 10 && crowd.try_join_next().is_none(),
        "{missed} missed, and all clients are still there"
    );
    crowd.shutdown().await;
    server.stop().await;
}

#[tokio::test]
async fn a_slow_session_receives_the_number_of_dropped_lines_and_stays() {
    let server = TestServer::start().await;
    let slow = slow_session(&server).await;
    let mut crowd = crowd(&server).await;
    server.until_metric(MISSED, |lines| lines >= 10.0).await;
    let missed = timeout(PATIENCE, until_missed(&slow)).await.expect("the number of missed lines arrives");
    assert!(
        missed > 0 && crowd.try_join_next().is_none(),
        "{missed} missed, and all clients are still there"
    );
    crowd.shutdown().await;
    server.stop().await;
}

/// Joins on a session with small receive limits. The client reads nothing.
async fn slow_session(server: &TestServer) -> Channel {
    let limits = Limits { window_bytes: 16 * 1024, message_bytes_max: 4 * 1024, ..Limits::default() };
    let connector = Connector::new().session(Config { limits, ..Config::default() });
    let url = format!("nowcast://{}/plaza", server.address);
    let channel = connector.connect(&url).await.expect("the room has space");
    let join = ToWorld::Join { protocol: PROTOCOL, name: String::new(), network_hz: 5, key: Vec::new() };
    channel.try_event(&encode_to_vec(&join)).expect("the lane is empty");
    channel
}

/// Reads until missed lines are reported, and then until the next line.
async fn until_missed(channel: &Channel) -> u32 {
    let mut missed = 0;
    loop {
        let message = channel.receive().await.expect("the session continues");
        match (message.kind, message.lane.number()) {
            (MessageKind::State { key: MISSED_KEY }, CHAT_LANE) => {
                missed = decode::<Missed>(&message.bytes).expect("the message is well-formed").lines;
            }
            (MessageKind::Event, CHAT_LANE) => {
                decode::<Said>(&message.bytes).expect("the message is a line of chat");
                if missed > 0 {
                    return missed;
                }
            }
            _ => {}
        }
    }
}
