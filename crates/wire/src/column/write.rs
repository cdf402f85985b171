//! Writes columns of numbers and bools: chooses a coding, and writes its bytes.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use super::short::power_of_ten;
use super::{Number, coding, pack, pack_steps, packed_len, short, width_for};
use crate::limits::{DICTIONARY_MAX, EXACT_MAX, PLAIN_ROWS_MAX};
use crate::output::{Effort, Writer, put_varint, varint_len, zigzag};

/// Writes numbers of the current block, as plain values or as a column.
#[inline]
pub(crate) fn write_numbers<T: Number>(values: &[T], writer: &mut Writer<'_>) {
    if writer.is_plain() {
        T::put_all(values.iter().copied(), writer.out);
    } else {
        column(values, writer.effort, Allowed::ALL, writer.out);
    }
}

/// Writes numbers of the current block from their rows. Unpacked numbers are written without collecting them first.
#[inline]
pub(crate) fn write_number_rows<T: Number>(
    rows: impl ExactSizeIterator<Item = T> + Clone,
    writer: &mut Writer<'_>,
) {
    if writer.is_plain() {
        T::put_all(rows, writer.out);
    } else if writer.effort == Effort::Fast && !is_surveyed::<T>() && !are_same(rows.clone()) {
        writer.out.push(coding::RAW);
        T::put_all(rows, writer.out);
    } else {
        write_numbers(&rows.collect::<Vec<_>>(), writer);
    }
}

/// Whether all bits are the same. In most cases the second row decides.
#[inline]
fn are_same<T: Number>(mut rows: impl Iterator<Item = T>) -> bool {
    let first = rows.next().map(T::bits);
    rows.all(|value| Some(value.bits()) == first)
}

/// Whether fast writers determine the least and the greatest value. For floats this gains nothing, and for bytes little.
const fn is_surveyed<T: Number>() -> bool {
    T::EXACT.is_some() && T::WIDTH > 1
}

/// Writes lengths or counts. Their number determines whether they are plain.
pub(crate) fn write_lengths(lengths: &[u32], writer: &mut Writer<'_>) {
    if lengths.len() <= PLAIN_ROWS_MAX {
        lengths.iter().for_each(|length| writer.put_varint(u64::from(*length)));
    } else {
        column(lengths, writer.effort, Allowed::ALL, writer.out);
    }
}

/// Writes bools of the current block.
pub(crate) fn write_bools(bools: &[bool], writer: &mut Writer<'_>) {
    if writer.is_plain() {
        bools.iter().for_each(|value| writer.put_bit(*value));
        return;
    }
    match bools.iter().filter(|value| **value).count() {
        0 => writer.out.push(coding::ALL_FALSE),
        all if all == bools.len() => writer.out.push(coding::ALL_TRUE),
        _ => {
            writer.out.push(coding::BITS);
            pack(bools.iter().map(|value| u64::from(*value)), 1, writer.out);
        }
    }
}

/// The codings containing another column that may be chosen.
#[derive(Clone, Copy)]
struct Allowed {
    scaled: bool,
    sparse: bool,
}

impl Allowed {
    const ALL: Self = Self { scaled: true, sparse: true };
    const SPARSE: Self = Self { scaled: false, sparse: true };
    const SIMPLE: Self = Self { scaled: false, sparse: false };
}

/// A coding chosen for a column.
enum Choice<T> {
    Raw,
    Same,
    Packed { base: i64, width: u8 },
    Delta { first: i64, step: i64, width: u8 },
    Dictionary { entries: Vec<T>, codes: Vec<u16> },
    Sparse { usual: T },
    Decimal { exponent: u8, scaled: Vec<i64> },
    Single { singles: Vec<f32> },
    Short { singles: Vec<f32> },
    Planes,
}

#[inline]
fn column<T: Number>(values: &[T], effort: Effort, allowed: Allowed, out: &mut Vec<u8>) {
    let choice = match effort {
        Effort::Fast => choose_fast(values),
        Effort::Small => choose_small(values, allowed),
    };
    put_choice(values, choice, effort, out);
}

fn put_choice<T: Number>(values: &[T], choice: Choice<T>, effort: Effort, out: &mut Vec<u8>) {
    let exact = |value: &T| value.exact().unwrap_or_default();
    match choice {
        Choice::Raw => {
            out.push(coding::RAW);
            T::put_all(values.iter().copied(), out);
        }
        Choice::Same => {
            out.push(coding::SAME);
            values[0].put(out);
        }
        Choice::Packed { base, width } => {
            out.push(coding::PACKED | width);
            put_varint(out, zigzag(base));
            pack(values.iter().map(|value| (exact(value) - base) as u64), width, out);
        }
        Choice::Delta { first, step, width } => {
            out.push(coding::DELTA | width);
            put_varint(out, zigzag(first));
            put_varint(out, zigzag(step));
            pack_steps(values, step, width, out);
        }
        Choice::Dictionary { entries, codes } => {
            out.push(coding::DICTIONARY);
            put_varint(out, entries.len() as u64);
            T::put_all(entries.iter().copied(), out);
            put_codes(&codes, entries.len(), out);
        }
        Choice::Sparse { usual } => {
            out.push(coding::SPARSE);
            usual.put(out);
            let differs = |value: &&T| value.bits() != usual.bits();
            pack(values.iter().map(|value| u64::from(differs(&value))), 1, out);
            let others: Vec<T> = values.iter().filter(differs).copied().collect();
            match others.len() {
                0..=PLAIN_ROWS_MAX => T::put_all(others.iter().copied(), out),
                _ => column(&others, effort, Allowed::SIMPLE, out),
            }
        }
        Choice::Decimal { exponent, scaled } => {
            out.extend([coding::DECIMAL, exponent]);
            column(&scaled, effort, Allowed::SPARSE, out);
        }
        Choice::Single { singles } => {
            out.push(coding::SINGLE);
            column(&singles, effort, Allowed::SPARSE, out);
        }
        Choice::Short { singles } => {
            out.push(coding::SHORT);
            column(&singles, effort, Allowed::SPARSE, out);
        }
        Choice::Planes => {
            out.push(coding::PLANES);
            put_planes(values, out);
        }
    }
}

/// Writes the lowest byte of every value, then the next byte of every value, and so on.
fn put_planes<T: Number>(values: &[T], out: &mut Vec<u8>) {
    for plane in 0..T::WIDTH {
        out.extend(values.iter().map(|value| (value.bits() >> (8 * plane)) as u8));
    }
}

/// Writes codes below `entries`, at the smallest width that fits all of them.
pub(super) fn put_codes(codes: &[u16], entries: usize, out: &mut Vec<u8>) {
    let width = width_for(entries as u64 - 1).unwrap_or_default();
    pack(codes.iter().map(|code| u64::from(*code)), width, out);
}

/// Chooses a coding in one pass over the values. Values that are not surveyed are only compared until two of them differ.
#[inline]
fn choose_fast<T: Number>(values: &[T]) -> Choice<T> {
    if are_same(values.iter().copied()) {
        return Choice::Same;
    }
    if !is_surveyed::<T>() {
        return Choice::Raw;
    }
    integers(values).map_or(Choice::Raw, |(choice, _)| choice)
}

/// Chooses between packed and delta coding. Returns the smaller coding and its size, if this size is smaller than that of raw
/// coding.
fn integers<T: Number>(values: &[T]) -> Option<(Choice<T>, usize)> {
    let Survey { first, least, spread, step, steps } = Survey::take(values)?;
    let raw = 1 + values.len() * T::WIDTH;
    let packed = width_for(spread).and_then(|width| {
        let size = 1 + varint_len(zigzag(least)) + packed_len(values.len(), width)?;
        Some((Choice::Packed { base: least, width }, size))
    });
    let delta = width_for(steps).and_then(|width| {
        let size =
            1 + varint_len(zigzag(first)) + varint_len(zigzag(step)) + packed_len(values.len() - 1, width)?;
        Some((Choice::Delta { first, step, width }, size))
    });
    packed.into_iter().chain(delta).min_by_key(|(_, size)| *size).filter(|(_, size)| *size < raw)
}

/// The properties of a column that packed and delta coding need.
#[derive(Debug, PartialEq)]
struct Survey {
    first: i64,
    least: i64,
    /// The difference of the greatest and the least value.
    spread: u64,
    /// The least difference between neighbours, and the distance from it to the greatest difference.
    step: i64,
    steps: u64,
}

impl Survey {
    /// Returns the bounds of rising values, such as most ids, from their two ends. Returns `None` for all other values.
    fn of_rising<T: Number>(values: &[T]) -> Option<Self> {
        if T::WIDTH > 4 {
            return None;
        }
        let exact = |value: &T| value.exact().unwrap_or_default();
        let (mut least, mut greatest) = (i32::MAX, i32::MIN);
        for (before, after) in values.iter().zip(&values[1..]) {
            // The difference is computed in 32 bits, because processors compare several such values at once. A step between
            // distant numbers wraps.
            let step = (exact(after) as i32).wrapping_sub(exact(before) as i32);
            least = least.min(step);
            greatest = greatest.max(step);
        }
        let (first, last) = (exact(&values[0]), exact(&values[values.len() - 1]));
        // If there are few steps and all are small, they cannot have wrapped.
        let is_near = i64::from(greatest).saturating_mul(values.len() as i64) < 1 << 31;
        (least >= 0 && last >= first && is_near).then(|| Self {
            first,
            least: first,
            spread: (last - first) as u64,
            step: least.into(),
            steps: (greatest - least) as u64,
        })
    }

    /// Returns `None` if a value is outside the range of these codings.
    fn take<T: Number>(values: &[T]) -> Option<Self> {
        Self::of_rising(values).or_else(|| Self::of_any(values))
    }

    fn of_any<T: Number>(values: &[T]) -> Option<Self> {
        // Only 64-bit numbers can be inexact, so for all other numbers this check costs nothing.
        if values.iter().any(|value| value.exact().is_none()) {
            return None;
        }
        let exact = |value: &T| value.exact().unwrap_or_default();
        let (first, mut last) = (exact(&values[0]), exact(&values[0]));
        let (mut step_least, mut step_greatest) = (i64::MAX, i64::MIN);
        for value in &values[1..] {
            let value = exact(value);
            step_least = step_least.min(value - last);
            step_greatest = step_greatest.max(value - last);
            last = value;
        }
        let (mut least, mut greatest) = (first, last);
        if step_least < 0 {
            for value in values {
                least = least.min(exact(value));
                greatest = greatest.max(exact(value));
            }
        }
        let (spread, steps) = ((greatest - least) as u64, (step_greatest - step_least) as u64);
        Some(Self { first, least, spread, step: step_least, steps })
    }
}

/// Chooses the smallest of all codings.
fn choose_small<T: Number>(values: &[T], allowed: Allowed) -> Choice<T> {
    let census = Census::take(values);
    if census.distinct == Some(1) {
        return Choice::Same;
    }
    let mut best = Choice::Raw;
    let mut best_size = 1 + values.len() * T::WIDTH;
    let mut offer = |choice: Choice<T>, size: usize| {
        if size < best_size {
            best = choice;
            best_size = size;
        }
    };
    if T::EXACT.is_some()
        && let Some((choice, size)) = integers(values)
    {
        offer(choice, size);
    }
    if let Some((choice, size)) = census.dictionary(values) {
        offer(choice, size);
    }
    if allowed.scaled && T::DECIMAL {
        if let Some((exponent, scaled)) = decimals(values) {
            let size = 2 + measure(&scaled, Allowed::SPARSE);
            offer(Choice::Decimal { exponent, scaled }, size);
        }
        if let Some(singles) = narrowed(values, exact_single) {
            let size = 1 + measure(&singles, Allowed::SPARSE);
            offer(Choice::Single { singles }, size);
        } else if let Some(singles) = narrowed(values, short::narrow) {
            let size = 1 + measure(&singles, Allowed::SPARSE);
            offer(Choice::Short { singles }, size);
        }
    }
    if let Some(usual) = census.usual.filter(|_| allowed.sparse) {
        let others: Vec<T> = values.iter().filter(|value| value.bits() != usual.bits()).copied().collect();
        let inner = if others.len() <= PLAIN_ROWS_MAX {
            others.len() * T::WIDTH
        } else {
            measure(&others, Allowed::SIMPLE)
        };
        offer(Choice::Sparse { usual }, 1 + T::WIDTH + values.len().div_ceil(8) + inner);
    }
    if matches!(best, Choice::Raw) && compress_better_as_planes(values) { Choice::Planes } else { best }
}

/// Whether a compressor saves more if the bytes are grouped by rank than if the values stay whole.
fn compress_better_as_planes<T: Number>(values: &[T]) -> bool {
    // For shorter columns, the saved bytes are not worth the additional work of the reader.
    const ROWS_MIN: usize = 64;
    if T::WIDTH < 2 || values.len() < ROWS_MIN {
        return false;
    }
    let (mut raw, mut planes) = (Vec::new(), Vec::new());
    T::put_all(values.iter().copied(), &mut raw);
    put_planes(values, &mut planes);
    let (raw, planes) = (lz4_flex::block::compress(&raw).len(), lz4_flex::block::compress(&planes).len());
    planes + planes / 32 < raw
}

/// Determines the size of a column by writing it.
fn measure<T: Number>(values: &[T], allowed: Allowed) -> usize {
    let mut out = Vec::new();
    column(values, Effort::Small, allowed, &mut out);
    out.len()
}

/// The frequency of each value.
struct Census<T> {
    /// The number of distinct values, unless there are too many for a dictionary.
    distinct: Option<usize>,
    codes: HashMap<u64, (u16, u32), BuildHasherDefault<BitsHasher>>,
    /// The value that at least half of the rows have.
    usual: Option<T>,
}

impl<T: Number> Census<T> {
    fn take(values: &[T]) -> Self {
        let mut codes: HashMap<u64, (u16, u32), _> = HashMap::default();
        // A dictionary that grows with the column would save nothing.
        let entries_max = (values.len() / 2 + 2).min(DICTIONARY_MAX);
        let mut distinct = Some(0);
        for value in values {
            let next = codes.len();
            let entry = codes.entry(value.bits()).or_insert((next as u16, 0));
            entry.1 += 1;
            if codes.len() > entries_max {
                distinct = None;
                break;
            }
        }
        if distinct.is_some() {
            distinct = Some(codes.len());
        }
        let half = values.len() as u32 / 2;
        let usual = majority(values, half);
        Self { distinct, codes, usual }
    }

    fn dictionary(&self, values: &[T]) -> Option<(Choice<T>, usize)> {
        let count = self.distinct?;
        let width = width_for(count as u64 - 1)?;
        let size = 1 + varint_len(count as u64) + count * T::WIDTH + packed_len(values.len(), width)?;
        if size > values.len() * T::WIDTH {
            return None;
        }
        let mut entries = vec![T::default(); count];
        for (bits, (code, _)) in &self.codes {
            entries[usize::from(*code)] = T::from_bits(*bits);
        }
        let codes = values.iter().map(|value| self.codes[&value.bits()].0).collect();
        Some((Choice::Dictionary { entries, codes }, size))
    }
}

/// Returns the value that more than `half` rows have (Boyer and Moore 1981).
fn majority<T: Number>(values: &[T], half: u32) -> Option<T> {
    let mut candidate = values[0];
    let mut lead = 0u32;
    for value in values {
        if lead == 0 {
            candidate = *value;
        }
        if value.bits() == candidate.bits() { lead += 1 } else { lead -= 1 }
    }
    let votes = values.iter().filter(|value| value.bits() == candidate.bits()).count();
    (votes as u32 > half).then_some(candidate)
}

/// Returns all values as integers times a power of ten, if every value is restored with the same bits.
fn decimals<T: Number>(values: &[T]) -> Option<(u8, Vec<i64>)> {
    let mut exponent = 0;
    for value in values {
        while scale(*value, exponent).is_none() {
            exponent += 1;
            if exponent > 14 {
                return None;
            }
        }
    }
    let scaled: Option<Vec<i64>> = values.iter().map(|value| scale(*value, exponent)).collect();
    Some((exponent, scaled?))
}

fn scale<T: Number>(value: T, exponent: u8) -> Option<i64> {
    let power = power_of_ten(exponent);
    let scaled = (value.to_f64() * power).round();
    if scaled.is_nan() || scaled.abs() > EXACT_MAX as f64 {
        return None;
    }
    (T::from_f64(scaled / power).bits() == value.bits()
        && (scaled as i64 as f64).to_bits() == scaled.to_bits())
    .then_some(scaled as i64)
}

/// Returns all values as singles, if every value is restored.
fn narrowed<T: Number>(values: &[T], narrow: impl Fn(f64) -> Option<f32>) -> Option<Vec<f32>> {
    if T::WIDTH != 8 {
        return None;
    }
    values.iter().map(|value| narrow(value.to_f64())).collect()
}

fn exact_single(wide: f64) -> Option<f32> {
    let single = wide as f32;
    (!wide.is_nan() && f64::from(single).to_bits() == wide.to_bits()).then_some(single)
}

/// A multiplicative hash of the bits of a number. It needs no protection against collisions, because the writer itself produces
/// the input.
#[derive(Default)]
struct BitsHasher(u64);

impl Hasher for BitsHasher {
    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = (self.0.rotate_left(5) ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rising_values_are_surveyed_like_any_others() {
        fn agree<T: Number + std::fmt::Debug>(values: &[T]) -> bool {
            let rising = Survey::of_rising(values);
            let found = rising.is_some();
            assert!(!found || rising == Survey::of_any(values), "{values:?}");
            found
        }
        assert!(agree(&[7u32, 7, 8, 2_000]));
        assert!(agree(&[u32::MAX - 9, u32::MAX - 9, u32::MAX - 1, u32::MAX]));
        assert!(agree(&[-4i32, -3, -3, 900_000]));
        assert!(agree(&[0u16, 1, 2, u16::MAX]));
        // These steps wrap in 32 bits, once and all the way round.
        assert!(!agree(&[u32::MAX, 0, 1, 2]));
        assert!(!agree(&[i32::MAX, i32::MIN, 5, 6]));
        assert!(!agree(&[0u32, 1 << 30, 1 << 31, 3 << 30, 0, 1]));
        assert!(!agree(&[0u32, u32::MAX, 0, u32::MAX]));
        assert!(!agree(&[5u32, 4, 3, 2]));
        assert!(!agree(&[1u64, 2, 3, 4]));
    }
}
