//! How many are let in, and what was refused.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard};

use super::AcceptRefusal;

/// How many carriers and sessions an acceptor takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AcceptLimits {
    /// Sessions in all.
    pub sessions_max: usize,
    /// Sessions from one address: an IPv4 address, or the /64 of an IPv6 address.
    pub sessions_per_address_max: usize,
    /// Carriers that have not said HELLO yet.
    pub carriers_max: usize,
    /// Such carriers from one address.
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

/// What an acceptor has done since it began, and holds now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AcceptCounters {
    /// Sessions that are here.
    pub sessions: usize,
    /// Carriers that have not said HELLO yet.
    pub carriers: usize,
    /// Carriers that were handed over.
    pub handed_over: u64,
    /// HELLOs that resumed a session.
    pub resumed: u64,
    /// Carriers dropped because too many had not said HELLO.
    pub refused_carriers: u64,
    /// Sessions refused because of a limit.
    pub refused_sessions: u64,
    /// Sessions refused because the application does not accept.
    pub refused_busy: u64,
    /// Carriers that ended, or were closed after 5 s, without a HELLO.
    pub without_hello: u64,
    /// Carriers whose first packet was not a HELLO.
    pub malformed: u64,
    /// HELLOs that named a session which is not here.
    pub unknown_session: u64,
    /// HELLOs with a wrong token or an old epoch.
    pub wrong_token: u64,
}

/// Something to be counted.
#[derive(Clone, Copy, Debug)]
pub(super) enum Counted {
    Resumed,
    Busy,
    NoHello,
    NotHello,
    UnknownSession,
    WrongToken,
}

/// The places of an acceptor.
#[derive(Clone)]
pub(super) struct Places {
    limits: AcceptLimits,
    taken: Arc<Mutex<Taken>>,
}

#[derive(Default)]
struct Taken {
    counters: AcceptCounters,
    by_network: HashMap<IpAddr, Guest>,
}

/// What one address holds; it is forgotten when it holds nothing.
#[derive(Clone, Copy, Default)]
struct Guest {
    carriers: usize,
    sessions: usize,
}

/// A place, first of a carrier and then of a session; dropping it frees it.
pub(super) struct Place {
    places: Places,
    network: Option<IpAddr>,
    is_session: bool,
}

impl Places {
    pub(super) fn new(limits: AcceptLimits) -> Self {
        Self { limits, taken: Arc::default() }
    }

    pub(super) fn check(&self, address: Option<SocketAddr>) -> Result<(), AcceptRefusal> {
        let taken = self.lock();
        if taken.counters.sessions >= self.limits.sessions_max
            || taken.counters.carriers >= self.limits.carriers_max
        {
            return Err(AcceptRefusal::Full);
        }
        let guest = network_of(address).and_then(|network| taken.by_network.get(&network).copied());
        let guest = guest.unwrap_or_default();
        if guest.sessions >= self.limits.sessions_per_address_max
            || guest.carriers >= self.limits.carriers_per_address_max
        {
            return Err(AcceptRefusal::TooMany);
        }
        Ok(())
    }

    /// Takes a place for a carrier, or counts that there is none. Resuming is possible while no new session would be.
    pub(super) fn take_carrier(&self, address: Option<SocketAddr>) -> Option<Place> {
        let network = network_of(address);
        let mut taken = self.lock();
        taken.counters.handed_over += 1;
        let guest = network.and_then(|network| taken.by_network.get(&network).copied()).unwrap_or_default();
        if taken.counters.carriers >= self.limits.carriers_max
            || guest.carriers >= self.limits.carriers_per_address_max
        {
            taken.counters.refused_carriers += 1;
            return None;
        }
        taken.counters.carriers += 1;
        if let Some(network) = network {
            taken.by_network.entry(network).or_default().carriers += 1;
        }
        Some(Place { places: self.clone(), network, is_session: false })
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
        self.taken.lock().expect("nobody panics while holding it")
    }
}

impl Place {
    /// The carrier said HELLO: its place becomes a session's, if there is one.
    pub(super) fn become_session(mut self) -> Option<Place> {
        let limits = self.places.limits;
        let mut taken = self.places.lock();
        let guest = self.network.and_then(|network| taken.by_network.get(&network).copied());
        let is_full = taken.counters.sessions >= limits.sessions_max
            || guest.is_some_and(|guest| guest.sessions >= limits.sessions_per_address_max);
        if is_full {
            taken.counters.refused_sessions += 1;
            drop(taken);
            return None;
        }
        taken.counters.carriers -= 1;
        taken.counters.sessions += 1;
        if let Some(guest) = self.network.and_then(|network| taken.by_network.get_mut(&network)) {
            guest.carriers -= 1;
            guest.sessions += 1;
        }
        drop(taken);
        self.is_session = true;
        Some(self)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.places.lock();
        if self.is_session {
            taken.counters.sessions -= 1;
        } else {
            taken.counters.carriers -= 1;
        }
        let Some(network) = self.network else { return };
        let Some(guest) = taken.by_network.get_mut(&network) else { return };
        if self.is_session {
            guest.sessions -= 1;
        } else {
            guest.carriers -= 1;
        }
        if guest.sessions == 0 && guest.carriers == 0 {
            taken.by_network.remove(&network);
        }
    }
}

/// Who counts as one address: an IPv4 address, or the /64 of an IPv6 address, which is what one customer gets.
fn network_of(address: Option<SocketAddr>) -> Option<IpAddr> {
    Some(match address?.ip().to_canonical() {
        IpAddr::V4(address) => address.into(),
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            IpAddr::from([a, b, c, d, 0, 0, 0, 0])
        }
    })
}
