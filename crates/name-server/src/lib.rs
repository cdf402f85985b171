//! Names of services on other machines (`spec/CARRIERS.md`, section 8).
//!
//! A [`NameServer`] maps names to ports and hosts, while the services exist. An endpoint advertises at the name server
//! of its own machine automatically. `nowcast::connect` asks the name server of a host if an address has no port. Names
//! of the same machine and user need no server (`crates/names`).
//!
//! | file | content |
//! | --- | --- |
//! | `protocol.rs` | lines of JSON |
//! | `registry.rs` | the names of each connection |
//! | `connection.rs` | one connection: bytes in, bytes out, no socket and no clock |
//! | `hostile.rs` | input that no client sends, for fuzzing |
//! | `server.rs`, `client.rs`, `advertisement.rs` | server and clients on sockets |

mod advertisement;
mod client;
mod connection;
mod hostile;
mod protocol;
mod registry;
mod server;

pub use advertisement::{Advertisement, AdvertisementStatus};
pub use client::{NamesError, find, list};
#[doc(hidden)]
pub use hostile::hostile;
pub use nowcast_names::{NAME_BYTES_MAX, is_name};
pub use protocol::{LINE_BYTES_MAX, Refused, Service};
pub use server::{NameServer, NameServerConfig, NameServerHandle, NameServerStats};

/// The TCP port of name servers.
pub const PORT: u16 = 7778;
