//! Records the movement of a world once for all viewers: the groups of entities and their frames.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use nowcast_wire::delta::Frame;

use crate::GROUPS_MAX;
use crate::flight::Tracker;
use crate::frames::{Frames, FramesDelta, Kept};
use crate::motion::Flight;
use crate::row::{Quantization, Row};
use crate::section::SectionId;
use crate::snapshot_pool::SnapshotPool;
use crate::transform::Transform;
use crate::update_rates::RatesId;

/// Steps for which an empty group stays in its section, so that viewers of the section learn that the group is empty.
const EMPTY_STEPS_MAX: u32 = 600;

/// A moving entity, as input of [`History::publish`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Moving {
    /// The entity's id.
    pub id: u32,
    /// The position and rotation of the entity.
    pub transform: Transform,
    /// The section in which the entity is replicated.
    pub section: SectionId,
    /// The extent of the entity from its centre, in metres.
    pub size: f32,
    /// The quantization of the entity's row.
    pub quantization: Quantization,
    /// The update rates of the entity.
    pub rates: RatesId,
    /// The motion of a body that moves by itself; `None` for every other entity.
    pub flight: Option<Flight>,
}

impl From<(u32, Transform)> for Moving {
    /// Makes a point-like entity in the default section, with the finest quantization and the default rates.
    fn from((id, transform): (u32, Transform)) -> Self {
        Self {
            id,
            transform,
            section: SectionId::default(),
            size: 0.0,
            quantization: Quantization::default(),
            rates: RatesId::default(),
            flight: None,
        }
    }
}

/// Records the transforms of all moving entities in groups. Each world has one history; viewers read its [`Frames`].
///
/// All entities of a group are in the same section of an [`crate::InterestGrid`] and have the same quantization and
/// update rates. An entity that moves to another section moves to another group.
#[derive(Debug, Default)]
pub struct History {
    tick: u32,
    /// Steps since the previous call of [`History::publish`].
    steps: u32,
    /// Ordered by id.
    entities: Vec<Known>,
    /// The motion of bodies that move by themselves.
    trackers: BTreeMap<u32, Tracker>,
    groups: Vec<Group>,
    /// The groups in each section.
    sections: BTreeMap<SectionId, Vec<u16>>,
    /// Sections whose groups differ from the newest published frames.
    regrouped: BTreeSet<SectionId>,
    /// Groups without a section.
    free: BTreeSet<u16>,
    /// Empty groups with the tick at which they became empty, oldest first.
    emptied: VecDeque<(u32, u16)>,
    /// Groups whose newest frame is outdated.
    changed: Vec<u16>,
    /// Entities without a group, because all groups are full.
    left_out: u64,
    snapshots: SnapshotPool<Frames>,
}

/// The last published state of an entity.
#[derive(Clone, Copy, Debug)]
struct Known {
    id: u32,
    group: u16,
    section: SectionId,
    transform: Transform,
    row: Row,
    size: f32,
    quantization: Quantization,
    rates: RatesId,
}

/// The entities of a group.
#[derive(Debug, Default)]
struct Group {
    section: SectionId,
    quantization: Quantization,
    rates: RatesId,
    members: usize,
    emptied_tick: u32,
    /// The frame under construction, if anything changed.
    next: Option<Next>,
}

#[derive(Debug, Default)]
struct Next {
    frame: Frame,
    moved: f32,
    size: f32,
}

impl Known {
    /// Whether nothing about the entity changed. Most entities rest, and a resting transform is the same to the last bit.
    fn rests_at(&self, moving: &Moving) -> bool {
        let Moving { transform, section, size, quantization, rates, flight, .. } = *moving;
        flight.is_none()
            && self.section == section
            && self.quantization == quantization
            && self.rates == rates
            && self.transform == transform
            && self.size == size
    }
}

impl History {
    /// Records all transforms at step `tick` of the world, modulo 2^32. `moving` is ordered by id. Call it at most once
    /// for each step. Steps in which no viewer has a round may be left out, unless [`History::has_flights`]. Returns the
    /// immutable frames that viewers read.
    pub fn publish<M: Into<Moving>>(&mut self, tick: u32, moving: impl Iterator<Item = M>) -> &Arc<Frames> {
        let tick_before = std::mem::replace(&mut self.tick, tick);
        self.steps = tick.wrapping_sub(tick_before).max(1);
        let mut moving = moving.map(Into::into).peekable();
        let mut entities = std::mem::take(&mut self.entities);
        // In most steps no entity comes or goes. Then each known entity is updated in its place.
        let mut stayed = 0;
        while let Some(known) = entities.get_mut(stayed)
            && let Some(moving) = moving.next_if(|moving| moving.id == known.id)
        {
            if !known.rests_at(&moving) {
                match self.place(Some(*known), &moving) {
                    Some(now) => *known = now,
                    None => {
                        entities.remove(stayed);
                        continue;
                    }
                }
            }
            stayed += 1;
        }
        let mut before = entities.split_off(stayed).into_iter().peekable();
        for moving in moving {
            while let Some(gone) = before.next_if(|known| known.id < moving.id) {
                self.trackers.remove(&gone.id);
                self.leave(gone.group);
            }
            let known = before.next_if(|known| known.id == moving.id);
            entities.extend(self.place(known, &moving));
        }
        for gone in before {
            self.trackers.remove(&gone.id);
            self.leave(gone.group);
        }
        self.entities = entities;
        let frames = self.turn(tick_before);
        self.release();
        let groups_of = |section| (section, self.sections.get(&section).cloned().unwrap_or_default());
        let sections = std::mem::take(&mut self.regrouped).into_iter().map(groups_of).collect();
        self.snapshots.publish(FramesDelta { tick, frames, sections })
    }

    /// Returns the current state of an entity; `None` if no group has a free place.
    fn place(&mut self, known: Option<Known>, moving: &Moving) -> Option<Known> {
        let Moving { id, transform, section, size, quantization, rates, flight } = *moving;
        let steps = self.steps as f32;
        let mut has_new_row = false;
        let mut tracker = flight.map(|flight| match self.trackers.remove(&id) {
            Some(mut tracker) => {
                has_new_row = tracker.follow(self.tick, &transform, &flight, quantization);
                tracker
            }
            None => Tracker::new(self.tick, &transform, &flight, quantization),
        });
        let moves_itself = tracker.as_ref().is_some_and(|tracker| tracker.is_steady());
        let quantization = if moves_itself { quantization.motion() } else { quantization };
        let row_of = |tracker: &Option<Tracker>| {
            let shown = tracker.as_ref().filter(|_| moves_itself).map(|tracker| tracker.transform());
            quantization.row_of(&shown.unwrap_or(transform))
        };
        if let Some(known) = known {
            if known.rests_at(moving) {
                return Some(known);
            }
            if (known.section, known.quantization, known.rates) == (section, quantization, rates) {
                let row = row_of(&tracker);
                if if moves_itself { has_new_row } else { row != known.row } {
                    let next = self.change(known.group);
                    next.moved = next.moved.max(distance(&known.transform, &transform) / steps);
                }
                self.keep_tracker(id, tracker);
                return Some(Known { row, transform, size, ..known });
            }
            self.leave(known.group);
        }
        let Some(group) = self.group_with_room(section, quantization, rates) else {
            self.left_out += 1;
            return None;
        };
        self.groups[usize::from(group)].members += 1;
        self.change(group);
        if let Some((tracker, flight)) = tracker.as_mut().zip(flight.as_ref()).filter(|_| moves_itself) {
            // The row begins at the tick of the group's frame.
            tracker.renew(&transform, flight, quantization);
        }
        let row = row_of(&tracker);
        self.keep_tracker(id, tracker);
        Some(Known { id, group, section, row, transform, size, quantization, rates })
    }

    fn keep_tracker(&mut self, id: u32, tracker: Option<Tracker>) {
        match tracker {
            Some(tracker) => self.trackers.insert(id, tracker),
            None => self.trackers.remove(&id),
        };
    }

    fn leave(&mut self, group: u16) {
        self.change(group);
        let tick = self.tick;
        let at = &mut self.groups[usize::from(group)];
        at.members -= 1;
        if at.members == 0 {
            at.emptied_tick = tick;
            self.emptied.push_back((tick, group));
        }
    }

    /// Marks the group for a new frame.
    fn change(&mut self, group: u16) -> &mut Next {
        let Self { groups, changed, tick, .. } = self;
        let Group { members, next, quantization, .. } = &mut groups[usize::from(group)];
        next.get_or_insert_with(|| {
            changed.push(group);
            Next { frame: Frame::with_capacity(*tick, *members, quantization.width()), ..Next::default() }
        })
    }

    /// Builds the frames of all changed groups. Their previous frames were valid until the step `tick_before`.
    fn turn(&mut self, tick_before: u32) -> Vec<(u16, Arc<Kept>)> {
        for known in &self.entities {
            if let Some(next) = &mut self.groups[usize::from(known.group)].next {
                match self.trackers.get(&known.id).filter(|_| known.quantization.is_motion()) {
                    Some(tracker) => next.frame.push(known.id, tracker.row()),
                    None => next.frame.push(known.id, &known.row),
                }
                next.size = next.size.max(known.size);
            }
        }
        let mut frames = Vec::with_capacity(self.changed.len());
        for group in self.changed.drain(..) {
            let Group { next, quantization, rates, .. } = &mut self.groups[usize::from(group)];
            let Some(Next { frame, moved, size }) = next.take() else { continue };
            let (quantization, rates) = (*quantization, *rates);
            if let Some(newest) = self.snapshots.newest().group(group).and_then(|group| group.newest()) {
                let is_alike = newest.quantization == quantization && newest.frame.ids() == frame.ids();
                // A motion row with the same numbers begins at another step.
                let is_same = is_alike && newest.frame.values() == frame.values();
                if is_same && (frame.is_empty() || !quantization.is_motion()) {
                    continue;
                }
                // Only the newest frame is encoded, so the encodings of the previous frame are dropped.
                newest.retire();
            }
            frames.push((group, Arc::new(Kept::new(frame, (quantization, rates), tick_before, moved, size))));
        }
        frames
    }

    /// Returns the first group of the section, quantization and rates that has room, so that groups with free slots are
    /// filled first.
    fn group_with_room(
        &mut self,
        section: SectionId,
        quantization: Quantization,
        rates: RatesId,
    ) -> Option<u16> {
        let groups = self.sections.get(&section).map_or(&[][..], Vec::as_slice);
        let has_room = |group: &u16| {
            let group = &self.groups[usize::from(*group)];
            group.members < quantization.members_max()
                && (group.quantization, group.rates) == (quantization, rates)
        };
        if let Some(group) = groups.iter().copied().find(has_room) {
            return Some(group);
        }
        if self.free.is_empty() && self.groups.len() == GROUPS_MAX {
            self.release_oldest();
        }
        let group = match self.free.pop_first() {
            Some(group) => group,
            None if self.groups.len() == GROUPS_MAX => return None,
            None => {
                self.groups.push(Group::default());
                (self.groups.len() - 1) as u16
            }
        };
        let new = &mut self.groups[usize::from(group)];
        (new.section, new.quantization, new.rates) = (section, quantization, rates);
        self.sections.entry(section).or_default().push(group);
        self.regrouped.insert(section);
        Some(group)
    }

    /// Removes groups that have been empty for a long time from their sections.
    fn release(&mut self) {
        while let Some((since, _)) = self.emptied.front()
            && self.tick.wrapping_sub(*since) >= EMPTY_STEPS_MAX
        {
            self.release_oldest();
        }
    }

    fn release_oldest(&mut self) {
        let Some((since, group)) = self.emptied.pop_front() else { return };
        let Group { members, emptied_tick, section, .. } = self.groups[usize::from(group)];
        // The group has members again, or was emptied again since. Then a later entry of `emptied` stands for it.
        if members > 0 || emptied_tick != since || self.free.contains(&group) {
            return;
        }
        if let Some(groups) = self.sections.get_mut(&section) {
            groups.retain(|other| *other != group);
            if groups.is_empty() {
                self.sections.remove(&section);
            }
        }
        self.free.insert(group);
        self.regrouped.insert(section);
    }

    /// Whether some bodies move by themselves. Their motion is followed from step to step.
    pub fn has_flights(&self) -> bool {
        !self.trackers.is_empty()
    }

    /// Returns the frames that [`publish`](Self::publish) returned last.
    pub fn frames(&self) -> &Arc<Frames> {
        self.snapshots.newest()
    }

    /// Entities without a group, summed over all calls of [`History::publish`].
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Returns the transform of an entity as viewers reconstruct it.
    pub fn transform(&self, id: u32) -> Option<Transform> {
        let at = self.entities.binary_search_by_key(&id, |known| known.id).ok()?;
        let Known { row, quantization, .. } = &self.entities[at];
        let tracker = self.trackers.get(&id).filter(|_| quantization.is_motion());
        Some(tracker.map_or_else(|| quantization.transform_of(row), |tracker| tracker.transform()))
    }

    /// Returns all rows as viewers reconstruct them, ordered by id.
    pub fn rows(&self) -> impl Iterator<Item = (u32, &Row)> {
        self.entities.iter().map(|known| (known.id, &known.row))
    }
}

/// The longest movement along one axis, in metres.
fn distance(from: &Transform, to: &Transform) -> f32 {
    (0..3).map(|axis| (from.position[axis] - to.position[axis]).abs()).fold(0.0, f32::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FRAMES_KEPT;

    fn at(x: f32) -> Transform {
        Transform { position: [x, 0.0, 0.0], rotation: [0.0, 0.0, 0.0, 1.0] }
    }

    #[test]
    fn resting_groups_keep_one_frame_and_moving_groups_the_maximum() {
        let mut history = History::default();
        for tick in 0..200 {
            history.publish(tick, [(1, at(0.0))].into_iter());
        }
        assert_eq!(history.frames().group(0).unwrap().kept_count(), 1);
        for tick in 200..400 {
            history.publish(tick, [(1, at(tick as f32))].into_iter());
        }
        assert_eq!(history.frames().group(0).unwrap().kept_count(), FRAMES_KEPT);
        assert_eq!(history.frames().group(0).unwrap().valid_until(398), Some(398));
        assert_eq!(history.frames().group(0).unwrap().kept(399).unwrap().frame.values()[0], 399 * 1_024);
        assert!(
            history.frames().group(0).unwrap().kept(335).is_none()
                && history.frames().group(0).unwrap().kept(336).is_some()
        );
    }

    #[test]
    fn new_entities_reuse_free_slots() {
        let mut history = History::default();
        let people = |from: u32, to: u32| (from..to).map(|id| (id, at(id as f32)));
        history.publish(0, people(1, 50));
        assert_eq!(history.groups.len(), 3);
        history.publish(1, people(30, 50));
        history.publish(2, people(30, 60));
        assert_eq!(history.groups.len(), 3);
        assert_eq!(history.rows().count(), 30);
        assert_eq!(history.groups[0].members, 10);
    }

    #[test]
    fn steps_without_rounds_may_be_left_out() {
        let mut history = History::default();
        for tick in (300..400).step_by(3) {
            history.publish(tick, [(1, at(tick as f32 * 0.125))].into_iter());
        }
        let newest = history.frames().group(0).unwrap().summary().unwrap();
        assert_eq!((newest.tick, newest.moved), (399, 0.125), "metres in a step");
        assert_eq!(history.frames().group(0).unwrap().valid_until(396), Some(396));
    }

    #[test]
    fn ticks_may_wrap() {
        let mut history = History::default();
        for step in 0..10u32 {
            history.publish((u32::MAX - 4).wrapping_add(step), [(1, at(step as f32))].into_iter());
        }
        for step in 0..10u32 {
            let kept = history.frames().group(0).unwrap().kept((u32::MAX - 4).wrapping_add(step)).unwrap();
            assert_eq!(kept.frame.values()[0], step as i32 * 1_024);
        }
    }
}
