//! The entries of the directory: one for each server, and one for each room.

use std::sync::Arc;
use std::time::Duration;

use crate::bytes::{
    Reader, RecordError, put_bytes, put_names, put_release, put_server, put_u32, put_u64, put_version,
};
use crate::name::{Epoch, Name, ServerId};
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
#[derive(Clone, PartialEq, Debug)]
pub struct ServerEntry {
    /// The server, with the number of its start.
    pub id: ServerId,
    /// The phase of the server's life.
    pub phase: ServerPhase,
    /// The release of the server's program.
    pub release: Release,
    /// The duration of the lease. The holder counts it from the time at which it sent the renewal, and others count it from the
    /// time at which they first saw the entry's revision. The entry has no time of a wall clock.
    pub lease: Duration,
    /// The address to which clients may move, as the origin of a URL; empty if clients reach the server only through others.
    pub client_address: Arc<str>,
    /// The tags of the server, such as its region.
    pub tags: Arc<[Name]>,
    /// The load of the server.
    pub load: Load,
}

/// The phase of a server's life.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
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
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
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
    /// Appends the bytes of the entry.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_version(out);
        put_server(out, self.id);
        out.push(match self.phase {
            ServerPhase::Serving => 0,
            ServerPhase::Draining => 1,
            ServerPhase::Dead => 2,
        });
        put_release(out, self.release);
        put_u32(out, self.lease.as_millis() as u32);
        put_bytes(out, self.client_address.as_bytes());
        put_names(out, &self.tags);
        out.extend_from_slice(&self.load.ticks_permille.to_le_bytes());
        out.extend_from_slice(&self.load.memory_permille.to_le_bytes());
        put_u32(out, self.load.clients);
        put_u32(out, self.load.clients_max);
        put_u32(out, self.load.rooms);
    }

    /// Reads an entry. The bytes are untrusted.
    ///
    /// # Errors
    /// Names the fault, and the field that has it.
    pub fn decode(bytes: &[u8]) -> Result<ServerEntry, RecordError> {
        let mut reader = Reader::new(bytes)?;
        let id = reader.server("id")?;
        let phase = match reader.u8("phase")? {
            0 => ServerPhase::Serving,
            1 => ServerPhase::Draining,
            2 => ServerPhase::Dead,
            _ => return Err(RecordError::Invalid { field: "phase" }),
        };
        let release = reader.release()?;
        let lease = Duration::from_millis(reader.u32("lease")?.into());
        if lease.is_zero() || lease > LEASE_MAX {
            return Err(RecordError::Invalid { field: "lease" });
        }
        let entry = ServerEntry {
            id,
            phase,
            release,
            lease,
            client_address: reader.text("client_address", ADDRESS_BYTES_MAX)?.into(),
            tags: reader.names("tags", TAGS_MAX)?.into(),
            load: Load {
                ticks_permille: reader.u16("ticks")?,
                memory_permille: reader.u16("memory")?,
                clients: reader.u32("clients")?,
                clients_max: reader.u32("clients_max")?,
                rooms: reader.u32("rooms")?,
            },
        };
        reader.end()?;
        Ok(entry)
    }
}

/// The entry of a room, in the bucket of rooms under the room's name.
///
/// The owner needs no separate lease: the owner may act while its server's lease lasts. Another server may claim the room when
/// all [`holders`](RoomEntry::holders) are dead, or when the room was released.
#[derive(Clone, PartialEq, Debug)]
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
    pub requires: Arc<[Name]>,
}

/// The target of a hand-over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
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

    /// Appends the bytes of the entry.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_version(out);
        put_u64(out, self.epoch.0);
        put_u64(out, self.newest_epoch.0);
        put_server(out, self.owner);
        out.push(self.is_released.into());
        out.push(self.target.is_some().into());
        if let Some(target) = self.target {
            put_server(out, target.server);
            put_u64(out, target.epoch.0);
        }
        put_names(out, &self.requires);
    }

    /// Reads an entry. The bytes are untrusted.
    ///
    /// # Errors
    /// Names the fault, and the field that has it.
    pub fn decode(bytes: &[u8]) -> Result<RoomEntry, RecordError> {
        let mut reader = Reader::new(bytes)?;
        let (epoch, newest_epoch) = (reader.epoch()?, reader.epoch()?);
        if newest_epoch < epoch {
            return Err(RecordError::Invalid { field: "newest_epoch" });
        }
        let owner = reader.server("owner")?;
        let is_released = reader.bool("is_released")?;
        let target = match reader.bool("target")? {
            true => Some(Target { server: reader.server("target")?, epoch: reader.epoch()? }),
            false => None,
        };
        if target.is_some_and(|target| target.epoch <= epoch || target.epoch > newest_epoch) {
            return Err(RecordError::Invalid { field: "target" });
        }
        let requires = reader.names("requires", TAGS_MAX)?.into();
        reader.end()?;
        Ok(RoomEntry { epoch, newest_epoch, owner, is_released, target, requires })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn name(text: &str) -> Name {
        Name::new(text).unwrap()
    }

    fn server() -> ServerEntry {
        ServerEntry {
            id: ServerId { name: name("north-1"), incarnation: 7 },
            phase: ServerPhase::Draining,
            release: Release::CURRENT,
            lease: Duration::from_millis(2_000),
            client_address: "https://north.example".into(),
            tags: [name("eu"), name("gpu")].into(),
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
            requires: [name("eu")].into(),
        }
    }

    fn bytes_of(encode: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
        let mut bytes = Vec::new();
        encode(&mut bytes);
        bytes
    }

    #[test]
    fn entries_are_read_back_unchanged() {
        assert_eq!(ServerEntry::decode(&bytes_of(|out| server().encode(out))), Ok(server()));
        assert_eq!(RoomEntry::decode(&bytes_of(|out| room().encode(out))), Ok(room()));
    }

    #[test]
    fn hostile_entries_are_refused_by_name() {
        let mut bytes = bytes_of(|out| room().encode(out));
        assert_eq!(RoomEntry::decode(&[]), Err(RecordError::Foreign));
        assert_eq!(RoomEntry::decode(b"\0json"), Err(RecordError::Foreign));
        for cut in 1..bytes.len() {
            assert!(matches!(RoomEntry::decode(&bytes[..cut]), Err(RecordError::Short { .. })), "{cut}");
        }
        bytes.push(0);
        assert_eq!(RoomEntry::decode(&bytes), Err(RecordError::Trailing { bytes: 1 }));
        for found in [1, 9] {
            bytes[0] = found;
            assert_eq!(RoomEntry::decode(&bytes), Err(RecordError::Version { found }));
        }
        let backwards =
            RoomEntry { target: Some(Target { epoch: Epoch(4), ..room().target.unwrap() }), ..room() };
        let backwards = bytes_of(|out| backwards.encode(out));
        assert_eq!(RoomEntry::decode(&backwards), Err(RecordError::Invalid { field: "target" }));
        let endless = ServerEntry { lease: LEASE_MAX * 2, ..server() };
        let endless = bytes_of(|out| endless.encode(out));
        assert_eq!(ServerEntry::decode(&endless), Err(RecordError::Invalid { field: "lease" }));
    }

    proptest! {
        #[test]
        fn random_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = ServerEntry::decode(&bytes);
            let _ = RoomEntry::decode(&bytes);
        }
    }
}
