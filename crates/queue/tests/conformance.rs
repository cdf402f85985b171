//! The in-process queue passes the suite, and the suite detects wrong queues.

use nowcast_queue::conformance::laws::{self, Ended};
use nowcast_queue::conformance::{Implementation, InProcess, Suite, publishers};
use nowcast_queue::{Bounds, Key, Put, Receiver, Refusal, Sender, in_process};
use std::task::{Context, Poll};
use std::time::Instant;

/// Returns the number of cases. The long form is `NOWCAST_CASES=100000 cargo test -p nowcast-queue --release --test conformance`.
fn cases() -> u64 {
    std::env::var("NOWCAST_CASES").map_or(2_000, |cases| cases.parse().expect("NOWCAST_CASES is a number"))
}

#[test]
fn the_in_process_queue_follows_the_laws() {
    let suite = Suite { seed: 1, cases: cases() };
    match suite.run(&InProcess) {
        Ok(passed) => println!("in process: {passed:?}, seeds from {}", suite.seed),
        Err(failure) => panic!("{failure}"),
    }
}

#[test]
fn the_laws_hold_for_every_subscriber_of_a_publisher() {
    let suite = publishers::Suite { seed: 1, cases: cases() };
    match suite.run(&publishers::InProcess) {
        Ok(passed) => {
            assert!(passed.behind > 0, "the bound of the backlog is tested too");
            println!("publisher in process: {passed:?}, seeds from {}", suite.seed);
        }
        Err(failure) => panic!("{failure}"),
    }
}

#[test]
fn a_queue_that_ignores_barriers_is_caught_and_shrunk_to_a_few_steps() {
    let failure = Suite { seed: 1, cases: 1_000 }.run(&NoBarriers).expect_err("this queue breaks law 3");
    assert!(failure.script.operations.len() <= 4, "{failure}");
}

#[test]
fn for_every_kind_of_wrong_record_the_violated_law_is_named() {
    let (event, a) = (Key::EVENT, Key::state(1));
    let puts = [a, a, event, a];
    let law =
        |gets: &[(Key, usize)]| laws::check(&puts, gets, Ended::Drained).map_err(|violation| violation.law);
    assert_eq!(law(&[(a, 0), (a, 1), (event, 2), (a, 3)]), Ok(()), "nothing was replaced");
    assert_eq!(law(&[(a, 1), (event, 2), (a, 3)]), Ok(()), "the first was replaced");
    assert_eq!(law(&[(a, 1), (a, 3)]), Err(3), "the event was overtaken");
    assert_eq!(law(&[(a, 1)]), Err(1), "the event was lost");
    assert_eq!(law(&[(a, 0), (event, 2), (a, 3)]), Err(2), "the state before the event is stale");
    assert_eq!(law(&[(a, 1), (a, 0)]), Err(4), "the key went back");
    assert_eq!(law(&[(a, 1), (event, 2), (event, 2)]), Err(1), "the event came twice");
    assert_eq!(law(&[(a, 1), (event, 2)]), Err(4), "the last value is missing");
    assert_eq!(law(&[(a, 2)]), Err(1), "nobody put that");
}

/// A wrong queue that stores events in a separate queue.
struct NoBarriers;

struct TwoSenders(in_process::InProcessSender, in_process::InProcessSender);

struct TwoReceivers(in_process::InProcessReceiver, in_process::InProcessReceiver);

impl Implementation for NoBarriers {
    type Sender = TwoSenders;
    type Receiver = TwoReceivers;
    const NAME: &'static str = "no barriers";

    fn queue(&self, bounds: Bounds) -> (TwoSenders, TwoReceivers) {
        let (events, states) = (in_process::queue(bounds), in_process::queue(bounds));
        (TwoSenders(events.0, states.0), TwoReceivers(events.1, states.1))
    }
}

impl Sender for TwoSenders {
    fn try_put(&mut self, key: Key, value: &[u8]) -> Result<Put, Refusal> {
        if key.is_event() { self.0.try_put(key, value) } else { self.1.try_put(key, value) }
    }

    fn put(&mut self, key: Key, value: &[u8], _: Option<Instant>) -> Result<Put, Refusal> {
        self.try_put(key, value)
    }

    fn poll_put(&mut self, _: &mut Context<'_>, key: Key, value: &[u8]) -> Poll<Result<Put, Refusal>> {
        Poll::Ready(self.try_put(key, value))
    }
}

impl Receiver for TwoReceivers {
    fn try_get(&mut self, value: &mut Vec<u8>) -> Result<Option<Key>, Refusal> {
        match self.0.try_get(value)? {
            Some(key) => Ok(Some(key)),
            None => self.1.try_get(value),
        }
    }

    fn get(&mut self, value: &mut Vec<u8>, _: Option<Instant>) -> Result<Key, Refusal> {
        self.try_get(value)?.ok_or(Refusal::TimedOut)
    }

    fn poll_get(&mut self, _: &mut Context<'_>, value: &mut Vec<u8>) -> Poll<Result<Key, Refusal>> {
        Poll::Ready(self.get(value, None))
    }
}
