//! The world: who and what is in it, and the calls that change or read it.

use std::collections::{BTreeMap, VecDeque};

use rapier3d::prelude::Vector;

use crate::avatar::{AVATAR_HEIGHT, AVATAR_RADIUS, Avatar};
use crate::entity::{EntityId, EntityRef, Kind};
use crate::event::Event;
use crate::hash::Hasher;
use crate::hold::Block;
use crate::input::{Action, Input, InputError, JoinError, NAME_CHARS_MAX};
use crate::layout::{Layout, Plan, Planned};
use crate::physics::{Physics, public_pose, yaw_rotation};
use crate::pose::Pose;
use crate::{spawn, step, text};

/// What a new world is made from.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Varies what may vary; the same seed gives the same world.
    pub seed: u64,
    /// How many avatars may be in the world at a time.
    pub avatars_max: usize,
    /// What stands in it.
    pub layout: Layout,
}

impl Default for Config {
    fn default() -> Config {
        Config { seed: 0, avatars_max: 256, layout: Layout::Playground }
    }
}

/// What the world had to turn away or repair. All of it is zero in good times.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stats {
    /// Inputs and actions with numbers outside their bounds, refused.
    pub invalid_refused: u64,
    /// Inputs and actions for an avatar that is not in the world.
    pub unknown_avatar: u64,
    /// Actions dropped because too many of one avatar waited for a step.
    pub actions_dropped: u64,
    /// Events that nobody polled, dropped oldest first.
    pub events_dropped: u64,
    /// Avatars and blocks that fell off the edge and were put back.
    pub returned: u64,
}

/// A shared world. See the crate's page for the canonical loop.
///
/// Between two steps any number of [`World::set_input`] and [`World::act`] may come, in any order among avatars; after
/// a step, [`World::poll_event`] is called until it returns `None`. Reading never changes anything.
pub struct World {
    pub(crate) physics: Physics,
    pub(crate) blocks: Vec<Block>,
    pub(crate) avatars: BTreeMap<EntityId, Avatar>,
    pub(crate) tick: u64,
    pub(crate) stats: Stats,
    statics: Vec<(EntityId, Planned)>,
    events: VecDeque<Event>,
    next_id: u32,
    avatars_max: usize,
}

impl World {
    /// Enough for every avatar to join, speak and grab between two polls.
    const EVENTS_MAX: usize = 65_536;

    /// Builds the world that `config` describes.
    pub fn new(config: Config) -> World {
        let plan = Plan::new(config.layout, config.seed);
        let mut world = World {
            physics: Physics::new(),
            blocks: Vec::with_capacity(plan.blocks.len()),
            avatars: BTreeMap::new(),
            tick: 0,
            stats: Stats::default(),
            statics: Vec::with_capacity(plan.statics.len()),
            events: VecDeque::new(),
            next_id: 1,
            avatars_max: config.avatars_max,
        };
        for planned in plan.statics {
            let id = world.new_id();
            world.physics.add_static(id, planned.pose, planned.size);
            world.statics.push((id, planned));
        }
        for Planned { pose, size, color } in plan.blocks {
            let id = world.new_id();
            let body = world.physics.add_block(id, pose, size);
            world.blocks.push(Block { id, body, size, color, home: pose, holder: None, passing: None });
        }
        world
    }

    /// Steps taken so far.
    pub fn tick(&self) -> u64 {
        self.tick
    }

    /// What was turned away or repaired so far.
    pub fn stats(&self) -> Stats {
        self.stats
    }

    /// Brings a new avatar to a free spot. Its name is sanitised; without one it is `guest-ID`.
    pub fn join(&mut self, name: &str) -> Result<EntityId, JoinError> {
        if self.avatars.len() >= self.avatars_max {
            return Err(JoinError::Full { avatars_max: self.avatars_max });
        }
        let position = spawn::free_spot(self.avatars.values(), &self.blocks, &self.physics);
        let id = self.new_id();
        let avatar = Avatar::new(id, name_or_guest(name, id), position, &mut self.physics);
        self.avatars.insert(id, avatar);
        self.push_event(Event::Spawned(id));
        Ok(id)
    }

    /// Takes an avatar out of the world; what it carried falls.
    pub fn leave(&mut self, avatar: EntityId) {
        step::let_go(self, avatar);
        let Some(gone) = self.avatars.remove(&avatar) else {
            self.stats.unknown_avatar += 1;
            return;
        };
        self.physics.remove(gone.body);
        for block in self.blocks.iter_mut().filter(|block| block.passing == Some(avatar)) {
            block.passing = None;
            self.physics.set_passing(block.body, block.id, None);
        }
        self.push_event(Event::Despawned(avatar));
    }

    /// What an avatar's controls say from now on. State: the newest wins. An invalid input (see [`Input::new`]) is
    /// refused and counted, and the one before it holds.
    pub fn set_input(&mut self, avatar: EntityId, input: Input) {
        match (self.avatars.get_mut(&avatar), input.validate()) {
            (Some(avatar), Ok(input)) => avatar.input = input,
            (None, _) => self.stats.unknown_avatar += 1,
            (_, Err(InputError::NotFinite { .. } | InputError::OutOfBounds { .. })) => {
                self.stats.invalid_refused += 1
            }
        }
    }

    /// Something an avatar does at the next step. Event: in order. An invalid action is refused and counted.
    pub fn act(&mut self, avatar: EntityId, action: Action) {
        match (self.avatars.get_mut(&avatar), action.validate()) {
            (Some(avatar), Ok(_)) if avatar.actions.len() >= Avatar::ACTIONS_MAX => {
                self.stats.actions_dropped += 1
            }
            (Some(avatar), Ok(action)) => avatar.actions.push_back(action),
            (None, _) => self.stats.unknown_avatar += 1,
            (_, Err(InputError::NotFinite { .. } | InputError::OutOfBounds { .. })) => {
                self.stats.invalid_refused += 1
            }
        }
    }

    /// Advances the world by 1/60 s.
    pub fn step(&mut self) {
        step::step(self);
    }

    /// The next thing that happened, oldest first.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Everything in the world, ordered by id: statics, blocks, avatars.
    pub fn entities(&self) -> impl Iterator<Item = EntityRef<'_>> {
        let statics = self.statics.iter().map(|(id, planned)| static_ref(*id, planned));
        let blocks = self.blocks.iter().map(|block| self.block_ref(block));
        statics.chain(blocks).chain(self.avatars.values().map(|avatar| self.avatar_ref(avatar)))
    }

    /// One entity, if it is in the world.
    pub fn entity(&self, id: EntityId) -> Option<EntityRef<'_>> {
        if let Some(avatar) = self.avatars.get(&id) {
            return Some(self.avatar_ref(avatar));
        }
        if let Some(index) = self.block_index(id) {
            return Some(self.block_ref(&self.blocks[index]));
        }
        let index = self.statics.binary_search_by_key(&id, |(id, _)| *id).ok()?;
        Some(static_ref(id, &self.statics[index].1))
    }

    /// The poses of everything that can move, ordered by id.
    pub fn poses(&self) -> impl Iterator<Item = (EntityId, Pose)> {
        let blocks = self.blocks.iter().map(|block| (block.id, self.physics.pose(block.body)));
        blocks.chain(self.avatars.values().map(|avatar| (avatar.id, self.avatar_pose(avatar))))
    }

    /// How many avatars are in the world.
    pub fn avatars(&self) -> usize {
        self.avatars.len()
    }

    /// How many blocks and avatars are moving or not yet at rest.
    pub fn awake(&self) -> usize {
        let blocks = self.blocks.iter().map(|block| block.body);
        let bodies = blocks.chain(self.avatars.values().map(|avatar| avatar.body));
        bodies.filter(|body| !self.physics.get(*body).is_sleeping()).count()
    }

    /// Wakes everything that sleeps. It changes the course of the world: a tool for tests and load.
    pub fn wake_all(&mut self) {
        self.physics.wake_all();
    }

    /// One number for tick, names, holds, and every pose and velocity, to the last bit.
    pub fn hash(&self) -> u64 {
        let mut hasher = Hasher::new();
        hasher.u64(self.tick);
        let blocks = self.blocks.iter().map(|block| (block.id, block.body, block.holder));
        let avatars = self
            .avatars
            .values()
            .map(|avatar| (avatar.id, avatar.body, avatar.hold.as_ref().map(|hold| hold.block)));
        for (id, body, held) in blocks.chain(avatars) {
            let body = self.physics.get(body);
            hasher.u64(u64::from(id.0));
            hasher.u64(held.map_or(0, |id| u64::from(id.0)));
            hasher.floats(&body.translation().to_array());
            hasher.floats(&body.rotation().to_array());
            hasher.floats(&body.linvel().to_array());
            hasher.floats(&body.angvel().to_array());
        }
        for avatar in self.avatars.values() {
            hasher.text(&avatar.name);
            hasher.floats(&[avatar.input.forward, avatar.input.right, avatar.input.yaw]);
        }
        hasher.finish()
    }

    pub(crate) fn push_event(&mut self, event: Event) {
        if self.events.len() >= Self::EVENTS_MAX {
            self.events.pop_front();
            self.stats.events_dropped += 1;
        }
        self.events.push_back(event);
    }

    pub(crate) fn block_index(&self, id: EntityId) -> Option<usize> {
        self.blocks.binary_search_by_key(&id, |block| block.id).ok()
    }

    fn new_id(&mut self) -> EntityId {
        let id = EntityId(self.next_id);
        self.next_id = self.next_id.checked_add(1).expect("a world lives shorter than four billion joins");
        id
    }

    fn avatar_pose(&self, avatar: &Avatar) -> Pose {
        Pose {
            position: self.physics.get(avatar.body).translation().to_array(),
            rotation: yaw_rotation(avatar.input.yaw).to_array(),
        }
    }

    fn avatar_ref<'a>(&'a self, avatar: &'a Avatar) -> EntityRef<'a> {
        EntityRef {
            id: avatar.id,
            kind: Kind::Avatar,
            pose: self.avatar_pose(avatar),
            size: [AVATAR_RADIUS * 2.0, AVATAR_HEIGHT, AVATAR_RADIUS * 2.0],
            color: avatar.color,
            name: Some(&avatar.name),
            held: avatar.hold.as_ref().map(|hold| hold.block),
        }
    }

    fn block_ref(&self, block: &Block) -> EntityRef<'_> {
        EntityRef {
            id: block.id,
            kind: Kind::Block,
            pose: self.physics.pose(block.body),
            size: block.size.to_array(),
            color: block.color,
            name: None,
            held: block.holder,
        }
    }
}

fn static_ref(id: EntityId, planned: &Planned) -> EntityRef<'_> {
    EntityRef {
        id,
        kind: Kind::Static,
        pose: public_pose(&planned.pose),
        size: Vector::to_array(&planned.size),
        color: planned.color,
        name: None,
        held: None,
    }
}

/// What a name becomes: sanitised, or `guest-ID` when nothing is left of it.
pub(crate) fn name_or_guest(raw: &str, id: EntityId) -> String {
    let name = text::sanitize(raw, NAME_CHARS_MAX);
    if name.is_empty() { format!("guest-{}", id.0) } else { name }
}
