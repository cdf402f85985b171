//! Clients on sessions: over both carriers, beside plain ones, and such as break the rules.

mod common;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use common::{PATIENCE, TestServer};
use nowcast::{CarrierKind, Channel, ConnectError, Connector, Error, MessageKind};
use nowcast_server::plain::ServerMessage;
use nowcast_server::replication::{Replica, transform_of};
use nowcast_server::session::{
    CHAT_LANE, CONTROLS_KEY, Controls, FromWorld, Line, PROTOCOL, Said, Thing, ToWorld, WORLD_LANE,
};
use nowcast_wire::{decode, encode_to_vec};
use tokio::time::timeout;

/// A client on a session, and all it knows.
struct Guest {
    channel: Channel,
    id: u32,
    things: BTreeMap<u32, Thing>,
    replica: Replica,
    said: Vec<Said>,
}

impl Guest {
    async fn open(server: &TestServer, room: &str, carrier: CarrierKind) -> Result<Channel, ConnectError> {
        let url = format!("nowcast://{}/{room}", server.address);
        Connector::new().carriers([carrier]).connect(&url).await
    }

    /// Joins, and waits until its own avatar stands somewhere.
    async fn join(server: &TestServer, room: &str, name: &str, carrier: CarrierKind) -> Self {
        Self::join_at(server.address, room, name, carrier).await
    }

    async fn join_at(address: SocketAddr, room: &str, name: &str, carrier: CarrierKind) -> Self {
        let url = format!("nowcast://{address}/{room}");
        let channel = Connector::new().carriers([carrier]).connect(&url).await.expect("there is room");
        let join = ToWorld::Join { protocol: PROTOCOL, name: name.into(), network_hz: 60 };
        channel.try_event(&encode_to_vec(&join)).expect("nothing waits before it");
        let (things, replica) = (BTreeMap::new(), Replica::default());
        let mut guest = Self { channel, id: 0, things, replica, said: Vec::new() };
        guest
            .until("its avatar", |guest| {
                guest.things.contains_key(&guest.id) && guest.place(guest.id).is_some()
            })
            .await;
        guest
    }

    /// Takes in messages until a condition holds.
    async fn until(&mut self, what: &str, holds: impl Fn(&Self) -> bool) {
        let waiting = async {
            while !holds(self) {
                let message = self.channel.receive().await.expect("the session goes on");
                self.take(&message);
            }
        };
        let in_time = timeout(PATIENCE, waiting).await;
        assert!(in_time.is_ok(), "{what} did not come");
    }

    /// Takes in what comes in this time.
    async fn take_for(&mut self, time: Duration) {
        let taking = async {
            while let Ok(message) = self.channel.receive().await {
                self.take(&message);
            }
        };
        let _ = timeout(time, taking).await;
    }

    fn take(&mut self, message: &nowcast::Message) {
        match (message.kind, message.lane.number()) {
            (MessageKind::Replication { .. }, _) => {
                assert_eq!(self.replica.apply(&message.bytes).expect("it is well-formed").missing, 0);
            }
            (MessageKind::State { key }, WORLD_LANE) if message.bytes.is_empty() => {
                self.things.remove(&(key.raw() as u32));
            }
            (MessageKind::State { key }, WORLD_LANE) => {
                self.things.insert(key.raw() as u32, decode(&message.bytes).expect("it is a thing"));
            }
            (MessageKind::Event, WORLD_LANE) => {
                if let FromWorld::Welcome { id, .. } = decode(&message.bytes).expect("it is an event") {
                    self.id = id;
                }
            }
            (MessageKind::Event, CHAT_LANE) => self.said.push(decode(&message.bytes).expect("it is a line")),
            other => panic!("nothing is expected as {other:?}"),
        }
    }

    fn place(&self, id: u32) -> Option<[f32; 3]> {
        self.replica.row(id).map(|row| transform_of(&row).position)
    }

    /// How the server ends the session.
    async fn end(&mut self) -> nowcast::session::Closed {
        let ending = async {
            loop {
                match self.channel.receive().await {
                    Ok(_) => {}
                    Err(Error::Closed(closed)) => return closed,
                    Err(other) => panic!("{other}"),
                }
            }
        };
        timeout(PATIENCE, ending).await.expect("the session ends")
    }
}

const RUN: Controls = Controls { forward: 1.0, right: 0.0, yaw: 0.0, run: true, jump: false };

#[tokio::test]
async fn people_on_either_carrier_and_on_the_plain_protocol_are_in_one_world() {
    let server = TestServer::start().await;
    let mut ada = Guest::join(&server, "plaza", "Ada", CarrierKind::WebTransport).await;
    let mut ben = Guest::join(&server, "plaza", "Ben", CarrierKind::WebSocket).await;
    let mut cleo = server.join("plaza", "encoding=json&name=Cleo&hz=60").await;
    assert_eq!(ada.channel.status().carrier, Some(CarrierKind::WebTransport));
    assert_eq!(ben.channel.status().carrier, Some(CarrierKind::WebSocket));
    let named =
        |guest: &Guest, id: u32, name: &str| guest.things.get(&id).is_some_and(|thing| thing.name == name);
    let cleo_id = cleo.id;
    let ben_id = ben.id;
    ada.until("Ben and Cleo", |ada| named(ada, ben_id, "Ben") && named(ada, cleo_id, "Cleo")).await;

    let start = ada.place(ada.id).expect("it stands somewhere");
    ada.channel.try_state(CONTROLS_KEY, &encode_to_vec(&RUN)).expect("a state is always taken");
    let ada_id = ada.id;
    let is_away = move |guest: &Guest| {
        guest.place(ada_id).is_some_and(|[x, _, z]| (x - start[0]).hypot(z - start[2]) > 1.0)
    };
    ben.until("Ada's steps", is_away).await;

    let line = Line { text: "<b>hello</b>".into() };
    ben.channel.lane(CHAT_LANE).try_event(&encode_to_vec(&line)).expect("there is room for a line");
    ada.until("the line", |ada| !ada.said.is_empty()).await;
    assert_eq!(ada.said[0], Said { from: ben_id, name: "Ben".into(), text: line.text.clone() });
    loop {
        if let ServerMessage::Chat { from, text, .. } = cleo.next().await {
            assert_eq!((from, text), (ben_id, line.text));
            break;
        }
    }
    drop(ben);
    ada.until("Ben to be gone", |ada| !ada.things.contains_key(&ben_id)).await;
    server.until_metric("nowcast_clients", |clients| clients == 2.0).await;
    server.stop().await;
    assert_eq!(ada.end().await.code, nowcast::session::CloseCode::GOING_AWAY);
}

#[test]
fn who_vanishes_stands_still_before_the_session_is_given_up() {
    let here = tokio::runtime::Runtime::new().expect("threads can be started");
    let (server, mut ben, ada_id, elsewhere) = here.block_on(async {
        let server = TestServer::start().await;
        let ben = Guest::join(&server, "plaza", "Ben", CarrierKind::WebSocket).await;
        // Ada's program has a runtime of its own, which ends like a program that is killed: without a word.
        let elsewhere = tokio::runtime::Runtime::new().expect("threads can be started");
        let address = server.address;
        let (said, heard) = tokio::sync::oneshot::channel();
        elsewhere.spawn(async move {
            let ada = Guest::join_at(address, "plaza", "Ada", CarrierKind::WebTransport).await;
            ada.channel.try_state(CONTROLS_KEY, &encode_to_vec(&RUN)).expect("a state is always taken");
            ada.channel.drained().await.expect("it arrives");
            said.send(ada.id).expect("the test waits");
            std::future::pending::<()>().await;
        });
        let ada_id = timeout(PATIENCE, heard).await.expect("Ada joins").expect("she says who she is");
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
        assert!(ben.things.contains_key(&ada_id), "she may come back");
        server.stop().await;
    });
}

#[tokio::test]
async fn who_breaks_the_rules_is_told_which_and_nobody_else_notices() {
    let server = TestServer::start().await;
    let mut witness = Guest::join(&server, "rules", "Witness", CarrierKind::WebSocket).await;
    let nan = Controls { yaw: f32::NAN, ..RUN };
    let wide = Controls { forward: 3.0, ..RUN };
    let far = ToWorld::Rate { network_hz: 1_000 };
    let again = ToWorld::Join { protocol: PROTOCOL, name: String::new(), network_hz: 0 };
    type Break<'a> = (&'a str, u32, Box<dyn Fn(&Channel) -> Result<(), Error> + 'a>);
    let breaks: [Break<'_>; 8] = [
        ("garbage", 64, Box::new(|channel| channel.try_event(b"\xff\xff\xff"))),
        ("an empty event", 64, Box::new(|channel| channel.try_event(b""))),
        ("a second Join", 64, Box::new(|channel| channel.try_event(&encode_to_vec(&again)))),
        ("a state of another key", 64, Box::new(|channel| channel.try_state(7, b"x"))),
        ("a state on the lane of chat", 64, Box::new(|channel| channel.lane(CHAT_LANE).try_state(1, b"x"))),
        ("NaN", 65, Box::new(|channel| channel.try_state(CONTROLS_KEY, &encode_to_vec(&nan)))),
        ("out of bounds", 65, Box::new(|channel| channel.try_state(CONTROLS_KEY, &encode_to_vec(&wide)))),
        ("a rate out of bounds", 65, Box::new(|channel| channel.try_event(&encode_to_vec(&far)))),
    ];
    for (what, code, break_rule) in breaks {
        let mut guest = Guest::join(&server, "rules", "Guest", CarrierKind::WebSocket).await;
        break_rule(&guest.channel).expect("our side takes it");
        let closed = guest.end().await;
        assert_eq!(closed.code.0, code, "{what}: {closed}");
    }
    let mut noisy = Guest::join(&server, "rules", "Noisy", CarrierKind::WebSocket).await;
    for _ in 0..400 {
        let line = encode_to_vec(&Line { text: "x".into() });
        // The lane may be full for a moment, or the session closed by now.
        let _ = timeout(Duration::from_secs(1), noisy.channel.lane(CHAT_LANE).event(&line)).await;
    }
    assert_eq!(noisy.end().await.code.0, 66);
    witness
        .until("everybody to be gone", |witness| {
            witness.things.values().filter(|thing| !thing.name.is_empty()).count() == 1
        })
        .await;
    server.stop().await;
}

#[tokio::test]
async fn controls_and_lines_that_come_before_join_wait_for_it() {
    let server = TestServer::start().await;
    let channel = Guest::open(&server, "plaza", CarrierKind::WebSocket).await.expect("there is room");
    channel.try_state(CONTROLS_KEY, &encode_to_vec(&RUN)).expect("a state is always taken");
    let line = Line { text: "before I am here".into() };
    channel.lane(CHAT_LANE).try_event(&encode_to_vec(&line)).expect("there is room for a line");
    channel.drained().await.expect("both arrive");
    let join = ToWorld::Join { protocol: PROTOCOL, name: "Ada".into(), network_hz: 60 };
    channel.try_event(&encode_to_vec(&join)).expect("nothing waits before it");
    let (things, replica) = (BTreeMap::new(), Replica::default());
    let mut ada = Guest { channel, id: 0, things, replica, said: Vec::new() };
    ada.until("her avatar", |ada| ada.place(ada.id).is_some()).await;
    let start = ada.place(ada.id).expect("it stands somewhere");
    let is_away =
        |ada: &Guest| ada.place(ada.id).is_some_and(|[x, _, z]| (x - start[0]).hypot(z - start[2]) > 1.0);
    ada.until("her steps", is_away).await;
    ada.until("her line", |ada| !ada.said.is_empty()).await;
    assert_eq!((ada.said[0].from, &ada.said[0].text), (ada.id, &line.text));
    server.stop().await;
}

#[tokio::test]
async fn who_takes_a_world_for_another_service_is_told_what_it_is() {
    let server = TestServer::start().await;
    let channel = Guest::open(&server, "plaza", CarrierKind::WebSocket).await.expect("there is room");
    channel.try_event(b"hello").expect("nothing waits before it");
    let closed = timeout(PATIENCE, channel.closed()).await.expect("it ends");
    assert!(closed.code.0 == 64 && closed.reason.contains("this is a world"), "{closed}");
    server.stop().await;
}

#[tokio::test]
async fn who_does_not_say_who_he_is_or_comes_to_no_room_is_named_the_cause() {
    let server = TestServer::with(|config| {
        config.limits.players_max = 1;
        config.timeouts.handshake = Duration::from_millis(300);
    })
    .await;
    let silent = Guest::open(&server, "one", CarrierKind::WebSocket).await.expect("there is room");
    assert_eq!(timeout(PATIENCE, silent.closed()).await.expect("it ends").code.0, 68);
    let other = Guest::open(&server, "one", CarrierKind::WebSocket).await.expect("there is room");
    let join = ToWorld::Join { protocol: 99, name: String::new(), network_hz: 0 };
    other.try_event(&encode_to_vec(&join)).expect("nothing waits before it");
    assert_eq!(timeout(PATIENCE, other.closed()).await.expect("it ends").code.0, 5);

    let first = Guest::join(&server, "one", "Ada", CarrierKind::WebSocket).await;
    let refusal = Guest::open(&server, "one", CarrierKind::WebTransport).await.expect_err("the room is full");
    assert!(matches!(&refusal, ConnectError::Refused(refusal) if refusal.error == "full"), "{refusal}");
    assert!(refusal.to_string().contains("1 players are in it"), "{refusal}");
    let refusal = Guest::open(&server, "No.Room", CarrierKind::WebSocket).await.expect_err("it is no room");
    assert!(
        matches!(&refusal, ConnectError::Refused(refusal) if refusal.error == "no_such_name"),
        "{refusal}"
    );
    drop(first);
    server.stop().await;
}

#[tokio::test]
async fn what_is_served_is_told_to_pages_of_the_origins_that_may_join() {
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
