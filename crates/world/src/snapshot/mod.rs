//! Saves a world as bytes and restores it.
//!
//! Physics has more state than poses and velocities: contacts with their solutions, and islands of resting bodies. This
//! state is large (about 5.8 kB a body), so a snapshot leaves it out. A world that is restored without it would continue a
//! little differently from the original. Therefore **the running world rebuilds its physics from the state that it wrote**,
//! exactly like a restored world. Both worlds continue identically because they *are* identical. Resting bodies stay at
//! rest.

mod saved;
mod scene;

use std::sync::Arc;

use nowcast_wire::Limits as WireLimits;

use crate::account::{SavedData, is_account};
use crate::behaviour::Behaviour;
use crate::definition::Definition;
use crate::hash::Hasher;
use crate::id::{EntityId, PlayerId};
use crate::problem::DefinitionError;
use crate::scene::Scene;
use crate::world::World;
use saved::{
    Saved, SavedAccount, SavedAccountOf, SavedAccounts, SavedPast, SavedPath, SavedPlans, SavedRide,
    SavedWithAccounts, SavedWithGifts, SavedWithPast, SavedWithPaths, SavedWithPlans, SavedWithRides,
};

/// The first bytes of a snapshot. The last of these bytes is the version.
const MAGIC: [u8; 8] = *b"nowworl\x02";
/// The first bytes of the snapshot of a world that records the past.
const MAGIC_WITH_PAST: [u8; 8] = *b"nowworl\x03";

/// The first bytes of the snapshot of a world with repeating timers or planned moves.
const MAGIC_WITH_PLANS: [u8; 8] = *b"nowworl\x04";

/// The first bytes of the snapshot of a world with entities that players gave to others.
const MAGIC_WITH_GIFTS: [u8; 8] = *b"nowworl\x05";

/// The first bytes of the snapshot of a world with walkers on ground that moves.
const MAGIC_WITH_RIDES: [u8; 8] = *b"nowworl\x06";

/// The first bytes of the snapshot of a world with players that have accounts or saved data.
const MAGIC_WITH_ACCOUNTS: [u8; 8] = *b"nowworl\x07";

/// The first bytes of the snapshot of a world with entities that follow paths.
const MAGIC_WITH_PATHS: [u8; 8] = *b"nowworl\x08";

/// The first bytes without the version; the same in every version.
const NAME: &[u8] = b"nowworl";

/// The parts of a snapshot.
struct Parts {
    now: Saved,
    past: Option<SavedPast>,
    plans: SavedPlans,
    gifts: Vec<u32>,
    rides: Vec<SavedRide>,
    accounts: SavedAccounts,
    paths: Vec<SavedPath>,
}

/// The reason why a world cannot be restored.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// The bytes are not a snapshot of a world.
    #[error("these bytes are not a snapshot of a world")]
    Foreign,
    /// The snapshot has a version that this program does not know.
    #[error(
        "the snapshot has version {found}, and this program reads versions {} to {}: use the release that wrote it",
        MAGIC[7], MAGIC_WITH_PATHS[7]
    )]
    Version {
        /// The version of the snapshot.
        found: u8,
    },
    /// The bytes are damaged.
    #[error(transparent)]
    Damaged(#[from] nowcast_wire::Error),
    /// The bytes contain a value that no world writes.
    #[error("the snapshot is damaged: {0}")]
    Invalid(String),
    /// The snapshot has entities of a kind that the definition lacks.
    #[error(
        "{count} entities of kind {kind:?} are in the world, and these rules have no such kind: if it has another name now, \
         say formerly = {{ {kind:?} }} in the kind that takes them over; if not, despawn them by the rules before"
    )]
    UnknownKind {
        /// The name of the kind.
        kind: String,
        /// Number of such entities.
        count: usize,
    },
    /// The definition itself is invalid.
    #[error(transparent)]
    Definition(#[from] DefinitionError),
}

impl World {
    /// Returns the world as bytes. [`World::restore`] makes a world of these bytes that continues like this world.
    ///
    /// Call it between two steps. A snapshot changes the course of the world a little, because contacts are solved again
    /// (see the documentation of the module). So a program with a journal of commands records the tick and calls
    /// [`World::settle`] at the same tick of a replay. Waiting commands and unpolled events are not part of a snapshot.
    pub fn snapshot(&mut self) -> Vec<u8> {
        let (bytes, parts) = to_bytes(self.scene.save_parts());
        self.settle_from(parts);
        bytes
    }

    /// Changes the world as [`World::snapshot`] does, without making the bytes.
    pub fn settle(&mut self) {
        self.settle_from(self.scene.save_parts());
    }

    /// Rebuilds the scene from its saved form.
    fn settle_from(&mut self, parts: Parts) {
        let before = std::mem::replace(&mut self.scene, Scene::new(Arc::new(Definition::default()), 0));
        let mut scene = Scene::load_parts(before.definition, parts).expect("a world can read what it writes");
        scene.events = before.events;
        scene.waiting_event_bytes = before.waiting_event_bytes;
        scene.emitted_bytes = before.emitted_bytes;
        scene.unsaved = before.unsaved;
        scene.stats = before.stats;
        self.scene = scene;
        self.behaviour.resume(&self.scene);
    }

    /// Restores a world. The definition may have changed: kinds and attributes are matched by name, and attributes that
    /// are new or do not fit have their defaults.
    ///
    /// # Errors
    /// Fails if the bytes are not a snapshot of a known version, if they are damaged, or if the world does not fit the
    /// definition.
    pub fn restore(
        definition: Definition,
        behaviour: Box<dyn Behaviour>,
        bytes: &[u8],
    ) -> Result<World, RestoreError> {
        definition.validate()?;
        let scene = Scene::load_parts(Arc::new(definition), from_bytes(bytes)?)?;
        let mut world = World::of(scene, behaviour);
        world.behaviour.resume(&world.scene);
        Ok(world)
    }

    /// Restores a snapshot with the definition and the behaviour of this world, and drops this world. This function is for a
    /// host that can create a world but does not have its definition.
    ///
    /// # Errors
    /// Fails for the reasons of [`World::restore`].
    pub fn resume_from(self, bytes: &[u8]) -> Result<World, RestoreError> {
        World::restore(self.scene.definition().clone(), self.behaviour, bytes)
    }

    /// Returns a hash of the whole world, to the last bit. Computing the hash changes nothing.
    pub fn hash(&self) -> u64 {
        let mut hasher = Hasher::new();
        hasher.bytes(&self.scene.to_bytes());
        hasher.finish()
    }
}

impl Scene {
    fn to_bytes(&self) -> Vec<u8> {
        to_bytes(self.save_parts()).0
    }

    fn save_parts(&self) -> Parts {
        Parts {
            now: self.save(),
            past: self.save_past(),
            plans: self.save_plans(),
            gifts: self.save_gifts(),
            rides: self.save_rides(),
            accounts: self.save_accounts(),
            paths: self.save_paths(),
        }
    }

    /// Saves the ids of entities that players gave to others.
    fn save_gifts(&self) -> Vec<u32> {
        self.holds.iter().filter(|(_, hold)| hold.is_gift).map(|(id, _)| id.0).collect()
    }

    fn load_gifts(&mut self, gifts: &[u32]) -> Result<(), RestoreError> {
        let invalid = |what: &str| RestoreError::Invalid(what.to_owned());
        if !gifts.is_sorted_by(|a, b| a < b) {
            return Err(invalid("its gifts are not in order"));
        }
        for id in gifts {
            let hold = self.holds.get_mut(&EntityId(*id));
            hold.ok_or_else(|| invalid("a gift has no owner"))?.is_gift = true;
        }
        Ok(())
    }

    /// Saves the ground velocities of those walkers that stand on a moving ground.
    fn save_rides(&self) -> Vec<SavedRide> {
        let riding = self.walkers.iter().filter(|(_, walker)| !walker.ground_velocities.is_empty());
        riding
            .map(|(id, walker)| SavedRide { id: id.0, velocities: walker.ground_velocities.clone() })
            .collect()
    }

    fn load_rides(&mut self, rides: Vec<SavedRide>) -> Result<(), RestoreError> {
        let invalid = |what: &str| RestoreError::Invalid(what.to_owned());
        if !rides.is_sorted_by(|a, b| a.id < b.id) {
            return Err(invalid("its walkers on moving ground are not in order"));
        }
        for SavedRide { id, velocities } in rides {
            let walker = self.walkers.get_mut(&EntityId(id));
            let walker = walker.ok_or_else(|| invalid("no walker is on ground that moves"))?;
            let are_numbers = velocities.iter().flatten().all(|v| v.is_finite());
            if velocities.len() != walker.grounds.len() || velocities.is_empty() || !are_numbers {
                return Err(invalid("the velocities of a walker's grounds are invalid"));
            }
            walker.ground_velocities = velocities;
        }
        Ok(())
    }

    /// Saves the accounts of players, and their data.
    fn save_accounts(&self) -> SavedAccounts {
        let of_players = self.players().filter_map(|player| {
            Some(SavedAccountOf { player: player.id.0, account: player.account.clone()? })
        });
        let data = self.accounts.iter().map(|(key, data)| SavedAccount {
            key: key.clone(),
            version: data.version,
            revision: data.revision,
            value: data.value.clone(),
        });
        SavedAccounts { of_players: of_players.collect(), data: data.collect() }
    }

    fn load_accounts(&mut self, saved: SavedAccounts) -> Result<(), RestoreError> {
        let invalid = |what: &str| RestoreError::Invalid(what.to_owned());
        for SavedAccountOf { player, account } in saved.of_players {
            let player = self.players.get_mut(&PlayerId(player));
            let player = player.ok_or_else(|| invalid("an account has no player"))?;
            if !is_account(&account) {
                return Err(invalid("an account has an invalid name"));
            }
            player.account = Some(account);
        }
        for SavedAccount { key, version, revision, value } in saved.data {
            if !self.players().any(|player| player.saved_key() == key) {
                return Err(invalid("saved data has no player"));
            }
            self.accounts.insert(key, SavedData { version, revision, value });
        }
        self.kept_bytes = self.count_kept();
        Ok(())
    }

    fn load_parts(definition: Arc<Definition>, parts: Parts) -> Result<Scene, RestoreError> {
        let mut scene = Scene::load(definition, parts.now)?;
        scene.load_past(parts.past.unwrap_or_default())?;
        scene.load_plans(parts.plans)?;
        scene.load_gifts(&parts.gifts)?;
        scene.load_rides(parts.rides)?;
        scene.load_accounts(parts.accounts)?;
        scene.load_paths(parts.paths)?;
        Ok(scene)
    }
}

/// Decodes the parts of a snapshot of any of the seven forms.
fn from_bytes(bytes: &[u8]) -> Result<Parts, RestoreError> {
    let (magic, body) = bytes.split_first_chunk::<8>().ok_or(RestoreError::Foreign)?;
    let (mut past, mut plans) = (None, SavedPlans::default());
    let (mut gifts, mut rides, mut accounts) = (Vec::new(), Vec::new(), SavedAccounts::default());
    let mut paths = Vec::new();
    let now = match *magic {
        MAGIC => nowcast_wire::decode_with(body, &WireLimits::FILE)?,
        MAGIC_WITH_PAST => {
            let whole: SavedWithPast = nowcast_wire::decode_with(body, &WireLimits::FILE)?;
            past = Some(whole.past);
            whole.now
        }
        MAGIC_WITH_PLANS => {
            let whole: SavedWithPlans = nowcast_wire::decode_with(body, &WireLimits::FILE)?;
            (past, plans) = (whole.past, whole.plans);
            whole.now
        }
        MAGIC_WITH_GIFTS => {
            let whole: SavedWithGifts = nowcast_wire::decode_with(body, &WireLimits::FILE)?;
            (past, plans, gifts) = (whole.past, whole.plans, whole.gifts);
            whole.now
        }
        MAGIC_WITH_RIDES => {
            let whole: SavedWithRides = nowcast_wire::decode_with(body, &WireLimits::FILE)?;
            (past, plans) = (whole.past, whole.plans);
            (gifts, rides) = (whole.gifts, whole.rides);
            whole.now
        }
        MAGIC_WITH_ACCOUNTS => {
            let whole: SavedWithAccounts = nowcast_wire::decode_with(body, &WireLimits::FILE)?;
            (past, plans) = (whole.past, whole.plans);
            (gifts, rides, accounts) = (whole.gifts, whole.rides, whole.accounts);
            whole.now
        }
        MAGIC_WITH_PATHS => {
            let whole: SavedWithPaths = nowcast_wire::decode_with(body, &WireLimits::FILE)?;
            (past, plans, paths) = (whole.past, whole.plans, whole.paths);
            (gifts, rides, accounts) = (whole.gifts, whole.rides, whole.accounts);
            whole.now
        }
        [.., found] if magic.starts_with(NAME) => return Err(RestoreError::Version { found }),
        _ => return Err(RestoreError::Foreign),
    };
    Ok(Parts { now, past, plans, gifts, rides, accounts, paths })
}

/// Encodes the parts of a snapshot in the oldest form that can hold them. Returns the parts unchanged.
fn to_bytes(parts: Parts) -> (Vec<u8>, Parts) {
    let Parts { now, past, plans, gifts, rides, accounts, paths } = parts;
    if !paths.is_empty() {
        let whole = SavedWithPaths { now, past, plans, gifts, rides, accounts, paths };
        let bytes = encoded(MAGIC_WITH_PATHS, &whole);
        let SavedWithPaths { now, past, plans, gifts, rides, accounts, paths } = whole;
        return (bytes, Parts { now, past, plans, gifts, rides, accounts, paths });
    }
    if !accounts.is_empty() {
        let whole = SavedWithAccounts { now, past, plans, gifts, rides, accounts };
        let bytes = encoded(MAGIC_WITH_ACCOUNTS, &whole);
        let SavedWithAccounts { now, past, plans, gifts, rides, accounts } = whole;
        return (bytes, Parts { now, past, plans, gifts, rides, accounts, paths });
    }
    if !rides.is_empty() {
        let whole = SavedWithRides { now, past, plans, gifts, rides };
        let bytes = encoded(MAGIC_WITH_RIDES, &whole);
        let SavedWithRides { now, past, plans, gifts, rides } = whole;
        return (bytes, Parts { now, past, plans, gifts, rides, accounts, paths });
    }
    if !gifts.is_empty() {
        let whole = SavedWithGifts { now, past, plans, gifts };
        let bytes = encoded(MAGIC_WITH_GIFTS, &whole);
        let SavedWithGifts { now, past, plans, gifts } = whole;
        return (bytes, Parts { now, past, plans, gifts, rides, accounts, paths });
    }
    if !plans.repeats.is_empty() || !plans.moves.is_empty() {
        let whole = SavedWithPlans { now, past, plans };
        let bytes = encoded(MAGIC_WITH_PLANS, &whole);
        return (
            bytes,
            Parts { now: whole.now, past: whole.past, plans: whole.plans, gifts, rides, accounts, paths },
        );
    }
    let Some(past) = past else {
        return (encoded(MAGIC, &now), Parts { now, past: None, plans, gifts, rides, accounts, paths });
    };
    let whole = SavedWithPast { now, past };
    let bytes = encoded(MAGIC_WITH_PAST, &whole);
    (bytes, Parts { now: whole.now, past: Some(whole.past), plans, gifts, rides, accounts, paths })
}

fn encoded(magic: [u8; 8], whole: &impl nowcast_wire::Wire) -> Vec<u8> {
    let mut bytes = magic.to_vec();
    nowcast_wire::encode(whole, &mut bytes);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Body, ColliderShape, Kind, Spawn};

    struct Pile;

    impl Behaviour for Pile {
        fn start(&mut self, scene: &mut Scene) {
            let [ground, cube] =
                ["ground", "cube"].map(|name| scene.kind(name).expect("the kind is defined"));
            scene.spawn(ground, Spawn::at([0.0, -1.0, 0.0])).expect("the world has space for the entity");
            for storey in 0..4 {
                scene
                    .spawn(cube, Spawn::at([0.0, 0.5 + storey as f32, 0.0]))
                    .expect("the world has space for the entity");
            }
        }
    }

    #[test]
    fn sleeping_bodies_cost_nothing_after_a_snapshot() {
        let ground = Body::fixed(ColliderShape::Box { size: [20.0, 2.0, 20.0] });
        let kinds = vec![
            Kind::new("ground").with_body(ground),
            Kind::new("cube").with_body(Body::dynamic(ColliderShape::cube(1.0))),
        ];
        let definition = Definition { kinds, ..Definition::default() };
        let mut world = World::new(definition, 0, Box::new(Pile)).expect("the definition is good");
        let active = |world: &World| world.scene.physics.world.islands.active_bodies().count();
        (0..200).for_each(|_| world.step());
        assert_eq!(active(&world), 0, "the pile sleeps");
        world.settle();
        assert_eq!(active(&world), 0, "and sleeps on");
    }
}
