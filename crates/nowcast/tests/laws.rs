//! Tests the laws of the queue end to end over real sockets, with carriers that are killed, lose packets and stall.
//!
//! `cargo xtask conformance --carriers` is the long form.

mod common;

use std::sync::Mutex;
use std::time::Duration;

use common::House;
use nowcast::{CarrierKind, Channel, Error, MessageKind};
use nowcast_queue::Key;
use nowcast_queue::conformance::Random;
use nowcast_queue::conformance::laws::{self, Ended};

const LANES: u8 = 3;
/// Number of scenarios that run concurrently. Most of the time they wait until a silence is detected.
const AT_ONCE: u64 = 16;

/// Messages that were put at one end and received at the other.
#[derive(Default)]
struct Lane {
    puts: Vec<Key>,
    gets: Vec<(Key, usize)>,
}

type Direction = Mutex<[Lane; LANES as usize]>;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_laws_hold_over_webtransport() {
    many_lives(&[CarrierKind::WebTransport]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_laws_hold_over_websocket() {
    many_lives(&[CarrierKind::WebSocket]).await;
}

/// Between local programs only the processes themselves can be killed, and `crates/shm/tests/death.rs` kills them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_laws_hold_between_tasks_of_one_machine() {
    many_lives(&[nowcast::local::CARRIER]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_laws_hold_while_sessions_change_their_carriers() {
    many_lives(&[CarrierKind::WebTransport, CarrierKind::WebSocket]).await;
}

fn cases() -> u64 {
    let cases = std::env::var("NOWCAST_CARRIER_CASES");
    cases.map_or(32, |cases| cases.parse().expect("NOWCAST_CARRIER_CASES is a number"))
}

async fn many_lives(carriers: &'static [CarrierKind]) {
    let mut living = tokio::task::JoinSet::new();
    for seed in 0..cases() {
        if living.len() as u64 >= AT_ONCE {
            living.join_next().await.expect("some live").expect("a scenario ends without a panic");
        }
        living.spawn(live(carriers, seed));
    }
    living.join_all().await;
    println!("{} scenarios over {carriers:?} obeyed the laws", cases());
}

/// Runs one session from beginning to end. The seed determines everything except the timing of the sockets.
async fn live(carriers: &'static [CarrierKind], seed: u64) {
    let mut house = House::build().await;
    let (ours, theirs) = house.join(carriers).await;
    let directions: [Direction; 2] = Default::default();
    let stalled = Mutex::new([false; 2]);
    let script = async {
        act(&house, [&ours, &theirs], &directions, &stalled, seed).await;
        let all = async { tokio::try_join!(ours.drained(), theirs.drained()) };
        let drained = tokio::time::timeout(Duration::from_secs(60), all).await;
        let [ours, theirs] = [&ours, &theirs].map(|end| end.status().gauges);
        drained
            .unwrap_or_else(|_| panic!("seed {seed}, {carriers:?}: not drained: {ours:?} {theirs:?}"))
            .expect("nobody closes");
    };
    let reading = async {
        let first = read(&ours, &directions[1], &stalled, 0);
        let second = read(&theirs, &directions[0], &stalled, 1);
        tokio::join!(first, second)
    };
    tokio::select! {
        () = script => {}
        _ = reading => panic!("seed {seed}: a channel closed"),
    }
    for (channel, direction) in [(&ours, &directions[1]), (&theirs, &directions[0])] {
        while take(channel, direction).expect("nobody closes") {}
    }
    for (name, direction) in ["ours", "theirs"].iter().zip(&directions) {
        for (number, lane) in direction.lock().unwrap().iter().enumerate() {
            if let Err(violation) = laws::check(&lane.puts, &lane.gets, Ended::Drained) {
                panic!("seed {seed}, {carriers:?}, put by {name}, lane {number}: {violation}");
            }
        }
    }
}

async fn act(
    house: &House,
    ends: [&Channel; 2],
    directions: &[Direction; 2],
    stalled: &Mutex<[bool; 2]>,
    seed: u64,
) {
    let random = &mut Random::new(seed ^ 0xCA44_1E45);
    let keys = 1 + random.below(12);
    let mut kills = random.below(3);
    for _ in 0..20 + random.below(200) {
        let end = random.below(2) as usize;
        match random.below(100) {
            0..=54 => {
                let key = 1 + random.below(keys);
                let bytes = match random.below(100) {
                    0..=89 => random.below(120),
                    90..=97 => random.below(1_100),
                    _ => random.below(20_000),
                };
                put(ends[end], &directions[end], random.below(LANES.into()) as u8, key, bytes).await;
            }
            55..=79 => {
                let bytes = if random.percent(95) { random.below(200) } else { random.below(20_000) };
                put(ends[end], &directions[end], random.below(LANES.into()) as u8, 0, bytes).await;
            }
            80..=84 => stalled.lock().unwrap()[end] = true,
            85..=89 => *stalled.lock().unwrap() = [false; 2],
            90..=91 if kills > 0 => {
                kills -= 1;
                house.gate.kill();
            }
            92 => house.gate.lose_udp(random.below(20)),
            93 => {
                house.gate.stall(true);
                tokio::time::sleep(Duration::from_millis(random.below(100))).await;
                house.gate.stall(false);
            }
            _ => tokio::time::sleep(Duration::from_millis(random.below(8))).await,
        }
    }
    house.gate.lose_udp(0);
    *stalled.lock().unwrap() = [false; 2];
}

async fn put(channel: &Channel, direction: &Direction, lane: u8, key: u64, bytes: u64) {
    let number = direction.lock().unwrap()[usize::from(lane)].puts.len();
    let payload = laws::value(number, bytes as usize);
    // Only one task puts, so no other put comes between the number and its put.
    let record = || direction.lock().unwrap()[usize::from(lane)].puts.push(Key::from_raw(key));
    record();
    let put = match key {
        0 => channel.lane(lane).event(&payload).await,
        key => channel.lane(lane).try_state(key, &payload),
    };
    put.expect("a lane has room for twelve keys");
}

async fn read(
    channel: &Channel,
    direction: &Direction,
    stalled: &Mutex<[bool; 2]>,
    end: usize,
) -> Result<(), Error> {
    loop {
        if stalled.lock().unwrap()[end] {
            tokio::time::sleep(Duration::from_millis(1)).await;
            continue;
        }
        if !take(channel, direction)? {
            let some = tokio::time::timeout(Duration::from_millis(5), channel.receive()).await;
            if let Ok(message) = some {
                record(direction, message?);
            }
        }
    }
}

/// Takes one message, if there is one.
fn take(channel: &Channel, direction: &Direction) -> Result<bool, Error> {
    let message = channel.try_receive()?;
    let is_one = message.is_some();
    if let Some(message) = message {
        record(direction, message);
    }
    Ok(is_one)
}

fn record(direction: &Direction, message: nowcast::Message) {
    let number = laws::put_of(&message.bytes).expect("no payload is torn");
    let key = match message.kind {
        MessageKind::State { key } => key,
        MessageKind::Event => Key::EVENT,
        other => panic!("{other:?}, which nobody put"),
    };
    direction.lock().unwrap()[usize::from(message.lane.number())].gets.push((key, number));
}
