//! A reader that stops and continues receives current values. Meanwhile the sender has stored only the newest values.

mod common;

use std::collections::HashMap;
use std::time::Duration;

use common::{House, within};
use nowcast::{CarrierKind, Channel};

const KEYS: u64 = 1_000;
const PERIOD: Duration = Duration::from_micros(16_667);

/// Puts every key with the number of the round, for a number of rounds.
async fn put_rounds(channel: &Channel, rounds: std::ops::Range<u64>) {
    let mut beat = tokio::time::interval(PERIOD);
    for round in rounds {
        beat.tick().await;
        let mut batch = channel.batch();
        for key in 1..=KEYS {
            batch.try_state(0, key, &round.to_le_bytes()).unwrap();
        }
    }
}

/// Reads until every key has reached `round`. Returns how often each key arrived.
async fn read_until(channel: &Channel, round: u64) -> HashMap<u64, u64> {
    let mut times: HashMap<u64, u64> = HashMap::new();
    let mut current = std::collections::HashSet::new();
    while current.len() < KEYS as usize {
        let message = within(20, channel.receive()).await.unwrap();
        let key = message.key().expect("only states are put").raw();
        *times.entry(key).or_default() += 1;
        if u64::from_le_bytes(message.bytes.try_into().unwrap()) >= round {
            current.insert(key);
        }
    }
    times
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stalled_reader_continues_with_the_newest_values_and_its_sender_keeps_no_history() {
    for kind in [CarrierKind::WebTransport, CarrierKind::WebSocket] {
        let mut house = House::build().await;
        let (ours, theirs) = house.join(&[kind]).await;
        tokio::join!(put_rounds(&theirs, 0..30), read_until(&ours, 29));
        // The network delivers nothing and the application reads nothing, as if the process were stopped.
        house.gate.stall(true);
        put_rounds(&theirs, 30..150).await;
        let waiting = theirs.status().gauges.waiting;
        assert!(waiting <= 2 * KEYS as usize, "{kind}: {waiting} messages wait for {KEYS} keys");
        let in_flight = theirs.status().gauges.in_flight_bytes;
        house.gate.stall(false);
        let (times, ()) = tokio::join!(read_until(&ours, 150), put_rounds(&theirs, 150..200));
        let most = times.values().max().unwrap();
        println!("{kind}: each key arrived at most {most} times; {in_flight} bytes were in flight");
        assert!(*most <= 8, "{kind}: a key arrived {most} times, so history was kept");
    }
}
