//! Faults that random runs found, as the shortest scripts that reproduce them with any timing of the link.

use std::time::Duration;

use nowcast_session::Carrier;
use nowcast_sim::link::{LinkConfig, Policer, Variation};
use nowcast_sim::pair::End;
use nowcast_sim::scenario::{self, Cast};
use nowcast_sim::script::{Operation, Script};

const MS: Duration = Duration::from_millis(1);

fn live(operations: Vec<(Duration, Operation)>) {
    for carrier in [Carrier::DATAGRAMS, Carrier::STREAM] {
        let link = LinkConfig { delay: 25 * MS, ..LinkConfig::default() };
        let script = Script { seed: 1, carrier, link, operations: operations.clone() };
        if let Err(broken) = scenario::run(&script, Cast::Rust) {
            panic!("{broken}\n{script}");
        }
    }
}

fn put(after_ms: u32, key: u64, bytes: usize) -> (Duration, Operation) {
    (after_ms * MS, Operation::Put { end: End::Initiator, lane: 1, key, bytes })
}

/// Large values filled half of a window, so the sender made a barrier. A stalled reader then got
/// one value of the same key from each side of the barrier (law 7).
#[test]
fn a_stalled_reader_gets_one_value_of_a_key_despite_barriers() {
    let stall = (500 * MS, Operation::Stall { end: End::Acceptor, millis: 3_000 });
    let large = (1..=5).map(|key| put(0, key, 7_000));
    live(
        [stall]
            .into_iter()
            .chain(large)
            .chain([put(1_000, 1, 80), put(0, 2, 80), put(1_000, 9, 80)])
            .collect(),
    );
}

/// A policer dropped the end of each turn, each turn had its keys in the same order, and a lost value was not sent again after a
/// newer one. So the last keys never arrived (law 5).
#[test]
fn behind_a_policer_no_key_starves() {
    let policer = Policer { rate_bits: 2_000_000, variation: Variation::Constant, bucket_bytes: 20_000 };
    for (keys, bytes) in [(100, 64), (20, 900)] {
        let link = LinkConfig { delay: 25 * MS, policer: Some(policer), ..LinkConfig::default() };
        let stream = Operation::Stream { end: End::Acceptor, keys, bytes, millis: 10_000 };
        let operations = vec![(1_000 * MS, stream)];
        let script = Script { seed: 1, carrier: Carrier::DATAGRAMS, link, operations };
        match scenario::run(&script, Cast::Rust) {
            Ok(lived) => assert_eq!(lived.streams, 1),
            Err(broken) => panic!("{broken}"),
        }
    }
}

/// A small value was lost with its carrier and was not sent again, because a large value of the same key
/// waited. A barrier closed the interval before the large value. The small value was never sent again, so the peer waited for
/// ever.
#[test]
fn a_lost_value_whose_successor_needs_a_barrier_is_sent_again() {
    let large = (2..=4).map(|key| put(200, key, 8_000));
    let kill = Operation::Kill { is_reported: [true, true], millis: 100, to_stream: false };
    let rest = [put(500, 1, 90), (MS, kill), put(1, 1, 9_000)];
    live(large.chain(rest).collect());
}
