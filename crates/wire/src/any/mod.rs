//! Values without a shape: plain MessagePack.

mod read;
mod records;
mod serde;
mod value;
mod write;

pub(crate) use read::{from_input, next_value};
pub use read::{from_slice, from_slice_with, from_slice_with_records};
pub use value::Value;
pub use write::{to_vec, write};

use std::marker::PhantomData;

use crate::error::Result;
use crate::input::Input;
use crate::output::Writer;
use crate::plan::Plan;
use crate::shape::{ShapeBuilder, Type};
use crate::types::{read_bytes, write_bytes};
use crate::wire::{Column, Read, Rows, Wire};

impl Wire for Value {
    const BITS: usize = 0;
    const TEXTS: usize = 0;
    const FLAT: bool = false;

    fn describe(_: &mut ShapeBuilder) -> Type {
        Type::Any
    }

    fn write<'a, I: Rows<'a, Self>>(rows: I, writer: &mut Writer<'_>) {
        let encoded: Vec<Vec<u8>> = rows.map(to_vec).collect();
        write_bytes(encoded.iter().map(Vec::as_slice), writer);
    }
}

impl<'de> Read<'de> for Value {
    type Column = AnyColumn<'de>;
}

/// Opened values without a shape.
pub struct AnyColumn<'de>(Vec<Value>, PhantomData<&'de ()>);

impl<'de> Column<'de> for AnyColumn<'de> {
    type Item = Value;

    fn absent(_: usize) -> Self {
        Self(Vec::new(), PhantomData)
    }

    fn open(_: Option<Plan<'_>>, rows: usize, input: &mut Input<'de>) -> Result<Self> {
        read_values(rows, input).map(|values| Self(values, PhantomData))
    }

    fn get(&self, row: usize, _: &'de str) -> Value {
        self.0.get(row).cloned().unwrap_or_default()
    }
}

/// Reads `rows` values of the current block.
pub(crate) fn read_values(rows: usize, input: &mut Input<'_>) -> Result<Vec<Value>> {
    let position = input.position();
    let encoded = read_bytes(rows, input)?;
    let mut values = Vec::with_capacity(rows);
    for bytes in encoded {
        values.push(from_input(bytes, position, input)?);
    }
    Ok(values)
}
