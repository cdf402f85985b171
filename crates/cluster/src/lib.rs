//! Rooms on several servers, over NATS JetStream: placement, leases, ownership, hand-over and recovery. This crate is sans-IO:
//! time and randomness are arguments.
//!
//! **The one invariant: the journal is the fence.** Each append to a room's journal states the expected last sequence, and the
//! first append of an owner is its epoch. So an owner that was replaced can append nothing, and an owner confirms only appends
//! that were acknowledged. Leases decide *when* another server may take a room, and protect the states that clients see. No
//! clock can make two owners confirm.
//!
//! [`Node`] decides for one server, and [`Append`] and [`Claim`] decide for one journal. Servers drive them through
//! `crates/jetstream`, and simulated servers of `crates/sim` drive them in virtual time.
//!
//! | file | contents |
//! | --- | --- |
//! | `name.rs`, `time.rs`, `release.rs` | names, numbers that only grow, times, releases |
//! | `record.rs` | records as bytes |
//! | `entry.rs` | the entries of servers and rooms in the directory |
//! | `frame.rs` | the frames of a room's journal |
//! | `journal.rs` | the fence: appends and claims of a journal |
//! | `control.rs` | requests between servers, and from the operator |
//! | `leases.rs` | the own lease, and the leases of others |
//! | `placement.rs` | the choice of a server for a new room |
//! | `node/` | [`Node`]: one server with all its rooms |
//!
//! ```
//! use nowcast_cluster::{Action, Answer, Config, Event, Name, Node, Revision, Stored, Time};
//!
//! let name = Name::new("north")?;
//! let now = Time::from_millis(7);
//! let mut node = Node::new(now, Config::new(name));
//! node.handle_timeout(now);
//! // A directory with one server.
//! let mut entries = Vec::new();
//! while let Some((number, action)) = node.poll_action() {
//!     let answer = match action {
//!         Action::ReadServer(_) => Answer::Server(Ok(None)),
//!         Action::WriteServer(entry, _) => {
//!             entries.push((Revision(1), entry));
//!             Answer::Stored(Stored::Yes(Revision(1)))
//!         }
//!         Action::ReadServers => Answer::Servers(Ok(entries.clone())),
//!         other => unreachable!("{other:?}"),
//!     };
//!     node.handle_answer(now, number, answer);
//!     if node.poll_timeout().is_some_and(|at| at <= now) {
//!         node.handle_timeout(now);
//!     }
//! }
//! assert_eq!(node.poll_event(), Some(Event::Joined));
//! assert!(node.has_lease(now));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![warn(clippy::missing_errors_doc)]

mod config;
mod control;
mod entry;
mod frame;
mod journal;
mod leases;
mod mutant;
mod name;
mod node;
mod placement;
mod record;
mod release;
mod time;

pub use config::{Config, LEASE, Times};
pub use control::{ControlAnswer, ControlRequest};
pub use entry::{ADDRESS_BYTES_MAX, LEASE_MAX, Load, RoomEntry, ServerEntry, ServerPhase, TAGS_MAX, Target};
pub use frame::{BATCH_BYTES_MAX, Batch, FRAME_BYTES_MAX, Frame, Head, SNAPSHOT_BYTES_MAX, SnapshotRef};
pub use journal::{Append, AppendStep, Claim, ClaimStep, Stored};
pub use mutant::Faults;
#[cfg(feature = "mutants")]
pub use mutant::Mutant;
pub use name::{Epoch, NAME_BYTES_MAX, Name, NameError, Revision, Sequence, ServerId};
pub use node::{
    Action, Answer, Claimed, Departure, Event, Node, Outcome, Report, RoomLease, TakeError, Turn,
};
pub use placement::choose;
pub use record::{Record, RecordError};
pub use release::{Release, ReleasesApart};
pub use time::{RATE_ERROR_PPM_MAX, Time, surely_after, surely_within};
