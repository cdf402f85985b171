//! What changes a world from outside.

use nowcast_wire::Value;

use crate::id::{EntityId, PlayerId};
use crate::input::Input;
use crate::limits::VELOCITY_MAX;
use crate::pose::{Pose, Velocity};

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
    /// A program comes. It is a player that [`crate::Behaviour::join`] may know by [`crate::Player::is_program`].
    JoinProgram {
        /// Its number, greater than all that were used before.
        player: PlayerId,
        /// What it wants to be called; sanitised, and `guest-N` when nothing is left.
        name: String,
    },
    /// A player asks for an entity, by the rules of its kind ([`crate::OwnerRules`]).
    Own {
        /// Who.
        player: PlayerId,
        /// Which.
        entity: EntityId,
        /// By which the answer, an [`crate::Event::Granted`] or a refusal, is known.
        number: u32,
    },
    /// A player gives an entity back that it owns, or passes it on.
    Release {
        /// Who.
        player: PlayerId,
        /// Which.
        entity: EntityId,
        /// To whom; `None` for the server. It has to be one that might ask for it.
        to: Option<PlayerId>,
    },
    /// An owner says where its entity is to be. A state: the newest counts.
    Move {
        /// Who.
        player: PlayerId,
        /// Which.
        entity: EntityId,
        /// Where, and how turned.
        pose: Pose,
        /// How that moves, if the owner knows: it goes on so for a tenth of a second.
        velocity: Option<Velocity>,
    },
    /// An owner sets attributes that its kind leaves to owners.
    Set {
        /// Who.
        player: PlayerId,
        /// Of which entity.
        entity: EntityId,
        /// A map of names and values. All of them are set, or none.
        attributes: Value,
    },
    /// A player makes an entity of its own, as far as its kind allows.
    Spawn {
        /// Who.
        player: PlayerId,
        /// Of this kind.
        kind: String,
        /// Here.
        pose: Pose,
        /// What differs from the defaults, of those that an owner may set: a map, or nil.
        attributes: Value,
        /// By which the answer is known.
        number: u32,
    },
    /// An owner removes an entity of a kind that owners may make.
    Despawn {
        /// Who.
        player: PlayerId,
        /// Which.
        entity: EntityId,
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
    /// The same with poses whose rotations are of length 1; `None` when a number of an owner is none that a world holds.
    pub(crate) fn checked(self) -> Option<Command> {
        match self {
            Command::Move { player, entity, pose, velocity } => {
                let parts =
                    velocity.iter().flat_map(|velocity| velocity.linear.iter().chain(&velocity.angular));
                let is_velocity = parts.into_iter().all(|v| v.is_finite() && v.abs() <= VELOCITY_MAX);
                let pose = pose.checked().filter(|_| is_velocity)?;
                Some(Command::Move { player, entity, pose, velocity })
            }
            Command::Spawn { player, kind, pose, attributes, number } => {
                Some(Command::Spawn { player, kind, pose: pose.checked()?, attributes, number })
            }
            other => Some(other),
        }
    }

    /// About how many bytes it holds beside itself.
    pub(crate) fn held_bytes(&self) -> usize {
        match self {
            Command::Join { name, .. } | Command::JoinProgram { name, .. } | Command::Rename { name, .. } => {
                name.len()
            }
            Command::Message { text, .. } => text.len(),
            Command::Action { name, arguments, .. } => name.len() + held_by(arguments),
            Command::Set { attributes, .. } => held_by(attributes),
            Command::Spawn { kind, attributes, .. } => kind.len() + held_by(attributes),
            Command::Edit { edit: Edit::Spawn { kind, .. }, .. } => kind.len(),
            Command::Edit { edit: Edit::Attribute(_, name, value), .. } => name.len() + held_by(value),
            _ => 0,
        }
    }

    /// Whose it is.
    pub fn player(&self) -> PlayerId {
        match self {
            Command::Join { player, .. }
            | Command::JoinProgram { player, .. }
            | Command::Own { player, .. }
            | Command::Release { player, .. }
            | Command::Move { player, .. }
            | Command::Set { player, .. }
            | Command::Spawn { player, .. }
            | Command::Despawn { player, .. }
            | Command::Leave { player }
            | Command::Input { player, .. }
            | Command::Action { player, .. }
            | Command::Message { player, .. }
            | Command::Rename { player, .. }
            | Command::Edit { player, .. } => *player,
        }
    }
}

fn held_by(value: &Value) -> usize {
    match value {
        Value::Text(text) => text.len(),
        Value::Bytes(bytes) | Value::Ext(_, bytes) => bytes.len(),
        Value::List(list) => list.iter().map(|value| size_of::<Value>() + held_by(value)).sum(),
        Value::Map(pairs) => {
            pairs.iter().map(|(key, value)| size_of::<(Value, Value)>() + held_by(key) + held_by(value)).sum()
        }
        _ => 0,
    }
}
