//! The traits that `#[derive(Wire)]` implements.

use std::ops::Range;

use crate::error::Result;
use crate::input::Input;
use crate::output::Writer;
use crate::plan::{PayloadPlan, Plan};
use crate::shape::{Shape, ShapeBuilder, Type};

/// Rows of one type. They are the input of a block, field after field.
pub trait Rows<'a, T: ?Sized + 'a>: ExactSizeIterator<Item = &'a T> + Clone {}
impl<'a, T: ?Sized + 'a, I: ExactSizeIterator<Item = &'a T> + Clone> Rows<'a, T> for I {}

/// A type that can be written and that has a shape. Derive it with `#[derive(Wire)]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no wire format",
    note = "add `#[derive(nowcast_wire::Wire)]` to it"
)]
pub trait Wire {
    /// Bits that a row takes in front of a plain block, for bools and options after flattening.
    const BITS: usize;
    /// Number of text leaves after flattening.
    const TEXTS: usize;
    /// Whether a body of this root type is flat (section 4.1 of the specification).
    const FLAT: bool;
    /// Whether a list of this type is written as raw bytes.
    #[doc(hidden)]
    const BYTE: bool = false;

    /// Appends the bytes, if `BYTE` is true.
    #[doc(hidden)]
    fn write_raw(_: &[Self], _: &mut Writer<'_>)
    where
        Self: Sized,
    {
    }

    /// Converts bytes to elements, if `BYTE` is true.
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
    /// Returns the shape of a Rust type.
    pub fn of<T: Wire + ?Sized>() -> Self {
        let mut builder = ShapeBuilder::default();
        let root = T::describe(&mut builder);
        builder.finish(root)
    }
}

/// A type that can be read. `#[derive(Wire)]` also implements it.
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

/// The columns of some rows, after they were read and checked. From then on, reading values cannot fail.
pub trait Column<'de>: Sized {
    /// The type of a row.
    type Item;

    /// Makes the columns of a field that the writer does not have. Each of `rows` rows is read as the type's default.
    fn absent(rows: usize) -> Self;

    /// Reads and checks `rows` rows of the current block. Without a plan, the writer's type must equal this one.
    ///
    /// # Errors
    /// Fails if the rows are malformed, do not fit the type, or exceed the limits of the input.
    fn open(plan: Option<Plan<'_>>, rows: usize, input: &mut Input<'de>) -> Result<Self>;

    /// Returns the value of a row. Its texts are in `text`.
    fn get(&self, row: usize, text: &'de str) -> Self::Item;

    /// Returns the values of successive rows. Columns with adjacent values look up only the first one. So a list of structs of
    /// such columns is filled by one simple loop.
    fn values(&self, rows: Range<usize>, text: &'de str) -> impl ExactSizeIterator<Item = Self::Item> {
        rows.map(move |row| self.get(row, text))
    }

    /// Returns the values of successive rows of arrays. Each takes `N` rows of this column.
    fn arrays<const N: usize>(
        &self,
        rows: Range<usize>,
        text: &'de str,
    ) -> impl ExactSizeIterator<Item = [Self::Item; N]> {
        rows.map(move |row| std::array::from_fn(|index| self.get(row * N + index, text)))
    }
}

/// An alternative wire form of a type. The attributes `range`, `angle`, `quat` and `var` select one.
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

/// Opens the block of a variant's payload. Without a plan a row takes `bits` bits. With a plan it takes the writer's number of
/// bits.
///
/// # Errors
/// Fails if the payload is malformed, or exceeds the limits of the input.
pub fn open_payload<'de, C: PayloadColumn<'de>>(
    plan: Option<PayloadPlan<'_>>,
    bits: usize,
    rows: usize,
    input: &mut Input<'de>,
) -> Result<Option<Box<C>>> {
    // If the writer's variant has no fields, there is no block.
    if rows == 0 || plan.is_some_and(|plan| plan.steps.is_empty()) {
        return Ok(None);
    }
    let bits = plan.map_or(bits, |plan| plan.bits);
    input
        .block(rows, bits, size_of::<C::Item>(), |input| C::open(plan, rows, input))
        .map(|column| Some(Box::new(column)))
}
