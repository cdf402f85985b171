//! Addresses of services: `nowcast://HOST[:PORT]/NAME`.

use std::net::IpAddr;

use url::{Host, Url};

use crate::endpoint::is_name;

/// The address of a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Address {
    /// The host as written, without brackets; `localhost` if it was omitted.
    pub(super) host: String,
    pub(super) port: Option<u16>,
    pub(super) name: String,
}

/// The reason why a text is not an address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{text}' is not an address: {cause}; write nowcast://HOST:PORT/NAME")]
pub struct BadAddress {
    text: String,
    cause: String,
}

impl Address {
    pub(super) fn parse(text: &str) -> Result<Self, BadAddress> {
        let bad = |cause: String| BadAddress { text: text.chars().take(200).collect(), cause };
        let url = Url::parse(text).map_err(|error| bad(error.to_string()))?;
        if url.scheme() != "nowcast" {
            return Err(bad(format!("the scheme is '{}'", url.scheme())));
        }
        let name = url.path().trim_start_matches('/');
        if !is_name(name) {
            return Err(bad("the name is not 1 to 64 of a-z A-Z 0-9 . _ -".into()));
        }
        let host = match url.host() {
            None | Some(Host::Domain("")) => "localhost".to_owned(),
            Some(Host::Domain(domain)) => domain.to_owned(),
            Some(Host::Ipv4(address)) => address.to_string(),
            Some(Host::Ipv6(address)) => address.to_string(),
        };
        Ok(Self { host, port: url.port(), name: name.to_owned() })
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
    fn addresses_are_parsed_in_their_usual_notations() {
        let read = |text| {
            let address = Address::parse(text).unwrap();
            (address.host.clone(), address.port, address.name.clone(), address.is_here())
        };
        assert_eq!(read("nowcast://host:7777/a"), ("host".into(), Some(7777), "a".into(), false));
        assert_eq!(read("nowcast://[::1]:1/a.b"), ("::1".into(), Some(1), "a.b".into(), true));
        assert_eq!(read("nowcast:///tracker"), ("localhost".into(), None, "tracker".into(), true));
        assert_eq!(read("nowcast://127.0.0.1/x"), ("127.0.0.1".into(), None, "x".into(), true));
        for bad in ["", "host", "http://host/a", "nowcast://host", "nowcast://host/a/b", "nowcast://host/.a"]
        {
            assert!(Address::parse(bad).is_err(), "{bad}");
        }
    }
}
