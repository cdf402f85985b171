//! The movement of a world at one step: immutable, shared by all viewers.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};

use nowcast_wire::delta::{Codec, Frame, Limits, Linear, Mode};

use crate::row::{Quantization, WIDTH};
use crate::section::SectionId;
use crate::snapshot_pool::ApplyDelta;
use crate::{FRAMES_KEPT, GROUP_ENTITIES_MAX};

/// Encodings of one frame that are shared. Viewers with very different losses beyond that encode for themselves.
const SHARED_MAX: usize = 32;

/// The recent frames of everything that moves, in groups, as they are at one step; see [`crate::History::frames`].
/// Readers need no lock, and all viewers that have the same frames share their encodings.
#[derive(Clone, Debug, Default)]
pub struct Frames {
    tick: u32,
    groups: Vec<GroupFrames>,
    /// The groups of each section.
    sections: BTreeMap<SectionId, Vec<u16>>,
    /// Grows whenever a section has other groups.
    version: u64,
}

/// The frames of one group, oldest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct GroupFrames {
    kept: VecDeque<Arc<Kept>>,
    /// How many of the newest can be encoded against: those of the newest one's grain since which the group was never empty, because
    /// a client may have forgotten what is older than that.
    usable_count: usize,
    /// The same as bits: bit `n` stands for the frame of `n` steps before the newest. Older frames have no bit.
    usable: u128,
}

/// A frame that is kept.
#[derive(Debug)]
pub(crate) struct Kept {
    pub(crate) frame: Frame,
    /// That of its rows.
    pub(crate) grain: Quantization,
    /// The last tick at which the group was still like in the frame before.
    tick_before: u32,
    /// Two opposite corners of the smallest box around its entities; `None` without any.
    pub(crate) bounds: Option<Bounds>,
    /// How far the fastest of its entities got since the step before, along one axis, in metres.
    pub(crate) moved: f32,
    /// How far the largest of its entities reaches from its centre, in metres.
    pub(crate) size: f32,
    shared: Mutex<Shared>,
}

/// The encodings of a frame.
#[derive(Debug, Default)]
struct Shared {
    /// By the ticks of the frames that it is encoded against.
    made: Vec<(Past, Arc<[u8]>)>,
    /// Whether there is a newer frame: whoever still encodes this one is late and alone, so nothing is kept any more.
    is_retired: bool,
}

/// The least and the greatest coordinates, in metres.
pub(crate) type Bounds = [[f32; 3]; 2];

/// The ticks of the baselines that a frame is encoded against, newest first; `None` beyond the last.
pub(crate) type Past = [Option<u32>; 3];

/// The changes since the step before.
#[derive(Debug)]
pub struct Turn {
    pub(crate) tick: u32,
    /// The newest frames of groups that changed.
    pub(crate) frames: Vec<(u16, Arc<Kept>)>,
    /// Sections that have other groups, and which.
    pub(crate) sections: Vec<(SectionId, Vec<u16>)>,
}

impl ApplyDelta for Frames {
    type Change = Turn;

    fn follow(&mut self, turn: &Turn) {
        self.tick = turn.tick;
        for (group, kept) in &turn.frames {
            let group = usize::from(*group);
            if group >= self.groups.len() {
                self.groups.resize_with(group + 1, GroupFrames::default);
            }
            self.groups[group].push(Arc::clone(kept));
        }
        self.version += u64::from(!turn.sections.is_empty());
        for (section, groups) in &turn.sections {
            if groups.is_empty() {
                self.sections.remove(section);
            } else {
                self.sections.insert(*section, groups.clone());
            }
        }
    }
}

impl Frames {
    /// The step, modulo 2^32.
    pub fn tick(&self) -> u32 {
        self.tick
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

    pub(crate) fn group(&self, group: u16) -> Option<&GroupFrames> {
        self.groups.get(usize::from(group))
    }
}

impl GroupFrames {
    fn push(&mut self, kept: Arc<Kept>) {
        let tick = kept.frame.tick();
        let ahead = self.newest().map_or(0, |newest| tick.wrapping_sub(newest.frame.tick()));
        if self.newest().is_some_and(|newest| newest.grain != kept.grain) {
            (self.usable_count, self.usable) = (0, 0);
        }
        if self.kept.len() == FRAMES_KEPT {
            self.kept.pop_front();
        }
        let is_empty = kept.frame.is_empty();
        self.kept.push_back(kept);
        if is_empty {
            (self.usable_count, self.usable) = (0, 0);
            return;
        }
        self.usable_count = (self.usable_count + 1).min(self.kept.len());
        let oldest = self.kept.front().map_or(0, |oldest| tick.wrapping_sub(oldest.frame.tick()));
        let are_kept = u128::MAX >> (u128::BITS - 1).saturating_sub(oldest);
        self.usable = (self.usable.checked_shl(ahead).unwrap_or(0) | 1) & are_kept;
    }

    /// The group as it is now; `None` before it was published for the first time.
    pub(crate) fn newest(&self) -> Option<&Kept> {
        self.kept.back().map(Arc::as_ref)
    }

    fn place(&self, tick: u32) -> Option<usize> {
        // Ticks wrap, so the order is that of their distance from the newest.
        let newest = self.kept.back()?.frame.tick();
        let age = newest.wrapping_sub(tick);
        if age < u128::BITS && self.usable >> age & 1 == 1 {
            let newer = (self.usable & ((1 << age) - 1)).count_ones() as usize;
            return Some(self.kept.len() - 1 - newer);
        }
        let at = self.kept.partition_point(|kept| newest.wrapping_sub(kept.frame.tick()) > age);
        (self.kept.get(at)?.frame.tick() == tick).then_some(at)
    }

    /// The frame of a tick, if it is still kept.
    pub(crate) fn kept(&self, tick: u32) -> Option<&Kept> {
        self.place(tick).map(|at| self.kept[at].as_ref())
    }

    /// The last tick at which the group was still like in the frame of a tick; of the newest frame, the tick at which it became so.
    pub(crate) fn until(&self, tick: u32) -> Option<u32> {
        let at = self.place(tick)?;
        Some(self.kept.get(at + 1).map_or(tick, |next| next.tick_before))
    }

    /// Against which frames the newest can be encoded: bit `n` stands for that of `n` steps before a tick, up to 63.
    pub(crate) fn usable_before(&self, tick: u32) -> u64 {
        let Some(newest) = self.newest() else { return 0 };
        let age = newest.frame.tick().wrapping_sub(tick);
        if age <= u128::BITS - u64::BITS {
            return (self.usable >> age) as u64;
        }
        // The group rested for long, or the viewer heard nothing for long.
        let usable = self.kept.range(self.kept.len() - self.usable_count..);
        let ages = usable.map(|kept| tick.wrapping_sub(kept.frame.tick()));
        ages.filter(|age| *age < u64::BITS).fold(0, |bits, age| bits | 1 << age)
    }

    /// The newest frame encoded against the baselines of `past`, once for all viewers that have the same.
    pub(crate) fn delta(&self, past: Past, encoder: &mut Encoder) -> Option<Arc<[u8]>> {
        let newest = self.kept.back()?;
        let shared = || newest.shared.lock().expect("nobody panics while holding it");
        let known = shared().made.iter().find(|(of, _)| *of == past).map(|(_, bytes)| Arc::clone(bytes));
        if known.is_some() {
            return known;
        }
        // Encoded outside of the lock: two that come at once may both do it, which is cheaper than waiting.
        let mut frames = [None; 3];
        for (frame, tick) in frames.iter_mut().zip(past.iter().flatten()) {
            *frame = Some(&self.kept(*tick)?.frame);
        }
        let count = past.iter().flatten().count();
        let frames = frames.map(|frame| frame.unwrap_or(&newest.frame));
        let bytes = encoder.encode(&newest.frame, newest.grain, &frames[..count]);
        let mut shared = shared();
        if shared.made.len() < SHARED_MAX && !shared.is_retired {
            shared.made.push((past, Arc::clone(&bytes)));
        }
        Some(bytes)
    }

    #[cfg(test)]
    pub(crate) fn kept_count(&self) -> usize {
        self.kept.len()
    }
}

impl Kept {
    pub(crate) fn new(frame: Frame, grain: Quantization, tick_before: u32, moved: f32, size: f32) -> Self {
        let (bounds, shared) = (bounds(&frame, grain), Mutex::default());
        Self { frame, grain, tick_before, bounds, moved, size, shared }
    }

    /// There is a newer frame, so the encodings are forgotten: unless somebody looks for one at this very moment, for whom nobody
    /// waits. Then they go with the frame.
    pub(crate) fn retire(&self) {
        if let Ok(mut shared) = self.shared.try_lock() {
            *shared = Shared { made: Vec::new(), is_retired: true };
        }
    }
}

fn bounds(frame: &Frame, grain: Quantization) -> Option<Bounds> {
    let mut rows = frame.values().chunks_exact(WIDTH);
    let first = rows.next()?;
    let corner = [first[0], first[1], first[2]];
    let corners = rows.fold([corner; 2], |[mut low, mut high], row| {
        for axis in 0..3 {
            low[axis] = low[axis].min(row[axis]);
            high[axis] = high[axis].max(row[axis]);
        }
        [low, high]
    });
    Some(corners.map(|corner| corner.map(|steps| steps as f32 / grain.steps_per_metre())))
}

/// Makes deltas; it remembers nothing between two of them but the memory it works in.
#[derive(Debug, Default)]
pub(crate) struct Encoder {
    codecs: Codecs,
    scratch: Vec<u8>,
}

impl Encoder {
    fn encode(&mut self, frame: &Frame, grain: Quantization, past: &[&Frame]) -> Arc<[u8]> {
        self.scratch.clear();
        self.codecs
            .of(grain)
            .encode_against_frames(frame, past, &mut self.scratch)
            .expect("rows are made within the layout, and ids rise");
        Arc::from(&self.scratch[..])
    }
}

/// A codec for each grain that there was. There are few: a world says them.
#[derive(Debug, Default)]
pub(crate) struct Codecs {
    made: Vec<(Quantization, Codec<Linear>)>,
}

impl Codecs {
    pub(crate) fn of(&mut self, grain: Quantization) -> &mut Codec<Linear> {
        let at = self.made.iter().position(|(of, _)| *of == grain).unwrap_or_else(|| {
            let limits = Limits { entities_max: GROUP_ENTITIES_MAX };
            self.made.push((grain, Codec::new(grain.layout(), Mode::Fast, Linear::default()).limits(limits)));
            self.made.len() - 1
        });
        &mut self.made[at].1
    }
}
