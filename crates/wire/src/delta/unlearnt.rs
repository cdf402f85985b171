//! Baselines that are built only from frames, without learned state.

use super::baseline::Baseline;
use super::frame::{Frame, Layout};
use super::learnt::Learnt;
use super::past::Past;

/// Error that is assumed for each deviation of a motion from a straight line, in sixteenths of a step. About half of the
/// deviation is expected to be predicted.
const ERROR_OF_BEND: u32 = 8;
const BEND_MAX: u32 = 4_000;

impl Baseline {
    /// Builds baselines from frames, newest first.
    ///
    /// The learned state is estimated from the frames. So it depends only on the frames, and not on the packets that carried them
    /// (`spec/DELTA.md`, section 13).
    pub(super) fn of_frames(layout: &Layout, frames: &[&Frame]) -> Vec<Self> {
        let mut baselines: Vec<Self> = frames.iter().map(|&frame| Self::unlearnt(frame.clone())).collect();
        let Some((newest, older)) = baselines.split_first_mut() else { return baselines };
        let older: Vec<&Self> = older.iter().collect();
        let past = Past::new(newest.frame.tick(), layout.width(), newest.frame.ids(), &older);
        for row in 0..newest.frame.len() {
            let b = newest.frame.row(row, layout.width());
            let p = past.row(0, row).unwrap_or(b);
            let o = past.row(1, row).unwrap_or(p);
            newest.changes.push(u8::from(b != p) | u8::from(p != o) << 1);
            for (at, column) in layout.columns().iter().enumerate() {
                let bend = column.difference(b[at], p[at]).wrapping_sub(column.difference(p[at], o[at]));
                newest.errors.push((bend.unsigned_abs().min(BEND_MAX) * ERROR_OF_BEND) as u16);
            }
        }
        baselines
    }

    fn unlearnt(frame: Frame) -> Self {
        Self {
            changes: Vec::with_capacity(frame.len()),
            errors: Vec::with_capacity(frame.values().len()),
            frame,
            learnt: Learnt::Nothing,
            memory: Vec::new(),
        }
    }
}
