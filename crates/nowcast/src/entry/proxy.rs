//! Proxies before an endpoint: for whom they speak (`spec/CARRIERS.md`, section 7).

use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use hyper::header::{HeaderMap, HeaderName};

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// An address, or all that begin as it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    prefix: u8,
}

/// Why something is not a network.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not an address: write one such as 127.0.0.1, or a network such as 10.0.0.0/8")]
pub struct NetworkError(String);

impl Network {
    /// Whether an address is in it.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        fn bits(address: IpAddr) -> (u128, u8) {
            match address.to_canonical() {
                IpAddr::V4(address) => (u128::from(u32::from(address)) << 96, 32),
                IpAddr::V6(address) => (u128::from(address), 128),
            }
        }
        let ((ours, length), (theirs, other)) = (bits(self.address), bits(address));
        // A shift by all bits is none in this language, and a prefix of none contains all.
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

/// Who asks, as far as it can be believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Where it is. The port is the connection's, which may be a proxy's.
    pub address: SocketAddr,
    /// Whether what it says is encrypted on its way.
    pub is_encrypted: bool,
}

impl Peer {
    /// Who asks on a connection. Only a proxy that the operator has named is believed what it says about others: the last address in
    /// `X-Forwarded-For` that is not such a proxy itself, and `X-Forwarded-Proto`, without which it is taken for one that encrypts.
    #[must_use]
    pub fn behind(proxies: &[Network], connected: Peer, headers: &HeaderMap) -> Peer {
        let is_proxy = |address: IpAddr| proxies.iter().any(|network| network.contains(address));
        if !is_proxy(connected.address.ip()) {
            return connected;
        }
        let all = headers.get_all(FORWARDED_FOR).iter().rev().filter_map(|value| value.to_str().ok());
        let mut named = all.flat_map(|value| value.rsplit(',')).map(|text| forwarded(text.trim()));
        let client = loop {
            match named.next() {
                Some(Some(address)) if is_proxy(address) => {}
                Some(Some(address)) => break address,
                // What cannot be read may hide anybody, so that the proxy answers for it.
                Some(None) | None => return connected,
            }
        };
        let proto = headers.get(FORWARDED_PROTO).and_then(|value| value.to_str().ok()).unwrap_or("https");
        let is_encrypted = connected.is_encrypted || ["https", "wss"].contains(&proto.trim());
        Peer { address: SocketAddr::new(client, connected.address.port()), is_encrypted }
    }
}

/// An address as proxies write it: bare, or with a port.
fn forwarded(text: &str) -> Option<IpAddr> {
    let bare = text.trim_matches(['[', ']']).parse().ok();
    bare.or_else(|| Some(text.parse::<SocketAddr>().ok()?.ip())).map(|address: IpAddr| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_holds_what_begins_as_it_does() {
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

    #[test]
    fn only_a_named_proxy_is_believed_for_whom_it_speaks() {
        let proxies: Vec<Network> = ["127.0.0.1", "10.0.0.0/8"].map(|text| text.parse().unwrap()).into();
        let seen = |connected: &str, headers: &[(&'static str, &'static str)]| {
            let headers: HeaderMap = headers
                .iter()
                .map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap()))
                .collect();
            let connected = Peer { address: connected.parse().unwrap(), is_encrypted: false };
            let peer = Peer::behind(&proxies, connected, &headers);
            (peer.address.ip().to_string(), peer.is_encrypted)
        };
        let is = |address: &str, is_encrypted| (address.to_owned(), is_encrypted);
        let forged = [("x-forwarded-for", "192.0.2.9"), ("x-forwarded-proto", "https")];
        assert_eq!(seen("198.51.100.1:1", &forged), is("198.51.100.1", false), "a stranger says so");
        assert_eq!(seen("127.0.0.1:1", &forged), is("192.0.2.9", true));
        // A client may send the header, too; proxies add to it.
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
}
