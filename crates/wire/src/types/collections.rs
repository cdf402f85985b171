//! Lists, sets, maps and arrays.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::hash::{BuildHasher, Hash};
use std::marker::PhantomData;
use std::ops::Range;

use super::option::open_block;
use super::text::read_bytes;
use crate::column::{read_lengths, write_lengths};
use crate::error::{ErrorKind, Result};
use crate::input::Input;
use crate::output::Writer;
use crate::plan::{Node, Plan};
use crate::shape::{ShapeBuilder, Type};
use crate::wire::{Column, Read, Rows, Wire};

impl<T: Wire> Wire for Vec<T> {
    const BITS: usize = 0;
    const TEXTS: usize = 0;
    const FLAT: bool = false;

    fn describe(shape: &mut ShapeBuilder) -> Type {
        if T::BYTE { Type::Bytes } else { Type::List(Box::new(T::describe(shape))) }
    }

    fn write<'a, I: Rows<'a, Self>>(mut rows: I, writer: &mut Writer<'_>)
    where
        Self: 'a,
    {
        if T::BYTE {
            let lengths: Vec<u32> = rows.clone().map(|row| row.len() as u32).collect();
            write_lengths(&lengths, writer);
            // In plain form, the elements follow without a coding byte, whatever their number.
            rows.for_each(|row| T::write_raw(row, writer));
            return;
        }
        if rows.len() == 1 {
            // A single list is contiguous, so its elements are read in place.
            if let Some(only) = rows.next() {
                writer.put_varint(only.len() as u64);
                writer.block(only.len(), T::BITS, |writer| T::write(only.iter(), writer));
            }
            return;
        }
        write_elements(rows, Self::len, writer);
    }
}

impl<'de, T: Read<'de>> Read<'de> for Vec<T> {
    type Column = ListColumn<'de, T::Column>;
}

/// Opened lists.
pub struct ListColumn<'de, C> {
    spans: Spans,
    elements: Option<Box<C>>,
    /// The rows as slices of the message, if the elements are bytes.
    bytes: Vec<&'de [u8]>,
}

/// The elements that belong to each row.
pub(crate) enum Spans {
    One(usize),
    Each(usize),
    /// The end of each row.
    Ends(Vec<u32>),
}

impl Spans {
    /// Reads the lengths and adds them up.
    pub(crate) fn open(rows: usize, input: &mut Input<'_>) -> Result<(Self, usize)> {
        if rows == 1 {
            let count = input.count()?;
            return Ok((Self::One(count), count));
        }
        let mut ends = read_lengths(rows, input)?;
        let mut sum = 0u32;
        for end in &mut ends {
            sum = sum
                .checked_add(*end)
                .ok_or_else(|| input.error(ErrorKind::Count { count: u64::from(sum) + u64::from(*end) }))?;
            *end = sum;
        }
        Ok((Self::Ends(ends), sum as usize))
    }

    pub(crate) fn get(&self, row: usize) -> Range<usize> {
        match self {
            Self::One(count) => 0..*count,
            Self::Each(count) => row * count..(row + 1) * count,
            Self::Ends(ends) => {
                let start = if row == 0 { 0 } else { ends.get(row - 1).copied().unwrap_or_default() };
                start as usize..ends.get(row).copied().unwrap_or(start) as usize
            }
        }
    }
}

impl<'de, C> Column<'de> for ListColumn<'de, C>
where
    C: Column<'de>,
    C::Item: Wire,
{
    type Item = Vec<C::Item>;

    fn absent(_: usize) -> Self {
        Self { spans: Spans::Ends(Vec::new()), elements: None, bytes: Vec::new() }
    }

    fn open(plan: Option<Plan<'_>>, rows: usize, input: &mut Input<'de>) -> Result<Self> {
        if C::Item::BYTE {
            return Ok(Self { bytes: read_bytes(rows, input)?, ..Self::absent(rows) });
        }
        let (spans, elements) = open_list(plan, rows, input)?;
        Ok(Self { spans, elements, bytes: Vec::new() })
    }

    fn get(&self, row: usize, text: &'de str) -> Self::Item {
        if C::Item::BYTE {
            return C::Item::from_raw(self.bytes.get(row).copied().unwrap_or_default());
        }
        match &self.elements {
            Some(elements) => elements.values(self.spans.get(row), text).collect(),
            None => Vec::new(),
        }
    }
}

/// Opens the elements of lists, which the writer may have written as arrays.
fn open_list<'de, C>(
    plan: Option<Plan<'_>>,
    rows: usize,
    input: &mut Input<'de>,
) -> Result<(Spans, Option<Box<C>>)>
where
    C: Column<'de>,
    C::Item: Wire,
{
    let node = plan.map(|plan| (plan, plan.node()));
    if let Some((plan, Node::ArrayAsList(each, child))) = node {
        let count = rows.saturating_mul(*each as usize);
        return Ok((Spans::Each(*each as usize), open_block(plan.child(*child), count, input)?));
    }
    let child = match node {
        Some((plan, Node::List(child))) => plan.child(*child),
        _ => None,
    };
    let (spans, count) = Spans::open(rows, input)?;
    Ok((spans, open_block(child, count, input)?))
}

impl<T: Wire, const N: usize> Wire for [T; N] {
    const BITS: usize = 0;
    const TEXTS: usize = 0;
    const FLAT: bool = T::FLAT && T::TEXTS == 0;

    fn describe(shape: &mut ShapeBuilder) -> Type {
        Type::Array(N as u32, Box::new(T::describe(shape)))
    }

    fn write<'a, I: Rows<'a, Self>>(mut rows: I, writer: &mut Writer<'_>)
    where
        Self: 'a,
    {
        if rows.len() == 1 {
            if let Some(only) = rows.next() {
                writer.block(N, T::BITS, |writer| T::write(only.iter(), writer));
            }
            return;
        }
        let elements: Vec<&T> = rows.flatten().collect();
        writer.block(elements.len(), T::BITS, |writer| T::write(elements.iter().copied(), writer));
    }
}

impl<'de, T: Read<'de>, const N: usize> Read<'de> for [T; N] {
    type Column = ArrayColumn<T::Column, N>;
}

/// Opened arrays.
pub struct ArrayColumn<C, const N: usize>(C);

impl<'de, C, const N: usize> Column<'de> for ArrayColumn<C, N>
where
    C: Column<'de>,
    C::Item: Wire,
{
    type Item = [C::Item; N];

    fn absent(rows: usize) -> Self {
        Self(C::absent(rows.saturating_mul(N)))
    }

    fn open(plan: Option<Plan<'_>>, rows: usize, input: &mut Input<'de>) -> Result<Self> {
        let child = match plan.map(|plan| (plan, plan.node())) {
            Some((plan, Node::Array(child))) => plan.child(*child),
            Some((plan, Node::ListAsArray(child))) => {
                let lengths = read_lengths(rows, input)?;
                if let Some(length) = lengths.iter().find(|length| **length as usize != N) {
                    let found = u64::from(*length);
                    return Err(input.error(ErrorKind::ArrayLength { expected: N, found }));
                }
                plan.child(*child)
            }
            _ => None,
        };
        let count = rows.saturating_mul(N);
        let elements = open_block(child, count, input)?;
        Ok(Self(elements.map_or_else(|| C::absent(count), |elements| *elements)))
    }

    #[inline]
    fn get(&self, row: usize, text: &'de str) -> Self::Item {
        std::array::from_fn(|index| self.0.get(row * N + index, text))
    }

    #[inline]
    fn values(&self, rows: Range<usize>, text: &'de str) -> impl ExactSizeIterator<Item = Self::Item> {
        self.0.arrays(rows, text)
    }
}

/// Writes collections as lists: first the lengths, then all elements.
fn write_elements<'a, T: Wire + 'a, C>(
    rows: impl Rows<'a, C>,
    length: impl Fn(&C) -> usize,
    writer: &mut Writer<'_>,
) where
    &'a C: IntoIterator<Item = &'a T>,
    C: 'a,
{
    let lengths: Vec<u32> = rows.clone().map(|row| length(row) as u32).collect();
    write_lengths(&lengths, writer);
    let elements: Vec<&T> = rows.flatten().collect();
    writer.block(elements.len(), T::BITS, |writer| T::write(elements.iter().copied(), writer));
}

/// Collections that are sent as lists.
macro_rules! as_list {
    ($($name:ident $(: $bound:path)? ;)*) => {$(
        impl<T: Wire $(+ $bound)?> Wire for $name<T> {
            const BITS: usize = 0;
            const TEXTS: usize = 0;
            const FLAT: bool = false;

            fn describe(shape: &mut ShapeBuilder) -> Type {
                Type::List(Box::new(T::describe(shape)))
            }

            fn write<'a, I: Rows<'a, Self>>(rows: I, writer: &mut Writer<'_>)
            where
                Self: 'a,
            {
                write_elements(rows, Self::len, writer);
            }
        }

        impl<'de, T: Read<'de> $(+ $bound)?> Read<'de> for $name<T> {
            type Column = CollectedColumn<'de, T::Column, $name<T>>;
        }
    )*};
}

as_list! { BTreeSet: Ord; VecDeque; }

impl<T: Wire + Eq + Hash, S: BuildHasher + Default> Wire for HashSet<T, S> {
    const BITS: usize = 0;
    const TEXTS: usize = 0;
    const FLAT: bool = false;

    fn describe(shape: &mut ShapeBuilder) -> Type {
        Type::List(Box::new(T::describe(shape)))
    }

    fn write<'a, I: Rows<'a, Self>>(rows: I, writer: &mut Writer<'_>)
    where
        Self: 'a,
    {
        write_elements(rows, Self::len, writer);
    }
}

impl<'de, T: Read<'de> + Eq + Hash, S: BuildHasher + Default> Read<'de> for HashSet<T, S> {
    type Column = CollectedColumn<'de, T::Column, HashSet<T, S>>;
}

/// Marks the type that a column produces without owning a value. So the column is `Send` if its parts are.
type Makes<'de, L> = PhantomData<(&'de (), fn() -> L)>;

/// Opened collections that are sent as lists.
pub struct CollectedColumn<'de, C, L> {
    spans: Spans,
    elements: Option<Box<C>>,
    collection: Makes<'de, L>,
}

impl<'de, C, L> Column<'de> for CollectedColumn<'de, C, L>
where
    C: Column<'de>,
    C::Item: Wire,
    L: FromIterator<C::Item>,
{
    type Item = L;

    fn absent(_: usize) -> Self {
        Self { spans: Spans::Ends(Vec::new()), elements: None, collection: PhantomData }
    }

    fn open(plan: Option<Plan<'_>>, rows: usize, input: &mut Input<'de>) -> Result<Self> {
        let (spans, elements) = open_list(plan, rows, input)?;
        Ok(Self { spans, elements, collection: PhantomData })
    }

    fn get(&self, row: usize, text: &'de str) -> L {
        let elements = self.elements.as_ref();
        elements.into_iter().flat_map(|all| all.values(self.spans.get(row), text)).collect()
    }
}

/// Writes maps: first the lengths, then the keys, then the values.
fn write_map<'a, M: 'a, K: Wire + 'a, V: Wire + 'a>(rows: impl Rows<'a, M>, writer: &mut Writer<'_>)
where
    &'a M: IntoIterator<Item = (&'a K, &'a V)>,
{
    let mut lengths = Vec::with_capacity(rows.len());
    let mut keys = Vec::new();
    let mut values = Vec::new();
    for row in rows {
        let before = keys.len();
        for (key, value) in row {
            keys.push(key);
            values.push(value);
        }
        lengths.push((keys.len() - before) as u32);
    }
    write_lengths(&lengths, writer);
    writer.block(keys.len(), K::BITS, |writer| K::write(keys.iter().copied(), writer));
    writer.block(values.len(), V::BITS, |writer| V::write(values.iter().copied(), writer));
}

macro_rules! map {
    ($name:ident [$($hasher:ident)?] $($key:path),*) => {
        impl<K: Wire $(+ $key)*, V: Wire $(, $hasher: BuildHasher + Default)?> Wire for $name<K, V $(, $hasher)?> {
            const BITS: usize = 0;
            const TEXTS: usize = 0;
            const FLAT: bool = false;

            fn describe(shape: &mut ShapeBuilder) -> Type {
                Type::Map(Box::new(K::describe(shape)), Box::new(V::describe(shape)))
            }

            fn write<'a, I: Rows<'a, Self>>(rows: I, writer: &mut Writer<'_>)
            where
                Self: 'a,
            {
                write_map(rows, writer);
            }
        }

        impl<'de, K, V $(, $hasher)?> Read<'de> for $name<K, V $(, $hasher)?>
        where
            K: Read<'de> $(+ $key)*,
            V: Read<'de>,
            $($hasher: BuildHasher + Default,)?
        {
            type Column = MapColumn<K::Column, V::Column, $name<K, V $(, $hasher)?>>;
        }
    };
}

map! { BTreeMap [] Ord }
map! { HashMap [S] Eq, Hash }

/// Opened maps.
pub struct MapColumn<K, V, M> {
    spans: Spans,
    entries: Option<Box<(K, V)>>,
    map: PhantomData<fn() -> M>,
}

impl<'de, K, V, M> Column<'de> for MapColumn<K, V, M>
where
    K: Column<'de>,
    V: Column<'de>,
    K::Item: Wire,
    V::Item: Wire,
    M: FromIterator<(K::Item, V::Item)>,
{
    type Item = M;

    fn absent(_: usize) -> Self {
        Self { spans: Spans::Ends(Vec::new()), entries: None, map: PhantomData }
    }

    fn open(plan: Option<Plan<'_>>, rows: usize, input: &mut Input<'de>) -> Result<Self> {
        let (key, value) = match plan.map(|plan| (plan, plan.node())) {
            Some((plan, Node::Map(key, value))) => (plan.child(*key), plan.child(*value)),
            _ => (None, None),
        };
        let (spans, count) = Spans::open(rows, input)?;
        let keys: Option<Box<K>> = open_block(key, count, input)?;
        let values: Option<Box<V>> = open_block(value, count, input)?;
        let entries = keys.zip(values).map(|(keys, values)| Box::new((*keys, *values)));
        Ok(Self { spans, entries, map: PhantomData })
    }

    fn get(&self, row: usize, text: &'de str) -> M {
        let pairs = self.entries.iter().flat_map(|entries| {
            let (keys, values) = &**entries;
            let span = self.spans.get(row);
            keys.values(span.clone(), text).zip(values.values(span, text))
        });
        pairs.collect()
    }
}
