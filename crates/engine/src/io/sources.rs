//! The addresses from which the system sends.
//!
//! A socket that is bound to all addresses must answer from the address to which the client has sent. The system chooses an address
//! by its routes, and on a machine with one address for each network this is the same address. So the address must be stated
//! for few datagrams, and all others can leave in batches that state none.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

/// Time after which the routes are read again.
const KEPT: Duration = Duration::from_secs(30);
/// Maximum number of destinations.
const DESTINATIONS_MAX: usize = 16_384;

/// The choices of the system, by destination.
#[derive(Debug, Default)]
pub(super) struct Sources {
    chosen: HashMap<IpAddr, (Option<IpAddr>, Instant)>,
}

impl Sources {
    /// Whether the system sends to this destination from the wanted address. `None` stands for any address.
    pub(super) fn is_chosen(&mut self, to: SocketAddr, from: Option<IpAddr>, now: Instant) -> bool {
        let Some(from) = from else { return true };
        match self.chosen.get(&to.ip()) {
            Some((chosen, until)) if now < *until => *chosen == Some(from),
            _ => {
                if self.chosen.len() >= DESTINATIONS_MAX {
                    self.chosen.clear();
                }
                let chosen = choice(to);
                self.chosen.insert(to.ip(), (chosen, now + KEPT));
                chosen == Some(from)
            }
        }
    }
}

/// Returns the address from which the system sends to this destination. No packet is sent.
fn choice(to: SocketAddr) -> Option<IpAddr> {
    let any = match to {
        SocketAddr::V4(_) => IpAddr::from(Ipv4Addr::UNSPECIFIED),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = UdpSocket::bind((any, 0)).ok()?;
    socket.connect(to).ok()?;
    Some(socket.local_addr().ok()?.ip())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_address_of_the_route_needs_no_statement() {
        let (mut sources, now) = (Sources::default(), Instant::now());
        let to = SocketAddr::from((Ipv4Addr::LOCALHOST, 4_433));
        assert!(sources.is_chosen(to, None, now));
        for at in [now, now + KEPT / 2, now + 2 * KEPT] {
            assert!(sources.is_chosen(to, Some(Ipv4Addr::LOCALHOST.into()), at));
            assert!(!sources.is_chosen(to, Some(Ipv4Addr::new(127, 0, 0, 2).into()), at));
        }
    }

    #[test]
    fn destinations_are_limited() {
        let (mut sources, now) = (Sources::default(), Instant::now());
        for number in 0..u32::try_from(2 * DESTINATIONS_MAX).expect("the limit is small") {
            let address = IpAddr::from(Ipv4Addr::from_bits(0x7f00_0001 + number));
            let known = (Some(address), now + KEPT);
            if sources.chosen.len() + 1 < DESTINATIONS_MAX {
                sources.chosen.insert(address, known);
            }
        }
        for last in 1..9 {
            sources.is_chosen(([127, 9, 9, last], 1).into(), Some(Ipv4Addr::LOCALHOST.into()), now);
            assert!(sources.chosen.len() <= DESTINATIONS_MAX);
        }
    }
}
