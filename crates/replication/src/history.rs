//! What there is to tell of a world's movement, once for all viewers.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex};

use nowcast_wire::delta::{Codec, Frame, Linear, Mode};

use crate::atlas::SectionId;
use crate::row::{Row, WIDTH, layout, row_of};
use crate::transform::Transform;
use crate::{FRAMES_KEPT, GROUP_ENTITIES_MAX, GROUPS_MAX};

/// Encodings of one frame that are shared. Viewers with very different losses beyond that encode for themselves.
const SHARED_MAX: usize = 32;

/// Steps for which an emptied group stays with its section, so that whoever sees the section hears that it is empty.
const EMPTY_STEPS_MAX: u32 = 600;

/// Something that moves, as a history is told of it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Moving {
    /// Which.
    pub id: u32,
    /// Where it is.
    pub transform: Transform,
    /// With what it is told.
    pub section: SectionId,
    /// How far it reaches from its centre, in metres.
    pub size: f32,
}

impl From<(u32, Transform)> for Moving {
    /// Something of no size, with everything else.
    fn from((id, transform): (u32, Transform)) -> Self {
        Self { id, transform, section: SectionId::default(), size: 0.0 }
    }
}

/// The recent frames of everything that moves, in groups. One for a world; viewers read it.
///
/// All of a group is in one section of an [`crate::Atlas`]. An entity that gets into another section gets into another group.
#[derive(Debug, Default)]
pub struct History {
    tick: u32,
    /// Ordered by id.
    entities: Vec<Known>,
    groups: Vec<Group>,
    /// The groups of each section.
    sections: BTreeMap<SectionId, Vec<u16>>,
    /// Groups of no section.
    free: BTreeSet<u16>,
    /// Groups that became empty, and when, the oldest first.
    emptied: VecDeque<(u32, u16)>,
    /// Groups whose newest frame is not what they are now.
    changed: Vec<u16>,
    /// Grows whenever a section has other groups.
    version: u64,
    /// Entities that found no place, because all groups are full.
    left_out: u64,
}

/// An entity as it was last published.
#[derive(Debug)]
struct Known {
    id: u32,
    group: u16,
    section: SectionId,
    transform: Transform,
    row: Row,
    size: f32,
}

/// The frames of one group, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Group {
    section: SectionId,
    members: usize,
    emptied_tick: u32,
    kept: VecDeque<Kept>,
    /// The newest frame without an entity, if it is kept.
    empty_tick: Option<u32>,
    /// The frame that is being put together, if anything changed.
    next: Option<Next>,
}

#[derive(Debug, Default)]
struct Next {
    frame: Frame,
    steps_moved: u32,
    size: f32,
}

/// A frame, and for how long it stayed the same.
#[derive(Debug)]
pub(crate) struct Kept {
    pub(crate) frame: Frame,
    /// The last tick at which the group was still like this; of the newest frame, the tick at which it became so.
    pub(crate) until: u32,
    /// Two opposite corners of the smallest box around its entities; `None` without any.
    pub(crate) bounds: Option<Bounds>,
    /// How far the fastest of its entities got since the step before, in steps of a row.
    pub(crate) steps_moved: u32,
    /// How far the largest of its entities reaches from its centre, in metres.
    pub(crate) size: f32,
    /// Its encodings, by the ticks of the frames it is encoded against.
    shared: Mutex<Vec<(Past, Arc<[u8]>)>>,
}

/// The least and the greatest coordinates, in steps.
pub(crate) type Bounds = [[i32; 3]; 2];

/// The ticks of the baselines that a frame is encoded against, newest first; `None` beyond the last.
pub(crate) type Past = [Option<u32>; 3];

impl History {
    /// Records where everything is at step `tick` of the world, modulo 2^32; `moving` is ordered by id. Call it at
    /// most once for a step.
    pub fn publish<M: Into<Moving>>(&mut self, tick: u32, moving: impl Iterator<Item = M>) {
        let tick_before = std::mem::replace(&mut self.tick, tick);
        let mut before = std::mem::take(&mut self.entities).into_iter().peekable();
        let mut entities = Vec::with_capacity(before.len());
        for moving in moving.map(Into::into) {
            while let Some(gone) = before.next_if(|known| known.id < moving.id) {
                self.leave(gone.group);
            }
            let known = before.next_if(|known| known.id == moving.id);
            entities.extend(self.place(known, &moving));
        }
        before.for_each(|gone| self.leave(gone.group));
        self.entities = entities;
        self.turn(tick_before);
        self.release();
    }

    /// An entity as it is now; `None` if there is no group for it.
    fn place(&mut self, known: Option<Known>, moving: &Moving) -> Option<Known> {
        let Moving { id, transform, section, size } = *moving;
        if let Some(known) = known {
            // Most things rest, and a resting transform is the same to the last bit.
            if known.section == section && known.transform == transform && known.size == size {
                return Some(known);
            }
            if known.section == section {
                let row = row_of(&transform);
                if row != known.row {
                    let next = self.change(known.group);
                    next.steps_moved = next.steps_moved.max(steps_between(&known.row, &row));
                }
                return Some(Known { row, transform, size, ..known });
            }
            self.leave(known.group);
        }
        let Some(group) = self.group_with_room(section) else {
            self.left_out += 1;
            return None;
        };
        self.groups[usize::from(group)].members += 1;
        self.change(group);
        Some(Known { id, group, section, row: row_of(&transform), transform, size })
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

    /// A group is to have another frame.
    fn change(&mut self, group: u16) -> &mut Next {
        let Self { groups, changed, tick, .. } = self;
        groups[usize::from(group)].next.get_or_insert_with(|| {
            changed.push(group);
            Next { frame: Frame::new(*tick), ..Next::default() }
        })
    }

    /// Keeps the frames of the groups that changed.
    fn turn(&mut self, tick_before: u32) {
        for known in &self.entities {
            if let Some(next) = &mut self.groups[usize::from(known.group)].next {
                next.frame.push(known.id, &known.row);
                next.size = next.size.max(known.size);
            }
        }
        for group in self.changed.drain(..) {
            self.groups[usize::from(group)].turn(tick_before);
        }
    }

    /// The first group of the section with room, so that groups that emptied are filled again.
    fn group_with_room(&mut self, section: SectionId) -> Option<u16> {
        let groups = self.sections.get(&section).map_or(&[][..], Vec::as_slice);
        let has_room = |group: &u16| self.groups[usize::from(*group)].members < GROUP_ENTITIES_MAX;
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
        self.groups[usize::from(group)].section = section;
        self.sections.entry(section).or_default().push(group);
        self.version += 1;
        Some(group)
    }

    /// Takes groups from their sections that have been empty for long.
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
        self.version += 1;
    }

    /// A number that is another one whenever a section has other groups.
    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    /// The groups of a section.
    pub(crate) fn groups_of(&self, section: SectionId) -> &[u16] {
        self.sections.get(&section).map_or(&[], Vec::as_slice)
    }

    /// The groups of all sections.
    pub(crate) fn all_groups(&self) -> impl Iterator<Item = u16> {
        self.sections.values().flatten().copied()
    }

    /// The step that was published last, modulo 2^32.
    pub fn tick(&self) -> u32 {
        self.tick
    }

    /// Entities for which there was no group any more, each time they were published.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Everything as viewers are to know it, ordered by id.
    pub fn rows(&self) -> impl Iterator<Item = (u32, &Row)> {
        self.entities.iter().map(|known| (known.id, &known.row))
    }

    pub(crate) fn group(&self, group: u16) -> Option<&Group> {
        self.groups.get(usize::from(group))
    }

    /// Where an entity was last.
    pub(crate) fn position(&self, id: u32) -> Option<[i32; 3]> {
        let at = self.entities.binary_search_by_key(&id, |known| known.id).ok()?;
        let [x, y, z, ..] = self.entities[at].row;
        Some([x, y, z])
    }
}

impl Group {
    /// Keeps the new frame if anything differs from what was until the step `tick_before`.
    fn turn(&mut self, tick_before: u32) {
        let Some(Next { frame, steps_moved, size }) = self.next.take() else { return };
        if let Some(newest) = self.kept.back_mut() {
            if newest.frame.ids() == frame.ids() && newest.frame.values() == frame.values() {
                return;
            }
            newest.until = tick_before;
            // What is not newest any more is not encoded any more.
            newest.shared = Mutex::default();
        }
        if self.kept.len() == FRAMES_KEPT {
            let oldest = self.kept.pop_front().map(|kept| kept.frame.tick());
            self.empty_tick = self.empty_tick.filter(|empty| Some(*empty) != oldest);
        }
        if frame.ids().is_empty() {
            self.empty_tick = Some(frame.tick());
        }
        let (bounds, until, shared) = (bounds(&frame), frame.tick(), Mutex::default());
        self.kept.push_back(Kept { frame, until, bounds, steps_moved, size, shared });
    }

    /// The group as it is now. It was published at least once.
    pub(crate) fn newest(&self) -> Option<&Kept> {
        self.kept.back()
    }

    /// The frame of a tick, if it is still kept.
    pub(crate) fn kept(&self, tick: u32) -> Option<&Kept> {
        // Ticks wrap, so the order is that of their distance from the newest.
        let newest = self.kept.back()?.frame.tick();
        let age = newest.wrapping_sub(tick);
        let at = self.kept.partition_point(|kept| newest.wrapping_sub(kept.frame.tick()) > age);
        self.kept.get(at).filter(|kept| kept.frame.tick() == tick)
    }

    /// Whether the group was never empty since its frame of a tick: a client may have forgotten what is older than that.
    pub(crate) fn is_unbroken_since(&self, tick: u32) -> bool {
        self.empty_tick.is_none_or(|empty| tick.wrapping_sub(empty) as i32 > 0)
    }

    /// The newest frame encoded against the baselines of `past`, once for all viewers that have the same.
    pub(crate) fn delta(&self, past: Past, encoder: &mut Encoder) -> Option<Arc<[u8]>> {
        let newest = self.kept.back()?;
        let find = |made: &[(Past, Arc<[u8]>)]| {
            made.iter().find(|(of, _)| *of == past).map(|(_, bytes)| Arc::clone(bytes))
        };
        let shared = || newest.shared.lock().expect("nobody panics while holding it");
        if let Some(bytes) = find(&shared()) {
            return Some(bytes);
        }
        // Encoded outside of the lock: two that come at once may both do it, which is cheaper than waiting.
        let frames: Vec<&Frame> = past
            .iter()
            .flatten()
            .map(|tick| self.kept(*tick).map(|kept| &kept.frame))
            .collect::<Option<_>>()?;
        let bytes = encoder.encode(&newest.frame, &frames);
        let mut made = shared();
        if made.len() < SHARED_MAX {
            made.push((past, Arc::clone(&bytes)));
        }
        Some(bytes)
    }
}

/// The longest way along one axis.
fn steps_between(from: &Row, to: &Row) -> u32 {
    (0..3).map(|axis| from[axis].abs_diff(to[axis])).max().unwrap_or(0)
}

fn bounds(frame: &Frame) -> Option<Bounds> {
    let mut rows = frame.values().chunks_exact(WIDTH);
    let first = rows.next()?;
    let corner = [first[0], first[1], first[2]];
    Some(rows.fold([corner; 2], |[mut low, mut high], row| {
        for axis in 0..3 {
            low[axis] = low[axis].min(row[axis]);
            high[axis] = high[axis].max(row[axis]);
        }
        [low, high]
    }))
}

/// Makes deltas; it remembers nothing between two of them but the memory it works in.
#[derive(Debug)]
pub(crate) struct Encoder {
    codec: Codec<Linear>,
    scratch: Vec<u8>,
}

impl Default for Encoder {
    fn default() -> Self {
        Self { codec: Codec::new(layout(), Mode::Fast, Linear::default()), scratch: Vec::new() }
    }
}

impl Encoder {
    fn encode(&mut self, frame: &Frame, past: &[&Frame]) -> Arc<[u8]> {
        self.scratch.clear();
        self.codec
            .encode_against_frames(frame, past, &mut self.scratch)
            .expect("rows are made within the layout, and ids rise");
        Arc::from(&self.scratch[..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(x: f32) -> Transform {
        Transform { position: [x, 0.0, 0.0], rotation: [0.0, 0.0, 0.0, 1.0] }
    }

    #[test]
    fn a_resting_group_is_one_frame_and_a_moving_one_keeps_so_many() {
        let mut history = History::default();
        for tick in 0..200 {
            history.publish(tick, [(1, at(0.0))].into_iter());
        }
        assert_eq!(history.groups[0].kept.len(), 1);
        for tick in 200..400 {
            history.publish(tick, [(1, at(tick as f32))].into_iter());
        }
        assert_eq!(history.groups[0].kept.len(), FRAMES_KEPT);
        assert_eq!(history.groups[0].kept(398).unwrap().until, 398);
        assert_eq!(history.groups[0].kept(399).unwrap().frame.values()[0], 399 * 1_024);
        assert!(history.groups[0].kept(335).is_none() && history.groups[0].kept(336).is_some());
    }

    #[test]
    fn who_comes_takes_the_place_of_who_left() {
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
    fn ticks_may_wrap() {
        let mut history = History::default();
        for step in 0..10u32 {
            history.publish((u32::MAX - 4).wrapping_add(step), [(1, at(step as f32))].into_iter());
        }
        for step in 0..10u32 {
            let kept = history.groups[0].kept((u32::MAX - 4).wrapping_add(step)).unwrap();
            assert_eq!(kept.frame.values()[0], step as i32 * 1_024);
        }
    }
}
