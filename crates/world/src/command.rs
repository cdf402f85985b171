//! Commands: the only way to change a world from outside.

use nowcast_wire::{Value, Wire};

use crate::account::SavedData;
use crate::conform::held_bytes;
use crate::id::{EntityId, PlayerId};
use crate::input::Input;
use crate::limits::VELOCITY_MAX;
use crate::pose::{Pose, Velocity};

/// A change that the next step applies, in the order of [`crate::World::apply`].
///
/// A world is a function of its definition, its seed, its behaviour and its commands, each with the step before which
/// it was applied. A program that stores all of these can rebuild the world.
///
/// A [journal](crate::journal) stores the player of a command beside it, so the wire form has no player.
#[derive(Clone, PartialEq, Debug, Wire)]
pub enum Command {
    /// A player or a program joins.
    Join {
        /// The number of the player, which must be greater than all earlier numbers.
        #[wire(skip)]
        player: PlayerId,
        /// The name, roles and account of the player.
        request: JoinRequest,
    },
    /// A player leaves.
    Leave {
        /// The player that leaves.
        #[wire(skip)]
        player: PlayerId,
    },
    /// Sets a player's input until the next one.
    Input {
        /// The player.
        #[wire(skip)]
        player: PlayerId,
        /// The new input.
        input: Input,
    },
    /// The player's walker does not move in this step, because its input is not known yet. See `spec/MOVEMENT.md`,
    /// section 9.
    StallStep {
        /// The player.
        #[wire(skip)]
        player: PlayerId,
    },
    /// To catch up a stalled step, the player's walker takes an additional step in this step of the world. The additional
    /// step comes before the normal one. This requires that nothing else moves nearby.
    CatchUpStep {
        /// The player.
        #[wire(skip)]
        player: PlayerId,
        /// The input of the first of the two steps.
        first: Input,
    },
    /// Sets the age of the world that a player sees ([`crate::Scene::rewind`]), until the next such command.
    SetViewDelay {
        /// The player whose view is delayed.
        #[wire(skip)]
        player: PlayerId,
        /// In milliseconds, limited to [`crate::limits::REWIND_MS_MAX`].
        behind_ms: u16,
    },
    /// A player triggers a declared action.
    Action {
        /// The player that acts.
        #[wire(skip)]
        player: PlayerId,
        /// The name of the action.
        name: String,
        /// The arguments: a map.
        arguments: Value,
    },
    /// A player sends a line of chat.
    Message {
        /// The player that speaks.
        #[wire(skip)]
        player: PlayerId,
        /// The line; it is sanitised before a player receives it.
        text: String,
    },
    /// A player changes its name.
    Rename {
        /// The player that is renamed.
        #[wire(skip)]
        player: PlayerId,
        /// The name. It is sanitised, and becomes `guest-N` if no visible character is left.
        name: String,
    },
    /// A player asks to own an entity, by the rules of its kind ([`crate::OwnerRules`]).
    Own {
        /// The player that asks.
        #[wire(skip)]
        player: PlayerId,
        /// The entity.
        entity: EntityId,
        /// Identifies the answer, an [`crate::Event::Granted`] or a refusal.
        number: u32,
    },
    /// An owner gives an entity back or passes it on.
    Release {
        /// The owner.
        #[wire(skip)]
        player: PlayerId,
        /// The entity.
        entity: EntityId,
        /// The new owner; `None` for the server. It must be a player that may own the entity.
        to: Option<PlayerId>,
    },
    /// An owner sets the target pose of its entity. The target is a state: only the newest one counts.
    Move {
        /// The owner.
        #[wire(skip)]
        player: PlayerId,
        /// The entity.
        entity: EntityId,
        /// The target pose.
        pose: Pose,
        /// The velocity of the target, if the owner knows it. The target moves on with this velocity for a tenth of a
        /// second.
        velocity: Option<Velocity>,
    },
    /// An owner sets attributes that its kind allows.
    Set {
        /// The owner.
        #[wire(skip)]
        player: PlayerId,
        /// The entity.
        entity: EntityId,
        /// A map of names and values. Either all of them are set, or none.
        attributes: Value,
    },
    /// A player spawns an entity of its own, if its kind allows.
    Spawn {
        /// The player that asks.
        #[wire(skip)]
        player: PlayerId,
        /// The kind of the entity.
        kind: String,
        /// The initial pose.
        pose: Pose,
        /// The owner's attributes that differ from their defaults: a map, or nil.
        attributes: Value,
        /// Identifies the answer.
        number: u32,
    },
    /// An owner removes an entity of a kind that owners may spawn.
    Despawn {
        /// The owner.
        #[wire(skip)]
        player: PlayerId,
        /// The entity.
        entity: EntityId,
    },
    /// An editor changes the world directly. The world's behaviour is not called.
    Edit {
        /// The player that edits. [`Edit::OUTSIDE`] stands for an editor that is not in the world.
        #[wire(skip)]
        player: PlayerId,
        /// The change.
        edit: Edit,
    },
}

/// Name, roles and account of a player or a program that joins.
#[derive(Clone, PartialEq, Debug, Default, Wire)]
pub struct JoinRequest {
    /// The wanted name. It is sanitised, and becomes `guest-N` if no visible character is left.
    pub name: String,
    /// Whether it is a program. [`crate::Behaviour::join`] can recognise it by [`crate::Player::is_program`].
    pub is_program: bool,
    /// Names of roles, which [`crate::Player::roles`] returns.
    pub roles: Vec<String>,
    /// The name of the account ([`crate::account::is_account`]), which is the same on every visit; `None` for a guest.
    pub account: Option<String>,
    /// The stored data of the account, or `None` if it has none yet. A newer revision replaces the world's data of this
    /// account. If another player of the world has the same account, both have the newer data.
    pub saved: Option<SavedData>,
}

/// A direct change of the world by an editor.
#[derive(Clone, PartialEq, Debug, Wire)]
pub enum Edit {
    /// Spawns an entity.
    Spawn {
        /// The kind of the entity.
        kind: String,
        /// The initial pose.
        pose: Pose,
    },
    /// Removes an entity and all attached entities.
    Despawn(EntityId),
    /// Moves an entity to a pose, at rest.
    Place(EntityId, Pose),
    /// Sets an attribute.
    Attribute(EntityId, String, Value),
    /// Sets the private data of an entity.
    Private(EntityId, Value),
    /// Sets a key of the world's state. Nil removes the key.
    State(String, Value),
    /// Sets the saved data of a player's account. The version of the data stays.
    Saved(PlayerId, Value),
}

impl Edit {
    /// The player number of an editor that is not in the world. No player has this number.
    pub const OUTSIDE: PlayerId = PlayerId(0);
}

macro_rules! player_of {
    ($command:expr) => {
        match $command {
            Command::Join { player, .. }
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
            | Command::Edit { player, .. } => player,
        }
    };
}

impl Command {
    /// Normalises the rotations of all poses. Returns `None` if a number is outside the limits of worlds.
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

    /// Returns the command by which a player without roles and account joins.
    pub fn join(player: PlayerId, name: impl Into<String>) -> Command {
        Command::Join { player, request: JoinRequest { name: name.into(), ..JoinRequest::default() } }
    }

    /// Approximate heap memory, in bytes.
    pub(crate) fn held_bytes(&self) -> usize {
        match self {
            Command::Join { request: JoinRequest { name, roles, account, saved, .. }, .. } => {
                let roles: usize = roles.iter().map(|role| size_of::<String>() + role.len()).sum();
                let saved = saved.as_ref().map_or(0, |saved| held_bytes(&saved.value));
                name.len() + roles + account.as_ref().map_or(0, String::len) + saved
            }
            Command::Rename { name, .. } => name.len(),
            Command::Message { text, .. } => text.len(),
            Command::Action { name, arguments, .. } => name.len() + held_bytes(arguments),
            Command::Set { attributes, .. } => held_bytes(attributes),
            Command::Spawn { kind, attributes, .. } => kind.len() + held_bytes(attributes),
            Command::Edit { edit: Edit::Spawn { kind, .. }, .. } => kind.len(),
            Command::Edit { edit: Edit::Attribute(_, name, value) | Edit::State(name, value), .. } => {
                name.len() + held_bytes(value)
            }
            Command::Edit { edit: Edit::Private(_, value) | Edit::Saved(_, value), .. } => held_bytes(value),
            _ => 0,
        }
    }

    /// The player of the command.
    pub fn player(&self) -> PlayerId {
        *player_of!(self)
    }

    pub(crate) fn player_mut(&mut self) -> &mut PlayerId {
        player_of!(self)
    }
}
