//! Messages of a world on a session, one line each.

use nowcast_server::session::{EntityState, StateKey, WORLD_LANE};

use super::body::Shapes;
use super::{replication, session};
use crate::output::printable;

/// Reads what a world says; entities by the definition before them.
pub(crate) struct WorldReader {
    shapes: Shapes,
}

impl WorldReader {
    /// One that has read nothing yet.
    pub(crate) fn new() -> WorldReader {
        WorldReader { shapes: Shapes::of_a_world() }
    }

    /// An event, or a state of this key, in words that a terminal can show; `None` for what no world says.
    pub(crate) fn message(&mut self, lane: u8, key: Option<u64>, bytes: &[u8]) -> Option<String> {
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

    /// Movement in words; `None` for what is none.
    pub(crate) fn movement(bytes: &[u8]) -> Option<String> {
        replication::summary(bytes)
    }
}
