//! The world of a room that comes from another server of a cluster. This server restores it while the previous owner still
//! steps it, and follows its journal. When the room is given to this server, only the last steps are missing.

use nowcast_store::{Moment, SavedWorld, WorldName};
use tracing::debug;

use super::resumed::{Resumed, resume};
use super::step_watch::{OPENING_FACTOR, StepWatch};
use crate::persistence::HostState;
use crate::rooms::Rooms;
use crate::worlds::{CurrentRules, Offered};

/// Maximum number of times that the journal is read before the owner is asked to stop.
const ROUNDS_MAX: u32 = 4;

/// If the journal has at most this many new steps, the owner can stop.
const STEPS_LEFT_MAX: u64 = 6;

/// A world that was restored before this server owns it.
pub(super) struct Followed {
    /// The stored world as far as it was replayed.
    saved: SavedWorld,
    resumed: Resumed,
}

/// The rules took too long, and were stopped. The room ends.
pub(super) struct Stopped;

/// Restores a world that another server steps, and replays it as far as it is stored. Continues from an earlier call. Returns
/// `None` if that fails: the room then loads its world when it begins, and reports the reason.
pub(super) fn follow(
    room: &str,
    mut followed: Option<Followed>,
    offered: &Offered,
    rooms: &Rooms,
    watch: &StepWatch,
) -> Result<Option<Followed>, Stopped> {
    let Some(store) = rooms.persistence.store() else { return Ok(None) };
    let name = WorldName::new(room).expect("a room's name is short and can be printed");
    for _ in 0..ROUNDS_MAX {
        let saved = match store.load(&name, Moment::Last) {
            Ok(Some(saved)) => saved,
            Ok(None) => return Ok(None),
            Err(error) => {
                debug!(room, %error, "the world cannot be followed");
                return Ok(None);
            }
        };
        let tick = followed.as_ref().map_or(saved.snapshot.tick, |followed| followed.saved.tick);
        let steps = saved.tick.saturating_sub(tick);
        let is_first = followed.is_none();
        watch.enter(OPENING_FACTOR);
        let resumed = followed.and_then(|followed| followed.finish(&saved, offered));
        let resumed = resumed.or_else(|| {
            let state = HostState::from_bytes(&saved.snapshot.host).ok()?;
            resume(&saved, &state, offered, rooms).ok()?
        });
        if !watch.leave(rooms.config.step) {
            return Err(Stopped);
        }
        // A world with differences is loaded again when the room begins.
        let Some(resumed) = resumed.filter(|resumed| resumed.is_exact) else { return Ok(None) };
        debug!(room, tick = saved.tick, steps, "the world is followed");
        followed = Some(Followed { saved, resumed });
        if !is_first && steps <= STEPS_LEFT_MAX {
            break;
        }
    }
    Ok(followed)
}

impl Followed {
    /// Replays the changes that were stored since. Returns `None` if the stored world does not continue this one. Then the
    /// world must be loaded from its snapshot.
    pub(super) fn finish(self, saved: &SavedWorld, offered: &Offered) -> Option<Resumed> {
        let Self { saved: before, mut resumed } = self;
        let known = before.batches.len();
        let continues = before.snapshot == saved.snapshot
            && saved.batches.get(..known).is_some_and(|batches| batches == before.batches)
            && saved.damage.is_empty();
        if !continues {
            return None;
        }
        let entries = saved.batches[known..].iter().flat_map(|batch| batch.entries.iter().cloned());
        if let Err(error) = resumed.engine.replay_on(entries, saved.tick) {
            debug!(room = %saved.name, %error, "the followed world is dropped");
            return None;
        }
        // The folder of the rules may have changed in the meantime.
        let (rules, seen) = offered.rules();
        if let (CurrentRules::Script(newest), Some(sources)) = (rules, resumed.engine.sources()) {
            resumed.newer = (newest != *sources).then_some(newest);
        }
        resumed.seen = seen;
        Some(resumed)
    }
}
