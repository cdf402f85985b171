//! The baselines of a frame. Their rows are aligned to the rows of the frame.

use super::frame::Frame;

/// Maximum number of baselines of a frame.
pub(super) const DEPTH_MAX: usize = 3;

/// The common input of both ends when a frame is coded: up to [`DEPTH_MAX`] acknowledged frames, newest first.
pub(super) struct Past<'a> {
    width: usize,
    frames: &'a [&'a Frame],
    /// For each baseline, the index of each row of the frame in this baseline. Empty if the ids are equal.
    places: [Vec<u32>; DEPTH_MAX],
    /// The ticks from the newest baseline to the frame.
    pub(super) ahead: u32,
    /// The ticks from the baseline before to the newest. 0 if there is no baseline before.
    pub(super) behind: u32,
}

const ABSENT: u32 = u32::MAX;

impl<'a> Past<'a> {
    pub(super) fn new(tick: u32, width: usize, ids: &[u32], frames: &'a [&'a Frame]) -> Self {
        let mut places = [const { Vec::new() }; DEPTH_MAX];
        for (places, frame) in places.iter_mut().zip(frames) {
            if frame.ids() != ids {
                *places = line_up(ids, frame.ids());
            }
        }
        let [ahead, behind] = match *frames {
            [] => [0; 2],
            [newest] => [tick.wrapping_sub(newest.tick()), 0],
            [newest, before, ..] => {
                [tick.wrapping_sub(newest.tick()), newest.tick().wrapping_sub(before.tick())]
            }
        };
        Self { width, frames, places, ahead, behind }
    }

    /// Returns the rows of an entity in the baselines, newest first, for the frame's row `row`. A row that is missing in an older
    /// baseline counts as the row of the newer one. `None` if the entity is not in the newest baseline.
    #[inline]
    pub(super) fn rows(&self, row: usize) -> Option<[&'a [i32]; DEPTH_MAX]> {
        let newest = self.row(0, row)?;
        let before = self.row(1, row).unwrap_or(newest);
        Some([newest, before, self.row(2, row).unwrap_or(before)])
    }

    #[inline]
    fn row(&self, depth: usize, row: usize) -> Option<&'a [i32]> {
        let frame = self.frames.get(depth)?;
        match self.places[depth].get(row) {
            None => Some(frame.row(row, self.width)),
            Some(&ABSENT) => None,
            Some(&place) => Some(frame.row(place as usize, self.width)),
        }
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
