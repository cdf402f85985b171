//! Messages of clients on sessions, each with its lane and key.

use nowcast_queue::Key;
use nowcast_wire::decode_with;
use nowcast_world::EntityId;

use super::{
    CHAT_LANE, CLIENT_MESSAGE, CONTROLS_KEY, Controls, Line, OWNED_KEYS, Owned, STEPS_KEY, Steps, ToWorld,
    VIEW_KEY, View, WORLD_LANE,
};

/// A message of a client.
#[derive(Clone, Debug, PartialEq)]
pub enum ClientMessage {
    /// The newest input of a client that counts no steps.
    Controls(Controls),
    /// The newest input of a client that counts its steps.
    Steps(Steps),
    /// The view delay.
    View(View),
    /// The target pose of an entity that the client owns.
    Owned(EntityId, Owned),
    /// A line of chat.
    Line(Line),
    /// An event.
    Event(ToWorld),
}

/// The reason why bytes are no message of a client.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ClientMessageError {
    /// Clients send nothing on this lane or key.
    #[error("nothing is expected on this lane or key")]
    Unexpected,
    /// The bytes do not decode.
    #[error("not a message of a world (spec/WORLD.md): {0}")]
    Malformed(#[from] nowcast_wire::Error),
}

impl ClientMessage {
    /// Decodes the state of `key`, or an event if there is no key.
    ///
    /// # Errors
    /// Fails if clients send nothing there, or if the bytes are malformed or need too much memory ([`CLIENT_MESSAGE`]).
    pub fn read(lane: u8, key: Option<Key>, bytes: &[u8]) -> Result<Self, ClientMessageError> {
        Ok(match (lane, key) {
            (WORLD_LANE, Some(CONTROLS_KEY)) => Self::Controls(decode_with(bytes, &CLIENT_MESSAGE)?),
            (WORLD_LANE, Some(STEPS_KEY)) => Self::Steps(decode_with(bytes, &CLIENT_MESSAGE)?),
            (WORLD_LANE, Some(VIEW_KEY)) => Self::View(decode_with(bytes, &CLIENT_MESSAGE)?),
            (WORLD_LANE, Some(key)) => {
                let id = key.raw().checked_sub(OWNED_KEYS).and_then(|id| u32::try_from(id).ok());
                let id = EntityId(id.ok_or(ClientMessageError::Unexpected)?);
                Self::Owned(id, decode_with(bytes, &CLIENT_MESSAGE)?)
            }
            (CHAT_LANE, None) => Self::Line(decode_with(bytes, &CLIENT_MESSAGE)?),
            (WORLD_LANE, None) => Self::Event(decode_with(bytes, &CLIENT_MESSAGE)?),
            _ => return Err(ClientMessageError::Unexpected),
        })
    }
}

#[cfg(test)]
mod tests {
    use nowcast_wire::encode_to_vec;

    use super::*;

    #[test]
    fn the_lane_and_the_key_select_the_type_of_a_message() {
        let view = View { delay_ms: 50 };
        let bytes = encode_to_vec(&view);
        let read = |lane, key| ClientMessage::read(lane, key, &bytes);
        assert_eq!(read(WORLD_LANE, Some(VIEW_KEY)), Ok(ClientMessage::View(view)));
        for (lane, key) in [(WORLD_LANE, Some(Key::state(9))), (CHAT_LANE, Some(VIEW_KEY)), (2, None)] {
            assert_eq!(read(lane, key), Err(ClientMessageError::Unexpected));
        }
        let beyond = Key::state(OWNED_KEYS + (1 << 32));
        assert_eq!(read(WORLD_LANE, Some(beyond)), Err(ClientMessageError::Unexpected));
        assert!(matches!(
            read(WORLD_LANE, Some(Key::state(OWNED_KEYS + 7))),
            Err(ClientMessageError::Malformed(_))
        ));
    }
}
