//! Counts the allocations of an I/O thread for each packet, in a steady state.
//!
//! A client sends a state, the service answers with a state, and the client waits for the answer. So each exchange is a packet in
//! each direction. Only the server's I/O thread is counted: sockets, QUIC, the session, its driver, and the service's own code.
#![expect(unsafe_code, reason = "a global allocator is unsafe to implement")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::path::Path;
use std::time::Duration;

use nowcast::{CarrierKind, Channel, Connector, MessageKind};
use nowcast_server::{Config, Rules, Server, ServiceConfig, WorldConfig};
use tokio::time::timeout;

/// Maximum wait for an answer, on a machine that is busy with other work.
const PATIENCE: Duration = Duration::from_secs(30);
/// Exchanges before the count begins. Lists and maps then have their final sizes.
const WARM_UP: u32 = 300;
const EXCHANGES: u32 = 1_000;
const NAME: &str = "steady";

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

/// The system's allocator, which counts the allocations of each thread.
struct Counting;

fn count() {
    // At the end of a thread there is no counter.
    _ = ALLOCATIONS.try_with(|allocations| allocations.set(allocations.get() + 1));
}

// SAFETY: every call is passed on to the system's allocator with the same arguments.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the contract of this function, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        count();
        // SAFETY: as above.
        unsafe { System.realloc(memory, layout, bytes) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Answers each state with a state, and an event with the number of this thread's allocations.
async fn answer(channel: Channel) {
    let mut bytes = Vec::new();
    while let Ok(received) = channel.receive_into(&mut bytes).await {
        let answered = match received.kind {
            MessageKind::Event => channel.try_event(&ALLOCATIONS.get().to_le_bytes()),
            _ => channel.try_state(1, &bytes),
        };
        answered.expect("the lane has space");
    }
}

async fn next(channel: &Channel, bytes: &mut Vec<u8>) -> MessageKind {
    let received = timeout(PATIENCE, channel.receive_into(bytes)).await;
    received.expect("an answer arrives").expect("the session continues").kind
}

async fn exchange(channel: &Channel, times: u32, bytes: &mut Vec<u8>) {
    for number in 0..times {
        channel.try_state(1, &[number as u8; 600]).expect("the lane has space");
        next(channel, bytes).await;
    }
}

async fn allocations(channel: &Channel, bytes: &mut Vec<u8>) -> u64 {
    channel.try_event(b"count").expect("the lane has space");
    assert_eq!(next(channel, bytes).await, MessageKind::Event);
    u64::from_le_bytes(bytes[..].try_into().expect("the answer is a number"))
}

/// Returns the allocations of the I/O thread for each exchange.
async fn allocations_per_exchange(carrier: CarrierKind) -> f64 {
    let world = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../worlds/minimal");
    let service = ServiceConfig::new(NAME, |channel| async move {
        channel.clone().spawn(answer(channel));
    });
    let config = Config {
        worlds: vec![WorldConfig { name: "minimal".to_owned(), rules: Rules::Folder(world) }],
        services: vec![service],
        hosts: vec![[127, 0, 0, 1].into()],
        port: 0,
        ..Config::default()
    };
    let server = Server::bind(config).await.expect("a port is free");
    let handle = server.handle();
    let running = tokio::spawn(server.run(std::future::pending()));
    let url = format!("nowcast://{}/{NAME}", handle.addresses()[0]);
    let channel = Connector::new().carriers([carrier]).connect(&url).await.expect("the service is open");
    let mut bytes = Vec::new();
    exchange(&channel, WARM_UP, &mut bytes).await;
    let before = allocations(&channel, &mut bytes).await;
    exchange(&channel, EXCHANGES, &mut bytes).await;
    let after = allocations(&channel, &mut bytes).await;
    drop(channel);
    handle.shutdown();
    running.await.expect("the server does not panic");
    (after - before) as f64 / f64::from(EXCHANGES)
}

#[tokio::test]
async fn a_packet_allocates_only_in_the_libraries_below_sessions() {
    // Below WebSockets there are none. QUIC's state machine keeps trees and lists of packets.
    for (carrier, allocations_max) in [(CarrierKind::WebSocket, 0.1), (CarrierKind::WebTransport, 4.5)] {
        let allocations = allocations_per_exchange(carrier).await;
        println!("{carrier}: {allocations} allocations for a packet each way");
        assert!(allocations <= allocations_max, "{carrier}: {allocations}");
    }
}
