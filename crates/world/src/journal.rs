//! What happened to a world, as bytes: who keeps them can have the world again.
//!
//! A journal is a list of [`Entry`]s in the order in which they happened. [`encode`] writes any number of them as
//! columns, so that the controls of two hundred players take a few bytes each; [`decode`] reads bytes that may be
//! anybody's. [`replay`] does to a world what its journal says.
//!
//! ```
//! use nowcast_world::journal::{self, Entry, Record};
//! use nowcast_world::{Command, Definition, PlayerId, World};
//!
//! let mut world = World::new(Definition::default(), 7, Box::new(()))?;
//! let mut entries = Vec::new();
//! for tick in 0..60 {
//!     if tick == 20 {
//!         let command = Command::Join { player: PlayerId(1), name: "Ada".into() };
//!         world.apply(command.clone())?;
//!         entries.push(Entry { tick: world.tick(), record: Record::Command(command) });
//!     }
//!     world.step();
//! }
//! entries.push(Entry { tick: world.tick(), record: Record::Hash(world.hash()) });
//! let mut bytes = Vec::new();
//! journal::encode(&entries, &mut bytes);
//!
//! let mut again = World::new(Definition::default(), 7, Box::new(()))?;
//! journal::replay(&mut again, journal::decode(&bytes)?, 60)?;
//! assert_eq!(again.hash(), world.hash());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use nowcast_wire::{Effort, Limits as WireLimits, Value, Wire};

use crate::command::{Command, Edit};
use crate::id::{EntityId, PlayerId};
use crate::input::Input;
use crate::pose::{Pose, Velocity};
use crate::world::World;

/// The version of the bytes, which is their first one.
const VERSION: u8 = 1;

/// What reading one block of entries may take.
const LIMITS: WireLimits = WireLimits { memory_bytes_max: 256 << 20, ..WireLimits::MESSAGE };

/// Something that happened to a world, and when.
#[derive(Clone, PartialEq, Debug)]
pub struct Entry {
    /// [`World::tick`] at that moment: how many steps came before.
    pub tick: u64,
    /// What happened.
    pub record: Record,
}

/// What can happen to a world between two steps.
#[derive(Clone, PartialEq, Debug)]
pub enum Record {
    /// [`World::apply`] took a command.
    Command(Command),
    /// [`World::apply_waiting`] and then [`World::snapshot`] were called: the latter changes the course of the world
    /// a little, whatever becomes of its bytes.
    Settled,
    /// The world's [`World::hash`] was this one.
    Hash(u64),
}

impl Entry {
    /// About how many bytes it takes in memory, and no fewer than [`encode`] writes of it.
    pub fn memory_bytes(&self) -> usize {
        let held = match &self.record {
            Record::Command(command) => command.held_bytes(),
            Record::Settled | Record::Hash(_) => 0,
        };
        size_of::<Entry>() + held
    }
}

/// Why bytes are no journal.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum JournalError {
    /// There is not even a version.
    #[error("the journal is empty")]
    Empty,
    /// A newer program wrote it.
    #[error("the journal has version {found}, and this program reads version {VERSION}: a newer release can")]
    Newer {
        /// The version that it has.
        found: u8,
    },
    /// The bytes are damaged.
    #[error("the journal is damaged: {0}")]
    Damaged(#[from] nowcast_wire::Error),
    /// The bytes say what no world writes.
    #[error("entry {index} of the journal is damaged: {what}")]
    Invalid {
        /// The place in the list, from 0.
        index: usize,
        /// What is wrong with it.
        what: &'static str,
    },
}

/// Why a world cannot go the way that its journal says.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum ReplayError {
    /// An entry lies before the world's tick, or behind the end: the journal belongs to another snapshot.
    #[error("the journal has an entry of tick {entry} where the world is at tick {world}")]
    Misplaced {
        /// The entry's tick.
        entry: u64,
        /// The world's tick.
        world: u64,
    },
    /// The world had taken a command, and this one does not.
    #[error("at tick {tick} the world refuses a command that it had taken: {why}")]
    Refused {
        /// When.
        tick: u64,
        /// What it says.
        why: crate::ApplyError,
    },
    /// The world is another than the one that was recorded: its definition, its rules or this program differ from those
    /// of then.
    #[error("at tick {tick} the world's hash is {found:016x}, and {expected:016x} was recorded")]
    Diverged {
        /// When.
        tick: u64,
        /// What was recorded.
        expected: u64,
        /// What it is now.
        found: u64,
    },
}

/// Appends entries as bytes, in columns: many at a time take fewer bytes than one by one.
pub fn encode(entries: &[Entry], out: &mut Vec<u8>) {
    let mut before = 0;
    let saved = Saved {
        entries: entries
            .iter()
            .map(|entry| {
                let ticks = entry.tick.wrapping_sub(before);
                before = entry.tick;
                SavedEntry { ticks, record: SavedRecord::of(&entry.record) }
            })
            .collect(),
    };
    out.push(VERSION);
    nowcast_wire::encode_with(&saved, Effort::Small, out);
}

/// The entries that [`encode`] wrote.
pub fn decode(bytes: &[u8]) -> Result<Vec<Entry>, JournalError> {
    let (version, body) = bytes.split_first().ok_or(JournalError::Empty)?;
    if *version != VERSION {
        return Err(JournalError::Newer { found: *version });
    }
    let saved = nowcast_wire::decode_with::<Saved>(body, &LIMITS)?;
    let mut tick = 0u64;
    let entries = saved.entries.into_iter().enumerate().map(|(index, entry)| {
        let invalid = |what| JournalError::Invalid { index, what };
        tick = tick.checked_add(entry.ticks).ok_or_else(|| invalid("its tick is beyond all numbers"))?;
        Ok(Entry { tick, record: entry.record.load().map_err(invalid)? })
    });
    entries.collect()
}

/// Does to a world what its journal says, and then takes steps until it is at tick `through`.
///
/// Events of the world are dropped: they were told when they happened.
pub fn replay(
    world: &mut World,
    entries: impl IntoIterator<Item = Entry>,
    through: u64,
) -> Result<(), ReplayError> {
    for Entry { tick, record } in entries {
        if tick < world.tick() || tick > through {
            return Err(ReplayError::Misplaced { entry: tick, world: world.tick() });
        }
        step_to(world, tick);
        match record {
            Record::Command(command) => {
                world.apply(command).map_err(|why| ReplayError::Refused { tick, why })?;
            }
            Record::Settled => {
                world.apply_waiting();
                world.settle();
            }
            Record::Hash(expected) => {
                let found = world.hash();
                if found != expected {
                    return Err(ReplayError::Diverged { tick, expected, found });
                }
            }
        }
    }
    step_to(world, through);
    Ok(())
}

fn step_to(world: &mut World, tick: u64) {
    while world.tick() < tick {
        world.step();
        while world.poll_event().is_some() {}
    }
}

#[derive(Wire)]
struct Saved {
    entries: Vec<SavedEntry>,
}

#[derive(Wire)]
struct SavedEntry {
    /// Since the entry before.
    #[wire(var)]
    ticks: u64,
    record: SavedRecord,
}

#[derive(Wire)]
enum SavedRecord {
    Join {
        player: u32,
        name: String,
    },
    Leave {
        player: u32,
    },
    Input {
        player: u32,
        forward: f32,
        right: f32,
        yaw: f32,
        run: bool,
        jump: bool,
    },
    Action {
        player: u32,
        name: String,
        arguments: Value,
    },
    Message {
        player: u32,
        text: String,
    },
    Rename {
        player: u32,
        name: String,
    },
    Spawn {
        player: u32,
        kind: String,
        position: [f32; 3],
        rotation: [f32; 4],
    },
    Despawn {
        player: u32,
        entity: u32,
    },
    Place {
        player: u32,
        entity: u32,
        position: [f32; 3],
        rotation: [f32; 4],
    },
    Attribute {
        player: u32,
        entity: u32,
        name: String,
        value: Value,
    },
    Settled,
    Hash(u64),
    JoinProgram {
        player: u32,
        name: String,
    },
    Own {
        player: u32,
        entity: u32,
        number: u32,
    },
    Release {
        player: u32,
        entity: u32,
        to: Option<u32>,
    },
    Move {
        player: u32,
        entity: u32,
        position: [f32; 3],
        rotation: [f32; 4],
        velocity: Option<SavedVelocity>,
    },
    Set {
        player: u32,
        entity: u32,
        attributes: Value,
    },
    SpawnOwned {
        player: u32,
        kind: String,
        position: [f32; 3],
        rotation: [f32; 4],
        attributes: Value,
        number: u32,
    },
    DespawnOwned {
        player: u32,
        entity: u32,
    },
}

#[derive(Wire)]
struct SavedVelocity {
    linear: [f32; 3],
    angular: [f32; 3],
}

impl SavedRecord {
    fn of(record: &Record) -> SavedRecord {
        let command = match record {
            Record::Command(command) => command,
            Record::Settled => return SavedRecord::Settled,
            Record::Hash(hash) => return SavedRecord::Hash(*hash),
        };
        let player = command.player().0;
        match command {
            Command::Join { name, .. } => SavedRecord::Join { player, name: name.clone() },
            Command::JoinProgram { name, .. } => SavedRecord::JoinProgram { player, name: name.clone() },
            Command::Leave { .. } => SavedRecord::Leave { player },
            Command::Input { input: Input { forward, right, yaw, run, jump }, .. } => SavedRecord::Input {
                player,
                forward: *forward,
                right: *right,
                yaw: *yaw,
                run: *run,
                jump: *jump,
            },
            Command::Action { name, arguments, .. } => {
                SavedRecord::Action { player, name: name.clone(), arguments: arguments.clone() }
            }
            Command::Message { text, .. } => SavedRecord::Message { player, text: text.clone() },
            Command::Rename { name, .. } => SavedRecord::Rename { player, name: name.clone() },
            Command::Edit { edit, .. } => SavedRecord::of_edit(player, edit),
            Command::Own { entity, number, .. } => {
                SavedRecord::Own { player, entity: entity.0, number: *number }
            }
            Command::Release { entity, to, .. } => {
                SavedRecord::Release { player, entity: entity.0, to: to.map(|to| to.0) }
            }
            Command::Move { entity, pose: Pose { position, rotation }, velocity, .. } => SavedRecord::Move {
                player,
                entity: entity.0,
                position: *position,
                rotation: *rotation,
                velocity: velocity.map(|Velocity { linear, angular }| SavedVelocity { linear, angular }),
            },
            Command::Set { entity, attributes, .. } => {
                SavedRecord::Set { player, entity: entity.0, attributes: attributes.clone() }
            }
            Command::Spawn { kind, pose: Pose { position, rotation }, attributes, number, .. } => {
                SavedRecord::SpawnOwned {
                    player,
                    kind: kind.clone(),
                    position: *position,
                    rotation: *rotation,
                    attributes: attributes.clone(),
                    number: *number,
                }
            }
            Command::Despawn { entity, .. } => SavedRecord::DespawnOwned { player, entity: entity.0 },
        }
    }

    fn of_edit(player: u32, edit: &Edit) -> SavedRecord {
        match edit {
            Edit::Spawn { kind, pose: Pose { position, rotation } } => {
                SavedRecord::Spawn { player, kind: kind.clone(), position: *position, rotation: *rotation }
            }
            Edit::Despawn(id) => SavedRecord::Despawn { player, entity: id.0 },
            Edit::Place(id, Pose { position, rotation }) => {
                SavedRecord::Place { player, entity: id.0, position: *position, rotation: *rotation }
            }
            Edit::Attribute(id, name, value) => {
                SavedRecord::Attribute { player, entity: id.0, name: name.clone(), value: value.clone() }
            }
        }
    }

    fn load(self) -> Result<Record, &'static str> {
        let edit = |player, edit| Command::Edit { player: PlayerId(player), edit };
        Ok(Record::Command(match self {
            SavedRecord::Join { player, name } => Command::Join { player: PlayerId(player), name },
            SavedRecord::Leave { player } => Command::Leave { player: PlayerId(player) },
            SavedRecord::Input { player, forward, right, yaw, run, jump } => {
                let input = Input { forward, right, yaw, run, jump };
                // As they came: the world brings them into their bounds again.
                input.validate().map_err(|_| "controls are out of bounds")?;
                Command::Input { player: PlayerId(player), input }
            }
            SavedRecord::Action { player, name, arguments } => {
                Command::Action { player: PlayerId(player), name, arguments }
            }
            SavedRecord::Message { player, text } => Command::Message { player: PlayerId(player), text },
            SavedRecord::Rename { player, name } => Command::Rename { player: PlayerId(player), name },
            SavedRecord::Spawn { player, kind, position, rotation } => {
                edit(player, Edit::Spawn { kind, pose: Pose { position, rotation } })
            }
            SavedRecord::Despawn { player, entity } => edit(player, Edit::Despawn(EntityId(entity))),
            SavedRecord::Place { player, entity, position, rotation } => {
                edit(player, Edit::Place(EntityId(entity), Pose { position, rotation }))
            }
            SavedRecord::Attribute { player, entity, name, value } => {
                edit(player, Edit::Attribute(EntityId(entity), name, value))
            }
            SavedRecord::JoinProgram { player, name } => {
                Command::JoinProgram { player: PlayerId(player), name }
            }
            SavedRecord::Own { player, entity, number } => {
                Command::Own { player: PlayerId(player), entity: EntityId(entity), number }
            }
            SavedRecord::Release { player, entity, to } => {
                Command::Release { player: PlayerId(player), entity: EntityId(entity), to: to.map(PlayerId) }
            }
            SavedRecord::Move { player, entity, position, rotation, velocity } => Command::Move {
                player: PlayerId(player),
                entity: EntityId(entity),
                pose: Pose { position, rotation },
                velocity: velocity.map(|SavedVelocity { linear, angular }| Velocity { linear, angular }),
            },
            SavedRecord::Set { player, entity, attributes } => {
                Command::Set { player: PlayerId(player), entity: EntityId(entity), attributes }
            }
            SavedRecord::SpawnOwned { player, kind, position, rotation, attributes, number } => {
                let pose = Pose { position, rotation };
                Command::Spawn { player: PlayerId(player), kind, pose, attributes, number }
            }
            SavedRecord::DespawnOwned { player, entity } => {
                Command::Despawn { player: PlayerId(player), entity: EntityId(entity) }
            }
            SavedRecord::Settled => return Ok(Record::Settled),
            SavedRecord::Hash(hash) => return Ok(Record::Hash(hash)),
        }))
    }
}

#[cfg(test)]
mod tests;
