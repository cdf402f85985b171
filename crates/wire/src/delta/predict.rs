//! Guessing a row before it is coded. The better the guess, the smaller what remains to be said.

use super::frame::{Column, Layout};
use super::orientation;
use super::past::Past;

/// What a predictor expects in one column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Guess {
    /// The expected value; anything, it need not fit its column.
    pub value: i32,
    /// Where the truth may lie if the value is not it: -1 below, 1 above, 0 on either side.
    pub lean: i8,
    /// How far off the guess may be, as [`magnitude`] of sixteenths of a step.
    pub doubt: u8,
    /// How far the guess is from where the value was in the baseline.
    pub moved: i32,
}

/// The hook for knowledge about how entities move.
///
/// Both ends run the same predictor over the same frames in the same order, so its results must not differ between
/// machines by a single bit: whole numbers, or `f64` with nothing but `+ - * /`, `sqrt`, comparisons and `floor`, which
/// IEEE 754 defines exactly.
pub trait Predictor {
    /// Prepares for the rows of a frame. `memory` is what [`Predictor::memory`] returned after the baseline, or empty.
    fn start(&mut self, layout: &Layout, past: &Past<'_>, memory: &[f64]);

    /// Guesses one column of a row whose earlier columns are known. Rows come in the order of their ids; only rows that
    /// changed are asked for.
    fn guess(&mut self, past: &Past<'_>, row: usize, column: usize, known: &[i32]) -> Guess;

    /// Tells what a changed row turned out to be.
    fn learn(&mut self, past: &Past<'_>, row: usize, values: &[i32]);

    /// What to keep with the baseline that this frame becomes.
    fn memory(&self) -> Vec<f64> {
        Vec::new()
    }

    /// The most entities of a frame that this predictor takes; less than any where its work grows faster than their
    /// number, so that no packet can ask for more than a moment of it.
    fn entities_max(&self) -> usize {
        usize::MAX
    }
}

/// Expects that what moved goes on moving at the speed it had between the last two baselines.
#[derive(Debug, Clone, Default)]
pub struct Linear {
    columns: Vec<Column>,
}

impl Predictor for Linear {
    fn start(&mut self, layout: &Layout, _: &Past<'_>, _: &[f64]) {
        self.columns.clear();
        self.columns.extend_from_slice(layout.columns());
    }

    fn guess(&mut self, past: &Past<'_>, row: usize, column: usize, known: &[i32]) -> Guess {
        let Some(base) = past.row(0, row) else { return Guess::default() };
        let kind = self.columns[column];
        if matches!(kind, Column::Flag | Column::Largest { .. }) {
            return Guess { value: base[column], ..Guess::default() };
        }
        let before = past.row(1, row).unwrap_or(base);
        let oldest = past.row(2, row).unwrap_or(before);
        let [now, then, first] = [base, before, oldest].map(|row| match kind {
            // Components can only be compared where the same one is left out.
            Column::Component { bits, first } => {
                orientation::in_frame_of(row, first, bits, known[first])[column - first - 1]
            }
            _ => row[column],
        });
        let step = kind.difference(now, then);
        let bend = step.wrapping_sub(kind.difference(then, first));
        let moved = extrapolate(step, past.age(0), past.age(1).wrapping_sub(past.age(0)));
        let doubt = magnitude(bend.unsigned_abs().min(STEP_MAX) * 8);
        Guess { value: kind.sum(now, moved), lean: 0, doubt, moved }
    }

    fn learn(&mut self, _: &Past<'_>, _: usize, _: &[i32]) {}
}

/// Steps beyond this are jumps, not motion.
const STEP_MAX: u32 = 1 << 20;

/// How far something goes in `ahead` ticks that went `step` in the `behind` ticks before, to the nearest whole number.
fn extrapolate(step: i32, ahead: u32, behind: u32) -> i32 {
    if step.unsigned_abs() > STEP_MAX || behind == 0 || behind > 255 || ahead > 255 {
        return 0;
    }
    let (step, ahead, behind) = (i64::from(step), i64::from(ahead), i64::from(behind));
    (2 * step * ahead + behind).div_euclid(2 * behind) as i32
}

/// The size of a number on a scale of half octaves: 0, 1, 2, 3, 4 (for 4 and 5), 5 (6 and 7), 6 (8 to 11), … up to 31.
#[inline]
pub fn magnitude(size: u32) -> u8 {
    if size < 4 {
        return size as u8;
    }
    let octave = 31 - size.leading_zeros();
    (2 * octave + ((size >> (octave - 1)) & 1)).min(31) as u8
}
