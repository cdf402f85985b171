//! The newest snapshot of a room, for the drivers of its sessions.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, RwLock};

use nowcast_replication::{Frames, GridSnapshot, RateTable, SectionId};
use nowcast_world::PlayerId;

use crate::room::replicated_state::EntityDescriptions;

/// Number of places for snapshots: one to read, one to write, and two for delayed readers.
const PLACES: usize = 4;

/// The immutable state of a room after a step. Any number of drivers can read it while the room continues.
#[derive(Default)]
pub struct RoomSnapshot {
    /// The room's count of steps.
    pub tick: u64,
    /// The sections of space.
    pub grid_snapshot: Arc<GridSnapshot>,
    /// The movement of each group of entities.
    pub frames: Arc<Frames>,
    /// The descriptions of all entities.
    pub descriptions: Arc<EntityDescriptions>,
    /// The players, ordered by id.
    pub players: Vec<SeenPlayer>,
    /// How often entities are sent, by distance.
    pub rates: Arc<RateTable>,
}

/// A player's view and input in a step.
#[derive(Clone, Copy)]
pub struct SeenPlayer {
    /// The player.
    pub id: PlayerId,
    /// The position of the avatar, in metres.
    pub eye: Option<[f32; 3]>,
    /// The number of the player's input in force.
    pub controls: u16,
}

impl RoomSnapshot {
    /// Returns a player of the snapshot. If the snapshot does not have the player, returns one without eye and input.
    pub fn player(&self, id: PlayerId) -> SeenPlayer {
        match self.players.binary_search_by_key(&id, |player| player.id) {
            Ok(at) => self.players[at],
            Err(_) => SeenPlayer { id, eye: None, controls: 0 },
        }
    }

    /// The number of entities in these sections.
    pub fn count_members(&self, sections: &[SectionId]) -> u64 {
        sections.iter().map(|section| self.grid_snapshot.members(*section).len() as u64).sum()
    }
}

/// The newest snapshot of a room. The room is the only writer, and never waits for a reader.
#[derive(Default)]
pub struct LatestSnapshot {
    places: [RwLock<Option<Arc<RoomSnapshot>>>; PLACES],
    /// The place of the newest snapshot. The room does not write to it.
    newest: AtomicUsize,
}

impl LatestSnapshot {
    /// Publishes a snapshot. Skips a place that a delayed reader still locks. If all places are locked, this snapshot is not
    /// published, and the next one replaces it.
    pub fn put(&self, snapshot: RoomSnapshot) {
        let snapshot = Arc::new(snapshot);
        let newest = self.newest.load(Ordering::Relaxed);
        let mut is_put = false;
        for at in (0..PLACES).filter(|at| *at != newest) {
            let Ok(mut place) = self.places[at].try_write() else { continue };
            *place = (!is_put).then(|| Arc::clone(&snapshot));
            if place.is_some() {
                is_put = true;
                self.newest.store(at, Ordering::Release);
            }
        }
        // Frees the place of the previous snapshot, unless a reader locks it.
        if is_put && let Ok(mut before) = self.places[newest].try_write() {
            *before = None;
        }
    }

    /// Returns the newest snapshot, or `None` before the first one.
    pub fn newest(&self) -> Option<Arc<RoomSnapshot>> {
        for _ in 0..PLACES {
            let newest = self.newest.load(Ordering::Acquire);
            // The lock is poisoned only if the room panicked while it wrote. Such a room has ended, and closes its clients.
            let snapshot = self.places[newest].read().ok()?.clone();
            // The snapshot is missing if the room published a newer one in the meantime.
            if snapshot.is_some() || newest == self.newest.load(Ordering::Acquire) {
                return snapshot;
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;
    use std::thread;

    use super::*;

    fn snapshot(tick: u64) -> RoomSnapshot {
        RoomSnapshot { tick, ..RoomSnapshot::default() }
    }

    #[test]
    fn readers_that_are_held_up_delay_no_writer() {
        let latest_snapshot = LatestSnapshot::default();
        assert!(latest_snapshot.newest().is_none());
        let mut held = Vec::new();
        for tick in 1..10 {
            latest_snapshot.put(snapshot(tick));
            if held.len() < PLACES - 2 {
                let at = latest_snapshot.newest.load(Ordering::Acquire);
                held.push(latest_snapshot.places[at].read().unwrap());
            }
            assert_eq!(latest_snapshot.newest().unwrap().tick, tick);
        }
        // A reader locks the last free place, too. The newest snapshot remains, and no reader waits.
        let at = latest_snapshot.newest.load(Ordering::Acquire);
        let other =
            (0..PLACES).find(|place| latest_snapshot.places[*place].try_write().is_ok() && *place != at);
        held.push(latest_snapshot.places[other.unwrap()].read().unwrap());
        latest_snapshot.put(snapshot(10));
        assert_eq!(latest_snapshot.newest().unwrap().tick, 9);
        held.clear();
        latest_snapshot.put(snapshot(11));
        assert_eq!(latest_snapshot.newest().unwrap().tick, 11);
    }

    #[test]
    fn only_the_newest_snapshot_is_kept() {
        let latest_snapshot = LatestSnapshot::default();
        latest_snapshot.put(snapshot(1));
        let first = latest_snapshot.newest().unwrap();
        latest_snapshot.put(snapshot(2));
        assert_eq!(Arc::strong_count(&first), 1);
    }

    #[test]
    fn concurrent_readers_see_snapshots_in_order() {
        let latest_snapshot = LatestSnapshot::default();
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    let mut last = 0;
                    while !is_over.load(Ordering::Relaxed) {
                        let Some(snapshot) = latest_snapshot.newest() else { continue };
                        assert!(snapshot.tick >= last, "{} after {last}", snapshot.tick);
                        last = snapshot.tick;
                    }
                });
            }
            (1..20_000).for_each(|tick| latest_snapshot.put(snapshot(tick)));
            is_over.store(true, Ordering::Relaxed);
        });
    }
}
