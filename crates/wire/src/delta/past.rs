//! The baselines of a frame. Their rows are aligned to the rows of the frame.

use super::baseline::Baseline;
use super::frame::Frame;

/// The common input of both ends when a frame is coded: up to [`Past::DEPTH`] acknowledged baselines, newest first.
#[derive(Debug)]
pub struct Past<'a> {
    tick: u32,
    width: usize,
    prior: Prior<'a>,
    /// For each baseline, the index of each row of the frame in this baseline. Empty if the ids are equal.
    places: [Vec<u32>; Past::DEPTH],
    rows: usize,
}

const ABSENT: u32 = u32::MAX;

/// The baselines of a frame, newest first, and the state learned up to the newest.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Prior<'a> {
    /// Unused places are `None`, and come last.
    frames: [Option<&'a Frame>; Past::DEPTH],
    /// For each row of the newest baseline, its history of changes. See [`Baseline`].
    changes: &'a [u8],
    /// For each value of the newest baseline, the recent error of its guess. See [`Baseline`].
    errors: &'a [u16],
}

impl<'a> Prior<'a> {
    /// Takes at most [`Past::DEPTH`] baselines.
    pub(super) fn of_baselines(baselines: &[&'a Baseline]) -> Self {
        let mut frames = [None; Past::DEPTH];
        for (place, baseline) in frames.iter_mut().zip(baselines) {
            *place = Some(baseline.frame());
        }
        let newest = baselines.first();
        let changes = newest.map_or(&[][..], |newest| &newest.changes);
        Self { frames, changes, errors: newest.map_or(&[], |newest| &newest.errors) }
    }

    /// Takes at most [`Past::DEPTH`] frames, and the state of the newest.
    pub(super) fn of_frames(frames: &[&'a Frame], changes: &'a [u8], errors: &'a [u16]) -> Self {
        let mut places = [None; Past::DEPTH];
        for (place, frame) in places.iter_mut().zip(frames) {
            *place = Some(*frame);
        }
        Self { frames: places, changes, errors }
    }

    /// The newest baseline.
    pub(super) fn newest(&self) -> Option<&'a Frame> {
        self.frames[0]
    }
}

impl<'a> Past<'a> {
    /// Maximum number of baselines of a frame.
    pub const DEPTH: usize = 3;

    pub(super) fn new(tick: u32, width: usize, ids: &[u32], prior: Prior<'a>) -> Self {
        let mut places = [const { Vec::new() }; Self::DEPTH];
        for (places, frame) in places.iter_mut().zip(prior.frames.iter().flatten()) {
            if frame.ids() != ids {
                *places = line_up(ids, frame.ids());
            }
        }
        Self { tick, width, prior, places, rows: ids.len() }
    }

    /// The number of rows of the frame.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The number of baselines.
    pub fn depth(&self) -> usize {
        self.prior.frames.iter().flatten().count()
    }

    /// The age of baseline `depth`, in ticks before the frame; 0 if there is no such baseline.
    pub fn age(&self, depth: usize) -> u32 {
        self.frame(depth).map_or(0, |frame| self.tick.wrapping_sub(frame.tick()))
    }

    /// Returns the row that the entity of the frame's row `row` has in baseline `depth`, if it has one.
    #[inline]
    pub fn row(&self, depth: usize, row: usize) -> Option<&'a [i32]> {
        let frame = self.frame(depth)?;
        Some(frame.row(self.place(depth, row)?, self.width))
    }

    #[inline]
    fn frame(&self, depth: usize) -> Option<&'a Frame> {
        self.prior.frames.get(depth).copied().flatten()
    }

    /// The index of the frame's `row` in baseline `depth`.
    #[inline]
    pub(super) fn place(&self, depth: usize, row: usize) -> Option<usize> {
        let places = self.places.get(depth)?;
        if self.frame(depth).is_none() {
            None
        } else if places.is_empty() {
            Some(row)
        } else {
            Some(places[row]).filter(|&place| place != ABSENT).map(|place| place as usize)
        }
    }

    /// Whether the frame's `row` had changed in the newest baseline.
    #[inline]
    pub fn changed(&self, row: usize) -> bool {
        self.changes(row) & 1 == 1
    }

    /// Returns the history of changes of the frame's `row`, from the newest baseline; 0 if the entity was not in that baseline.
    #[inline]
    pub(super) fn changes(&self, row: usize) -> u8 {
        self.place(0, row).map_or(0, |place| self.prior.changes[place])
    }

    /// Whether the frame has the rows of the newest baseline, at the same indices.
    pub(super) fn same_ids(&self) -> bool {
        // The list of indices is also empty for a frame without rows, so the numbers of rows are compared.
        self.newest().is_some_and(|newest| self.places[0].is_empty() && newest.len() == self.rows)
    }

    pub(super) fn newest(&self) -> Option<&'a Frame> {
        self.prior.newest()
    }

    /// For each value of the newest baseline, the recent error of its guess.
    pub(super) fn errors(&self) -> &'a [u16] {
        self.prior.errors
    }
}

/// The ids of both lists rise, so one pass over both lists finds all common ids.
fn line_up(ids: &[u32], others: &[u32]) -> Vec<u32> {
    let mut at = 0;
    ids.iter()
        .map(|id| {
            while at < others.len() && others[at] < *id {
                at += 1;
            }
            if others.get(at) == Some(id) { at as u32 } else { ABSENT }
        })
        .collect()
}
