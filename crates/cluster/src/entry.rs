//! The entries of the directory: one for each server, and one for each room.

use std::sync::Arc;
use std::time::Duration;

use nowcast_wire::Wire;

use crate::name::{Epoch, Name, ServerId};
use crate::record::{Record, require};
use crate::release::Release;

/// The longest address of a server, in bytes.
pub const ADDRESS_BYTES_MAX: usize = 255;
/// Maximum number of a server's tags, and of a room's required tags.
pub const TAGS_MAX: usize = 16;
/// The longest lease. A longer one would leave rooms of a dead server without an owner for too long.
pub const LEASE_MAX: Duration = Duration::from_secs(60);

/// The entry of a server, in the bucket of servers under the server's name. Each renewal of the server's lease writes the entry
/// anew, with the revision that it replaces.
///
/// One lease covers all rooms of the server. So the number of renewals does not depend on the number of rooms.
#[derive(Clone, PartialEq, Debug, Wire)]
pub struct ServerEntry {
    /// The server, with the number of its start.
    pub id: ServerId,
    /// The phase of the server's life.
    pub phase: ServerPhase,
    /// The release of the server's program.
    pub release: Release,
    /// The duration of the lease, in milliseconds. The holder counts the lease from the time at which it sent the renewal. Other
    /// servers count the lease from the time at which they first saw the entry's revision. The entry has no time of a wall clock.
    pub lease_ms: u32,
    /// The address to which clients may move, as the origin of a URL; empty if clients reach the server only through others.
    pub client_address: Arc<str>,
    /// The tags of the server, such as its region.
    pub tags: Vec<Name>,
    /// The load of the server.
    pub load: Load,
}

/// The phase of a server's life.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Wire)]
pub enum ServerPhase {
    /// The server takes rooms.
    Serving,
    /// The server hands its rooms over and takes no new ones.
    Draining,
    /// The server's life is over. It ended by itself, or another server found its lease over and ended it. This phase is final
    /// for the entry's ID, so even a stale read of it is true.
    Dead,
}

/// The load of a server.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Wire)]
pub struct Load {
    /// Time that the rooms' steps take, in thousandths of the time that the server's processors have.
    pub ticks_permille: u16,
    /// Used memory, in thousandths of the memory that the server may use.
    pub memory_permille: u16,
    /// Number of clients.
    pub clients: u32,
    /// Number of clients that the operator allows.
    pub clients_max: u32,
    /// Number of rooms.
    pub rooms: u32,
}

impl ServerEntry {
    /// The duration of the lease.
    #[must_use]
    pub fn lease(&self) -> Duration {
        Duration::from_millis(self.lease_ms.into())
    }
}

impl Record for ServerEntry {
    fn check(&self) -> Result<(), &'static str> {
        require(self.id.name.is_valid(), "id")?;
        require(!self.lease().is_zero() && self.lease() <= LEASE_MAX, "lease")?;
        require(self.client_address.len() <= ADDRESS_BYTES_MAX, "client_address")?;
        check_tags(&self.tags, "tags")
    }
}

fn check_tags(tags: &[Name], field: &'static str) -> Result<(), &'static str> {
    require(tags.len() <= TAGS_MAX && tags.iter().all(Name::is_valid), field)
}

/// The entry of a room, in the bucket of rooms under the room's name.
///
/// The owner needs no separate lease: the owner may act while its server's lease lasts. Another server may claim the room when
/// all [`holders`](RoomEntry::holders) are dead, or when the room was released.
#[derive(Clone, PartialEq, Debug, Wire)]
pub struct RoomEntry {
    /// The owner's epoch. Epochs of a room are given out only by updates of this entry.
    pub epoch: Epoch,
    /// The newest epoch that was given out, to the owner or to the target of a hand-over, even if the hand-over failed. The
    /// next owner gets the next epoch.
    pub newest_epoch: Epoch,
    /// The server that owns the room, or that owned it last.
    pub owner: ServerId,
    /// Whether the owner ended the room and released it. Then any server may claim the room at once.
    pub is_released: bool,
    /// The target of a hand-over that began. It owns the room as soon as its epoch stands in the journal.
    pub target: Option<Target>,
    /// The tags that a server must have to own the room.
    pub requires: Vec<Name>,
}

/// The target of a hand-over.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Wire)]
pub struct Target {
    /// The server.
    pub server: ServerId,
    /// The epoch that the server takes at the commit.
    pub epoch: Epoch,
}

impl RoomEntry {
    /// Returns the servers that may own the room: the owner, and the target of a hand-over. A released room has none.
    pub fn holders(&self) -> impl Iterator<Item = ServerId> + '_ {
        let owner = (!self.is_released).then_some(self.owner);
        owner.into_iter().chain(self.target.map(|target| target.server))
    }
}

impl Record for RoomEntry {
    fn check(&self) -> Result<(), &'static str> {
        require(self.epoch > Epoch(0), "epoch")?;
        require(self.newest_epoch >= self.epoch, "newest_epoch")?;
        require(self.owner.name.is_valid(), "owner")?;
        let given = self.epoch.next()..=self.newest_epoch;
        let is_valid = |target: Target| target.server.name.is_valid() && given.contains(&target.epoch);
        require(self.target.is_none_or(is_valid), "target")?;
        check_tags(&self.requires, "requires")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::RecordError;
    use proptest::prelude::*;

    fn name(text: &str) -> Name {
        Name::new(text).unwrap()
    }

    fn server() -> ServerEntry {
        ServerEntry {
            id: ServerId { name: name("north-1"), incarnation: 7 },
            phase: ServerPhase::Draining,
            release: Release::CURRENT,
            lease_ms: 2_000,
            client_address: "https://north.example".into(),
            tags: vec![name("eu"), name("gpu")],
            load: Load { ticks_permille: 300, memory_permille: 20, clients: 5, clients_max: 400, rooms: 2 },
        }
    }

    fn room() -> RoomEntry {
        RoomEntry {
            epoch: Epoch(4),
            newest_epoch: Epoch(5),
            owner: server().id,
            is_released: false,
            target: Some(Target { server: ServerId { name: name("b"), incarnation: 1 }, epoch: Epoch(5) }),
            requires: vec![name("eu")],
        }
    }

    #[test]
    fn entries_are_read_back_unchanged() {
        assert_eq!(ServerEntry::from_bytes(&server().to_bytes()), Ok(server()));
        assert_eq!(RoomEntry::from_bytes(&room().to_bytes()), Ok(room()));
    }

    #[test]
    fn hostile_entries_are_refused_by_name() {
        let mut bytes = room().to_bytes();
        assert_eq!(RoomEntry::from_bytes(&[]), Err(RecordError::Foreign));
        assert_eq!(RoomEntry::from_bytes(b"\0json"), Err(RecordError::Foreign));
        for cut in 1..bytes.len() {
            assert!(matches!(RoomEntry::from_bytes(&bytes[..cut]), Err(RecordError::Damaged(_))), "{cut}");
        }
        bytes.push(0);
        assert!(matches!(RoomEntry::from_bytes(&bytes), Err(RecordError::Damaged(_))));
        for found in [2, 9] {
            bytes[0] = found;
            assert_eq!(RoomEntry::from_bytes(&bytes), Err(RecordError::Version { found }));
        }
        let backwards =
            RoomEntry { target: Some(Target { epoch: Epoch(4), ..room().target.unwrap() }), ..room() };
        let invalid = |field| Err(RecordError::Invalid { field });
        assert_eq!(RoomEntry::from_bytes(&backwards.to_bytes()).map(drop), invalid("target"));
        let endless = ServerEntry { lease_ms: 120_000, ..server() };
        assert_eq!(ServerEntry::from_bytes(&endless.to_bytes()).map(drop), invalid("lease"));
    }

    proptest! {
        #[test]
        fn random_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let versioned = [&[3], bytes.as_slice()].concat();
            let _ = (ServerEntry::from_bytes(&versioned), RoomEntry::from_bytes(&versioned));
        }
    }
}
