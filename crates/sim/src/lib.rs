//! Virtual time and seeded links: hours of a session's life in seconds, and the same life again from the same seed.
//!
//! **The one invariant**: this crate reads no clock and no source of randomness. Time passes only from one event to the
//! next, and all randomness comes from the seed, so a failure that prints its seed can be repeated and shrunk.
//!
//! | to | use |
//! | --- | --- |
//! | make packets late, lost, doubled, wrong | [`link::Link`] |
//! | run two sessions over two links | [`pair::Pair`] |
//! | check the laws of the queue at both ends under random operations | [`scenario::check`] |
//! | kill the process at an end now and then, too | [`scenario::check_restarts`] |
//! | have another implementation at one of the ends | [`scenario::OtherImplementation`], [`scenario::check_with`] |
//!
//! ```
//! use nowcast_sim::scenario;
//!
//! for seed in 0..3 {
//!     scenario::check(seed).unwrap();
//! }
//! ```

mod capacity;
mod durable;
pub mod endpoint;
pub mod hostile;
pub mod link;
pub mod pair;
mod record;
pub mod scenario;
pub mod script;
