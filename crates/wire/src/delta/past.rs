//! The baselines of a frame. Their rows are aligned to the rows of the frame.

use super::baseline::Baseline;

/// The common input of both ends when a frame is coded: up to [`Past::DEPTH`] acknowledged baselines, newest first.
#[derive(Debug)]
pub struct Past<'a> {
    tick: u32,
    width: usize,
    baselines: &'a [&'a Baseline],
    /// For each baseline, the index of each row of the frame in this baseline. Empty if the ids are equal.
    places: [Vec<u32>; Past::DEPTH],
    rows: usize,
}

const ABSENT: u32 = u32::MAX;

impl<'a> Past<'a> {
    /// Maximum number of baselines of a frame.
    pub const DEPTH: usize = 3;

    pub(super) fn new(tick: u32, width: usize, ids: &[u32], baselines: &'a [&'a Baseline]) -> Self {
        debug_assert!(baselines.len() <= Self::DEPTH);
        let mut places = [const { Vec::new() }; Self::DEPTH];
        for (places, baseline) in places.iter_mut().zip(baselines) {
            if baseline.frame().ids() != ids {
                *places = line_up(ids, baseline.frame().ids());
            }
        }
        Self { tick, width, baselines, places, rows: ids.len() }
    }

    /// The number of rows of the frame.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The number of baselines.
    pub fn depth(&self) -> usize {
        self.baselines.len()
    }

    /// The age of baseline `depth`, in ticks before the frame; 0 if there is no such baseline.
    pub fn age(&self, depth: usize) -> u32 {
        self.baselines.get(depth).map_or(0, |baseline| self.tick.wrapping_sub(baseline.frame().tick()))
    }

    /// Returns the row that the entity of the frame's row `row` has in baseline `depth`, if it has one.
    #[inline]
    pub fn row(&self, depth: usize, row: usize) -> Option<&'a [i32]> {
        let baseline = self.baselines.get(depth)?;
        Some(baseline.frame().row(self.place(depth, row)?, self.width))
    }

    /// The index of the frame's `row` in baseline `depth`.
    #[inline]
    pub(super) fn place(&self, depth: usize, row: usize) -> Option<usize> {
        let places = &self.places[depth];
        if depth >= self.baselines.len() {
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
        self.place(0, row).map_or(0, |place| self.baselines[0].changes[place])
    }

    /// Whether the frame has the rows of the newest baseline, at the same indices.
    pub(super) fn same_ids(&self) -> bool {
        // The list of indices is also empty for a frame without rows, so the numbers of rows are compared.
        self.newest().is_some_and(|newest| self.places[0].is_empty() && newest.frame().len() == self.rows)
    }

    pub(super) fn newest(&self) -> Option<&'a Baseline> {
        self.baselines.first().copied()
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
