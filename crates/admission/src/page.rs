//! Admission of web pages (`spec/CARRIERS.md`, section 7).

use std::borrow::Cow;
use std::net::IpAddr;

use http::header::{HOST, HeaderMap, ORIGIN};
use http::uri::Authority;
use http::{Uri, Version};
use url::Url;

/// The requesting page and the requested host, as the request states them. Browsers state both truthfully.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Page<'a> {
    /// The requested host and port, from `Host` or `:authority`.
    pub host: Option<&'a str>,
    /// The requesting page, if any.
    pub origin: Option<&'a str>,
}

impl Page<'_> {
    /// Whether the page came from the requested host, over HTTP or HTTPS.
    pub(super) fn is_of_host(&self) -> bool {
        let origin = self.origin.and_then(|origin| origin.split_once("://"));
        origin.is_some_and(|(scheme, host)| ["http", "https"].contains(&scheme) && Some(host) == self.host)
    }
}

/// The reason why a text is not the origin of a web page.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' is not an origin: write SCHEME://HOST or SCHEME://HOST:PORT without a path, such as https://example.org"
)]
pub struct OriginError(pub String);

/// Normalises an origin as browsers write it: lower case, without the scheme's default port.
///
/// # Errors
/// [`OriginError`] for an origin that no browser sends.
///
/// ```
/// use nowcast_admission::parse_origin;
///
/// assert_eq!(parse_origin("https://Example.org:443/")?, "https://example.org");
/// assert!(parse_origin("example.org").is_err() && parse_origin("null").is_err());
/// # Ok::<_, nowcast_admission::OriginError>(())
/// ```
pub fn parse_origin(text: &str) -> Result<String, OriginError> {
    let fail = || OriginError(text.chars().take(100).collect());
    let (scheme, rest) = text.split_once("://").ok_or_else(fail)?;
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    let is_scheme = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.chars().all(|next| next.is_ascii_alphanumeric() || "+-.".contains(next));
    if !is_scheme || rest.is_empty() || rest.contains(['/', '?', '#', '@', '\\', '*', ',', '%']) {
        return Err(fail());
    }
    if rest.contains(|next: char| next.is_whitespace() || next.is_control()) {
        return Err(fail());
    }
    let url = Url::parse(&format!("{scheme}://{rest}/")).map_err(|_| fail())?;
    let origin = url.origin();
    if origin.is_tuple() {
        return Ok(origin.ascii_serialization());
    }
    // The scheme of an application's own pages, such as `capacitor://localhost`, may have any host.
    if url.scheme() == "file" || !rest.is_ascii() {
        Err(fail())
    } else {
        Ok(format!("{}://{rest}", url.scheme()))
    }
}

/// Returns the origin in a request's headers. Bytes that are not text are replaced, and several origins become one origin
/// that is never allowed. So neither case looks like a request without an origin.
#[must_use]
pub fn origin_of(headers: &HeaderMap) -> Option<Cow<'_, str>> {
    let mut all = headers.get_all(ORIGIN).iter().map(|origin| String::from_utf8_lossy(origin.as_bytes()));
    let first = all.next()?;
    match all.next() {
        None => Some(first),
        Some(second) => Some(format!("{first}, {second}").into()),
    }
}

/// Returns the host of a request: from the request target if it is in absolute form, or else from the `Host` header.
///
/// # Errors
/// An error for a request that must be answered with 400 (RFC 9112, section 3.2): HTTP/1.1 without `Host`, with several `Host`
/// headers, or with an invalid host.
pub fn host_of<'a>(
    version: Version,
    uri: &'a Uri,
    headers: &'a HeaderMap,
) -> Result<Option<&'a str>, &'static str> {
    let mut all = headers.get_all(HOST).iter();
    let host = match all.next() {
        None if version == Version::HTTP_11 => return Err("a request without Host"),
        None => None,
        Some(host) => Some(host.to_str().map_err(|_| "an invalid Host")?),
    };
    if all.next().is_some() {
        return Err("a request with more than one Host");
    }
    if host.is_some_and(|host| authority(host).is_none()) {
        return Err("an invalid Host");
    }
    Ok(uri.authority().map(Authority::as_str).or(host))
}

/// The configured origins, each with its host.
#[derive(Debug, Default)]
pub(super) struct Named(Vec<(String, Option<String>)>);

impl Named {
    /// An invalid origin matches nothing and is skipped; [`Policy::check`](super::Policy::check) reports it.
    pub(super) fn new(origins: &[String]) -> Named {
        let read = origins.iter().filter_map(|origin| parse_origin(origin).ok());
        let host = |origin: &str| {
            origin.split_once("://").and_then(|(_, rest)| authority(rest)).map(|(host, _)| host)
        };
        Named(read.map(|origin| (origin.clone(), host(&origin))).collect())
    }

    pub(super) fn has(&self, origin: &str) -> bool {
        self.0.iter().any(|(named, _)| named == origin)
    }

    fn has_host(&self, host: &str) -> bool {
        self.0.iter().any(|(_, named)| named.as_deref() == Some(host))
    }
}

/// The web pages that an endpoint admits if it is open only to its own machine. These pages are the endpoint's own pages and
/// those of configured origins.
#[derive(Clone, Copy, Debug)]
pub(super) struct OwnPages {
    /// The endpoint's port, if known.
    pub(super) port: Option<u16>,
}

impl OwnPages {
    /// Whether a host is this machine or is part of a configured origin.
    pub(super) fn knows_host(self, named: &Named, host: &str) -> bool {
        authority(host).is_some_and(|(host, _)| is_this_machine(&host) || named.has_host(&host))
    }

    /// Whether a page at this origin is one of the endpoint's own pages. `host` is the host that the page requests.
    pub(super) fn is_own(self, origin: &str, host: Option<&str>) -> bool {
        let Some((scheme, rest)) = origin.split_once("://") else { return false };
        let own_port = match scheme {
            "http" => 80,
            "https" => 443,
            _ => return false,
        };
        let Some((name, port)) = authority(rest) else { return false };
        let port = port.unwrap_or(own_port);
        let asked = host.and_then(authority).map(|(_, asked)| asked.unwrap_or(own_port));
        is_this_machine(&name) && (asked == Some(port) || self.port == Some(port))
    }
}

/// Splits `HOST[:PORT]` into the host, in lower case and without a closing dot, and the port.
fn authority(text: &str) -> Option<(String, Option<u16>)> {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, Some(port)),
        _ => (text, None),
    };
    let port = match port {
        None | Some("") => None,
        Some(port) if port.bytes().all(|digit| digit.is_ascii_digit()) => Some(port.parse().ok()?),
        Some(_) => return None,
    };
    let bracketed = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let is_host = match bracketed {
        Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
        None => {
            !host.is_empty()
                && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte))
        }
    };
    let host = host.strip_suffix('.').unwrap_or(host);
    is_host.then(|| (host.to_ascii_lowercase(), port))
}

/// Whether a `HOST[:PORT]` names this machine: `localhost` or a loopback address.
pub(super) fn names_this_machine(host: &str) -> bool {
    authority(host).is_some_and(|(host, _)| is_this_machine(&host))
}

fn is_this_machine(host: &str) -> bool {
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    host == "localhost" || bare.parse().is_ok_and(|address: IpAddr| address.to_canonical().is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_are_no_origin_are_refused_with_the_expected_form() {
        for (written, read) in [
            ("https://example.org", "https://example.org"),
            ("HTTPS://Example.ORG:443/", "https://example.org"),
            ("http://localhost:5173", "http://localhost:5173"),
            ("http://[::1]:80", "http://[::1]"),
            ("https://bücher.example", "https://xn--bcher-kva.example"),
            ("capacitor://localhost", "capacitor://localhost"),
        ] {
            assert_eq!(parse_origin(written).as_deref(), Ok(read));
        }
        for wrong in [
            "",
            "*",
            "null",
            "example.org",
            "//example.org",
            "https://",
            "https:///",
            "https://*.example.org",
            "https://example.org/path",
            "https://user@example.org",
            "https://example.org?x",
            "https://a b",
            "https://example.org:99999",
            "file:///etc/passwd",
            "https://a,https://b",
            "://x",
            "https://example.org#x",
        ] {
            let error = parse_origin(wrong).expect_err(wrong).to_string();
            assert!(error.contains("SCHEME://HOST"), "{error}");
        }
    }

    #[test]
    fn a_host_is_this_machine_only_by_its_own_names() {
        let pages = OwnPages { port: Some(7_777) };
        let named = Named::new(&["https://robot.example:8443".into()]);
        for own in [
            "localhost",
            "LOCALHOST:1",
            "localhost.:80",
            "127.0.0.1:7777",
            "127.9.9.9",
            "[::1]:7777",
            "[::1]",
            "[::ffff:127.0.0.1]",
            "robot.example:7777",
        ] {
            assert!(pages.knows_host(&named, own), "{own}");
        }
        for foreign in [
            "",
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "192.0.2.1",
            "[::2]",
            "::1",
            "localhost:x",
            "evil.example@localhost",
            "0.0.0.0",
            "[::]",
        ] {
            assert!(!pages.knows_host(&named, foreign), "{foreign}");
        }
    }

    #[test]
    fn an_endpoints_own_pages_are_those_at_its_port_on_this_machine() {
        let pages = OwnPages { port: Some(7_777) };
        for (origin, host) in [
            ("http://localhost:7777", "127.0.0.1:7777"),
            ("http://127.0.0.1:7777", "localhost:9"),
            ("https://[::1]:8080", "localhost:8080"),
            ("http://localhost", "localhost"),
            ("https://localhost", "localhost:443"),
        ] {
            assert!(pages.is_own(origin, Some(host)), "{origin} at {host}");
        }
        for (origin, host) in [
            ("null", "localhost:7777"),
            ("http://localhost:3000", "localhost:7777"),
            ("http://evil.example:7777", "localhost:7777"),
            ("http://evil.example:7777", "evil.example:7777"),
            ("file://", "localhost:7777"),
            ("ftp://localhost:7777", "localhost:7777"),
            ("http://localhost:7777, http://evil.example", "localhost:7777"),
            ("", "localhost:7777"),
            ("http://", ""),
            ("http://localhost\u{fffd}:7777", "localhost:7777"),
            ("http://localhost:7777/", "localhost:7777"),
        ] {
            assert!(!pages.is_own(origin, Some(host)), "{origin} at {host}");
        }
    }
}
