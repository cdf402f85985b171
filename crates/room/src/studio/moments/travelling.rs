//! One moment: a world at an earlier step, and the recorded commands after it.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use nowcast_store::{Moment, Stretch, WorldName};
use nowcast_world::World;
use nowcast_world::journal::{Entry, Record};

use super::SavedMoment;
use crate::recorded_world::RecordedWorld;
use crate::room::past::{Loaded, load};
use crate::rooms::Rooms;
use crate::studio::StudioError;
use crate::worlds::Offered;

/// Maximum steps in one request: a minute.
pub const STEPS_MAX: u64 = 3_600;

/// The duration of the history that is loaded after a moment.
const NEXT: Duration = Duration::from_secs(60);

/// A world at an earlier step, on the thread of its moment.
pub(super) struct Travel {
    pub(super) rooms: Arc<Rooms>,
    pub(super) offered: Arc<Offered>,
    pub(super) name: WorldName,
    world: RecordedWorld,
    /// The recorded changes after the world's step.
    next: VecDeque<Entry>,
    /// The last step of `next`.
    through: u64,
    is_exact: bool,
}

impl Travel {
    /// Restores a room at a moment. Waits for the disk.
    pub(super) fn begin(rooms: Arc<Rooms>, name: WorldName, at: Moment) -> Result<Self, StudioError> {
        let offered = Arc::clone(rooms.catalogue.of_room(name.as_str()));
        let loaded = load_at(&rooms, &offered, &name, at, NEXT)?;
        let (world, is_exact, stretch) = loaded;
        let Stretch { next, through_tick, .. } = stretch;
        Ok(Self { rooms, offered, name, world, next: next.into(), through: through_tick, is_exact })
    }

    pub(super) fn world(&self) -> &World {
        self.world.world()
    }

    pub(super) fn room(&self) -> &str {
        self.name.as_str()
    }

    pub(super) fn world_name(&self) -> &str {
        &self.offered.name
    }

    pub(super) fn is_exact(&self) -> bool {
        self.is_exact
    }

    pub(super) fn through(&self) -> u64 {
        self.through
    }

    /// Steps forward with the recorded commands, or back. Stops at the end of the history.
    pub(super) fn step(&mut self, steps: i64) -> Result<(), StudioError> {
        let tick = self.world().tick();
        let wanted = tick.saturating_add_signed(steps);
        if wanted < tick || wanted > self.through {
            return self.go_to(wanted);
        }
        while self.world().tick() < wanted {
            self.step_on();
        }
        while self.world.poll_event().is_some() {}
        Ok(())
    }

    /// Loads another moment, or the nearest one that is stored.
    fn go_to(&mut self, tick: u64) -> Result<(), StudioError> {
        let loaded = load_at(&self.rooms, &self.offered, &self.name, Moment::Tick(tick), NEXT)?;
        let (world, is_exact, Stretch { next, through_tick, .. }) = loaded;
        (self.world, self.is_exact) = (world, is_exact);
        (self.next, self.through) = (next.into(), through_tick);
        Ok(())
    }

    /// Applies the recorded commands of the next step, and steps the world.
    fn step_on(&mut self) {
        let tick = self.world().tick();
        while let Some(entry) = self.next.pop_front_if(|entry| entry.tick <= tick) {
            let is_hash = matches!(entry.record, Record::Hash(_));
            if (self.is_exact || !is_hash) && self.world.take_entries([entry]).is_err() {
                self.is_exact = false;
            }
        }
        self.world.step();
        while self.world.poll_report().is_some() {}
        while self.world.poll_line().is_some() {}
    }

    /// Saves the moment. The snapshot is taken of another copy, because a snapshot changes the course of its world.
    pub(super) fn save(&mut self) -> Result<SavedMoment, StudioError> {
        let tick = self.world().tick();
        let loaded = load_at(&self.rooms, &self.offered, &self.name, Moment::Tick(tick), Duration::ZERO)?;
        let (mut world, ..) = loaded;
        Ok(SavedMoment {
            world: self.offered.name.clone(),
            room: self.name.to_string(),
            tick: world.world().tick(),
            snapshot: world.snapshot(),
        })
    }
}

/// Restores a room at a moment. Returns the world, whether it equals the recorded world, and its history.
pub(super) fn load_at(
    rooms: &Rooms,
    offered: &Offered,
    name: &WorldName,
    at: Moment,
    next: Duration,
) -> Result<(RecordedWorld, bool, Stretch), StudioError> {
    let Loaded { engine, is_exact, stretch, .. } =
        load(name, at, next, offered, rooms).map_err(|refusal| {
            let text = refusal.to_string();
            match refusal {
                crate::refusal::Refusal::PastNotLoaded { .. } => StudioError::Unreadable(text),
                _ => StudioError::NotKept(text),
            }
        })?;
    Ok((RecordedWorld::new(engine, None), is_exact, stretch))
}
