//! The small mode: every decision through adaptive contexts and an arithmetic coder.

use crate::entropy::EntropyError;
use crate::entropy::arith::Coder;
use crate::entropy::model::{Flags, Numbers};

use super::frame::{Column, Layout};
use super::predict::magnitude;
use super::walk::{Scene, Symbols};

/// Everything the small mode has learnt.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Models {
    rows: Flags,
    flags: Flags,
    numbers: Numbers,
}

const SIZES: usize = 32;

impl Models {
    pub(super) fn new(layout: &Layout) -> Self {
        let columns = layout.width();
        Self {
            rows: Flags::new([256, 128, 256], 1),
            flags: Flags::new([columns * 64, columns * 64, columns * 64], columns),
            numbers: Numbers::new([columns * SIZES, columns * SIZES * 3, columns * SIZES], columns),
        }
    }
}

/// The small mode over either direction of an arithmetic coder.
pub(super) struct Small<'a, C> {
    pub(super) coder: C,
    pub(super) models: &'a mut Models,
}

impl<C: Coder> Symbols for Small<'_, C> {
    fn plain(&mut self, value: u32, bits: u32) -> Result<u32, EntropyError> {
        self.coder.raw(value, bits)
    }

    fn row_changed(&mut self, changed: bool, scene: &Scene) -> Result<bool, EntropyError> {
        let own = usize::from(scene.trace.changed & 7);
        let near = scene.near_changed & 7;
        let flags = usize::from(scene.flags & 3);
        let contexts = [
            own << 5 | (near & 3) << 2 | flags,
            usize::from(magnitude(scene.speed)) << 2 | flags,
            near << 5 | (own & 1) << 4 | usize::from(scene.row_doubt).min(15),
        ];
        self.models.rows.code(&mut self.coder, changed, contexts, 0)
    }

    fn value(
        &mut self,
        residual: i32,
        column: usize,
        kind: Column,
        scene: &Scene,
    ) -> Result<i32, EntropyError> {
        let guess = scene.guess;
        let own = usize::from(magnitude(u32::from(scene.error)));
        match kind {
            Column::Flag | Column::Largest { .. } => {
                // A flag's residual is whether it is not as guessed; the largest component's is one of three others.
                let doubt = usize::from(guess.doubt);
                let contexts = [
                    column << 6
                        | usize::from(scene.trace.changed & 7) << 3
                        | ((guess.value & 3) as usize) << 1,
                    column << 6 | doubt << 1,
                    column << 6 | own.min(31) << 1,
                ];
                let other = self.models.flags.code(&mut self.coder, residual != 0, contexts, column)?;
                if !other || kind == Column::Flag {
                    return Ok(i32::from(other));
                }
                let second = contexts.map(|context| context | 1);
                if !self.models.flags.code(&mut self.coder, residual > 1, second, column)? {
                    return Ok(1);
                }
                Ok(2 + self.coder.raw(u32::from(residual > 2), 1)? as i32)
            }
            _ => {
                let row = usize::from(magnitude(scene.row_error));
                let contexts = [
                    column * SIZES + own,
                    (column * SIZES + row) * 3 + (guess.lean + 1) as usize,
                    column * SIZES + usize::from(guess.doubt),
                ];
                self.models.numbers.code(&mut self.coder, residual, contexts, column)
            }
        }
    }
}
