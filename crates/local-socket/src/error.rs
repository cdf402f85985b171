//! Errors of opening a channel.

use std::io;
use std::path::PathBuf;

use nowcast_names::NameError;

/// The reason why a name or a peer was not accepted. The text names the party at fault.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// No program advertises this name, or the program that advertised it has ended.
    #[error("no program advertises the name {0:?} on this machine")]
    NotFound(String),
    /// A running program already advertises this name.
    #[error("the name {name:?} is taken by process {pid}")]
    Taken {
        /// The name.
        name: String,
        /// The process that advertises it.
        pid: u32,
    },
    /// An invalid name. A name has 1 to 64 letters, digits, dots, dashes and underscores, and does not begin with a
    /// dot.
    #[error("{0:?} is not a name: use 1 to 64 letters, digits, '-', '_' and '.', not beginning with '.'")]
    Name(String),
    /// The directory of names belongs to another user, or others may write to it.
    #[error("the directory {0} is not private to this user")]
    Directory(PathBuf),
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

impl From<NameError> for OpenError {
    fn from(error: NameError) -> Self {
        match error {
            NameError::Taken { name, pid } => OpenError::Taken { name, pid },
            NameError::Name(name) => OpenError::Name(name),
            NameError::Directory(path) => OpenError::Directory(path),
            NameError::System(error) => OpenError::System(error),
            other => OpenError::System(io::Error::other(other)),
        }
    }
}
