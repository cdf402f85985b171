//! Unsigned numbers with a fixed small width.

use super::Number;

/// Number of bits for each width index.
const BITS: [usize; 9] = [0, 1, 2, 4, 8, 16, 24, 32, 48];

/// The smallest width index that holds `value`; `None` beyond 48 bits.
pub(crate) fn width_for(value: u64) -> Option<u8> {
    let bits = 64 - value.leading_zeros() as usize;
    BITS.iter().position(|width| *width >= bits).map(|index| index as u8)
}

/// Number of bytes that `count` numbers take; `None` for an index that does not exist.
pub(crate) fn packed_len(count: usize, width: u8) -> Option<usize> {
    BITS.get(usize::from(width)).map(|bits| (count * bits).div_ceil(8))
}

/// Appends numbers that fit the width.
pub(crate) fn pack(values: impl ExactSizeIterator<Item = u64>, width: u8, out: &mut Vec<u8>) {
    let bits = BITS[usize::from(width)];
    let count = values.len();
    let start = out.len();
    out.resize(start + (count * bits).div_ceil(8), 0);
    let tail = &mut out[start..];
    match bits {
        0 => {}
        1 => put_bits::<1>(tail, values),
        2 => put_bits::<2>(tail, values),
        4 => put_bits::<4>(tail, values),
        8 => tail.iter_mut().zip(values).for_each(|(byte, value)| *byte = value as u8),
        16 => put::<2>(tail, values),
        24 => put::<3>(tail, values),
        32 => put::<4>(tail, values),
        _ => put::<6>(tail, values),
    }
}

#[inline]
fn put_bits<const BITS: usize>(tail: &mut [u8], mut values: impl Iterator<Item = u64>) {
    for byte in tail {
        for shift in (0..8).step_by(BITS) {
            *byte |= (values.next().unwrap_or(0) as u8) << shift;
        }
    }
}

#[inline]
fn put<const N: usize>(tail: &mut [u8], values: impl Iterator<Item = u64>) {
    for (chunk, value) in tail.as_chunks_mut::<N>().0.iter_mut().zip(values) {
        chunk.copy_from_slice(&value.to_le_bytes()[..N]);
    }
}

/// Appends the differences of neighbours, minus `step`. The results must fit the width.
pub(crate) fn pack_steps<T: Number>(values: &[T], step: i64, width: u8, out: &mut Vec<u8>) {
    let numbers = values.len().saturating_sub(1);
    let start = out.len();
    match BITS[usize::from(width)] {
        bits @ (1 | 2 | 4 | 8) => {
            out.resize(start + (numbers * bits).div_ceil(8), 0);
            let tail = &mut out[start..];
            match bits {
                1 => put_steps::<8, T>(tail, values, step),
                2 => put_steps::<4, T>(tail, values, step),
                4 => put_steps::<2, T>(tail, values, step),
                _ => put_steps::<1, T>(tail, values, step),
            }
        }
        _ => {
            let above = |pair: &[T]| (exact(&pair[1]) - exact(&pair[0]) - step) as u64;
            pack(values.windows(2).map(above), width, out);
        }
    }
}

/// Packs several steps into each byte. Reads the steps from two adjacent slices, because compilers vectorise such loops well.
#[inline]
fn put_steps<const PER_BYTE: usize, T: Number>(tail: &mut [u8], values: &[T], step: i64) {
    // The remaining bits are the same if they are computed in 32 bits, for any whole difference.
    let above = |before: &T, after: &T| {
        (exact(after) as u32).wrapping_sub(exact(before) as u32).wrapping_sub(step as u32) as u8
    };
    let shift = 8 / PER_BYTE;
    let (befores, last_befores) = values[..values.len() - 1].as_chunks::<PER_BYTE>();
    let (afters, last_afters) = values[1..].as_chunks::<PER_BYTE>();
    for ((byte, before), after) in tail.iter_mut().zip(befores).zip(afters) {
        for at in 0..PER_BYTE {
            *byte |= above(&before[at], &after[at]) << (shift * at);
        }
    }
    if let Some(byte) = tail.get_mut(befores.len()) {
        for (at, (before, after)) in last_befores.iter().zip(last_afters).enumerate() {
            *byte |= above(before, after) << (shift * at);
        }
    }
}

#[inline]
fn exact<T: Number>(value: &T) -> i64 {
    value.exact().unwrap_or_default()
}

/// Calls `each` with every number in order. `data` must have `packed_len` bytes. Returns false if unused bits are set.
#[inline]
pub(crate) fn unpack(data: &[u8], count: usize, width: u8, mut each: impl FnMut(u64)) -> bool {
    match BITS[usize::from(width)] {
        0 => (0..count).for_each(|_| each(0)),
        1 => return unpack_bits::<1>(data, count, each),
        2 => return unpack_bits::<2>(data, count, each),
        4 => return unpack_bits::<4>(data, count, each),
        8 => data.iter().for_each(|byte| each(u64::from(*byte))),
        16 => data.as_chunks::<2>().0.iter().for_each(|chunk| each(u16::from_le_bytes(*chunk).into())),
        24 => {
            data.as_chunks::<3>()
                .0
                .iter()
                .for_each(|&[a, b, c]| each(u32::from_le_bytes([a, b, c, 0]).into()));
        }
        32 => data.as_chunks::<4>().0.iter().for_each(|chunk| each(u32::from_le_bytes(*chunk).into())),
        _ => data
            .as_chunks::<6>()
            .0
            .iter()
            .for_each(|&[a, b, c, d, e, f]| each(u64::from_le_bytes([a, b, c, d, e, f, 0, 0]))),
    }
    true
}

/// Fills `values` with running sums. Each value is the previous value plus `step` plus a packed number. For the first value,
/// the previous value is `sum`. Checks no value: all must be in range. Returns false if unused bits are set, and `None` for
/// widths above a byte.
pub(crate) fn sum_steps<T: Number>(
    data: &[u8],
    width: u8,
    sum: i64,
    step: i64,
    values: &mut [T],
) -> Option<bool> {
    match BITS[usize::from(width)] {
        1 => Some(sum_bits::<8, T>(data, sum, step, values)),
        2 => Some(sum_bits::<4, T>(data, sum, step, values)),
        4 => Some(sum_bits::<2, T>(data, sum, step, values)),
        8 => Some(sum_bits::<1, T>(data, sum, step, values)),
        _ => None,
    }
}

#[inline]
fn sum_bits<const PER_BYTE: usize, T: Number>(
    data: &[u8],
    mut sum: i64,
    step: i64,
    values: &mut [T],
) -> bool {
    let bits = 8 / PER_BYTE;
    let mask = u8::MAX >> (8 - bits);
    let mut fill = |slots: &mut [T], byte: u8| {
        for (at, slot) in slots.iter_mut().enumerate() {
            sum += step + i64::from((byte >> (bits * at)) & mask);
            *slot = T::from_exact(sum);
        }
    };
    let (whole, rest) = values.as_chunks_mut::<PER_BYTE>();
    for (slots, byte) in whole.iter_mut().zip(data) {
        fill(slots, *byte);
    }
    let Some(byte) = data.get(whole.len()) else { return true };
    fill(rest, *byte);
    byte >> (bits * rest.len()) == 0
}

#[inline]
fn unpack_bits<const BITS: usize>(data: &[u8], count: usize, mut each: impl FnMut(u64)) -> bool {
    let per_byte = 8 / BITS;
    let mask = (1u8 << BITS) - 1;
    let whole = count / per_byte;
    for byte in &data[..whole] {
        let mut rest = *byte;
        for _ in 0..per_byte {
            each(u64::from(rest & mask));
            rest >>= BITS;
        }
    }
    let Some(byte) = data.get(whole) else { return true };
    let mut rest = *byte;
    for _ in 0..count % per_byte {
        each(u64::from(rest & mask));
        rest >>= BITS;
    }
    rest == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_numbers_of_every_width_read_back() {
        for (width, bits) in BITS.iter().enumerate() {
            let max = if *bits == 0 { 0 } else { u64::MAX >> (64 - bits) };
            for count in [1usize, 3, 4, 7, 8, 9, 33] {
                let values: Vec<u64> = (0..count as u64).map(|i| (i * 0x1234_5678_9abd) & max).collect();
                let mut bytes = Vec::new();
                pack(values.iter().copied(), width as u8, &mut bytes);
                assert_eq!(Some(bytes.len()), packed_len(count, width as u8));
                let mut back = Vec::new();
                assert!(unpack(&bytes, count, width as u8, |value| back.push(value)));
                assert_eq!(values, back, "width index {width}");
            }
        }
    }

    #[test]
    fn steps_are_packed_like_their_numbers() {
        for (width, bits) in BITS.iter().enumerate() {
            let max = (u64::MAX >> (64 - (*bits).max(1)).min(63)) as i64 * i64::from(*bits > 0);
            for count in [2usize, 3, 8, 9, 10, 33] {
                let above: Vec<u64> = (1..count as i64).map(|i| (i * 7 % (max + 1)) as u64).collect();
                let mut values = vec![-1000i64];
                values.extend(above.iter().scan(-1000i64, |sum, above| {
                    *sum += 3 + *above as i64;
                    Some(*sum)
                }));
                let (mut packed, mut steps) = (Vec::new(), Vec::new());
                pack(above.iter().copied(), width as u8, &mut packed);
                pack_steps(&values, 3, width as u8, &mut steps);
                assert_eq!(packed, steps, "width index {width}");
                let mut back = vec![0i64; count - 1];
                if let Some(clean) = sum_steps(&steps, width as u8, -1000, 3, &mut back) {
                    assert!(clean && back == values[1..], "width index {width}");
                }
            }
        }
        assert_eq!(sum_steps(&[0b1000_0000], 1, 0, 0, &mut [0u8; 3]), Some(false));
    }

    #[test]
    fn the_smallest_width_is_found() {
        assert_eq!(width_for(0), Some(0));
        assert_eq!(width_for(1), Some(1));
        assert_eq!(width_for(5), Some(3));
        assert_eq!(width_for(65_536), Some(6));
        assert_eq!(width_for(1 << 48), None);
    }

    #[test]
    fn unused_bits_are_noticed() {
        assert!(!unpack(&[0b1000_0000], 3, 1, |_| {}));
    }
}
