//! Messages of one client on a session, on any lane and key: they pass the intake, and a room's thread carries them out in a world.
//! A client that the intake removes is followed by another.
#![no_main]

use std::sync::{Arc, LazyLock, Mutex};
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

use libfuzzer_sys::fuzz_target;
use nowcast_queue::Key;
use nowcast_room::plain::PlainSink;
use nowcast_room::session::SessionIntake;
use nowcast_room::{
    ACTIONS_HZ, Catalogue, ClientHandle, Metrics, Name, Opener, PersistenceThread, Rates, Rooms, RoomsConfig,
    Seat, open_rooms,
};
use nowcast_world::{
    Action, Behaviour, Body, ColliderShape, Definition, Kind, Motion, OwnedBy, OwnerRules, PlayerId, Scene,
    Spawn, Walker, World,
};
use nowcast_world_protocol::plain::Encoding;
use nowcast_world_protocol::session::ClientMessage;

/// Each player gets a body, and may own, spawn and move crates.
struct Park;

impl Behaviour for Park {
    fn join(&mut self, scene: &mut Scene, player: PlayerId) {
        let person = scene.kind("person").expect("the definition has it");
        scene.spawn_avatar(player, person, Spawn::at([0.0, 0.9, 0.0])).expect("there is space");
    }
}

/// The rooms of the process, and the client whose messages are fuzzed.
struct Stage {
    rooms: Arc<Rooms>,
    metrics: Arc<Metrics>,
    client: Mutex<Option<Client>>,
}

struct Client {
    intake: SessionIntake,
    handle: Arc<ClientHandle>,
    _seat: Seat,
}

static STAGE: LazyLock<Stage> = LazyLock::new(Stage::open);

fuzz_target!(|data: &[u8]| STAGE.play(data));

impl Stage {
    fn open() -> Stage {
        let mut catalogue = Catalogue::default();
        let world = |seed, _players_max| World::new(definition(), seed, Box::new(Park)).expect("it is valid");
        catalogue.offer_program("park", Arc::new(world)).expect("the name is free");
        let metrics = Arc::new(Metrics::new(&mut prometheus_client::registry::Registry::default()));
        let persistence = Arc::new(PersistenceThread::open(None).expect("nothing is stored"));
        let rooms =
            open_rooms(RoomsConfig::default(), catalogue, persistence, Arc::clone(&metrics), Vec::new());
        Stage { rooms, metrics, client: Mutex::new(None) }
    }

    /// Passes messages to the intake: each begins with its lane, a byte that selects a key, and its length.
    fn play(&self, mut data: &[u8]) {
        let mut current = self.client.lock().expect("no run panicked");
        let client = current.get_or_insert_with(|| self.enter());
        // Each run has the allowances of a client that just came, so that rates do not hide the messages.
        let mut rates = Rates::new(ACTIONS_HZ, Instant::now());
        let mut silence = Duration::ZERO;
        while let Some(([lane, choice, length], rest)) = data.split_first_chunk() {
            let (bytes, rest) = rest.split_at(rest.len().min(usize::from(*length)));
            data = rest;
            let key = match choice {
                0..=0x7f => None,
                0x80..=0x8f => Some(Key::state(1 + u64::from(choice & 0xf))),
                _ => Some(Key::state((1 << 32) + u64::from(choice & 0xf))),
            };
            silence += Duration::from_millis(u64::from(*choice));
            client.intake.check_input_timeout(silence, None, choice & 1 == 1);
            let Ok(message) = ClientMessage::read(*lane % 3, key, bytes) else { continue };
            // As in a server, a message waits until the room has taken enough of the earlier ones.
            while client.handle.poll_commands_fit(&mut Context::from_waker(Waker::noop())).is_pending() {
                std::thread::yield_now();
            }
            if client.intake.receive(message, Some(silence), &mut rates).is_err() {
                client.handle.leave();
                *current = None;
                return;
            }
        }
    }

    fn enter(&self) -> Client {
        let opener = Opener { address: None, is_local: true, is_program: false };
        let seat = loop {
            match self.rooms.reserve("park", opener) {
                Ok(seat) => break seat,
                // The room's thread has not yet removed enough of the clients that left.
                Err(_) => std::thread::yield_now(),
            }
        };
        let sink = Arc::new(PlainSink::new(Encoding::Json, Arc::clone(&self.metrics)));
        let handle = Arc::new(ClientHandle::new(Name::Asked("Ada".to_owned()), sink, 10, false, false));
        seat.enter(Arc::clone(&handle));
        let intake = SessionIntake::new(Arc::clone(&handle), Arc::clone(&self.metrics));
        Client { intake, handle, _seat: seat }
    }
}

fn definition() -> Definition {
    let body = Body::new(Motion::Dynamic, ColliderShape::cube(0.5));
    let owner = OwnerRules { by: Some(OwnedBy::Anyone), spawns_max: 8, ..OwnerRules::default() };
    let crates = Kind { owner, ..Kind::new("crate").with_body(body) };
    Definition {
        kinds: vec![Kind::walker("person", Walker::default()), crates],
        actions: vec![Action::new("wave", "times: u8").expect("the shape is valid")],
        ..Definition::default()
    }
}
