//! Servers of a cluster, and the rooms that they own.

use std::sync::Arc;
use std::time::{Duration, Instant};

use nowcast_cluster::{
    Config, ControlRequest, Epoch, Event, Load, Name, Record as _, Release, RoomLease, ServerEntry, ServerId,
    ServerPhase, TakeError,
};
use nowcast_jetstream::{
    Bucket, ClusterError, Directory, Host, Link, LinkOptions, Member, StoreOptions, send,
};

use super::{PATIENCE, Servers, block_on, own_name, shared};

const LEASE: Duration = Duration::from_millis(1_500);

fn join(address: &str, options: &LinkOptions, name: &str) -> Member {
    try_join(address, options, name).expect("no other server has the name")
}

fn try_join(address: &str, options: &LinkOptions, name: &str) -> Result<Member, ClusterError> {
    let config = Config {
        client_address: format!("http://{name}.example:7777").into(),
        requires: [("attic-gpu".to_owned(), Name::new("gpu").expect("the name is valid"))].into(),
        lease: LEASE,
        ..Config::new(Name::new(name).expect("the name is valid"))
    };
    block_on(async {
        let link = Link::connect(address, options.clone()).await.expect("the servers answer");
        Member::join(&link, config, StoreOptions::default()).await
    })
}

/// Waits until a condition holds.
fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < PATIENCE, "{what}");
        std::thread::yield_now();
    }
}

#[test]
fn a_room_has_one_owner_and_the_next_owner_has_a_later_epoch() {
    let address = shared();
    let options = own_name();
    let (north, south) = (join(&address, &options, "north"), join(&address, &options, "south"));
    assert_eq!(north.take("plaza").unwrap(), Epoch(1));
    assert_eq!((north.lease("plaza"), south.lease("plaza")), (RoomLease::Held, RoomLease::Lost));
    let refused = south.take("plaza").unwrap_err();
    assert!(matches!(refused, TakeError::Elsewhere(owner) if owner == north.id()), "{refused}");
    let refused = north.take("attic-gpu").unwrap_err();
    assert!(matches!(&refused, TakeError::Tags(lacking) if lacking[0].as_str() == "gpu"), "{refused}");
    wait_until("the second server sends clients to the owner", || {
        block_on(south.locate("plaza")).as_deref() == Some("http://north.example:7777")
    });
    wait_until("the first server sees the second one", || north.addresses() == ["http://south.example:7777"]);
    assert_eq!(block_on(north.locate("plaza")), None, "the owner serves its clients");

    north.release("plaza");
    assert_eq!(north.lease("plaza"), RoomLease::Lost);
    assert_eq!(south.take("plaza").unwrap(), Epoch(2));
    // The server ends, so the room needs no end of a lease.
    drop(south);
    assert_eq!(north.take("plaza").unwrap(), Epoch(3));
    let link = block_on(Link::connect(&address, options)).unwrap();
    let directory = block_on(Directory::read(&link)).unwrap();
    let phases: Vec<_> =
        directory.servers.iter().map(|server| (server.id.name.to_string(), server.phase)).collect();
    assert_eq!(phases, [("north".to_owned(), ServerPhase::Serving), ("south".to_owned(), ServerPhase::Dead)]);
    assert_eq!(directory.rooms.len(), 1);
    assert_eq!((directory.rooms[0].1.owner, directory.rooms[0].1.epoch), (north.id(), Epoch(3)));
}

#[test]
fn the_name_of_a_running_server_is_refused_and_is_free_after_its_end() {
    let address = shared();
    let options = own_name();
    let first = join(&address, &options, "north");
    let refused = try_join(&address, &options, "north").err().expect("the name is taken");
    assert!(refused.to_string().contains("--cluster-server"), "{refused}");
    drop(first);
    // On a busy machine the entry of the server that ended may live until its lease ends.
    let mut second = None;
    wait_until("the name is free", || {
        second = try_join(&address, &options, "north").ok();
        second.is_some()
    });
    assert_eq!(second.expect("it has joined").id().incarnation, 2);
}

#[test]
fn a_server_whose_life_another_server_ended_loses_its_rooms_and_enters_again() {
    let address = shared();
    let options = own_name();
    let north = join(&address, &options, "north");
    north.take("plaza").unwrap();
    let link = block_on(Link::connect(&address, options)).unwrap();
    block_on(async {
        let servers = Bucket::open(&link, "servers").await.unwrap();
        loop {
            let entry = servers.get("north").await.unwrap().expect("the server has entered");
            let living = ServerEntry::from_bytes(&entry.value.expect("the entry has a value")).unwrap();
            let bytes = ServerEntry { phase: ServerPhase::Dead, ..living }.to_bytes();
            // The server may renew its lease at the same time.
            if servers.set("north", bytes, entry.revision).await.is_ok() {
                break;
            }
        }
    });
    wait_until("the server enters again", || north.id().incarnation == 2 && north.has_lease());
    assert_eq!((north.lease("plaza"), north.owned()), (RoomLease::Lost, Vec::new()));
    assert_eq!(north.take("plaza").unwrap(), Epoch(2));
}

#[test]
fn a_room_that_is_asked_for_while_nats_is_away_is_taken_when_nats_answers() {
    let mut servers = Servers::start(1);
    let north = join(&servers.address(), &LinkOptions { replicas: 1, ..own_name() }, "north");
    servers.cluster().kill(0);
    wait_until("the lease ends", || !north.has_lease());
    std::thread::scope(|scope| {
        let taken = scope.spawn(|| north.take("plaza"));
        servers.cluster().restart(0).expect("the server starts with its files");
        assert_eq!(taken.join().expect("no panic").unwrap(), Epoch(1));
    });
}

/// The rooms of a server without rooms.
struct NoRooms;

impl Host for NoRooms {
    fn look_at(&self, _: &str) -> (bool, usize) {
        (false, 0)
    }

    fn open(&self, _: &str) -> Result<(), String> {
        Err("this server has no rooms".to_owned())
    }

    fn note(&self, _: Event) {}
}

#[test]
fn a_request_to_a_server_is_answered_and_one_to_no_server_fails() {
    let address = shared();
    let options = own_name();
    let name = |name| Name::new(name).expect("the name is valid");
    let asked = ControlRequest::Move { room: name("plaza"), target: name("south") };
    let link = block_on(Link::connect(&address, options.clone())).expect("the servers answer");
    assert!(block_on(send(&link, name("north"), &asked)).is_err(), "nobody listens");
    let north = join(&address, &options, "north");
    north.serve(Arc::new(NoRooms));
    let mut answer = None;
    wait_until("the server listens", || {
        answer = block_on(send(&link, name("north"), &asked)).ok();
        answer.is_some()
    });
    let refused = answer.expect("it is there").into_result().expect_err("the server has no rooms");
    assert!(refused.contains("does not own room plaza"), "{refused}");
}

#[test]
fn a_server_takes_no_room_beside_a_server_whose_release_is_not_a_neighbour() {
    let address = shared();
    let options = own_name();
    let north = join(&address, &options, "north");
    assert_eq!(north.take("plaza").unwrap(), Epoch(1));
    let major = Release::CURRENT.major + 1;
    let west = Name::new("west").expect("the name is valid");
    let entry = |phase| ServerEntry {
        id: ServerId { name: west, incarnation: 1 },
        phase,
        release: Release { major, ..Release::CURRENT },
        lease_ms: 60_000,
        client_address: "".into(),
        tags: Vec::new(),
        load: Load::default(),
    };
    let servers = block_on(async {
        let link = Link::connect(&address, options.clone()).await.expect("the servers answer");
        Bucket::open(&link, "servers").await.expect("the bucket is there")
    });
    let write = |phase, replaces| {
        block_on(servers.set("west", entry(phase).to_bytes(), replaces))
            .expect("nobody else writes this entry")
    };
    let revision = write(ServerPhase::Serving, 0);
    wait_until(
        "the other release is seen",
        || matches!(north.take("attic"), Err(TakeError::Release(apart)) if apart.theirs.major == major),
    );
    assert_eq!(north.lease("plaza"), RoomLease::Held, "rooms that run go on");
    write(ServerPhase::Dead, revision);
    wait_until("a dead server does not matter", || north.take("cellar").is_ok());
}
