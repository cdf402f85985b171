//! Access to the studio: the caller's role, the page that asks, and rates.

use std::net::IpAddr;
use std::time::Instant;

use axum::http::header::{AUTHORIZATION, HeaderMap};
use axum::http::request::Parts;
use axum::http::{Method, StatusCode};
use nowcast::admission::{Claims, Peer, Policy, TokenKey, origin_of, unix_time};
use nowcast_limits::{Addresses, network_of};
use parking_lot::Mutex;
use serde::Serialize;

use super::error::ApiError;

/// The role in a token that allows its bearer to read everything in the studio.
const INSPECTOR: &str = "inspector";

/// The role in a token that allows its bearer to change worlds in the studio.
const EDITOR: &str = "editor";

/// The room for which a token may be limited to the studio.
const STUDIO: &str = "studio";

/// Requests of one address: at once, and a second on average.
const REQUESTS_BURST: usize = 120;
const REQUESTS_HZ: f64 = 40.0;

/// Maximum number of changes by one address: in a burst, and in a second on average.
const CHANGES_BURST: usize = 30;
const CHANGES_HZ: f64 = 10.0;

/// Maximum addresses that are counted.
const ADDRESSES_MAX: usize = 1_024;

/// The role of a caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Role {
    /// Reads.
    Inspector,
    /// Reads and changes.
    Editor,
}

/// A caller with access.
#[derive(Clone, Debug)]
pub(super) struct Caller {
    pub(super) role: Role,
    /// The name in the token.
    pub(super) name: Option<String>,
    pub(super) address: IpAddr,
}

/// Counts the requests of addresses.
pub(super) struct Access {
    requests: Mutex<Addresses>,
    changes: Mutex<Addresses>,
}

impl Default for Access {
    fn default() -> Self {
        Self {
            requests: Mutex::new(Addresses::new(ADDRESSES_MAX, REQUESTS_BURST, REQUESTS_HZ)),
            changes: Mutex::new(Addresses::new(ADDRESSES_MAX, CHANGES_BURST, CHANGES_HZ)),
        }
    }
}

impl Access {
    /// Checks the rate, the page and the role of a request.
    pub(super) fn check(
        &self,
        policy: &Policy,
        request: &Parts,
        host: Option<&str>,
    ) -> Result<Caller, ApiError> {
        let peer = *request.extensions.get::<Peer>().expect("every request is given its peer");
        let address = network_of(peer.address.ip());
        attempt(&self.requests, address)?;
        check_page(&request.headers, host, peer.is_encrypted)?;
        let (role, name) = role_of(policy, &request.headers, peer.is_local)?;
        if request.method != Method::GET {
            attempt(&self.changes, address)?;
        }
        Ok(Caller { role, name, address: peer.address.ip() })
    }
}

fn attempt(addresses: &Mutex<Addresses>, address: IpAddr) -> Result<(), ApiError> {
    let mut addresses = addresses.lock();
    addresses.attempt(address, Instant::now()).map_err(|_| {
        let message = "this address sends too many requests";
        ApiError::new(
            StatusCode::TOO_MANY_REQUESTS,
            "too_often",
            message,
            "wait a second, and ask less often",
        )
    })
}

/// Refuses requests of pages from other sites. Programs send no origin.
fn check_page(headers: &HeaderMap, host: Option<&str>, is_encrypted: bool) -> Result<(), ApiError> {
    let foreign = |site: &str| {
        let message = format!("a page of another site ({site}) sent the request");
        ApiError::new(
            StatusCode::FORBIDDEN,
            "foreign_origin",
            message,
            "use the page of this server at /studio/",
        )
    };
    if let Some(origin) = origin_of(headers) {
        let scheme = if is_encrypted { "https" } else { "http" };
        let is_own = host.is_some_and(|host| origin.eq_ignore_ascii_case(&format!("{scheme}://{host}")));
        if !is_own {
            return Err(foreign(&origin.chars().take(100).collect::<String>()));
        }
    }
    // Browsers send this header with every request to a trustworthy origin, also where they send no `Origin`.
    match headers.get("sec-fetch-site").map(|site| site.as_bytes()) {
        None | Some(b"same-origin" | b"none") => Ok(()),
        Some(_) => Err(foreign("Sec-Fetch-Site")),
    }
}

/// Returns the caller's role, and the name in its token. Cookies and the query are ignored, because browsers send them for
/// pages of other sites, too.
fn role_of(policy: &Policy, headers: &HeaderMap, is_local: bool) -> Result<(Role, Option<String>), ApiError> {
    let Some(key) = &policy.key else {
        return if is_local {
            Ok((Role::Editor, None))
        } else {
            Err(ApiError::new(
                StatusCode::FORBIDDEN,
                "no_role",
                "without tokens, only programs on the server's machine may use the studio",
                "serve with --token-key-file, and use a token with the role 'inspector' or 'editor'",
            ))
        };
    };
    let credentials = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    let Some(token) = credentials.and_then(|value| value.strip_prefix("Bearer ")) else {
        return Err(ApiError::new(
            StatusCode::UNAUTHORIZED,
            "no_token",
            "this server requires a token",
            "send Authorization: Bearer TOKEN (nowcast token --role editor)",
        ));
    };
    role_in_token(key, token, STUDIO)
}

/// Returns the role in a token for a room, and the name in the token.
pub(super) fn role_in_token(
    key: &TokenKey,
    token: &str,
    room: &str,
) -> Result<(Role, Option<String>), ApiError> {
    let claims = Claims::verify(token, key, room, unix_time()).map_err(|error| {
        ApiError::new(StatusCode::UNAUTHORIZED, "no_token", error.to_string(), "ask for a new token")
    })?;
    if claims.jti.is_some() {
        return Err(ApiError::no_role("a single-use token is valid for one entry to a room only"));
    }
    let roles = claims.role.as_deref().unwrap_or_default();
    let has = |role: &str| roles.split(' ').any(|known| known == role);
    let role = match () {
        () if has(EDITOR) => Role::Editor,
        () if has(INSPECTOR) => Role::Inspector,
        () => return Err(ApiError::no_role("the token has neither the role 'inspector' nor 'editor'")),
    };
    Ok((role, claims.sub))
}
