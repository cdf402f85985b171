//! The playground: boxes to build with, to carry and to throw, in the words of version 1 of `spec/WORLD.md`.
//!
//! Its rules use nothing but the public face of the engine ([`nowcast_world`]); the rest of this module says the
//! engine's entities and events in the words of the protocol: statics, blocks and avatars, who holds what, who is
//! called how.

mod hold;
mod layout;
mod rules;
mod spawn;
mod words;

use nowcast_world::{ApplyError, Command, EntityId, Input, PlayerId, Pose, Stats, Value, World};

pub use layout::{Layout, PLAYGROUND_BLOCKS};
pub use words::{Action, EntityRef, Event, JoinError, Kind};

use rules::Rules;

/// From the soles of an avatar to its crown, in metres.
pub const AVATAR_HEIGHT: f32 = 1.8;
/// Half the width of an avatar, in metres.
pub const AVATAR_RADIUS: f32 = 0.35;

/// What a new playground is made from.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Varies what may vary; the same seed gives the same playground.
    pub seed: u64,
    /// How many avatars may be in it at a time.
    pub avatars_max: usize,
    /// What stands in it.
    pub layout: Layout,
}

impl Default for Config {
    fn default() -> Config {
        Config { seed: 0, avatars_max: 256, layout: Layout::Playground }
    }
}

/// A playground. Players have the numbers of their avatars, because the protocol knows one number for both.
pub struct Playground {
    world: World,
}

impl Playground {
    /// Builds the playground that `config` describes.
    pub fn new(config: Config) -> Playground {
        let definition = rules::definition(config.avatars_max).expect("the definition is the same for all");
        let rules = Rules { layout: config.layout, seed: config.seed };
        let mut world =
            World::new(definition, config.seed, Box::new(rules)).expect("it is within all bounds");
        // What stands there from the beginning is no news to anybody.
        while world.poll_event().is_some() {}
        Playground { world }
    }

    /// The engine's world.
    pub fn world(&self) -> &World {
        &self.world
    }

    /// Steps taken so far.
    pub fn tick(&self) -> u64 {
        self.world.tick()
    }

    /// What was turned away or repaired so far.
    pub fn stats(&self) -> Stats {
        self.world.stats()
    }

    /// Brings a new avatar to a free spot. Its name is sanitised; without one it is `guest-ID`.
    pub fn join(&mut self, name: &str) -> Result<EntityId, JoinError> {
        let avatar = self.world.scene().next_id();
        let avatars_max = self.world.scene().definition().limits.players_max;
        let full = JoinError::Full { avatars_max };
        self.apply(Command::Join { player: PlayerId(avatar.0), name: name.to_owned() }).map_err(|_| full)?;
        self.world.apply_waiting();
        self.world.entity(avatar).map(|entity| entity.id).ok_or(full)
    }

    /// Takes an avatar out of the playground; what it carried falls.
    pub fn leave(&mut self, avatar: EntityId) {
        // Who leaves is always heard.
        let _ = self.apply(Command::Leave { player: PlayerId(avatar.0) });
        self.world.apply_waiting();
    }

    /// What an avatar's controls say from now on. State: the newest wins. What is invalid is refused and counted, and
    /// the input before holds.
    pub fn set_input(&mut self, avatar: EntityId, input: Input) {
        // The engine counts what it refuses.
        let _ = self.apply(Command::Input { player: PlayerId(avatar.0), input });
    }

    /// Something an avatar does at the next step. Event: in order. What is invalid is refused and counted.
    pub fn act(&mut self, avatar: EntityId, action: Action) {
        let player = PlayerId(avatar.0);
        let argument = |name: &str, value: Value| (Value::from(name), value);
        let act = |name: &str, arguments| Command::Action {
            player,
            name: name.to_owned(),
            arguments: Value::Map(arguments),
        };
        let command = match action {
            Action::Grab { block } => {
                act("grab", vec![argument("block", block.map_or(Value::Nil, |block| block.0.into()))])
            }
            Action::Throw { power, pitch } => {
                act("throw", vec![argument("power", power.into()), argument("pitch", pitch.into())])
            }
            Action::Chat { text } => Command::Message { player, text },
            Action::Rename { name } => Command::Rename { player, name },
        };
        // The engine counts what it refuses.
        let _ = self.apply(command);
    }

    /// Advances the playground by 1/60 s.
    pub fn step(&mut self) {
        self.world.step();
    }

    /// The next thing that happened, oldest first.
    pub fn poll_event(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = words::event_of(self.world.poll_event()?) {
                return Some(event);
            }
        }
    }

    /// Everything in the playground, ordered by id: statics, blocks, avatars.
    pub fn entities(&self) -> impl Iterator<Item = EntityRef<'_>> {
        self.world.entities().iter().map(|entity| words::describe(self.world.scene(), &entity))
    }

    /// One entity, if it is in the playground.
    pub fn entity(&self, id: EntityId) -> Option<EntityRef<'_>> {
        self.world.entity(id).map(|entity| words::describe(self.world.scene(), &entity))
    }

    /// The poses of everything that can move, ordered by id.
    pub fn poses(&self) -> impl Iterator<Item = (EntityId, Pose)> {
        self.world.poses()
    }

    /// How many avatars are in the playground.
    pub fn avatars(&self) -> usize {
        self.world.scene().players().count()
    }

    /// How many blocks and avatars are moving or not yet at rest.
    pub fn awake(&self) -> usize {
        self.world.awake()
    }

    /// Wakes everything that sleeps: a tool for tests and load.
    pub fn wake_all(&mut self) {
        self.world.wake_all();
    }

    /// One number for everything, to the last bit.
    pub fn hash(&self) -> u64 {
        self.world.hash()
    }

    fn apply(&mut self, command: Command) -> Result<(), ApplyError> {
        self.world.apply(command)
    }
}
