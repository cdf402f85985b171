use super::*;
use crate::client_sink::ClientSink;
use crate::closing::Closing;
use crate::config::JOINS_PER_STEP_MAX;
use crate::names::Name;
use crate::plain_sink::PlainSink;
use crate::room::Room;
use crate::send_queue::Outgoing;
use crate::studio::StudioRequest;
use crate::worlds::MakeWorld;
use nowcast_script::Assets;
use nowcast_world::{Definition, World};
use nowcast_world_protocol::plain::Encoding;
use parking_lot::Condvar;
use serde_json::json;

/// The rooms of a server whose worlds come from `make_world`.
fn rooms(make_world: fn() -> World) -> Arc<Rooms> {
    rooms_of(offering(Arc::new(move |_, _| make_world())), RoomsConfig::default())
}

fn rooms_of(catalogue: Catalogue, config: RoomsConfig) -> Arc<Rooms> {
    let metrics = Arc::new(Metrics::unregistered());
    Arc::new(Rooms::new(config, catalogue, Arc::default(), metrics, Vec::new(), Room::open))
}

/// A catalogue with one world whose rules are this program.
fn offering(make: MakeWorld) -> Catalogue {
    let mut catalogue = Catalogue::default();
    catalogue.offer_program("plaza", make).expect("the name is valid");
    catalogue
}

/// A catalogue with one world whose rules are this script.
fn offering_script(text: &str) -> Catalogue {
    let mut catalogue = Catalogue::default();
    let sources = nowcast_script::Sources::of_main(text);
    catalogue.offer_script("plaza", sources, Assets::default(), None).expect("the script loads");
    catalogue
}

/// A configuration with this limit for a step.
fn with_step(step: Duration) -> RoomsConfig {
    RoomsConfig { step, ..RoomsConfig::default() }
}

/// Whether a client was closed because a step of its room took too long.
fn is_closed_for_its_step(sink: &PlainSink) -> bool {
    matches!(sink.queue.take(), Some(Outgoing::Close(Closing::Refused(Refusal::Stopped { .. }))))
}

#[test]
fn a_room_whose_script_escapes_its_work_limit_is_ended_and_its_clients_are_closed() {
    let text = "local world = require('@nowcast/world')
        world.on('join', function()
            local a, b = ('x'):rep(4e6) .. 'a', ('x'):rep(4e6) .. 'b'
            while true do local _ = a < b end
        end)";
    let rooms = rooms_of(offering_script(text), with_step(Duration::from_millis(500)));
    let (_seat, sink) = enter(&rooms, "plaza");
    until("the end", || is_closed_for_its_step(&sink));
    until("the place in the list", || rooms.list(Audience::Operators).is_empty());
    assert!(rooms.troubles.describe().is_some_and(|text| text.contains("room plaza was ended")));
    assert_eq!(rooms.metrics.ended("stopped"), 1);
    assert_eq!(rooms.health(), Health::Good, "other rooms can be opened all the time");
}

#[test]
fn a_room_whose_step_cannot_be_stopped_is_abandoned_and_its_name_is_free_at_once() {
    static GATE: (Mutex<bool>, Condvar) = (Mutex::new(false), Condvar::new());
    static IS_FIRST: AtomicBool = AtomicBool::new(true);
    /// A behaviour whose step does not return before the gate is open.
    struct Stuck;
    impl nowcast_world::Behaviour for Stuck {
        fn step(&mut self, _scene: &mut nowcast_world::Scene) {
            GATE.1.wait_while(&mut GATE.0.lock(), |is_open| !*is_open);
        }
    }
    let make = || {
        let behaviour: Box<dyn nowcast_world::Behaviour> =
            if IS_FIRST.swap(false, Ordering::AcqRel) { Box::new(Stuck) } else { Box::new(()) };
        World::new(Definition::default(), 1, behaviour).expect("nothing is wrong with nothing")
    };
    let rooms = rooms_of(offering(Arc::new(move |_, _| make())), with_step(Duration::from_millis(500)));
    let (seat, sink) = enter(&rooms, "plaza");
    until("the end", || is_closed_for_its_step(&sink));
    until("the place in the list", || rooms.list(Audience::Operators).is_empty());
    assert!(rooms.troubles.describe().is_some_and(|text| text.contains("abandoned")));
    assert_eq!(rooms.metrics.rooms_abandoned.get(), 1);
    drop(seat);
    let (_seat, sink) = enter(&rooms, "plaza");
    until("the welcome", || sink.queue.take().is_some());
    *GATE.0.lock() = true;
    GATE.1.notify_all();
    until("the end of its thread", || rooms.metrics.rooms_abandoned.get() == 0);
    assert_eq!(rooms.list(Audience::Operators).len(), 1, "the newer room of its name is not changed");
    assert_eq!(rooms.metrics.ended("abandoned"), 1);
}

#[test]
fn clients_that_enter_together_join_in_several_steps() {
    static GATE: (Mutex<bool>, Condvar) = (Mutex::new(false), Condvar::new());
    /// The number of players after the joins of each step.
    static PLAYERS: Mutex<Vec<usize>> = Mutex::new(Vec::new());
    /// A behaviour whose first step does not return before the gate is open.
    struct Counting;
    impl nowcast_world::Behaviour for Counting {
        fn step(&mut self, scene: &mut nowcast_world::Scene) {
            GATE.1.wait_while(&mut GATE.0.lock(), |is_open| !*is_open);
            PLAYERS.lock().push(scene.players().count());
        }
    }
    let make = || World::new(Definition::default(), 1, Box::new(Counting)).expect("the definition is valid");
    let rooms = rooms_of(offering(Arc::new(move |_, _| make())), with_step(Duration::from_secs(3_600)));
    let all = 3 * JOINS_PER_STEP_MAX;
    let clients: Vec<_> = (0..all).map(|_| enter(&rooms, "plaza")).collect();
    *GATE.0.lock() = true;
    GATE.1.notify_all();
    until("all joins", || PLAYERS.lock().last() == Some(&all));
    let players = PLAYERS.lock().clone();
    let before = [0].into_iter().chain(players.iter().copied());
    assert!(before.zip(&players).all(|(before, now)| now - before <= JOINS_PER_STEP_MAX), "{players:?}");
    drop(clients);
}

#[test]
fn a_room_in_a_long_step_ends_soon_when_the_server_does() {
    let text = "local world = require('@nowcast/world')
        world.on('join', function()
            local a, b = ('x'):rep(4e6) .. 'a', ('x'):rep(4e6) .. 'b'
            while true do local _ = a < b end
        end)";
    let rooms = rooms_of(offering_script(text), with_step(Duration::from_secs(3_600)));
    let (_seat, _player) = enter(&rooms, "plaza");
    rooms.stop();
    until("the end of the room", || rooms.is_empty());
}

const NOBODY: Opener = Opener { address: None, is_local: true, is_program: false };

fn empty_world() -> World {
    World::new(Definition::default(), 1, Box::new(())).expect("nothing is wrong with nothing")
}

/// The seat of a client, and its handle, which exists as long as the client's task.
type Seated = (Seat, Arc<ClientHandle>);

fn enter(rooms: &Arc<Rooms>, room: &str) -> (Seated, Arc<PlainSink>) {
    let seat = rooms.reserve(room, NOBODY).expect("the room has space");
    let sink = Arc::new(PlainSink::new(Encoding::Json, Arc::clone(&rooms.metrics)));
    let client = ada(Arc::<PlainSink>::clone(&sink));
    seat.enter(Arc::clone(&client));
    ((seat, client), sink)
}

fn ada(sink: Arc<dyn ClientSink>) -> Arc<ClientHandle> {
    Arc::new(ClientHandle::new(Name::Asked("Ada".into()), sink, 60, false, false))
}

/// Waits until another thread makes a condition true.
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !holds() {
        assert!(Instant::now() < deadline, "{what} did not happen");
        std::thread::yield_now();
    }
}

fn is_closed(sink: &PlainSink) -> bool {
    matches!(sink.queue.take(), Some(Outgoing::Close(Closing::RoomGone)))
}

#[test]
fn a_room_whose_thread_panics_is_removed_and_its_clients_are_closed() {
    static MUST_PANIC: AtomicBool = AtomicBool::new(false);
    /// A behaviour that panics once, when the test says so.
    struct Panicking;
    impl nowcast_world::Behaviour for Panicking {
        fn step(&mut self, _scene: &mut nowcast_world::Scene) {
            assert!(!MUST_PANIC.swap(false, Ordering::AcqRel), "the test makes this step panic");
        }
    }
    let rooms = rooms(|| {
        World::new(Definition::default(), 1, Box::new(Panicking)).expect("nothing is wrong with nothing")
    });
    let (seat, sink) = enter(&rooms, "plaza");
    until("the welcome", || sink.queue.take().is_some());
    MUST_PANIC.store(true, Ordering::Release);
    until("the end", || is_closed(&sink));
    until("the place in the list", || rooms.list(Audience::Operators).is_empty());
    assert_eq!(rooms.metrics.ended("panicked"), 1);
    assert_eq!(rooms.metrics.clients.get(), 0);
    drop(seat);
    let (_seat, sink) = enter(&rooms, "plaza");
    until("the welcome", || sink.queue.take().is_some());
    assert_eq!(rooms.health(), Health::Good, "other rooms can be opened all the time");
}

#[test]
fn one_address_cannot_take_all_seats_of_a_room() {
    let rooms = rooms(empty_world);
    let limit = rooms.config.players_per_address_max;
    let [greedy, other] = [1, 2].map(|last| opener([203, 0, 113, last]));
    let mut seats: Vec<Seat> = (0..limit).map(|_| rooms.reserve("plaza", greedy).expect("a seat")).collect();
    assert!(matches!(rooms.reserve("plaza", greedy), Err(Refusal::FullOfAddress { .. })));
    seats.push(rooms.reserve("plaza", other).expect("another address has its own seats"));
    // All clients of this server are on this machine.
    let local = opener([127, 0, 0, 1]);
    seats.extend((0..=limit).map(|_| rooms.reserve("plaza", local).expect("loopback is not limited")));
    seats.remove(0);
    seats.push(rooms.reserve("plaza", greedy).expect("a released seat is free"));
}

fn opener(address: [u8; 4]) -> Opener {
    Opener { address: Some(address.into()), is_local: address[0] == 127, is_program: false }
}

const STRANGER: [u8; 4] = [203, 0, 113, 7];

fn reserve(rooms: &Arc<Rooms>, room: &str, address: [u8; 4]) -> Result<Seat, Refusal> {
    rooms.reserve(room, opener(address))
}

#[test]
fn a_local_client_may_open_all_rooms_if_no_tokens_are_needed() {
    let rooms = rooms(empty_world);
    let RoomsConfig { rooms_max, rooms_per_address_max, .. } = rooms.config;
    let names: Vec<String> = (0..rooms_max).map(|number| format!("room-{number}")).collect();
    let seats: Vec<_> = names.iter().map(|name| reserve(&rooms, name, [127, 0, 0, 1]).ok()).collect();
    assert!(seats.iter().all(Option::is_some));
    drop(seats);
    until("the empty rooms", || rooms.open.lock().values().all(|room| room.empty_since().is_some()));
    let strangers: Vec<_> = (0..rooms_per_address_max + 1)
        .map(|number| reserve(&rooms, &format!("far-{number}"), STRANGER))
        .collect();
    let refused = strangers.last().and_then(|last| last.as_ref().err()).map(ToString::to_string);
    assert_eq!(
        refused.as_deref(),
        Some("room limit reached: this address already has 4 open rooms (limit 4)")
    );
}

#[test]
fn an_empty_room_ends_at_once_for_another_room_of_its_address() {
    let rooms = rooms(empty_world);
    for number in 0..12 {
        let room = format!("room-{number}");
        drop(reserve(&rooms, &room, STRANGER).expect("the rooms before it are empty"));
        let is_empty = || rooms.open.lock().get(&room).is_none_or(|open| open.empty_since().is_some());
        until("the empty room", is_empty);
    }
    until("the end of the rooms that gave way", || rooms.list(Audience::Operators).len() <= 4);
    let refused = (0..20).find_map(|number| reserve(&rooms, &format!("more-{number}"), STRANGER).err());
    assert!(refused.is_some(), "an address does not open rooms without an end");
}

#[test]
fn a_room_that_cannot_be_created_closes_waiting_clients_and_shows_in_healthz() {
    let rooms = rooms(|| panic!("no world today"));
    for room in ["one", "two"] {
        let (_seat, sink) = enter(&rooms, room);
        until("the end", || is_closed(&sink));
    }
    until("the places in the list", || rooms.list(Audience::Operators).is_empty());
    assert!(matches!(rooms.health(), Health::Failing(_)));
    rooms.troubles.opened();
    assert_eq!(rooms.health(), Health::Good);
}

#[test]
fn answers_about_the_state_and_an_entity_name_the_newest_writers() {
    let text = "local world = require('@nowcast/world')
        local Lamp = world.kind('lamp', { attributes = { light = 'u32' } })
        world.state { wave = 0 }
        world.on('start', function()
            Lamp:spawn { at = vector.zero }
            world.every(0.05, 'wave')
        end)
        world.timer('wave', function()
            world.state.wave += 1
            Lamp:all()[1].light = world.state.wave
        end)";
    let rooms = rooms_of(offering_script(text), RoomsConfig::default());
    let _client = enter(&rooms, "plaza");
    let studio = rooms.studio("plaza").expect("the room is open");
    let ask = |request| {
        let answer = studio.ask(request).expect("the room has space").blocking_recv();
        answer.expect("the room answers").expect("the request is valid")
    };
    let mut writers = serde_json::Value::Null;
    until("the writer of the state", || {
        let answer = ask(StudioRequest::State);
        writers = answer["writers"].clone();
        assert!(writers.is_object(), "{answer}");
        writers["wave"].is_object()
    });
    let tick = writers["wave"]["tick"].clone();
    let named = |line| json!({ "tick": tick, "hook": "timer", "name": "wave", "player": null, "file": "world.luau", "line": line });
    assert_eq!(writers, json!({ "wave": named(8) }), "the function begins there");
    until("the writer of the attribute", || {
        let mut writers = ask(StudioRequest::Entity(1))["writers"].clone();
        assert!(writers["attributes"].is_object() && writers["private"].is_null(), "{writers}");
        let mut light = writers["attributes"]["light"].take();
        light["tick"] = tick.clone();
        light == named(10)
    });
}
