//! The movement of a world at one step: immutable, shared by all viewers.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use nowcast_wire::delta::{Codec, Frame};

use crate::acked::{Acked, Baselines};
use crate::motion_codec;
use crate::row::Quantization;
use crate::section::{IdHash, SectionId};
use crate::snapshot_pool::ApplyDelta;
use crate::update_rates::RatesId;
use crate::{FRAMES_KEPT, GROUP_ENTITIES_MAX};

/// Maximum number of shared encodings of one frame. A further encoding replaces the least used one.
const SHARED_MAX: usize = 32;

/// A viewer takes an encoding of another viewer if its first baseline is at most this many steps older than the best. An older
/// baseline costs a few bits, a new encoding costs many times as much time.
const OLDER_STEPS_MAX: u32 = 6;

/// Maximum number of remembered regroupings: enough for the steps of one round in a large crowd.
const REGROUPED_MAX: usize = 256;

/// Maximum number of encoders kept for reuse. More than this number of threads encode at once only on large machines.
const ENCODERS_KEPT: usize = 8;

/// The recent frames of all groups at one step; see [`crate::History::frames`]. Readers need no lock, and viewers with
/// the same baselines share their encodings.
#[derive(Clone, Debug, Default)]
pub struct Frames {
    tick: u32,
    groups: Vec<GroupFrames>,
    /// The groups of each section.
    sections: HashMap<SectionId, Vec<u16>, IdHash>,
    /// A number that grows whenever the set of groups of a section changes.
    version: u64,
    /// The sections whose groups changed last, with the version since which they have their groups, oldest first.
    regrouped: VecDeque<(u64, SectionId)>,
    encoders: Arc<Encoders>,
}

/// The frames of one group, oldest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct GroupFrames {
    kept: VecDeque<Arc<Kept>>,
    /// The summary of the newest frame, copied because each viewer reads the summary of every group in each round.
    summary: Option<Summary>,
    /// Number of the newest frames that can be baselines. All of them have the same quantization, and the group was not
    /// empty since the oldest of them. A client may have forgotten older frames.
    usable_count: usize,
    /// The frames that can be baselines, as bits: bit `n` stands for the frame `n` steps before the newest. Older frames
    /// have no bit.
    usable: u128,
}

/// A stored frame.
#[derive(Debug)]
pub(crate) struct Kept {
    pub(crate) frame: Frame,
    /// The quantization of the frame's rows.
    pub(crate) quantization: Quantization,
    pub(crate) summary: Summary,
    /// The last tick at which the previous frame was still valid.
    tick_before: u32,
    shared: Mutex<Shared>,
}

/// The properties of a frame by which viewers decide when to receive it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Summary {
    pub(crate) tick: u32,
    /// The update rates of the frame's entities.
    pub(crate) rates: RatesId,
    /// Two opposite corners of the smallest box around the frame's entities; `None` if the frame has no entities.
    pub(crate) bounds: Option<Bounds>,
    /// The largest distance that an entity of the frame moved along one axis in a step since the frame before, in metres.
    pub(crate) moved: f32,
    /// The largest extent of an entity of the frame from the entity's centre, in metres.
    pub(crate) size: f32,
}

/// The shared encodings of a frame.
#[derive(Debug, Default)]
struct Shared {
    made: Vec<Made>,
    /// Whether a newer frame exists. An encoding that a late viewer still makes of this frame is not stored, because no
    /// other viewer needs it.
    is_retired: bool,
}

/// A shared encoding.
#[derive(Debug)]
struct Made {
    /// The ticks of the baselines.
    baselines: Baselines,
    /// The number of ticks for which the first baseline stayed valid.
    unchanged_ticks: u32,
    bytes: Box<[u8]>,
    /// The acknowledged frames of the viewer that took it last. Most viewers have acknowledged the same frames, and take it
    /// without choosing baselines.
    acked: Acked,
    /// The number of viewers that took it from another viewer.
    uses: u32,
}

/// The least and the greatest coordinates, in metres.
pub(crate) type Bounds = [[f32; 3]; 2];

/// The newest frame of a group, as one viewer gets it.
#[derive(Debug)]
pub(crate) struct Delta<'a> {
    pub(crate) baselines: Baselines,
    /// The number of ticks for which the first baseline stayed valid.
    pub(crate) unchanged_ticks: u32,
    pub(crate) bytes: &'a [u8],
    /// Whether it was encoded for this viewer.
    pub(crate) is_new: bool,
}

/// The changes since the step before.
#[derive(Debug)]
pub struct FramesDelta {
    pub(crate) tick: u32,
    /// The newest frames of groups that changed.
    pub(crate) frames: Vec<(u16, Arc<Kept>)>,
    /// Sections whose groups changed, with their groups.
    pub(crate) sections: Vec<(SectionId, Vec<u16>)>,
}

impl ApplyDelta for Frames {
    type Change = FramesDelta;

    fn apply(&mut self, delta: &FramesDelta) {
        self.tick = delta.tick;
        for (group, kept) in &delta.frames {
            let group = usize::from(*group);
            if group >= self.groups.len() {
                self.groups.resize_with(group + 1, GroupFrames::default);
            }
            self.groups[group].push(Arc::clone(kept));
        }
        self.version += u64::from(!delta.sections.is_empty());
        for (section, groups) in &delta.sections {
            if self.regrouped.len() == REGROUPED_MAX {
                self.regrouped.pop_front();
            }
            self.regrouped.push_back((self.version, *section));
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

    /// Returns the sections that have other groups than at `version`, the newest first and some of them several times. Returns
    /// `None` if they are not known any more.
    pub(crate) fn regrouped_since(&self, version: u64) -> Option<impl Iterator<Item = SectionId>> {
        // Entries before the oldest one may be forgotten, also of its version.
        let knows_all = version == self.version
            || version < self.version && self.regrouped.front().is_some_and(|(oldest, _)| *oldest <= version);
        let newer = self.regrouped.iter().rev().take_while(move |(of, _)| *of > version);
        knows_all.then(|| newer.map(|(_, section)| *section))
    }

    /// A number that grows whenever the set of groups of a section changes.
    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    /// The groups of a section.
    pub(crate) fn groups_of(&self, section: SectionId) -> &[u16] {
        self.sections.get(&section).map_or(&[], Vec::as_slice)
    }

    /// The groups of all sections, with their sections.
    pub(crate) fn all_groups(&self) -> impl Iterator<Item = (u16, SectionId)> {
        self.sections.iter().flat_map(|(section, groups)| groups.iter().map(|group| (*group, *section)))
    }

    pub(crate) fn group(&self, group: u16) -> Option<&GroupFrames> {
        self.groups.get(usize::from(group))
    }

    /// The memory for encodings, which all viewers share.
    pub(crate) fn encoders(&self) -> &Encoders {
        &self.encoders
    }
}

impl GroupFrames {
    fn push(&mut self, kept: Arc<Kept>) {
        let tick = kept.frame.tick();
        let ahead = self.newest().map_or(0, |newest| tick.wrapping_sub(newest.frame.tick()));
        if self.newest().is_some_and(|newest| newest.quantization != kept.quantization) {
            (self.usable_count, self.usable) = (0, 0);
        }
        if self.kept.len() == FRAMES_KEPT {
            self.kept.pop_front();
        }
        let is_empty = kept.frame.is_empty();
        self.summary = Some(kept.summary);
        self.kept.push_back(kept);
        if is_empty {
            (self.usable_count, self.usable) = (0, 0);
            return;
        }
        self.usable_count = (self.usable_count + 1).min(self.kept.len());
        // The shift keeps the bits of dropped frames, so they are cleared.
        let oldest = self.kept.front().map_or(0, |oldest| tick.wrapping_sub(oldest.frame.tick()));
        let are_kept = u128::MAX >> (u128::BITS - 1).saturating_sub(oldest);
        self.usable = (self.usable.checked_shl(ahead).unwrap_or(0) | 1) & are_kept;
    }

    /// Returns the newest frame; `None` before the group was first published.
    pub(crate) fn newest(&self) -> Option<&Kept> {
        self.kept.back().map(Arc::as_ref)
    }

    /// The summary of the newest frame; `None` before the group was first published.
    pub(crate) fn summary(&self) -> Option<&Summary> {
        self.summary.as_ref()
    }

    fn place(&self, tick: u32) -> Option<usize> {
        // Ticks wrap, so frames are ordered by their distance from the newest.
        let newest = self.kept.back()?.frame.tick();
        let age = newest.wrapping_sub(tick);
        if age < u128::BITS && self.usable >> age & 1 == 1 {
            let newer = (self.usable & ((1 << age) - 1)).count_ones() as usize;
            return Some(self.kept.len() - 1 - newer);
        }
        let at = self.kept.partition_point(|kept| newest.wrapping_sub(kept.frame.tick()) > age);
        (self.kept.get(at)?.frame.tick() == tick).then_some(at)
    }

    /// Returns the frame of a tick, if it is still stored.
    pub(crate) fn kept(&self, tick: u32) -> Option<&Kept> {
        self.place(tick).map(|at| self.kept[at].as_ref())
    }

    /// Returns the last tick at which the frame of `tick` was still valid. For the newest frame this is its own tick.
    pub(crate) fn valid_until(&self, tick: u32) -> Option<u32> {
        let at = self.place(tick)?;
        Some(self.kept.get(at + 1).map_or(tick, |next| next.tick_before))
    }

    /// Returns the usable baselines as bits: bit `n` stands for the frame `n` steps before a tick, up to 63.
    pub(crate) fn usable_before(&self, tick: u32) -> u64 {
        let Some(newest) = self.newest() else { return 0 };
        let age = newest.frame.tick().wrapping_sub(tick);
        if age <= u128::BITS - u64::BITS {
            return (self.usable >> age) as u64;
        }
        // The group rested for a long time, or the viewer acknowledged nothing for a long time.
        let usable = self.kept.range(self.kept.len() - self.usable_count..);
        let ages = usable.map(|kept| tick.wrapping_sub(kept.frame.tick()));
        ages.filter(|age| *age < u64::BITS).fold(0, |bits, age| bits | 1 << age)
    }

    /// Calls `take` with the newest frame, encoded against baselines that the viewer has acknowledged. Viewers share encodings: a
    /// viewer takes an encoding against almost as good baselines, rather than making one of its own. `take` is short, because it
    /// runs while other viewers cannot read encodings of the frame.
    pub(crate) fn with_delta<T>(
        &self,
        acked: &Acked,
        encoders: &Encoders,
        take: impl FnOnce(Delta<'_>) -> T,
    ) -> Option<T> {
        let newest = self.kept.back()?;
        let lock = || newest.shared.lock().expect("nobody panics while holding it");
        let mut shared = lock();
        if let Some(made) = shared.find_again(acked) {
            return Some(take(made.delta(false)));
        }
        let wanted = self.best_baselines(newest, acked);
        if let Some(made) = shared.find(wanted, acked) {
            return Some(take(made.delta(false)));
        }
        // The frame is encoded without holding the lock. Two threads may encode the same frame at once, which is cheaper
        // than waiting.
        drop(shared);
        let mut frames = [None; 3];
        for (frame, tick) in frames.iter_mut().zip(wanted.iter().flatten()) {
            *frame = Some(&self.kept(*tick)?.frame);
        }
        let count = wanted.iter().flatten().count();
        let frames = frames.map(|frame| frame.unwrap_or(&newest.frame));
        let bytes = encoders.encode(&newest.frame, newest.quantization, &frames[..count]);
        let unchanged_ticks = wanted[0]
            .filter(|_| !newest.quantization.is_motion())
            .and_then(|tick| Some(self.valid_until(tick)?.wrapping_sub(tick)))
            .unwrap_or(0);
        let made = Made { baselines: wanted, unchanged_ticks, bytes, acked: *acked, uses: 0 };
        let taken = take(made.delta(true));
        lock().put(made);
        Some(taken)
    }

    /// Returns the best baselines of the newest frame for a viewer.
    fn best_baselines(&self, newest: &Kept, acked: &Acked) -> Baselines {
        match acked.newest() {
            // A motion row shows how the body moves, so an older row adds nothing.
            Some(have) if newest.quantization.is_motion() => {
                [(self.usable_before(have) & 1 == 1).then_some(have), None, None]
            }
            Some(have) => acked.baselines(newest.frame.tick(), self.usable_before(have)),
            None => [None; 3],
        }
    }

    #[cfg(test)]
    pub(crate) fn kept_count(&self) -> usize {
        self.kept.len()
    }
}

impl Shared {
    /// Returns the encoding that a viewer with the same acknowledged frames took last.
    fn find_again(&mut self, acked: &Acked) -> Option<&Made> {
        let made = self.made.iter_mut().find(|made| made.acked == *acked)?;
        made.uses += 1;
        Some(made)
    }

    /// Returns an encoding against the wanted baselines, or against others that the viewer has acknowledged and that are
    /// almost as good.
    fn find(&mut self, wanted: Baselines, acked: &Acked) -> Option<&Made> {
        let exact = self.made.iter().position(|made| made.baselines == wanted);
        let at = exact.or_else(|| {
            let first = wanted[0]?;
            let depth = |baselines: &Baselines| baselines.iter().flatten().count();
            let older = |made: &Made| made.baselines[0].map_or(u32::MAX, |tick| first.wrapping_sub(tick));
            let fits = |made: &Made| {
                older(made) <= OLDER_STEPS_MAX
                    && depth(&made.baselines) == depth(&wanted)
                    && made.baselines.iter().flatten().all(|tick| acked.has(*tick))
            };
            let fitting = self.made.iter().enumerate().filter(|(_, made)| fits(made));
            fitting.min_by_key(|(_, made)| older(made)).map(|(at, _)| at)
        })?;
        let made = &mut self.made[at];
        made.uses += 1;
        made.acked = *acked;
        Some(made)
    }

    /// Stores an encoding. If there are too many, it replaces the least used one, of which the oldest.
    fn put(&mut self, made: Made) {
        if self.is_retired {
            return;
        }
        if self.made.len() == SHARED_MAX {
            let least = self.made.iter().enumerate().min_by_key(|(_, made)| made.uses).map(|(at, _)| at);
            self.made.remove(least.unwrap_or_default());
        }
        self.made.push(made);
    }
}

impl Made {
    fn delta(&self, is_new: bool) -> Delta<'_> {
        let Self { baselines, unchanged_ticks, .. } = *self;
        Delta { baselines, unchanged_ticks, bytes: &self.bytes, is_new }
    }
}

impl Kept {
    pub(crate) fn new(
        frame: Frame,
        (quantization, rates): (Quantization, RatesId),
        tick_before: u32,
        moved: f32,
        size: f32,
    ) -> Self {
        let bounds = bounds(&frame, quantization);
        let summary = Summary { tick: frame.tick(), rates, bounds, moved, size };
        Self { frame, quantization, summary, tick_before, shared: Mutex::default() }
    }

    /// Drops the encodings, because there is a newer frame. If a reader holds the lock now, the encodings are dropped with
    /// the frame instead, so that no thread waits for the lock.
    pub(crate) fn retire(&self) {
        if let Ok(mut shared) = self.shared.try_lock() {
            *shared = Shared { made: Vec::new(), is_retired: true };
        }
    }
}

fn bounds(frame: &Frame, quantization: Quantization) -> Option<Bounds> {
    let mut rows = frame.values().chunks_exact(quantization.width());
    let first = rows.next()?;
    let corner = [first[0], first[1], first[2]];
    let corners = rows.fold([corner; 2], |[mut low, mut high], row| {
        for axis in 0..3 {
            low[axis] = low[axis].min(row[axis]);
            high[axis] = high[axis].max(row[axis]);
        }
        [low, high]
    });
    Some(corners.map(|corner| corner.map(|steps| steps as f32 / quantization.frame_steps_per_metre())))
}

/// Encoders for reuse, shared by all viewers of a world. An encoder has 14 kB of scratch memory for each quantization, and a
/// viewer needs one only while it encodes.
#[derive(Debug, Default)]
pub(crate) struct Encoders(Mutex<Vec<Encoder>>);

impl Encoders {
    fn encode(&self, frame: &Frame, quantization: Quantization, baselines: &[&Frame]) -> Box<[u8]> {
        let free = || self.0.lock().expect("nobody panics while holding it");
        let mut encoder = free().pop().unwrap_or_default();
        let bytes = encoder.encode(frame, quantization, baselines);
        let mut free = free();
        if free.len() < ENCODERS_KEPT {
            free.push(encoder);
        }
        bytes
    }
}

/// Encodes deltas. It keeps only scratch memory between two calls.
#[derive(Debug, Default)]
struct Encoder {
    codecs: Codecs,
    scratch: Vec<u8>,
}

impl Encoder {
    fn encode(&mut self, frame: &Frame, quantization: Quantization, baselines: &[&Frame]) -> Box<[u8]> {
        if quantization.is_motion() {
            return motion_codec::encode(frame, quantization, baselines.first().copied());
        }
        self.scratch.clear();
        self.codecs
            .of(quantization)
            .encode(frame, baselines, &mut self.scratch)
            .expect("rows are made within the layout, and ids rise");
        Box::from(&self.scratch[..])
    }
}

/// A codec for each quantization in use. There are few quantizations, because only the kinds of a world define them.
#[derive(Debug, Default)]
pub(crate) struct Codecs {
    made: Vec<(Quantization, Codec)>,
}

impl Codecs {
    pub(crate) fn of(&mut self, quantization: Quantization) -> &mut Codec {
        let at = self.made.iter().position(|(of, _)| *of == quantization).unwrap_or_else(|| {
            self.made.push((quantization, Codec::new(quantization.layout(), GROUP_ENTITIES_MAX)));
            self.made.len() - 1
        });
        &mut self.made[at].1
    }
}
