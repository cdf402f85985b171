//! The fast mode: masks of what was not as guessed, and adaptive Rice codes.

use crate::entropy::EntropyError;
use crate::entropy::rice::{Bits, unzigzag, zigzag};

use super::frame::{Column, Layout};
use super::predict::magnitude;
use super::walk::{Scene, Symbols};

/// How large residuals were, for every column and situation: what the fast mode has learnt.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Means {
    /// Running means of zigzagged residuals in sixteenths.
    means: Vec<u32>,
}

const SITUATIONS: usize = 32 * 16;

impl Means {
    pub(super) fn new(layout: &Layout) -> Self {
        let of = |situation: usize| {
            // What the first half octave of a magnitude stands for, twice, since zigzag doubles.
            let own = (situation / 16) as u32;
            if own < 4 { own * 2 } else { (2 + (own & 1)) << (own / 2) }
        };
        let column: Vec<u32> = (0..SITUATIONS).map(of).collect();
        Self { means: column.repeat(layout.width()) }
    }
}

/// The fast mode over either direction of bits.
pub(super) struct Fast<'a, B> {
    pub(super) bits: B,
    pub(super) means: &'a mut Means,
}

impl<B: Bits> Symbols for Fast<'_, B> {
    const MASKS: bool = true;

    fn plain(&mut self, value: u32, bits: u32) -> Result<u32, EntropyError> {
        self.bits.bits(value, bits)
    }

    fn row_changed(&mut self, changed: bool, _: &Scene) -> Result<bool, EntropyError> {
        Ok(self.bits.bits(u32::from(changed), 1)? == 1)
    }

    fn mask(&mut self, missed: u64, quiet: u64) -> Result<u64, EntropyError> {
        let mut mask = !quiet;
        if quiet != 0 && self.bits.bits(u32::from(missed & quiet != 0), 1)? == 1 {
            for column in (0..64).filter(|column| quiet >> column & 1 == 1) {
                mask |= u64::from(self.bits.bits((missed >> column) as u32 & 1, 1)?) << column;
            }
        }
        Ok(mask)
    }

    fn value(&mut self, residual: i32, column: usize, scene: &Scene) -> Result<i32, EntropyError> {
        match scene.kind {
            Column::Flag => Ok(self.bits.bits(residual as u32, 1)? as i32),
            Column::Largest { .. } => {
                let other = self.bits.rice(residual as u32, 0)?;
                i32::try_from(other).ok().filter(|other| *other < 4).ok_or(EntropyError::Range)
            }
            _ => {
                let own = usize::from(magnitude(u32::from(scene.error)));
                let row = usize::from(magnitude(scene.row_error)) / 2;
                let mean = &mut self.means.means[column * SITUATIONS + own * 16 + row];
                let share = *mean / 22;
                let k = if share == 0 { 0 } else { 32 - share.leading_zeros() };
                let value = self.bits.rice(zigzag(residual), k)?;
                *mean = (*mean * 31 + value.min(1 << 16) * 16) / 32;
                Ok(unzigzag(value))
            }
        }
    }
}
