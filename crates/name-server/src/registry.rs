//! The advertised names of all connections.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::ops::Bound;

use super::protocol::{Refused, Service};

/// Maximum number of names of a name server.
const NAMES_MAX: usize = 4_096;

/// Maximum number of names of one connection.
const NAMES_PER_CONNECTION_MAX: usize = 256;

/// Maximum number of names of all programs on the name server's own machine.
const NAMES_OF_OWN_HOST_MAX: usize = 1_024;

/// Maximum number of names of any other machine.
const NAMES_PER_HOST_MAX: usize = 256;

const _: () = assert!(NAMES_PER_CONNECTION_MAX < NAMES_OF_OWN_HOST_MAX && NAMES_OF_OWN_HOST_MAX < NAMES_MAX);

/// Identifies a connection. An id is never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ConnectionId(pub(crate) u64);

/// All names. They are sorted, so that a list can continue after any name.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    names: BTreeMap<String, Holder>,
    /// Number of names that were refused because their connection or their machine had the maximum.
    refused: u64,
}

#[derive(Debug)]
struct Holder {
    connection: ConnectionId,
    port: u16,
    host: Option<IpAddr>,
}

impl Registry {
    /// Registers a name for a connection. If the same connection has the name already, the port is updated.
    pub(crate) fn advertise(
        &mut self,
        connection: ConnectionId,
        name: &str,
        port: u16,
        host: Option<IpAddr>,
    ) -> Result<(), Refused> {
        match self.names.get(name) {
            Some(holder) if holder.connection != connection => return Err(Refused::NameTaken),
            Some(_) => {}
            None => self.check_room(connection, host)?,
        }
        self.names.insert(name.to_owned(), Holder { connection, port, host });
        Ok(())
    }

    /// Checks whether a connection from `host` may have one more name.
    fn check_room(&mut self, connection: ConnectionId, host: Option<IpAddr>) -> Result<(), Refused> {
        let (mut of_connection, mut of_host) = (0, 0);
        for holder in self.names.values() {
            of_connection += usize::from(holder.connection == connection);
            of_host += usize::from(holder.host == host);
        }
        let of_host_max = if host.is_some() { NAMES_PER_HOST_MAX } else { NAMES_OF_OWN_HOST_MAX };
        if of_connection >= NAMES_PER_CONNECTION_MAX || of_host >= of_host_max {
            self.refused += 1;
            return Err(Refused::TooManyNames);
        }
        if self.names.len() >= NAMES_MAX { Err(Refused::Full) } else { Ok(()) }
    }

    /// Removes all names of a connection.
    pub(crate) fn release(&mut self, connection: ConnectionId) {
        self.names.retain(|_, holder| holder.connection != connection);
    }

    pub(crate) fn find(&self, name: &str) -> Option<Service> {
        self.names.get(name).map(|holder| service(name, holder))
    }

    /// Returns the first service after a name, or the first of all.
    pub(crate) fn after(&self, name: Option<&str>) -> Option<Service> {
        let from = name.map_or(Bound::Unbounded, Bound::Excluded);
        let next = self.names.range::<str, _>((from, Bound::Unbounded)).next();
        next.map(|(name, holder)| service(name, holder))
    }

    /// Returns the number of names that were refused because their connection or their machine had the maximum.
    pub(crate) fn refused(&self) -> u64 {
        self.refused
    }

    pub(crate) fn len(&self) -> usize {
        self.names.len()
    }
}

fn service(name: &str, holder: &Holder) -> Service {
    Service { name: name.to_owned(), port: holder.port, host: holder.host }
}
