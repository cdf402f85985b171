//! The receiver: the rows that a viewer knows.

use std::collections::{BTreeMap, VecDeque};

use nowcast_wire::delta::Frame;

use crate::FRAMES_HELD;
use crate::frames::Codecs;
use crate::motion::{MOTION_STEPS_MAX, MotionState};
use crate::motion_codec;
use crate::payload::{PayloadError, PayloadReader, RecordHead};
use crate::row::{Quantization, Row, WIDTH};
use crate::transform::Transform;

/// Maximum number of remembered entities out of sight. They are remembered so that late packets do not bring them back.
const HIDDEN_MAX: usize = 65_536;

/// Packets are assumed to arrive within this number of steps (60 s). A later one could show an
/// entity that went out of sight.
const LATE_STEPS_MAX: u32 = 3_600;

/// Groups without a visible entity are forgotten after this many steps without a record.
const QUIET_STEPS: u32 = 600;

/// Number of payloads between two searches for groups to forget.
const PAYLOADS_PER_SWEEP: u32 = 256;

/// A copy of a world's movement. Payloads may arrive in any order and with any losses.
#[derive(Debug)]
pub struct Replica {
    codecs: Codecs,
    groups: BTreeMap<u16, Held>,
    /// The group of each entity. If the newest frames of several groups contain an entity, the newest of these frames
    /// counts.
    placed: BTreeMap<u32, u16>,
    /// For each entity out of sight, the tick at which it went out of sight. Rows up to this tick are ignored.
    hidden: BTreeMap<u32, u32>,
    tick: u32,
    is_empty: bool,
    payloads: u32,
}

/// The stored frames of a group, which later frames may be encoded against, oldest first.
#[derive(Debug, Default)]
struct Held {
    frames: VecDeque<HeldFrame>,
    /// The newest payload tick at which the newest frame was still valid.
    heard_tick: u32,
    /// Frames up to this tick were dropped, because a frame of this tick without entities arrived, or because the group's frames
    /// were forgotten at this tick.
    forgotten_tick: Option<u32>,
    /// The motion row of the newest frame.
    motion: Option<HeldMotion>,
}

/// A motion row that is integrated up to the newest payload.
#[derive(Clone, Copy, Debug)]
struct HeldMotion {
    /// The step at which the row begins.
    tick: u32,
    /// Number of integrated steps.
    steps: u32,
    state: MotionState,
}

impl HeldMotion {
    fn of(HeldFrame { frame, quantization }: &HeldFrame) -> Option<Self> {
        let row = motion_codec::row_of(frame).filter(|_| quantization.is_motion())?;
        Some(Self { tick: frame.tick(), steps: 0, state: MotionState::of(row, quantization.motion_units()) })
    }

    /// Integrates up to this step. Earlier steps are ignored.
    fn advance_to(&mut self, tick: u32) {
        let wanted = tick.wrapping_sub(self.tick).min(MOTION_STEPS_MAX);
        while self.steps < wanted {
            self.state.step();
            self.steps += 1;
        }
    }
}

#[derive(Debug)]
struct HeldFrame {
    frame: Frame,
    quantization: Quantization,
}

impl HeldFrame {
    fn tick(&self) -> u32 {
        self.frame.tick()
    }

    fn ids(&self) -> &[u32] {
        self.frame.ids()
    }
}

/// The result of applying one payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    /// The step of the world at which the payload was sent, modulo 2^32.
    pub tick: u32,
    /// The number of the viewer's newest input that was applied at that step; 0 for none.
    pub controls: u16,
    /// Number of groups that got a newer frame.
    pub groups: usize,
    /// Number of groups whose baselines are missing. They require [`crate::Viewer::reset`].
    pub missing: usize,
}

impl Default for Replica {
    fn default() -> Self {
        let (codecs, groups, placed, hidden) = Default::default();
        Self { codecs, groups, placed, hidden, tick: 0, is_empty: true, payloads: 0 }
    }
}

impl Replica {
    /// Applies a payload.
    ///
    /// # Errors
    /// [`PayloadError`] if the payload breaks `spec/WORLD.md`. Records before the error are applied.
    pub fn apply(&mut self, payload: &[u8]) -> Result<Applied, PayloadError> {
        let mut reader = PayloadReader::new(payload)?;
        let mut applied = Applied { tick: reader.tick, controls: reader.controls, ..Applied::default() };
        while let Some((head, delta)) = reader.record()? {
            match self.record(&head, delta, reader.tick)? {
                Some(is_newer) => applied.groups += usize::from(is_newer),
                None => applied.missing += 1,
            }
        }
        if self.is_empty || is_after(reader.tick, self.tick) {
            (self.tick, self.is_empty) = (reader.tick, false);
        }
        for motion in self.groups.values_mut().filter_map(|held| held.motion.as_mut()) {
            motion.advance_to(self.tick);
        }
        self.payloads = self.payloads.wrapping_add(1);
        if self.payloads.is_multiple_of(PAYLOADS_PER_SWEEP) {
            self.sweep();
        }
        Ok(applied)
    }

    /// Returns whether the group got a newer frame; `None` if a baseline is missing.
    fn record(
        &mut self,
        head: &RecordHead,
        delta: &[u8],
        payload_tick: u32,
    ) -> Result<Option<bool>, PayloadError> {
        let held = self.groups.entry(head.group).or_default();
        if held.find(head.tick).is_some() {
            self.show_group(head.group, head.tick, payload_tick);
            return Ok(Some(false));
        }
        let baselines: Option<Vec<_>> =
            head.baselines.iter().flatten().map(|tick| held.find(*tick)).collect();
        let Some(baselines) = baselines else {
            // A payload older than the newest dropped tick has no new information.
            let is_old = held.forgotten_tick.is_some_and(|forgotten| !is_after(payload_tick, forgotten));
            return Ok(is_old.then_some(false));
        };
        let quantization = head
            .quantization
            .or_else(|| baselines.first().map(|baseline| baseline.quantization))
            .unwrap_or_default();
        if baselines.iter().any(|baseline| baseline.quantization != quantization)
            || quantization.is_motion() != head.is_motion
        {
            return Err(PayloadError::Range("baseline age"));
        }
        let baselines: Vec<&Frame> = baselines.into_iter().map(|baseline| &baseline.frame).collect();
        let frame = if quantization.is_motion() {
            if baselines.iter().any(|baseline| baseline.is_empty()) {
                return Err(PayloadError::Range("baseline age"));
            }
            motion_codec::decode(head.tick, delta, quantization, baselines.first().copied())?
        } else {
            self.codecs
                .of(quantization)
                .decode(head.tick, delta, &baselines)
                .map_err(|error| PayloadError::Delta { group: head.group, error })?
        };
        let before: Vec<u32> = held.frames.back().map_or(Vec::new(), |frame| frame.ids().to_vec());
        let is_newer = held.keep(HeldFrame { frame, quantization });
        if is_newer {
            for id in before {
                if self.placed.get(&id) == Some(&head.group) {
                    self.placed.remove(&id);
                }
            }
            self.show_group(head.group, head.tick, payload_tick);
        }
        Ok(Some(is_newer))
    }

    /// Records that the frame of `tick` was still the group's newest at the payload's step: its entities are visible.
    fn show_group(&mut self, group: u16, tick: u32, payload_tick: u32) {
        let Self { groups, placed, hidden, .. } = self;
        let newest_of =
            |group: &u16| groups.get(group).and_then(|held| held.frames.back()).map(HeldFrame::tick);
        if newest_of(&group) != Some(tick) {
            return;
        }
        for id in groups[&group].frames.back().map_or(&[][..], HeldFrame::ids) {
            if hidden.get(id).is_some_and(|hidden| !is_after(payload_tick, *hidden)) {
                continue;
            }
            let is_elsewhere = placed.get(id).and_then(newest_of).is_some_and(|other| is_after(other, tick));
            if !is_elsewhere {
                placed.insert(*id, group);
                hidden.remove(id);
            }
        }
        let held = groups.get_mut(&group).expect("its frame was just read");
        if held.frames.len() == 1 || is_after(payload_tick, held.heard_tick) {
            held.heard_tick = payload_tick;
        }
    }

    /// Marks an entity as out of sight since this step. Rows up to this step are ignored, even if they arrive late.
    pub fn hide(&mut self, id: u32, tick: u32) {
        let is_heard_later = |held: &Held| is_after(held.heard_tick, tick);
        if let Some(group) = self.placed.get(&id).copied() {
            // The entity came into sight again, and a payload of that later step overtook this message.
            if self.groups.get(&group).is_some_and(is_heard_later) {
                return;
            }
            self.placed.remove(&id);
        }
        if self.hidden.len() >= HIDDEN_MAX {
            let newest = self.tick;
            self.hidden.retain(|_, hidden| newest.wrapping_sub(*hidden) < LATE_STEPS_MAX);
        }
        if self.hidden.len() < HIDDEN_MAX {
            self.hidden.insert(id, tick);
        }
    }

    /// Drops the frames of groups that have no visible entities and got no record for a long time. If such a group is
    /// visible again, its sender starts without baselines.
    fn sweep(&mut self) {
        let Self { groups, placed, tick, .. } = self;
        for (group, held) in groups {
            let is_quiet = is_after(*tick, held.heard_tick.wrapping_add(QUIET_STEPS));
            let ids = held.frames.back().map_or(&[][..], HeldFrame::ids);
            if is_quiet && !held.frames.is_empty() && ids.iter().all(|id| placed.get(id) != Some(group)) {
                held.frames.clear();
                held.motion = None;
                held.forgotten_tick = Some(*tick);
            }
        }
    }

    /// Returns the newest step of all payloads.
    pub fn tick(&self) -> u32 {
        self.tick
    }

    /// Returns the newest known row of an entity. A motion row is integrated up to [`Replica::tick`].
    pub fn row(&self, id: u32) -> Option<Row> {
        let (held, HeldFrame { frame, quantization }) = self.find(id)?;
        if let Some(motion) = held.motion {
            return Some(quantization.row_of(&motion.state.transform()));
        }
        let at = frame.ids().binary_search(&id).ok()? * WIDTH;
        Row::try_from(&frame.values()[at..at + WIDTH]).ok()
    }

    /// Returns the newest known transform of an entity. A motion row is integrated up to [`Replica::tick`].
    pub fn transform(&self, id: u32) -> Option<Transform> {
        let (held, frame) = self.find(id)?;
        match held.motion {
            Some(motion) => Some(motion.state.transform()),
            None => self.row(id).map(|row| frame.quantization.transform_of(&row)),
        }
    }

    /// Returns the quantization of an entity's row.
    pub fn quantization(&self, id: u32) -> Option<Quantization> {
        self.find(id).map(|(_, frame)| frame.quantization)
    }

    /// Returns the group of an entity, and the group's newest frame.
    fn find(&self, id: u32) -> Option<(&Held, &HeldFrame)> {
        let held = self.groups.get(self.placed.get(&id)?)?;
        let frame = held.frames.back()?;
        frame.ids().binary_search(&id).is_ok().then_some((held, frame))
    }

    /// Returns all newest known transforms, ordered by id.
    pub fn transforms(&self) -> impl Iterator<Item = (u32, Transform)> {
        self.placed.keys().filter_map(|id| Some((*id, self.transform(*id)?)))
    }

    /// Returns all newest known rows, ordered by id.
    pub fn rows(&self) -> impl Iterator<Item = (u32, Row)> {
        self.placed.keys().filter_map(|id| Some((*id, self.row(*id)?)))
    }
}

/// Whether one step is later than another. Steps wrap.
fn is_after(tick: u32, other: u32) -> bool {
    tick.wrapping_sub(other) as i32 > 0
}

impl Held {
    fn find(&self, tick: u32) -> Option<&HeldFrame> {
        self.frames.iter().rev().find(|frame| frame.tick() == tick)
    }

    /// Inserts a frame in order. Returns whether it is the newest.
    fn keep(&mut self, frame: HeldFrame) -> bool {
        let is_older = |other: &HeldFrame| frame.tick().wrapping_sub(other.tick()) as i32 > 0;
        let place = self.frames.iter().rposition(is_older).map_or(0, |at| at + 1);
        self.frames.insert(place, frame);
        let is_newest = place + 1 == self.frames.len();
        if is_newest {
            self.motion = HeldMotion::of(&self.frames[place]);
        }
        if is_newest && self.frames[place].ids().is_empty() {
            self.forgotten_tick = Some(self.frames[place].tick());
            self.frames.drain(..place);
        }
        if self.frames.len() > FRAMES_HELD {
            self.frames.pop_front();
        }
        is_newest
    }
}
