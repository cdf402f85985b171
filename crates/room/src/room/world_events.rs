//! Events of a step, and their audiences.

use std::sync::Arc;

use nowcast_world::{EntityId, Event, PlayerId, Refusal, To, Value, World};

/// An event that clients receive once.
#[derive(Clone, Debug, PartialEq)]
pub enum WorldEvent {
    /// A line of chat, for all players.
    Said {
        /// The speaker.
        player: PlayerId,
        /// The speaker's name.
        name: String,
        /// The text of the line.
        text: String,
    },
    /// An event that the rules emit.
    Emitted {
        /// The players that receive it.
        audience: Audience,
        /// The name of the event.
        name: String,
        /// The payload of the event.
        payload: Value,
        /// Whether clients may receive the event only after the store has committed it.
        durable: bool,
    },
}

impl WorldEvent {
    /// Whether clients may receive the event only after the store has committed it.
    pub(crate) fn is_durable(&self) -> bool {
        matches!(self, Self::Emitted { durable: true, .. })
    }
}

/// The players that receive an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Audience {
    /// All players.
    All,
    /// Only these players.
    These(Arc<[PlayerId]>),
}

impl Audience {
    /// Returns the players in the world that receive an event at present.
    fn of(to: To, world: &World) -> Self {
        match to {
            To::All => Self::All,
            To::Player(player) => Self::These([player].into()),
            To::Near { position, radius } => {
                let is_near = |player: &&nowcast_world::Player| {
                    let avatar = player.avatar.and_then(|avatar| world.entity(avatar));
                    avatar.is_some_and(|avatar| {
                        let away = std::array::from_fn::<_, 3, _>(|axis| {
                            avatar.pose.position[axis] - position[axis]
                        });
                        away.iter().map(|part| part * part).sum::<f32>() <= radius * radius
                    })
                };
                Self::These(world.scene().players().filter(is_near).map(|player| player.id).collect())
            }
        }
    }

    /// Whether a player receives the event.
    pub fn has(&self, player: PlayerId) -> bool {
        match self {
            Self::All => true,
            Self::These(players) => players.contains(&player),
        }
    }
}

/// A player that the rules ban.
pub(crate) struct Banned {
    pub(crate) player: PlayerId,
    pub(crate) seconds: u32,
    pub(crate) of_world: bool,
    pub(crate) reason: String,
}

/// The sorted events of a step.
#[derive(Default)]
pub(crate) struct Step {
    pub(crate) world_events: Vec<WorldEvent>,
    /// Rejected commands with their reasons.
    pub(crate) refused: Vec<(PlayerId, Refusal)>,
    /// New owners, with the numbers of their requests.
    pub(crate) granted: Vec<(PlayerId, EntityId, u32)>,
    /// Players that the rules removed, with the reasons.
    pub(crate) kicked: Vec<(PlayerId, String)>,
    /// Players that the rules ban.
    pub(crate) banned: Vec<Banned>,
    /// Players that the rules send to other rooms, with the data that they carry.
    pub(crate) sent: Vec<(PlayerId, String, Value)>,
}

impl Step {
    /// Sorts the events of a step. Skips events about changes of state, because these changes are found by comparison.
    pub(crate) fn of(events: impl Iterator<Item = Event>, world: &World) -> Self {
        let mut step = Self::default();
        for event in events {
            match event {
                Event::Said { player, name, text } => {
                    step.world_events.push(WorldEvent::Said { player, name, text });
                }
                Event::Emitted { name, to, payload, durable } => {
                    let audience = Audience::of(to, world);
                    step.world_events.push(WorldEvent::Emitted { audience, name, payload, durable });
                }
                Event::Granted { player, entity, number } => step.granted.push((player, entity, number)),
                Event::Kicked { player, reason } => step.kicked.push((player, reason)),
                Event::Banned { player, seconds, of_world, reason } => {
                    step.banned.push(Banned { player, seconds, of_world, reason });
                }
                Event::SentTo { player, room, data } => step.sent.push((player, room, data)),
                Event::Refused { player, refusal } => step.refused.push((player, refusal)),
                Event::Spawned(_)
                | Event::Despawned(_)
                | Event::Joined(_)
                | Event::Left(_)
                | Event::Renamed { .. }
                | Event::Screen { .. } => {}
            }
        }
        step
    }
}
