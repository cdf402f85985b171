//! The worlds of a cluster in NATS JetStream.
//!
//! One invariant drives this crate: **the journal is the fence.** Each message of a world's stream states the number of the
//! message before it, and the first message of an owner has its epoch (`nowcast_cluster`). So a server that was replaced, or was
//! stopped for any time, can append nothing, and a completion is called only for a message that was appended.
//!
//! | what | where in JetStream |
//! | --- | --- |
//! | the journal of a world | a stream of its own, `CLUSTER-world-NAME`, the name in hexadecimal digits |
//! | snapshots | the object store `CLUSTER-snapshots`. Each is read back before the journal names it |
//! | the data of accounts, and marks | the key-value buckets `CLUSTER-accounts` and `CLUSTER-marks` |
//! | the directory: servers and owners of rooms | the key-value buckets `CLUSTER-servers` and `CLUSTER-rooms` ([`Bucket`]) |
//!
//! ```no_run
//! use nowcast_jetstream::{JetStreamStore, Link, LinkOptions, StoreOptions};
//! use nowcast_store::{Moment, Store as _, WorldName};
//!
//! # async fn open() -> Result<(), Box<dyn std::error::Error>> {
//! let link = Link::connect("nats://nowcast:secret@10.0.0.1,nats://nowcast:secret@10.0.0.2", LinkOptions::default()).await?;
//! for warning in link.warnings() {
//!     eprintln!("{warning}");
//! }
//! let store = JetStreamStore::open(link, StoreOptions::default()).await?;
//! let plaza = WorldName::new("plaza")?;
//! // From now on no other server can write this world, and this one can until another one claims it.
//! store.claim(&plaza, None)?;
//! let saved = store.load(&plaza, Moment::Last)?;
//! # Ok(())
//! # }
//! ```

mod bucket;
mod buckets;
mod clock;
mod control;
mod directory;
mod envelope;
mod error;
mod journal;
mod lanes;
mod link;
mod member;
mod prefetched;
mod reader;
mod requests;
mod store;
mod writer;

pub use bucket::{Bucket, ChangeError, Entry};
pub use control::{drain, send, send_within};
pub use directory::Directory;
pub use error::ClusterError;
pub use link::{Link, LinkOptions};
pub use member::{Host, Member};
pub use requests::{Request, Requests};
pub use store::{JetStreamStore, StoreOptions};
