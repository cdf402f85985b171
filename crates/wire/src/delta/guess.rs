//! Guesses a row before it is coded, by linear motion. The better the guess, the fewer bits are needed.
//!
//! The arithmetic uses integers, and `f64` with operations that IEEE 754 defines exactly, in an order that the specification
//! fixes. So both ends round in the same way.

use super::frame::{Column, Layout};
use super::past::{DEPTH_MAX, Past};

/// Guesses the columns of a row, one after the other.
pub(super) struct Guesses<'a> {
    /// The entity's rows in the baselines, newest first. `None` if the entity is not in the newest baseline.
    rows: Option<[&'a [i32]; DEPTH_MAX]>,
    ahead: u32,
    behind: u32,
    /// The place of the row's first value in the frame.
    start: usize,
    width: usize,
    /// The components of an orientation in these rows, if the largest component of the frame's row is left out.
    components: [[i32; 3]; DEPTH_MAX],
}

impl<'a> Guesses<'a> {
    pub(super) fn new(
        rows: Option<[&'a [i32]; DEPTH_MAX]>,
        past: &Past<'_>,
        start: usize,
        width: usize,
    ) -> Self {
        let Past { ahead, behind, .. } = *past;
        Self { rows, ahead, behind, start, width, components: [[0; 3]; DEPTH_MAX] }
    }

    /// Guesses a column. `values` holds at least all values of the frame before this one.
    #[inline]
    pub(super) fn column(&mut self, column: usize, kind: Column, values: &[i32]) -> i32 {
        let Some(rows) = self.rows else {
            // For an entity that is not in the baseline, the previous row is the best guess.
            return self.start.checked_sub(self.width).map_or(0, |above| values[above + column]);
        };
        let [now, then, _] = match kind {
            Column::Largest => return rows[0][column],
            Column::Number => rows.map(|row| row[column]),
            Column::Component { bits, first } => {
                // The three components follow each other.
                if column == first + 1 {
                    self.components =
                        rows.map(|row| in_frame_of(row, first, bits, values[self.start + first]));
                }
                self.components.map(|components| components[column - first - 1])
            }
        };
        now.wrapping_add(extrapolate(now.wrapping_sub(then), self.ahead, self.behind))
    }
}

/// The expected errors of a row's guesses, in sixteenths of a step. A guess is expected to predict about half of each deviation
/// from a straight line.
pub(super) fn expected_errors(rows: Option<[&[i32]; DEPTH_MAX]>) -> [u32; Layout::COLUMNS_MAX] {
    let Some([now, then, first]) = rows else { return [ERROR_OF_NEW; Layout::COLUMNS_MAX] };
    let mut errors = [0; Layout::COLUMNS_MAX];
    for (error, (now, (then, first))) in errors.iter_mut().zip(now.iter().zip(then.iter().zip(first))) {
        let bend = now.wrapping_sub(*then).wrapping_sub(then.wrapping_sub(*first));
        *error = bend.unsigned_abs().min(BEND_MAX) * ERROR_OF_BEND;
    }
    errors
}

/// The expected error in a new row, because nothing is known about it.
const ERROR_OF_NEW: u32 = 1 << 12;
const ERROR_OF_BEND: u32 = 8;
const BEND_MAX: u32 = 4_000;

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

/// For each largest component, the indices of the components that are stored.
const OTHERS: [[usize; 3]; 4] = [[1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2]];

/// Returns the rounded components of a row's orientation that would be stored if `largest` were left out. Components can be
/// compared only if the same component is left out in both rows.
fn in_frame_of(row: &[i32], first: usize, bits: u32, largest: i32) -> [i32; 3] {
    if row[first] == largest {
        return [row[first + 1], row[first + 2], row[first + 3]];
    }
    let top = f64::from((1 << bits) - 1);
    let [a, b, c] = [1, 2, 3].map(|at| 2.0 * f64::from(row[first + at]) - top);
    let rest = 2.0 * top * top - (a * a + b * b + c * c);
    let mut quaternion = [0.0; 4];
    quaternion[(row[first] & 3) as usize] = if rest > 0.0 { rest.sqrt() } else { 0.0 };
    for (index, part) in OTHERS[(row[first] & 3) as usize].into_iter().zip([a, b, c]) {
        quaternion[index] = part;
    }
    // A quaternion and its negative are the same orientation. The sign is chosen so that the component that is left out is
    // positive.
    let largest = (largest & 3) as usize;
    let sign = if quaternion[largest] < 0.0 { -1.0 } else { 1.0 };
    OTHERS[largest].map(|index| ((sign * quaternion[index] + top) / 2.0 + 0.5).floor() as i32)
}
