//! What there is to tell of a world's movement, once for all viewers.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use nowcast_wire::delta::{Codec, Frame, Linear, Mode};

use crate::row::{Row, WIDTH, layout, row_of};
use crate::transform::Transform;
use crate::{FRAMES_KEPT, GROUP_ENTITIES_MAX, GROUPS_MAX};

/// Encodings of one frame that are shared. Viewers with very different losses beyond that encode for themselves.
const SHARED_MAX: usize = 32;

/// The recent frames of everything that moves, in groups. One for a world; viewers read it.
#[derive(Debug, Default)]
pub struct History {
    tick: u32,
    /// Ordered by id.
    entities: Vec<Known>,
    groups: Vec<Group>,
    /// Entities that found no place, because all groups are full.
    left_out: u64,
}

/// An entity as it was last published.
#[derive(Debug)]
struct Known {
    id: u32,
    group: u16,
    transform: Transform,
    row: Row,
}

/// The frames of one group, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Group {
    members: usize,
    kept: VecDeque<Kept>,
    /// The frame that is being put together.
    next: Frame,
}

/// A frame, and for how long it stayed the same.
#[derive(Debug)]
pub(crate) struct Kept {
    pub(crate) frame: Frame,
    /// The last tick at which the group was still like this.
    pub(crate) until: u32,
    /// Two opposite corners of the smallest box around its entities; `None` without any.
    pub(crate) bounds: Option<Bounds>,
    /// Its encodings, by the ticks of the frames it is encoded against.
    shared: Mutex<Vec<(Past, Arc<[u8]>)>>,
}

/// The least and the greatest coordinates, in steps.
pub(crate) type Bounds = [[i32; 3]; 2];

/// The ticks of the baselines that a frame is encoded against, newest first; `None` beyond the last.
pub(crate) type Past = [Option<u32>; 3];

impl History {
    /// Records where everything is at step `tick` of the world, modulo 2^32; `transforms` are ordered by id. Call it at
    /// most once for a step.
    pub fn publish(&mut self, tick: u32, transforms: impl Iterator<Item = (u32, Transform)>) {
        self.tick = tick;
        for group in &mut self.groups {
            group.next = Frame::new(tick);
        }
        let mut before = std::mem::take(&mut self.entities).into_iter().peekable();
        let mut entities = Vec::with_capacity(before.len());
        for (id, transform) in transforms {
            while let Some(gone) = before.next_if(|known| known.id < id) {
                self.groups[usize::from(gone.group)].members -= 1;
            }
            let known = match before.next_if(|known| known.id == id) {
                // Most things rest, and a resting transform is the same to the last bit.
                Some(known) if known.transform == transform => known,
                Some(known) => Known { row: row_of(&transform), transform, ..known },
                None => {
                    let Some(group) = self.group_with_room(tick) else {
                        self.left_out += 1;
                        continue;
                    };
                    Known { id, group, row: row_of(&transform), transform }
                }
            };
            self.groups[usize::from(known.group)].next.push(id, &known.row);
            entities.push(known);
        }
        for gone in before {
            self.groups[usize::from(gone.group)].members -= 1;
        }
        self.entities = entities;
        for group in &mut self.groups {
            group.turn(tick);
        }
    }

    /// The first group with room, so that groups that emptied are filled again. The entity counts from now on.
    fn group_with_room(&mut self, tick: u32) -> Option<u16> {
        let found = self.groups.iter().position(|group| group.members < GROUP_ENTITIES_MAX);
        let at = match found {
            Some(at) => at,
            None if self.groups.len() == GROUPS_MAX => return None,
            None => {
                self.groups.push(Group { next: Frame::new(tick), ..Group::default() });
                self.groups.len() - 1
            }
        };
        self.groups[at].members += 1;
        Some(at as u16)
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

    pub(crate) fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// Where an entity was last.
    pub(crate) fn position(&self, id: u32) -> Option<[i32; 3]> {
        let at = self.entities.binary_search_by_key(&id, |known| known.id).ok()?;
        let [x, y, z, ..] = self.entities[at].row;
        Some([x, y, z])
    }
}

impl Group {
    /// Keeps the new frame if anything differs.
    fn turn(&mut self, tick: u32) {
        let next = std::mem::take(&mut self.next);
        if let Some(newest) = self.kept.back_mut() {
            if newest.frame.ids() == next.ids() && newest.frame.values() == next.values() {
                newest.until = tick;
                return;
            }
            // What is not newest any more is not encoded any more.
            newest.shared = Mutex::default();
        }
        if self.kept.len() == FRAMES_KEPT {
            self.kept.pop_front();
        }
        let bounds = bounds(&next);
        self.kept.push_back(Kept { frame: next, until: tick, bounds, shared: Mutex::default() });
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
        assert_eq!(history.groups[0].newest().unwrap().until, 199);
        for tick in 200..400 {
            history.publish(tick, [(1, at(tick as f32))].into_iter());
        }
        assert_eq!(history.groups[0].kept.len(), FRAMES_KEPT);
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
