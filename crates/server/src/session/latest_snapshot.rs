//! The snapshot of a room after a step, for the drivers of its sessions.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, RwLock};

use nowcast_replication::{Frames, GridSnapshot, SectionId};
use nowcast_world::PlayerId;

use crate::room::replicated_state::Descriptions;

/// Places for pictures: one that is read, one that is written, and two for readers that are held up.
const PLACES: usize = 4;

/// A room after a step: immutable, so that any number of drivers work with it while the room goes on.
#[derive(Default)]
pub(crate) struct RoomSnapshot {
    /// The room's count of steps.
    pub(crate) tick: u64,
    pub(crate) grid_snapshot: Arc<GridSnapshot>,
    pub(crate) frames: Arc<Frames>,
    pub(crate) descriptions: Arc<Descriptions>,
    /// The players on sessions, in order.
    pub(crate) players: Vec<SeenPlayer>,
    /// Entities farther away than this, in metres, are sent less often.
    pub(crate) far_metres: f32,
}

/// A player, as it sees and acts in a step.
#[derive(Clone, Copy)]
pub(crate) struct SeenPlayer {
    pub(crate) id: PlayerId,
    /// Where its avatar is, in metres.
    pub(crate) eye: Option<[f32; 3]>,
    /// The number of its controls that are in force.
    pub(crate) controls: u16,
}

impl RoomSnapshot {
    /// A player, as the picture has it; one without eyes or controls, if it does not.
    pub(super) fn player(&self, id: PlayerId) -> SeenPlayer {
        match self.players.binary_search_by_key(&id, |player| player.id) {
            Ok(at) => self.players[at],
            Err(_) => SeenPlayer { id, eye: None, controls: 0 },
        }
    }

    /// How many entities are in these sections.
    pub(super) fn count_members(&self, sections: &[SectionId]) -> u64 {
        sections.iter().map(|section| self.grid_snapshot.members(*section).len() as u64).sum()
    }
}

/// Where the newest picture of a room is found. The room, which alone puts pictures there, never waits for a reader.
#[derive(Default)]
pub(crate) struct LatestSnapshot {
    places: [RwLock<Option<Arc<RoomSnapshot>>>; PLACES],
    /// The place of the newest picture, which nobody writes to.
    newest: AtomicUsize,
}

impl LatestSnapshot {
    /// Puts a picture in place of the one before. Where a reader is held up in the very moment of taking a picture, its place is
    /// passed over. If that is so with all of them, the picture is left out, and the next one says it all.
    pub(crate) fn put(&self, picture: RoomSnapshot) {
        let picture = Arc::new(picture);
        let newest = self.newest.load(Ordering::Relaxed);
        let mut is_put = false;
        for at in (0..PLACES).filter(|at| *at != newest) {
            let Ok(mut place) = self.places[at].try_write() else { continue };
            *place = (!is_put).then(|| Arc::clone(&picture));
            if place.is_some() {
                is_put = true;
                self.newest.store(at, Ordering::Release);
            }
        }
        // The place of the snapshot before is free once nobody reads it.
        if is_put && let Ok(mut before) = self.places[newest].try_write() {
            *before = None;
        }
    }

    /// The newest picture; `None` before there is one.
    pub(super) fn newest(&self) -> Option<Arc<RoomSnapshot>> {
        for _ in 0..PLACES {
            let newest = self.newest.load(Ordering::Acquire);
            // A room that panicked while it wrote has nothing more to say; its players are told to leave.
            let picture = self.places[newest].read().ok()?.clone();
            // It is gone when the room went on between the two: then there is a newer one.
            if picture.is_some() || newest == self.newest.load(Ordering::Acquire) {
                return picture;
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

    fn picture(tick: u64) -> RoomSnapshot {
        RoomSnapshot { tick, ..RoomSnapshot::default() }
    }

    #[test]
    fn readers_that_are_held_up_in_their_places_hold_up_nobody() {
        let latest_snapshot = LatestSnapshot::default();
        assert!(latest_snapshot.newest().is_none());
        let mut held = Vec::new();
        for tick in 1..10 {
            latest_snapshot.put(picture(tick));
            if held.len() < PLACES - 2 {
                let at = latest_snapshot.newest.load(Ordering::Acquire);
                held.push(latest_snapshot.places[at].read().unwrap());
            }
            assert_eq!(latest_snapshot.newest().unwrap().tick, tick);
        }
        // The last free place is taken as well: what is there remains, and nobody waits.
        let at = latest_snapshot.newest.load(Ordering::Acquire);
        let other =
            (0..PLACES).find(|place| latest_snapshot.places[*place].try_write().is_ok() && *place != at);
        held.push(latest_snapshot.places[other.unwrap()].read().unwrap());
        latest_snapshot.put(picture(10));
        assert_eq!(latest_snapshot.newest().unwrap().tick, 9);
        held.clear();
        latest_snapshot.put(picture(11));
        assert_eq!(latest_snapshot.newest().unwrap().tick, 11);
    }

    #[test]
    fn only_the_newest_picture_is_kept() {
        let latest_snapshot = LatestSnapshot::default();
        latest_snapshot.put(picture(1));
        let first = latest_snapshot.newest().unwrap();
        latest_snapshot.put(picture(2));
        assert_eq!(Arc::strong_count(&first), 1);
    }

    #[test]
    fn readers_at_the_same_time_see_pictures_in_their_order() {
        let latest_snapshot = LatestSnapshot::default();
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    let mut last = 0;
                    while !is_over.load(Ordering::Relaxed) {
                        let Some(picture) = latest_snapshot.newest() else { continue };
                        assert!(picture.tick >= last, "{} after {last}", picture.tick);
                        last = picture.tick;
                    }
                });
            }
            (1..20_000).for_each(|tick| latest_snapshot.put(picture(tick)));
            is_over.store(true, Ordering::Relaxed);
        });
    }
}
