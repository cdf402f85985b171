//! The sockets of this system. All transports guarantee that only programs of the owning user can connect.
//!
//! Each service has a file in the private directory of names. Clients find the service by this file.

#[cfg(any(not(unix), test))]
mod loopback;
#[cfg(unix)]
mod unix;

#[cfg(not(unix))]
pub(super) use loopback::{Socket, admit, connect};
#[cfg(unix)]
pub(super) use unix::{Socket, admit, connect};
