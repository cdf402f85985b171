//! The small mode. Every decision has an adaptive probability that depends on its context, and an arithmetic coder writes it.

use crate::entropy::EntropyError;
use crate::entropy::arith::Coder;
use crate::entropy::expect::{Expectation, Inputs, level, log};
use crate::entropy::model::CLASSES;

use super::frame::Column;
use super::learnt::{CHOICES, Models, SIZES};
use super::predict::magnitude;
use super::walk::{Scene, Symbols, sixteenths};

/// The small mode, for encoding or decoding.
pub(super) struct Small<'a, C> {
    pub(super) coder: C,
    models: &'a mut Models,
    /// The errors of the last three numbers, as levels, newest first.
    recent: [f64; 3],
}

impl<'a, C: Coder> Small<'a, C> {
    pub(super) fn new(coder: C, models: &'a mut Models) -> Self {
        models.expectations.iter_mut().for_each(Expectation::check);
        Self { coder, models, recent: [level(0); 3] }
    }

    /// Codes a flag or a largest component. The residual of a flag is 1 if the guess was wrong. The residual of a largest
    /// component is its distance from the guess, among the other three.
    fn choice(&mut self, residual: i32, column: usize, scene: &Scene) -> Result<i32, EntropyError> {
        let nodes = &mut self.models.choices[column];
        let flag = scene.kind == Column::Flag;
        let context = if flag {
            (usize::from(scene.changed & 7) << 2) | (scene.guess.value & 3) as usize
        } else {
            usize::from(scene.guess.doubt) % CHOICES
        };
        let other = nodes[2 * context].code(&mut self.coder, residual != 0)?;
        if !other || flag {
            return Ok(i32::from(other));
        }
        if !nodes[2 * context + 1].code(&mut self.coder, residual > 1)? {
            return Ok(1);
        }
        Ok(2 + self.coder.raw(u32::from(residual > 2), 1)? as i32)
    }

    fn number(&mut self, residual: i32, column: usize, scene: &Scene) -> Result<i32, EntropyError> {
        let guess = scene.guess;
        let [newest, second, third] = self.recent;
        let inputs: Inputs = [
            1.0,
            level(u32::from(scene.error)),
            level(scene.row_error),
            LEVELS_OF_DOUBT[usize::from(guess.doubt) % LEVELS_OF_DOUBT.len()],
            level(guess.moved.unsigned_abs().min(1 << 20) * 4),
            newest,
            second,
            third,
        ];
        let expectation = &mut self.models.expectations[column];
        let expected = expectation.expect(&inputs);
        // A positive sign stands for a direction away from the value in the baseline, and a negative sign for one back towards
        // it.
        let sign = if guess.moved > 0 { -1 } else { 1 };
        let coded = self.models.numbers[scene.group].code(
            &mut self.coder,
            residual.wrapping_mul(sign),
            class(expected),
            i32::from(guess.lean) * sign,
        )?;
        let found = log(sixteenths(coded));
        expectation.learn(&inputs, found - expected);
        self.recent = [found - 6.0, newest, second];
        Ok(coded.wrapping_mul(sign))
    }
}

/// Returns the half octave of a logarithm; the first one if the logarithm is not a number.
#[inline]
fn class(expected: f64) -> usize {
    if expected > 0.0 { (2.0 * expected + 0.5).min((CLASSES - 1) as f64) as usize } else { 0 }
}

/// The smallest size of each magnitude, as a level.
const LEVELS_OF_DOUBT: [f64; 32] = {
    let mut levels = [0.0; 32];
    let mut at = 0;
    while at < 32 {
        levels[at] = level(if at < 4 { at as u32 } else { (2 + (at as u32 & 1)) << (at / 2 - 1) });
        at += 1;
    }
    levels
};

impl<C: Coder> Symbols for Small<'_, C> {
    const MASKS: bool = false;

    fn plain(&mut self, value: u32, bits: u32) -> Result<u32, EntropyError> {
        self.coder.raw(value, bits)
    }

    fn row_changed(&mut self, changed: bool, scene: &Scene) -> Result<bool, EntropyError> {
        let flags = usize::from(scene.flags & 3);
        let node = if scene.changed == 0 {
            &mut self.models.still[((scene.near_changed & 7) << 2) | flags]
        } else {
            &mut self.models.moving[(usize::from(magnitude(scene.speed)).min(SIZES - 1) << 2) | flags]
        };
        node.code(&mut self.coder, changed)
    }

    fn mask(&mut self, _: u64, _: u64) -> Result<u64, EntropyError> {
        // With these contexts, a value that equals its guess costs almost no bits.
        Ok(u64::MAX)
    }

    #[inline]
    fn value(&mut self, residual: i32, column: usize, scene: &Scene) -> Result<i32, EntropyError> {
        match scene.kind {
            Column::Flag | Column::Largest { .. } => self.choice(residual, column, scene),
            _ => self.number(residual, column, scene),
        }
    }
}
