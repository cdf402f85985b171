//! Servers of a cluster, and the rooms that they own.

use std::time::{Duration, Instant};

use nowcast_cluster::{Epoch, Name, ServerPhase};
use nowcast_jetstream::{Directory, Link, LinkOptions, Member, MemberOptions, RoomLease, TakeError};

use super::{PATIENCE, block_on, own_name, shared};

const LEASE: Duration = Duration::from_millis(1_500);

fn join(address: &str, options: &LinkOptions, name: &str) -> Member {
    let member = MemberOptions {
        name: Name::new(name).expect("the name is valid"),
        client_address: format!("http://{name}.example:7777"),
        lease: LEASE,
    };
    block_on(async {
        let link = Link::connect(address, options.clone()).await.expect("the servers answer");
        Member::join(&link, member).await.expect("the buckets can be made")
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
    let Some(address) = shared() else { return };
    let options = own_name();
    let (north, south) = (join(&address, &options, "north"), join(&address, &options, "south"));
    assert_eq!(north.take("plaza").unwrap(), Epoch(1));
    assert_eq!((north.lease("plaza"), south.lease("plaza")), (RoomLease::Held, RoomLease::Lost));
    let refused = south.take("plaza").unwrap_err();
    assert!(matches!(refused, TakeError::Elsewhere { owner } if owner == north.id()), "{refused}");
    assert_eq!(south.address_of("plaza").as_deref(), Some("http://north.example:7777"));
    wait_until("the first server sees the second one", || north.addresses() == ["http://south.example:7777"]);
    assert_eq!((north.address_of("plaza"), north.address_of("attic")), (None, None));

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
fn a_server_whose_name_another_process_took_loses_its_lease_and_its_rooms() {
    let Some(address) = shared() else { return };
    let options = own_name();
    let first = join(&address, &options, "north");
    assert_eq!(first.take("plaza").unwrap(), Epoch(1));
    let second = join(&address, &options, "north");
    assert_eq!((first.id().incarnation, second.id().incarnation), (1, 2));
    wait_until("the first process notices the second one", || !first.has_lease());
    assert_eq!(first.lease("plaza"), RoomLease::Lost);
    assert!(matches!(first.take("attic"), Err(TakeError::NoLease)));
    assert_eq!(second.take("plaza").unwrap(), Epoch(2));
    assert!(second.has_lease());
}
