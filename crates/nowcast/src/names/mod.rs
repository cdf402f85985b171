//! Names of services on other machines (`spec/CARRIERS.md`, section 8).
//!
//! A [`NameServer`] knows at which port of which host a service is, for as long as the service lives. An endpoint
//! advertises at the name server of its own machine by itself, and [`crate::connect`] asks the one of a host when an address
//! has no port. Names of the same machine and user need no server (see [`crate::local`]).
//!
//! | file | what is in it |
//! | --- | --- |
//! | `protocol.rs` | lines of JSON |
//! | `registry.rs` | which connection holds what |
//! | `connection.rs` | one connection: bytes in, bytes out, no socket and no clock |
//! | `server.rs`, `client.rs`, `advertisement.rs` | the same on sockets |
//! | `multicast.rs` | names without a server, by multicast DNS; only with the feature `mdns` |

mod advertisement;
mod client;
mod connection;
#[cfg(feature = "mdns")]
pub mod multicast;
mod protocol;
mod registry;
mod server;

pub use advertisement::{Advertisement, AdvertisementStatus};
pub use client::{NamesError, find, list};
pub use protocol::{LINE_BYTES_MAX, Refused, Service};
pub use server::{NameServer, NameServerConfig, NameServerHandle, NameServerStats};

/// The TCP port of name servers.
pub const PORT: u16 = 7778;

/// The longest name in bytes.
pub const NAME_BYTES_MAX: usize = 64;

/// Whether a text can be the name of a service: 1 to 64 of `a–z A–Z 0–9 . _ -`, not beginning with a dot.
#[must_use]
pub fn is_name(text: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    (1..=NAME_BYTES_MAX).contains(&text.len()) && !text.starts_with('.') && text.bytes().all(is_allowed)
}
