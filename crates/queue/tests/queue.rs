//! The paper's figures as scenarios, and the two ends of a queue when the other end is slow or gone.

use nowcast_queue::{Bounds, Key, Put, Receiver, Refusal, Sender, UpdatableQueue, in_process};
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

const A: Key = Key::state(1);
const B: Key = Key::state(2);

fn delivered(queue: &mut UpdatableQueue<Vec<u8>>) -> String {
    std::iter::from_fn(|| queue.pop()).map(|(_, value)| value[0] as char).collect()
}

fn queue_of(puts: &[(Key, u8)]) -> UpdatableQueue<Vec<u8>> {
    let mut queue = UpdatableQueue::new(Bounds::default());
    for &(key, value) in puts {
        queue.put(key, vec![value]).unwrap();
    }
    queue
}

#[test]
fn figure_3_a_newer_value_takes_the_place_of_the_older_one() {
    assert_eq!(delivered(&mut queue_of(&[(A, b'1'), (B, b'2'), (A, b'3')])), "32");
}

#[test]
fn figure_4_a_state_before_an_event_is_not_replaced() {
    assert_eq!(delivered(&mut queue_of(&[(A, b'1'), (Key::EVENT, b'!'), (A, b'2')])), "1!2");
}

#[test]
fn figure_5_removing_the_archived_states_leaves_the_new_interval_replaceable() {
    let mut queue = queue_of(&[(A, b'1'), (Key::EVENT, b'!'), (A, b'2')]);
    assert_eq!(queue.pop(), Some((A, vec![b'1'])));
    assert_eq!(queue.put(A, vec![b'3']).unwrap(), Put::Replaced);
    assert_eq!(delivered(&mut queue), "!3");
}

#[test]
fn a_million_replacements_hold_one_entry_and_one_value_of_memory() {
    let mut queue = UpdatableQueue::new(Bounds { entries_max: 1, bytes_max: 8 });
    for sample in 0..1_000_000_u64 {
        queue.put(A, sample.to_le_bytes().to_vec()).unwrap();
    }
    assert_eq!((queue.len(), queue.bytes(), queue.counters().replaced), (1, 8, 999_999));
}

#[test]
fn a_refused_value_leaves_the_older_one_in_place() {
    let mut queue = UpdatableQueue::new(Bounds { entries_max: 4, bytes_max: 4 });
    queue.put(A, vec![1; 2]).unwrap();
    queue.put(B, vec![2; 2]).unwrap();
    assert_eq!(queue.put(A, vec![3; 3]).unwrap_err().refusal, Refusal::Full);
    let too_large = queue.put(A, vec![3; 5]).unwrap_err();
    assert_eq!(too_large.refusal, Refusal::TooLarge { bytes: 5, bytes_max: 4 });
    assert_eq!(too_large.value, [3; 5], "the value comes back");
    assert_eq!(queue.pop(), Some((A, vec![1; 2])));
}

#[test]
fn a_blocked_put_continues_when_the_receiver_makes_room() {
    let (mut sender, mut receiver) = in_process::queue(Bounds { entries_max: 1, bytes_max: 100 });
    sender.try_put(Key::EVENT, b"1").unwrap();
    assert_eq!(sender.try_put(Key::EVENT, b"2"), Err(Refusal::Full));
    let blocked = std::thread::spawn(move || sender.put(Key::EVENT, b"2", None));
    let mut value = Vec::new();
    receiver.get(&mut value, None).unwrap();
    receiver.get(&mut value, None).unwrap();
    assert_eq!(value, b"2");
    assert_eq!(blocked.join().unwrap(), Ok(Put::Queued));
}

#[test]
fn a_deadline_ends_the_wait_of_either_end() {
    let (mut sender, mut receiver) = in_process::queue(Bounds { entries_max: 1, bytes_max: 100 });
    let soon = || Some(Instant::now() + Duration::from_millis(5));
    assert_eq!(receiver.get(&mut Vec::new(), soon()), Err(Refusal::TimedOut));
    sender.try_put(Key::EVENT, b"1").unwrap();
    assert_eq!(sender.put(Key::EVENT, b"2", soon()), Err(Refusal::TimedOut));
}

#[test]
fn a_closed_sender_is_reported_after_its_last_message() {
    let (mut sender, mut receiver) = in_process::queue(Bounds::default());
    sender.try_put(A, b"last").unwrap();
    drop(sender);
    let mut value = Vec::new();
    assert_eq!(receiver.try_get(&mut value), Ok(Some(A)));
    assert_eq!(receiver.try_get(&mut value), Err(Refusal::Closed));
}

#[test]
fn a_closed_receiver_ends_a_blocked_put() {
    let (mut sender, receiver) = in_process::queue(Bounds { entries_max: 1, bytes_max: 100 });
    sender.try_put(Key::EVENT, b"1").unwrap();
    let blocked = std::thread::spawn(move || sender.put(Key::EVENT, b"2", None));
    drop(receiver);
    assert_eq!(blocked.join().unwrap(), Err(Refusal::Closed));
}

#[test]
fn an_async_get_is_woken_by_a_put() {
    let (mut sender, mut receiver) = in_process::queue(Bounds::default());
    let waiting = std::thread::spawn(move || {
        let mut value = Vec::new();
        let key = block_on(poll_fn(|context| receiver.poll_get(context, &mut value)));
        (key, value)
    });
    sender.try_put(B, b"hello").unwrap();
    assert_eq!(waiting.join().unwrap(), (Ok(B), b"hello".to_vec()));
}

/// The smallest executor: parks the thread between polls.
fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(std::thread::Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}
