//! The state of a world without its rules. Every hook receives it as an argument.

mod accounts;
mod bodies;
mod crowds;
mod entities;
mod error;
mod events;
mod joints;
mod jumps;
mod moves;
mod owners;
mod players;
mod queries;
mod rewinding;
mod screens;
mod state;
mod stored_bytes;
mod systems;
mod timers;

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use nowcast_wire::Value;

pub use error::SceneError;
pub use moves::{PATH_PLACES_MAX, PATHS_MAX};
pub use queries::{Filter, Hit};

use crate::account::SavedData;
use crate::contact::Contact;
use crate::definition::Definition;
use crate::entity::Entities;
use crate::event::Event;
use crate::id::{EntityId, KindId, PlayerId};
use crate::joint::{Joint, JointId};
use crate::kind::Kind;
use crate::owner::OwnerClaim;
use crate::past::Past;
use crate::physics::Physics;
use crate::planned_move::{PlannedMove, PlannedPath};
use crate::player::Player;
use crate::pose::Pose;
use crate::random::Random;
use crate::stats::Stats;
use crate::timer::Timers;
use crate::walker::WalkerState;

/// The state of a world without its rules: entities, players, joints, timers and state.
///
/// A [`crate::Behaviour`] receives the scene in every hook and changes the world through it. All other readers use
/// [`crate::World::scene`]. A call with a wrong argument returns an error and changes nothing.
///
/// | task | use |
/// | --- | --- |
/// | spawn and remove | [`spawn`](Self::spawn), [`despawn`](Self::despawn) |
/// | find | [`entities`](Self::entities), [`entity`](Self::entity), [`kind`](Self::kind) |
/// | move | [`set_pose`](Self::set_pose), [`set_velocity`](Self::set_velocity), [`start_move`](Self::start_move), [`follow`](Self::follow), [`push`](Self::push), [`apply_impulse`](Self::apply_impulse), [`set_input`](Self::set_input) |
/// | store data | [`set_attribute`](Self::set_attribute), [`set_private`](Self::set_private), [`set_state`](Self::set_state) |
/// | assign owners | [`set_owner`](Self::set_owner) |
/// | connect | [`join`](Self::join), [`part`](Self::part), [`set_parent`](Self::set_parent), [`set_passes`](Self::set_passes) |
/// | query | [`cast_ray`](Self::cast_ray), [`cast_shape`](Self::cast_shape), [`overlaps`](Self::overlaps), [`distance`](Self::distance), [`touching`](Self::touching) |
/// | query a player's view | [`rewind`](Self::rewind), [`end_rewind`](Self::end_rewind), [`seen_pose`](Self::seen_pose) |
/// | set timers | [`after`](Self::after), [`every`](Self::every), [`cancel`](Self::cancel) |
/// | players | [`players`](Self::players), [`player`](Self::player), [`spawn_avatar`](Self::spawn_avatar), [`set_player_tag`](Self::set_player_tag), [`saved`](Self::saved), [`set_saved`](Self::set_saved) |
/// | send | [`emit`](Self::emit), [`show`](Self::show) |
/// | randomness | [`random`](Self::random) |
///
/// ```
/// use nowcast_world::{Behaviour, Body, ColliderShape, Definition, EntityId, Kind, Scene, Spawn, World};
///
/// struct Market;
///
/// impl Behaviour for Market {
///     fn start(&mut self, scene: &mut Scene) {
///         let kind = scene.kind("crate").expect("the definition has it");
///         let low = scene.spawn(kind, Spawn::at([0.0, 0.5, 0.0])).expect("the world is empty");
///         let high = scene.spawn(kind, Spawn::at([0.0, 4.0, 0.0])).expect("the world is empty");
///         scene.set_tag(high, "falling", true).expect("the tag is a name");
///         scene.set_state("crates", 2).expect("the value is within its limit");
///         scene.despawn(low).expect("the entity exists");
///         // An error names the cause, and nothing has changed.
///         assert_eq!(scene.despawn(low).unwrap_err().to_string(), "no entity 1 is in the world");
///     }
/// }
///
/// let kind = Kind::new("crate").with_body(Body::dynamic(ColliderShape::cube(0.5)));
/// let definition = Definition { kinds: vec![kind], ..Definition::default() };
/// let mut world = World::new(definition, 1, Box::new(Market))?;
/// (0..30).for_each(|_| world.step());
/// let scene = world.scene();
/// assert_eq!((scene.entities().len(), scene.state("crates")), (1, Some(&2.into())));
/// assert!(scene.velocity(EntityId(2)).is_some_and(|velocity| velocity.linear[1] < 0.0), "it falls");
/// # Ok::<(), nowcast_world::DefinitionError>(())
/// ```
pub struct Scene {
    pub(crate) definition: Arc<Definition>,
    pub(crate) tick: u64,
    pub(crate) random: Random,
    pub(crate) entities: Entities,
    pub(crate) physics: Physics,
    pub(crate) walkers: BTreeMap<EntityId, WalkerState>,
    pub(crate) joints: BTreeMap<JointId, BoundJoint>,
    /// The entities that players own.
    pub(crate) holds: BTreeMap<EntityId, OwnerClaim>,
    /// The planned moves that are under way.
    pub(crate) moves: BTreeMap<EntityId, PlannedMove>,
    /// The moves along paths that are under way. An entity has a planned move or a path, never both.
    pub(crate) paths: BTreeMap<EntityId, PlannedPath>,
    /// The positions that the rules have set in the last steps.
    pub(crate) jumps: jumps::Jumps,
    pub(crate) players: BTreeMap<PlayerId, Player>,
    /// See [`Self::players_version`].
    pub(crate) players_version: Arc<()>,
    pub(crate) timers: Timers,
    pub(crate) state: BTreeMap<String, Value>,
    pub(crate) state_bytes: usize,
    pub(crate) screens: BTreeMap<(Option<PlayerId>, String), Value>,
    /// The entities of kinds that report contacts.
    pub(crate) reporters: BTreeSet<EntityId>,
    /// Touching pairs in which the kind of at least one entity reports contacts, the smaller id first.
    pub(crate) touching: BTreeSet<(EntityId, EntityId)>,
    /// Contacts that ended because an entity was removed. They are reported with the contacts of this step.
    pub(crate) ended: Vec<Contact>,
    pub(crate) events: VecDeque<Event>,
    /// Bytes of waiting events, and of this step's events.
    pub(crate) waiting_event_bytes: usize,
    pub(crate) emitted_bytes: usize,
    /// Bytes of all stored values.
    pub(crate) kept_bytes: usize,
    /// Parts of bodies that queries examined since the last call of [`Self::take_query_cost`].
    pub(crate) looked_at: Cell<u64>,
    /// Whether a durable action is running.
    pub(crate) acts_durably: bool,
    /// Past poses, if the definition records them.
    pub(crate) past: Past,
    /// While the scene is rewound: the past poses of the entities whose present pose differs.
    pub(crate) view: Option<BTreeMap<EntityId, Pose>>,
    /// The data of accounts whose players are in the world, by account.
    pub(crate) accounts: BTreeMap<String, SavedData>,
    /// The changed data that the host has not taken yet.
    pub(crate) unsaved: BTreeMap<String, SavedData>,
    pub(crate) stats: Stats,
    pub(crate) next_entity: u32,
    pub(crate) next_joint: u32,
    pub(crate) next_player: u32,
}

/// A joint, and its handle in physics.
pub(crate) struct BoundJoint {
    pub(crate) joint: Joint,
    pub(crate) handle: rapier3d::prelude::ImpulseJointHandle,
}

impl Scene {
    pub(crate) fn new(definition: Arc<Definition>, seed: u64) -> Scene {
        let mut scene = Scene {
            physics: Physics::new(definition.gravity),
            tick: 0,
            random: Random::new(seed),
            entities: Entities::default(),
            walkers: BTreeMap::new(),
            joints: BTreeMap::new(),
            holds: BTreeMap::new(),
            moves: BTreeMap::new(),
            paths: BTreeMap::new(),
            jumps: jumps::Jumps::default(),
            players: BTreeMap::new(),
            players_version: Arc::default(),
            timers: Timers::default(),
            state: BTreeMap::new(),
            state_bytes: 0,
            screens: BTreeMap::new(),
            reporters: BTreeSet::new(),
            touching: BTreeSet::new(),
            ended: Vec::new(),
            events: VecDeque::new(),
            waiting_event_bytes: 0,
            emitted_bytes: 0,
            kept_bytes: 0,
            looked_at: Cell::default(),
            acts_durably: false,
            past: Past::default(),
            view: None,
            accounts: BTreeMap::new(),
            unsaved: BTreeMap::new(),
            stats: Stats::default(),
            next_entity: 1,
            next_joint: 1,
            next_player: 0,
            definition,
        };
        let definition = Arc::clone(&scene.definition);
        if let Value::Map(pairs) = &definition.state {
            for (key, value) in pairs {
                let key = key.as_text().expect("a definition was checked");
                scene.set_state(key, value.clone()).expect("a definition was checked");
            }
        }
        scene
    }

    /// Returns the definition of the world.
    pub fn definition(&self) -> &Definition {
        &self.definition
    }

    /// Number of steps so far.
    pub fn tick(&self) -> u64 {
        self.tick
    }

    /// Time of the world so far, in seconds.
    pub fn seconds(&self) -> f64 {
        self.tick as f64 / f64::from(crate::STEP_HZ)
    }

    /// Returns the kind of this name.
    pub fn kind(&self, name: &str) -> Option<KindId> {
        let place = self.definition.kinds.iter().position(|kind| kind.name == name)?;
        Some(KindId(place as u16))
    }

    /// Returns a kind.
    ///
    /// # Panics
    /// Panics if the kind belongs to another definition.
    pub fn kind_of(&self, kind: KindId) -> &Kind {
        &self.definition.kinds[usize::from(kind.0)]
    }

    /// Returns a random number, uniformly distributed over 0..1, 1 excluded. The same seed and the same calls give the
    /// same numbers.
    pub fn random(&mut self) -> f64 {
        self.random.unit()
    }

    /// Number of bodies that were awake after the last step.
    pub fn awake(&self) -> usize {
        self.physics.awake()
    }

    /// Returns the counters of refused and repaired values.
    pub fn stats(&self) -> Stats {
        self.stats
    }

    /// Wakes all sleeping bodies.
    pub fn wake_all(&mut self) {
        self.physics.wake_all();
    }
}
