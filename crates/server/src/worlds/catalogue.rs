//! What a server offers, with the newest good version of each script.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use notify::RecommendedWatcher;
use nowcast_script::{Limits, Script, Sources};
use serde::Serialize;
use tracing::{info, warn};

use super::folder::{read_world, watch};
use super::{MakeWorld, Rules, WorldConfig, WorldError};
use crate::dictionary::Dictionary;
use crate::room_name::is_room_name;

/// Everything that a server offers, in the order of its configuration.
pub(crate) struct Catalogue(Vec<Arc<Offered>>);

/// One world that is offered.
pub(crate) struct Offered {
    pub(crate) name: String,
    rules: Offer,
}

enum Offer {
    Program(MakeWorld),
    Script {
        newest: Arc<Newest>,
        /// Keeps the folder watched.
        _watcher: Option<RecommendedWatcher>,
    },
}

/// What rules a world now.
pub(crate) enum CurrentRules {
    Program(MakeWorld),
    /// The newest version that loads.
    Script(Sources),
}

/// What was last found in a world's folder.
struct Newest {
    /// Counts what was found; rooms look at it in every step.
    number: AtomicU64,
    found: Mutex<Found>,
}

struct Found {
    /// The newest version that loads.
    good: Sources,
    /// Why the newest of all does not, if it does not.
    fault: Option<String>,
}

/// What a room finds when the folder of its world has changed.
pub(crate) enum Change {
    /// A version that loads.
    Version(Sources),
    /// One that does not, and why.
    Fault(String),
}

/// One line of `/api/worlds`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WorldSummary {
    pub(crate) name: String,
    /// The hash of the newest version of its script that loads.
    version: Option<String>,
    /// Why what is in its folder now does not load.
    fault: Option<String>,
    pub(crate) rooms: Vec<String>,
}

impl Catalogue {
    /// Loads every script once, so that mistakes are found before anybody comes.
    pub(crate) fn new(worlds: &[WorldConfig]) -> Result<Self, WorldError> {
        let mut offered: Vec<Arc<Offered>> = Vec::new();
        for WorldConfig { name, rules } in worlds {
            if !is_room_name(name) {
                return Err(WorldError::BadName(name.clone()));
            }
            if offered.iter().any(|known| known.name == *name) {
                return Err(WorldError::TwoOfName(name.clone()));
            }
            let rules = match rules {
                Rules::Program(make) => Offer::Program(Arc::clone(make)),
                Rules::Script(sources) => {
                    Offer::Script { newest: Newest::new(name, None, sources.clone())?, _watcher: None }
                }
                Rules::Folder(folder) => {
                    let newest = Newest::new(name, Some(folder), read_world(folder)?)?;
                    let watcher = watch(folder, reading(name, folder, &newest))?;
                    Offer::Script { newest, _watcher: Some(watcher) }
                }
            };
            offered.push(Arc::new(Offered { name: name.clone(), rules }));
        }
        if offered.is_empty() { Err(WorldError::None) } else { Ok(Self(offered)) }
    }

    /// The world that a room shows.
    pub(crate) fn of_room(&self, room: &str) -> &Arc<Offered> {
        let is_named = |offered: &&Arc<Offered>| {
            room.strip_prefix(&offered.name).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
        };
        // Of `park` and `park-north` the longer name says more.
        let named = self.0.iter().filter(is_named).max_by_key(|offered| offered.name.len());
        named.unwrap_or_else(|| self.0.first().expect("a catalogue offers something"))
    }

    /// What is offered, without rooms.
    pub(crate) fn list(&self) -> Vec<WorldSummary> {
        self.0.iter().map(|offered| offered.summary()).collect()
    }
}

impl Offered {
    /// What rules the world now, and the number of it for [`Offered::change_since`].
    pub(crate) fn rules(&self) -> (CurrentRules, u64) {
        match &self.rules {
            Offer::Program(make) => (CurrentRules::Program(Arc::clone(make)), 0),
            Offer::Script { newest, .. } => {
                let number = newest.number.load(Ordering::Acquire);
                (CurrentRules::Script(newest.lock().good.clone()), number)
            }
        }
    }

    /// What was found since the room last asked; `seen` is what it has seen.
    pub(crate) fn change_since(&self, seen: &mut u64) -> Option<Change> {
        let Offer::Script { newest, .. } = &self.rules else { return None };
        let number = newest.number.load(Ordering::Acquire);
        if number == *seen {
            return None;
        }
        *seen = number;
        let found = newest.lock();
        Some(match &found.fault {
            Some(fault) => Change::Fault(fault.clone()),
            None => Change::Version(found.good.clone()),
        })
    }

    fn summary(&self) -> WorldSummary {
        let (version, fault) = match &self.rules {
            Offer::Program(_) => (None, None),
            Offer::Script { newest, .. } => {
                let found = newest.lock();
                (Some(format!("{:016x}", found.good.hash())), found.fault.clone())
            }
        };
        WorldSummary { name: self.name.clone(), version, fault, rooms: Vec::new() }
    }
}

impl Newest {
    /// `folder` is where the sources are, for whoever reads what is wrong with them.
    fn new(world: &str, folder: Option<&Path>, sources: Sources) -> Result<Arc<Self>, WorldError> {
        load(&sources, folder).map_err(|fault| WorldError::Script { world: world.to_owned(), fault })?;
        let found = Mutex::new(Found { good: sources, fault: None });
        Ok(Arc::new(Self { number: AtomicU64::new(0), found }))
    }

    fn lock(&self) -> MutexGuard<'_, Found> {
        // What is in there is replaced as a whole.
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes in what is in the folder now. Returns what is wrong with it, unless nothing changed.
    fn take(&self, read: Result<Sources, String>) -> Option<Result<u64, String>> {
        let mut found = self.lock();
        let loaded = read.and_then(|sources| load(&sources, None).map(|()| sources));
        let is_known = match &loaded {
            Ok(sources) => found.fault.is_none() && *sources == found.good,
            Err(fault) => found.fault.as_ref() == Some(fault),
        };
        if is_known {
            return None;
        }
        let outcome = loaded.as_ref().map(Sources::hash).map_err(Clone::clone);
        match loaded {
            Ok(sources) => *found = Found { good: sources, fault: None },
            Err(fault) => found.fault = Some(fault),
        }
        self.number.fetch_add(1, Ordering::Release);
        Some(outcome)
    }
}

/// Whether a world can be made by these rules, and be told to clients; if not, why.
fn load(sources: &Sources, folder: Option<&Path>) -> Result<(), String> {
    let script = Script::load(sources, Limits::DEFAULT).map_err(|fault| match folder {
        Some(folder) => fault.in_folder(&folder.display().to_string(), sources),
        None => fault.to_string(),
    })?;
    if Dictionary::new(&script.definition(), 1).fits() {
        Ok(())
    } else {
        Err("the kinds' looks and the actions' hints are too large to be told in one message".to_owned())
    }
}

/// What is done when a folder has changed.
fn reading(world: &str, folder: &Path, newest: &Arc<Newest>) -> impl FnMut() + Send + 'static {
    let (world, folder, newest) = (world.to_owned(), PathBuf::from(folder), Arc::clone(newest));
    move || match newest.take(read_world(&folder).map_err(|error| error.to_string())) {
        None => {}
        Some(Ok(hash)) => info!(world, version = format!("{hash:016x}"), "new rules"),
        Some(Err(fault)) => warn!(world, fault, "new rules do not load; those before stay"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer(names: &[&str]) -> Catalogue {
        let world = |name: &&str| WorldConfig {
            name: (*name).to_owned(),
            rules: Rules::Script(Sources::of_main("")),
        };
        Catalogue::new(&names.iter().map(world).collect::<Vec<_>>()).expect("all is well with them")
    }

    #[test]
    fn a_room_shows_the_world_of_its_name_and_every_other_room_the_first() {
        let catalogue = offer(&["plaza", "park", "park-north"]);
        for (room, world) in [
            ("plaza", "plaza"),
            ("park", "park"),
            ("park-2", "park"),
            ("park-north", "park-north"),
            ("park-north-7", "park-north"),
            ("parking", "plaza"),
            ("lobby", "plaza"),
        ] {
            assert_eq!(catalogue.of_room(room).name, world, "{room}");
        }
    }

    #[test]
    fn what_cannot_be_offered_is_refused_by_name() {
        let offered = |name: &str, text: &str| {
            let rules = Rules::Script(Sources::of_main(text));
            Catalogue::new(&[WorldConfig { name: name.to_owned(), rules }]).map(drop)
        };
        assert_eq!(Catalogue::new(&[]).map(drop), Err(WorldError::None));
        assert_eq!(offered("Park", ""), Err(WorldError::BadName("Park".to_owned())));
        let broken = offered("park", "local x =").unwrap_err().to_string();
        assert!(broken.starts_with("world park: world.luau:1: "), "{broken}");
    }

    #[test]
    fn rules_that_do_not_load_are_told_and_those_before_stay() {
        let newest = Newest::new("park", None, Sources::of_main("-- one")).unwrap();
        let read = |text: &str| Ok(Sources::of_main(text));
        assert_eq!(newest.take(read("-- one")), None, "nothing changed");
        assert!(matches!(newest.take(read("-- two")), Some(Ok(_))));
        assert!(matches!(newest.take(read("local x =")), Some(Err(_))));
        assert_eq!(newest.take(read("local x =")), None, "it was told");
        assert_eq!(newest.lock().good, Sources::of_main("-- two"));
        assert!(matches!(newest.take(read("-- two")), Some(Ok(_))), "mended: rooms are told so");
        assert_eq!(newest.number.load(Ordering::Relaxed), 3);
    }
}
