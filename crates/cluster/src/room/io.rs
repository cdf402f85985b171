//! The requests, answers and events of a room.

use std::sync::Arc;

use crate::entry::RoomEntry;
use crate::frame::{BATCH_BYTES_MAX, Batch, Frame, SnapshotRef};
use crate::journal::{JournalError, JournalPage};
use crate::member::Stored;
use crate::name::{Epoch, Revision, Sequence, ServerId};
use crate::peer::CancelWhy;

/// Maximum number of batches that wait for their append.
pub const QUEUE_MAX: usize = 1_024;

/// A request for a room.
#[derive(Clone, PartialEq, Debug)]
pub enum RoomRequest {
    /// Reads the room's entry.
    ReadEntry,
    /// Updates the room's entry, or creates it if `expected` is 0.
    UpdateEntry {
        /// The new entry.
        entry: RoomEntry,
        /// The revision that the update replaces.
        expected: Revision,
    },
    /// Reads the journal.
    ReadJournal {
        /// The frames after this sequence are wanted.
        after: Sequence,
    },
    /// Appends a frame to the journal.
    Append {
        /// The frame.
        frame: Frame,
        /// The expected last sequence.
        expected: Sequence,
    },
    /// Reads a stored snapshot back, and compares its digest.
    VerifySnapshot {
        /// The snapshot.
        snapshot: SnapshotRef,
    },
    /// Purges the journal. It has no answer.
    Purge {
        /// Frames up to this sequence are purged.
        through: Sequence,
    },
}

/// The answer to a request.
#[derive(Clone, PartialEq, Debug)]
pub enum RoomAnswer {
    /// The entry that was read; `None` inside if the bucket has no such entry. `Err` if no answer came in time.
    Entry(Result<Option<(Revision, RoomEntry)>, Unanswered>),
    /// The outcome of the update of the entry.
    EntryStored(Stored<Revision>),
    /// The part of the journal that was read. It may be old.
    Journal(Result<JournalPage, Unanswered>),
    /// The outcome of the append.
    Appended(Stored<Sequence>),
    /// Whether the snapshot can be read and has its digest.
    Verified(bool),
}

/// No answer came in time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("no answer came in time")]
pub struct Unanswered;

/// An instruction to the thread that steps the room.
#[derive(Clone, PartialEq, Debug)]
pub enum RoomEvent {
    /// Load the snapshot, replay the batches, and report [`Node::restored`](crate::Node::restored).
    Restore {
        /// The snapshot; `None` if the room begins without one.
        snapshot: Option<SnapshotRef>,
        /// The batches after the snapshot.
        batches: Vec<Batch>,
    },
    /// The room is the target of a hand-over. Replay the commands, and report [`Node::replayed`](crate::Node::replayed).
    Replay {
        /// The step at which the commands end.
        through_step: u64,
        /// The commands.
        bytes: Arc<[u8]>,
    },
    /// Own the room: step on after `step`, and name `epoch` in every frame to clients.
    Run {
        /// The epoch.
        epoch: Epoch,
        /// The last step of the previous owner.
        step: u64,
        /// The number of the last batch, which the first snapshot may name.
        batch_number: u64,
        /// The sessions of the clients, from a hand-over; empty otherwise.
        sessions: Arc<[u8]>,
    },
    /// Store a snapshot of the newest batch, and report [`Node::snapshot_stored`](crate::Node::snapshot_stored).
    TakeSnapshot,
    /// The durable actions of the batch may be confirmed.
    Confirm {
        /// The number of the batch.
        number: u64,
    },
    /// Pass the last batch, stop stepping, and report [`Node::stopped`](crate::Node::stopped).
    Stop,
    /// The hand-over failed: step on as if it had never begun.
    Continue {
        /// The reason.
        why: CancelWhy,
    },
    /// The room is over on this server.
    Ended {
        /// The reason.
        why: EndedWhy,
    },
}

/// The reason why a room ended on a server.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum EndedWhy {
    /// A server that may be alive holds the room.
    #[error("{holder} holds the room")]
    Held {
        /// The server.
        holder: ServerId,
    },
    /// A newer owner has written.
    #[error("epoch {epoch} has taken the room")]
    Superseded {
        /// The epoch in the journal or in the directory.
        epoch: Epoch,
    },
    /// The room moved.
    #[error("the room moved to {to}")]
    HandedOver {
        /// The new owner.
        to: ServerId,
    },
    /// The room was to be received, and the hand-over failed.
    #[error("the hand-over failed: {why}")]
    NotReceived {
        /// The reason.
        why: CancelWhy,
    },
    /// The journal cannot be restored.
    #[error("the journal is damaged: {0}")]
    Damaged(JournalError),
    /// The snapshot or its batches cannot be restored.
    #[error("the snapshot or a batch after it cannot be restored")]
    Unrestorable,
    /// The server's life in the cluster ended.
    #[error("another server ended this one's lease")]
    ServerEnded,
    /// The room was released.
    #[error("the room was released")]
    Released,
}

/// The state of a room on a server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Standing {
    /// The room is being claimed or restored here.
    Starting,
    /// This server owns the room and may show states.
    Running,
    /// This server owns the room, but its lease is not renewed, or an append was refused. It shows nothing newer and confirms
    /// nothing.
    Suspended,
    /// This server owns the room, which is stopped for its hand-over.
    Stopped,
    /// The room is being received.
    Receiving,
    /// The room is over here.
    Ended,
}

/// A batch that is not accepted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BatchRefused {
    /// This server does not own the room, or the room is stopped.
    #[error("the room does not run on this server")]
    NotRunning,
    /// Too many batches wait for the journal.
    #[error("{QUEUE_MAX} batches wait for the journal")]
    Full,
    /// The batch exceeds the largest frame: a snapshot has to come instead.
    #[error("the batch is longer than {BATCH_BYTES_MAX} bytes")]
    TooLong,
}

/// A snapshot in the object store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StoredSnapshot {
    /// The number of the last batch that the snapshot contains.
    pub batch_number: u64,
    /// The step of the snapshot.
    pub step: u64,
    /// The hash of the world at this step.
    pub hash: u64,
    /// The SHA-256 of the object.
    pub digest: [u8; 32],
    /// The length of the object, in bytes.
    pub bytes: u64,
}
