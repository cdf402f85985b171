//! The entries of servers and rooms in JetStream.

use nowcast_cluster::{Name, Record, RoomEntry, ServerEntry};

use crate::{Bucket, ClusterError, Link};

/// The servers and rooms of a cluster, as its directory shows them.
#[derive(Clone, Debug, Default)]
pub struct Directory {
    /// The servers, by name.
    pub servers: Vec<ServerEntry>,
    /// The rooms, by name.
    pub rooms: Vec<(Name, RoomEntry)>,
}

impl Directory {
    /// Reads the directory of a cluster. It is a hint: one read does not show whether a lease has expired.
    ///
    /// # Errors
    /// Fails if NATS does not answer, or if an entry is damaged.
    pub async fn read(link: &Link) -> Result<Directory, ClusterError> {
        let mut directory = Directory::default();
        for (_, value, _) in Bucket::open(link, "servers").await?.list().await? {
            directory.servers.push(read_entry(&value)?);
        }
        directory.servers.sort_by_key(|entry| entry.id);
        for (key, value, _) in Bucket::open(link, "rooms").await?.list().await? {
            if let Ok(name) = Name::new(&key) {
                directory.rooms.push((name, read_entry(&value)?));
            }
        }
        directory.rooms.sort_by_key(|(name, _)| *name);
        Ok(directory)
    }
}

/// Reads an entry of the directory.
pub(crate) fn read_entry<T: Record>(bytes: &[u8]) -> Result<T, ClusterError> {
    T::from_bytes(bytes).map_err(|error| ClusterError::request("an entry of the directory", error))
}
