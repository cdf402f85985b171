//! Predicts a row before it is coded. The better the guess, the fewer bits are needed.

use super::frame::{Column, Layout};
use super::orientation;
use super::past::Past;

/// A prediction of one column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Guess {
    /// The expected value. It may lie outside the range of its column.
    pub value: i32,
    /// The likely side of the value if the guess is wrong: -1 below, 1 above, 0 either side.
    pub lean: i8,
    /// The expected error of the guess, as [`magnitude`] of sixteenths of a step.
    pub doubt: u8,
    /// The distance of the guess from the value in the baseline.
    pub moved: i32,
}

/// Predicts the motion of entities. Implement it to use knowledge about your entities.
///
/// Both ends run the same predictor over the same frames in the same order. Therefore its results must be equal to the last bit
/// on all machines. Use integers, or `f64` with only `+ - * /`, `sqrt`, comparisons and `floor`, which IEEE 754 defines exactly.
pub trait Predictor {
    /// Prepares for the rows of a frame. `memory` is the result of [`Predictor::memory`] after the baseline was coded, or empty.
    fn start(&mut self, layout: &Layout, past: &Past<'_>, memory: &[f64]);

    /// Guesses one column of a row whose earlier columns are known. The codec calls this method only for rows that changed, in
    /// the order of their ids.
    fn guess(&mut self, past: &Past<'_>, row: usize, column: usize, known: &[i32]) -> Guess;

    /// Receives the true values of a changed row.
    fn learn(&mut self, past: &Past<'_>, row: usize, values: &[i32]);

    /// Returns the memory that is stored with the baseline that this frame becomes.
    fn memory(&self) -> Vec<f64> {
        Vec::new()
    }

    /// Maximum number of entities in a frame of this predictor. The limit is lower if the work grows faster than the number of
    /// entities. So no packet can cause more than a moment of work.
    fn entities_max(&self) -> usize {
        usize::MAX
    }
}

/// Extrapolates each value with its velocity between the last two baselines.
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
            // Components can be compared only if the same component is left out in both rows.
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

/// A step larger than this is a jump, not motion.
const STEP_MAX: u32 = 1 << 20;

/// Returns the distance covered in `ahead` ticks, rounded to a whole number. `step` is the distance covered in the previous
/// `behind` ticks.
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
