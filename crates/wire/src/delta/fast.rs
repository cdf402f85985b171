//! The fast mode: masks of what was not as guessed, and adaptive Rice codes.

use crate::entropy::EntropyError;
use crate::entropy::rice::{Bits, unzigzag, zigzag};

use super::frame::Column;
use super::walk::{Scene, Symbols};

/// The fast mode over either direction of bits.
pub(super) struct Fast<B> {
    pub(super) bits: B,
}

impl<B: Bits> Symbols for Fast<B> {
    fn plain(&mut self, value: u32, bits: u32) -> Result<u32, EntropyError> {
        self.bits.bits(value, bits)
    }

    fn row_changed(&mut self, changed: bool, _: &Scene) -> Result<bool, EntropyError> {
        Ok(self.bits.bits(u32::from(changed), 1)? == 1)
    }

    fn value(&mut self, residual: i32, _: usize, kind: Column, scene: &Scene) -> Result<i32, EntropyError> {
        match kind {
            Column::Flag => Ok(self.bits.bits(residual as u32, 1)? as i32),
            Column::Largest { .. } => Ok(self.bits.rice(residual as u32, 0)? as i32),
            _ => {
                // The best parameter is near the binary logarithm of the mean; zigzag doubles sizes, hence an eighth.
                let mean = u32::from(scene.error) / 12;
                let k = if mean == 0 { 0 } else { 31 - mean.leading_zeros() };
                Ok(unzigzag(self.bits.rice(zigzag(residual), k)?))
            }
        }
    }
}
