//! Reads columns of numbers and bools.

use std::borrow::Cow;

use super::{Number, coding, packed_len, short, sum_steps, unpack, width_for};
use crate::error::{ErrorKind, Result};
use crate::input::Input;
use crate::limits::{DICTIONARY_MAX, PLAIN_ROWS_MAX};

/// The kind of coding that contains the current one. It determines which codings are allowed.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Nesting {
    Top,
    /// Inside of decimal, single or short. These codings cannot contain each other.
    Scaled,
    /// Inside of sparse. No coding that contains another column is allowed.
    Sparse,
}

/// Reads `rows` numbers of the current block, as plain values or as a column.
#[inline]
pub(crate) fn read_numbers<T: Number>(rows: usize, input: &mut Input<'_>) -> Result<Vec<T>> {
    input.charge(rows, size_of::<T>())?;
    if input.is_plain() { raw(rows, input) } else { column(rows, input, Nesting::Top) }
}

/// Reads `rows` numbers of the current block. If the numbers are unpacked in the message, they are not copied.
#[inline]
pub(crate) fn read_cells<'de, T: Number>(
    rows: usize,
    input: &mut Input<'de>,
) -> Result<Cow<'de, [T::Bytes]>> {
    input.charge(rows, size_of::<T>())?;
    if input.is_plain() {
        return raw_cells::<T>(rows, input).map(Cow::Borrowed);
    }
    if input.peek() == Some(coding::RAW) {
        input.byte()?;
        return raw_cells::<T>(rows, input).map(Cow::Borrowed);
    }
    let values: Vec<T> = column(rows, input, Nesting::Top)?;
    Ok(Cow::Owned(values.into_iter().map(T::to_bytes).collect()))
}

/// Reads lengths or counts. `rows` determines whether they are plain.
pub(crate) fn read_lengths(rows: usize, input: &mut Input<'_>) -> Result<Vec<u32>> {
    input.charge(rows, 4)?;
    if rows <= PLAIN_ROWS_MAX {
        return (0..rows).map(|_| input.count().map(|count| count as u32)).collect();
    }
    column(rows, input, Nesting::Top)
}

/// Reads `rows` bools of the current block.
pub(crate) fn read_bools(rows: usize, input: &mut Input<'_>) -> Result<Vec<bool>> {
    input.charge(rows, 1)?;
    if input.is_plain() {
        return Ok((0..rows).map(|_| input.next_bit()).collect());
    }
    match input.byte()? {
        coding::ALL_FALSE => Ok(vec![false; rows]),
        coding::ALL_TRUE => Ok(vec![true; rows]),
        coding::BITS => bitmap(rows, input),
        other => Err(input.error(ErrorKind::Coding { column: "bool", coding: other })),
    }
}

fn bitmap(rows: usize, input: &mut Input<'_>) -> Result<Vec<bool>> {
    let bytes = input.take(rows.div_ceil(8))?;
    let mut bools = vec![false; rows];
    let mut slots = bools.iter_mut();
    let clean = unpack(bytes, rows, 1, |bit| {
        if let Some(slot) = slots.next() {
            *slot = bit == 1;
        }
    });
    if !clean {
        return Err(input.error(ErrorKind::PaddingBits));
    }
    Ok(bools)
}

#[inline]
fn raw<T: Number>(rows: usize, input: &mut Input<'_>) -> Result<Vec<T>> {
    Ok(raw_cells::<T>(rows, input)?.iter().map(|cell| T::from_bytes(*cell)).collect())
}

#[inline]
fn raw_cells<'de, T: Number>(rows: usize, input: &mut Input<'de>) -> Result<&'de [T::Bytes]> {
    input.take(rows * T::WIDTH).map(T::cells)
}

fn column<T: Number>(rows: usize, input: &mut Input<'_>, nesting: Nesting) -> Result<Vec<T>> {
    let byte = input.byte()?;
    match byte {
        coding::RAW => raw(rows, input),
        coding::SAME => Ok(vec![T::from_slice(input.take(T::WIDTH)?); rows]),
        coding::DICTIONARY => dictionary(rows, input),
        coding::SPARSE if nesting < Nesting::Sparse => sparse(rows, input),
        coding::DECIMAL if T::DECIMAL && nesting == Nesting::Top => decimal(rows, input),
        coding::SINGLE if T::DECIMAL && T::WIDTH == 8 && nesting == Nesting::Top => {
            input.charge(rows, 4)?;
            let singles: Vec<f32> = column(rows, input, Nesting::Scaled)?;
            Ok(singles.into_iter().map(|single| T::from_f64(widen(single))).collect())
        }
        coding::SHORT if T::DECIMAL && T::WIDTH == 8 && nesting == Nesting::Top => {
            input.charge(rows, 4)?;
            let singles: Vec<f32> = column(rows, input, Nesting::Scaled)?;
            Ok(singles.into_iter().map(|single| T::from_f64(short::widen(single))).collect())
        }
        coding::PLANES if T::WIDTH >= 2 => planes(rows, input),
        _ => match (byte & 0xf0, T::EXACT) {
            (coding::PACKED, Some(range)) => packed(rows, byte & 0x0f, range, input),
            (coding::DELTA, Some(range)) => delta(rows, byte & 0x0f, range, input),
            _ => Err(input.error(ErrorKind::Coding { column: T::NAME, coding: byte })),
        },
    }
}

/// Converts `f32` to `f64` and keeps the payload of a NaN.
fn widen(single: f32) -> f64 {
    f64::from(single)
}

fn take_packed<'de>(count: usize, width: u8, input: &mut Input<'de>) -> Result<&'de [u8]> {
    match packed_len(count, width) {
        Some(length) => input.take(length),
        None => Err(input.error(ErrorKind::Coding { column: "packed", coding: width })),
    }
}

fn packed<T: Number>(rows: usize, width: u8, range: (i64, i64), input: &mut Input<'_>) -> Result<Vec<T>> {
    let base = exact::<T>(range, input)?;
    let bytes = take_packed(rows, width, input)?;
    let mut values = vec![T::default(); rows];
    let mut slots = values.iter_mut();
    let mut greatest = 0;
    let clean = unpack(bytes, rows, width, |offset| {
        greatest = greatest.max(offset);
        if let Some(slot) = slots.next() {
            *slot = T::from_exact(base + offset as i64);
        }
    });
    if !clean {
        return Err(input.error(ErrorKind::PaddingBits));
    }
    check::<T>(base + greatest as i64, range, input)?;
    Ok(values)
}

fn delta<T: Number>(rows: usize, width: u8, range: (i64, i64), input: &mut Input<'_>) -> Result<Vec<T>> {
    let first = exact::<T>(range, input)?;
    let step = input.zigzag()?;
    // The difference of two values in range is at most this maximum.
    check::<T>(step.saturating_abs(), (0, 2 * crate::limits::EXACT_MAX), input)?;
    let bytes = take_packed(rows - 1, width, input)?;
    let mut values = vec![T::from_exact(first); rows];
    // No value can exceed `farthest`. If `farthest` is in range, single values need no check.
    let farthest = first.saturating_add((rows as i64 - 1).saturating_mul(step.saturating_add(0xff)));
    if step >= 0
        && farthest <= range.1
        && let Some(clean) = sum_steps(bytes, width, first, step, &mut values[1..])
    {
        return if clean { Ok(values) } else { Err(input.error(ErrorKind::PaddingBits)) };
    }
    let mut slots = values[1..].iter_mut();
    let mut value = first;
    let (mut least, mut greatest) = (first, first);
    let clean = unpack(bytes, rows - 1, width, |offset| {
        // With hostile data the sum can leave the range, which is reported later. The wrapping addition never overflows.
        value = value.wrapping_add(step + offset as i64);
        least = least.min(value);
        greatest = greatest.max(value);
        if let Some(slot) = slots.next() {
            *slot = T::from_exact(value);
        }
    });
    if !clean {
        return Err(input.error(ErrorKind::PaddingBits));
    }
    check::<T>(least, range, input)?;
    check::<T>(greatest, range, input)?;
    Ok(values)
}

fn exact<T: Number>(range: (i64, i64), input: &mut Input<'_>) -> Result<i64> {
    let value = input.zigzag()?;
    check::<T>(value, range, input)?;
    Ok(value)
}

fn check<T: Number>(value: i64, (low, high): (i64, i64), input: &Input<'_>) -> Result<()> {
    if value < low || value > high {
        return Err(input.error(ErrorKind::Range { value: value.to_string(), into: T::NAME }));
    }
    Ok(())
}

fn dictionary<T: Number>(rows: usize, input: &mut Input<'_>) -> Result<Vec<T>> {
    let entries = input.varint()?;
    if !(2..=DICTIONARY_MAX as u64).contains(&entries) {
        return Err(input.error(ErrorKind::DictionarySize { entries, rows }));
    }
    let entries = entries as usize;
    let dictionary: Vec<T> = raw(entries, input)?;
    let mut values = vec![T::default(); rows];
    let mut slots = values.iter_mut();
    read_codes(rows, entries, input, |code| {
        if let Some(slot) = slots.next() {
            *slot = dictionary[code];
        }
    })?;
    Ok(values)
}

/// Reads codes below `entries`, at the smallest width that fits all of them.
pub(super) fn read_codes(
    rows: usize,
    entries: usize,
    input: &mut Input<'_>,
    mut each: impl FnMut(usize),
) -> Result<()> {
    let width = width_for(entries as u64 - 1).unwrap_or_default();
    let bytes = take_packed(rows, width, input)?;
    let mut wrong = None;
    let clean = unpack(bytes, rows, width, |code| {
        if code < entries as u64 {
            each(code as usize);
        } else {
            wrong = Some(code);
        }
    });
    if !clean {
        return Err(input.error(ErrorKind::PaddingBits));
    }
    match wrong {
        Some(code) => Err(input.error(ErrorKind::DictionaryCode { entries, code })),
        None => Ok(()),
    }
}

fn sparse<T: Number>(rows: usize, input: &mut Input<'_>) -> Result<Vec<T>> {
    let usual = T::from_slice(input.take(T::WIDTH)?);
    let differs = bitmap(rows, input)?;
    let count = differs.iter().filter(|differs| **differs).count();
    let others: Vec<T> = match count {
        0..=PLAIN_ROWS_MAX => raw(count, input)?,
        _ => column(count, input, Nesting::Sparse)?,
    };
    let mut others = others.into_iter();
    let value = |differs| if differs { others.next().unwrap_or(usual) } else { usual };
    Ok(differs.into_iter().map(value).collect())
}

fn decimal<T: Number>(rows: usize, input: &mut Input<'_>) -> Result<Vec<T>> {
    let exponent = input.byte()?;
    if exponent > 22 {
        return Err(input.error(ErrorKind::Coding { column: "decimal", coding: exponent }));
    }
    input.charge(rows, 8)?;
    let scaled: Vec<i64> = column(rows, input, Nesting::Scaled)?;
    if let Some(value) = scaled.iter().find(|value| value.exact().is_none()) {
        return Err(input.error(ErrorKind::Range { value: value.to_string(), into: "decimal" }));
    }
    let divisor = short::power_of_ten(exponent);
    Ok(scaled.into_iter().map(|value| T::from_f64(value as f64 / divisor)).collect())
}

fn planes<T: Number>(rows: usize, input: &mut Input<'_>) -> Result<Vec<T>> {
    let bytes = input.take(rows * T::WIDTH)?;
    let mut bits = vec![0u64; rows];
    for (index, plane) in bytes.chunks_exact(rows).enumerate() {
        for (bits, byte) in bits.iter_mut().zip(plane) {
            *bits |= u64::from(*byte) << (8 * index);
        }
    }
    Ok(bits.into_iter().map(T::from_bits).collect())
}
