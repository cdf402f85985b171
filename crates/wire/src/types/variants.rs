//! Code shared by derived enums: reads and writes the variant of each row.

use super::Values;
use crate::column::{read_numbers, write_numbers};
use crate::error::{ErrorKind, Result};
use crate::input::Input;
use crate::output::Writer;
use crate::plan::Plan;

/// Each row's variant, and the row's index among the rows with that variant.
pub struct Variants {
    /// The reader's variant.
    tags: Values<u16>,
    ranks: Values<u32>,
    /// Number of rows with each of the writer's variants.
    counts: Vec<usize>,
}

/// From this number of variants on, an index has two bytes.
const WIDE_FROM: usize = 257;

impl Variants {
    /// Makes an empty value without rows.
    pub fn absent() -> Self {
        Self { tags: Values::none(), ranks: Values::none(), counts: Vec::new() }
    }

    /// Writes the index of each row's variant.
    pub fn write(variants: usize, rows: impl Iterator<Item = u16>, writer: &mut Writer<'_>) {
        if variants >= WIDE_FROM {
            write_numbers(&rows.collect::<Vec<u16>>(), writer);
        } else {
            write_numbers(&rows.map(|index| index as u8).collect::<Vec<u8>>(), writer);
        }
    }

    /// Reads indices. `variants` is the number of the reader's own variants. Unknown variants are read as `other`, if there is
    /// one.
    ///
    /// # Errors
    /// Fails if an index is missing, or if it is unknown and there is no `other`.
    pub fn open(
        plan: Option<Plan<'_>>,
        variants: usize,
        other: Option<u16>,
        rows: usize,
        input: &mut Input<'_>,
    ) -> Result<Self> {
        let count = plan.map_or(variants, |plan| plan.variants().len());
        let mut this = Self { counts: vec![0; count], ..Self::absent() };
        input.charge(count, 8)?;
        if rows == 1 && count < WIDE_FROM {
            let index = u16::from(input.byte()?);
            this.count(index, input)?;
            this.tags = Values::One(resolve(plan, other, index, input)?);
            this.ranks = Values::One(0);
            return Ok(this);
        }
        let mut tags = read_indices(count, rows, input)?;
        input.charge(rows, 4)?;
        let mut ranks = Vec::with_capacity(rows);
        for index in &tags {
            ranks.push(this.count(*index, input)?);
        }
        if plan.is_some() {
            for tag in &mut tags {
                *tag = resolve(plan, other, *tag, input)?;
            }
        }
        (this.tags, this.ranks) = (Values::Many(tags), Values::Many(ranks));
        Ok(this)
    }

    fn count(&mut self, index: u16, input: &Input<'_>) -> Result<u32> {
        let variants = self.counts.len();
        match self.counts.get_mut(usize::from(index)) {
            Some(count) => {
                *count += 1;
                Ok(*count as u32 - 1)
            }
            None => Err(input.error(ErrorKind::VariantIndex { index: index.into(), count: variants })),
        }
    }

    /// How many rows have one of the writer's variants.
    pub fn rows_of(&self, variant: usize) -> usize {
        self.counts.get(variant).copied().unwrap_or(0)
    }

    /// Returns the reader's variant of a row, and the row's index in that variant; `None` if there is no such row.
    #[inline]
    pub fn get(&self, row: usize) -> Option<(u16, usize)> {
        Some((*self.tags.get(row)?, *self.ranks.get(row)? as usize))
    }
}

/// Reads variant indices of an enum with `count` variants.
pub(crate) fn read_indices(variants: usize, rows: usize, input: &mut Input<'_>) -> Result<Vec<u16>> {
    if variants >= WIDE_FROM {
        read_numbers(rows, input)
    } else {
        Ok(read_numbers::<u8>(rows, input)?.into_iter().map(u16::from).collect())
    }
}

fn resolve(plan: Option<Plan<'_>>, other: Option<u16>, index: u16, input: &Input<'_>) -> Result<u16> {
    let Some(step) = plan.and_then(|plan| plan.variants().get(usize::from(index))) else {
        return Ok(index);
    };
    match (step.target, other) {
        (Some(target), _) => Ok(target as u16),
        (None, Some(other)) => Ok(other),
        (None, None) => Err(input.error(ErrorKind::UnknownVariant { name: step.name.clone() })),
    }
}
