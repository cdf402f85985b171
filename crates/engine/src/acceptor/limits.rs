//! Limits and counters of an acceptor.

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard};

use tokio::sync::Notify;

/// Limits of an acceptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AcceptLimits {
    /// Maximum number of sessions.
    pub sessions_max: usize,
    /// Maximum number of sessions from one address: an IPv4 address, or the /64 of an IPv6 address.
    pub sessions_per_address_max: usize,
    /// Maximum number of carriers without a HELLO. If another one arrives, the address with the most such carriers loses its
    /// oldest one. So silent carriers cannot block other clients.
    pub carriers_max: usize,
    /// Maximum number of carriers without a HELLO from one address. If another one arrives, the oldest carrier of this address is
    /// closed.
    pub carriers_per_address_max: usize,
}

impl Default for AcceptLimits {
    fn default() -> Self {
        Self {
            sessions_max: 10_000,
            sessions_per_address_max: 1_000,
            carriers_max: 1_000,
            carriers_per_address_max: 100,
        }
    }
}

/// Counters of an acceptor, and its present load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AcceptCounters {
    /// Open sessions.
    pub sessions: usize,
    /// Carriers without a HELLO.
    pub carriers: usize,
    /// Accepted carriers.
    pub handed_over: u64,
    /// HELLOs that resumed a session.
    pub resumed: u64,
    /// Carriers without a HELLO that were closed because a limit was reached and a newer carrier arrived.
    pub refused_carriers: u64,
    /// Sessions refused because of a limit.
    pub refused_sessions: u64,
    /// Sessions refused because the application does not accept channels.
    pub refused_busy: u64,
    /// Carriers that ended, or were closed after 5 s, without a HELLO.
    pub without_hello: u64,
    /// Carriers whose first packet was not a HELLO.
    pub malformed: u64,
    /// HELLOs that named an unknown session.
    pub unknown_session: u64,
    /// HELLOs with a wrong token or an old epoch.
    pub wrong_token: u64,
}

/// The reason why no new session is accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AcceptRefusal {
    /// A limit of this address is reached.
    #[error("too many sessions from this address")]
    TooMany,
    /// A limit of the service is reached.
    #[error("the service accepts no more sessions")]
    Full,
}

/// A counted event.
#[derive(Clone, Copy, Debug)]
pub(super) enum Counted {
    Resumed,
    Busy,
    NoHello,
    NotHello,
    UnknownSession,
    WrongToken,
}

/// The permits of an acceptor.
#[derive(Clone)]
pub(super) struct Permits {
    limits: AcceptLimits,
    taken: Arc<Mutex<Taken>>,
}

#[derive(Default)]
struct Taken {
    counters: AcceptCounters,
    by_network: HashMap<IpAddr, AddressLoad>,
    /// Carriers without a HELLO in the order of their arrival, limited by `carriers_max`.
    waiting: BTreeMap<u64, Waiting>,
}

/// A carrier without a HELLO.
struct Waiting {
    network: Option<IpAddr>,
    displaced: Arc<Notify>,
}

/// The load of one address. The entry is removed when the load is zero.
#[derive(Clone, Copy, Default)]
struct AddressLoad {
    carriers: usize,
    sessions: usize,
}

/// A permit for a carrier and then for its session. Dropping it releases the permit.
pub(super) struct Permit {
    permits: Permits,
    network: Option<IpAddr>,
    /// The number of a waiting carrier; `None` for a session.
    waiting: Option<u64>,
}

impl Permits {
    pub(super) fn new(limits: AcceptLimits) -> Self {
        Self { limits, taken: Arc::default() }
    }

    pub(super) fn check(&self, address: Option<SocketAddr>) -> Result<(), AcceptRefusal> {
        let taken = self.lock();
        if taken.counters.sessions >= self.limits.sessions_max {
            return Err(AcceptRefusal::Full);
        }
        let load = network_of(address).and_then(|network| taken.by_network.get(&network).copied());
        let load = load.unwrap_or_default();
        if load.sessions >= self.limits.sessions_per_address_max {
            return Err(AcceptRefusal::TooMany);
        }
        Ok(())
    }

    /// Returns a permit for a new carrier. If a limit is reached, an older carrier loses its permit. The returned `Notify`
    /// fires when a later carrier takes this permit.
    pub(super) fn take_carrier(&self, address: Option<SocketAddr>) -> (Permit, Arc<Notify>) {
        let network = network_of(address);
        let mut taken = self.lock();
        let of_network =
            network.and_then(|network| taken.by_network.get(&network)).map_or(0, |load| load.carriers);
        if network.is_some() && of_network >= self.limits.carriers_per_address_max {
            taken.displace_oldest_of(network);
        } else if taken.counters.carriers >= self.limits.carriers_max {
            let crowd = taken.by_network.iter().max_by_key(|(_, load)| load.carriers);
            let crowd = crowd.filter(|(_, load)| load.carriers > 0).map(|(network, _)| *network);
            taken.displace_oldest_of(crowd);
        }
        let number = taken.counters.handed_over;
        taken.counters.handed_over += 1;
        taken.counters.carriers += 1;
        if let Some(network) = network {
            taken.by_network.entry(network).or_default().carriers += 1;
        }
        let displaced = Arc::new(Notify::new());
        taken.waiting.insert(number, Waiting { network, displaced: Arc::clone(&displaced) });
        (Permit { permits: self.clone(), network, waiting: Some(number) }, displaced)
    }

    pub(super) fn count(&self, what: Counted) {
        let counters = &mut self.lock().counters;
        match what {
            Counted::Resumed => counters.resumed += 1,
            Counted::Busy => counters.refused_busy += 1,
            Counted::NoHello => counters.without_hello += 1,
            Counted::NotHello => counters.malformed += 1,
            Counted::UnknownSession => counters.unknown_session += 1,
            Counted::WrongToken => counters.wrong_token += 1,
        }
    }

    pub(super) fn counters(&self) -> AcceptCounters {
        self.lock().counters
    }

    fn lock(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().expect("no thread panics while holding the lock")
    }
}

impl Taken {
    /// Closes the carrier of a network that has waited longest. `None` stands for carriers without an address.
    fn displace_oldest_of(&mut self, network: Option<IpAddr>) {
        let oldest =
            self.waiting.iter().find(|(_, waiting)| waiting.network == network).map(|(number, _)| *number);
        if let Some(waiting) = oldest.and_then(|number| self.stop_waiting(number)) {
            self.counters.refused_carriers += 1;
            waiting.displaced.notify_one();
        }
    }

    /// Releases the permit of a waiting carrier, once.
    fn stop_waiting(&mut self, number: u64) -> Option<Waiting> {
        let waiting = self.waiting.remove(&number)?;
        self.counters.carriers -= 1;
        if let Some(load) = waiting.network.and_then(|network| self.by_network.get_mut(&network)) {
            load.carriers -= 1;
        }
        self.forget(waiting.network);
        Some(waiting)
    }

    /// An address without a load is forgotten.
    fn forget(&mut self, network: Option<IpAddr>) {
        let Some(network) = network else { return };
        if self.by_network.get(&network).is_some_and(|load| load.sessions == 0 && load.carriers == 0) {
            self.by_network.remove(&network);
        }
    }
}

impl Permit {
    /// Turns the permit of a carrier into one of a session after its HELLO. Returns `None` if there are too many
    /// sessions, or if the carrier has lost its permit.
    pub(super) fn become_session(mut self) -> Option<Permit> {
        let limits = self.permits.limits;
        let mut taken = self.permits.lock();
        let load = self.network.and_then(|network| taken.by_network.get(&network).copied());
        let is_full = taken.counters.sessions >= limits.sessions_max
            || load.is_some_and(|load| load.sessions >= limits.sessions_per_address_max);
        if is_full {
            taken.counters.refused_sessions += 1;
            drop(taken);
            return None;
        }
        let still_waits = self.waiting.is_some_and(|number| taken.stop_waiting(number).is_some());
        if !still_waits {
            drop(taken);
            return None;
        }
        taken.counters.sessions += 1;
        if let Some(network) = self.network {
            taken.by_network.entry(network).or_default().sessions += 1;
        }
        drop(taken);
        self.waiting = None;
        Some(self)
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut taken = self.permits.lock();
        if let Some(number) = self.waiting {
            // If the carrier was closed, the permit is already released.
            taken.stop_waiting(number);
            return;
        }
        taken.counters.sessions -= 1;
        if let Some(load) = self.network.and_then(|network| taken.by_network.get_mut(&network)) {
            load.sessions -= 1;
        }
        taken.forget(self.network);
    }
}

fn network_of(address: Option<SocketAddr>) -> Option<IpAddr> {
    address.map(|address| nowcast_admission::network_of(address.ip()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(carriers_max: usize, carriers_per_address_max: usize) -> Permits {
        Permits::new(AcceptLimits { carriers_max, carriers_per_address_max, ..AcceptLimits::default() })
    }

    fn is_told(displaced: &Notify) -> bool {
        let mut waiting = std::pin::pin!(displaced.notified());
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        waiting.as_mut().poll(&mut context).is_ready()
    }

    #[test]
    fn the_oldest_carrier_without_a_hello_gives_way() {
        let permits = limits(100, 3);
        let [one, other] = ["192.0.2.1:1", "192.0.2.2:1"].map(|address| address.parse().ok());
        let silent: Vec<_> = (0..3).map(|_| permits.take_carrier(one)).collect();
        let beside = permits.take_carrier(other);
        let newest = permits.take_carrier(one);
        assert_eq!(
            silent.iter().map(|(_, displaced)| is_told(displaced)).collect::<Vec<_>>(),
            [true, false, false]
        );
        assert!(!is_told(&beside.1));
        assert_eq!((permits.counters().carriers, permits.counters().refused_carriers), (4, 1));
        let session = newest.0.become_session().expect("a carrier that says HELLO begins a session");
        let mut silent = silent.into_iter();
        assert!(
            silent.next().unwrap().0.become_session().is_none(),
            "a carrier that gave way does not begin one"
        );
        drop((silent.collect::<Vec<_>>(), beside, session));
        assert_eq!((permits.counters().carriers, permits.counters().sessions), (0, 0));
        assert!(permits.lock().by_network.is_empty() && permits.lock().waiting.is_empty());
    }

    #[test]
    fn if_all_places_are_taken_the_address_with_the_most_carriers_loses_one() {
        let permits = limits(5, 4);
        let [greedy, modest, late] =
            ["192.0.2.1:1", "192.0.2.2:1", "192.0.2.3:1"].map(|address| address.parse().ok());
        let first = permits.take_carrier(modest);
        let many: Vec<_> = (0..4).map(|_| permits.take_carrier(greedy)).collect();
        let _late = permits.take_carrier(late);
        assert!(!is_told(&first.1) && is_told(&many[0].1) && !is_told(&many[1].1));
    }
}
