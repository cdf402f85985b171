//! The queue in shared memory passes the suite of all queues.

#![cfg(target_os = "linux")]

use nowcast_queue::Bounds;
use nowcast_queue::conformance::{Implementation, Suite};
use nowcast_shm::{ShmReceiver, ShmSender, pair};

struct SharedMemory;

impl Implementation for SharedMemory {
    type Sender = ShmSender;
    type Receiver = ShmReceiver;
    const NAME: &'static str = "shared memory";

    fn queue(&self, bounds: Bounds) -> (ShmSender, ShmReceiver) {
        let (near, far) = pair(&[bounds]).expect("the system has a few pages");
        (near.sender, far.receiver)
    }
}

/// Returns the number of cases. The long form is `NOWCAST_CASES=100000 cargo test -p nowcast-shm --release --test conformance`.
fn cases() -> u64 {
    let cases = std::env::var("NOWCAST_CASES")
        .map_or(2_000, |cases| cases.parse().expect("NOWCAST_CASES is a number"));
    assert!(cases > 0, "without cases nothing is checked");
    cases
}

#[test]
fn the_queue_in_shared_memory_follows_the_laws() {
    let suite = Suite { seed: 1, cases: cases() };
    match suite.run(&SharedMemory) {
        Ok(passed) => println!("shared memory: {passed:?}, seeds from {}", suite.seed),
        Err(failure) => panic!("{failure}"),
    }
}
