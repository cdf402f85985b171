//! Events of a world that are not visible in its columns.

use nowcast_wire::Value;

use crate::conform::MisfitError;
use crate::id::{EntityId, PlayerId};
use crate::owner::{OwnerError, OwnerRequest};

/// Something that happened, in order. [`crate::World::poll_event`] gives each once.
#[derive(Clone, PartialEq, Debug)]
pub enum Event {
    /// An entity came into the world.
    Spawned(EntityId),
    /// An entity left the world; its id is never used again.
    Despawned(EntityId),
    /// An entity was put elsewhere: nobody should interpolate across the jump.
    Teleported(EntityId),
    /// A player came.
    Joined(PlayerId),
    /// A player went.
    Left(PlayerId),
    /// A player has another name.
    Renamed {
        /// The new player.
        player: PlayerId,
        /// The new name, after [`crate::text::sanitize`].
        name: String,
    },
    /// A player spoke, and the behaviour lets everybody hear it.
    Said {
        /// The player that spoke.
        player: PlayerId,
        /// The name at that time.
        name: String,
        /// The line, after [`crate::text::sanitize`]; markup is passed on unchanged.
        text: String,
    },
    /// The behaviour tells something.
    Emitted {
        /// The name of the event.
        name: String,
        /// The players that hear it.
        to: To,
        /// Its payload.
        payload: Value,
        /// Whether a durable action caused it: then nobody should hear of it before the action is kept.
        durable: bool,
    },
    /// A place of a screen has a new value. This is a state: the newest value counts.
    Screen {
        /// Whose; `None` for everybody's.
        player: Option<PlayerId>,
        /// Which place, as in `score`.
        place: String,
        /// The new value; nil for nothing.
        value: Value,
    },
    /// A player owns an entity that it asked for, or made.
    Granted {
        /// The player that asked.
        player: PlayerId,
        /// Which.
        entity: EntityId,
        /// That of its command.
        number: u32,
    },
    /// A command was not carried out.
    Refused {
        /// Whose.
        player: PlayerId,
        /// Why.
        refusal: Refusal,
    },
}

/// The players that hear of something.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum To {
    /// Everybody.
    All,
    /// One player.
    Player(PlayerId),
    /// Players whose avatars are near to a place.
    Near {
        /// The place, in metres.
        position: [f32; 3],
        /// How near, in metres.
        radius: f32,
    },
}

/// Why a command was not carried out.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refusal {
    /// As many players as may be are in the world.
    #[error("the world is full: {players_max} players are in it")]
    Full {
        /// The limit.
        players_max: usize,
    },
    /// A player joins with a number that was used.
    #[error("player {0} has joined before")]
    PlayerUsed(u32),
    /// Somebody does something who has not joined.
    #[error("no player {0} is in the world")]
    UnknownPlayer(u32),
    /// The definition has no such action.
    #[error("this world knows no action {0:?}")]
    UnknownAction(String),
    /// Arguments do not fit.
    #[error("action {action:?}: {misfit}")]
    Arguments {
        /// Of which action.
        action: String,
        /// The mismatch.
        misfit: MisfitError,
    },
    /// An edit cannot be made.
    #[error("edit: {0}")]
    Edit(String),
    /// The refused request of an owner.
    #[error("{}: {why}", .request.word())]
    Owner {
        /// The request.
        request: OwnerRequest,
        /// Of which entity; `None` for one that was to be made.
        entity: Option<EntityId>,
        /// That of its command; 0 where it has none.
        number: u32,
        /// The reason of the refusal.
        why: OwnerError,
    },
}
