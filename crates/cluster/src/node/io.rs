//! The actions, answers and events of a node.

use std::sync::Arc;
use std::time::Duration;

use crate::control::{ControlAnswer, ControlRequest};
use crate::entry::{RoomEntry, ServerEntry};
use crate::journal::Stored;
use crate::name::{Epoch, Name, Revision, Sequence, ServerId};
use crate::release::ReleasesApart;

/// Something that the driver does for a node.
#[derive(Clone, PartialEq, Debug)]
pub enum Action {
    /// Reads the entries of all servers: [`Answer::Servers`].
    ReadServers,
    /// Reads the entry of this server: [`Answer::Server`].
    ReadServer(Name),
    /// Updates the entry of a server, or creates it if the revision is 0: [`Answer::Stored`].
    WriteServer(ServerEntry, Revision),
    /// Reads the entry of a room: [`Answer::Room`].
    ReadRoom(Name),
    /// Updates the entry of a room, or creates it if the revision is 0: [`Answer::Stored`].
    WriteRoom(Name, RoomEntry, Revision),
    /// Claims the journal of a room ([`Claim`](crate::Claim)): [`Answer::Claimed`].
    ClaimJournal {
        /// The room.
        room: Name,
        /// This server.
        owner: ServerId,
        /// The epoch of the head.
        epoch: Epoch,
        /// The last frame of an owner that ended the journal for this server.
        after: Option<Sequence>,
    },
    /// Sends a request to another server: [`Answer::Told`].
    Ask {
        /// The server.
        server: Name,
        /// The request.
        request: ControlRequest,
        /// Maximum time for the answer.
        within: Duration,
    },
    /// Looks at a room of this server: [`Answer::Room`](Answer::RoomState).
    LookAtRoom(Name),
    /// Starts the thread of a room, if it does not run: [`Answer::Done`].
    OpenRoom(Name),
    /// Reads the newest snapshot of a room that another server owns: [`Answer::Done`].
    Prefetch(Name),
}

/// The answer to an action. The text of an error says why no answer came in time.
#[derive(Clone, PartialEq, Debug)]
pub enum Answer {
    /// The entries of all servers, each with its revision. They may be old.
    Servers(Result<Vec<(Revision, ServerEntry)>, String>),
    /// The entry of this server; `None` if there is none. It may be old.
    Server(Result<Option<(Revision, ServerEntry)>, String>),
    /// The entry of a room; `None` if there is none. It may be old.
    Room(Result<Option<(Revision, RoomEntry)>, String>),
    /// The outcome of an update.
    Stored(Stored<Revision>),
    /// The outcome of a claim.
    Claimed(Claimed),
    /// The answer of another server.
    Told(Result<ControlAnswer, String>),
    /// A room of this server.
    RoomState {
        /// Whether its thread runs or waits.
        is_open: bool,
        /// Number of clients that wait for it.
        waiting: usize,
    },
    /// The action was carried out, or failed.
    Done(Result<(), String>),
}

/// The outcome of a claim.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Claimed {
    /// The journal belongs to this server.
    Owned,
    /// A later owner has claimed the journal.
    Fenced,
    /// The journal cannot be claimed now, or is damaged. The text says why.
    Failed(String),
}

/// Something that happened.
#[derive(Clone, PartialEq, Debug)]
pub enum Event {
    /// The server is a member of the cluster.
    Joined,
    /// A running server has the name of this server, so this server cannot join.
    NameTaken,
    /// A task that a call began has ended.
    Finished(u64, Outcome),
    /// A room moved to another server, after it stood still for this time.
    Moved(Name, Name, Duration),
    /// A room did not move.
    Stayed(Name),
    /// A room was given to another server, and does not run there. The first client opens it.
    NotBegun(Name, Name),
    /// A room comes to this server, and its owner has died before the room has moved.
    SourceDied(Name, ServerId),
}

/// The outcome of a task.
#[derive(Clone, PartialEq, Debug)]
pub enum Outcome {
    /// This server owns the room and its journal, or does not.
    Taken(Result<Epoch, TakeError>),
    /// The entry of a room was changed to this one; `None` if that was not necessary, or if another server has the room.
    Changed(Result<Option<RoomEntry>, String>),
    /// The origin of the server to which a client goes; `None` if this server serves it.
    Located(Option<Arc<str>>),
    /// The answer to a request.
    Answered(ControlAnswer),
    /// The life of the server is over.
    Left,
    /// A task without a result has ended.
    Ended,
}

/// The reason why a room was not taken.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TakeError {
    /// Another server owns the room.
    #[error("the server {0} owns the room")]
    Elsewhere(ServerId),
    /// This server drains, and another one takes rooms.
    #[error("this server drains")]
    Draining,
    /// A later owner has claimed the journal.
    #[error("another server has taken the room")]
    Fenced,
    /// This server has no lease now.
    #[error(
        "this server's lease is over, because NATS does not answer in time or another process has its name"
    )]
    NoLease,
    /// This server lacks tags that the room requires.
    #[error("this server has no tag {}, which the room requires (--cluster-require, --cluster-tag)", .0.iter().map(|tag| tag.as_str()).collect::<Vec<_>>().join(", "))]
    Tags(Vec<Name>),
    /// A living server of the cluster has a release that is not a neighbour of this one's.
    #[error("this server takes no rooms: {0}")]
    Release(#[from] ReleasesApart),
    /// The directory or the journal did not answer.
    #[error("{0}")]
    Failed(String),
}

impl TakeError {
    /// The label in metrics.
    #[must_use]
    pub fn label(&self) -> &'static str {
        match self {
            TakeError::Elsewhere(_) => "elsewhere",
            TakeError::Draining => "draining",
            TakeError::Fenced => "fenced",
            TakeError::NoLease => "no_lease",
            TakeError::Tags(_) => "tags",
            TakeError::Release(_) => "release",
            TakeError::Failed(_) => "failed",
        }
    }

    /// Whether another server has the room, or should have it. A client finds that server by asking again.
    #[must_use]
    pub fn is_elsewhere(&self) -> bool {
        matches!(self, TakeError::Elsewhere(_) | TakeError::Draining | TakeError::Fenced)
    }
}

/// Whether a server may step a room.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RoomLease {
    /// The lease covers this moment.
    Held,
    /// The lease covers this moment, and the room is to move to another server ([`Node::departure`](crate::Node::departure)).
    /// The room announces it to its clients, and stores a snapshot while it runs. Then it stops, stores the rest, and is released.
    Leaving,
    /// The lease is over, and no other server is known to have the room. The room waits.
    Waiting,
    /// Another server owns the room, or may own it. The room ends, and its clients move.
    Lost,
}

/// The way of a room to another server.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Departure {
    /// The origin at which clients reach the other server. Empty if clients cannot enter the room there yet.
    pub address: Arc<str>,
    /// Whether the clients are ready, so that the room may store the snapshot before its stop.
    pub may_store: bool,
    /// Whether the other server has restored the snapshot, so that the room may stop.
    pub may_stop: bool,
}

/// The next thing that a room does before it begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Turn {
    /// Load the stored world, which another server still steps, replay it as far as it is stored, and report
    /// [`Report::Followed`].
    Follow,
    /// Take the room, and begin.
    Begin,
    /// Ask again when the node has changed, or at this time.
    Wait(crate::time::Time),
}

/// The input of a task.
#[derive(Debug)]
pub(super) enum Input {
    Begin,
    Timeout,
    Answer(Answer),
    Child(Outcome),
    Report(Report),
    Signal(Signal),
}

/// A report of a room's thread about the room's way between two servers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Report {
    /// The room that comes here has caught up with its stored world, or cannot.
    Followed,
    /// This number of clients of the moving room now connect to the target.
    Announced(usize),
    /// The snapshot before the stop was stored, or cannot be stored.
    StoredAhead,
    /// The room has stopped.
    Stopped,
    /// The world cannot be stored in time, so the room continues here.
    Stays,
}

/// A change of a room that other tasks learn of.
#[derive(Clone, Copy, Debug)]
pub(super) enum Signal {
    /// The room has stopped and its journal ends with this frame.
    Left(Sequence),
    /// The room has ended before it could move.
    Ended,
    /// The room runs.
    Opened,
    /// The room could not be taken.
    Refused,
}
