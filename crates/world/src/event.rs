//! Events of a world that are not visible in its columns.

use nowcast_wire::Value;

use crate::conform::MisfitError;
use crate::id::{EntityId, PlayerId};
use crate::owner::{OwnerError, OwnerRequest};

/// An event of the world. [`crate::World::poll_event`] returns each event once, in order.
#[derive(Clone, PartialEq, Debug)]
pub enum Event {
    /// An entity was spawned.
    Spawned(EntityId),
    /// An entity was removed. Its id is never used again.
    Despawned(EntityId),
    /// A player joined.
    Joined(PlayerId),
    /// A player left.
    Left(PlayerId),
    /// The behaviour asks the host to remove a player. The host closes the player's connection with the reason, and applies
    /// [`crate::Command::Leave`].
    Kicked {
        /// The player.
        player: PlayerId,
        /// The reason, after [`crate::text::sanitize`].
        reason: String,
    },
    /// The behaviour asks the host to ban a player: to remove it like [`Event::Kicked`], and to refuse its return for some time.
    Banned {
        /// The player.
        player: PlayerId,
        /// The duration of the ban, in seconds.
        seconds: u32,
        /// Whether the ban applies in all rooms of this world, instead of this room alone.
        of_world: bool,
        /// The reason, after [`crate::text::sanitize`].
        reason: String,
    },
    /// The behaviour asks the host to send a player to another room of the same host.
    SentTo {
        /// The player.
        player: PlayerId,
        /// The name of the room: 1 to 32 of a-z, 0-9, - and _.
        room: String,
        /// The data that the rules of that room receive.
        data: Value,
    },
    /// A player changed its name.
    Renamed {
        /// The player.
        player: PlayerId,
        /// The new name, after [`crate::text::sanitize`].
        name: String,
    },
    /// A player sent a line of chat, and the behaviour forwards it.
    Said {
        /// The player that spoke.
        player: PlayerId,
        /// The name at that time.
        name: String,
        /// The line, after [`crate::text::sanitize`]. Markup is not changed.
        text: String,
    },
    /// The behaviour emitted an event.
    Emitted {
        /// The name of the event.
        name: String,
        /// The players that receive it.
        to: To,
        /// The payload of the event.
        payload: Value,
        /// Whether a durable action caused the event. If so, no player should receive the event before the action is stored.
        durable: bool,
    },
    /// A place of a screen has a new value. The value is a state: only the newest one counts.
    Screen {
        /// The player; `None` for all players.
        player: Option<PlayerId>,
        /// The place, as in `score`.
        place: String,
        /// The new value; nil clears the place.
        value: Value,
    },
    /// A player received an entity that it asked for or spawned.
    Granted {
        /// The player that asked.
        player: PlayerId,
        /// The entity.
        entity: EntityId,
        /// The number of the player's command.
        number: u32,
    },
    /// A command was refused.
    Refused {
        /// The player.
        player: PlayerId,
        /// The reason.
        refusal: Refusal,
    },
}

/// The players that receive an event.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum To {
    /// All players.
    All,
    /// One player.
    Player(PlayerId),
    /// Players whose avatars are near a position.
    Near {
        /// The position, in metres.
        position: [f32; 3],
        /// The radius, in metres.
        radius: f32,
    },
}

/// The reason why a command was refused.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refusal {
    /// The world has the maximum number of people, or of programs.
    #[error("the world is full: {players_max} players are in it")]
    Full {
        /// The limit.
        players_max: usize,
    },
    /// A player joined with a number that was used before.
    #[error("player {0} has joined before")]
    PlayerUsed(u32),
    /// The player of the command has not joined.
    #[error("no player {0} is in the world")]
    UnknownPlayer(u32),
    /// The definition has no such action.
    #[error("this world knows no action {0:?}")]
    UnknownAction(String),
    /// Arguments do not fit.
    #[error("action {action:?}: {misfit}")]
    Arguments {
        /// The action.
        action: String,
        /// The mismatch.
        misfit: MisfitError,
    },
    /// The behaviour could not run an action, because earlier calls used up the work budget of the step. A later attempt may
    /// succeed.
    #[error(
        "action {action:?} was not carried out, because the rules had used up the work of this step: try again in a moment"
    )]
    NoWorkLeft {
        /// The action.
        action: String,
    },
    /// An edit is invalid.
    #[error("edit: {0}")]
    Edit(String),
    /// The refused request of an owner.
    #[error("{}: {why}", .request.word())]
    Owner {
        /// The request.
        request: OwnerRequest,
        /// The entity; `None` if it was to be spawned.
        entity: Option<EntityId>,
        /// The number of the request's command; 0 if the request has none.
        number: u32,
        /// The reason of the refusal.
        why: OwnerError,
    },
}
