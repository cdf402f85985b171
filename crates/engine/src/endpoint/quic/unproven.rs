//! Limits the bytes sent to an unvalidated address to three times the bytes received from it (RFC 9000, section 8.1). So an
//! attacker that forges a victim's address cannot make this endpoint send more to the victim.
//!
//! QUIC's library begins a datagram while the limit is not reached, and the datagram may exceed the limit. Such a datagram is
//! dropped, as if the network had lost it.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// Minimum size of a first packet. An endpoint drops a smaller one (RFC 9000, section 14.1).
const FIRST_PACKET_BYTES: usize = 1_200;

/// Maximum number of bytes sent for each byte received.
const FACTOR: usize = 3;

/// Time after a failed handshake during which the connection may still send its close.
const LINGER: Duration = Duration::from_secs(10);

/// Maximum number of addresses that are watched at one time.
const ADDRESSES_MAX: usize = 4_096;

/// The unvalidated addresses of one endpoint.
#[derive(Default)]
pub(super) struct Unproven {
    budgets: HashMap<SocketAddr, Budget>,
}

struct Budget {
    received: usize,
    sent: usize,
    /// Time at which the address is forgotten, if its handshake has failed.
    until: Option<Instant>,
}

impl Unproven {
    /// Watches the handshake of an address that has sent its first packet. Returns `false` if too many are watched already.
    pub(super) fn begin(&mut self, address: SocketAddr, now: Instant) -> bool {
        let budgets = &mut self.budgets;
        budgets.retain(|_, budget| budget.until.is_none_or(|until| now < until));
        let is_room = budgets.len() < ADDRESSES_MAX || budgets.contains_key(&address);
        if is_room {
            let budget = budgets.entry(address).or_insert(Budget { received: 0, sent: 0, until: None });
            budget.received += FIRST_PACKET_BYTES;
            budget.until = None;
        }
        is_room
    }

    /// Ends the watch, because the address has answered and is therefore not forged.
    pub(super) fn prove(&mut self, address: SocketAddr) {
        self.budgets.remove(&address);
    }

    /// Records that the handshake ended without an answer from the address.
    pub(super) fn fail(&mut self, address: SocketAddr, now: Instant) {
        if let Some(budget) = self.budgets.get_mut(&address) {
            budget.until = Some(now + LINGER);
        }
    }

    /// Counts bytes from an address.
    pub(super) fn received(&mut self, address: SocketAddr, bytes: usize) {
        if !self.budgets.is_empty()
            && let Some(budget) = self.budgets.get_mut(&address)
        {
            budget.received += bytes;
        }
    }

    /// Takes datagrams of one size from the budget of an address. The last datagram may be shorter. Returns the number of bytes
    /// of the datagrams that may be sent.
    pub(super) fn take(&mut self, address: SocketAddr, bytes: usize, datagram_bytes: usize) -> usize {
        if self.budgets.is_empty() {
            return bytes;
        }
        let Some(budget) = self.budgets.get_mut(&address) else { return bytes };
        let left = (FACTOR * budget.received).saturating_sub(budget.sent);
        let whole = left / datagram_bytes.max(1) * datagram_bytes;
        let allowed = if bytes <= left { bytes } else { whole };
        budget.sent += allowed;
        allowed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unproven_address_is_sent_whole_datagrams_within_three_times_its_bytes() {
        let (mut unproven, now) = (Unproven::default(), Instant::now());
        let address = SocketAddr::from(([192, 0, 2, 1], 4_433));
        assert_eq!(unproven.take(address, 9_000, 1_200), 9_000, "nobody begins a handshake");
        assert!(unproven.begin(address, now));
        assert_eq!(unproven.take(address, 1_570, 1_200), 1_570);
        assert_eq!(unproven.take(address, 1_570, 1_200), 1_570);
        assert_eq!(unproven.take(address, 1_200, 1_200), 0, "3,140 of 3,600 bytes are used");
        assert_eq!(unproven.take(address, 400, 400), 400);
        unproven.received(address, 1_200);
        assert_eq!(unproven.take(address, 4_800, 1_200), 3_600);
        unproven.prove(address);
        assert_eq!(unproven.take(address, 9_000, 1_200), 9_000);
    }

    #[test]
    fn address_whose_handshake_failed_stays_limited_until_its_connection_is_forgotten() {
        let (mut unproven, now) = (Unproven::default(), Instant::now());
        let [address, other] = [1, 2].map(|last| SocketAddr::from(([192, 0, 2, last], 4_433)));
        assert!(unproven.begin(address, now));
        unproven.fail(address, now);
        assert_eq!(unproven.take(address, 4_800, 1_200), 3_600);
        assert!(unproven.begin(other, now + LINGER));
        assert_eq!(unproven.take(address, 4_800, 1_200), 4_800, "the address is forgotten");
        for port in 0..u16::try_from(ADDRESSES_MAX).expect("the limit is small") {
            unproven.begin(SocketAddr::from(([192, 0, 2, 3], port)), now + LINGER);
        }
        assert!(!unproven.begin(address, now + LINGER), "no more are watched");
        assert!(unproven.begin(other, now + LINGER), "watched addresses stay watched");
    }
}
