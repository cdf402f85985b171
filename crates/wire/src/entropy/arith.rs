//! A carry-free binary arithmetic coder.
//!
//! The coder keeps an interval `low..=high` of 32-bit numbers, and splits it by the probability of each bit. If the leading bytes
//! of both ends are equal, these bytes are final and leave the interval. At the end the writer writes only the bytes that are
//! needed to identify a number in the interval. The reader assumes zeros for missing bytes, and checks that the bytes are those
//! of an encoder.

use super::EntropyError;

/// The probability 1 in the scale of probabilities.
pub const ONE: u32 = 1 << 16;

/// Smallest distance of a probability from 0 and from 1, so that no bit costs more than eleven bits.
pub const PROBABILITY_MIN: u32 = 32;

/// A coder of either direction. The [module](super) explains why both directions share one trait.
pub trait Coder {
    /// Codes one bit and returns it. The probability that it is set is `set`/65,536. A decoder ignores `bit`.
    ///
    /// # Errors
    /// [`EntropyError::Truncated`] if a decoder has read far beyond the end of its bytes.
    fn bit(&mut self, bit: bool, set: u32) -> Result<bool, EntropyError>;

    /// Codes the lowest `count` bits of `value`, highest first, each with probability 1/2. Returns these bits.
    ///
    /// # Errors
    /// Like [`Coder::bit`].
    fn raw(&mut self, value: u32, count: u32) -> Result<u32, EntropyError> {
        let mut out = 0;
        for at in (0..count).rev() {
            out = out << 1 | u32::from(self.bit(value >> at & 1 == 1, ONE / 2)?);
        }
        Ok(out)
    }
}

/// Splits an interval. Encoder and decoder must compute the same result. The product stays below 2^48, which JavaScript's numbers
/// represent exactly.
#[inline]
fn split(low: u32, high: u32, set: u32) -> u32 {
    low + ((u64::from(high - low) * u64::from(set)) >> 16) as u32
}

/// Returns the part of an interval that stands for a bit. Its two ends are computed without a branch, because bits are hard to
/// predict.
#[inline]
fn half(low: u32, high: u32, middle: u32, bit: bool) -> (u32, u32) {
    (if bit { low } else { middle + 1 }, if bit { middle } else { high })
}

/// Writes bits to the end of a buffer.
#[derive(Debug)]
pub struct Encoder<'a> {
    low: u32,
    high: u32,
    out: &'a mut Vec<u8>,
}

impl<'a> Encoder<'a> {
    /// Makes an encoder that appends to `out`.
    pub fn new(out: &'a mut Vec<u8>) -> Self {
        Self { low: 0, high: u32::MAX, out }
    }

    /// Writes the bytes that are still needed to distinguish the last bits.
    pub fn finish(self) {
        let (bytes, count) = tail(self.low, self.high);
        self.out.extend_from_slice(&bytes[..count]);
    }
}

impl Coder for Encoder<'_> {
    #[inline]
    fn bit(&mut self, bit: bool, set: u32) -> Result<bool, EntropyError> {
        debug_assert!(set > 0 && set < ONE, "a probability is never 0 or 1");
        let middle = split(self.low, self.high, set);
        (self.low, self.high) = half(self.low, self.high, middle, bit);
        while (self.low ^ self.high) >> 24 == 0 {
            self.out.push((self.high >> 24) as u8);
            self.low <<= 8;
            self.high = self.high << 8 | 0xff;
        }
        Ok(bit)
    }
}

/// Reads bits from bytes that contain nothing else.
#[derive(Debug)]
pub struct Decoder<'a> {
    low: u32,
    high: u32,
    code: u32,
    bytes: &'a [u8],
    taken: usize,
}

impl<'a> Decoder<'a> {
    /// Makes a decoder that starts at the first byte.
    pub fn new(bytes: &'a [u8]) -> Self {
        let mut decoder = Self { low: 0, high: u32::MAX, code: 0, bytes, taken: 0 };
        for _ in 0..4 {
            decoder.take();
        }
        decoder
    }

    /// Checks that the bytes end as an encoder would have ended them.
    ///
    /// # Errors
    /// [`EntropyError::Trailing`] if the bytes end differently.
    pub fn finish(self) -> Result<(), EntropyError> {
        // Four bytes are read in advance, so the encoder had written `taken - 4` bytes before its last ones.
        let written = self.taken - 4;
        let (expected, count) = tail(self.low, self.high);
        if self.bytes.len() == written + count && self.bytes[written..] == expected[..count] {
            Ok(())
        } else {
            Err(EntropyError::Trailing)
        }
    }

    #[inline]
    fn take(&mut self) {
        self.code = self.code << 8 | u32::from(self.bytes.get(self.taken).copied().unwrap_or(0));
        self.taken += 1;
    }
}

impl Coder for Decoder<'_> {
    #[inline]
    fn bit(&mut self, _: bool, set: u32) -> Result<bool, EntropyError> {
        let middle = split(self.low, self.high, set);
        let bit = self.code <= middle;
        (self.low, self.high) = half(self.low, self.high, middle, bit);
        while (self.low ^ self.high) >> 24 == 0 {
            // An encoder omits at most the four zero bytes that are read in advance.
            if self.taken >= self.bytes.len() + 4 {
                return Err(EntropyError::Truncated);
            }
            self.low <<= 8;
            self.high = self.high << 8 | 0xff;
            self.take();
        }
        Ok(bit)
    }
}

/// Returns the fewest bytes that, if zeros follow, stand for a number in `low..=high`.
fn tail(low: u32, high: u32) -> ([u8; 4], usize) {
    for count in 0..4u32 {
        let unit = u32::MAX.checked_shr(8 * count).unwrap_or(0);
        // The first multiple of the unit that is at least `low`.
        let Some(value) = low.checked_add(unit).map(|value| value & !unit) else { continue };
        if value <= high {
            return (value.to_be_bytes(), count as usize);
        }
    }
    (low.to_be_bytes(), 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A small generator, so that the cases are the same everywhere.
    fn sequence(seed: u32) -> impl FnMut() -> u32 {
        let mut state = seed | 1;
        move || {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            state
        }
    }

    #[test]
    fn bits_read_back_in_order_at_the_cost_of_their_probability() {
        for seed in 1..200 {
            let mut next = sequence(seed * 7919);
            let bits: Vec<(bool, u32)> = (0..500)
                .map(|_| {
                    let set = (next() % (ONE - 2 * PROBABILITY_MIN)) + PROBABILITY_MIN;
                    ((next() & 0xffff) < set, set)
                })
                .collect();
            let mut bytes = Vec::new();
            let mut encoder = Encoder::new(&mut bytes);
            for &(bit, set) in &bits {
                encoder.bit(bit, set).unwrap();
            }
            encoder.finish();
            let ideal: f64 = bits
                .iter()
                .map(|&(bit, set)| -(f64::from(if bit { set } else { ONE - set }) / f64::from(ONE)).log2())
                .sum();
            assert!(
                bytes.len() as f64 <= ideal / 8.0 + 3.0,
                "seed {seed}: {} bytes for {ideal} bits",
                bytes.len()
            );
            let mut decoder = Decoder::new(&bytes);
            for &(bit, set) in &bits {
                assert_eq!(decoder.bit(false, set).unwrap(), bit, "seed {seed}");
            }
            decoder.finish().unwrap();
        }
    }

    #[test]
    fn a_packet_that_is_cut_or_has_an_added_byte_is_refused() {
        let mut next = sequence(42);
        let bits: Vec<bool> = (0..400).map(|_| next() & 1 == 1).collect();
        let mut bytes = Vec::new();
        let mut encoder = Encoder::new(&mut bytes);
        for &bit in &bits {
            encoder.bit(bit, 20_000).unwrap();
        }
        encoder.finish();
        let read = |bytes: &[u8]| {
            let mut decoder = Decoder::new(bytes);
            let read = bits.iter().map(|_| decoder.bit(false, 20_000)).collect::<Result<Vec<_>, _>>()?;
            decoder.finish().map(|()| read)
        };
        assert_eq!(read(&bytes).as_ref(), Ok(&bits));
        for length in 0..bytes.len() {
            // A truncated message may be a complete message of other bits. Only the carrier can distinguish the two.
            assert_ne!(read(&bytes[..length]).as_ref(), Ok(&bits), "cut to {length} of {}", bytes.len());
        }
        for extra in [0, 1, 0xff] {
            assert!(read(&[bytes.as_slice(), &[extra]].concat()).is_err());
        }
    }
}
