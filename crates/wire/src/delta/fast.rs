//! The fast mode: masks that mark the columns whose guess was wrong, and adaptive Rice codes.

use crate::entropy::EntropyError;
use crate::entropy::rice::{Bits, unzigzag, zigzag};

use super::frame::Column;
use super::learnt::{Means, SITUATIONS};
use super::predict::magnitude;
use super::walk::{Scene, Symbols};

/// The fast mode, for reading or writing bits.
pub(super) struct Fast<'a, B> {
    pub(super) bits: B,
    pub(super) means: &'a mut Means,
    /// The places of the means that this frame changed.
    pub(super) touched: &'a mut Vec<u16>,
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
                let place = column * SITUATIONS + own * 16 + row;
                self.touched.push(place as u16);
                let mean = &mut self.means.means[place];
                let share = *mean / 22;
                let k = if share == 0 { 0 } else { 32 - share.leading_zeros() };
                let value = self.bits.rice(zigzag(residual), k)?;
                *mean = (*mean * 31 + value.min(1 << 16) * 16) / 32;
                Ok(unzigzag(value))
            }
        }
    }
}
