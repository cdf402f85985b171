//! The worlds that a server offers, the sources of their rules, and the choice of a room's world.

mod asset_cache;
mod catalogue;
mod folder;

pub(crate) use catalogue::{Catalogue, Change, CurrentRules, Offered, WorldSummary};
pub use folder::{FolderError, read_assets, read_world};

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use nowcast_script::{Assets, Sources};
use nowcast_world::World;

/// A world that a server offers.
///
/// A room shows the world of its name. Otherwise it shows the world whose name, with a hyphen, is a prefix of the
/// room's name (`football-2` shows `football`). All other rooms show the first world of
/// [`Config::worlds`](crate::Config::worlds).
#[derive(Clone, Debug)]
pub struct WorldConfig {
    /// 1 to 32 of `a–z 0–9 - _`.
    pub name: String,
    /// Its rules.
    pub rules: Rules,
}

/// The rules of a world. The [crate's page](crate) has an example with rules in Rust.
#[derive(Clone)]
pub enum Rules {
    /// The scripts and assets of a folder (`docs/WORLDS.md`). When a file there changes, rooms take the new version at their next
    /// step.
    Folder(PathBuf),
    /// Scripts that never change, without assets.
    Script(Sources),
    /// Scripts and assets that never change.
    Packed(Sources, Assets),
    /// A program that creates the world of each room.
    Program(MakeWorld),
}

/// Creates a world from a seed, for the maximum number of players in a room of the server.
pub type MakeWorld = Arc<dyn Fn(u64, usize) -> World + Send + Sync>;

impl fmt::Debug for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(folder) => f.debug_tuple("Folder").field(folder).finish(),
            Self::Script(sources) => write!(f, "Script({:016x})", sources.hash()),
            Self::Packed(sources, assets) => {
                write!(f, "Packed({:016x}, {} assets)", sources.hash(), assets.len())
            }
            Self::Program(_) => f.write_str("Program"),
        }
    }
}

/// The reason why a world cannot be offered. Its author or the operator must correct it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum WorldError {
    /// The folder cannot be read.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// The script does not load.
    #[error("world {world}: {fault}")]
    Script {
        /// Which world.
        world: String,
        /// Place, problem and cure.
        fault: String,
    },
    /// The name cannot be the name of a room.
    #[error("the world's name {0:?} is not 1 to 32 of a-z, 0-9, - and _")]
    BadName(String),
    /// Two worlds are called the same.
    #[error("two worlds are called {0:?}")]
    TwoOfName(String),
    /// No world is offered.
    #[error("there is no world to serve")]
    None,
    /// Changes of the folder cannot be noticed.
    #[error("changes in {folder} cannot be noticed: {cause}")]
    Watch {
        /// Which folder.
        folder: PathBuf,
        /// The system's error.
        cause: String,
    },
}
