//! The worlds that rooms show, with the newest valid version of each script.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use nowcast_script::{About, Asset, Assets, Fault, Limits, Script, Sources, Stop, missing_assets};
use nowcast_world_protocol::is_room_name;
use parking_lot::Mutex;
use serde::Serialize;

use super::asset_cache::AssetCache;
use super::{MakeWorld, OfferError};
use crate::dictionary::Dictionary;

/// All worlds that rooms show, in the order in which they were offered.
///
/// A room shows the world of its name. Otherwise it shows the world whose name, with a hyphen, is a prefix of the
/// room's name (`football-2` shows `football`). All other rooms show the first world.
#[derive(Default)]
pub struct Catalogue {
    offered: Vec<Arc<Offered>>,
    /// The headings of start pages, by the names of their worlds.
    groups: HashMap<String, String>,
    /// The assets of all offered worlds.
    asset_cache: Arc<AssetCache>,
}

/// One offered world.
pub(crate) struct Offered {
    pub(crate) name: String,
    rules: Offer,
}

enum Offer {
    Program(MakeWorld),
    Script(Arc<ScriptVersions>),
}

/// The rules in force in a world.
pub(crate) enum CurrentRules {
    Program(MakeWorld),
    /// The newest version that loads.
    Script(Sources),
}

/// The versions of one world's scripts and assets, of which rooms use the newest that loads.
pub struct ScriptVersions {
    asset_cache: Arc<AssetCache>,
    /// The number of changes so far. Rooms compare this number in each step.
    number: AtomicU64,
    found: Mutex<Found>,
}

/// The declarations of loaded rules that are needed before a room opens.
#[derive(Debug)]
struct Loaded {
    /// The description for visitors.
    about: About,
    /// Whether the rules save data of accounts.
    saves: bool,
}

struct Found {
    /// The newest version that loads.
    good: Sources,
    /// The asset files.
    assets: Assets,
    /// The description of `good` for visitors.
    about: About,
    /// Whether `good` saves data of accounts.
    saves: bool,
    /// The reason why the current contents of the folder do not load, if they do not.
    fault: Option<String>,
}

impl Found {
    /// Whether these contents are in force. False while the folder has a fault.
    fn is_in_force(&self, sources: &Sources, assets: &Assets) -> bool {
        self.fault.is_none() && *sources == self.good && *assets == self.assets
    }
}

/// A change in the folder of a room's world.
pub(crate) enum Change {
    /// A version that loads, with its asset files. The rules or the asset files may be unchanged.
    Version(Sources, Assets),
    /// A version that does not load, with the reason.
    Fault(String),
}

/// One offered world with the rooms that show it: an entry of `/api/worlds`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WorldSummary {
    pub(crate) name: String,
    /// The hash of the script's newest version that loads.
    version: Option<String>,
    /// The reason why the current contents of the world's folder do not load.
    fault: Option<String>,
    pub(crate) rooms: Vec<String>,
    /// The goal of the world in one sentence, if the world describes itself.
    goal: Option<String>,
    /// The first steps of a visitor.
    how: Vec<String>,
    /// The path of a picture of the world on this server.
    picture: Option<String>,
    /// The heading below which start pages list the world, if it has one.
    group: Option<String>,
}

impl Catalogue {
    /// Offers a world whose rules are a program.
    ///
    /// # Errors
    /// Fails if the name is not the name of a room, or if another world has it.
    pub fn offer_program(&mut self, name: &str, make: MakeWorld) -> Result<(), OfferError> {
        self.offer(name, || Ok(Offer::Program(make)))
    }

    /// Offers a world whose rules are scripts. They are loaded once, so that mistakes are found before a client joins.
    /// `folder` is the folder of the sources, for error messages. Pass later versions to the returned handle.
    ///
    /// # Errors
    /// Fails if the name is not the name of a room, if another world has it, or if the scripts do not load.
    pub fn offer_script(
        &mut self,
        name: &str,
        sources: Sources,
        assets: Assets,
        folder: Option<&Path>,
    ) -> Result<Arc<ScriptVersions>, OfferError> {
        let asset_cache = Arc::clone(&self.asset_cache);
        let mut versions = None;
        self.offer(name, || {
            let newest = ScriptVersions::new(name, folder, sources, assets, &asset_cache)?;
            versions = Some(Arc::clone(&newest));
            Ok(Offer::Script(newest))
        })?;
        Ok(versions.expect("the world was offered"))
    }

    fn offer(
        &mut self,
        name: &str,
        rules: impl FnOnce() -> Result<Offer, OfferError>,
    ) -> Result<(), OfferError> {
        if !is_room_name(name) {
            return Err(OfferError::BadName(name.to_owned()));
        }
        if self.offered.iter().any(|known| known.name == *name) {
            return Err(OfferError::TwoOfName(name.to_owned()));
        }
        self.offered.push(Arc::new(Offered { name: name.to_owned(), rules: rules()? }));
        Ok(())
    }

    /// Sets the headings below which start pages list worlds, by the names of the worlds.
    pub fn set_groups(&mut self, groups: HashMap<String, String>) {
        self.groups = groups;
    }

    /// Whether no world is offered.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.offered.is_empty()
    }

    /// Returns the world that a room shows.
    pub(crate) fn of_room(&self, room: &str) -> &Arc<Offered> {
        self.named_by(room).unwrap_or_else(|| self.offered.first().expect("a catalogue offers something"))
    }

    /// Whether the name of a room selects its world, or only one world is offered.
    pub(crate) fn names(&self, room: &str) -> bool {
        self.offered.len() == 1 || self.named_by(room).is_some()
    }

    fn named_by(&self, room: &str) -> Option<&Arc<Offered>> {
        let is_named = |offered: &&Arc<Offered>| {
            room.strip_prefix(&offered.name).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
        };
        // The longest matching name is chosen. A room named `park-north-2` shows the world `park-north`, not `park`.
        self.offered.iter().filter(is_named).max_by_key(|offered| offered.name.len())
    }

    /// Returns the offered worlds without their rooms.
    pub(crate) fn list(&self) -> Vec<WorldSummary> {
        let group = |name: &str| self.groups.get(name).cloned();
        self.offered.iter().map(|offered| offered.summary(group(&offered.name))).collect()
    }

    /// Returns the asset with this hash, if it is still kept.
    #[must_use]
    pub fn asset(&self, hash: &str) -> Option<Arc<Asset>> {
        self.asset_cache.get(hash)
    }
}

impl Offered {
    /// Returns the rules in force, and their number for [`Offered::change_since`].
    pub(crate) fn rules(&self) -> (CurrentRules, u64) {
        match &self.rules {
            Offer::Program(make) => (CurrentRules::Program(Arc::clone(make)), 0),
            Offer::Script(newest) => {
                let number = newest.number.load(Ordering::Acquire);
                (CurrentRules::Script(newest.found.lock().good.clone()), number)
            }
        }
    }

    /// Returns the asset files of the newest version that loads.
    pub(crate) fn assets(&self) -> Assets {
        match &self.rules {
            Offer::Program(_) => Assets::default(),
            Offer::Script(newest) => newest.found.lock().assets.clone(),
        }
    }

    /// Returns the change since a room's last call. `seen` is the number of the newest change that the room has seen.
    pub(crate) fn change_since(&self, seen: &mut u64) -> Option<Change> {
        let Offer::Script(newest) = &self.rules else { return None };
        let number = newest.number.load(Ordering::Acquire);
        if number == *seen {
            return None;
        }
        *seen = number;
        let found = newest.found.lock();
        Some(match &found.fault {
            Some(fault) => Change::Fault(fault.clone()),
            None => Change::Version(found.good.clone(), found.assets.clone()),
        })
    }

    /// Whether the rules save data of accounts. Rules in Rust may save data.
    pub(crate) fn saves(&self) -> bool {
        match &self.rules {
            Offer::Script(newest) => newest.found.lock().saves,
            Offer::Program(_) => true,
        }
    }

    fn summary(&self, group: Option<String>) -> WorldSummary {
        let mut summary = WorldSummary {
            name: self.name.clone(),
            version: None,
            fault: None,
            rooms: Vec::new(),
            goal: None,
            how: Vec::new(),
            picture: None,
            group,
        };
        if let Offer::Script(newest) = &self.rules {
            let found = newest.found.lock();
            let About { goal, how, picture } = &found.about;
            summary.version = Some(format!("{:016x}", found.good.hash()));
            summary.fault = found.fault.clone();
            summary.goal = (!goal.is_empty()).then(|| goal.clone());
            summary.how = how.clone();
            let picture = picture.as_ref().and_then(|name| found.assets.get(name));
            summary.picture = picture.map(|asset| format!("/assets/{}", asset.hash));
        }
        summary
    }
}

impl ScriptVersions {
    /// `folder` is the folder of the sources, for error messages.
    fn new(
        world: &str,
        folder: Option<&Path>,
        sources: Sources,
        assets: Assets,
        asset_cache: &Arc<AssetCache>,
    ) -> Result<Arc<Self>, OfferError> {
        let Loaded { about, saves } = load(&sources, &assets, folder)
            .map_err(|fault| OfferError::Script { world: world.to_owned(), fault })?;
        asset_cache.put(&assets);
        let found = Mutex::new(Found { good: sources, assets, about, saves, fault: None });
        Ok(Arc::new(Self { asset_cache: Arc::clone(asset_cache), number: AtomicU64::new(0), found }))
    }

    /// Returns the assets of the newest version that loads. An unchanged file can be reused without another check.
    #[must_use]
    pub fn assets(&self) -> Assets {
        self.found.lock().assets.clone()
    }

    /// Takes the current contents of the world's folder, or the error of the attempt to read them. Returns the hash of a new
    /// version that loads, or the problem of a version that does not load. Returns `None` if nothing changed. Blocks while
    /// the version loads.
    pub fn take(&self, read: Result<(Sources, Assets), String>) -> Option<Result<u64, String>> {
        if let Ok((sources, assets)) = &read
            && self.found.lock().is_in_force(sources, assets)
        {
            return None;
        }
        // The version is loaded without the lock, because loading may take long or never finish.
        let loaded = read.and_then(|(sources, assets)| {
            let loaded = load(&sources, &assets, None)?;
            Ok((sources, assets, loaded))
        });
        let mut found = self.found.lock();
        if let Err(fault) = &loaded
            && found.fault.as_ref() == Some(fault)
        {
            return None;
        }
        let outcome = loaded.as_ref().map(|(sources, ..)| sources.hash()).map_err(Clone::clone);
        match loaded {
            Ok((sources, assets, Loaded { about, saves })) => {
                // The assets are served before a room announces them to a page.
                self.asset_cache.put(&assets);
                self.asset_cache.retire(&found.assets, &assets);
                *found = Found { good: sources, assets, about, saves, fault: None };
            }
            Err(fault) => found.fault = Some(fault),
        }
        self.number.fetch_add(1, Ordering::Release);
        Some(outcome)
    }
}

/// Describes the first fault, and states the number of further faults. Returns `None` if there is no fault.
#[must_use]
pub fn describe_faults(faults: &[Fault]) -> Option<String> {
    match faults {
        [] => None,
        [one] => Some(one.to_string()),
        [first, rest @ ..] => Some(format!("{first}, and {} more: `nowcast check` shows them", rest.len())),
    }
}

/// Returns the declarations, or an error if no world can be created from these rules and files, or if its definition cannot be sent. Rules that
/// do not finish are interrupted. Rules that cannot be interrupted are abandoned.
fn load(sources: &Sources, assets: &Assets, folder: Option<&Path>) -> Result<Loaded, String> {
    let (sources, assets, folder) = (sources.clone(), assets.clone(), folder.map(Path::to_owned));
    within(LOAD_TIME_MAX, move || load_here(&sources, &assets, folder.as_deref()))
}

/// Maximum time for rules to load, and again for them to end after an interrupt.
const LOAD_TIME_MAX: Duration = Duration::from_secs(10);
const STOP_PATIENCE: Duration = Duration::from_millis(700);

/// Runs code that loads scripts on a separate thread, for a limited time.
fn within<T: Send + 'static>(
    time_max: Duration,
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    let stop = Stop::default();
    let (sender, done) = channel();
    let watched = stop.clone();
    let thread = thread::Builder::new().name("world load".to_owned()).spawn(move || {
        // The receiver was dropped if the thread was abandoned.
        let _ = sender.send(watched.watch(work));
    });
    thread.map_err(|error| format!("the system has no thread to load the rules: {error}"))?;
    done.recv_timeout(time_max)
        .or_else(|_| {
            stop.set();
            done.recv_timeout(STOP_PATIENCE)
        })
        .unwrap_or_else(|_| {
            let seconds = time_max.as_secs_f32();
            Err(format!("the rules did not come to an end within {seconds} s while they were loaded"))
        })
}

fn load_here(sources: &Sources, assets: &Assets, folder: Option<&Path>) -> Result<Loaded, String> {
    let script = Script::load(sources, Limits::DEFAULT).map_err(|fault| match folder {
        Some(folder) => fault.in_folder(&folder.display().to_string(), sources),
        None => fault.to_string(),
    })?;
    let definition = script.definition();
    if let Some(fault) = describe_faults(&missing_assets(sources, &definition, assets)) {
        return Err(fault);
    }
    if Dictionary::new(&definition, assets, 1).fits() {
        Ok(Loaded { about: script.about(), saves: definition.saves })
    } else {
        Err("the kinds' looks, the actions' bindings and the names of assets are too large for one message"
            .to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer(catalogue: &mut Catalogue, name: &str, text: &str) -> Result<(), OfferError> {
        catalogue.offer_script(name, Sources::of_main(text), Assets::default(), None).map(drop)
    }

    #[test]
    fn a_room_shows_the_world_of_its_name_and_every_other_room_the_first() {
        let mut catalogue = Catalogue::default();
        for name in ["plaza", "park", "park-north"] {
            offer(&mut catalogue, name, "").expect("the script loads");
        }
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
    fn a_world_that_cannot_be_offered_is_refused_by_name() {
        let mut catalogue = Catalogue::default();
        assert_eq!(offer(&mut catalogue, "Park", ""), Err(OfferError::BadName("Park".to_owned())));
        let broken = offer(&mut catalogue, "park", "local x =").unwrap_err().to_string();
        assert!(broken.starts_with("world park: world.luau:1: "), "{broken}");
        assert!(catalogue.is_empty(), "a refused world is not offered");
        offer(&mut catalogue, "park", "").expect("the script loads");
        assert_eq!(offer(&mut catalogue, "park", ""), Err(OfferError::TwoOfName("park".to_owned())));
    }

    #[test]
    fn rules_that_hang_while_loading_are_interrupted_or_abandoned() {
        let text =
            "local a, b = ('x'):rep(7e6) .. 'a', ('x'):rep(7e6) .. 'b' for _ = 1, 1e9 do local _ = a < b end";
        let sources = Sources::of_main(text);
        let stopped =
            within(Duration::from_millis(100), move || load_here(&sources, &Assets::default(), None));
        assert!(stopped.as_ref().is_err_and(|why| why.contains("took longer")), "{stopped:?}");
        let (_held, wait) = channel::<()>();
        let given_up = within(Duration::from_millis(10), move || {
            let _ = wait.recv();
            Ok(())
        });
        assert!(given_up.as_ref().is_err_and(|why| why.contains("did not come to an end")), "{given_up:?}");
    }

    #[test]
    fn rules_that_do_not_load_are_reported_and_the_earlier_ones_stay() {
        let sources = Sources::of_main("-- one");
        let newest = ScriptVersions::new("park", None, sources, Assets::default(), &Arc::default()).unwrap();
        let read = |text: &str| Ok((Sources::of_main(text), Assets::default()));
        assert_eq!(newest.take(read("-- one")), None, "nothing changed");
        assert!(matches!(newest.take(read("-- two")), Some(Ok(_))));
        assert!(matches!(newest.take(read("local x =")), Some(Err(_))));
        assert_eq!(newest.take(read("local x =")), None, "the fault was already reported");
        assert_eq!(newest.found.lock().good, Sources::of_main("-- two"));
        assert!(matches!(newest.take(read("-- two")), Some(Ok(_))), "repaired: rooms receive the new rules");
        assert_eq!(newest.number.load(Ordering::Relaxed), 3);
    }

    #[test]
    fn a_changed_file_is_a_new_version_and_a_look_without_its_file_is_invalid() {
        let rules = |texture: &str| {
            let look = format!("look = {{ texture = 'assets/{texture}.png' }}");
            Sources::of_main(&format!(
                "local world = require('@nowcast/world')\nworld.kind('rock', {{ {look} }})"
            ))
        };
        let assets = |height: u8| {
            let picture = [b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\0\x01\0\0\0" as &[u8], &[height]].concat();
            Assets::read([("assets/moss.png".to_owned(), picture)], &Assets::default()).0
        };
        let asset_cache = Arc::default();
        let newest = ScriptVersions::new("park", None, rules("moss"), assets(1), &asset_cache).unwrap();
        assert_eq!(newest.take(Ok((rules("moss"), assets(1)))), None, "nothing changed");
        assert!(matches!(newest.take(Ok((rules("moss"), assets(2)))), Some(Ok(_))));
        let Some(Err(fault)) = newest.take(Ok((rules("mos"), assets(2)))) else {
            panic!("there is no such file")
        };
        assert!(fault.starts_with("world.luau:2: rock.look.texture names"), "{fault}");
        for (height, is_served) in [(1, true), (2, true), (3, false)] {
            let asset = assets(height);
            let hash = &asset.get("assets/moss.png").unwrap().hash;
            assert_eq!(asset_cache.get(hash).is_some(), is_served, "{height}");
        }
    }
}
