//! What changes a world from outside.

use nowcast_wire::Value;

use crate::id::{EntityId, PlayerId};
use crate::input::Input;
use crate::pose::Pose;

/// Something that is to be done at the next step, in the order of [`crate::World::apply`].
///
/// A world is a function of its definition, its seed, its behaviour and its commands, each with the step before which
/// it came. Who keeps these can have the world again.
#[derive(Clone, PartialEq, Debug)]
pub enum Command {
    /// Somebody comes.
    Join {
        /// Its number, greater than all that were used before.
        player: PlayerId,
        /// What it wants to be called; sanitised, and `guest-N` when nothing is left.
        name: String,
    },
    /// Somebody goes.
    Leave {
        /// Who.
        player: PlayerId,
    },
    /// What a player's controls say from now on.
    Input {
        /// Whose.
        player: PlayerId,
        /// What they say.
        input: Input,
    },
    /// A player does something that the definition declares.
    Action {
        /// Who.
        player: PlayerId,
        /// What.
        name: String,
        /// With what: a map.
        arguments: Value,
    },
    /// A player says something.
    Message {
        /// Who.
        player: PlayerId,
        /// What, sanitised before anybody hears it.
        text: String,
    },
    /// A player takes another name.
    Rename {
        /// Who.
        player: PlayerId,
        /// The name; sanitised, and `guest-N` when nothing is left.
        name: String,
    },
    /// Somebody who may edit the world does so, past its behaviour.
    Edit {
        /// Who.
        player: PlayerId,
        /// What.
        edit: Edit,
    },
}

/// A change of the world by hand.
#[derive(Clone, PartialEq, Debug)]
pub enum Edit {
    /// Makes an entity.
    Spawn {
        /// Of this kind.
        kind: String,
        /// Here.
        pose: Pose,
    },
    /// Removes an entity and what hangs on it.
    Despawn(EntityId),
    /// Puts an entity elsewhere, at rest.
    Place(EntityId, Pose),
    /// Sets an attribute.
    Attribute(EntityId, String, Value),
}

impl Command {
    /// Whose it is.
    pub fn player(&self) -> PlayerId {
        match self {
            Command::Join { player, .. }
            | Command::Leave { player }
            | Command::Input { player, .. }
            | Command::Action { player, .. }
            | Command::Message { player, .. }
            | Command::Rename { player, .. }
            | Command::Edit { player, .. } => *player,
        }
    }
}
