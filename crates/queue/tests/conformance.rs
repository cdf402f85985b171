//! The queue passes the suite, and the suite detects wrong queues.

use nowcast_queue::conformance::laws::{self, Ended};
use nowcast_queue::conformance::{Implementation, Suite, publishers};
use nowcast_queue::{Bounds, Key, Put, Receiver, Refusal, Sender, UpdatableQueue};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Instant;

/// Returns the number of cases. The long form is `NOWCAST_CASES=100000 cargo test -p nowcast-queue --release --test conformance`.
fn cases() -> u64 {
    let cases = std::env::var("NOWCAST_CASES")
        .map_or(2_000, |cases| cases.parse().expect("NOWCAST_CASES is a number"));
    assert!(cases > 0, "without cases nothing is checked");
    cases
}

#[test]
fn the_updatable_queue_follows_the_laws() {
    let suite = Suite { seed: 1, cases: cases() };
    match suite.run(&Right) {
        Ok(passed) => println!("{passed:?}, seeds from {}", suite.seed),
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

/// Queues, and whether their sender lives. Separate queues for events and states ignore barriers.
type Shared = (Vec<UpdatableQueue<Vec<u8>>>, bool);

/// The updatable queue under a lock. Waiting ends yield their thread, because no implementation that ships waits in this way.
#[derive(Clone)]
struct Locked {
    shared: Arc<Mutex<Shared>>,
}

struct LockedSender(Locked);

impl Locked {
    fn new(queues: usize, bounds: Bounds) -> (LockedSender, Locked) {
        let queues = vec![UpdatableQueue::new(bounds); queues];
        let locked = Locked { shared: Arc::new(Mutex::new((queues, true))) };
        (LockedSender(locked.clone()), locked)
    }
}

fn until<T>(
    deadline: Option<Instant>,
    mut attempt: impl FnMut() -> Result<Option<T>, Refusal>,
) -> Result<T, Refusal> {
    loop {
        match attempt()? {
            Some(done) => return Ok(done),
            None if deadline.is_some_and(|deadline| Instant::now() >= deadline) => {
                return Err(Refusal::TimedOut);
            }
            None => std::thread::yield_now(),
        }
    }
}

impl Drop for LockedSender {
    fn drop(&mut self) {
        self.0.shared.lock().unwrap().1 = false;
    }
}

impl Sender for LockedSender {
    fn try_put(&mut self, key: Key, value: &[u8]) -> Result<Put, Refusal> {
        let (queues, _) = &mut *self.0.shared.lock().unwrap();
        let last = queues.len() - 1;
        let queue = &mut queues[if key.is_event() { 0 } else { last }];
        queue.put(key, value.to_vec()).map_err(|refused| refused.refusal)
    }

    fn put(&mut self, key: Key, value: &[u8], deadline: Option<Instant>) -> Result<Put, Refusal> {
        until(deadline, || match self.try_put(key, value) {
            Err(Refusal::Full) => Ok(None),
            put => put.map(Some),
        })
    }

    fn poll_put(&mut self, _: &mut Context<'_>, key: Key, value: &[u8]) -> Poll<Result<Put, Refusal>> {
        Poll::Ready(self.try_put(key, value))
    }
}

impl Receiver for Locked {
    fn try_get(&mut self, value: &mut Vec<u8>) -> Result<Option<Key>, Refusal> {
        let (queues, is_open) = &mut *self.shared.lock().unwrap();
        match queues.iter_mut().find_map(UpdatableQueue::pop) {
            Some((key, bytes)) => {
                *value = bytes;
                Ok(Some(key))
            }
            None if *is_open => Ok(None),
            None => Err(Refusal::Closed),
        }
    }

    fn get(&mut self, value: &mut Vec<u8>, deadline: Option<Instant>) -> Result<Key, Refusal> {
        until(deadline, || self.try_get(value))
    }

    fn poll_get(&mut self, _: &mut Context<'_>, value: &mut Vec<u8>) -> Poll<Result<Key, Refusal>> {
        Poll::Ready(self.get(value, None))
    }
}

/// The queue itself.
struct Right;

impl Implementation for Right {
    type Sender = LockedSender;
    type Receiver = Locked;
    const NAME: &'static str = "updatable queue";

    fn queue(&self, bounds: Bounds) -> (LockedSender, Locked) {
        Locked::new(1, bounds)
    }
}

/// A wrong queue that stores events in a separate queue.
struct NoBarriers;

impl Implementation for NoBarriers {
    type Sender = LockedSender;
    type Receiver = Locked;
    const NAME: &'static str = "no barriers";

    fn queue(&self, bounds: Bounds) -> (LockedSender, Locked) {
        Locked::new(2, bounds)
    }
}
