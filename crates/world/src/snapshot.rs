//! A world as a few bytes, and back.
//!
//! Physics remembers more than poses and velocities: which contacts it solved last and how, which bodies rest
//! together. Its own memory is large (about 5.8 kB a body), and without it a world goes on a little differently. So a
//! snapshot does not only write: **the running world builds its physics anew from the very state that it wrote**, as
//! a restored one does. From there both go on the same because they *are* the same. What rests stays at rest.

use std::sync::Arc;

use nowcast_wire::{Limits as WireLimits, Value, Wire};

use crate::behaviour::Behaviour;
use crate::contact::Contact;
use crate::definition::{Definition, DefinitionError};
use crate::entity::{EntityId, Parent, Row, Velocity};
use crate::hash::Hasher;
use crate::input::Input;
use crate::joint::{Joint, JointId, JointKind, Motor};
use crate::kind::KindId;
use crate::physics::BodyState;
use crate::player::{Player, PlayerId};
use crate::pose::Pose;
use crate::random::Random;
use crate::scene::Scene;
use crate::timer::{TimerId, Timers};
use crate::walker::WalkerState;
use crate::world::World;

/// The first bytes of a snapshot; the last of them is its version.
const MAGIC: [u8; 8] = *b"nowworl\x01";

/// Why a world cannot be restored.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// The bytes are no snapshot of a world, or one of another version.
    #[error("these bytes are no snapshot of a world, or one of another version")]
    Foreign,
    /// The bytes are damaged.
    #[error(transparent)]
    Damaged(#[from] nowcast_wire::Error),
    /// The bytes say what no world writes.
    #[error("the snapshot is damaged: {0}")]
    Invalid(String),
    /// Entities of this kind are in the snapshot, and the definition has none.
    #[error("the snapshot has entities of kind {0:?}, and the definition has no such kind")]
    UnknownKind(String),
    /// The definition itself is wrong.
    #[error(transparent)]
    Definition(#[from] DefinitionError),
}

#[derive(Wire, Default)]
struct Saved {
    tick: u64,
    random: u64,
    next_entity: u32,
    next_joint: u32,
    next_player: u32,
    next_timer: u64,
    kinds: Vec<SavedKind>,
    entities: Vec<SavedEntity>,
    walkers: Vec<SavedWalker>,
    joints: Vec<SavedJoint>,
    players: Vec<SavedPlayer>,
    timers: Vec<SavedTimer>,
    state: Vec<SavedState>,
    screens: Vec<SavedScreen>,
    touching: Vec<SavedPair>,
    /// Contacts that ended because an entity went, and that nobody was told of yet.
    ended: Vec<SavedPair>,
}

/// A kind that is in use, and the names of its attributes: what the numbers of entities mean.
#[derive(Wire)]
struct SavedKind {
    name: String,
    attributes: Vec<String>,
}

#[derive(Wire)]
struct SavedEntity {
    id: u32,
    /// A place in the list of kinds.
    kind: u32,
    position: [f32; 3],
    rotation: [f32; 4],
    scale: [f32; 3],
    linear: [f32; 3],
    angular: [f32; 3],
    force: [f32; 3],
    torque: [f32; 3],
    is_asleep: bool,
    still_seconds: f32,
    gravity_scale: f32,
    passes: Option<u32>,
    parent: Option<SavedParent>,
    owner: Option<u32>,
    tags: Vec<String>,
    attributes: Vec<Value>,
    private: Value,
    changed_tick: u64,
}

#[derive(Wire)]
struct SavedParent {
    id: u32,
    position: [f32; 3],
    rotation: [f32; 4],
}

#[derive(Wire)]
struct SavedWalker {
    id: u32,
    input: SavedInput,
    ahead: f32,
    steps_since_ground: u32,
    steps_since_jump: u32,
    grounds: Vec<[f32; 3]>,
}

#[derive(Wire)]
struct SavedInput {
    forward: f32,
    right: f32,
    yaw: f32,
    run: bool,
    jump: bool,
}

#[derive(Wire)]
struct SavedJoint {
    id: u32,
    a: u32,
    b: u32,
    anchor_a: [f32; 3],
    anchor_b: [f32; 3],
    collides: bool,
    kind: SavedJointKind,
}

#[derive(Wire)]
enum SavedJointKind {
    Fixed,
    Ball,
    Hinge { axis: [f32; 3], limits: Option<[f32; 2]>, motor: Option<[f32; 2]> },
    Slider { axis: [f32; 3], limits: Option<[f32; 2]>, motor: Option<[f32; 2]> },
    Spring { length: f32, stiffness: f32, damping: f32 },
}

#[derive(Wire)]
struct SavedPlayer {
    id: u32,
    name: String,
    avatar: Option<u32>,
    input: SavedInput,
    tags: Vec<String>,
    private: Value,
}

#[derive(Wire)]
struct SavedTimer {
    due_tick: u64,
    id: u64,
    name: String,
    data: Value,
}

#[derive(Wire)]
struct SavedState {
    key: String,
    value: Value,
}

#[derive(Wire)]
struct SavedScreen {
    player: Option<u32>,
    place: String,
    value: Value,
}

#[derive(Wire)]
struct SavedPair {
    a: u32,
    b: u32,
}

impl World {
    /// The world as bytes, from which [`World::restore`] makes one that goes on as this one does.
    ///
    /// It is taken between two steps. It changes the course of the world a little (contacts are solved anew, see the
    /// module's page), so who keeps a journal of commands notes at which step it was taken, and repeats
    /// [`World::settle`] there. Commands that wait and events that nobody polled are not in it: they are still to be
    /// carried out and told.
    pub fn snapshot(&mut self) -> Vec<u8> {
        let bytes = self.scene.to_bytes();
        self.settle();
        bytes
    }

    /// Does to the world what [`World::snapshot`] does, without the bytes.
    pub fn settle(&mut self) {
        let saved = self.scene.save();
        let before = std::mem::replace(&mut self.scene, Scene::new(Arc::new(Definition::default()), 0));
        let mut scene = Scene::load(before.definition, saved).expect("a world can read what it writes");
        scene.events = before.events;
        scene.stats = before.stats;
        self.scene = scene;
        self.behaviour.resume(&self.scene);
    }

    /// A world that goes on where another was. The definition may have changed since: kinds and attributes are
    /// matched by name, attributes that are new or don't fit have their defaults.
    pub fn restore(
        definition: Definition,
        behaviour: Box<dyn Behaviour>,
        bytes: &[u8],
    ) -> Result<World, RestoreError> {
        definition.validate()?;
        let body = bytes.strip_prefix(&MAGIC).ok_or(RestoreError::Foreign)?;
        let saved = nowcast_wire::decode_with::<Saved>(body, &WireLimits::FILE)?;
        let mut world = World::of(Scene::load(Arc::new(definition), saved)?, behaviour);
        world.behaviour.resume(&world.scene);
        Ok(world)
    }

    /// One number for everything in the world, to the last bit. Reading it changes nothing.
    pub fn hash(&self) -> u64 {
        let mut hasher = Hasher::new();
        hasher.bytes(&self.scene.to_bytes());
        hasher.finish()
    }
}

impl Scene {
    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        nowcast_wire::encode(&self.save(), &mut bytes);
        bytes
    }

    fn save(&self) -> Saved {
        let kinds = self.definition.kinds.iter().map(|kind| SavedKind {
            name: kind.name.clone(),
            attributes: kind.attributes.fields().iter().map(|field| field.name.clone()).collect(),
        });
        let rows = (0..self.entities.ids.len()).filter(|row| self.entities.is_alive[*row]);
        Saved {
            tick: self.tick,
            random: self.random.seed(),
            next_entity: self.next_entity,
            next_joint: self.next_joint,
            next_player: self.next_player,
            next_timer: self.timers.next_id(),
            kinds: kinds.collect(),
            entities: rows.map(|row| self.save_entity(row)).collect(),
            walkers: self.walkers.iter().map(|(id, walker)| save_walker(*id, walker)).collect(),
            joints: self.joints().map(|(id, joint)| save_joint(id, joint)).collect(),
            players: self.players().map(save_player).collect(),
            timers: self
                .timers
                .iter()
                .map(|(due_tick, id, name, data)| SavedTimer {
                    due_tick,
                    id: id.0,
                    name: name.to_owned(),
                    data: data.clone(),
                })
                .collect(),
            state: self
                .all_state()
                .map(|(key, value)| SavedState { key: key.to_owned(), value: value.clone() })
                .collect(),
            screens: self
                .screens()
                .map(|(player, place, value)| SavedScreen {
                    player: player.map(|player| player.0),
                    place: place.to_owned(),
                    value: value.clone(),
                })
                .collect(),
            touching: self.touching.iter().map(|(a, b)| SavedPair { a: a.0, b: b.0 }).collect(),
            ended: self.ended.iter().map(|contact| SavedPair { a: contact.a.0, b: contact.b.0 }).collect(),
        }
    }

    fn save_entity(&self, row: usize) -> SavedEntity {
        let entities = &self.entities;
        let body = entities.handles[row].map(|handles| self.physics.get(handles));
        let pose = entities.poses[row];
        SavedEntity {
            id: entities.ids[row].0,
            kind: entities.kinds[row].0.into(),
            position: pose.position,
            rotation: pose.rotation,
            scale: entities.scales[row],
            linear: entities.velocities[row].linear,
            angular: entities.velocities[row].angular,
            force: body.map_or([0.0; 3], |body| body.user_force().to_array()),
            torque: body.map_or([0.0; 3], |body| body.user_torque().to_array()),
            is_asleep: body.is_some_and(|body| body.is_sleeping()),
            still_seconds: body.map_or(0.0, |body| body.activation().time_since_can_sleep),
            gravity_scale: entities.gravity_scales[row],
            passes: entities.passes[row].map(|other| other.0),
            parent: entities.parents[row].map(|Parent { id, local }| SavedParent {
                id: id.0,
                position: local.position,
                rotation: local.rotation,
            }),
            owner: entities.owners[row].map(|owner| owner.0),
            tags: entities.tags[row].clone(),
            attributes: entities.attributes[row].to_vec(),
            private: entities.privates[row].clone(),
            changed_tick: entities.changed_ticks[row],
        }
    }

    fn load(definition: Arc<Definition>, saved: Saved) -> Result<Scene, RestoreError> {
        let invalid = |what: &str| RestoreError::Invalid(what.to_owned());
        let mut scene = Scene::new(Arc::clone(&definition), 0);
        scene.state.clear();
        scene.state_bytes = 0;
        scene.tick = saved.tick;
        scene.random = Random::new(saved.random);
        scene.timers = Timers::with_next_id(saved.next_timer);
        check(&saved, &definition)?;
        for player in saved.players {
            let player =
                load_player(player).ok_or_else(|| invalid("a player's controls are out of bounds"))?;
            scene.players.insert(player.id, player);
        }
        let motions: Vec<Motion> = saved.entities.iter().map(Motion::of).collect();
        for entity in saved.entities {
            scene.load_entity(&saved.kinds, entity)?;
        }
        for walker in saved.walkers {
            let id = EntityId(walker.id);
            let state =
                load_walker(walker).ok_or_else(|| invalid("a walker's controls are out of bounds"))?;
            let known = scene.walkers.get_mut(&id).ok_or_else(|| invalid("what walks is no walker"))?;
            *known = state;
        }
        for joint in saved.joints {
            let (id, joint) = load_joint(joint);
            let bound = joint.is_valid().then(|| scene.bind(id, joint));
            bound.and_then(Result::ok).ok_or_else(|| invalid("a joint holds nothing"))?;
        }
        for timer in saved.timers {
            scene.timers.insert(timer.due_tick, TimerId(timer.id), timer.name, timer.data);
        }
        for SavedState { key, value } in saved.state {
            scene.set_state(&key, value).map_err(|error| RestoreError::Invalid(error.to_string()))?;
        }
        for screen in saved.screens {
            scene.screens.insert((screen.player.map(PlayerId), screen.place), screen.value);
        }
        let pair = |pair: SavedPair| (EntityId(pair.a), EntityId(pair.b));
        scene.touching = saved.touching.into_iter().map(pair).collect();
        let ended = saved.ended.into_iter().map(pair);
        scene.ended = ended.map(|(a, b)| Contact { a, b, is_begin: false, impulse: 0.0 }).collect();
        scene.next_entity = saved.next_entity;
        scene.next_joint = saved.next_joint;
        scene.next_player = saved.next_player;
        scene.wake_as_before(&motions);
        Ok(scene)
    }

    fn load_entity(&mut self, kinds: &[SavedKind], saved: SavedEntity) -> Result<(), RestoreError> {
        let invalid = |what: &str| RestoreError::Invalid(format!("entity {}: {what}", saved.id));
        let written = kinds.get(saved.kind as usize).ok_or_else(|| invalid("its kind is not described"))?;
        let kind = self.kind(&written.name).ok_or_else(|| RestoreError::UnknownKind(written.name.clone()))?;
        let definition = Arc::clone(&self.definition);
        let of = &definition.kinds[usize::from(kind.0)];
        let pose = Pose { position: saved.position, rotation: saved.rotation };
        let velocity = Velocity { linear: saved.linear, angular: saved.angular };
        let numbers = saved.linear.iter().chain(&saved.angular).chain(&saved.force).chain(&saved.torque);
        if pose.checked() != Some(pose)
            || !numbers.chain([&saved.still_seconds, &saved.gravity_scale]).all(|v| v.is_finite())
        {
            return Err(invalid("it is nowhere, or its motion is no number"));
        }
        let mut attributes: Box<[Value]> = of.attributes.defaults().into();
        for (name, value) in written.attributes.iter().zip(&saved.attributes) {
            let Some(index) = of.attributes.index(name) else { continue };
            match of.attributes.conform(index, value) {
                Ok(value) => attributes[index] = value,
                Err(_) => self.stats.attributes_defaulted += 1,
            }
        }
        let id = EntityId(saved.id);
        let passes = saved.passes.map(EntityId);
        let handles = match &of.body {
            Some(body) => {
                // The body of a walker never turns.
                let rotation = if of.walker.is_some() { Pose::IDENTITY.rotation } else { pose.rotation };
                let state = BodyState {
                    id,
                    pose: Pose { rotation, ..pose },
                    scale: saved.scale,
                    velocity,
                    gravity_scale: saved.gravity_scale,
                    passes,
                };
                Some(self.physics.add(kind.0.into(), body, &state).map_err(invalid)?)
            }
            None => None,
        };
        if of.walker.is_some() {
            self.walkers.insert(id, WalkerState::new());
        }
        self.entities.push(Row {
            id,
            kind: KindId(kind.0),
            pose,
            scale: saved.scale,
            velocity,
            handles,
            parent: saved.parent.map(|parent| Parent {
                id: EntityId(parent.id),
                local: Pose { position: parent.position, rotation: parent.rotation },
            }),
            owner: saved.owner.map(PlayerId),
            tags: saved.tags,
            attributes,
            private: saved.private,
            gravity_scale: saved.gravity_scale,
            passes,
            changed_tick: saved.changed_tick,
        });
        Ok(())
    }

    /// Lets physics find the contacts of its new bodies, and what rested rest again.
    fn wake_as_before(&mut self, motions: &[Motion]) {
        let handles: Vec<_> = self.entities.handles.iter().zip(motions).collect();
        let pinned: Vec<_> = handles
            .iter()
            .filter(|(_, motion)| motion.is_asleep)
            .filter_map(|(handles, _)| **handles)
            .collect();
        self.physics.find_contacts(&pinned);
        for (handles, motion) in handles {
            if let Some(handles) = *handles
                && !motion.is_asleep
            {
                self.physics.resume(
                    handles,
                    motion.velocity,
                    motion.still_seconds,
                    motion.force,
                    motion.torque,
                );
            }
        }
        self.note_moved();
    }
}

/// Whether ids and counts are those of a world.
fn check(saved: &Saved, definition: &Definition) -> Result<(), RestoreError> {
    if !saved.entities.is_sorted_by(|a, b| a.id < b.id)
        || saved.entities.last().is_some_and(|last| last.id >= saved.next_entity)
        || saved.joints.iter().any(|joint| joint.id >= saved.next_joint)
        || saved.players.iter().any(|player| player.id >= saved.next_player && saved.next_player != u32::MAX)
        || saved.timers.iter().any(|timer| timer.id >= saved.next_timer)
    {
        return Err(RestoreError::Invalid("ids are not in order".to_owned()));
    }
    let limits = definition.limits;
    let counts = [
        (saved.entities.len(), limits.entities_max, "entities"),
        (saved.joints.len(), limits.joints_max, "joints"),
        (saved.players.len(), limits.players_max, "players"),
        (saved.timers.len(), limits.timers_max, "timers"),
        (saved.screens.len(), limits.screens_max, "values on screens"),
    ];
    match counts.into_iter().find(|(count, max, _)| count > max) {
        Some((count, max, what)) => {
            Err(RestoreError::Invalid(format!("{count} {what}, and there may be {max}")))
        }
        None => Ok(()),
    }
}

/// How a body moved when it was written down.
struct Motion {
    velocity: Velocity,
    force: [f32; 3],
    torque: [f32; 3],
    is_asleep: bool,
    still_seconds: f32,
}

impl Motion {
    fn of(saved: &SavedEntity) -> Motion {
        Motion {
            velocity: Velocity { linear: saved.linear, angular: saved.angular },
            force: saved.force,
            torque: saved.torque,
            is_asleep: saved.is_asleep,
            still_seconds: saved.still_seconds,
        }
    }
}

fn save_input(input: &Input) -> SavedInput {
    let Input { forward, right, yaw, run, jump } = *input;
    SavedInput { forward, right, yaw, run, jump }
}

fn load_input(saved: SavedInput) -> Option<Input> {
    let SavedInput { forward, right, yaw, run, jump } = saved;
    Input { forward, right, yaw, run, jump }.validate().ok()
}

fn save_player(player: &Player) -> SavedPlayer {
    SavedPlayer {
        id: player.id.0,
        name: player.name.clone(),
        avatar: player.avatar.map(|avatar| avatar.0),
        input: save_input(&player.input),
        tags: player.tags.clone(),
        private: player.private.clone(),
    }
}

fn load_player(saved: SavedPlayer) -> Option<Player> {
    Some(Player {
        id: PlayerId(saved.id),
        name: saved.name,
        avatar: saved.avatar.map(EntityId),
        input: load_input(saved.input)?,
        tags: saved.tags,
        private: saved.private,
    })
}

fn save_walker(id: EntityId, walker: &WalkerState) -> SavedWalker {
    SavedWalker {
        id: id.0,
        input: save_input(&walker.input),
        ahead: walker.ahead,
        steps_since_ground: walker.steps_since_ground,
        steps_since_jump: walker.steps_since_jump,
        grounds: walker.grounds.clone(),
    }
}

fn load_walker(saved: SavedWalker) -> Option<WalkerState> {
    let are_numbers = saved.grounds.iter().flatten().chain([&saved.ahead]).all(|v| v.is_finite());
    are_numbers.then_some(())?;
    Some(WalkerState {
        input: load_input(saved.input)?,
        ahead: saved.ahead,
        steps_since_ground: saved.steps_since_ground,
        steps_since_jump: saved.steps_since_jump,
        grounds: saved.grounds,
    })
}

fn save_joint(id: JointId, joint: &Joint) -> SavedJoint {
    let motor = |motor: Option<Motor>| motor.map(|motor| [motor.velocity, motor.force_max]);
    SavedJoint {
        id: id.0,
        a: joint.a.0,
        b: joint.b.0,
        anchor_a: joint.anchor_a,
        anchor_b: joint.anchor_b,
        collides: joint.collides,
        kind: match joint.kind {
            JointKind::Fixed => SavedJointKind::Fixed,
            JointKind::Ball => SavedJointKind::Ball,
            JointKind::Hinge { axis, limits, motor: drive } => {
                SavedJointKind::Hinge { axis, limits, motor: motor(drive) }
            }
            JointKind::Slider { axis, limits, motor: drive } => {
                SavedJointKind::Slider { axis, limits, motor: motor(drive) }
            }
            JointKind::Spring { length, stiffness, damping } => {
                SavedJointKind::Spring { length, stiffness, damping }
            }
        },
    }
}

fn load_joint(saved: SavedJoint) -> (JointId, Joint) {
    let motor = |motor: Option<[f32; 2]>| motor.map(|[velocity, force_max]| Motor { velocity, force_max });
    let joint = Joint {
        a: EntityId(saved.a),
        b: EntityId(saved.b),
        anchor_a: saved.anchor_a,
        anchor_b: saved.anchor_b,
        collides: saved.collides,
        kind: match saved.kind {
            SavedJointKind::Fixed => JointKind::Fixed,
            SavedJointKind::Ball => JointKind::Ball,
            SavedJointKind::Hinge { axis, limits, motor: drive } => {
                JointKind::Hinge { axis, limits, motor: motor(drive) }
            }
            SavedJointKind::Slider { axis, limits, motor: drive } => {
                JointKind::Slider { axis, limits, motor: motor(drive) }
            }
            SavedJointKind::Spring { length, stiffness, damping } => {
                JointKind::Spring { length, stiffness, damping }
            }
        },
    };
    (JointId(saved.id), joint)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Body, ColliderShape, Kind, Spawn};

    struct Pile;

    impl Behaviour for Pile {
        fn start(&mut self, scene: &mut Scene) {
            let [ground, cube] = ["ground", "cube"].map(|name| scene.kind(name).expect("it is defined"));
            scene.spawn(ground, Spawn::at([0.0, -1.0, 0.0])).expect("there is room");
            for storey in 0..4 {
                scene.spawn(cube, Spawn::at([0.0, 0.5 + storey as f32, 0.0])).expect("there is room");
            }
        }
    }

    #[test]
    fn what_slept_costs_nothing_after_a_snapshot_either() {
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
