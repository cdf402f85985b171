//! Who takes part.

use nowcast_wire::Value;

use crate::entity::EntityId;
use crate::input::Input;

/// Names one player of one world. Whoever sends [`crate::Command::Join`] chooses it; a number that was used is never
/// used again in a world's life, and one below an earlier number is refused.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct PlayerId(pub u32);

/// One who takes part: a person, or a program.
#[derive(Clone, PartialEq, Debug)]
pub struct Player {
    /// Its number.
    pub id: PlayerId,
    /// What it is called, sanitised.
    pub name: String,
    /// The entity that it moves, if it has one.
    pub avatar: Option<EntityId>,
    /// What its controls say now. A walker follows by itself; for a vehicle the behaviour reads them here.
    pub input: Input,
    /// Words by which the behaviour finds it, sorted: its team, its role.
    pub tags: Vec<String>,
    /// What the behaviour keeps of it.
    pub private: Value,
}
