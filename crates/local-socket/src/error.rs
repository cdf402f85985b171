//! Errors of opening a channel.

use std::io;

use nowcast_names::NameError;

/// The reason why a name or a peer was not accepted. The text names the party at fault.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// No program advertises this name, or the program that advertised it has ended.
    #[error("no program advertises the name {0:?} on this machine")]
    NotFound(String),
    /// The name cannot be used: it is invalid or taken, or the directory of names is not private.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The peer did not answer within the time limit.
    #[error("the peer did not answer in time")]
    TimedOut,
    /// The peer belongs to another user.
    #[error("the peer does not belong to this user")]
    Stranger,
    /// The peer speaks another version.
    #[error("the peer speaks version {theirs} of local channels, this program speaks version {ours}")]
    Version {
        /// The version of the peer.
        theirs: u32,
        /// The version of this program.
        ours: u32,
    },
    /// The bounds exceed the limits of at most 8 lanes, each with at most 16,777,216 entries and 1 GiB.
    #[error("these bounds exceed the capacity of a channel")]
    Bounds,
    /// The peer broke the protocol while opening.
    #[error("the peer broke the handshake: {0}")]
    Handshake(&'static str),
    /// The system refused.
    #[error("the system refused: {0}")]
    System(#[from] io::Error),
}
