//! The journal of a world, as bytes: with it, a world can be replayed.
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

mod saved;

use std::cmp::Ordering;

use nowcast_wire::{Effort, Limits as WireLimits};

use self::saved::Saved;
use crate::command::Command;
use crate::world::World;

/// The version of the bytes, which is their first one.
const VERSION: u8 = 2;

/// Limits for reading one block of entries.
const LIMITS: WireLimits = WireLimits { memory_bytes_max: 256 << 20, ..WireLimits::MESSAGE };

/// Something that happened to a world, and when.
#[derive(Clone, PartialEq, Debug)]
pub struct Entry {
    /// [`World::tick`] at that moment: how many steps came before.
    pub tick: u64,
    /// The recorded change.
    pub record: Record,
}

/// A change of a world between two steps.
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
    /// A program from before the first release wrote it.
    #[error(
        "the journal has version {found}, which no release wrote, and this program reads version {VERSION}"
    )]
    Older {
        /// The version that it has.
        found: u8,
    },
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
        /// The fault.
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
        /// The reason of the refusal.
        why: crate::ApplyError,
    },
    /// The replayed world differs from the recorded one: its definition, its rules or this program is not the one that
    /// recorded it.
    #[error("at tick {tick} the world's hash is {found:016x}, and {expected:016x} was recorded")]
    Diverged {
        /// When.
        tick: u64,
        /// The recorded hash.
        expected: u64,
        /// The hash of the replayed world.
        found: u64,
    },
}

/// Appends entries as bytes, in columns: many at a time take fewer bytes than one by one.
pub fn encode(entries: &[Entry], out: &mut Vec<u8>) {
    out.push(VERSION);
    nowcast_wire::encode_with(&Saved::of(entries), Effort::Small, out);
}

/// The entries that [`encode`] wrote.
pub fn decode(bytes: &[u8]) -> Result<Vec<Entry>, JournalError> {
    let (version, body) = bytes.split_first().ok_or(JournalError::Empty)?;
    match version.cmp(&VERSION) {
        Ordering::Less => Err(JournalError::Older { found: *version }),
        Ordering::Greater => Err(JournalError::Newer { found: *version }),
        Ordering::Equal => nowcast_wire::decode_with::<Saved>(body, &LIMITS)?.load(),
    }
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

#[cfg(test)]
mod tests;
