//! Durable storage of worlds.
//!
//! One invariant drives this crate: **a world is rebuilt from a snapshot and the commands after the snapshot, up to the
//! first hole.** A world is a function of its snapshot and its commands (`nowcast_world`), so without a hole the state at
//! the last commit is rebuilt to the last bit. Hashes in the journal verify the rebuilt state. If the disk is too slow,
//! records are dropped and the journal has a hole. A hole is never filled; a new snapshot follows it.
//!
//! A [`Recorder`] records a world on the thread that steps it, and passes the records to the [`Store`]. None of its
//! calls waits for a disk. [`SqliteStore`] is the built-in store.
//!
//! ```
//! use nowcast_store::{Moment, Options, Origin, Recorder, SqliteStore, Store, WorldName};
//! use nowcast_world::{Command, Definition, PlayerId, World};
//! use std::time::Duration;
//!
//! # let folder = std::env::temp_dir().join(format!("nowcast-store-{}", std::process::id()));
//! # let now_ms = 1_700_000_000_000;
//! let store = SqliteStore::open(&folder, Options::default())?;
//! let plaza = WorldName::new("plaza")?;
//! let origin = Origin { seed: 7, ..Origin::default() };
//! let mut world = World::new(Definition::default(), origin.seed, Box::new(()))?;
//! let mut recorder = Recorder::new(plaza.clone(), origin, &world);
//! for tick in 0..120 {
//!     if recorder.is_snapshot_due(&world, &store) {
//!         recorder.snapshot(&mut world, &store, now_ms, Vec::new());
//!     }
//!     if tick == 20 {
//!         recorder.apply(&mut world, Command::join(PlayerId(1), "Ada"))?;
//!     }
//!     world.step();
//!     recorder.flush(&world, &store, now_ms + tick * 1_000 / 60);
//! }
//! recorder.flush_all(&world, &store, now_ms + 2_000);
//! store.commit(Duration::from_secs(60))?;
//! drop(store);
//!
//! let store = SqliteStore::open(&folder, Options::default())?;
//! let saved = store.load(&plaza, Moment::Last)?.expect("the world was stored");
//! let again = saved.replay(|snapshot| {
//!     World::restore(Definition::default(), Box::new(()), &snapshot.world)
//! })?;
//! assert_eq!((again.tick(), again.hash()), (world.tick(), world.hash()));
//! # drop(store);
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! `docs/reference/store.md` states which data can be lost, with measurements.

mod account;
mod batch;
mod error;
mod fail_point;
mod moment;
mod name;
mod once;
mod recorder;
mod saved;
mod snapshot;
mod sqlite;
mod store;

pub use account::{ACCOUNTS_MAX, AccountRecord};
pub use batch::{BATCH_BYTES_MAX, BATCH_TICKS_MAX, Batch, BatchError, Note};
pub use error::{Problem, StoreError};
#[cfg(feature = "fail-points")]
pub use fail_point::{FailPoint, VARIABLE as FAIL_POINT_VARIABLE};
pub use moment::{At, AtError, UtcTime, read_duration};
pub use name::{NAME_BYTES_MAX, NameError, WorldName};
pub use once::{ActionId, CLIENTS_MAX, ONCE_TICKS, Once, UNDER_WAY_MAX};
pub use recorder::{
    Attempt, COMPLETIONS_MAX, HASH_TICKS, REST_TICKS, Recorder, SNAPSHOT_JOURNAL_BYTES, SNAPSHOT_REST_TICKS,
    SNAPSHOT_TICKS,
};
pub use saved::{Moment, ReturnError, SavedWorld, Stretch};
pub use snapshot::{
    FILE_BATCHES_BYTES_MAX, FileError, HOST_BYTES_MAX, Origin, Snapshot, WORLD_BYTES_MAX, read_file,
    write_file,
};
pub use sqlite::{AccountSummary, Options, Report, SqliteReader, SqliteStore};
pub use store::{
    Completion, Continuity, Health, Lost, MARK_KEY_BYTES_MAX, MARK_NOTE_BYTES_MAX, MARKS_MAX, Mark,
    MarkCompletion, MarkKind, Pruned, Refused, RefusedWhy, Retention, Stats, Store, Summary, WorldStore,
};
