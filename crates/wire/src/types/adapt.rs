//! Alternative wire forms of fields: ranges, angles, quaternions and variable-length integers.

use std::marker::PhantomData;

use super::numbers::{FromNumbers, convert, mismatch, open_converted, read_leaf};
use crate::column::{U24, read_numbers, write_numbers};
use crate::error::{ErrorKind, Result};
use crate::input::Input;
use crate::output::Writer;
use crate::plan::{Node, Plan};
use crate::quantise::{SmallestThree, quantise_angle};
use crate::shape::{Range, ShapeBuilder, Type};
use crate::wire::{Adapt, Column, ReadAdapt, Rows};

/// The bounds of a range as a type. `#[wire(range(low, high, step))]` expands to an implementation.
pub trait RangeSpec {
    /// The bounds.
    const RANGE: Range;
}

/// The wire form of `#[wire(range(…))]`, for a field of `f32`, `f64`, or an array of them.
pub struct RangeOf<S>(PhantomData<S>);
/// The wire form of `#[wire(angle(…))]`, for a field of `f32`, `f64`, or an array of them.
pub struct Angle<const BITS: u8>;
/// The wire form of `#[wire(quat(…))]`, for a field of `[f32; 4]` or `[f64; 4]` in the order x, y, z, w.
pub struct Quat<const BITS: u8>;
/// The wire form of `#[wire(var)]`, for an integer field.
pub struct Var;

/// A scalar with an alternative wire form: its type, and how a block of values is written.
pub trait Scalar<T> {
    /// The type in shapes.
    fn ty() -> Type;
    /// Writes values of the current block.
    fn put(values: impl ExactSizeIterator<Item = T>, writer: &mut Writer<'_>);
}

impl<S: RangeSpec, T: Into<f64>> Scalar<T> for RangeOf<S> {
    fn ty() -> Type {
        Type::Range(S::RANGE)
    }

    fn put(values: impl ExactSizeIterator<Item = T>, writer: &mut Writer<'_>) {
        let steps = values.map(|value| S::RANGE.quantise(value.into()));
        match S::RANGE.width() {
            1 => write_numbers(&steps.map(|q| q as u8).collect::<Vec<_>>(), writer),
            2 => write_numbers(&steps.map(|q| q as u16).collect::<Vec<_>>(), writer),
            3 => write_numbers(&steps.map(U24).collect::<Vec<_>>(), writer),
            _ => write_numbers(&steps.collect::<Vec<_>>(), writer),
        }
    }
}

impl<const BITS: u8, T: Into<f64>> Scalar<T> for Angle<BITS> {
    fn ty() -> Type {
        const { assert!(BITS == 8 || BITS == 16, "an angle has 8 or 16 bits") };
        Type::Angle(BITS)
    }

    fn put(values: impl ExactSizeIterator<Item = T>, writer: &mut Writer<'_>) {
        let steps = values.map(|value| quantise_angle(value.into(), BITS));
        if BITS == 8 {
            write_numbers(&steps.map(|q| q as u8).collect::<Vec<_>>(), writer);
        } else {
            write_numbers(&steps.collect::<Vec<_>>(), writer);
        }
    }
}

/// An integer that can be sent in variable length.
pub trait VarInteger: Copy {
    /// Whether the integer has a sign.
    const SIGNED: bool;
    /// The bits of the value in the widest type of its family.
    fn to_bits(self) -> u64;
}

macro_rules! var_integer {
    ($signed:literal $($type:ident)*) => {$(
        impl VarInteger for $type {
            const SIGNED: bool = $signed;
            fn to_bits(self) -> u64 {
                self as u64
            }
        }
    )*};
}

var_integer! { false u8 u16 u32 u64 }
var_integer! { true i8 i16 i32 i64 }

impl<T: VarInteger> Scalar<T> for Var {
    fn ty() -> Type {
        if T::SIGNED { Type::Ivar } else { Type::Uvar }
    }

    fn put(values: impl ExactSizeIterator<Item = T>, writer: &mut Writer<'_>) {
        let bits = values.map(T::to_bits);
        match (T::SIGNED, writer.is_plain()) {
            (false, true) => bits.for_each(|value| writer.put_varint(value)),
            (true, true) => bits.for_each(|value| writer.put_zigzag(value as i64)),
            (false, false) => write_numbers(&bits.collect::<Vec<u64>>(), writer),
            (true, false) => write_numbers(&bits.map(|value| value as i64).collect::<Vec<_>>(), writer),
        }
    }
}

macro_rules! scalar_adapter {
    ([$($params:tt)*] $adapter:ty, $bound:path) => {
        impl<$($params)* T: $bound + Copy> Adapt<T> for $adapter {
            fn describe(_: &mut ShapeBuilder) -> Type {
                <Self as Scalar<T>>::ty()
            }

            fn write<'a, I: Rows<'a, T>>(rows: I, writer: &mut Writer<'_>)
            where
                T: 'a,
            {
                <Self as Scalar<T>>::put(rows.copied(), writer);
            }
        }

        impl<'de, $($params)* T: $bound + Copy + Default + FromNumbers> ReadAdapt<'de, T> for $adapter {
            type Column = AdaptedColumn<Self, T>;
        }
    };
}

/// The numbers that a quantiser accepts.
pub trait Float: Into<f64> + private::Sealed {}
impl Float for f32 {}
impl Float for f64 {}

mod private {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

scalar_adapter! { [S: RangeSpec,] RangeOf<S>, Float }
scalar_adapter! { [const BITS: u8,] Angle<BITS>, Float }
scalar_adapter! { [] Var, VarInteger }

/// Opened scalars with an alternative wire form.
pub struct AdaptedColumn<A, T> {
    values: Vec<T>,
    adapter: PhantomData<fn() -> A>,
}

impl<'de, A: Scalar<T>, T: FromNumbers + Default + Copy> Column<'de> for AdaptedColumn<A, T> {
    type Item = T;

    fn absent(_: usize) -> Self {
        Self { values: Vec::new(), adapter: PhantomData }
    }

    fn open(plan: Option<Plan<'_>>, rows: usize, input: &mut Input<'de>) -> Result<Self> {
        let values = match plan {
            None => convert(read_leaf(&A::ty(), rows, input)?, input)?,
            Some(plan) => open_adapted(&A::ty(), plan, rows, input)?,
        };
        Ok(Self { values, adapter: PhantomData })
    }

    fn get(&self, row: usize, _: &'de str) -> T {
        self.values.get(row).copied().unwrap_or_default()
    }
}

fn open_adapted<T: FromNumbers + Default + Copy>(
    own: &Type,
    plan: Plan<'_>,
    rows: usize,
    input: &mut Input<'_>,
) -> Result<Vec<T>> {
    match plan.node() {
        Node::OrEmpty(child) if plan.child(*child).is_none() => {
            super::option::or_empty(0, rows, input, |present, input| {
                convert(read_leaf(own, present, input)?, input)
            })
        }
        _ => open_converted(plan, rows, input),
    }
}

/// An array whose elements have an alternative wire form.
pub struct Each<A>(PhantomData<A>);

impl<A: Adapt<T>, T, const N: usize> Adapt<[T; N]> for Each<A> {
    fn describe(shape: &mut ShapeBuilder) -> Type {
        Type::Array(N as u32, Box::new(A::describe(shape)))
    }

    fn write<'a, I: Rows<'a, [T; N]>>(rows: I, writer: &mut Writer<'_>)
    where
        T: 'a,
    {
        let elements: Vec<&T> = rows.flatten().collect();
        writer.block(elements.len(), A::BITS, |writer| A::write(elements.iter().copied(), writer));
    }
}

impl<'de, A: ReadAdapt<'de, T>, T, const N: usize> ReadAdapt<'de, [T; N]> for Each<A> {
    type Column = EachColumn<A::Column, N>;
}

/// Opened arrays whose elements have an alternative wire form.
pub struct EachColumn<C, const N: usize>(C);

impl<'de, C: Column<'de>, const N: usize> Column<'de> for EachColumn<C, N> {
    type Item = [C::Item; N];

    fn absent(rows: usize) -> Self {
        Self(C::absent(rows.saturating_mul(N)))
    }

    fn open(plan: Option<Plan<'_>>, rows: usize, input: &mut Input<'de>) -> Result<Self> {
        let child = match plan.map(|plan| (plan, plan.node())) {
            Some((plan, Node::Array(child))) => plan.child(*child),
            Some(_) => return Err(mismatch(input)),
            None => None,
        };
        let count = rows.saturating_mul(N);
        input
            .block(count, child.map_or(0, Plan::bits), size_of::<C::Item>(), |input| {
                C::open(child, count, input)
            })
            .map(Self)
    }

    fn get(&self, row: usize, text: &'de str) -> Self::Item {
        std::array::from_fn(|index| self.0.get(row * N + index, text))
    }
}

impl<const BITS: u8, T: Float + Copy> Adapt<[T; 4]> for Quat<BITS> {
    fn describe(_: &mut ShapeBuilder) -> Type {
        const { assert!(BITS >= 4 && BITS <= 16, "a quat has 4 to 16 bits a component") };
        Type::Quat(BITS)
    }

    fn write<'a, I: Rows<'a, [T; 4]>>(rows: I, writer: &mut Writer<'_>)
    where
        T: 'a,
    {
        let quats: Vec<SmallestThree> =
            rows.map(|quat| SmallestThree::from_quat(quat.map(Into::into), BITS)).collect();
        write_quats(&quats, BITS, writer);
    }
}

/// Writes quaternions of the current block.
pub(crate) fn write_quats(quats: &[SmallestThree], bits: u8, writer: &mut Writer<'_>) {
    if writer.is_plain() {
        for quat in quats {
            writer.out.extend_from_slice(&quat.pack(bits).to_le_bytes()[..SmallestThree::width(bits)]);
        }
        return;
    }
    write_numbers(&quats.iter().map(|quat| quat.largest).collect::<Vec<_>>(), writer);
    for component in 0..3 {
        write_numbers(&quats.iter().map(|quat| quat.components[component]).collect::<Vec<_>>(), writer);
    }
}

/// Reads quaternions of the current block.
pub(crate) fn read_quats(bits: u8, rows: usize, input: &mut Input<'_>) -> Result<Vec<[f64; 4]>> {
    input.charge(rows, 32)?;
    let mut quats = Vec::with_capacity(rows);
    if input.is_plain() {
        for _ in 0..rows {
            let mut packed = [0; 8];
            let bytes = input.take(SmallestThree::width(bits))?;
            packed[..bytes.len()].copy_from_slice(bytes);
            let packed = u64::from_le_bytes(packed);
            if packed >> (2 + 3 * u32::from(bits)) != 0 {
                return Err(input.error(ErrorKind::PaddingBits));
            }
            quats.push(SmallestThree::unpack(packed, bits));
        }
    } else {
        let largest: Vec<u8> = read_numbers(rows, input)?;
        let parts: [Vec<u16>; 3] =
            [read_numbers(rows, input)?, read_numbers(rows, input)?, read_numbers(rows, input)?];
        let [a, b, c] = &parts;
        for (row, largest) in largest.into_iter().enumerate() {
            quats.push(SmallestThree { largest, components: [a[row], b[row], c[row]] });
        }
    }
    match quats.iter().find(|quat| !quat.is_valid(bits)) {
        Some(quat) => Err(input.error(ErrorKind::Range { value: format!("{quat:?}"), into: "quat" })),
        None => Ok(quats.into_iter().map(|quat| quat.to_quat(bits)).collect()),
    }
}

impl<'de, const BITS: u8, T: Float + Copy + FromNumbers + Default> ReadAdapt<'de, [T; 4]> for Quat<BITS> {
    type Column = QuatColumn<BITS, T>;
}

/// Opened quaternions.
pub struct QuatColumn<const BITS: u8, T>(Vec<[f64; 4]>, PhantomData<T>);

impl<'de, const BITS: u8, T: FromNumbers + Default> Column<'de> for QuatColumn<BITS, T> {
    type Item = [T; 4];

    fn absent(_: usize) -> Self {
        Self(Vec::new(), PhantomData)
    }

    fn open(plan: Option<Plan<'_>>, rows: usize, input: &mut Input<'de>) -> Result<Self> {
        let bits = match plan.map(Plan::node) {
            None => BITS,
            Some(Node::Source(Type::Quat(bits))) => *bits,
            Some(_) => return Err(mismatch(input)),
        };
        read_quats(bits, rows, input).map(|quats| Self(quats, PhantomData))
    }

    fn get(&self, row: usize, _: &'de str) -> [T; 4] {
        // If the writer does not have the field, it is read as the rotation by zero.
        let quat = self.0.get(row).copied().unwrap_or([0.0, 0.0, 0.0, 1.0]);
        quat.map(|component| T::from_float(component).unwrap_or_default())
    }
}
