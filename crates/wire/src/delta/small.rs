//! The small mode: every decision through adaptive contexts and an arithmetic coder.

use crate::entropy::EntropyError;
use crate::entropy::arith::Coder;
use crate::entropy::model::{Flags, Numbers, Switches, VOICES};

use super::frame::{Column, Layout};
use super::predict::magnitude;
use super::walk::{Scene, Symbols};

/// Everything the small mode has learnt.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Models {
    /// Whether rows change that have not changed for long, and others.
    still: Switches,
    rows: Flags,
    flags: Flags,
    numbers: Numbers,
    groups: Vec<usize>,
}

/// Numbers are never expected to be wider than this.
const WIDTH_EXPECTED_MAX: u32 = 15;
/// How many magnitudes contexts tell apart.
const SIZES: usize = 24;
/// How many contexts a flag or a choice of the largest component has: 32 situations, two decisions.
const FLAG_CONTEXTS: usize = 64;

impl Models {
    pub(super) fn new(layout: &Layout) -> Self {
        let columns = layout.width();
        let groups = layout.groups().last().map_or(0, |last| last + 1);
        Self {
            still: Switches::new(32),
            rows: Flags::new([32, SIZES * 4, 128, SIZES * 2], 1),
            flags: Flags::new([columns * FLAG_CONTEXTS; VOICES], columns),
            numbers: Numbers::new(
                [groups * SIZES, groups * SIZES * 3, groups * SIZES, groups * SIZES],
                groups,
            ),
            groups: layout.groups().to_vec(),
        }
    }
}

fn size(magnitude: u8) -> usize {
    usize::from(magnitude).min(SIZES - 1)
}

/// The small mode over either direction of an arithmetic coder.
pub(super) struct Small<'a, C> {
    pub(super) coder: C,
    pub(super) models: &'a mut Models,
}

impl<C: Coder> Symbols for Small<'_, C> {
    const MASKS: bool = false;

    fn plain(&mut self, value: u32, bits: u32) -> Result<u32, EntropyError> {
        self.coder.raw(value, bits)
    }

    fn row_changed(&mut self, changed: bool, scene: &Scene) -> Result<bool, EntropyError> {
        if scene.changed == 0 {
            let context = (near_of(scene) << 2) | usize::from(scene.flags & 3);
            return self.models.still.code(&mut self.coder, changed, context);
        }
        let own = usize::from(scene.changed & 7);
        let near = near_of(scene);
        let flags = usize::from(scene.flags & 3);
        let contexts = [
            (own << 2) | flags,
            (size(magnitude(scene.speed)) << 2) | flags,
            (near << 4) | ((own & 1) << 3) | usize::from((scene.changed >> 3) & 7),
            (size(scene.row_doubt) << 1) | (own & 1),
        ];
        self.models.rows.code(&mut self.coder, changed, contexts, 0)
    }

    fn mask(&mut self, _: u64, _: u64) -> Result<u64, EntropyError> {
        // The contexts make a value that is as guessed almost free.
        Ok(u64::MAX)
    }

    fn value(
        &mut self,
        residual: i32,
        column: usize,
        kind: Column,
        scene: &Scene,
    ) -> Result<i32, EntropyError> {
        match kind {
            Column::Flag | Column::Largest { .. } => self.choice(residual, column, kind, scene),
            _ => self.number(residual, column, scene),
        }
    }
}

/// Whether the three rows before changed.
fn near_of(scene: &Scene) -> usize {
    scene.near_changed & 7
}

impl<C: Coder> Small<'_, C> {
    /// A flag's residual is whether it is not as guessed; the largest component's is how far along the other three it is.
    fn choice(
        &mut self,
        residual: i32,
        column: usize,
        kind: Column,
        scene: &Scene,
    ) -> Result<i32, EntropyError> {
        let guess = scene.guess;
        let at = |situation: usize| column * FLAG_CONTEXTS + 2 * situation;
        let contexts = [
            at((usize::from(scene.changed & 7) << 2) | (guess.value & 3) as usize),
            at(usize::from(guess.doubt)),
            at(size(magnitude(u32::from(scene.error)))),
            at(size(magnitude(scene.speed))),
        ];
        let models = &mut self.models.flags;
        let other = models.code(&mut self.coder, residual != 0, contexts, column)?;
        if !other || kind == Column::Flag {
            return Ok(i32::from(other));
        }
        if !models.code(&mut self.coder, residual > 1, contexts.map(|context| context + 1), column)? {
            return Ok(1);
        }
        Ok(2 + self.coder.raw(u32::from(residual > 2), 1)? as i32)
    }

    fn number(&mut self, residual: i32, column: usize, scene: &Scene) -> Result<i32, EntropyError> {
        let guess = scene.guess;
        let group = self.models.groups[column];
        let at = |size: usize| group * SIZES + size;
        // Signs are told as further away from where the value was (positive) or back towards it.
        let sign = if guess.moved > 0 { -1 } else { 1 };
        let lean = i32::from(guess.lean) * sign;
        let contexts = [
            at(size(magnitude(u32::from(scene.error)))),
            at(size(magnitude(scene.row_error))) * 3 + (lean + 1) as usize,
            at(size(guess.doubt)),
            at(size(magnitude(guess.moved.unsigned_abs().min(1 << 20) * 4))),
        ];
        // Three parts what this value was off by lately, one part what this row is off by, in whole steps.
        let expected = (u32::from(scene.error) * 3 + scene.row_error) / 64;
        let width = (32 - expected.leading_zeros()).min(WIDTH_EXPECTED_MAX);
        let told = residual.wrapping_mul(sign);
        let told = self.models.numbers.code(&mut self.coder, told, contexts, group, width)?;
        Ok(told.wrapping_mul(sign))
    }
}
