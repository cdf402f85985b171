//! The other end: what a viewer knows.

use std::collections::{BTreeMap, VecDeque};

use nowcast_wire::delta::Frame;

use crate::FRAMES_HELD;
use crate::frames::Codecs;
use crate::payload::{PayloadError, PayloadReader, RecordHead};
use crate::row::{Quantization, Row, WIDTH};
use crate::transform::Transform;

/// Entities out of sight that are remembered, so that late packets do not bring them back.
const HIDDEN_MAX: usize = 65_536;

/// A packet is not so late any more.
const LATE_STEPS_MAX: u32 = 3_600;

/// Groups of which nothing is in sight are forgotten when they were not heard of for so long.
const QUIET_STEPS: u32 = 600;

/// How often that is looked for.
const PAYLOADS_PER_SWEEP: u32 = 256;

/// A copy of a world's movement, kept up by payloads in any order and with any losses.
#[derive(Debug)]
pub struct Replica {
    codecs: Codecs,
    groups: BTreeMap<u16, Held>,
    /// The group of each entity: of those whose newest frame has it, the one with the newest.
    placed: BTreeMap<u32, u16>,
    /// Since when entities are out of sight. Rows that were told up to then do not count.
    hidden: BTreeMap<u32, u32>,
    tick: u32,
    is_empty: bool,
    payloads: u32,
}

/// The frames of a group that later ones may be encoded against, oldest first.
#[derive(Debug, Default)]
struct Held {
    frames: VecDeque<HeldFrame>,
    /// The step up to which the newest frame is known to hold: that of a payload.
    heard_tick: u32,
    /// Older frames were forgotten when this one came, or when the group was out of sight at this step.
    forgotten_tick: Option<u32>,
}

#[derive(Debug)]
struct HeldFrame {
    frame: Frame,
    grain: Quantization,
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
    /// The step of the world at which it left, modulo 2^32.
    pub tick: u32,
    /// The number of the viewer's newest controls that were in force at that step; 0 for none.
    pub controls: u16,
    /// Groups that are newer now.
    pub groups: usize,
    /// Groups encoded against baselines that are not here, which asks for [`crate::Viewer::reset`].
    pub missing: usize,
}

impl Default for Replica {
    fn default() -> Self {
        let (codecs, groups, placed, hidden) = Default::default();
        Self { codecs, groups, placed, hidden, tick: 0, is_empty: true, payloads: 0 }
    }
}

impl Replica {
    /// Takes in a payload.
    ///
    /// # Errors
    /// [`PayloadError`] for what no sender of `spec/WORLD.md` writes; what came before the error counts.
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
        self.payloads = self.payloads.wrapping_add(1);
        if self.payloads.is_multiple_of(PAYLOADS_PER_SWEEP) {
            self.sweep();
        }
        Ok(applied)
    }

    /// Whether the group is newer now; `None` if it cannot be known.
    fn record(
        &mut self,
        head: &RecordHead,
        delta: &[u8],
        payload_tick: u32,
    ) -> Result<Option<bool>, PayloadError> {
        let held = self.groups.entry(head.group).or_default();
        if held.find(head.tick).is_some() {
            self.hear(head.group, head.tick, payload_tick);
            return Ok(Some(false));
        }
        let past: Option<Vec<_>> = head.past.iter().flatten().map(|tick| held.find(*tick)).collect();
        let Some(past) = past else {
            // A payload older than the newest forgotten tick carries nothing new.
            let is_old = held.forgotten_tick.is_some_and(|forgotten| !is_after(payload_tick, forgotten));
            return Ok(is_old.then_some(false));
        };
        let grain = head.grain.or_else(|| past.first().map(|past| past.grain)).unwrap_or_default();
        if past.iter().any(|past| past.grain != grain) {
            return Err(PayloadError::Range("past age"));
        }
        let past: Vec<&Frame> = past.into_iter().map(|past| &past.frame).collect();
        let frame = self
            .codecs
            .of(grain)
            .decode_against_frames(head.tick, delta, &past)
            .map_err(|error| PayloadError::Delta { group: head.group, error })?;
        let before: Vec<u32> = held.frames.back().map_or(Vec::new(), |frame| frame.ids().to_vec());
        let is_newer = held.keep(HeldFrame { frame, grain });
        if is_newer {
            for id in before {
                if self.placed.get(&id) == Some(&head.group) {
                    self.placed.remove(&id);
                }
            }
            self.hear(head.group, head.tick, payload_tick);
        }
        Ok(Some(is_newer))
    }

    /// A payload of this step said that the frame of `tick` is the group's newest: its entities are there.
    fn hear(&mut self, group: u16, tick: u32, payload_tick: u32) {
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

    /// An entity is out of sight since this step: what was told of it up to then counts no longer, not even if it comes late.
    pub fn hide(&mut self, id: u32, tick: u32) {
        let is_heard_later = |held: &Held| is_after(held.heard_tick, tick);
        if let Some(group) = self.placed.get(&id).copied() {
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

    /// Forgets the frames of groups that were not heard of for long and of which nothing is in sight: their sender begins anew
    /// when that changes.
    fn sweep(&mut self) {
        let Self { groups, placed, tick, .. } = self;
        for (group, held) in groups {
            let is_quiet = is_after(*tick, held.heard_tick.wrapping_add(QUIET_STEPS));
            let ids = held.frames.back().map_or(&[][..], HeldFrame::ids);
            if is_quiet && !held.frames.is_empty() && ids.iter().all(|id| placed.get(id) != Some(group)) {
                held.frames.clear();
                held.forgotten_tick = Some(*tick);
            }
        }
    }

    /// The newest step that was heard of.
    pub fn tick(&self) -> u32 {
        self.tick
    }

    /// An entity as newest known.
    pub fn row(&self, id: u32) -> Option<Row> {
        self.find(id).map(|(row, _)| row)
    }

    /// Where an entity is, as newest known.
    pub fn transform(&self, id: u32) -> Option<Transform> {
        self.find(id).map(|(row, grain)| grain.transform_of(&row))
    }

    /// How fine the row of an entity is.
    pub fn grain(&self, id: u32) -> Option<Quantization> {
        self.find(id).map(|(_, grain)| grain)
    }

    fn find(&self, id: u32) -> Option<(Row, Quantization)> {
        let HeldFrame { frame, grain } = self.groups.get(self.placed.get(&id)?)?.frames.back()?;
        let at = frame.ids().binary_search(&id).ok()? * WIDTH;
        Some((Row::try_from(&frame.values()[at..at + WIDTH]).ok()?, *grain))
    }

    /// Where everything is, as newest known, ordered by id.
    pub fn transforms(&self) -> impl Iterator<Item = (u32, Transform)> {
        self.placed.keys().filter_map(|id| Some((*id, self.transform(*id)?)))
    }

    /// Everything as newest known, ordered by id.
    pub fn rows(&self) -> impl Iterator<Item = (u32, Row)> {
        self.placed.keys().filter_map(|id| Some((*id, self.row(*id)?)))
    }
}

/// Whether one step is later than another one; steps wrap.
fn is_after(tick: u32, other: u32) -> bool {
    tick.wrapping_sub(other) as i32 > 0
}

impl Held {
    fn find(&self, tick: u32) -> Option<&HeldFrame> {
        self.frames.iter().rev().find(|frame| frame.tick() == tick)
    }

    /// Puts a frame in its place; returns whether it is the newest.
    fn keep(&mut self, frame: HeldFrame) -> bool {
        let is_older = |other: &HeldFrame| frame.tick().wrapping_sub(other.tick()) as i32 > 0;
        let place = self.frames.iter().rposition(is_older).map_or(0, |at| at + 1);
        self.frames.insert(place, frame);
        let is_newest = place + 1 == self.frames.len();
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
