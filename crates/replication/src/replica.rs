//! The other end: what a viewer knows.

use std::collections::{BTreeMap, VecDeque};

use nowcast_wire::delta::{Codec, Frame, Limits, Linear, Mode};

use crate::payload::{PayloadError, PayloadReader, RecordHead};
use crate::row::{Row, WIDTH, layout};
use crate::{FRAMES_HELD, GROUP_ENTITIES_MAX};

/// A copy of a world's movement, kept up by payloads in any order and with any losses.
#[derive(Debug)]
pub struct Replica {
    codec: Codec<Linear>,
    groups: BTreeMap<u16, Held>,
    tick: u32,
    is_empty: bool,
}

/// The frames of a group that later ones may be encoded against, oldest first.
#[derive(Debug, Default)]
struct Held {
    frames: VecDeque<Frame>,
}

/// What a payload said.
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
        let limits = Limits { entities_max: GROUP_ENTITIES_MAX };
        let codec = Codec::new(layout(), Mode::Fast, Linear::default()).limits(limits);
        Self { codec, groups: BTreeMap::new(), tick: 0, is_empty: true }
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
            match self.record(&head, delta)? {
                Some(is_newer) => applied.groups += usize::from(is_newer),
                None => applied.missing += 1,
            }
        }
        if self.is_empty || reader.tick.wrapping_sub(self.tick) as i32 > 0 {
            (self.tick, self.is_empty) = (reader.tick, false);
        }
        Ok(applied)
    }

    /// Whether the group is newer now; `None` if it cannot be known.
    fn record(&mut self, head: &RecordHead, delta: &[u8]) -> Result<Option<bool>, PayloadError> {
        let held = self.groups.entry(head.group).or_default();
        if held.find(head.tick).is_some() {
            return Ok(Some(false));
        }
        let past: Option<Vec<&Frame>> = head.past.iter().flatten().map(|tick| held.find(*tick)).collect();
        let Some(past) = past else { return Ok(None) };
        let frame = self
            .codec
            .decode_against_frames(head.tick, delta, &past)
            .map_err(|error| PayloadError::Delta { group: head.group, error })?;
        Ok(Some(held.keep(frame)))
    }

    /// The newest step that was heard of.
    pub fn tick(&self) -> u32 {
        self.tick
    }

    /// An entity as newest known.
    pub fn row(&self, id: u32) -> Option<Row> {
        self.rows().find(|(other, _)| *other == id).map(|(_, row)| row)
    }

    /// Everything as newest known, group by group.
    pub fn rows(&self) -> impl Iterator<Item = (u32, Row)> {
        self.groups.values().filter_map(|held| held.frames.back()).flat_map(|frame| {
            let rows = frame.values().chunks_exact(WIDTH);
            frame
                .ids()
                .iter()
                .copied()
                .zip(rows.map(|row| Row::try_from(row).expect("chunks have this width")))
        })
    }
}

impl Held {
    fn find(&self, tick: u32) -> Option<&Frame> {
        self.frames.iter().rev().find(|frame| frame.tick() == tick)
    }

    /// Puts a frame in its place; returns whether it is the newest.
    fn keep(&mut self, frame: Frame) -> bool {
        let is_older = |other: &Frame| frame.tick().wrapping_sub(other.tick()) as i32 > 0;
        let place = self.frames.iter().rposition(is_older).map_or(0, |at| at + 1);
        self.frames.insert(place, frame);
        let is_newest = place + 1 == self.frames.len();
        if self.frames.len() > FRAMES_HELD {
            self.frames.pop_front();
        }
        is_newest
    }
}
