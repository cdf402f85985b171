//! Rooms on several servers, over NATS JetStream: placement, leases, ownership, hand-over and recovery. This crate is sans-IO:
//! time and randomness are arguments.
//!
//! **The one invariant: the journal is the fence.** Each append to a room's journal states the expected last sequence, and the
//! first append of an owner is its epoch. So an owner that was replaced can append nothing, and an owner confirms only appends
//! that were acknowledged. Leases decide *when* another server may take a room, and protect the states that clients see. No
//! clock can make two owners confirm.
//!
//! Servers (`crates/jetstream`, `nowcast serve --cluster`) use the records, [`choose`] and the bounds of clocks. They do not run [`Node`]
//! and its rooms, and do not call [`EngineFacts`]: only the simulation of `crates/sim` drives these.
//!
//! | file | contents |
//! | --- | --- |
//! | `name.rs`, `time.rs`, `release.rs` | names, numbers that only grow, times, releases |
//! | `entry.rs` | the entries of servers and rooms in the directory |
//! | `frame.rs` | the frames of a room's journal |
//! | `peer.rs` | messages between servers |
//! | `engine.rs` | the core's assumptions about JetStream, as a check |
//! | `member.rs` | the own lease, and the leases of others |
//! | `placement.rs` | the choice of a server for a new room |
//! | `journal.rs` | the state that a journal describes |
//! | `room/` | one room: claim, recovery, ownership, both sides of a hand-over |
//! | `node.rs` | [`Node`]: a server with all its rooms, the interface for drivers |

#![warn(clippy::missing_errors_doc)]

mod bytes;
mod config;
mod engine;
mod entry;
mod frame;
mod journal;
mod member;
mod mutant;
mod name;
mod node;
mod peer;
mod placement;
mod release;
mod room;
mod time;

pub use bytes::RecordError;
pub use config::Config;
pub use engine::{EngineFacts, NATS_VERSION_MIN, NatsVersion, REPLICAS_MIN, StreamFacts, UnsafeEngine};
pub use entry::{ADDRESS_BYTES_MAX, LEASE_MAX, Load, RoomEntry, ServerEntry, ServerPhase, TAGS_MAX, Target};
pub use frame::{
    BATCH_BYTES_MAX, Batch, FRAME_BYTES_MAX, Frame, HandOverCommit, Head, Resume, SNAPSHOT_BYTES_MAX,
    SnapshotRef,
};
pub use journal::{JournalError, JournalPage, Recovery};
pub use member::{Member, ServerRequest, Stored};
#[cfg(feature = "mutants")]
pub use mutant::Mutant;
pub use name::{Epoch, NAME_BYTES_MAX, Name, NameError, Revision, Sequence, ServerId};
pub use node::{Answer, Found, Node, ROOMS_MAX, Request};
pub use peer::{CancelWhy, PeerBody, PeerMessage, SESSIONS_BYTES_MAX};
pub use placement::choose;
pub use release::{Release, ReleasesApart};
pub use room::{
    BatchRefused, EndedWhy, HandOverRefused, QUEUE_MAX, RoomAnswer, RoomEvent, RoomRequest, Standing,
    StoredSnapshot, Unanswered,
};
pub use time::{RATE_ERROR_PPM_MAX, Time, surely_after, surely_within};
