//! The worlds that rooms show, and the choice of a room's world.

mod asset_cache;
mod catalogue;

pub use catalogue::{Catalogue, ScriptVersions, WorldSummary, describe_faults};
pub(crate) use catalogue::{Change, CurrentRules, Offered};

use std::sync::Arc;

use nowcast_world::World;

/// Creates a world from a seed, for the maximum number of players in a room.
pub type MakeWorld = Arc<dyn Fn(u64, usize) -> World + Send + Sync>;

/// The reason why a world cannot be offered. The author of the world or the operator must correct the cause.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OfferError {
    /// The script does not load.
    #[error("world {world}: {fault}")]
    Script {
        /// The name of the world.
        world: String,
        /// The place, the problem, and how to correct it.
        fault: String,
    },
    /// The name of the world is not a valid name of a room.
    #[error("the world's name {0:?} is not 1 to 32 of a-z, 0-9, - and _")]
    BadName(String),
    /// Two worlds have the same name.
    #[error("two worlds are called {0:?}")]
    TwoOfName(String),
}
