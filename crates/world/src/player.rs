//! Who takes part.

use nowcast_wire::Value;

use crate::id::{EntityId, PlayerId};
use crate::input::Input;

/// One who takes part: a person, or a program.
#[derive(Clone, PartialEq, Debug)]
pub struct Player {
    /// Its number.
    pub id: PlayerId,
    /// What it is called, sanitised.
    pub name: String,
    /// Whether it came as a program ([`crate::Command::JoinProgram`]).
    pub is_program: bool,
    /// The entity that it moves, if it has one.
    pub avatar: Option<EntityId>,
    /// What its controls say now. A walker follows by itself; for a vehicle the behaviour reads them here.
    pub input: Input,
    /// Words by which the behaviour finds it, sorted: its team, its role.
    pub tags: Vec<String>,
    /// What the behaviour keeps of it.
    pub private: Value,
    /// How long ago that was what it sees, in milliseconds, as far as its host knows ([`crate::Command::See`]).
    pub behind_ms: u16,
}
