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

use crate::behaviour::Behaviour;
use crate::definition::Definition;
use crate::problem::DefinitionError;
use crate::scene::Scene;
use crate::world::World;
use saved::Saved;

/// The first bytes of a snapshot. The last of these bytes is the version.
const MAGIC: [u8; 8] = *b"nowworl\x0a";

/// The reason why a world cannot be restored.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// The bytes are not a snapshot of a world.
    #[error("these bytes are not a snapshot of a world")]
    Foreign,
    /// The snapshot has a version that this program does not know.
    #[error(
        "the snapshot has version {found}, and this program reads version {}: use the release that wrote it",
        MAGIC[7]
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
        let saved = self.scene.save();
        let bytes = to_bytes(&saved);
        self.settle_from(saved);
        bytes
    }

    /// Changes the world as [`World::snapshot`] does, without making the bytes.
    pub fn settle(&mut self) {
        self.settle_from(self.scene.save());
    }

    /// Rebuilds the scene from its saved form.
    fn settle_from(&mut self, saved: Saved) {
        let before = std::mem::replace(&mut self.scene, Scene::new(Arc::new(Definition::default()), 0));
        let mut scene = Scene::load(before.definition, saved).expect("a world can read what it writes");
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
        let scene = Scene::load(Arc::new(definition), from_bytes(bytes)?)?;
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
        nowcast_wire::fnv1a(&to_bytes(&self.scene.save()))
    }
}

fn from_bytes(bytes: &[u8]) -> Result<Saved, RestoreError> {
    let (magic, body) = bytes.split_first_chunk::<8>().ok_or(RestoreError::Foreign)?;
    match *magic {
        MAGIC => Ok(nowcast_wire::decode_with(body, &WireLimits::FILE)?),
        [.., found] if magic.starts_with(&MAGIC[..7]) => Err(RestoreError::Version { found }),
        _ => Err(RestoreError::Foreign),
    }
}

fn to_bytes(saved: &Saved) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    nowcast_wire::encode(saved, &mut bytes);
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
