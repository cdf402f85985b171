//! The traits behind `#[derive(Wire)]`.

use std::ops::Range;

use crate::error::Result;
use crate::input::Input;
use crate::output::Writer;
use crate::plan::{PayloadPlan, Plan};
use crate::shape::{Shape, ShapeBuilder, Type};

/// Rows of one type: the input of a block, field after field.
pub trait Rows<'a, T: ?Sized + 'a>: ExactSizeIterator<Item = &'a T> + Clone {}
impl<'a, T: ?Sized + 'a, I: ExactSizeIterator<Item = &'a T> + Clone> Rows<'a, T> for I {}

/// A type that can be written, and knows its shape. Derive it: `#[derive(Wire)]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no wire format",
    note = "add `#[derive(nowcast_wire::Wire)]` to it"
)]
pub trait Wire {
    /// Bits that a row takes in front of a plain block: bools and options after flattening.
    const BITS: usize;
    /// Text leaves after flattening.
    const TEXTS: usize;
    /// Whether a body of this root type is flat (section 4.1 of the specification).
    const FLAT: bool;
    /// Whether a list of these is raw bytes.
    #[doc(hidden)]
    const BYTE: bool = false;

    /// If `BYTE`: appends the bytes.
    #[doc(hidden)]
    fn write_raw(_: &[Self], _: &mut Writer<'_>)
    where
        Self: Sized,
    {
    }

    /// If `BYTE`: the elements as bytes.
    #[doc(hidden)]
    fn from_raw(_: &[u8]) -> Vec<Self>
    where
        Self: Sized,
    {
        Vec::new()
    }

    /// Describes the type.
    fn describe(shape: &mut ShapeBuilder) -> Type;

    /// Writes the leaves of all rows into the current block.
    fn write<'a, I: Rows<'a, Self>>(rows: I, writer: &mut Writer<'_>)
    where
        Self: 'a;
}

impl Shape {
    /// The shape of a Rust type.
    pub fn of<T: Wire + ?Sized>() -> Self {
        let mut builder = ShapeBuilder::default();
        let root = T::describe(&mut builder);
        builder.finish(root)
    }
}

/// A type that can be read. `#[derive(Wire)]` implements it too.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be read from the wire",
    note = "add `#[derive(nowcast_wire::Wire)]` to it"
)]
pub trait Read<'de>: Wire + Sized {
    /// The opened columns of rows of this type.
    type Column: Column<'de, Item = Self>;
}

/// A type that owns its decoded values.
pub trait ReadOwned: for<'de> Read<'de> {}
impl<T: for<'de> Read<'de>> ReadOwned for T {}

/// The columns of some rows, read and checked: from here on nothing can fail.
pub trait Column<'de>: Sized {
    /// The type of a row.
    type Item;

    /// Columns of a field that the writer does not have: each of `rows` rows reads as the type's default.
    fn absent(rows: usize) -> Self;

    /// Reads and checks `rows` rows of the current block. Without a plan the writer's type is exactly this one.
    ///
    /// # Errors
    /// Fails if the rows are malformed, do not fit the type, or exceed the limits of the input.
    fn open(plan: Option<Plan<'_>>, rows: usize, input: &mut Input<'de>) -> Result<Self>;

    /// The value of a row; its texts lie in `text`.
    fn get(&self, row: usize, text: &'de str) -> Self::Item;

    /// The values of successive rows. Columns with adjacent values look up the first one only, so that a list of
    /// structs of such columns is filled by one plain loop.
    fn values(&self, rows: Range<usize>, text: &'de str) -> impl ExactSizeIterator<Item = Self::Item> {
        rows.map(move |row| self.get(row, text))
    }

    /// The values of successive rows of arrays. Each takes `N` rows of this column.
    fn arrays<const N: usize>(
        &self,
        rows: Range<usize>,
        text: &'de str,
    ) -> impl ExactSizeIterator<Item = [Self::Item; N]> {
        rows.map(move |row| std::array::from_fn(|index| self.get(row * N + index, text)))
    }
}

/// Another wire form for a type: the attributes `range`, `angle`, `quat` and `var` choose it.
pub trait Adapt<T> {
    /// See [`Wire::BITS`].
    const BITS: usize = 0;
    /// See [`Wire::TEXTS`].
    const TEXTS: usize = 0;
    /// See [`Wire::FLAT`].
    const FLAT: bool = true;
    /// See [`Wire::describe`].
    fn describe(shape: &mut ShapeBuilder) -> Type;
    /// See [`Wire::write`].
    fn write<'a, I: Rows<'a, T>>(rows: I, writer: &mut Writer<'_>)
    where
        T: 'a;
}

/// The reading half of [`Adapt`].
pub trait ReadAdapt<'de, T>: Adapt<T> {
    /// The opened columns.
    type Column: Column<'de, Item = T>;
}

/// The columns of a variant's fields, or of a struct's.
pub trait PayloadColumn<'de>: Sized {
    /// The type of a row.
    type Item;
    /// See [`Column::absent`].
    fn absent(rows: usize) -> Self;
    /// See [`Column::open`].
    ///
    /// # Errors
    /// Fails as [`Column::open`] does.
    fn open(plan: Option<PayloadPlan<'_>>, rows: usize, input: &mut Input<'de>) -> Result<Self>;
    /// See [`Column::get`].
    fn get(&self, row: usize, text: &'de str) -> Self::Item;
}

/// Opens the block of a variant's payload. Without a plan a row takes `bits` bits; with a plan, as many as the
/// writer's.
///
/// # Errors
/// Fails if the payload is malformed, or exceeds the limits of the input.
pub fn open_payload<'de, C: PayloadColumn<'de>>(
    plan: Option<PayloadPlan<'_>>,
    bits: usize,
    rows: usize,
    input: &mut Input<'de>,
) -> Result<Option<Box<C>>> {
    // A variant that the writer has without fields wrote no block.
    if rows == 0 || plan.is_some_and(|plan| plan.steps.is_empty()) {
        return Ok(None);
    }
    let bits = plan.map_or(bits, |plan| plan.bits);
    input
        .block(rows, bits, size_of::<C::Item>(), |input| C::open(plan, rows, input))
        .map(|column| Some(Box::new(column)))
}
