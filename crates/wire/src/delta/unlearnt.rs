//! The state of baselines that are built only from frames, without learned state.

use super::frame::{Frame, Layout};
use super::past::{Past, Prior};

/// Error that is assumed for each deviation of a motion from a straight line, in sixteenths of a step. About half of the
/// deviation is expected to be predicted.
const ERROR_OF_BEND: u32 = 8;
const BEND_MAX: u32 = 4_000;

/// The state of the newest of some baselines.
#[derive(Debug, Clone, Default)]
pub(super) struct Unlearnt {
    pub(super) changes: Vec<u8>,
    pub(super) errors: Vec<u16>,
}

impl Unlearnt {
    /// Estimates the state of the newest of these frames, which come newest first.
    ///
    /// So the state depends only on the frames, and not on the packets that carried them (`spec/DELTA.md`, section 13).
    pub(super) fn estimate(&mut self, layout: &Layout, frames: &[&Frame]) {
        self.changes.clear();
        self.errors.clear();
        let Some((newest, older)) = frames.split_first() else { return };
        let older = Prior::of_frames(older, &[], &[]);
        let past = Past::new(newest.tick(), layout.width(), newest.ids(), older);
        for row in 0..newest.len() {
            let b = newest.row(row, layout.width());
            let p = past.row(0, row).unwrap_or(b);
            let o = past.row(1, row).unwrap_or(p);
            // Most rows rest, and a row that rests has no error.
            if b == p && p == o {
                self.changes.push(0);
                self.errors.resize(self.errors.len() + layout.width(), 0);
                continue;
            }
            self.changes.push(u8::from(b != p) | u8::from(p != o) << 1);
            let columns = layout.columns().iter().zip(b.iter().zip(p.iter().zip(o)));
            self.errors.extend(columns.map(|(column, (&b, (&p, &o)))| {
                let bend = column.difference(b, p).wrapping_sub(column.difference(p, o));
                (bend.unsigned_abs().min(BEND_MAX) * ERROR_OF_BEND) as u16
            }));
        }
    }
}
