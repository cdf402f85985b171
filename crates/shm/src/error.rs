//! Reason why a channel could not be opened.

use std::io;

/// Reason why a segment, a name or a peer was rejected. The text names the party at fault.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// No task advertises this name, or the one that did has died.
    #[error("no program advertises the name {0:?} on this machine")]
    NotFound(String),
    /// A living task advertises this name already.
    #[error("the name {name:?} is taken by process {pid}")]
    Taken {
        /// The name.
        name: String,
        /// The process that advertises it.
        pid: u32,
    },
    /// A name that can't be one: 1 to 64 letters, digits, dots, dashes and underscores, not beginning with a dot.
    #[error("{0:?} is not a name: use 1 to 64 letters, digits, '-', '_' and '.', not beginning with '.'")]
    Name(String),
    /// The directory of names belongs to another user, or others may write to it.
    #[error("the directory {0} is not private to this user")]
    Directory(std::path::PathBuf),
    /// The peer did not finish opening in time.
    #[error("the peer did not answer in time")]
    TimedOut,
    /// The peer belongs to another user.
    #[error("the peer's segment belongs to user {user}, not to this one")]
    Owner {
        /// The owner's number.
        user: u32,
    },
    /// Other users may open the peer's segment.
    #[error("the peer's segment may be opened by others: its mode is {mode:o}")]
    Permissions {
        /// Its mode.
        mode: u32,
    },
    /// The peer's segment could still change its length, which could end this process.
    #[error("the peer's segment is not sealed against changes of its length")]
    NotSealed,
    /// The segment is shorter than its header states, or too short for a header.
    #[error("the peer's segment has {bytes} bytes where {needed} are needed")]
    TooShort {
        /// Its length.
        bytes: usize,
        /// The length that it should have.
        needed: usize,
    },
    /// The segment is longer than [`crate::SEGMENT_BYTES_MAX`].
    #[error("the peer's segment has {bytes} bytes, more than any may have")]
    TooLong {
        /// Its length.
        bytes: usize,
    },
    /// It does not begin as a segment of ours does.
    #[error("the file descriptor from the peer is not a Nowcast segment")]
    NotASegment,
    /// The peer speaks another version.
    #[error("the peer's segment has version {theirs}, this program speaks version {ours}")]
    Version {
        /// The peer's.
        theirs: u64,
        /// This program's.
        ours: u64,
    },
    /// The header does not match its checksum.
    #[error("the header of the peer's segment is damaged")]
    Header,
    /// Bounds that no segment can have: see [`crate::ENTRIES_MAX`], [`crate::SEGMENT_BYTES_MAX`], [`crate::LANES_MAX`].
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
