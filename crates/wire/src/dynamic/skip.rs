//! Reads and drops fields that the reader's type does not have.

use super::read::open;
use crate::error::Result;
use crate::input::Input;
use crate::plan::{Plan, Step, VariantStep};

impl Plan<'_> {
    /// Reads and drops the payload of a variant that the reader does not know.
    ///
    /// # Errors
    /// Fails if the payload is malformed, or exceeds the limits of the input.
    pub fn skip_payload(self, step: &VariantStep, rows: usize, input: &mut Input<'_>) -> Result<()> {
        if rows == 0 || step.steps.is_empty() {
            return Ok(());
        }
        input
            .block(rows, step.bits, 1, |input| {
                step.steps.iter().try_for_each(|field| self.skip(field, rows, input))
            })
            .map_err(|error| error.inside(&step.name))
    }

    /// Reads and drops a field that the reader does not know.
    ///
    /// # Errors
    /// Fails if the field is malformed, or exceeds the limits of the input.
    pub fn skip(self, step: &Step, rows: usize, input: &mut Input<'_>) -> Result<()> {
        open(self.layout(), &step.ty, rows, input).map(drop).map_err(|error| error.inside(&step.name))
    }
}
