//! Virtual time and seeded links. Hours of a session run in seconds, and the same seed repeats the same run.
//!
//! **The one invariant**: this crate reads no clock and no source of randomness. Time passes only from one event to the next, and
//! all randomness comes from the seed. So a failure that prints its seed can be repeated and shrunk.
//!
//! | to | use |
//! | --- | --- |
//! | delay, lose, reorder or duplicate packets | [`link::Link`] |
//! | run two sessions over two links | [`pair::Pair`] |
//! | check the laws of the queue at both ends under random operations | [`scenario::check`] |
//! | also kill the process at one end now and then | [`scenario::check_restarts`] |
//! | run a cluster's servers under faults | [`cluster::check`] |
//! | use another implementation at one of the ends | [`scenario::OtherImplementation`], [`scenario::check_with`] |
//!
//! ```
//! use nowcast_sim::scenario;
//!
//! for seed in 0..3 {
//!     scenario::check(seed).unwrap();
//! }
//! ```

mod capacity;
pub mod cluster;
mod durable;
pub mod endpoint;
pub mod hostile;
pub mod link;
pub mod pair;
mod policer;
mod record;
pub mod scenario;
pub mod script;
mod stream;
pub mod typescript_peer;
