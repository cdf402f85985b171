//! Channels over a local socket: misbehaving peers, and guarantees at the end of a channel.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use nowcast_queue::{Bounds, Key, Refusal};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex};
use tokio::runtime::{Builder, Runtime};

use super::ends::Queues;
use super::frame::{self, Hello, Receipt};
use super::{WINDOW_ENTRIES, pump};

const SMALL: Bounds = Bounds { entries_max: 4, bytes_max: 1_000 };
const A: Key = Key::state(1);
/// Number of bytes that a socket holds for a peer that does not read.
const SOCKET_BYTES: usize = 64 * 1_024;

/// The runtime that moves the frames of all tests.
fn runtime() -> &'static Runtime {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    RUNTIME
        .get_or_init(|| Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a thread"))
}

fn soon() -> Option<Instant> {
    Some(Instant::now() + Duration::from_secs(20))
}

/// Both sides of a channel.
fn pair(bounds: Bounds) -> (Queues, Queues) {
    let (near, far) = duplex(SOCKET_BYTES);
    let bounds = [bounds];
    runtime().block_on(async {
        let (near, far) = tokio::join!(pump::greet(near, &bounds), pump::answer(far, &bounds));
        (near.expect("in order"), far.expect("in order"))
    })
}

/// One side of a channel, and a raw stream as its peer.
fn beside_a_stranger(bounds: Bounds) -> (Queues, DuplexStream) {
    let (near, mut far) = duplex(SOCKET_BYTES);
    runtime().block_on(async {
        far.write_all(&Hello { pid: 1, bounds: vec![bounds] }.write()).await.expect("there is room");
        let near = pump::greet(near, &[bounds]).await.expect("in order");
        Hello::read(&mut far).await.expect("in order");
        (near, far)
    })
}

fn say(peer: &mut DuplexStream, bytes: &[u8]) {
    runtime().block_on(peer.write_all(bytes)).expect("there is room");
}

/// Returns the refusal that ends a channel if its peer sends these bytes.
fn end_of(said: &[u8]) -> Refusal {
    let (mut near, mut far) = beside_a_stranger(SMALL);
    say(&mut far, said);
    let mut value = Vec::new();
    loop {
        if let Err(refusal) = near.receiver.get_any(&mut value, soon()) {
            return refusal;
        }
    }
}

#[test]
fn if_a_peer_breaks_the_protocol_the_error_names_the_fault() {
    let message = |lane: usize, bytes: usize| {
        let mut said = Vec::new();
        frame::write_message(lane, Key::EVENT, &vec![0; bytes], &mut said);
        said
    };
    let wrong = |said: &[u8]| match end_of(said) {
        Refusal::Corrupt(what) => what,
        other => panic!("{other:?}"),
    };
    assert_eq!(wrong(&[99]), "a frame of an unknown kind");
    assert_eq!(wrong(&message(1, 0)), "a message on a lane that does not exist");
    assert_eq!(wrong(&message(0, 1_001)), "a message larger than its lane");
    let many = message(0, 1).repeat(SMALL.entries_max + WINDOW_ENTRIES + 1);
    let (near, mut far) = beside_a_stranger(SMALL);
    say(&mut far, &many);
    assert_eq!(end_by_writing(near), Refusal::Corrupt("more messages than its bounds allow"));
    let mut receipt = Vec::new();
    frame::write_receipt(0, Receipt { delivered: 1, replaced: 0, bytes: 0 }, &mut receipt);
    assert_eq!(wrong(&receipt), "a receipt for a message that was not sent");
}

/// Returns the reason why nothing can be put any more, on a channel that nobody reads.
fn end_by_writing(mut queues: Queues) -> Refusal {
    let deadline = soon();
    loop {
        if let Err(refusal) = queues.sender.put_on(0, Key::EVENT, b"on", deadline) {
            return refusal;
        }
    }
}

#[test]
fn a_greeting_of_another_protocol_is_refused() {
    let greet_with = |hello: Vec<u8>| {
        let (near, mut far) = duplex(SOCKET_BYTES);
        runtime().block_on(async move {
            far.write_all(&hello).await.expect("there is room");
            drop(far);
            pump::answer(near, &[SMALL]).await.map(drop).expect_err("the greeting is invalid").to_string()
        })
    };
    let hello = Hello { pid: 1, bounds: vec![SMALL] }.write();
    assert!(greet_with(b"GET / HTTP/1.1\r\n\r\n".to_vec()).contains("not one of Nowcast"));
    let mut newer = hello.clone();
    newer[8] = 2;
    assert!(greet_with(newer).contains("speaks version 2"));
    assert!(greet_with(hello[..20].to_vec()).contains("the peer closed the connection"));
    let no_room = Hello { pid: 1, bounds: vec![Bounds { entries_max: 0, bytes_max: 1 }] };
    assert!(greet_with(no_room.write()).contains("exceed the capacity of a channel"));
    let lanes = Hello { pid: 1, bounds: vec![SMALL; 9] };
    assert!(greet_with(lanes.write()).contains("exceed the capacity of a channel"));
}

#[test]
fn messages_that_arrived_before_a_death_are_received_before_it_is_reported() {
    let (mut near, mut far) = beside_a_stranger(SMALL);
    let mut said = Vec::new();
    frame::write_message(0, Key::EVENT, b"last", &mut said);
    say(&mut far, &said);
    drop(far);
    let mut value = Vec::new();
    assert_eq!(near.receiver.get_any(&mut value, soon()), Ok((0, Key::EVENT)));
    assert_eq!(value, b"last");
    assert_eq!(near.receiver.get_any(&mut value, soon()), Err(Refusal::PeerDied));
    assert_eq!(end_by_writing(near), Refusal::PeerDied);
}

#[test]
fn dropping_the_sender_delivers_its_messages_to_a_peer_that_reads_later() {
    let (near, mut far) = pair(Bounds { entries_max: 1_000, bytes_max: 100_000 });
    let Queues { mut sender, receiver } = near;
    for number in 0..1_000_u32 {
        sender.try_put_on(0, Key::EVENT, &number.to_le_bytes()).expect("room");
    }
    drop((sender, receiver));
    let mut value = Vec::new();
    for number in 0..1_000_u32 {
        assert_eq!(far.receiver.get_any(&mut value, soon()), Ok((0, Key::EVENT)));
        assert_eq!(value, number.to_le_bytes());
    }
    assert_eq!(far.receiver.get_any(&mut value, soon()), Err(Refusal::Closed));
    assert_eq!(end_by_writing(far), Refusal::Closed);
}

#[test]
fn a_slow_reader_gets_the_newest_values_and_events_wait_at_the_sender() {
    let (mut near, mut far) = pair(SMALL);
    for number in 0..10_000_u32 {
        near.sender.put_on(0, A, &number.to_le_bytes(), soon()).expect("a state always has room");
    }
    let (mut value, mut count) = (Vec::new(), 0);
    while value != 9_999_u32.to_le_bytes() {
        far.receiver.get_any(&mut value, soon()).expect("the newest comes");
        count += 1;
    }
    assert!(count <= WINDOW_ENTRIES, "{count} old values came first");
    let mut events = 0;
    while near.sender.try_put_on(0, Key::EVENT, b"event").is_ok() {
        events += 1;
        assert!(events <= WINDOW_ENTRIES + SMALL.entries_max, "more wait than fit");
    }
    for _ in 0..events {
        assert_eq!(far.receiver.get_any(&mut value, soon()), Ok((0, Key::EVENT)));
    }
    let counted = near.sender.counters();
    assert_eq!(counted.queued + counted.replaced, 10_000 + events as u64, "{counted:?}");
}

#[test]
fn a_peer_that_disconnects_within_a_message_delivers_nothing_of_it() {
    let (mut near, mut far) = beside_a_stranger(SMALL);
    let mut said = Vec::new();
    frame::write_message(0, A, b"a whole value", &mut said);
    say(&mut far, &said[..said.len() - 1]);
    // The peer reads everything until the end. A killed process would not read, so this case is harder.
    runtime().block_on(async {
        far.shutdown().await.expect("the socket is open");
        assert_eq!(far.read_u8().await.ok(), None);
    });
    assert_eq!(near.receiver.get_any(&mut Vec::new(), soon()), Err(Refusal::PeerDied));
}
