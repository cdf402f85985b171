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
    /// The channel is over. Every call after the end gives the same reason.
    #[error(transparent)]
    Closed(#[from] Closed),
    /// A put was not taken, and the bound that it broke. Nothing that was accepted before is lost by it.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// The time of the call passed before it was done: the lane was full all that time, or no reply came. A reply that
    /// comes later is dropped and counted.
    #[error("nothing came within the time that was given")]
    TimedOut,
    /// The reply stands behind more messages than this side keeps: receive them, then ask again.
    #[error("too many messages wait to be received before the reply")]
    Behind,
    /// A message is not of the type that it was read as. The text names the field.
    #[error("the message is not of the expected type: {0}")]
    Invalid(String),
}
