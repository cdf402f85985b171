//! What happened in the world that is not visible in its columns.

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
        /// Who.
        player: PlayerId,
        /// The new name, after [`crate::text::sanitize`].
        name: String,
    },
    /// A player spoke, and the behaviour lets everybody hear it.
    Said {
        /// Who.
        player: PlayerId,
        /// The name at that time.
        name: String,
        /// What was said, after [`crate::text::sanitize`]; markup is passed on as it came.
        text: String,
    },
    /// The behaviour tells something.
    Emitted {
        /// What it is called.
        name: String,
        /// The players that hear it.
        to: To,
        /// What is said with it.
        payload: Value,
    },
    /// What stands at one place of a screen changed. A state: the newest value counts.
    Screen {
        /// Whose; `None` for everybody's.
        player: Option<PlayerId>,
        /// Which place, as in `score`.
        place: String,
        /// What stands there now; nil for nothing.
        value: Value,
    },
    /// A player owns an entity that it asked for, or made.
    Granted {
        /// Who.
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
        /// What is wrong.
        misfit: MisfitError,
    },
    /// An edit cannot be made.
    #[error("edit: {0}")]
    Edit(String),
    /// What somebody asks as an owner.
    #[error("{}: {why}", .request.word())]
    Owner {
        /// What.
        request: OwnerRequest,
        /// Of which entity; `None` for one that was to be made.
        entity: Option<EntityId>,
        /// That of its command; 0 where it has none.
        number: u32,
        /// What is wrong with it.
        why: OwnerError,
    },
}
