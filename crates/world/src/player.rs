//! The players of a world.

use nowcast_wire::Value;

use crate::id::{EntityId, PlayerId};
use crate::input::Input;

/// One who takes part: a person, or a program.
#[derive(Clone, PartialEq, Debug)]
pub struct Player {
    /// Its number.
    pub id: PlayerId,
    /// The name, sanitised.
    pub name: String,
    /// Whether it came as a program ([`crate::Command::JoinProgram`]).
    pub is_program: bool,
    /// The entity that it moves, if it has one.
    pub avatar: Option<EntityId>,
    /// The newest input. A walker follows it by itself; for a vehicle the behaviour reads it here.
    pub input: Input,
    /// Words by which the behaviour finds it, sorted: its team, its role.
    pub tags: Vec<String>,
    /// Data of the behaviour that clients never receive.
    pub private: Value,
    /// How long ago that was what it sees, in milliseconds, as far as its host knows ([`crate::Command::SetViewDelay`]).
    pub behind_ms: u16,
}
