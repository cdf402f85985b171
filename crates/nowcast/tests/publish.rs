//! One program publishes to many subscribers over real sockets.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::common::gate::Gate;
use crate::common::{until, within};
use nowcast::session::{CloseCode, Refused};
use nowcast::{
    Bounds, CarrierKind, Channel, Connector, Error, ListenConfig, Listener, Message, MessageKind,
    PublicationBounds, Publisher,
};
use nowcast_queue::Key;
use nowcast_queue::conformance::publishers::check;
use nowcast_queue::conformance::{Random, laws};

/// An endpoint that publishes, behind a gate that can fail as a network does.
struct Station {
    gate: Gate,
    publisher: Publisher,
    _listener: Listener,
}

impl Station {
    async fn open(name: &str, bounds: PublicationBounds) -> Station {
        let gate = Gate::bind().await;
        let mut config = ListenConfig::on([[127, 0, 0, 1].into()], 0);
        config.announced_udp_port = Some(gate.port());
        let listener = Listener::bind(config).await.expect("loopback has free ports");
        gate.lead_to(listener.port());
        let name = format!("{name}-{}", std::process::id());
        let publisher = listener.publish_with(&name, bounds).await.expect("the name is free");
        Station { gate, publisher, _listener: listener }
    }

    async fn join(&self, carrier: CarrierKind) -> Channel {
        let name = self.publisher.name();
        let url = match carrier == nowcast::local::CARRIER {
            true => format!("nowcast://localhost/{name}"),
            false => format!("nowcast://127.0.0.1:{}/{name}", self.gate.port()),
        };
        let connecting = Connector::new().carriers([carrier]);
        within(20, connecting.connect(&url)).await.expect("every client is admitted")
    }
}

const CARRIERS: [CarrierKind; 3] =
    [CarrierKind::WebTransport, CarrierKind::WebSocket, nowcast::local::CARRIER];

async fn receive(channel: &Channel) -> Message {
    within(20, channel.receive()).await.expect("the publisher lives")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn subscribers_get_the_newest_values_and_then_every_event() {
    let station = Station::open("newest", PublicationBounds::default()).await;
    let tracker = &station.publisher;
    tracker.state(1, b"left").unwrap();
    tracker.event(b"before anybody came").unwrap();
    tracker.state(1, b"right").unwrap();
    for carrier in CARRIERS {
        let renderer = station.join(carrier).await;
        assert_eq!(receive(&renderer).await.bytes, b"right", "{carrier:?}");
        tracker.event(b"click").unwrap();
        let message = receive(&renderer).await;
        assert_eq!((message.kind, &message.bytes[..]), (MessageKind::Event, &b"click"[..]), "{carrier:?}");
        drop(renderer);
        until("the subscriber is forgotten", || tracker.subscribers() == 0).await;
    }
    assert_eq!(tracker.state(0, b"no key"), Err(Error::Refused(Refused::KeyZero)));
}

/// Checks the laws for each subscriber over its carrier, also when the carrier is cut.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_laws_hold_for_every_subscriber_over_every_carrier() {
    for seed in 0..4 {
        let station = Station::open(&format!("laws-{seed}"), PublicationBounds::default()).await;
        let random = &mut Random::new(seed);
        let mut readers = tokio::task::JoinSet::new();
        let mut puts = Vec::new();
        for round in 0..60 {
            if round % 10 == 0 {
                let (channel, joined) = (station.join(CARRIERS[round / 10 % 3]).await, puts.len());
                until("the subscriber has joined", || station.publisher.subscribers() > readers.len()).await;
                readers.spawn(async move { (joined, read_all(&channel).await) });
            }
            for _ in 0..random.below(30) {
                let key = if random.percent(10) { Key::EVENT } else { Key::state(1 + random.below(6)) };
                let value = laws::value(puts.len(), random.below(300) as usize);
                puts.push(key);
                match key {
                    Key::EVENT => station.publisher.event(&value).unwrap(),
                    key => station.publisher.state(key, &value).unwrap(),
                }
            }
            match random.below(20) {
                0 => station.gate.kill(),
                1 => station.gate.lose_udp(random.below(20)),
                _ => tokio::time::sleep(Duration::from_millis(random.below(8))).await,
            }
        }
        station.gate.lose_udp(0);
        let end = laws::value(puts.len(), 9);
        puts.push(Key::EVENT);
        station.publisher.event(&end).unwrap();
        for (joined, record) in within(60, readers.join_all()).await {
            if let Err(violation) = check(&puts, joined, &record, laws::Ended::Drained) {
                panic!("seed {seed}: {violation}");
            }
        }
    }
}

/// Returns a subscriber's messages up to the last event. The last event has a distinct length.
async fn read_all(channel: &Channel) -> Vec<(Key, usize)> {
    let mut record = Vec::new();
    loop {
        let message = channel.receive().await.expect("the publisher lives");
        let put = laws::put_of(&message.bytes).expect("no payload is torn");
        let key = message.key().unwrap_or(Key::EVENT);
        record.push((key, put));
        if key.is_event() && message.bytes.len() == 9 {
            return record;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_subscriber_that_falls_behind_is_closed_with_the_code_behind_and_affects_no_other() {
    let backlog = Bounds { entries_max: 2_000, bytes_max: 1 << 20 };
    let station =
        Station::open("behind", PublicationBounds { backlog, ..PublicationBounds::default() }).await;
    let tracker = &station.publisher;
    let (stalled, diligent) =
        (station.join(CarrierKind::WebSocket).await, station.join(CarrierKind::WebTransport).await);
    until("both subscribers have joined", || tracker.subscribers() == 2).await;
    // A subscriber that does not receive accepts as much as its window holds, and then nothing more.
    let mut got = 0_u32;
    let begin = Instant::now();
    while tracker.counters().behind == 0 {
        assert!(begin.elapsed() < Duration::from_secs(30), "nobody fell behind");
        tracker.event(&[got.to_le_bytes().as_slice(), &[7; 1_000]].concat()).unwrap();
        assert_eq!(receive(&diligent).await.bytes[..4], got.to_le_bytes(), "each event, in order");
        got += 1;
    }
    tracker.state(1, b"goes on").unwrap();
    assert_eq!(receive(&diligent).await.bytes, b"goes on");
    let closed = within(20, stalled.closed()).await;
    assert_eq!(closed.code, CloseCode::BEHIND, "{closed}");
    until("the subscriber is gone", || tracker.subscribers() == 1).await;
}

/// A stalled subscriber costs no memory for history. When it continues, it gets only the newest value of each key.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn values_are_read_when_they_leave() {
    let station = Station::open("late", PublicationBounds::default()).await;
    let renderer = station.join(CarrierKind::WebTransport).await;
    station.publisher.state(1, b"hello").unwrap();
    assert_eq!(receive(&renderer).await.bytes, b"hello");
    station.gate.stall(true);
    for sample in 0..2_000_u32 {
        station.publisher.state(1 + u64::from(sample % 5), &sample.to_le_bytes()).unwrap();
        if sample % 100 == 0 {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }
    station.gate.stall(false);
    let mut newest = BTreeMap::new();
    let mut messages = 0;
    while newest.values().filter(|&&value| value >= 1_995).count() < 5 {
        let message = receive(&renderer).await;
        messages += 1;
        let sample = u32::from_le_bytes(message.bytes[..4].try_into().unwrap());
        let before = newest.insert(message.key(), sample);
        assert!(before.is_none_or(|before| before < sample), "never backwards");
    }
    assert!(messages < 200, "{messages} messages of 2,000 puts");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn when_the_publisher_is_dropped_subscribers_receive_everything_and_are_closed() {
    let Station { gate: _gate, publisher, _listener } =
        Station::open("goes", PublicationBounds::default()).await;
    let url = format!("nowcast://127.0.0.1:{}/{}", _listener.port(), publisher.name());
    let renderer = within(20, nowcast::connect(&url)).await.unwrap();
    until("the subscriber has joined", || publisher.subscribers() == 1).await;
    let poses = publisher.typed::<[f32; 3]>();
    poses.state(1, &[1.0, 2.0, 3.0]).unwrap();
    poses.event(&[4.0; 3]).unwrap();
    drop((publisher, poses));
    assert_eq!(receive(&renderer).await.decode::<[f32; 3]>().unwrap(), [1.0, 2.0, 3.0]);
    assert_eq!(receive(&renderer).await.decode::<[f32; 3]>().unwrap(), [4.0; 3]);
    assert_eq!(within(20, renderer.closed()).await.code, CloseCode::DONE);
}
