//! Proxies in front of an endpoint. Determines which client has sent a request, and whether that client runs on this machine
//! (`spec/CARRIERS.md`, section 7).

use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use http::header::{FORWARDED, HeaderMap, HeaderName, VIA};

use super::page::names_this_machine;

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// Prefix of the headers in which proxies describe the client: `X-Forwarded-For`, `-Host`, `-Proto` and others.
const FORWARDED_PREFIX: &str = "x-forwarded-";
/// Other headers that only proxies add.
const OTHER_FORWARDED: [&str; 5] =
    ["x-real-ip", "x-client-ip", "true-client-ip", "cf-connecting-ip", "x-cluster-client-ip"];

/// An address, or all addresses with the same prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    prefix: u8,
}

/// The text is not a network.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not an address: write one such as 127.0.0.1, or a network such as 10.0.0.0/8")]
pub struct NetworkError(String);

impl Network {
    /// Whether the network contains an address.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        fn bits(address: IpAddr) -> (u128, u8) {
            match address.to_canonical() {
                IpAddr::V4(address) => (u128::from(u32::from(address)) << 96, 32),
                IpAddr::V6(address) => (u128::from(address), 128),
            }
        }
        let ((ours, length), (theirs, other)) = (bits(self.address), bits(address));
        // A shift by 128 bits would overflow, so a prefix of 0 bits is handled separately: such a network contains every address
        // of its family.
        length == other && (self.prefix == 0 || (ours ^ theirs) >> (128 - u32::from(self.prefix)) == 0)
    }
}

impl FromStr for Network {
    type Err = NetworkError;

    fn from_str(text: &str) -> Result<Network, NetworkError> {
        let fail = || NetworkError(text.chars().take(100).collect());
        let (address, prefix) =
            text.split_once('/').map_or((text, None), |(address, prefix)| (address, Some(prefix)));
        let address: IpAddr = address.parse().map_err(|_| fail())?;
        let address = address.to_canonical();
        let longest = if address.is_ipv4() { 32 } else { 128 };
        let prefix = prefix.map_or(Ok(longest), str::parse).map_err(|_| fail())?;
        if prefix > longest { Err(fail()) } else { Ok(Network { address, prefix }) }
    }
}

/// The client that sends a request, according to the trusted parts of the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// The client's address. The port is the connection's, which may be a proxy's.
    pub address: SocketAddr,
    /// Whether the client's requests are encrypted on their way.
    pub is_encrypted: bool,
    /// Whether everything in the request indicates a program on this machine that connects directly. The address alone is no
    /// evidence, because a proxy on this machine also connects from loopback.
    pub is_local: bool,
}

impl Peer {
    /// Returns the peer of a connection on which no request has arrived yet.
    #[must_use]
    pub fn connected(address: SocketAddr, is_encrypted: bool) -> Peer {
        Peer { address, is_encrypted, is_local: false }
    }

    /// Returns the client that sends a request on a connection, given the request's host and headers.
    ///
    /// `X-Forwarded-For` counts only if a proxy that the operator has named sends it. The client is then the last address in this
    /// header that does not belong to a named proxy. If the header is missing or unreadable, the proxy's own address counts as
    /// the client's. Without `X-Forwarded-Proto` the proxy is assumed to encrypt.
    ///
    /// A client is local under three conditions. Such a request connects from loopback to a loopback host, comes from no named
    /// proxy, and has no header of a forwarded request.
    #[must_use]
    pub fn behind(proxies: &[Network], connected: Peer, host: Option<&str>, headers: &HeaderMap) -> Peer {
        let is_proxy = |address: IpAddr| proxies.iter().any(|network| network.contains(address));
        let ip = connected.address.ip().to_canonical();
        if !is_proxy(ip) {
            let is_local = ip.is_loopback() && host.is_some_and(names_this_machine) && !is_forwarded(headers);
            return Peer { is_local, ..connected };
        }
        let behind_proxy = Peer { is_local: false, ..connected };
        let all = headers.get_all(FORWARDED_FOR).iter().rev().filter_map(|value| value.to_str().ok());
        let mut named = all.flat_map(|value| value.rsplit(',')).map(|text| forwarded(text.trim()));
        let client = loop {
            match named.next() {
                Some(Some(address)) if is_proxy(address) => {}
                Some(Some(address)) => break address,
                Some(None) | None => return behind_proxy,
            }
        };
        let proto = headers.get(FORWARDED_PROTO).and_then(|value| value.to_str().ok()).unwrap_or("https");
        let is_encrypted = connected.is_encrypted || ["https", "wss"].contains(&proto.trim());
        Peer { address: SocketAddr::new(client, connected.address.port()), is_encrypted, ..behind_proxy }
    }
}

/// Whether a header shows that a proxy forwarded the request.
fn is_forwarded(headers: &HeaderMap) -> bool {
    let is_of_proxy = |name: &HeaderName| {
        name.as_str().starts_with(FORWARDED_PREFIX) || OTHER_FORWARDED.contains(&name.as_str())
    };
    headers.contains_key(FORWARDED) || headers.contains_key(VIA) || headers.keys().any(is_of_proxy)
}

/// Reads an address as proxies write it: bare, or with a port.
fn forwarded(text: &str) -> Option<IpAddr> {
    let bare = text.trim_matches(['[', ']']).parse().ok();
    bare.or_else(|| Some(text.parse::<SocketAddr>().ok()?.ip())).map(|address: IpAddr| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_contain_addresses_with_their_prefix_only() {
        let within = |network: &str, address: &str| {
            network.parse::<Network>().unwrap().contains(address.parse().unwrap())
        };
        assert!(within("127.0.0.1", "127.0.0.1") && within("127.0.0.1", "::ffff:127.0.0.1"));
        assert!(within("10.0.0.0/8", "10.255.0.1") && !within("10.0.0.0/8", "11.0.0.1"));
        assert!(within("2001:db8::/32", "2001:db8:ffff::1") && !within("2001:db8::/32", "2001:db9::1"));
        assert!(
            within("0.0.0.0/0", "192.0.2.1") && !within("0.0.0.0/0", "2001:db8::1") && within("::/0", "::1")
        );
        for wrong in ["", "localhost", "10.0.0.0/33", "10.0.0.0/", "::/129", "10.0.0.0/-1", "10.0.0.1:80"] {
            assert!(wrong.parse::<Network>().is_err(), "{wrong}");
        }
    }

    fn header_map(headers: &[(&'static str, &'static str)]) -> HeaderMap {
        headers.iter().map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap())).collect()
    }

    #[test]
    fn forwarded_headers_count_only_from_named_proxies() {
        let proxies: Vec<Network> = ["127.0.0.1", "10.0.0.0/8"].map(|text| text.parse().unwrap()).into();
        let seen = |connected: &str, headers: &[(&'static str, &'static str)]| {
            let connected = Peer::connected(connected.parse().unwrap(), false);
            let peer = Peer::behind(&proxies, connected, Some("localhost"), &header_map(headers));
            assert!(!peer.is_local, "{connected:?}");
            (peer.address.ip().to_string(), peer.is_encrypted)
        };
        let is = |address: &str, is_encrypted| (address.to_owned(), is_encrypted);
        let forged = [("x-forwarded-for", "192.0.2.9"), ("x-forwarded-proto", "https")];
        assert_eq!(
            seen("198.51.100.1:1", &forged),
            is("198.51.100.1", false),
            "a stranger forges the header"
        );
        assert_eq!(seen("127.0.0.1:1", &forged), is("192.0.2.9", true));
        // A client may send the header itself, and proxies append to it.
        assert_eq!(
            seen("127.0.0.1:1", &[("x-forwarded-for", "127.0.0.1, 192.0.2.9, 10.1.1.1")]),
            is("192.0.2.9", true)
        );
        assert_eq!(seen("10.1.1.1:1", &[("x-forwarded-for", "[2001:db8::1]:443")]), is("2001:db8::1", true));
        let plain = [("x-forwarded-for", "192.0.2.9"), ("x-forwarded-proto", "http")];
        assert_eq!(seen("127.0.0.1:1", &plain), is("192.0.2.9", false));
        assert_eq!(seen("127.0.0.1:1", &[("x-forwarded-for", "192.0.2.9, unknown")]), is("127.0.0.1", false));
        assert_eq!(seen("127.0.0.1:1", &[]), is("127.0.0.1", false));
    }

    #[test]
    fn requests_through_an_unnamed_proxy_on_this_machine_are_not_local() {
        let is_local = |connected: &str, host: Option<&str>, headers: &[(&'static str, &'static str)]| {
            let connected = Peer::connected(connected.parse().unwrap(), false);
            Peer::behind(&[], connected, host, &header_map(headers)).is_local
        };
        for host in ["localhost", "localhost:7777", "127.0.0.1:7777", "[::1]:7777", "LOCALHOST."] {
            assert!(is_local("127.0.0.1:1", Some(host), &[]), "{host}");
        }
        assert!(is_local("[::1]:1", Some("localhost"), &[("user-agent", "curl")]));
        assert!(is_local("[::ffff:127.0.0.1]:1", Some("localhost"), &[]));
        assert!(!is_local("192.0.2.9:1", Some("localhost"), &[]), "another machine asks");
        for host in [Some("play.example.org"), Some("192.0.2.1:7777"), Some("localhost.example.org"), None] {
            assert!(!is_local("127.0.0.1:1", host, &[]), "{host:?}");
        }
        for name in
            ["forwarded", "via", "x-real-ip", "cf-connecting-ip", "x-forwarded-for", "x-forwarded-host"]
        {
            assert!(!is_local("127.0.0.1:1", Some("localhost"), &[(name, "127.0.0.1")]), "{name}");
        }
    }
}
