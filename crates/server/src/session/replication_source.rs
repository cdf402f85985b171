//! Movement for one client, written when a packet leaves.

use std::sync::{Arc, Mutex, MutexGuard, RwLock};

use nowcast::Source;
use nowcast::session::{PacketOutcome, Replication};
use nowcast_replication::{History, Viewer};

use super::REPLICATION_LANE;
use crate::room_metrics::RoomMetrics;

/// What a room has to tell, and what one of its clients has of it.
///
/// The room's thread says when something is due, the session's driver writes it and learns what arrived. The history
/// is never locked by somebody who waits for a viewer while its writer holds it, so the two cannot block each other.
#[derive(Clone)]
pub(super) struct ReplicationSource {
    pub(super) history: Arc<RwLock<History>>,
    pub(super) viewer: Arc<Mutex<Viewer>>,
    pub(super) metrics: Arc<RoomMetrics>,
}

impl ReplicationSource {
    pub(super) fn viewer(&self) -> MutexGuard<'_, Viewer> {
        self.viewer.lock().expect("nobody panics while holding it")
    }
}

impl Replication for ReplicationSource {
    fn has_more(&self, lane: u8) -> bool {
        lane == REPLICATION_LANE && self.viewer().has_more()
    }

    fn fill(&mut self, _lane: u8, number: u64, room: usize, out: &mut Vec<u8>) {
        // A room that panicked while it wrote has nothing more to say; its players are told to leave.
        let Ok(history) = self.history.read() else { return };
        let (before, mut viewer) = (out.len(), self.viewer());
        let put_off = viewer.stats.postponed;
        viewer.fill(&history, number, room, out);
        self.metrics.note_movement(out.len() - before, viewer.stats.postponed - put_off);
    }
}

impl Source for ReplicationSource {
    fn settled(&mut self, outcome: PacketOutcome) {
        self.viewer().settled(outcome.number, outcome.arrived);
    }
}
