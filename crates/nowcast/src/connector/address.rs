//! Addresses of services: `nowcast://HOST[:PORT]/NAME`, `HOST[:PORT]/NAME`, or `NAME` on this machine. A base path may stand
//! before the name, if there is a port.

use std::net::IpAddr;

use nowcast_name_server::is_name;
use url::{Host, Url};

/// The address of a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Address {
    /// The host as written, without brackets; `localhost` if it was omitted.
    pub(super) host: String,
    pub(super) port: Option<u16>,
    /// The path below which the endpoint is served: `/`, or `/game/`. Name servers do not know such a path, so it needs a port.
    pub(super) base: String,
    pub(super) name: String,
}

/// The reason why a text is not an address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{text}' is not an address: {cause}; write NAME, HOST/NAME, or nowcast://HOST:PORT/NAME")]
pub struct BadAddress {
    text: String,
    cause: String,
}

impl Address {
    pub(super) fn parse(text: &str) -> Result<Self, BadAddress> {
        let bad = |cause: String| BadAddress { text: text.chars().take(200).collect(), cause };
        let url = match (text.contains("://"), text.contains('/')) {
            (true, _) => Url::parse(text),
            (false, true) => Url::parse(&format!("nowcast://{text}")),
            (false, false) => Url::parse(&format!("nowcast://localhost/{text}")),
        };
        let url = url.map_err(|error| bad(error.to_string()))?;
        if url.scheme() != "nowcast" {
            return Err(bad(format!("the scheme is '{}'", url.scheme())));
        }
        let (base, name) = url.path().rsplit_once('/').unwrap_or_default();
        if !is_name(name) {
            return Err(bad("the name is not 1 to 64 of a-z A-Z 0-9 . _ -".into()));
        }
        if !base.is_empty() && url.port().is_none() {
            return Err(bad("a path before the name needs a port".into()));
        }
        let host = match url.host() {
            None | Some(Host::Domain("")) => "localhost".to_owned(),
            Some(Host::Domain(domain)) => domain.to_owned(),
            Some(Host::Ipv4(address)) => address.to_string(),
            Some(Host::Ipv6(address)) => address.to_string(),
        };
        Ok(Self { host, port: url.port(), base: format!("{base}/"), name: name.to_owned() })
    }

    /// Whether the address names this machine.
    pub(super) fn is_here(&self) -> bool {
        self.host == "localhost" || self.host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
    }

    /// The host as written in URLs.
    pub(super) fn host_in_url(&self) -> String {
        if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_before_the_name_is_the_base_path() {
        let address = Address::parse("host:443/games/one/plaza").unwrap();
        assert_eq!((address.base.as_str(), address.name.as_str()), ("/games/one/", "plaza"));
        assert_eq!(Address::parse("nowcast://host:443/plaza").unwrap().base, "/");
    }

    #[test]
    fn addresses_are_parsed_in_their_usual_notations() {
        let read = |text| {
            let address = Address::parse(text).unwrap();
            (address.host.clone(), address.port, address.name.clone(), address.is_here())
        };
        assert_eq!(read("nowcast://host:7777/a"), ("host".into(), Some(7777), "a".into(), false));
        assert_eq!(read("nowcast://[::1]:1/a.b"), ("::1".into(), Some(1), "a.b".into(), true));
        assert_eq!(read("nowcast:///tracker"), ("localhost".into(), None, "tracker".into(), true));
        assert_eq!(read("nowcast://127.0.0.1/x"), ("127.0.0.1".into(), None, "x".into(), true));
        assert_eq!(read("tracker"), ("localhost".into(), None, "tracker".into(), true));
        assert_eq!(read("box.local/tracker"), ("box.local".into(), None, "tracker".into(), false));
        assert_eq!(read("[::1]:7777/tracker"), ("::1".into(), Some(7777), "tracker".into(), true));
        for bad in
            ["", ".a", "a/b/c", "http://host/a", "nowcast://host", "nowcast://host/a/b", "nowcast://host/.a"]
        {
            assert!(Address::parse(bad).is_err(), "{bad}");
        }
    }
}
