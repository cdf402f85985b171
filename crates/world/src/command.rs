//! Commands: the only way to change a world from outside.

use nowcast_wire::Value;

use crate::conform::held_bytes;
use crate::id::{EntityId, PlayerId};
use crate::input::Input;
use crate::limits::VELOCITY_MAX;
use crate::pose::{Pose, Velocity};

/// Something that is to be done at the next step, in the order of [`crate::World::apply`].
///
/// A world is a function of its definition, its seed, its behaviour and its commands, each with the step before which
/// it came. A program that keeps these can build the same world again.
#[derive(Clone, PartialEq, Debug)]
pub enum Command {
    /// Somebody comes.
    Join {
        /// Its number, greater than all that were used before.
        player: PlayerId,
        /// The wanted name; it is sanitised, and becomes `guest-N` when nothing is left.
        name: String,
    },
    /// Somebody goes.
    Leave {
        /// The player that leaves.
        player: PlayerId,
    },
    /// Sets a player's input until the next one.
    Input {
        /// Whose.
        player: PlayerId,
        /// The new input.
        input: Input,
    },
    /// The walker that a player moves stands still in this step of the world, as if the step were not: what its controls say
    /// in it is not known yet. See `spec/MOVEMENT.md`, section 9.
    StallStep {
        /// Whose.
        player: PlayerId,
    },
    /// The walker that a player moves takes a step more in this step of the world, before the one with its controls, to make up
    /// for one that it waited. It does so only where nothing else moves nearby.
    CatchUpStep {
        /// Whose.
        player: PlayerId,
        /// The input of the first of the two steps.
        first: Input,
    },
    /// A player sees the world as it was so long ago ([`crate::Scene::rewind`]). It holds until the next one.
    SetViewDelay {
        /// The player whose view is delayed.
        player: PlayerId,
        /// In milliseconds; [`crate::limits::REWIND_MS_MAX`] counts for more.
        behind_ms: u16,
    },
    /// A player does something that the definition declares.
    Action {
        /// The player that acts.
        player: PlayerId,
        /// The name of the action.
        name: String,
        /// With what: a map.
        arguments: Value,
    },
    /// A player says something.
    Message {
        /// The player that speaks.
        player: PlayerId,
        /// The line; it is sanitised before anybody receives it.
        text: String,
    },
    /// A player takes another name.
    Rename {
        /// The player that is renamed.
        player: PlayerId,
        /// The name; sanitised, and `guest-N` when nothing is left.
        name: String,
    },
    /// A program comes. It is a player that [`crate::Behaviour::join`] may know by [`crate::Player::is_program`].
    JoinProgram {
        /// Its number, greater than all that were used before.
        player: PlayerId,
        /// The wanted name; it is sanitised, and becomes `guest-N` when nothing is left.
        name: String,
    },
    /// A player asks for an entity, by the rules of its kind ([`crate::OwnerRules`]).
    Own {
        /// The player that asks.
        player: PlayerId,
        /// Which.
        entity: EntityId,
        /// By which the answer, an [`crate::Event::Granted`] or a refusal, is known.
        number: u32,
    },
    /// A player gives an entity back that it owns, or passes it on.
    Release {
        /// The owner.
        player: PlayerId,
        /// Which.
        entity: EntityId,
        /// To whom; `None` for the server. It has to be one that might ask for it.
        to: Option<PlayerId>,
    },
    /// An owner says where its entity is to be. A state: the newest counts.
    Move {
        /// The owner.
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
        /// The owner.
        player: PlayerId,
        /// Of which entity.
        entity: EntityId,
        /// A map of names and values. All of them are set, or none.
        attributes: Value,
    },
    /// A player makes an entity of its own, as far as its kind allows.
    Spawn {
        /// The player that asks.
        player: PlayerId,
        /// Of this kind.
        kind: String,
        /// Here.
        pose: Pose,
        /// The attributes that differ from their defaults, of those that an owner may set: a map, or nil.
        attributes: Value,
        /// By which the answer is known.
        number: u32,
    },
    /// An owner removes an entity of a kind that owners may make.
    Despawn {
        /// The owner.
        player: PlayerId,
        /// Which.
        entity: EntityId,
    },
    /// Somebody who may edit the world does so, past its behaviour.
    Edit {
        /// The player that edits.
        player: PlayerId,
        /// The change.
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
            Command::Action { name, arguments, .. } => name.len() + held_bytes(arguments),
            Command::Set { attributes, .. } => held_bytes(attributes),
            Command::Spawn { kind, attributes, .. } => kind.len() + held_bytes(attributes),
            Command::Edit { edit: Edit::Spawn { kind, .. }, .. } => kind.len(),
            Command::Edit { edit: Edit::Attribute(_, name, value), .. } => name.len() + held_bytes(value),
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
            | Command::StallStep { player }
            | Command::CatchUpStep { player, .. }
            | Command::SetViewDelay { player, .. }
            | Command::Input { player, .. }
            | Command::Action { player, .. }
            | Command::Message { player, .. }
            | Command::Rename { player, .. }
            | Command::Edit { player, .. } => *player,
        }
    }
}
