//! Commands of players. The messages of both protocols are converted to this one type.

use std::time::{Duration, Instant};

use nowcast_world::limits::NAME_BYTES_MAX;
use nowcast_world::{
    Command as WorldCommand, EntityId, Input, OwnerRequest, PlayerId, Pose, Value, Velocity,
};
use nowcast_world_protocol::plain::{ClientMessage, DecodeError, OutOfBounds};
use nowcast_world_protocol::session::{Owned, Place, ToWorld};

use crate::closing::Closing;
use crate::rate::MessageKind;

/// A command of a player. Its fields are within their bounds.
#[derive(Debug, PartialEq)]
pub enum PlayerCommand {
    /// Controls the avatar. Input is state: of the inputs between two events, only the newest has an effect. On sessions,
    /// inputs have numbers. In the plain protocol, the number is 0.
    Input {
        /// The controls.
        input: Input,
        /// The number of the input on sessions; 0 in the plain protocol.
        number: u16,
    },
    /// Runs an action that the world declares. A numbered action is answered, and happens exactly once if it is durable.
    Act {
        /// The name of the action.
        action: String,
        /// The arguments of the action.
        arguments: Value,
        /// The number of the action, if the client expects an answer.
        number: Option<Numbered>,
        /// The time at which the client triggered the action.
        given: Given,
    },
    /// Sends a chat line to all.
    Say {
        /// The line.
        text: String,
    },
    /// Changes the player's name.
    Rename {
        /// The requested name.
        name: String,
    },
    /// Sets the target pose of an entity that the player owns. A target is state: of the targets of an entity between two
    /// events, only the newest has an effect.
    Move {
        /// The entity.
        entity: EntityId,
        /// The pose.
        pose: Pose,
        /// The velocity of the entity, if the client states one.
        velocity: Option<Velocity>,
    },
    /// Requests an entity.
    Own {
        /// The entity.
        entity: EntityId,
        /// The number that the answer repeats.
        number: u32,
    },
    /// Releases an owned entity, or transfers it to another player.
    Release {
        /// The entity.
        entity: EntityId,
        /// The next owner, if there is one.
        to: Option<PlayerId>,
    },
    /// Sets attributes of an entity that the player owns.
    Set {
        /// The entity.
        entity: EntityId,
        /// The attributes by name.
        attributes: Value,
    },
    /// Spawns an entity that the player owns.
    Spawn {
        /// The number that the answer repeats.
        number: u32,
        /// The name of the entity's kind.
        kind: String,
        /// The pose.
        pose: Pose,
        /// The attributes by name.
        attributes: Value,
    },
    /// Removes an entity that the player owns.
    Despawn {
        /// The entity.
        entity: EntityId,
    },
}

/// The part of a command that an answer names.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum CommandSubject {
    Action {
        action: String,
        number: Option<u32>,
    },
    Line {
        text: String,
    },
    Name,
    Owned {
        request: OwnerRequest,
        entity: Option<EntityId>,
        number: u32,
    },
    /// A rejected state is not answered, because the next state replaces it.
    State,
}

/// The time at which an action was triggered.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Given {
    /// The arrival of the action.
    pub at: Instant,
    /// The step of the client at that time, if the client counts steps.
    pub step: Option<u16>,
    /// The moment at which the client showed other entities, in room steps, if the client states it.
    pub shown: Option<f64>,
    /// The age of the client's view when the action arrived, if the server can measure it.
    pub saw: Option<Duration>,
}

impl Given {
    /// Creates the time of an action that arrives now, from a client without steps and without a measured view.
    pub fn now() -> Self {
        Self { at: Instant::now(), step: None, shown: None, saw: None }
    }
}

/// The number of an action that is answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Numbered {
    /// The number that the client gave the action, from 1 on.
    pub number: u32,
    /// Whether the action is over the rate. Such an action is refused, unless it repeats a durable action
    /// that was carried out.
    pub is_over_rate: bool,
}

impl Numbered {
    /// Creates the number of an action that is within the rate.
    pub fn new(number: u32) -> Self {
        Self { number, is_over_rate: false }
    }
}

impl PlayerCommand {
    /// Returns the command of a plain-protocol message with checked bounds, or `None` if the message is not a command.
    pub fn of_plain(message: ClientMessage) -> Option<Self> {
        Some(match message {
            ClientMessage::Input(input) => {
                let input = Input {
                    forward: input.forward as f32,
                    right: input.right as f32,
                    // The angle is reduced before it is rounded to `f32`, while it has full precision.
                    yaw: input.yaw.rem_euclid(std::f64::consts::TAU) as f32,
                    run: input.run,
                    jump: input.jump,
                };
                Self::Input { input, number: 0 }
            }
            ClientMessage::Act { action, arguments, number } => {
                Self::Act { action, arguments, number: number.map(Numbered::new), given: Given::now() }
            }
            ClientMessage::Chat { text } => Self::Say { text },
            ClientMessage::Name { name } => Self::Rename { name },
            ClientMessage::Own { entity, number } => Self::Own { entity: EntityId(entity), number },
            ClientMessage::Release { entity, to } => {
                Self::Release { entity: EntityId(entity), to: to.map(PlayerId) }
            }
            ClientMessage::Move { entity, position, rotation, velocity, spin } => {
                let narrow = |parts: Option<[f64; 3]>| parts.unwrap_or_default().map(|part| part as f32);
                let moves = velocity.is_some() || spin.is_some();
                let velocity = moves.then(|| Velocity { linear: narrow(velocity), angular: narrow(spin) });
                Self::Move { entity: EntityId(entity), pose: pose_of(position, rotation), velocity }
            }
            ClientMessage::Set { entity, attributes } => Self::Set { entity: EntityId(entity), attributes },
            ClientMessage::Spawn { number, kind, position, rotation, attributes } => {
                let (pose, attributes) = (pose_of(position, rotation), attributes);
                Self::Spawn { number, kind, pose, attributes }
            }
            ClientMessage::Despawn { entity } => Self::Despawn { entity: EntityId(entity) },
            ClientMessage::Rate { .. } | ClientMessage::Ping { .. } => return None,
        })
    }

    /// Returns the command in an event of a session. `saw` is the age of the client's view.
    ///
    /// # Errors
    /// Fails if a field is out of bounds, or if the event is not a command.
    pub fn of_session(event: ToWorld, saw: Option<Duration>) -> Result<Self, Closing> {
        Ok(match event {
            ToWorld::Own { entity, number } => Self::Own { entity: EntityId(entity), number },
            ToWorld::Release { entity, to } => {
                Self::Release { entity: EntityId(entity), to: to.map(PlayerId) }
            }
            ToWorld::Set { entity, attributes } => Self::Set { entity: EntityId(entity), attributes },
            ToWorld::Spawn { number, kind, place: Place { position, rotation }, attributes } => {
                check_length("a kind's name", &kind)?;
                let pose = Pose { position, rotation }.checked().ok_or_else(|| not_finite("place"))?;
                Self::Spawn { number, kind, pose, attributes }
            }
            ToWorld::Despawn { entity } => Self::Despawn { entity: EntityId(entity) },
            ToWorld::Rename { name } => Self::Rename { name },
            ToWorld::Act { action, arguments, number, step, shown } => {
                check_length("an action's name", &action)?;
                if shown.is_some_and(|shown| !shown.is_finite()) {
                    return Err(not_finite("shown"));
                }
                let given = Given { at: Instant::now(), step, shown, saw };
                Self::Act { action, arguments, number: number.map(Numbered::new), given }
            }
            ToWorld::Join { .. } | ToWorld::JoinProgram { .. } => return Err(malformed("a second Join")),
            ToWorld::Identify { .. } => return Err(malformed("Identify after Join")),
            ToWorld::Forget | ToWorld::Rate { .. } => return Err(malformed("this event is not a command")),
        })
    }

    /// Returns the command in a state of a session that sets the target pose of an owned entity.
    ///
    /// # Errors
    /// Fails if the pose is out of bounds.
    pub fn of_owned(entity: EntityId, owned: Owned) -> Result<Self, Closing> {
        let (pose, velocity) = owned.checked().ok_or_else(|| not_finite("pose or velocity"))?;
        Ok(Self::Move { entity, pose, velocity })
    }

    /// Whether the command is state, so that only the newest command of its kind has an effect.
    pub(crate) fn is_state(&self) -> bool {
        matches!(self, Self::Input { .. } | Self::Move { .. })
    }

    /// Whether a newer command replaces this one, because both are states of the same subject.
    pub(crate) fn is_replaced_by(&self, newer: &Self) -> bool {
        match (self, newer) {
            (Self::Input { .. }, Self::Input { .. }) => true,
            (Self::Move { entity, .. }, Self::Move { entity: newer, .. }) => entity == newer,
            _ => false,
        }
    }

    /// Whether the command affects the world. An empty input does not.
    pub(crate) fn has_effect(&self) -> bool {
        match self {
            Self::Input { input, .. } => input.forward != 0.0 || input.right != 0.0 || input.jump,
            Self::Rename { .. } => false,
            _ => true,
        }
    }

    /// Returns the kind of message whose rate limits the command.
    pub(crate) fn kind(&self) -> MessageKind {
        match self {
            Self::Input { .. } => MessageKind::Input,
            Self::Act { .. } => MessageKind::Action,
            Self::Say { .. } => MessageKind::Chat,
            Self::Rename { .. } => MessageKind::Name,
            Self::Move { .. } => MessageKind::Move,
            Self::Set { .. } => MessageKind::Set,
            Self::Own { .. } | Self::Release { .. } | Self::Spawn { .. } | Self::Despawn { .. } => {
                MessageKind::Ownership
            }
        }
    }

    /// The part of the command that an answer names.
    pub(crate) fn subject(&self) -> CommandSubject {
        let (request, entity, number) = match self {
            Self::Input { .. } | Self::Move { .. } => return CommandSubject::State,
            Self::Act { action, number, .. } => {
                let number = number.map(|numbered| numbered.number);
                return CommandSubject::Action { action: action.clone(), number };
            }
            Self::Say { text } => return CommandSubject::Line { text: text.clone() },
            Self::Rename { .. } => return CommandSubject::Name,
            Self::Own { entity, number } => (OwnerRequest::Own, Some(*entity), *number),
            Self::Release { entity, .. } => (OwnerRequest::Release, Some(*entity), 0),
            Self::Set { entity, .. } => (OwnerRequest::Set, Some(*entity), 0),
            Self::Spawn { number, .. } => (OwnerRequest::Spawn, None, *number),
            Self::Despawn { entity } => (OwnerRequest::Despawn, Some(*entity), 0),
        };
        CommandSubject::Owned { request, entity, number }
    }

    /// Converts the command to a command of the world for this player.
    pub(crate) fn into_world(self, player: PlayerId) -> WorldCommand {
        match self {
            Self::Input { input, .. } => WorldCommand::Input { player, input },
            Self::Act { action, arguments, .. } => WorldCommand::Action { player, name: action, arguments },
            Self::Say { text } => WorldCommand::Message { player, text },
            Self::Rename { name } => WorldCommand::Rename { player, name },
            Self::Move { entity, pose, velocity } => WorldCommand::Move { player, entity, pose, velocity },
            Self::Own { entity, number } => WorldCommand::Own { player, entity, number },
            Self::Release { entity, to } => WorldCommand::Release { player, entity, to },
            Self::Set { entity, attributes } => WorldCommand::Set { player, entity, attributes },
            Self::Spawn { number, kind, pose, attributes } => {
                WorldCommand::Spawn { player, kind, pose, attributes, number }
            }
            Self::Despawn { entity } => WorldCommand::Despawn { player, entity },
        }
    }
}

/// Returns a pose with checked bounds.
fn pose_of(position: [f64; 3], rotation: [f64; 4]) -> Pose {
    let length = rotation.iter().map(|part| part * part).sum::<f64>().sqrt();
    Pose { position: position.map(|part| part as f32), rotation: rotation.map(|part| (part / length) as f32) }
}

fn check_length(what: &str, name: &str) -> Result<(), Closing> {
    if name.len() > NAME_BYTES_MAX { Err(malformed(&format!("{what} is too long"))) } else { Ok(()) }
}

/// The error for a pose, velocity or moment that is not finite.
fn not_finite(field: &'static str) -> Closing {
    Closing::OutOfBounds(OutOfBounds::NotFinite { field, value: f64::NAN })
}

fn malformed(what: &str) -> Closing {
    Closing::Malformed(DecodeError::Syntax(what.to_owned()))
}
