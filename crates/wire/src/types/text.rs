//! Text, owned or borrowed from the message, and raw bytes.

use std::borrow::Cow;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use super::Values;
use super::numbers::mismatch;
use crate::column::{read_lengths, read_texts, write_lengths, write_texts};
use crate::error::Result;
use crate::input::{Input, TO_THE_END};
use crate::output::Writer;
use crate::plan::{Node, Plan};
use crate::shape::{ShapeBuilder, Type};
use crate::wire::{Column, Read, Rows, Wire};

macro_rules! text {
    ($($type:ty),*) => {$(
        impl Wire for $type {
            const BITS: usize = 0;
            const TEXTS: usize = 1;
            const FLAT: bool = true;

            fn describe(_: &mut ShapeBuilder) -> Type {
                Type::Text
            }

            fn write<'a, I: Rows<'a, Self>>(rows: I, writer: &mut Writer<'_>)
            where
                Self: 'a,
            {
                write_texts(rows.map(|row| -> &str { row }), writer);
            }
        }

        impl<'de> Read<'de> for $type {
            type Column = TextColumn<$type>;
        }
    )*};
}

text! { String, Box<str>, Arc<str> }

impl Wire for Cow<'_, str> {
    const BITS: usize = 0;
    const TEXTS: usize = 1;
    const FLAT: bool = true;

    fn describe(_: &mut ShapeBuilder) -> Type {
        Type::Text
    }

    fn write<'a, I: Rows<'a, Self>>(rows: I, writer: &mut Writer<'_>)
    where
        Self: 'a,
    {
        write_texts(rows.map(|row| &**row), writer);
    }
}

impl<'de> Read<'de> for Cow<'de, str> {
    type Column = TextColumn<Cow<'de, str>>;
}

impl Wire for &str {
    const BITS: usize = 0;
    const TEXTS: usize = 1;
    const FLAT: bool = true;

    fn describe(_: &mut ShapeBuilder) -> Type {
        Type::Text
    }

    fn write<'a, I: Rows<'a, Self>>(rows: I, writer: &mut Writer<'_>)
    where
        Self: 'a,
    {
        write_texts(rows.copied(), writer);
    }
}

impl<'de> Read<'de> for &'de str {
    type Column = TextColumn<&'de str>;
}

/// Opened texts.
pub struct TextColumn<T> {
    spans: Values<(u32, u32)>,
    item: PhantomData<fn() -> T>,
}

impl<'de, T: From<&'de str>> Column<'de> for TextColumn<T> {
    type Item = T;

    fn absent(rows: usize) -> Self {
        Self { spans: Values::repeated((0, 0), rows), item: PhantomData }
    }

    fn open(plan: Option<Plan<'_>>, rows: usize, input: &mut Input<'de>) -> Result<Self> {
        let spans = match plan.map(Plan::node) {
            None if rows == 1 && input.is_plain() => Values::One(crate::column::read_plain_text(input)?),
            None => Values::Many(read_texts(rows, input)?),
            Some(Node::OrEmpty(_)) => Values::Many(super::option::or_empty(0, rows, input, read_texts)?),
            Some(_) => return Err(mismatch(input)),
        };
        Ok(Self { spans, item: PhantomData })
    }

    #[inline]
    fn get(&self, row: usize, text: &'de str) -> T {
        T::from(part(text, self.spans.get(row).copied().unwrap_or_default()))
    }

    #[inline]
    fn values(&self, rows: Range<usize>, text: &'de str) -> impl ExactSizeIterator<Item = T> {
        self.spans.slice()[rows].iter().map(move |span| T::from(part(text, *span)))
    }
}

/// Returns the text of a row.
#[inline]
fn part(text: &str, (start, end): (u32, u32)) -> &str {
    let end = if end == TO_THE_END { text.len() } else { end as usize };
    text.get(start as usize..end).unwrap_or_default()
}

/// Writes raw bytes: first the lengths, then all bytes.
pub(crate) fn write_bytes<'a>(rows: impl Iterator<Item = &'a [u8]> + Clone, writer: &mut Writer<'_>) {
    let lengths: Vec<u32> = rows.clone().map(|bytes| bytes.len() as u32).collect();
    write_lengths(&lengths, writer);
    rows.for_each(|bytes| writer.out.extend_from_slice(bytes));
}

/// Reads raw bytes, borrowed from the message.
pub(crate) fn read_bytes<'de>(rows: usize, input: &mut Input<'de>) -> Result<Vec<&'de [u8]>> {
    input.charge(rows, 16)?;
    let lengths = read_lengths(rows, input)?;
    lengths.into_iter().map(|length| input.take(length as usize)).collect()
}

impl Wire for &[u8] {
    const BITS: usize = 0;
    const TEXTS: usize = 0;
    const FLAT: bool = false;

    fn describe(_: &mut ShapeBuilder) -> Type {
        Type::Bytes
    }

    fn write<'a, I: Rows<'a, Self>>(rows: I, writer: &mut Writer<'_>)
    where
        Self: 'a,
    {
        write_bytes(rows.copied(), writer);
    }
}

impl<'de> Read<'de> for &'de [u8] {
    type Column = BytesColumn<'de>;
}

/// Opened raw bytes.
pub struct BytesColumn<'de>(Vec<&'de [u8]>);

impl<'de> Column<'de> for BytesColumn<'de> {
    type Item = &'de [u8];

    fn absent(_: usize) -> Self {
        Self(Vec::new())
    }

    fn open(plan: Option<Plan<'_>>, rows: usize, input: &mut Input<'de>) -> Result<Self> {
        match plan {
            None => read_bytes(rows, input).map(Self),
            Some(_) => Err(mismatch(input)),
        }
    }

    fn get(&self, row: usize, _: &'de str) -> &'de [u8] {
        self.0.get(row).copied().unwrap_or_default()
    }
}
