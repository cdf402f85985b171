//! Bits and Rice codes (Rice 1979). A number is divided by a power of two. Its quotient is written in unary, and its remainder in
//! binary. A writer returns its arguments, and a reader returns the numbers that it reads, so one function codes both directions.

use super::DeltaError;

/// From this quotient on, the number itself follows in 32 bits. So a wrong parameter costs little.
const QUOTIENT_MAX: u32 = 20;

/// Maps whole numbers to natural ones: 0, -1, 1, -2, … become 0, 1, 2, 3, ….
#[inline]
pub(super) fn zigzag(value: i32) -> u32 {
    (value << 1 ^ value >> 31) as u32
}

/// The inverse of [`zigzag`].
#[inline]
pub(super) fn unzigzag(value: u32) -> i32 {
    (value >> 1) as i32 ^ -((value & 1) as i32)
}

/// Writes or reads bits, the lowest first within each byte.
pub(super) trait Bits {
    /// Writes the lowest `count` (at most 32) bits of `value`, or reads that number of bits. Returns the bits.
    ///
    /// # Errors
    /// [`DeltaError::Truncated`] if a reader has no more bits.
    fn bits(&mut self, value: u32, count: u32) -> Result<u32, DeltaError>;

    /// Codes `value` with the parameter `k` (at most 31).
    ///
    /// # Errors
    /// Like [`Bits::bits`].
    #[inline]
    fn rice(&mut self, value: u32, k: u32) -> Result<u32, DeltaError> {
        let wanted = value >> k;
        let mut quotient = 0;
        while quotient < QUOTIENT_MAX && self.bits(u32::from(quotient < wanted), 1)? == 1 {
            quotient += 1;
        }
        if quotient == QUOTIENT_MAX {
            return self.bits(value, 32);
        }
        let rest = if k == 0 { 0 } else { self.bits(value & ((1 << k) - 1), k)? };
        // A quotient that is too large for the parameter would lose its upper bits. No encoder writes such a quotient.
        u32::try_from(u64::from(quotient) << k).map(|high| high | rest).map_err(|_| DeltaError::Range)
    }
}

/// Appends bits to a buffer.
#[derive(Debug)]
pub(super) struct BitWriter<'a> {
    held: u64,
    count: u32,
    out: &'a mut Vec<u8>,
}

impl<'a> BitWriter<'a> {
    /// Makes a writer that appends to `out`.
    pub(super) fn new(out: &'a mut Vec<u8>) -> Self {
        Self { held: 0, count: 0, out }
    }

    /// Fills the last byte with zeros.
    pub(super) fn finish(self) {
        let bytes = self.count.div_ceil(8) as usize;
        self.out.extend_from_slice(&self.held.to_le_bytes()[..bytes]);
    }
}

impl Bits for BitWriter<'_> {
    #[inline]
    fn bits(&mut self, value: u32, count: u32) -> Result<u32, DeltaError> {
        debug_assert!(count == 32 || value >> count == 0, "a value fits its bits");
        self.held |= u64::from(value) << self.count;
        self.count += count;
        if self.count >= 32 {
            self.out.extend_from_slice(&(self.held as u32).to_le_bytes());
            self.held >>= 32;
            self.count -= 32;
        }
        Ok(value)
    }

    #[inline]
    fn rice(&mut self, value: u32, k: u32) -> Result<u32, DeltaError> {
        let quotient = value >> k;
        if quotient >= QUOTIENT_MAX {
            self.bits((1 << QUOTIENT_MAX) - 1, QUOTIENT_MAX)?;
            return self.bits(value, 32);
        }
        // A one for each unit of the quotient, then a zero.
        self.bits((1 << quotient) - 1, quotient + 1)?;
        self.bits(value & ((1 << k) - 1), k)?;
        Ok(value)
    }
}

/// Reads bits from bytes that contain nothing else.
#[derive(Debug)]
pub(super) struct BitReader<'a> {
    held: u64,
    count: u32,
    bytes: &'a [u8],
    taken: usize,
}

impl<'a> BitReader<'a> {
    /// Makes a reader that starts at the first byte.
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { held: 0, count: 0, bytes, taken: 0 }
    }

    /// Checks that less than one byte is left, and that it contains only zeros.
    ///
    /// # Errors
    /// [`DeltaError::Trailing`] otherwise.
    pub(super) fn finish(self) -> Result<(), DeltaError> {
        let unread = self.bytes.len() - self.taken + (self.count / 8) as usize;
        if unread == 0 && self.held == 0 { Ok(()) } else { Err(DeltaError::Trailing) }
    }
}

impl Bits for BitReader<'_> {
    #[inline]
    fn bits(&mut self, _: u32, count: u32) -> Result<u32, DeltaError> {
        while self.count < count {
            let byte = *self.bytes.get(self.taken).ok_or(DeltaError::Truncated)?;
            self.held |= u64::from(byte) << self.count;
            self.count += 8;
            self.taken += 1;
        }
        let value = (self.held & ((1u64 << count) - 1)) as u32;
        self.held >>= count;
        self.count -= count;
        Ok(value)
    }
}
