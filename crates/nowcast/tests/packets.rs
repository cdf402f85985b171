//! How many packets it takes to keep two ends up to date.
//!
//! `cargo test -p nowcast --test channels packets_of -- --ignored --nocapture` counts them on this machine, at rest.

use std::time::Duration;

use crate::common::{House, within};
use nowcast::{CarrierKind, Channel};
use tokio::time::{Instant, MissedTickBehavior, interval_at};

const SECONDS: u64 = 10;

/// Puts a state of so many bytes so many times a second, and reads what comes.
async fn say(channel: &Channel, hz: u32, bytes: usize, begins_after: Duration) {
    let mut turns = interval_at(Instant::now() + begins_after, Duration::from_secs(1) / hz);
    turns.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let value = vec![7; bytes];
    loop {
        tokio::select! {
            _ = turns.tick() => channel.try_state(1, &value).expect("there is room"),
            received = channel.receive() => drop(received.expect("it is open")),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "a measurement: it takes a minute, and other work on the machine spoils it"]
async fn packets_of_a_room_and_a_client_that_both_speak_twenty_times_a_second() {
    for delay_ms in [0, 25] {
        for bytes in [400, 1_100] {
            let mut house = House::build().await;
            let (ours, theirs) = house.join(&[CarrierKind::WebTransport]).await;
            house.gate.delay_udp(Duration::from_millis(delay_ms));
            // The client's turn comes somewhere between two of the room's.
            let speaking = async {
                tokio::join!(
                    say(&theirs, 20, bytes, Duration::ZERO),
                    say(&ours, 20, 30, Duration::from_millis(17)),
                );
            };
            let counting = async {
                tokio::time::sleep(Duration::from_secs(2)).await;
                let counts = || {
                    let [inwards, outwards] = house.gate.passed();
                    [inwards, outwards, count(&ours), count(&theirs)]
                };
                let before = counts();
                tokio::time::sleep(Duration::from_secs(SECONDS)).await;
                let after = counts();
                let [inwards, outwards, ours, theirs] =
                    [0, 1, 2, 3].map(|at| (after[at] - before[at]) / SECONDS);
                println!(
                    "round trip {} ms, {bytes} bytes: {inwards} datagrams a second from the client, of them {ours} of the session; \
                     {outwards} to it, of them {theirs} of the session",
                    2 * delay_ms
                );
            };
            within(60, async {
                tokio::select! {
                    () = speaking => unreachable!("they speak for ever"),
                    () = counting => {}
                }
            })
            .await;
        }
    }
}

fn count(channel: &Channel) -> u64 {
    channel.status().stats.packets_sent
}
