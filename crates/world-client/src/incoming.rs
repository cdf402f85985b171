//! The meaning of a message, before it is decoded.

use nowcast::{Message, MessageKind};
use nowcast_world_protocol::session::{CHAT_LANE, MISSED_KEY, StateKey, WORLD_LANE};

/// The meaning of a message from a world. The bytes are not decoded, so a client may skip messages at no cost.
///
/// ```
/// use nowcast::{Key, MessageKind};
/// use nowcast_world::EntityId;
/// use nowcast_world_client::Incoming;
/// use nowcast_world_protocol::session::StateKey;
///
/// let incoming = Incoming::new(MessageKind::State { key: Key::state(7) }, 0, &[]);
/// assert_eq!(incoming, Incoming::State { key: StateKey::Entity(EntityId(7)), value: &[] });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Incoming<'m> {
    /// A payload of movement (`spec/WORLD.md`, section 5).
    Movement(&'m [u8]),
    /// The state of an entity, a player or a screen.
    State {
        /// The entity, player or screen.
        key: StateKey,
        /// The value; empty if the entity, player or screen was removed.
        value: &'m [u8],
    },
    /// A [`FromWorld`](nowcast_world_protocol::session::FromWorld).
    Event(&'m [u8]),
    /// A line of chat: a [`Said`](nowcast_world_protocol::session::Said).
    Line(&'m [u8]),
    /// A [`Missed`](nowcast_world_protocol::session::Missed): lines of chat that were not sent.
    Missed(&'m [u8]),
    /// A message that this version of the protocol does not define.
    Unknown,
}

impl<'m> Incoming<'m> {
    /// Returns the meaning of a message of this kind on this lane.
    pub fn new(kind: MessageKind, lane: u8, bytes: &'m [u8]) -> Self {
        match (kind, lane) {
            (MessageKind::Replication { .. }, _) => Self::Movement(bytes),
            (MessageKind::State { key }, WORLD_LANE) => {
                StateKey::of(key.raw()).map_or(Self::Unknown, |key| Self::State { key, value: bytes })
            }
            (MessageKind::State { key: MISSED_KEY }, CHAT_LANE) => Self::Missed(bytes),
            (MessageKind::Event, WORLD_LANE) => Self::Event(bytes),
            (MessageKind::Event, CHAT_LANE) => Self::Line(bytes),
            _ => Self::Unknown,
        }
    }

    /// Returns the meaning of a channel's message.
    pub fn of(message: &'m Message) -> Self {
        Self::new(message.kind, message.lane.number(), &message.bytes)
    }
}
