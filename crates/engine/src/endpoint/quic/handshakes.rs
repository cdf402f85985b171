//! Counts handshakes in progress, and decides which clients may begin one.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard};

use nowcast_admission::network_of;

/// Maximum number of handshakes in progress with unvalidated addresses. Above it, a Retry packet makes a client validate its
/// address first (RFC 9000, section 8.1.2). A Retry costs the client a round trip and this endpoint no memory.
const UNPROVEN_MAX: usize = 32;
/// Maximum number of handshakes in progress. Further ones are refused.
pub(super) const HANDSHAKES_MAX: usize = 1_000;
/// Maximum number of handshakes in progress with one address: an IPv4 address, or the /64 of an IPv6 address. Further handshakes
/// are not answered, and the client retries a moment later.
const HANDSHAKES_PER_ADDRESS_MAX: usize = 128;
/// Maximum number of handshakes in progress with one unvalidated address. An attacker that forges a victim's address must not
/// use up the victim's places. It must not make the endpoint send much to the victim, either. For one forged packet of 1,200
/// bytes, the endpoint sends 3.6 kB to the victim (`unproven.rs`). For all of them together, it sends 7.2 kB during the time of
/// a handshake.
const UNPROVEN_PER_ADDRESS_MAX: usize = 2;

/// The handshakes in progress, by address.
#[derive(Default)]
pub(super) struct Handshakes {
    counts: Mutex<Counts>,
}

#[derive(Default)]
struct Counts {
    in_all: usize,
    by_network: HashMap<IpAddr, usize>,
}

/// One handshake in progress. Dropping the value removes the handshake from the counts.
pub(super) struct Handshake {
    all: Arc<Handshakes>,
    network: IpAddr,
}

/// The decision about a client that begins a handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reception {
    Welcome,
    /// The endpoint sends a Retry packet and stores nothing. A forged address never answers the packet.
    Prove,
    Ignore,
    Refuse,
}

impl Handshakes {
    fn lock(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().expect("no thread panics while holding the lock")
    }

    pub(super) fn judge(&self, address: IpAddr, is_proven: bool) -> Reception {
        let counts = self.lock();
        let in_all = counts.in_all;
        let of_address = counts.by_network.get(&network_of(address)).copied().unwrap_or_default();
        if !is_proven && (in_all >= UNPROVEN_MAX || of_address >= UNPROVEN_PER_ADDRESS_MAX) {
            Reception::Prove
        } else if of_address >= HANDSHAKES_PER_ADDRESS_MAX {
            Reception::Ignore
        } else if in_all >= HANDSHAKES_MAX {
            Reception::Refuse
        } else {
            Reception::Welcome
        }
    }

    pub(super) fn begin(self: &Arc<Self>, address: IpAddr) -> Handshake {
        let network = network_of(address);
        let mut counts = self.lock();
        counts.in_all += 1;
        *counts.by_network.entry(network).or_default() += 1;
        Handshake { all: Arc::clone(self), network }
    }
}

impl Drop for Handshake {
    fn drop(&mut self) {
        let mut counts = self.all.lock();
        counts.in_all -= 1;
        let Some(count) = counts.by_network.get_mut(&self.network) else { return };
        *count -= 1;
        if *count == 0 {
            counts.by_network.remove(&self.network);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_address_cannot_take_the_handshakes_of_all() {
        let handshakes = Arc::new(Handshakes::default());
        let [greedy, other] = [1, 2].map(|last| IpAddr::from([192, 0, 2, last]));
        let mut held = Vec::new();
        while handshakes.judge(greedy, false) == Reception::Welcome {
            held.push(handshakes.begin(greedy));
        }
        assert_eq!(
            (held.len(), handshakes.judge(greedy, false)),
            (UNPROVEN_PER_ADDRESS_MAX, Reception::Prove)
        );
        while handshakes.judge(greedy, true) == Reception::Welcome {
            held.push(handshakes.begin(greedy));
        }
        assert_eq!(
            (held.len(), handshakes.judge(greedy, true)),
            (HANDSHAKES_PER_ADDRESS_MAX, Reception::Ignore)
        );
        assert_eq!(handshakes.judge(other, true), Reception::Welcome);
        held.clear();
        let network: [IpAddr; 2] =
            ["2001:db8::1", "2001:db8::ffff:1"].map(|address| address.parse().unwrap());
        for _ in 0..UNPROVEN_PER_ADDRESS_MAX {
            held.push(handshakes.begin(network[0]));
        }
        assert_eq!(handshakes.judge(network[1], false), Reception::Prove, "a /64 counts as one address");
        held.clear();
        assert!(handshakes.lock().by_network.is_empty() && handshakes.lock().in_all == 0);
        assert_eq!(handshakes.judge(greedy, false), Reception::Welcome);
    }

    #[test]
    fn all_handshakes_are_limited() {
        let handshakes = Arc::new(Handshakes::default());
        let address = |number: usize| IpAddr::from((number as u32).to_be_bytes());
        let held: Vec<_> = (0..HANDSHAKES_MAX).map(|number| handshakes.begin(address(number))).collect();
        assert_eq!(handshakes.judge(address(held.len()), true), Reception::Refuse);
        assert_eq!(handshakes.judge(address(held.len()), false), Reception::Prove);
    }
}
