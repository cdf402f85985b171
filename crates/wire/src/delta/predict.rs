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

    /// Guesses all columns of a row that is in the newest baseline, and whose values are known. The guesses are those of
    /// [`Predictor::guess`] for each column.
    fn guess_row(&mut self, past: &Past<'_>, row: usize, values: &[i32], guesses: &mut [Guess]) {
        for (column, guess) in guesses.iter_mut().enumerate().take(values.len()) {
            *guess = self.guess(past, row, column, &values[..column]);
        }
    }

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
        guess_of(kind, [now, then, first], ages(past))
    }

    fn guess_row(&mut self, past: &Past<'_>, row: usize, values: &[i32], guesses: &mut [Guess]) {
        let Some(base) = past.row(0, row) else { return guesses.fill(Guess::default()) };
        let before = past.row(1, row).unwrap_or(base);
        let oldest = past.row(2, row).unwrap_or(before);
        let ages = ages(past);
        let mut components = [[0; 3]; 3];
        for (column, (guess, kind)) in guesses.iter_mut().zip(&self.columns).enumerate() {
            let numbers = match *kind {
                Column::Flag | Column::Largest { .. } => {
                    *guess = Guess { value: base[column], ..Guess::default() };
                    continue;
                }
                Column::Component { bits, first } => {
                    // The three components follow each other.
                    if column == first + 1 {
                        components = [base, before, oldest]
                            .map(|row| orientation::in_frame_of(row, first, bits, values[first]));
                    }
                    components.map(|row| row[column - first - 1])
                }
                _ => [base[column], before[column], oldest[column]],
            };
            *guess = guess_of(*kind, numbers, ages);
        }
    }

    fn learn(&mut self, _: &Past<'_>, _: usize, _: &[i32]) {}
}

/// The ticks from the newest baseline to the frame, and from the baseline before to the newest.
fn ages(past: &Past<'_>) -> (u32, u32) {
    (past.age(0), past.age(1).wrapping_sub(past.age(0)))
}

/// Extrapolates a column from its values in three baselines, newest first.
#[inline]
fn guess_of(kind: Column, [now, then, first]: [i32; 3], (ahead, behind): (u32, u32)) -> Guess {
    let step = kind.difference(now, then);
    let bend = step.wrapping_sub(kind.difference(then, first));
    let moved = extrapolate(step, ahead, behind);
    let doubt = magnitude(bend.unsigned_abs().min(STEP_MAX) * 8);
    Guess { value: kind.sum(now, moved), lean: 0, doubt, moved }
}

/// A step larger than this is a jump, not motion.
const STEP_MAX: u32 = 1 << 20;

/// Returns the distance covered in `ahead` ticks, rounded to a whole number. `step` is the distance covered in the previous
/// `behind` ticks.
fn extrapolate(step: i32, ahead: u32, behind: u32) -> i32 {
    if step.unsigned_abs() > STEP_MAX || behind == 0 || behind > 255 || ahead > 255 {
        return 0;
    }
    if ahead == behind {
        return step;
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::delta::frame::{Field, Frame};
    use crate::delta::past::Prior;

    fn layout() -> Layout {
        let fields = [Field::Number, Field::Angle { bits: 9 }, Field::Flag, Field::Orientation { bits: 5 }];
        Layout::new(&fields).expect("the widths are allowed")
    }

    fn row() -> impl Strategy<Value = [i32; 7]> {
        let orientation = (0..4i32, 0..32i32, 0..32i32, 0..32i32);
        let number = prop_oneof![-50..50i32, any::<i32>()];
        (number, 0..512i32, 0..2i32, orientation)
            .prop_map(|(number, angle, flag, (largest, a, b, c))| [number, angle, flag, largest, a, b, c])
    }

    proptest! {
        #[test]
        fn a_row_is_guessed_like_its_columns(
            now in row(),
            past in proptest::collection::vec((row(), 1..70u32, any::<bool>()), 1..=3),
        ) {
            let (layout, mut tick) = (layout(), 1_000);
            let mut frames = Vec::new();
            for (values, gap, has_other) in &past {
                tick -= gap;
                let mut frame = Frame::new(tick);
                if *has_other {
                    frame.push(3, &now);
                }
                frame.push(7, values);
                frames.push(frame);
            }
            let frames: Vec<&Frame> = frames.iter().collect();
            let past = Past::new(1_000, 7, &[7], Prior::of_frames(&frames, &[], &[]));
            let mut linear = Linear::default();
            linear.start(&layout, &past, &[]);
            let mut guesses = [Guess::default(); 7];
            linear.guess_row(&past, 0, &now, &mut guesses);
            for column in 0..7 {
                prop_assert_eq!(guesses[column], linear.guess(&past, 0, column, &now[..column]));
            }
        }
    }
}
