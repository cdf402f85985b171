//! Why there is no channel, and what a carrier is opened for.

use nowcast_session::Closed;

use super::address::BadAddress;
use crate::endpoint::RefusalAnswer;

/// Why there is no channel. Each message names the cause and what can be done.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// It is not an address.
    #[error(transparent)]
    Address(#[from] BadAddress),
    /// Nothing of this name is known.
    #[error("nothing is known as '{name}' at {host}: start the service, or give its port")]
    NoSuchName {
        /// The name.
        name: String,
        /// Where it was looked for.
        host: String,
    },
    /// Nobody answers there.
    #[error("nobody answers at {place} ({cause}): start the service, or check host and port")]
    Unreachable {
        /// Host and port.
        place: String,
        /// The system's error.
        cause: String,
    },
    /// The peer at the address speaks another protocol.
    #[error("the peer at {place} cannot be used ({cause}): check the port and the trusted certificates")]
    Broken {
        /// Host and port.
        place: String,
        /// The fault.
        cause: String,
    },
    /// The endpoint refuses.
    #[error("the endpoint refuses ({}): {}: {}", .0.error, .0.cause, .0.cure)]
    Refused(RefusalAnswer),
    /// None of the carriers that are wanted is offered.
    #[error("none of the carriers that are wanted is offered: allow more of them")]
    NoCarrier,
    /// The session ended before it began.
    #[error(transparent)]
    Closed(#[from] Closed),
}

/// The purpose of a carrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Opening {
    /// A new session, with the token if there is one.
    Beginning,
    /// A session that goes on, which proves itself.
    Resuming,
}
