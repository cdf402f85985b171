//! The reasons why a channel cannot be opened.

use std::io;

use nowcast_names::NameError;

/// The reason why a segment, a name or a peer was rejected. The text names the party at fault.
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
    #[error("the peer's segment belongs to user {user}, not to this one")]
    Owner {
        /// The id of the owner.
        user: u32,
    },
    /// Other users may open the peer's segment.
    #[error("the peer's segment may be opened by others: its mode is {mode:o}")]
    Permissions {
        /// The mode of the segment.
        mode: u32,
    },
    /// The peer's segment could still change its length, which could end this process.
    #[error("the peer's segment is not sealed against changes of its length")]
    NotSealed,
    /// The segment is shorter than its header states, or too short for a header.
    #[error("the peer's segment has {bytes} bytes where {needed} are needed")]
    TooShort {
        /// The length of the segment.
        bytes: usize,
        /// The length that the segment should have.
        needed: usize,
    },
    /// The segment is longer than [`crate::SEGMENT_BYTES_MAX`].
    #[error("the peer's segment has {bytes} bytes, more than any may have")]
    TooLong {
        /// The length of the segment.
        bytes: usize,
    },
    /// The file does not begin as a segment must.
    #[error("the file descriptor from the peer is not a Nowcast segment")]
    NotASegment,
    /// The peer speaks another version.
    #[error("the peer's segment has version {theirs}, this program speaks version {ours}")]
    Version {
        /// The version of the peer.
        theirs: u64,
        /// The version of this program.
        ours: u64,
    },
    /// The header does not match its checksum.
    #[error("the header of the peer's segment is damaged")]
    Header,
    /// The bounds exceed [`crate::ENTRIES_MAX`], [`crate::SEGMENT_BYTES_MAX`] or [`crate::LANES_MAX`].
    #[error("these bounds exceed the limits of a segment")]
    Bounds,
    /// The peer broke the protocol while opening.
    #[error("the peer broke the handshake: {0}")]
    Handshake(&'static str),
    /// The system refused.
    #[error("the system refused: {0}")]
    System(#[from] io::Error),
}

impl From<rustix::io::Errno> for OpenError {
    fn from(errno: rustix::io::Errno) -> Self {
        OpenError::System(errno.into())
    }
}
