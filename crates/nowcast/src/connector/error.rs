//! Connection errors, and a carrier's purpose.

use nowcast_engine::endpoint::RefusalAnswer;
use nowcast_session::Closed;

use super::address::BadAddress;

/// The reason why there is no channel. Each message states the cause and a solution.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The text is not an address.
    #[error(transparent)]
    Address(#[from] BadAddress),
    /// No service with this name is known.
    #[error("nothing is known as '{name}' at {host}: start the service, or give its port")]
    NoSuchName {
        /// The name.
        name: String,
        /// The host that was tried.
        host: String,
    },
    /// No program answers there.
    #[error("no program answers at {place} ({cause}): start the service, or check host and port")]
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
        /// The cause of the failure.
        cause: String,
    },
    /// The endpoint refuses.
    #[error("the endpoint refuses ({}): {}: {}", .0.error, .0.cause, .0.cure)]
    Refused(RefusalAnswer),
    /// The endpoint offers none of the allowed carriers.
    #[error("the endpoint offers none of the allowed carriers: allow more of them")]
    NoCarrier,
    /// The session ended before it opened.
    #[error(transparent)]
    Closed(#[from] Closed),
}

/// The purpose of a carrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Opening {
    /// Begins a new session, with the token if there is one.
    Beginning,
    /// Resumes an existing session, which proves itself.
    Resuming,
}
