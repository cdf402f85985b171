//! Names without a name server, by multicast DNS (RFC 6762 and RFC 6763), on one network segment.
//!
//! Only with the feature `mdns`. A name found here is only a hint, because every machine on the segment can announce any name.
//! The certificate proves the identity of the endpoint, and the token proves that of the client.
//!
//! ```no_run
//! use nowcast_name_server::multicast;
//! use std::time::Duration;
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! # let hosts = [[0, 0, 0, 0].into()];
//! let announced = multicast::announce("tracker", 7777, &hosts)?; // on one machine, for as long as the value lives
//! let services = multicast::browse(Duration::from_secs(2)).await?; // on another
//! # drop((announced, services)); Ok(()) }
//! ```
//!
//! A `nowcast::Listener` announces its names if its configuration says so. If an address has no port and its host is `local` or
//! ends in `.local`, `nowcast::connect` searches by multicast DNS: `nowcast://local/tracker`.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use mdns_sd::{IfKind, ResolvedService, ServiceDaemon, ServiceEvent, ServiceInfo};
use tokio::time::{Instant, timeout_at};

use super::{Service, is_name};

/// The DNS-SD type of Nowcast services.
const KIND: &str = "_nowcast._udp.local.";

/// Maximum length of a label in DNS (RFC 1035, section 2.3.4).
const LABEL_BYTES_MAX: usize = 63;

/// Maximum number of listed services.
const SERVICES_MAX: usize = 1_024;

/// The reason why multicast DNS does not work.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MulticastError {
    /// The name cannot be announced.
    #[error("'{0}' cannot be announced: a name is 1 to 63 of a-z A-Z 0-9 . _ -, not beginning with a dot")]
    BadName(String),
    /// The library or the system refuses.
    #[error("multicast DNS does not work here: {0}")]
    Library(#[from] mdns_sd::Error),
}

/// A name that is announced while this value exists.
pub struct Announcement {
    daemon: ServiceDaemon,
    full_name: String,
}

/// Announces a service of this machine on each of its network segments. The endpoint listens on `port` of `hosts`. Addresses of a
/// family without a listener are not announced.
///
/// # Errors
/// If the name is invalid, or the system cannot open the sockets.
pub fn announce(name: &str, port: u16, hosts: &[IpAddr]) -> Result<Announcement, MulticastError> {
    if !is_name(name) || name.len() > LABEL_BYTES_MAX {
        return Err(MulticastError::BadName(name.chars().take(100).collect()));
    }
    let daemon = ServiceDaemon::new()?;
    if hosts.iter().all(IpAddr::is_ipv4) {
        daemon.disable_interface(IfKind::IPv6)?;
    } else if hosts.iter().all(|host| host.is_ipv6() && !host.is_unspecified()) {
        daemon.disable_interface(IfKind::IPv4)?;
    }
    let host = format!("{name}.local.");
    let no_properties: &[(&str, &str)] = &[];
    let service = ServiceInfo::new(KIND, name, &host, "", port, no_properties)?.enable_addr_auto();
    let full_name = service.get_fullname().to_owned();
    daemon.register(service)?;
    Ok(Announcement { daemon, full_name })
}

impl Drop for Announcement {
    fn drop(&mut self) {
        // The farewell is sent in the background. Without the farewell, other machines forget the name later, when no further
        // announcement arrives.
        let _ = self.daemon.unregister(&self.full_name);
        let _ = self.daemon.shutdown();
    }
}

impl std::fmt::Debug for Announcement {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Announcement({})", self.full_name)
    }
}

/// Listens for `patience`, and returns the announced services, sorted by name.
///
/// # Errors
/// If the system cannot open the sockets.
pub async fn browse(patience: Duration) -> Result<Vec<Service>, MulticastError> {
    collect(patience, |_| false).await
}

/// Listens until a service of this name is announced, for at most `patience`.
///
/// # Errors
/// Like [`browse`].
pub async fn find(name: &str, patience: Duration) -> Result<Option<Service>, MulticastError> {
    let is_it = |service: &Service| service.name == name;
    Ok(collect(patience, is_it).await?.into_iter().find(is_it))
}

/// Listens until the services suffice, for at most `patience`.
async fn collect(
    patience: Duration,
    is_enough: impl Fn(&Service) -> bool,
) -> Result<Vec<Service>, MulticastError> {
    let deadline = Instant::now() + patience;
    let daemon = ServiceDaemon::new()?;
    let events = daemon.browse(KIND)?;
    let mut found = BTreeMap::new();
    while let Ok(Ok(event)) = timeout_at(deadline, events.recv_async()).await {
        match event {
            ServiceEvent::ServiceResolved(resolved) if found.len() < SERVICES_MAX => {
                if let Some(service) = service(&resolved) {
                    let is_last = is_enough(&service);
                    found.insert(resolved.fullname.clone(), service);
                    if is_last {
                        break;
                    }
                }
            }
            ServiceEvent::ServiceRemoved(_, full_name) => drop(found.remove(&full_name)),
            _ => {}
        }
    }
    let _ = daemon.shutdown();
    Ok(found.into_values().collect())
}

/// Converts an announcement to a service; `None` if it does not announce a Nowcast service.
fn service(resolved: &ResolvedService) -> Option<Service> {
    // Dots in a label are written with a backslash.
    let name = resolved.fullname.strip_suffix(&format!(".{KIND}"))?.replace('\\', "");
    let mut addresses: Vec<IpAddr> = resolved.addresses.iter().map(|address| address.to_ip_addr()).collect();
    // A link-local IPv6 address needs a zone, which a `nowcast://` address cannot express.
    addresses.retain(|address| !matches!(address, IpAddr::V6(address) if address.is_unicast_link_local()));
    addresses.sort();
    let host = addresses.first().copied()?;
    (is_name(&name) && resolved.port != 0).then_some(Service { name, port: resolved.port, host: Some(host) })
}
