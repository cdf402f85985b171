//! The players of a world.

use nowcast_wire::Value;

use crate::id::{EntityId, PlayerId};
use crate::input::Input;

/// A participant: a person or a program.
#[derive(Clone, PartialEq, Debug)]
pub struct Player {
    /// The number of the player.
    pub id: PlayerId,
    /// The sanitised name.
    pub name: String,
    /// Whether the player joined as a program ([`crate::Command::JoinProgram`]).
    pub is_program: bool,
    /// The entity that the player's input moves, if any.
    pub avatar: Option<EntityId>,
    /// The newest input. A walker follows it automatically; the behaviour of a vehicle reads it here.
    pub input: Input,
    /// Tags by which the behaviour finds the player, such as a team or a role; sorted.
    pub tags: Vec<String>,
    /// Data of the behaviour that clients never receive.
    pub private: Value,
    /// Age of the world that the player sees, in milliseconds ([`crate::Command::SetViewDelay`]).
    pub behind_ms: u16,
}
