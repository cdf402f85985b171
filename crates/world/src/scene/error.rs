//! Errors of scene calls.

use crate::conform::MisfitError;
use crate::id::{EntityId, PlayerId};
use crate::joint::JointId;

/// The reason why a call failed and changed nothing. The behaviour or the editor that made the call is at fault.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum SceneError {
    /// No entity with this id is in the world.
    #[error("no entity {} is in the world", .0.0)]
    UnknownEntity(EntityId),
    /// No player with this number is in the world.
    #[error("no player {} is in the world", .0.0)]
    UnknownPlayer(PlayerId),
    /// No joint with this id is in the world.
    #[error("no joint {} is in the world", .0.0)]
    UnknownJoint(JointId),
    /// The definition has no such kind.
    #[error("no kind is called {0:?}")]
    UnknownKind(String),
    /// The kind has no such attribute.
    #[error("kind {kind:?} has no attribute {attribute:?}")]
    UnknownAttribute {
        /// The kind.
        kind: String,
        /// The name that was asked for.
        attribute: String,
    },
    /// The kind has no body, or the motion of its body does not allow the call.
    #[error("entity {} has no body that can do this", .0.0)]
    NoBody(EntityId),
    /// A value does not fit its type or its bounds.
    #[error(transparent)]
    Misfit(#[from] MisfitError),
    /// A number is not finite, or outside the limits of all worlds.
    #[error("{0} is not finite, or exceeds the bounds of a world")]
    BadNumber(&'static str),
    /// A name is empty, too long or has control characters.
    #[error("{0:?} is not a valid name: a name has 1 to 64 bytes, and no control characters")]
    BadName(String),
    /// A text is not the name of a room.
    #[error(
        "{0:?} is not the name of a room: rooms of this server have names of 1 to 32 of a-z, 0-9, - and _"
    )]
    BadRoom(String),
    /// A shape cannot be scaled like this.
    #[error("{0}")]
    BadScale(&'static str),
    /// Too many bodies would overlap at one place.
    #[error(
        "too many bodies overlap here: a new or teleported body may overlap {max} others. Put bodies next to one another, or give one kind a shape = \"compound\""
    )]
    Crowded {
        /// The maximum of overlapping bounding boxes.
        max: usize,
    },
    /// Only kinematic bodies without a parent follow planned moves.
    #[error("entity {} cannot follow a planned move: its kind needs a body with motion = \"kinematic\", and it may have no parent", .0.0)]
    NoPlannedMove(EntityId),
    /// Dynamic bodies cannot have a parent.
    #[error("entity {} is moved by forces (motion = \"dynamic\"), so it cannot have a parent; declare motion = \"kinematic\", or hold it with world.joint", .0.0)]
    DynamicChild(EntityId),
    /// The entity is the avatar of another player.
    #[error("entity {} is the avatar of another player; let that player control another entity first", .0.0)]
    Controlled(EntityId),
    /// The entity would be attached to itself, or the chain of parents would be too long.
    #[error("entity {} cannot have that parent: a chain of parents must not be a circle, and its length is limited", .0.0)]
    BadParent(EntityId),
    /// The scene is rewound already.
    #[error("the world is already rewound for a player; rewinding cannot be nested")]
    Rewound,
    /// The definition does not record the past.
    #[error("this world does not record earlier positions")]
    NoPast,
    /// A table is full.
    #[error("the limit of {max} {of} is reached")]
    Full {
        /// The full table.
        of: &'static str,
        /// The maximum.
        max: usize,
    },
    /// Ids are never used again, and the world has used all of them.
    #[error("this world has used all {max} {0} ids, which are never used again: let entities move instead of removing and spawning them, or start a new world", max = u32::MAX)]
    OutOfIds(&'static str),
}
