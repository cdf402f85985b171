//! The store of worlds, as rooms, metrics and `/healthz` use it.

mod bans;
mod figures;
mod host_state;
mod migration;
mod pruning;
mod recording;
#[cfg(test)]
mod released;
mod steady_time;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use nowcast_store::{
    FileError, Health, Moment, Options, Problem, Retention, SavedWorld, SqliteStore, Stats, StoreError,
    Stretch, WorldName, WorldStore,
};
use nowcast_world::PlayerId;
use parking_lot::Mutex;
use tracing::{info, warn};

use crate::client_key::ClientKey;
use crate::ownership::Ownership;

pub use bans::{ADDRESS_BAN, ADDRESS_BAN_MAX, BANS_MAX, Ban, BanError, BanScope, BannedBy};
pub(crate) use bans::{BanRequest, Bans, Known};
pub use figures::StoreFigures;
pub(crate) use host_state::HostState;
use host_state::{definition_hash, read_seat_note, seat_note, sources_hash};
pub use host_state::{kept_rules, restore_kept};
pub use migration::{Migration, MigrationError, migrate};
pub(crate) use pruning::JournalShare;
pub use pruning::PruneSchedule;
pub(crate) use recording::{Recording, origin};
pub use steady_time::now_ms;

/// Maximum worlds in one store. Further worlds are not stored. This limit exists because any client may open rooms.
const WORLDS_MAX: usize = 16_384;

/// Maximum time that an opening room waits until earlier writes are stored.
const LOAD_PATIENCE: Duration = Duration::from_secs(10);

/// Time for which `/healthz` reports a world that could not be loaded.
const TROUBLE_REMEMBERED: Duration = Duration::from_secs(60);

/// Maximum names that are tried for a world that is set aside.
const ASIDE_TRIES: u32 = 100;

/// The reasons why a world was not copied.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CopyError {
    #[error("a stored world already has that name: choose another one")]
    Exists,
    #[error("the store already has the maximum number of worlds: remove some with `nowcast world remove`")]
    Full,
    #[error("{0}")]
    File(FileError),
    #[error("{0}")]
    Store(StoreError),
}

/// A moment of a room's history.
pub(crate) struct LookBack {
    /// The first and the last stored moment, in milliseconds since 1970.
    pub(crate) span: (u64, u64),
    /// The world at the requested moment, and the entries after that moment.
    pub(crate) stretch: Stretch,
    /// Whether the requested moment is older than the stored history, so that `stretch` begins at the first stored moment.
    pub(crate) is_first: bool,
}

/// Owns the store of a server, if the server has one.
#[derive(Default)]
pub struct PersistenceThread {
    store: Mutex<Option<Arc<dyn WorldStore>>>,
    worlds: AtomicUsize,
    /// Number of open rooms whose worlds are stored.
    recorded: Arc<AtomicUsize>,
    /// The last world that could not be loaded.
    trouble: Mutex<Option<(Instant, String)>>,
    /// The owners of rooms, if this server belongs to a cluster.
    ownership: Option<Arc<dyn Ownership>>,
}

impl PersistenceThread {
    /// Opens the store in a folder. Without a folder, nothing is stored.
    ///
    /// # Errors
    /// [`StoreError`] if the folder or its database cannot be opened.
    pub fn open(folder: Option<&Path>) -> Result<Self, StoreError> {
        let Some(folder) = folder else { return Ok(Self::default()) };
        let persistence = Self::with_store(Arc::new(SqliteStore::open(folder, Options::default())?))?;
        let worlds = persistence.worlds.load(Ordering::Relaxed);
        info!(folder = %folder.display(), worlds, "worlds are kept");
        Ok(persistence)
    }

    /// Stores worlds in a store that is open already.
    ///
    /// # Errors
    /// [`StoreError`] if the store cannot list its worlds.
    pub fn with_store(store: Arc<dyn WorldStore>) -> Result<Self, StoreError> {
        let worlds = store.list()?.len();
        Ok(Self {
            store: Mutex::new(Some(store)),
            worlds: AtomicUsize::new(worlds),
            recorded: Arc::default(),
            trouble: Mutex::default(),
            ownership: None,
        })
    }

    /// Stores worlds in the store of a cluster, whose servers own different rooms.
    ///
    /// # Errors
    /// [`StoreError`] if the store cannot list its worlds.
    pub fn in_cluster(store: Arc<dyn WorldStore>, ownership: Arc<dyn Ownership>) -> Result<Self, StoreError> {
        Ok(Self { ownership: Some(ownership), ..Self::with_store(store)? })
    }

    /// Returns the owners of rooms, if this server belongs to a cluster.
    pub fn ownership(&self) -> Option<&Arc<dyn Ownership>> {
        self.ownership.as_ref()
    }

    /// Returns the store, or `None` without a folder or after the end of the server.
    pub fn store(&self) -> Option<Arc<dyn WorldStore>> {
        self.store.lock().clone()
    }

    /// Returns the counters of written and failed records.
    pub fn stats(&self) -> Option<Stats> {
        self.store.lock().as_ref().map(|store| store.stats())
    }

    /// Returns a problem for the operator, or `None` in normal operation.
    pub fn trouble(&self) -> Option<String> {
        let of_store = self.store.lock().as_ref().and_then(|store| match store.health() {
            Health::Healthy => None,
            Health::Behind { queued_bytes, oldest, worlds } => Some(format!(
                "the disk is behind: {queued_bytes} bytes wait, the oldest for {} ms; {worlds} worlds wait for a snapshot",
                oldest.as_millis()
            )),
            Health::Failing { cause, cure } | Health::Gone { cause, cure } => {
                Some(format!("worlds are not stored: {cause}. {cure}"))
            }
        });
        let of_cluster = || self.ownership.as_ref().and_then(|ownership| ownership.trouble());
        of_store.or_else(of_cluster).or_else(|| {
            let trouble = self.trouble.lock().clone();
            trouble.filter(|(at, _)| at.elapsed() < TROUBLE_REMEMBERED).map(|(_, text)| text)
        })
    }

    /// Records that a world could not be loaded.
    pub(crate) fn cannot_load(&self, text: &str) {
        *self.trouble.lock() = Some((Instant::now(), text.to_owned()));
    }

    /// Loads the stored world of a room. Blocks on the disk.
    pub(crate) fn load(
        &self,
        store: &dyn WorldStore,
        name: &WorldName,
    ) -> Result<Option<SavedWorld>, StoreError> {
        // The room may have closed a moment ago, and its last writes may still wait.
        store.commit(LOAD_PATIENCE)?;
        store.load(name, Moment::Last)
    }

    /// Loads a room's world at a moment, or at the first stored moment. Blocks on the disk.
    pub(crate) fn load_past(
        &self,
        store: &dyn WorldStore,
        name: &WorldName,
        moment: Moment,
        next: Duration,
    ) -> Result<Option<LookBack>, StoreError> {
        store.commit(LOAD_PATIENCE)?;
        let Some(span) = store.span(name)? else { return Ok(None) };
        let found = store.load_stretch(name, moment, next)?;
        let is_first = found.is_none();
        let stretch = match found {
            None => store.load_stretch(name, Moment::TimeMs(span.0), next)?,
            found => found,
        };
        Ok(stretch.map(|stretch| LookBack { span, stretch, is_first }))
    }

    /// Returns the time of the first snapshot of a room's world after a given time. Blocks on the disk.
    pub(crate) fn next_past(&self, name: &WorldName, after_ms: u64) -> Option<u64> {
        self.store()?.next_snapshot(name, after_ms).unwrap_or_else(|error| {
            warn!(%error, "the next snapshot cannot be found");
            None
        })
    }

    /// Stores a world under its name, which must be free. Blocks on the disk.
    pub(crate) fn copy(&self, store: &dyn WorldStore, saved: &SavedWorld) -> Result<(), CopyError> {
        if !self.take_place() {
            return Err(CopyError::Full);
        }
        let copied = saved.to_file().map_err(CopyError::File).and_then(|file| {
            store.import(&saved.name, &file).map_err(|error| match error.problem {
                Problem::Exists => CopyError::Exists,
                _ => CopyError::Store(error),
            })
        });
        if copied.is_err() {
            self.worlds.fetch_sub(1, Ordering::Relaxed);
        }
        copied
    }

    /// Returns the keys of the players who may be in a stored world.
    pub(crate) fn seats(saved: &SavedWorld, state: &HostState) -> BTreeMap<PlayerId, ClientKey> {
        let mut seats = state.seats.clone();
        seats.extend(saved.notes().filter_map(|note| read_seat_note(&note.bytes)));
        seats
    }

    /// Reserves a slot for one more world. Returns false if no slot is free.
    pub(crate) fn take_place(&self) -> bool {
        let take = |worlds: usize| (worlds < WORLDS_MAX).then_some(worlds + 1);
        self.worlds.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok()
    }

    /// Stores a world under another name, so that a new world can use the current name. Blocks on the disk.
    pub(crate) fn set_aside(
        &self,
        store: &dyn WorldStore,
        saved: &SavedWorld,
    ) -> Result<WorldName, StoreError> {
        let SavedWorld { name, tick, .. } = saved;
        let file = saved.to_file().map_err(|error| StoreError {
            file: "the save file".into(),
            world: Some(name.clone()),
            problem: Problem::Damaged { place: "the world".to_owned(), what: error.to_string() },
        })?;
        let mut tries = 0;
        loop {
            tries += 1;
            // No room can have this name, so no client can enter the world by chance.
            let text = if tries == 1 { format!("{name}@{tick}") } else { format!("{name}@{tick}.{tries}") };
            let aside = WorldName::new(&text).expect("a room's name and two numbers are short");
            match store.import(&aside, &file) {
                Ok(()) => {
                    self.worlds.fetch_add(1, Ordering::Relaxed);
                    return Ok(aside);
                }
                Err(StoreError { problem: Problem::Exists, .. }) if tries < ASIDE_TRIES => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Returns the reason why nothing can be stored any more, if the files of the store were removed or replaced.
    pub(crate) fn gone(&self) -> Option<String> {
        match self.store.lock().as_ref()?.health() {
            Health::Gone { cause, .. } => Some(cause),
            _ => None,
        }
    }

    /// Takes the share of one room in the bytes that no pruning removes.
    pub(crate) fn journal_share(&self, retention: &Retention) -> JournalShare {
        JournalShare::take(&self.recorded, retention)
    }

    /// Removes the data that exceeds the retention. Blocks on the disk.
    pub fn prune(&self, retention: &Retention) {
        let Some(store) = self.store() else { return };
        if let Err(error) = store.prune(retention, now_ms()) {
            warn!(%error, "cannot prune the store");
        }
    }

    /// Writes the pending data of rooms and closes the store, within the given time. Call it when all rooms have ended.
    pub fn close(&self, within: Duration) {
        let Some(store) = self.store.lock().take() else { return };
        if let Err(error) = store.close(within) {
            warn!(%error, "the last changes are not stored");
        }
    }
}
