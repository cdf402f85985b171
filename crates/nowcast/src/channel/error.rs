//! Errors of an open channel.

use nowcast_session::{Closed, Refused};

/// An error of an open channel.
///
/// | error | party at fault |
/// | --- | --- |
/// | [`Closed`](Self::Closed) | the one that [`Closed::by`] names |
/// | [`Refused`](Self::Refused) | the caller, or a peer that receives too slowly (`Full`) |
/// | [`TimedOut`](Self::TimedOut) | the peer, or the path to it |
/// | [`Behind`](Self::Behind) | the caller, which does not receive |
/// | [`Invalid`](Self::Invalid) | the peer, which sent another type |
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The channel is closed. Every call after the end returns the same reason.
    #[error(transparent)]
    Closed(#[from] Closed),
    /// A put was refused because it exceeds a limit, which the value names. Messages that were accepted before are not lost.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// The timeout passed before the call was done. The lane was full all the time, or no reply arrived. A reply that arrives
    /// later is dropped and counted.
    #[error("no reply or room within the timeout")]
    TimedOut,
    /// The reply waits behind more messages than this side can hold. Receive them, then send the command again.
    #[error("too many messages wait to be received before the reply")]
    Behind,
    /// A message does not have the requested type. The text names the field.
    #[error("the message is not of the expected type: {0}")]
    Invalid(String),
}
