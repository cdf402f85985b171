//! The worlds of a server's configuration, and the folders from which their rules are read.

mod files;
mod folder;

pub(crate) use files::{Expected, FileError, WorldFiles};
pub(crate) use folder::FolderWatch;
use folder::watch;
pub use folder::{FolderError, read_assets, read_world};
pub use nowcast_room::MakeWorld;

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nowcast_room::{Catalogue, OfferError, ScriptVersions, describe_faults};
use nowcast_script::{Assets, Sources};
use tracing::{info, warn};

/// A world that a server offers.
///
/// A room shows the world of its name. Otherwise it shows the world whose name, with a hyphen, is a prefix of the
/// room's name (`football-2` shows `football`). All other rooms show the first world of
/// [`Config::worlds`](crate::Config::worlds).
#[derive(Clone, Debug)]
pub struct WorldConfig {
    /// The name: 1 to 32 characters of `a–z 0–9 - _`.
    pub name: String,
    /// The rules of the world.
    pub rules: Rules,
}

/// The rules of a world. The [crate's page](crate) has an example with rules in Rust.
#[derive(Clone)]
pub enum Rules {
    /// The scripts and assets of a folder (`docs/how-to/rules.md`). When a file there changes, rooms use the new version from
    /// their next step on.
    Folder(PathBuf),
    /// Scripts that never change, without assets.
    Script(Sources),
    /// Scripts and assets that never change.
    Packed(Sources, Assets),
    /// A program that creates the world of each room.
    Program(MakeWorld),
}

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

/// The reason why a world cannot be offered. The author of the world or the operator must correct the cause.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum WorldError {
    /// The folder cannot be read.
    #[error(transparent)]
    Folder(#[from] FolderError),
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
    /// No world is offered.
    #[error("there is no world to serve")]
    None,
    /// The folder cannot be watched for changes.
    #[error("cannot watch {folder} for changes: {cause}")]
    Watch {
        /// The folder.
        folder: PathBuf,
        /// The system's error.
        cause: String,
    },
}

impl From<OfferError> for WorldError {
    fn from(error: OfferError) -> Self {
        match error {
            OfferError::Script { world, fault } => Self::Script { world, fault },
            OfferError::BadName(name) => Self::BadName(name),
            OfferError::TwoOfName(name) => Self::TwoOfName(name),
        }
    }
}

/// Offers the worlds of a configuration. Returns the watchers of folders by the names of their worlds. A folder is watched until
/// its watcher is dropped.
///
/// # Errors
/// Fails if a world cannot be offered, or if the configuration has no world.
pub(crate) fn offer(worlds: &[WorldConfig]) -> Result<(Catalogue, HashMap<String, FolderWatch>), WorldError> {
    let mut catalogue = Catalogue::default();
    let mut watchers = HashMap::new();
    for WorldConfig { name, rules } in worlds {
        match rules {
            Rules::Program(make) => catalogue.offer_program(name, Arc::clone(make))?,
            Rules::Script(sources) => {
                catalogue.offer_script(name, sources.clone(), Assets::default(), None)?;
            }
            Rules::Packed(sources, assets) => {
                catalogue.offer_script(name, sources.clone(), assets.clone(), None)?;
            }
            Rules::Folder(folder) => {
                let (assets, faults) = read_assets(folder, &Assets::default())?;
                if let Some(fault) = describe_faults(&faults) {
                    return Err(WorldError::Script { world: name.clone(), fault });
                }
                let versions = catalogue.offer_script(name, read_world(folder)?, assets, Some(folder))?;
                watchers.insert(name.clone(), watch(folder, reading(name, folder, versions))?);
            }
        }
    }
    if catalogue.is_empty() { Err(WorldError::None) } else { Ok((catalogue, watchers)) }
}

/// Returns the function that runs when a folder has changed.
fn reading(world: &str, folder: &Path, versions: Arc<ScriptVersions>) -> impl FnMut() + Send + 'static {
    let (world, folder) = (world.to_owned(), PathBuf::from(folder));
    move || match versions.take(read(&folder, &versions.assets())) {
        None => {}
        Some(Ok(hash)) => info!(world, version = format!("{hash:016x}"), "new rules"),
        Some(Err(fault)) => warn!(world, fault, "new rules do not load; the earlier ones stay"),
    }
}

/// Reads a folder. Assets that are unchanged since `known` are not checked again.
fn read(folder: &Path, known: &Assets) -> Result<(Sources, Assets), String> {
    let (assets, faults) = read_assets(folder, known).map_err(|error| error.to_string())?;
    match describe_faults(&faults) {
        Some(fault) => Err(fault),
        None => Ok((read_world(folder).map_err(|error| error.to_string())?, assets)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_without_worlds_is_refused() {
        assert_eq!(offer(&[]).map(drop), Err(WorldError::None));
    }
}
