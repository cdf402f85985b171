//! Servers of a cluster, and the rooms that they own.

use std::time::{Duration, Instant};

use nowcast_cluster::{Epoch, Load, Name, Release, ServerEntry, ServerId, ServerPhase};
use nowcast_jetstream::{
    Bucket, ClusterError, ControlAnswer, ControlRequest, Directory, Link, LinkOptions, Member, MemberOptions,
    Place, RoomLease, TakeError, answer_requests,
};

use super::{PATIENCE, Servers, block_on, own_name, shared};

const LEASE: Duration = Duration::from_millis(1_500);

fn join(address: &str, options: &LinkOptions, name: &str) -> Member {
    try_join(address, options, name).expect("no other server has the name")
}

fn try_join(address: &str, options: &LinkOptions, name: &str) -> Result<Member, ClusterError> {
    let member = MemberOptions {
        name: Name::new(name).expect("the name is valid"),
        client_address: format!("http://{name}.example:7777"),
        tags: [].into(),
        lease: LEASE,
    };
    block_on(async {
        let link = Link::connect(address, options.clone()).await.expect("the servers answer");
        Member::join(&link, member).await
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
    assert_eq!(north.take("plaza", &[]).unwrap(), Epoch(1));
    assert_eq!((north.lease("plaza"), south.lease("plaza")), (RoomLease::Held, RoomLease::Lost));
    let refused = south.take("plaza", &[]).unwrap_err();
    assert!(matches!(refused, TakeError::Elsewhere { owner } if owner == north.id()), "{refused}");
    let place = |member: &Member, room: &str| block_on(member.place_of(room)).expect("the servers answer");
    assert_eq!(place(&south, "plaza"), Place::At("http://north.example:7777".to_owned()));
    wait_until("the first server sees the second one", || north.addresses() == ["http://south.example:7777"]);
    assert_eq!((place(&north, "plaza"), place(&north, "attic")), (Place::Here, Place::Nowhere));

    north.release("plaza");
    assert_eq!(north.lease("plaza"), RoomLease::Lost);
    assert_eq!(south.take("plaza", &[]).unwrap(), Epoch(2));
    // The server ends, so the room needs no end of a lease.
    drop(south);
    assert_eq!(north.take("plaza", &[]).unwrap(), Epoch(3));
    let link = block_on(Link::connect(&address, options)).unwrap();
    let directory = block_on(Directory::read(&link)).unwrap();
    let phases: Vec<_> =
        directory.servers.iter().map(|server| (server.id.name.to_string(), server.phase)).collect();
    assert_eq!(phases, [("north".to_owned(), ServerPhase::Serving), ("south".to_owned(), ServerPhase::Dead)]);
    assert_eq!(directory.rooms.len(), 1);
    assert_eq!((directory.rooms[0].1.owner, directory.rooms[0].1.epoch), (north.id(), Epoch(3)));
}

#[test]
fn a_room_that_was_handed_over_belongs_to_the_target_alone() {
    let address = shared();
    let options = own_name();
    let (north, south) = (join(&address, &options, "north"), join(&address, &options, "south"));
    north.take("plaza", &[]).unwrap();
    let name = |name| Name::new(name).expect("the name is valid");
    assert!(matches!(block_on(north.name_target("plaza", name("west"))), Err(TakeError::NoServer(_))));
    wait_until("the first server sees the second one", || north.server(name("south")).is_ok());
    assert_eq!(block_on(north.name_target("plaza", name("south"))).unwrap(), Some(Epoch(2)));
    north.stop_owning("plaza");
    end_move(&north, "south");
    assert_eq!((north.lease("plaza"), north.owned()), (RoomLease::Lost, Vec::new()));
    assert!(matches!(north.take("plaza", &[]), Err(TakeError::Elsewhere { owner }) if owner == south.id()));
    south.receive("plaza", Epoch(2));
    assert_eq!(south.take("plaza", &[]).unwrap(), Epoch(2), "the hand-over has an epoch of its own");
    assert_eq!(south.take("plaza", &[]).unwrap(), Epoch(3), "the epoch of a hand-over is used once");
    let refused = south.take("attic", &[name("gpu")]);
    assert!(matches!(refused, Err(TakeError::Tags(lacking)) if lacking == [name("gpu")]));
    assert_eq!(south.owned(), [name("plaza")]);
}

#[test]
fn the_named_target_of_a_hand_over_takes_the_room_before_the_directory_names_it_as_owner() {
    let address = shared();
    let options = own_name();
    let [north, south, west] = ["north", "south", "west"].map(|name| join(&address, &options, name));
    let name = |name| Name::new(name).expect("the name is valid");
    let place = |member: &Member| block_on(member.place_of("plaza")).expect("the servers answer");
    wait_until("the servers see each other", || {
        [&north, &west].iter().all(|member| member.server(name("south")).is_ok())
            && west.server(name("north")).is_ok()
    });
    north.take("plaza", &[]).unwrap();
    assert_eq!(block_on(north.name_target("plaza", name("south"))).unwrap(), Some(Epoch(2)));
    assert_eq!(
        (place(&north), place(&west)),
        (Place::Here, Place::At("http://north.example:7777".to_owned()))
    );
    north.stop_owning("plaza");
    assert_eq!(place(&north), Place::At("http://south.example:7777".to_owned()));
    assert!(matches!(north.take("plaza", &[]), Err(TakeError::Elsewhere { owner }) if owner == south.id()));
    assert!(matches!(west.take("plaza", &[]), Err(TakeError::Elsewhere { .. })));
    south.receive("plaza", Epoch(2));
    assert_eq!(south.take("plaza", &[]).unwrap(), Epoch(2));
    assert_eq!(place(&south), Place::Here);
    south.name_owner("plaza", Epoch(2));
    wait_until("the target corrects the directory", || {
        place(&west) == Place::At("http://south.example:7777".to_owned())
    });
    end_move(&north, "south");
    assert_eq!(
        place(&west),
        Place::At("http://south.example:7777".to_owned()),
        "the directory was correct already"
    );
}

#[test]
fn a_hand_over_with_a_named_target_keeps_its_epoch_and_a_removed_target_leaves_the_room_with_its_owner() {
    let address = shared();
    let options = own_name();
    let (north, south) = (join(&address, &options, "north"), join(&address, &options, "south"));
    let name = |name| Name::new(name).expect("the name is valid");
    wait_until("the first server sees the second one", || north.server(name("south")).is_ok());
    north.take("plaza", &[]).unwrap();
    assert_eq!(block_on(north.name_target("plaza", name("south"))).unwrap(), Some(Epoch(2)));
    end_move(&north, "south");
    assert_eq!((north.lease("plaza"), north.owned()), (RoomLease::Held, vec![name("plaza")]));
    let link = block_on(Link::connect(&address, options)).unwrap();
    let entry = || block_on(Directory::read(&link)).unwrap().rooms.remove(0).1;
    assert_eq!((entry().owner, entry().target), (north.id(), None));
    // The epoch of the removed target is never used again.
    assert_eq!(block_on(north.name_target("plaza", name("south"))).unwrap(), Some(Epoch(3)));
    north.stop_owning("plaza");
    end_move(&north, "south");
    assert_eq!((entry().owner, entry().epoch, entry().target), (south.id(), Epoch(3), None));
}

fn end_move(owner: &Member, target: &str) {
    let target = Name::new(target).expect("the name is valid");
    block_on(owner.end_move("plaza", target).expect("the member is alive")).expect("the task ends");
}

#[test]
fn a_room_that_stopped_for_a_move_is_found_at_its_target_although_the_target_never_took_it() {
    let address = shared();
    let options = own_name();
    let [north, south] = ["north", "south"].map(|name| join(&address, &options, name));
    let name = |name| Name::new(name).expect("the name is valid");
    wait_until("the first server sees the second one", || north.server(name("south")).is_ok());
    wait_until("the second server sees the first one", || south.server(name("north")).is_ok());
    north.take("plaza", &[]).unwrap();
    block_on(north.name_target("plaza", name("south"))).unwrap();
    north.stop_owning("plaza");
    assert!(matches!(south.take("plaza", &[]), Err(TakeError::Elsewhere { owner }) if owner == north.id()));
    end_move(&north, "west");
    assert!(matches!(south.take("plaza", &[]), Err(TakeError::Elsewhere { .. })), "a move to another server");
    end_move(&north, "south");
    assert_eq!(south.take("plaza", &[]).unwrap(), Epoch(3));
    end_move(&north, "south");
    assert_eq!(south.owned(), vec![name("plaza")]);
}

#[test]
fn a_target_may_release_or_give_its_room_before_the_directory_names_it_as_the_owner() {
    let address = shared();
    let options = own_name();
    let [north, south, west] = ["north", "south", "west"].map(|name| join(&address, &options, name));
    let name = |name| Name::new(name).expect("the name is valid");
    for server in [&north, &south, &west] {
        wait_until("all servers see each other", || {
            ["north", "south", "west"].iter().all(|other| server.server(name(other)).is_ok())
        });
    }
    let link = block_on(Link::connect(&address, options)).unwrap();
    let entry = || block_on(Directory::read(&link)).unwrap().rooms.remove(0).1;
    let move_to_south = || {
        let epoch = block_on(north.name_target("plaza", name("south"))).unwrap().expect("north is the owner");
        north.stop_owning("plaza");
        south.receive("plaza", epoch);
        assert_eq!(south.take("plaza", &[]).unwrap(), epoch);
    };
    north.take("plaza", &[]).unwrap();
    move_to_south();
    south.release("plaza");
    assert_eq!((entry().is_released, entry().target), (true, None));
    north.take("plaza", &[]).unwrap();
    move_to_south();
    assert_eq!(block_on(south.name_target("plaza", name("west"))).unwrap(), Some(Epoch(5)));
    south.stop_owning("plaza");
    end_move(&south, "west");
    assert_eq!((entry().owner, entry().epoch, entry().target), (west.id(), Epoch(5), None));
    end_move(&north, "south");
    assert_eq!(entry().owner, west.id(), "the correction comes too late");
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
    north.take("plaza", &[]).unwrap();
    let link = block_on(Link::connect(&address, options)).unwrap();
    block_on(async {
        let servers = Bucket::open(&link, "servers").await.unwrap();
        loop {
            let entry = servers.get("north").await.unwrap().expect("the server has entered");
            let mut bytes = Vec::new();
            let living = ServerEntry::decode(&entry.value.expect("the entry has a value")).unwrap();
            ServerEntry { phase: ServerPhase::Dead, ..living }.encode(&mut bytes);
            // The server may renew its lease at the same time.
            if servers.set("north", bytes, entry.revision).await.is_ok() {
                break;
            }
        }
    });
    wait_until("the server enters again", || north.id().incarnation == 2 && north.has_lease());
    assert_eq!((north.lease("plaza"), north.owned()), (RoomLease::Lost, Vec::new()));
    assert_eq!(north.take("plaza", &[]).unwrap(), Epoch(2));
}

#[test]
fn a_room_that_is_asked_for_while_nats_is_away_is_taken_when_nats_answers() {
    let mut servers = Servers::start(1);
    let north = join(&servers.address(), &LinkOptions { replicas: 1, ..own_name() }, "north");
    servers.cluster().kill(0);
    wait_until("the lease ends", || !north.has_lease());
    std::thread::scope(|scope| {
        let taken = scope.spawn(|| north.take("plaza", &[]));
        servers.cluster().restart(0).expect("the server starts with its files");
        assert_eq!(taken.join().expect("no panic").unwrap(), Epoch(1));
    });
}

#[test]
fn a_request_to_a_server_is_answered_and_one_to_no_server_fails() {
    let address = shared();
    let options = own_name();
    let north = Name::new("north").expect("the name is valid");
    block_on(async {
        let link = Link::connect(&address, options).await.unwrap();
        let asked = ControlRequest::Move { room: "plaza".into(), target: "south".into() };
        assert!(asked.send(&link, north).await.is_err(), "nobody listens");
        tokio::spawn(answer_requests(link.clone(), north, |request| async move {
            ControlAnswer::Done { text: format!("{request:?}") }
        }));
        let answered = async {
            loop {
                if let Ok(answer) = asked.send(&link, north).await {
                    return answer;
                }
            }
        };
        let answer = tokio::time::timeout(PATIENCE, answered).await.expect("the server listens");
        assert_eq!(answer, ControlAnswer::Done { text: format!("{asked:?}") });
    });
}

#[test]
fn a_server_takes_no_room_beside_a_server_whose_release_is_not_a_neighbour() {
    let address = shared();
    let options = own_name();
    let north = join(&address, &options, "north");
    assert_eq!(north.take("plaza", &[]).unwrap(), Epoch(1));
    let major = Release::CURRENT.major + 1;
    let west = Name::new("west").expect("the name is valid");
    let entry = |phase| ServerEntry {
        id: ServerId { name: west, incarnation: 1 },
        phase,
        release: Release { major, ..Release::CURRENT },
        lease: Duration::from_secs(60),
        link_address: "".into(),
        client_address: "".into(),
        tags: [].into(),
        load: Load::default(),
    };
    let servers = block_on(async {
        let link = Link::connect(&address, options.clone()).await.expect("the servers answer");
        Bucket::open(&link, "servers").await.expect("the bucket is there")
    });
    let write = |phase, replaces| {
        let mut bytes = Vec::new();
        entry(phase).encode(&mut bytes);
        block_on(servers.set("west", bytes, replaces)).expect("nobody else writes this entry")
    };
    let revision = write(ServerPhase::Serving, 0);
    wait_until(
        "the other release is seen",
        || matches!(north.take("attic", &[]), Err(TakeError::Release(apart)) if apart.theirs.major == major),
    );
    assert_eq!(north.lease("plaza"), RoomLease::Held, "rooms that run go on");
    write(ServerPhase::Dead, revision);
    wait_until("a dead server does not matter", || north.take("cellar", &[]).is_ok());
}
