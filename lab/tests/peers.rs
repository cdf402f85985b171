//! Checks that every peer of the measurements carries events and states in both directions.

use std::collections::BTreeSet;
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use nowcast_lab::peers::{self, End, Message, Peer, PeerError};
use tokio::time::Instant;

const EVENTS: u8 = 20;
const KEYS: std::ops::RangeInclusive<u16> = 1..=30;
const TICK: Duration = Duration::from_millis(20);
const PATIENCE: Duration = Duration::from_secs(30);

#[test]
fn every_peer_carries_events_and_states_in_both_directions() {
    for peer in Peer::ALL {
        there_and_back(peer);
    }
}

fn there_and_back(peer: Peer) {
    let address = free_address();
    let is_over = AtomicBool::new(false);
    let (listening, is_listening) = mpsc::channel();
    thread::scope(|scope| {
        let far = scope.spawn(|| run(answer(peer, address, &is_over, &mut || listening.send(()).unwrap())));
        is_listening.recv_timeout(PATIENCE).unwrap_or_else(|error| panic!("{}: {error}", peer.name()));
        let asked = run(ask(peer, address));
        is_over.store(true, Ordering::Relaxed);
        let answered = far.join().unwrap();
        asked.unwrap_or_else(|error| panic!("{}: {error}", peer.name()));
        answered.unwrap_or_else(|error| panic!("{}, the far end: {error}", peer.name()));
    });
}

/// Returns a port that was free for TCP a moment ago.
fn free_address() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

/// Runs `work` in the same way as the programs on hosts.
fn run<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

/// Sends the event once, and the states in every tick, as a program does. Some peers lose states.
async fn ask(peer: Peer, address: SocketAddr) -> Result<(), PeerError> {
    let mut connection = peers::open(peer, End::Near, address, &mut || {}).await?;
    let (mut events, mut keys) = (Vec::new(), BTreeSet::new());
    for number in 0..EVENTS {
        connection.put(0, &[number; 32])?;
    }
    let deadline = Instant::now() + PATIENCE;
    let mut inbox = Vec::new();
    while events.len() < usize::from(EVENTS) || keys.len() < KEYS.count() {
        assert!(Instant::now() < deadline, "{}: events {events:?}, keys {keys:?}", peer.name());
        if connection.is_ready() {
            for key in KEYS {
                connection.put(key, &key.to_le_bytes().repeat(32))?;
            }
            connection.flush()?;
        }
        let tick = Instant::now() + TICK;
        while Instant::now() < tick {
            connection.work(tick, usize::MAX, &mut inbox).await?;
        }
        for Message { key, bytes } in inbox.drain(..) {
            if key == 0 {
                assert_eq!(bytes, [bytes[0]; 32]);
                events.push(bytes[0]);
            } else {
                assert_eq!(bytes, key.to_le_bytes().repeat(32));
                keys.insert(key);
            }
        }
    }
    if peer == Peer::QuicStreams {
        // This peer has no order.
        events.sort_unstable();
    }
    assert!(events.iter().copied().eq(0..EVENTS), "{}: {events:?}", peer.name());
    Ok(())
}

/// Sends every arriving message back until the end.
async fn answer(
    peer: Peer,
    address: SocketAddr,
    is_over: &AtomicBool,
    listening: &mut dyn FnMut(),
) -> Result<(), PeerError> {
    let mut connection = peers::open(peer, End::Far, address, listening).await?;
    let mut inbox = Vec::new();
    while !is_over.load(Ordering::Relaxed) {
        match connection.work(Instant::now() + TICK, usize::MAX, &mut inbox).await {
            Ok(()) => {}
            Err(PeerError::Closed) => break,
            Err(error) => return Err(error),
        }
        for message in inbox.drain(..) {
            connection.put(message.key, &message.bytes)?;
        }
        connection.flush()?;
    }
    Ok(())
}
