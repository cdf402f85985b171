//! Describes messages of a world on a session, one line for each message.

use nowcast_world_protocol::session::{EntityState, StateKey, WORLD_LANE};

use super::body::Shapes;
use super::{replication, session};
use crate::printable::printable;

/// Describes messages of a world. Entities are decoded by the preceding definition.
#[derive(Debug)]
pub struct WorldReader {
    shapes: Shapes,
}

impl Default for WorldReader {
    fn default() -> WorldReader {
        WorldReader::new()
    }
}

impl WorldReader {
    /// Makes a reader without a definition.
    #[must_use]
    pub fn new() -> WorldReader {
        WorldReader { shapes: Shapes::of_a_world() }
    }

    /// Describes an event, or a state of this key, as printable text; `None` if it is not a message of a world.
    pub fn message(&mut self, lane: u8, key: Option<u64>, bytes: &[u8]) -> Option<String> {
        if key.is_some() && bytes.is_empty() {
            return Some("gone".into());
        }
        let is_entity = key.and_then(StateKey::of).is_some_and(|key| matches!(key, StateKey::Entity(_)));
        if lane == WORLD_LANE
            && is_entity
            && let Ok(EntityState::OutOfSight(tick)) = EntityState::read(bytes)
        {
            return Some(format!("out of sight since step {tick}"));
        }
        let expected = match key {
            Some(key) => session::messages_of_a_key(lane, key),
            None => session::events_of_a_lane(lane),
        };
        let reading = self.shapes.readings_on_a_lane(bytes, expected).into_iter().next()?;
        Some(printable(&reading.into_line()))
    }

    /// Describes movement; `None` if the bytes are not movement.
    #[must_use]
    pub fn movement(bytes: &[u8]) -> Option<String> {
        replication::summary(bytes)
    }
}
