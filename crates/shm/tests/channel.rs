//! Channels between two programs on one machine.

#![cfg(target_os = "linux")]

use nowcast_queue::{Bounds, Key, Put, Receiver, Refusal, Sender};
use nowcast_shm::{NameError, OpenError, advertise, advertised, connect, connect_until, pair};
use rustix::thread::{SecureComputingMode, set_secure_computing_mode};
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

const A: Key = Key::state(1);

fn soon() -> Option<Instant> {
    Some(Instant::now() + Duration::from_secs(20))
}

fn name(of: &str) -> String {
    format!("channel-{}-{of}", std::process::id())
}

#[test]
fn values_of_sixteen_mebibytes_pass_and_replace_each_other() {
    let bounds = Bounds { entries_max: 1024, bytes_max: 40 << 20 };
    let (mut near, mut far) = pair(&[bounds]).expect("memory");
    let picture = |shade: u8| vec![shade; 16 << 20];
    assert_eq!(near.sender.try_put(A, &picture(1)), Ok(Put::Queued));
    for shade in 2..6 {
        assert_eq!(near.sender.try_put(A, &picture(shade)), Ok(Put::Replaced));
    }
    assert_eq!(near.sender.try_put(Key::EVENT, b"small"), Ok(Put::Queued));
    assert_eq!(near.sender.try_put(A, &picture(6)), Ok(Put::Queued));
    assert_eq!(near.sender.try_put(Key::state(2), &picture(7)), Err(Refusal::Full), "beyond 40 MiB");
    let mut value = Vec::new();
    assert_eq!(far.receiver.try_get(&mut value), Ok(Some(A)));
    assert!(value == picture(5));
    assert_eq!(far.receiver.try_get(&mut value), Ok(Some(Key::EVENT)));
    assert_eq!(near.sender.try_put(Key::state(2), &picture(7)), Ok(Put::Queued), "there is room again");
}

#[test]
fn a_lane_with_a_lower_number_goes_first() {
    let (mut near, mut far) = pair(&[Bounds::default(); 3]).expect("memory");
    for lane in [2, 0, 1] {
        near.sender.try_put_on(lane, Key::EVENT, &[lane as u8]).expect("room");
    }
    let mut value = Vec::new();
    let mut lanes = || far.receiver.try_get_any(&mut value).expect("open").map(|(lane, _)| lane);
    assert_eq!([lanes(), lanes(), lanes(), lanes()], [Some(0), Some(1), Some(2), None]);
}

#[test]
fn every_message_is_counted() {
    let (mut near, mut far) = pair(&[Bounds { entries_max: 2, bytes_max: 100 }]).expect("memory");
    for key in [1, 1, 2, 3, 1] {
        let _ = near.sender.try_put(Key::state(key), b"value");
    }
    far.receiver.try_get(&mut Vec::new()).expect("open");
    near.sender.try_put(Key::state(3), b"value").expect("room again");
    let counted = near.sender.counters();
    assert_eq!((counted.queued, counted.replaced, counted.refused, counted.delivered), (3, 2, 1, 1));
}

#[test]
fn an_async_task_is_woken_by_the_other_side_in_both_directions() {
    let (mut near, mut far) = pair(&[Bounds { entries_max: 1, bytes_max: 100 }]).expect("memory");
    let echo = std::thread::spawn(move || {
        let mut value = Vec::new();
        for _ in 0..200 {
            let key = block_on(poll_fn(|context| far.receiver.poll_get(context, &mut value))).expect("open");
            block_on(poll_fn(|context| far.sender.poll_put(context, key, &value))).expect("open");
        }
    });
    let mut value = Vec::new();
    for round in 0..200_u32 {
        let sent = round.to_le_bytes();
        block_on(poll_fn(|context| near.sender.poll_put(context, Key::EVENT, &sent))).expect("open");
        block_on(poll_fn(|context| near.receiver.poll_get(context, &mut value))).expect("open");
        assert_eq!(value, sent);
    }
    echo.join().expect("no panic");
    let ended = block_on(poll_fn(|context| near.receiver.poll_get(context, &mut value)));
    assert_eq!(ended, Err(Refusal::Closed), "an async task also learns of the close");
}

#[test]
fn a_name_connects_two_tasks_and_is_listed_while_it_exists() {
    let name = name("listed");
    assert!(matches!(connect(&name, &[Bounds::default()]), Err(OpenError::NotFound(_))));
    let mut listener = advertise(&name, &[Bounds::default()]).expect("fresh");
    let find = || advertised().expect("readable").into_iter().find(|entry| entry.name == name);
    let entry = find().expect("listed");
    assert!(entry.alive && entry.pid == std::process::id() && entry.age < Duration::from_secs(60));
    assert!(listener.try_accept().expect("open").is_none(), "nobody has connected yet");
    std::thread::scope(|scope| {
        let peer = scope.spawn(|| connect(&name, &[Bounds { entries_max: 7, bytes_max: 70 }]));
        let mut channel = listener.accept(soon()).expect("a peer");
        let mut peer = peer.join().expect("no panic").expect("a channel");
        assert_eq!(
            channel.receiver.bounds(),
            [Bounds { entries_max: 7, bytes_max: 70 }],
            "the sender sizes the segment"
        );
        peer.sender.try_put(A, b"hello").expect("room");
        let mut value = Vec::new();
        assert_eq!(channel.receiver.get(&mut value, soon()), Ok(A));
    });
    drop(listener);
    assert!(find().is_none());
}

#[test]
fn a_connection_may_wait_for_its_name() {
    let name = name("late");
    std::thread::scope(|scope| {
        let early = scope.spawn(|| connect_until(&name, &[Bounds::default()], soon().expect("a deadline")));
        let mut listener = advertise(&name, &[Bounds::default()]).expect("fresh");
        listener.accept(soon()).expect("the connection that waited is accepted");
        early.join().expect("no panic").expect("a channel");
    });
}

#[test]
fn names_that_could_leave_their_directory_are_refused() {
    for name in ["", ".", "../escape", "a/b", "white space", "ünïcode", &"x".repeat(65)] {
        assert!(
            matches!(advertise(name, &[Bounds::default()]), Err(OpenError::Name(NameError::Name(_)))),
            "{name:?}"
        );
    }
}

#[test]
fn no_side_makes_a_system_call_while_both_are_awake() {
    let (mut near, mut far) = pair(&[Bounds::default()]).expect("memory");
    let finished = Arc::new(AtomicBool::new(false));
    let finish = Arc::clone(&finished);
    std::thread::spawn(move || {
        let mut value = Vec::with_capacity(128);
        let mut round = |rounds: u32| {
            for _ in 0..rounds {
                near.sender.try_put(A, &[1; 80]).expect("room");
                near.sender.try_put(A, &[2; 80]).expect("room");
                near.sender.try_put(Key::EVENT, &[3; 80]).expect("room");
                far.receiver.try_get(&mut value).expect("open").expect("the state");
                far.receiver.try_get(&mut value).expect("open").expect("the event");
            }
        };
        // Before the measurement, the tables grow to their final size.
        round(10_000);
        // From this call on, the kernel ends this thread at its first system call except reading and writing.
        set_secure_computing_mode(SecureComputingMode::Strict).expect("the kernel supports this mode");
        round(333_334);
        finish.store(true, Ordering::Release);
        // This sleep is the first forbidden system call. The kernel ends the thread here, before any value is dropped.
        std::thread::park();
    });
    let deadline = Instant::now() + Duration::from_secs(20);
    while !finished.load(Ordering::Acquire) {
        assert!(Instant::now() < deadline, "the thread was ended for a system call");
        std::thread::sleep(Duration::from_millis(1));
    }
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
