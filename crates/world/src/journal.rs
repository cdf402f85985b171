//! The journal of a world as bytes, from which a world can be replayed.
//!
//! A journal is a list of [`Entry`]s in order. [`encode`] writes any number of entries as columns, so that in the input of
//! two hundred players each entry takes a few bytes. [`decode`] reads untrusted bytes. [`replay`] applies a journal to a
//! world.
//!
//! ```
//! use nowcast_world::journal::{self, Entry, Record};
//! use nowcast_world::{Command, Definition, PlayerId, World};
//!
//! let mut world = World::new(Definition::default(), 7, Box::new(()))?;
//! let mut entries = Vec::new();
//! for tick in 0..60 {
//!     if tick == 20 {
//!         let command = Command::join(PlayerId(1), "Ada");
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

use nowcast_wire::{Effort, Limits as WireLimits, Wire};

use self::saved::Saved;
use crate::command::Command;
use crate::world::World;

/// The version of the format, stored in the first byte.
const VERSION: u8 = 6;

/// Limits for reading one block of entries.
const LIMITS: WireLimits = WireLimits { memory_bytes_max: 256 << 20, ..WireLimits::MESSAGE };

/// A change of a world, with its tick.
#[derive(Clone, PartialEq, Debug)]
pub struct Entry {
    /// [`World::tick`] when the change was made: the number of steps taken before it.
    pub tick: u64,
    /// The recorded change.
    pub record: Record,
}

/// A change of a world between two steps.
#[derive(Clone, PartialEq, Debug, Wire)]
pub enum Record {
    /// [`World::apply`] took a command.
    Command(Command),
    /// [`World::apply_waiting`] and then [`World::snapshot`] were called. A snapshot changes the course of the world a
    /// little, even if its bytes are lost.
    Settled,
    /// The world's [`World::hash`] had this value.
    Hash(u64),
}

impl Entry {
    /// Approximate size in memory; an upper bound of the bytes that [`encode`] writes for the entry.
    pub fn memory_bytes(&self) -> usize {
        let held = match &self.record {
            Record::Command(command) => command.held_bytes(),
            Record::Settled | Record::Hash(_) => 0,
        };
        size_of::<Entry>() + held
    }
}

/// The reason why bytes are not a journal.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum JournalError {
    /// The bytes are empty.
    #[error("the journal is empty")]
    Empty,
    /// A program that is older than the first release wrote the bytes.
    #[error(
        "the journal has version {found}, which no release wrote, and this program reads version {VERSION}"
    )]
    Older {
        /// The version of the bytes.
        found: u8,
    },
    /// A newer program wrote the bytes.
    #[error("the journal has version {found}, and this program reads version {VERSION}: a newer release can")]
    Newer {
        /// The version of the bytes.
        found: u8,
    },
    /// The bytes are damaged.
    #[error("the journal is damaged: {0}")]
    Damaged(#[from] nowcast_wire::Error),
    /// An entry has a value that no world writes.
    #[error("entry {index} of the journal is damaged: {what}")]
    Invalid {
        /// The index of the entry, from 0.
        index: usize,
        /// The fault.
        what: &'static str,
    },
}

/// The reason why a journal cannot be replayed.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum ReplayError {
    /// An entry lies before the world's tick or after the end: the journal belongs to another snapshot.
    #[error("the journal has an entry of tick {entry} where the world is at tick {world}")]
    Misplaced {
        /// The entry's tick.
        entry: u64,
        /// The world's tick.
        world: u64,
    },
    /// The world refuses a command that it had accepted when it was recorded.
    #[error(
        "at tick {tick} the world refuses a command that was accepted when the journal was recorded: {why}"
    )]
    Refused {
        /// The tick.
        tick: u64,
        /// The reason of the refusal.
        why: crate::ApplyError,
    },
    /// The replayed world differs from the recorded one: its definition, its rules or the program has changed.
    #[error("at tick {tick} the world's hash is {found:016x}, and {expected:016x} was recorded")]
    Diverged {
        /// The tick.
        tick: u64,
        /// The recorded hash.
        expected: u64,
        /// The hash of the replayed world.
        found: u64,
    },
}

/// Appends entries as bytes, in columns. Many entries in one call take fewer bytes than single ones.
pub fn encode(entries: &[Entry], out: &mut Vec<u8>) {
    out.push(VERSION);
    nowcast_wire::encode_with(&Saved::of(entries), Effort::Small, out);
}

/// Reads the entries that [`encode`] wrote.
///
/// # Errors
/// Fails if the bytes are no journal, are damaged, or were written by another version.
pub fn decode(bytes: &[u8]) -> Result<Vec<Entry>, JournalError> {
    let (version, body) = bytes.split_first().ok_or(JournalError::Empty)?;
    match *version {
        VERSION => nowcast_wire::decode_with::<Saved>(body, &LIMITS)?.load(),
        found if found < VERSION => Err(JournalError::Older { found }),
        found => Err(JournalError::Newer { found }),
    }
}

/// Applies a journal to a world, and then takes steps until the tick `through`.
///
/// Events of the world are dropped, because they were delivered when they happened.
///
/// # Errors
/// Fails if an entry is before the world's step or after `through`, if the world refuses a command, or if a hash
/// differs from the recorded one.
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
