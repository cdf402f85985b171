use std::sync::Mutex;
use std::sync::mpsc::{Receiver, channel};
use std::task::Context;
use std::time::Duration;

use nowcast_engine::session::{PacketOutcome, Source};
use nowcast_engine::{Application, DrivenSession};
use nowcast_room::plain::{Outgoing, PlainSink};
use nowcast_room::{
    Catalogue, ClientHandle, Name, Opener, PersistenceThread, Rooms, RoomsConfig, Seat, open_rooms,
};
use nowcast_world::Definition;
use nowcast_world_protocol::plain::Encoding;

use super::*;
use crate::metrics::Metrics as ServerMetrics;

/// The seat of a client, and its handle, which exists as long as the client.
type Seated = (Seat, Arc<ClientHandle>);

/// Blocks the driver in its next turn while the other end of the channel exists.
type Hold = Arc<Mutex<Option<Receiver<()>>>>;

/// The replication of a client whose driver can be delayed.
struct Delayed {
    replicator: ClientReplicator,
    hold: Hold,
}

impl Application for Delayed {
    fn turn(&mut self, session: &mut DrivenSession, context: &mut Context<'_>) {
        let hold = self.hold.lock().unwrap().take();
        if let Some(until) = hold {
            // The wait ends with an error, because nothing is ever sent.
            let _ = until.recv();
        }
        if session.is_open() {
            let closing = self.replicator.turn(session, context.waker());
            assert!(matches!(closing, Ok(None)), "the client stays");
        }
    }
}

impl Source for Delayed {
    fn has_more(&self, lane: u8) -> bool {
        self.replicator.has_more(lane)
    }

    fn fill(&mut self, lane: u8, number: u64, room: usize, packet: &mut Vec<u8>) {
        self.replicator.fill(lane, number, room, packet);
    }

    fn on_outcome(&mut self, outcome: PacketOutcome) {
        self.replicator.on_outcome(outcome);
    }
}

fn enter(rooms: &Arc<Rooms>, sink: Arc<dyn ClientSink>) -> Seated {
    let opener = Opener { address: None, is_local: true, is_program: false };
    let seat = rooms.reserve("plaza", opener).expect("the room has space");
    let client = Arc::new(ClientHandle::new(Name::Asked("Ada".into()), sink, 60, false, false));
    seat.enter(Arc::clone(&client));
    (seat, client)
}

/// Returns the number of snapshots that a client of the plain protocol received since the last call.
fn take_snapshots(sink: &PlainSink) -> usize {
    std::iter::from_fn(|| sink.queue.take()).filter(|next| matches!(next, Outgoing::Snapshot(_))).count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stuck_driver_delays_no_tick() {
    let mut listening = nowcast::ListenConfig::loopback(0);
    listening.accept.session = crate::session::session_config(Duration::from_secs(20), 1 << 20);
    let listener = nowcast::Listener::bind(listening).await.unwrap();
    let metrics = ServerMetrics::new(None).rooms;
    let (sink, replicator) = SessionSink::new(60, &metrics, 1 << 20);
    let sink = Arc::new(sink);
    let hold = Hold::default();
    let delayed = Mutex::new(Some(Delayed { replicator, hold: Arc::clone(&hold) }));
    let take = move |_: nowcast::Entry| {
        let delayed = delayed.lock().unwrap().take();
        Box::new(delayed.expect("one client connects")) as Box<dyn Application>
    };
    listener.serve("plaza", take).unwrap();
    let url = format!("nowcast://127.0.0.1:{}/plaza", listener.port());
    let theirs = nowcast::connect(&url).await.unwrap();

    let mut catalogue = Catalogue::default();
    let make =
        |_, _| World::new(Definition::default(), 1, Box::new(())).expect("nothing is wrong with nothing");
    catalogue.offer_program("plaza", Arc::new(make)).expect("the name is valid");
    let persistence = Arc::new(PersistenceThread::default());
    let rooms = open_rooms(RoomsConfig::default(), catalogue, persistence, Arc::clone(&metrics), Vec::new());
    let other = Arc::new(PlainSink::new(Encoding::Json, Arc::clone(&metrics)));
    let _other = enter(&rooms, Arc::<PlainSink>::clone(&other));

    let (_seat, client) = enter(&rooms, Arc::<SessionSink>::clone(&sink));
    theirs.receive().await.expect("the client is welcomed");

    let (held, until) = channel();
    *hold.lock().unwrap() = Some(until);
    sink.sender.wake();
    take_snapshots(&other);
    client.notice("sent while the driver is stuck");
    let mut snapshots = 0;
    let deadline = Instant::now() + Duration::from_secs(30);
    while snapshots < 60 {
        assert!(Instant::now() < deadline, "the room stopped after {snapshots} snapshots");
        snapshots += take_snapshots(&other);
        std::thread::yield_now();
    }
    assert!(hold.lock().unwrap().is_none(), "the driver was held up");
    drop::<std::sync::mpsc::Sender<()>>(held);
    loop {
        let message = theirs.receive().await.expect("the session continues");
        if message.bytes.windows(9).any(|bytes| bytes == b"driver is") {
            break;
        }
    }
}
