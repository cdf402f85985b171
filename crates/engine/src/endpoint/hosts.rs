//! The addresses by which other machines reach this one.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};

/// Maximum number of addresses to show to a person.
const ADDRESSES_MAX: usize = 16;

/// Returns the addresses of this machine on its networks. The address of the default route comes first. Empty if none is known.
#[must_use]
pub fn addresses_of_this_machine() -> Vec<IpAddr> {
    let mut all: Vec<IpAddr> = Vec::new();
    let way_out = [
        source_address_to(Ipv4Addr::UNSPECIFIED.into(), Ipv4Addr::new(192, 0, 2, 1).into()),
        source_address_to(
            Ipv6Addr::UNSPECIFIED.into(),
            Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1).into(),
        ),
    ];
    for address in way_out.into_iter().flatten().chain(of_the_kernel()) {
        let is_reachable = !address.is_loopback() && !address.is_unspecified() && !is_of_one_link(address);
        if is_reachable && !all.contains(&address) && all.len() < ADDRESSES_MAX {
            all.push(address);
        }
    }
    all.sort_by_key(IpAddr::is_ipv6);
    all
}

/// Returns the source address of packets to another address. No packet is sent.
fn source_address_to(from: IpAddr, to: IpAddr) -> Option<IpAddr> {
    let socket = UdpSocket::bind((from, 0)).ok()?;
    socket.connect((to, 9)).ok()?;
    Some(socket.local_addr().ok()?.ip())
}

/// Whether an address is valid only on one link.
fn is_of_one_link(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    }
}

/// Returns the addresses that Linux lists. Returns nothing on other systems, which use only the default route.
fn of_the_kernel() -> impl Iterator<Item = IpAddr> {
    let trie = std::fs::read_to_string("/proc/net/fib_trie").unwrap_or_default();
    let six = std::fs::read_to_string("/proc/net/if_inet6").unwrap_or_default();
    let mut addresses = Vec::new();
    let mut last = None;
    for line in trie.lines() {
        if let Some((_, address)) = line.split_once("|-- ") {
            last = address.trim().parse::<IpAddr>().ok();
        } else if line.contains("/32 host LOCAL") {
            addresses.extend(last);
        }
    }
    let digits = six.lines().filter_map(|line| u128::from_str_radix(line.split(' ').next()?, 16).ok());
    addresses.extend(digits.map(|bits| IpAddr::from(Ipv6Addr::from(bits))));
    addresses.into_iter()
}
