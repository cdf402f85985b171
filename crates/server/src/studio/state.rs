//! State of the studio, shared by all requests.

use std::collections::BTreeMap;
use std::sync::Arc;

use nowcast_room::{Moments, Rooms};

use super::access::Access;
use super::audit::Audit;
use super::history::MetricsHistory;
use crate::config::Config;
use crate::worlds::{Rules, WorldConfig, WorldFiles};

/// State of the studio, shared by all requests.
pub(crate) struct Studio {
    pub(super) access: Access,
    pub(super) audit: Arc<Audit>,
    pub(super) folders: WorldFolders,
    pub(super) history: MetricsHistory,
    pub(super) moments: Arc<Moments>,
}

impl Studio {
    pub(crate) fn new(config: &Config, rooms: &Arc<Rooms>) -> Self {
        Self {
            access: Access::default(),
            audit: Arc::new(Audit::new(config.data.as_deref())),
            folders: WorldFolders::of(&config.worlds),
            history: MetricsHistory::default(),
            moments: Arc::new(Moments::new(Arc::clone(rooms))),
        }
    }
}

/// The folders of worlds by the name of the world.
pub(super) struct WorldFolders(BTreeMap<String, Arc<WorldFiles>>);

impl WorldFolders {
    pub(super) fn of(worlds: &[WorldConfig]) -> Self {
        let folders = worlds.iter().filter_map(|WorldConfig { name, rules }| match rules {
            Rules::Folder(folder) => Some((name.clone(), Arc::new(WorldFiles::new(folder)))),
            _ => None,
        });
        Self(folders.collect())
    }

    pub(super) fn get(&self, world: &str) -> Option<&Arc<WorldFiles>> {
        self.0.get(world)
    }
}
