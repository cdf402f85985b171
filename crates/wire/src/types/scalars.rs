//! Bools, characters, sizes, the unit and pointers.

use std::ops::Range;

use super::Values;
use super::numbers::{NumberColumn, mismatch};
use crate::column::{read_bools, write_bools, write_numbers};
use crate::error::{ErrorKind, Result};
use crate::input::Input;
use crate::output::Writer;
use crate::plan::{Node, Plan};
use crate::shape::{NumberType, ShapeBuilder, Type};
use crate::wire::{Column, Read, Rows, Wire};

impl Wire for bool {
    const BITS: usize = 1;
    const TEXTS: usize = 0;
    const FLAT: bool = true;

    fn describe(_: &mut ShapeBuilder) -> Type {
        Type::Bool
    }

    fn write<'a, I: Rows<'a, Self>>(rows: I, writer: &mut Writer<'_>) {
        if writer.is_plain() {
            rows.for_each(|value| writer.put_bit(*value));
        } else {
            let bools: Vec<bool> = rows.copied().collect();
            write_bools(&bools, writer);
        }
    }
}

impl Read<'_> for bool {
    type Column = BoolColumn;
}

/// Opened bools.
pub struct BoolColumn(Values<bool>);

impl<'de> Column<'de> for BoolColumn {
    type Item = bool;

    fn absent(rows: usize) -> Self {
        Self(Values::repeated(false, rows))
    }

    fn open(plan: Option<Plan<'_>>, rows: usize, input: &mut Input<'de>) -> Result<Self> {
        let values = match plan.map(Plan::node) {
            None if rows == 1 && input.is_plain() => return Ok(Self(Values::One(input.next_bit()))),
            None => read_bools(rows, input)?,
            Some(Node::OrEmpty(_)) => super::option::or_empty(1, rows, input, read_bools)?,
            Some(_) => return Err(mismatch(input)),
        };
        Ok(Self(Values::Many(values)))
    }

    fn get(&self, row: usize, _: &'de str) -> bool {
        self.0.get(row).copied().unwrap_or_default()
    }

    #[inline]
    fn values(&self, rows: Range<usize>, _: &'de str) -> impl ExactSizeIterator<Item = bool> {
        self.0.slice()[rows].iter().copied()
    }
}

impl Wire for () {
    const BITS: usize = 0;
    const TEXTS: usize = 0;
    const FLAT: bool = true;

    fn describe(_: &mut ShapeBuilder) -> Type {
        Type::Unit
    }

    fn write<'a, I: Rows<'a, Self>>(_: I, _: &mut Writer<'_>) {}
}

impl Read<'_> for () {
    type Column = UnitColumn;
}

/// Opened units, which hold no data.
pub struct UnitColumn;

impl<'de> Column<'de> for UnitColumn {
    type Item = ();

    fn absent(_: usize) -> Self {
        Self
    }

    fn open(_: Option<Plan<'_>>, _: usize, _: &mut Input<'de>) -> Result<Self> {
        Ok(Self)
    }

    fn get(&self, _: usize, _: &'de str) {}
}

/// Types that are sent as a number of another type.
macro_rules! as_number {
    ($($type:ident as $number:ident $tag:ident, $column:ident, $from:expr, $check:expr;)*) => {$(
        impl Wire for $type {
            const BITS: usize = 0;
            const TEXTS: usize = 0;
            const FLAT: bool = true;

            fn describe(_: &mut ShapeBuilder) -> Type {
                Type::Number(NumberType::$tag)
            }

            fn write<'a, I: Rows<'a, Self>>(rows: I, writer: &mut Writer<'_>) {
                let values: Vec<$number> = rows.map(|value| *value as $number).collect();
                write_numbers(&values, writer);
            }
        }

        impl Read<'_> for $type {
            type Column = $column;
        }

        #[doc = concat!("Opened values of type `", stringify!($type), "`.")]
        pub struct $column(Vec<$type>);

        impl<'de> Column<'de> for $column {
            type Item = $type;

            fn absent(_: usize) -> Self {
                Self(Vec::new())
            }

            fn open(plan: Option<Plan<'_>>, rows: usize, input: &mut Input<'de>) -> Result<Self> {
                let numbers = NumberColumn::<'_, $number>::open(plan, rows, input)?;
                let convert = |row| {
                    let value: $number = numbers.get(row, "");
                    let from: fn($number) -> Option<$type> = $from;
                    let error: fn($number) -> ErrorKind = $check;
                    from(value).ok_or_else(|| input.error(error(value)))
                };
                (0..rows).map(convert).collect::<Result<_>>().map(Self)
            }

            fn get(&self, row: usize, _: &'de str) -> $type {
                self.0.get(row).copied().unwrap_or_default()
            }
        }
    )*};
}

as_number! {
    usize as u64 U64, UsizeColumn, |value| value.try_into().ok(),
        |value| ErrorKind::Range { value: value.to_string(), into: "usize" };
    isize as i64 I64, IsizeColumn, |value| value.try_into().ok(),
        |value| ErrorKind::Range { value: value.to_string(), into: "isize" };
    char as u32 U32, CharColumn, char::from_u32, ErrorKind::Char;
}

/// Pointers, which are written as the value that they point to.
macro_rules! pointer {
    ($($pointer:ident)*) => {$(
        impl<T: Wire> Wire for $pointer<T> {
            const BITS: usize = T::BITS;
            const TEXTS: usize = T::TEXTS;
            const FLAT: bool = T::FLAT;

            fn describe(shape: &mut ShapeBuilder) -> Type {
                T::describe(shape)
            }

            fn write<'a, I: Rows<'a, Self>>(rows: I, writer: &mut Writer<'_>)
            where
                Self: 'a,
            {
                // The values are collected first. Otherwise a type that contains itself would need an infinitely nested iterator
                // type.
                let values: Vec<&T> = rows.map(|row| &**row).collect();
                T::write(values.iter().copied(), writer);
            }
        }

        impl<'de, T: Read<'de>> Read<'de> for $pointer<T> {
            type Column = PointerColumn<T::Column, $pointer<T>>;
        }
    )*};
}

use std::rc::Rc;
use std::sync::Arc;
pointer! { Box Rc Arc }

/// Opened values behind a pointer.
pub struct PointerColumn<C, P>(C, std::marker::PhantomData<fn() -> P>);

impl<'de, C, P> Column<'de> for PointerColumn<C, P>
where
    C: Column<'de>,
    P: From<C::Item>,
{
    type Item = P;

    fn absent(rows: usize) -> Self {
        Self(C::absent(rows), std::marker::PhantomData)
    }

    fn open(plan: Option<Plan<'_>>, rows: usize, input: &mut Input<'de>) -> Result<Self> {
        // The block has charged for the pointers. This call charges for the values behind the pointers.
        input.charge(rows, size_of::<C::Item>())?;
        C::open(plan, rows, input).map(|inner| Self(inner, std::marker::PhantomData))
    }

    fn get(&self, row: usize, text: &'de str) -> P {
        P::from(self.0.get(row, text))
    }
}
