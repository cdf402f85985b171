//! Numbers, and the lossless conversions between them.

use std::borrow::Cow;
use std::ops::Range;

use crate::column::{Number, U24, read_cells, read_numbers, write_number_rows};
use crate::error::{Error, ErrorKind, Result};
use crate::input::Input;
use crate::output::Writer;
use crate::plan::{Node, Plan};
use crate::quantise::dequantise_angle;
use crate::shape::{self, NumberType, ShapeBuilder, Type};
use crate::wire::{Column, Read, Rows, Wire};

/// An opened column of numbers with one cell for each row.
pub struct NumberColumn<'de, T: Number>(Cells<'de, T::Bytes>);

enum Cells<'de, B> {
    /// One value, without an allocation.
    One(B),
    /// Values that are unpacked in the message.
    Lent(&'de [B]),
    Own(Vec<B>),
}

impl<T: Number> NumberColumn<'_, T> {
    #[inline]
    fn cells(&self) -> &[T::Bytes] {
        match &self.0 {
            Cells::One(cell) => std::slice::from_ref(cell),
            Cells::Lent(cells) => cells,
            Cells::Own(cells) => cells,
        }
    }

    fn own(values: Vec<T>) -> Self {
        Self(Cells::Own(values.into_iter().map(T::to_bytes).collect()))
    }
}

impl<'de, T: Number + FromNumbers> Column<'de> for NumberColumn<'de, T> {
    type Item = T;

    fn absent(rows: usize) -> Self {
        match rows {
            1 => Self(Cells::One(T::default().to_bytes())),
            _ => Self::own(vec![T::default(); rows]),
        }
    }

    #[inline]
    fn open(plan: Option<Plan<'_>>, rows: usize, input: &mut Input<'de>) -> Result<Self> {
        match plan {
            None if rows == 1 => Ok(Self(Cells::One(T::from_slice(input.take(T::WIDTH)?).to_bytes()))),
            None => Ok(Self(match read_cells::<T>(rows, input)? {
                Cow::Borrowed(cells) => Cells::Lent(cells),
                Cow::Owned(cells) => Cells::Own(cells),
            })),
            Some(plan) => open_converted(plan, rows, input).map(Self::own),
        }
    }

    #[inline]
    fn get(&self, row: usize, _: &'de str) -> T {
        self.cells().get(row).map_or_else(T::default, |cell| T::from_bytes(*cell))
    }

    #[inline]
    fn values(&self, rows: Range<usize>, _: &'de str) -> impl ExactSizeIterator<Item = T> {
        self.cells()[rows].iter().map(|cell| T::from_bytes(*cell))
    }

    #[inline]
    fn arrays<const N: usize>(
        &self,
        rows: Range<usize>,
        _: &'de str,
    ) -> impl ExactSizeIterator<Item = [T; N]> {
        self.cells().as_chunks::<N>().0[rows].iter().map(|cells| cells.map(T::from_bytes))
    }
}

/// Reads the writer's number and converts it. An absent number is read as 0.
pub(super) fn open_converted<T: FromNumbers + Default + Copy>(
    plan: Plan<'_>,
    rows: usize,
    input: &mut Input<'_>,
) -> Result<Vec<T>> {
    match plan.node() {
        Node::Source(ty) => convert(read_leaf(ty, rows, input)?, input),
        Node::OrEmpty(child) => {
            super::option::or_empty(0, rows, input, |present, input| match plan.child(*child) {
                None => convert(read_leaf(&T::TYPE, present, input)?, input),
                Some(plan) => open_converted(plan, present, input),
            })
        }
        _ => Err(mismatch(input)),
    }
}

/// The error if a plan does not fit its column. The resolution of shapes prevents it.
#[cold]
pub(super) fn mismatch(input: &Input<'_>) -> Error {
    input.error(ErrorKind::TypeMismatch { writer: "resolved type".into(), reader: "column".into() })
}

/// Numbers of any type, converted to the widest type of their family.
pub(crate) enum Numbers {
    Unsigned(Vec<u64>),
    Signed(Vec<i64>),
    Single(Vec<f32>),
    Double(Vec<f64>),
}

/// Reads a numeric leaf of the current block.
pub(crate) fn read_leaf(ty: &Type, rows: usize, input: &mut Input<'_>) -> Result<Numbers> {
    use NumberType as N;
    input.charge(rows, 8)?;
    Ok(match ty {
        Type::Number(N::U8) => Numbers::Unsigned(widened::<u8, _>(rows, input)?),
        Type::Number(N::U16) => Numbers::Unsigned(widened::<u16, _>(rows, input)?),
        Type::Number(N::U32) => Numbers::Unsigned(widened::<u32, _>(rows, input)?),
        Type::Number(N::U64) => Numbers::Unsigned(read_numbers(rows, input)?),
        Type::Number(N::I8) => Numbers::Signed(widened::<i8, _>(rows, input)?),
        Type::Number(N::I16) => Numbers::Signed(widened::<i16, _>(rows, input)?),
        Type::Number(N::I32) => Numbers::Signed(widened::<i32, _>(rows, input)?),
        Type::Number(N::I64) => Numbers::Signed(read_numbers(rows, input)?),
        Type::Number(N::F32) => Numbers::Single(read_numbers(rows, input)?),
        Type::Number(N::F64) => Numbers::Double(read_numbers(rows, input)?),
        Type::Uvar if input.is_plain() => {
            Numbers::Unsigned((0..rows).map(|_| input.varint()).collect::<Result<_>>()?)
        }
        Type::Uvar => Numbers::Unsigned(read_numbers(rows, input)?),
        Type::Ivar if input.is_plain() => {
            Numbers::Signed((0..rows).map(|_| input.zigzag()).collect::<Result<_>>()?)
        }
        Type::Ivar => Numbers::Signed(read_numbers(rows, input)?),
        Type::Range(range) => Numbers::Double(read_range(range, rows, input)?),
        Type::Angle(8) => {
            let steps: Vec<u8> = read_numbers(rows, input)?;
            Numbers::Double(steps.into_iter().map(|q| dequantise_angle(q.into(), 8)).collect())
        }
        Type::Angle(_) => {
            let steps: Vec<u16> = read_numbers(rows, input)?;
            Numbers::Double(steps.into_iter().map(|q| dequantise_angle(q, 16)).collect())
        }
        _ => return Err(mismatch(input)),
    })
}

fn widened<T: Number, W: From<T>>(rows: usize, input: &mut Input<'_>) -> Result<Vec<W>> {
    Ok(read_numbers::<T>(rows, input)?.into_iter().map(W::from).collect())
}

fn read_range(range: &shape::Range, rows: usize, input: &mut Input<'_>) -> Result<Vec<f64>> {
    let steps: Vec<u32> = match range.width() {
        1 => widened::<u8, _>(rows, input)?,
        2 => widened::<u16, _>(rows, input)?,
        3 => read_numbers::<U24>(rows, input)?.into_iter().map(|value| value.0).collect(),
        _ => read_numbers(rows, input)?,
    };
    let max = range.max().unwrap_or(0);
    match steps.iter().find(|q| **q > max) {
        Some(q) => Err(input.error(ErrorKind::Range { value: q.to_string(), into: "range" })),
        None => Ok(steps.into_iter().map(|q| range.dequantise(q)).collect()),
    }
}

/// A number that can be converted from the writer's number.
pub trait FromNumbers: Sized {
    /// The type in shapes.
    const TYPE: Type;
    /// The name in errors.
    const NAME: &'static str;
    /// Converts an unsigned integer, if it fits.
    fn from_unsigned(value: u64) -> Option<Self>;
    /// Converts a signed integer, if it fits.
    fn from_signed(value: i64) -> Option<Self>;
    /// Converts a float. The resolution of shapes has checked that this type is a float.
    fn from_float(value: f64) -> Option<Self>;
    /// Converts a float of half the width.
    fn from_single(value: f32) -> Option<Self>;
}

/// Converts a column. An error names the first value that does not fit.
pub(super) fn convert<T: FromNumbers>(numbers: Numbers, input: &Input<'_>) -> Result<Vec<T>> {
    fn all<S: Copy + ToString, T: FromNumbers>(
        values: Vec<S>,
        input: &Input<'_>,
        one: impl Fn(S) -> Option<T>,
    ) -> Result<Vec<T>> {
        let fit = |value: S| {
            one(value)
                .ok_or_else(|| input.error(ErrorKind::Range { value: value.to_string(), into: T::NAME }))
        };
        values.into_iter().map(fit).collect()
    }
    match numbers {
        Numbers::Unsigned(values) => all(values, input, T::from_unsigned),
        Numbers::Signed(values) => all(values, input, T::from_signed),
        Numbers::Single(values) => all(values, input, T::from_single),
        Numbers::Double(values) => all(values, input, T::from_float),
    }
}

macro_rules! integer {
    ($($type:ident $number:ident $byte:ident)*) => {$(
        impl FromNumbers for $type {
            const TYPE: Type = Type::Number(NumberType::$number);
            const NAME: &'static str = stringify!($type);
            fn from_unsigned(value: u64) -> Option<Self> { value.try_into().ok() }
            fn from_signed(value: i64) -> Option<Self> { value.try_into().ok() }
            fn from_float(_: f64) -> Option<Self> { None }
            fn from_single(_: f32) -> Option<Self> { None }
        }
        number! { $type $byte }
    )*};
}

macro_rules! float {
    ($($type:ident $number:ident)*) => {$(
        impl FromNumbers for $type {
            const TYPE: Type = Type::Number(NumberType::$number);
            const NAME: &'static str = stringify!($type);
            fn from_unsigned(value: u64) -> Option<Self> { Some(value as Self) }
            fn from_signed(value: i64) -> Option<Self> { Some(value as Self) }
            fn from_float(value: f64) -> Option<Self> { Some(value as Self) }
            fn from_single(value: f32) -> Option<Self> { Some(value.into()) }
        }
        number! { $type false }
    )*};
}

macro_rules! raw_bytes {
    (true) => {
        fn write_raw(values: &[Self], writer: &mut Writer<'_>) {
            writer.out.extend_from_slice(values);
        }

        fn from_raw(bytes: &[u8]) -> Vec<Self> {
            bytes.to_vec()
        }
    };
    (false) => {};
}

macro_rules! number {
    ($type:ident $byte:ident) => {
        impl Wire for $type {
            const BITS: usize = 0;
            const TEXTS: usize = 0;
            const FLAT: bool = true;
            const BYTE: bool = $byte;

            raw_bytes! { $byte }

            fn describe(_: &mut ShapeBuilder) -> Type {
                <$type as FromNumbers>::TYPE
            }

            #[inline]
            fn write<'a, I: Rows<'a, Self>>(rows: I, writer: &mut Writer<'_>) {
                write_number_rows(rows.copied(), writer);
            }
        }

        impl<'de> Read<'de> for $type {
            type Column = NumberColumn<'de, $type>;
        }
    };
}

integer! { u8 U8 true u16 U16 false u32 U32 false u64 U64 false i8 I8 false i16 I16 false i32 I32 false i64 I64 false }
float! { f32 F32 f64 F64 }
