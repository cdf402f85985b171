//! Which connection advertises what.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::ops::Bound;

use super::protocol::{Refused, Service};

/// Names that a name server holds at most.
const NAMES_MAX: usize = 4_096;

/// Names that one machine may hold, other than the name server's own.
const NAMES_PER_HOST_MAX: usize = 256;

/// Identifies a connection; never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ConnectionId(pub(super) u64);

/// All names. Sorted, so that a list can be continued behind any name.
#[derive(Debug, Default)]
pub(super) struct Registry {
    names: BTreeMap<String, Holder>,
}

#[derive(Debug)]
struct Holder {
    connection: ConnectionId,
    port: u16,
    host: Option<IpAddr>,
}

impl Registry {
    /// Gives a name to a connection. The same connection may change its port.
    pub(super) fn advertise(
        &mut self,
        connection: ConnectionId,
        name: &str,
        port: u16,
        host: Option<IpAddr>,
    ) -> Result<(), Refused> {
        match self.names.get(name) {
            Some(holder) if holder.connection != connection => return Err(Refused::NameTaken),
            Some(_) => {}
            None => {
                let of_host = || self.names.values().filter(|holder| holder.host == host).count();
                if self.names.len() >= NAMES_MAX || (host.is_some() && of_host() >= NAMES_PER_HOST_MAX) {
                    return Err(Refused::Full);
                }
            }
        }
        self.names.insert(name.to_owned(), Holder { connection, port, host });
        Ok(())
    }

    /// Takes back everything that a connection holds.
    pub(super) fn release(&mut self, connection: ConnectionId) {
        self.names.retain(|_, holder| holder.connection != connection);
    }

    pub(super) fn find(&self, name: &str) -> Option<Service> {
        self.names.get(name).map(|holder| service(name, holder))
    }

    /// The first service behind a name, or the first of all.
    pub(super) fn after(&self, name: Option<&str>) -> Option<Service> {
        let from = name.map_or(Bound::Unbounded, Bound::Excluded);
        let next = self.names.range::<str, _>((from, Bound::Unbounded)).next();
        next.map(|(name, holder)| service(name, holder))
    }

    pub(super) fn len(&self) -> usize {
        self.names.len()
    }
}

fn service(name: &str, holder: &Holder) -> Service {
    Service { name: name.to_owned(), port: holder.port, host: holder.host }
}
