//! A reader that never reads outside of the bytes it was given.

use crate::error::Malformed;

/// Reads fields from the front of a packet. An error names the field that is too short or malformed.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    offset: usize,
}

impl<'a> Reader<'a> {
    /// Makes a reader at the start of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, offset: 0 }
    }

    /// Whether all bytes were read.
    pub fn is_empty(&self) -> bool {
        self.offset == self.bytes.len()
    }

    /// The unread bytes.
    pub fn rest(&self) -> &'a [u8] {
        &self.bytes[self.offset..]
    }

    /// Makes an error that names `field` at the current position.
    pub fn malformed(&self, field: &'static str) -> Malformed {
        Malformed { field, offset: self.offset }
    }

    /// Reads the next `length` bytes.
    ///
    /// # Errors
    /// Fails if fewer bytes are left.
    #[inline]
    pub fn take(&mut self, length: usize, field: &'static str) -> Result<&'a [u8], Malformed> {
        let bytes = self.rest().get(..length).ok_or_else(|| self.malformed(field))?;
        self.offset += length;
        Ok(bytes)
    }

    /// Reads the next `N` bytes as an array.
    ///
    /// # Errors
    /// Fails if fewer bytes are left.
    pub fn array<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N], Malformed> {
        let bytes = self.take(N, field)?;
        Ok(bytes.try_into().expect("take returned N bytes"))
    }

    /// Reads one byte.
    ///
    /// # Errors
    /// Fails if no byte is left.
    pub fn u8(&mut self, field: &'static str) -> Result<u8, Malformed> {
        let byte = *self.bytes.get(self.offset).ok_or_else(|| self.malformed(field))?;
        self.offset += 1;
        Ok(byte)
    }

    /// Reads two bytes, little-endian.
    ///
    /// # Errors
    /// Fails if fewer bytes are left.
    pub fn u16(&mut self, field: &'static str) -> Result<u16, Malformed> {
        Ok(u16::from_le_bytes(self.array(field)?))
    }

    /// Reads three bytes, little-endian.
    ///
    /// # Errors
    /// Fails if fewer bytes are left.
    pub fn u24(&mut self, field: &'static str) -> Result<u32, Malformed> {
        let [a, b, c] = self.array(field)?;
        Ok(u32::from_le_bytes([a, b, c, 0]))
    }

    /// Reads eight bytes, little-endian.
    ///
    /// # Errors
    /// Fails if fewer bytes are left.
    pub fn u64(&mut self, field: &'static str) -> Result<u64, Malformed> {
        Ok(u64::from_le_bytes(self.array(field)?))
    }

    /// Reads a varint in its shortest form.
    ///
    /// # Errors
    /// Fails if the bytes end inside the number, or if it is not in its shortest form.
    #[inline]
    pub fn varint(&mut self, field: &'static str) -> Result<u64, Malformed> {
        match self.bytes.get(self.offset) {
            // Nearly all varints are this short.
            Some(&byte) if byte < 0x80 => {
                self.offset += 1;
                Ok(byte.into())
            }
            _ => self.long_varint(field),
        }
    }

    fn long_varint(&mut self, field: &'static str) -> Result<u64, Malformed> {
        let mut value = 0u64;
        for (index, &byte) in self.rest().iter().take(10).enumerate() {
            let group = u64::from(byte & 0x7F);
            let overflows = index == 9 && byte > 1;
            let overlong = index > 0 && byte == 0;
            if overflows || overlong {
                break;
            }
            value |= group << (7 * index);
            if byte & 0x80 == 0 {
                self.offset += index + 1;
                return Ok(value);
            }
        }
        Err(self.malformed(field))
    }

    /// Reads a varint of at most `max`.
    ///
    /// # Errors
    /// Fails as [`Reader::varint`] does, or if the number is larger than `max`.
    pub fn varint_max(&mut self, max: u64, field: &'static str) -> Result<u64, Malformed> {
        let before = *self;
        let value = self.varint(field)?;
        if value > max {
            return Err(before.malformed(field));
        }
        Ok(value)
    }

    /// Reads a varint length, and then that number of bytes.
    ///
    /// # Errors
    /// Fails if the length is malformed, or if fewer bytes are left.
    #[inline]
    pub fn bytes(&mut self, field: &'static str) -> Result<&'a [u8], Malformed> {
        let before = *self;
        let length = self.varint(field)?;
        if length > self.rest().len() as u64 {
            return Err(before.malformed(field));
        }
        self.take(length as usize, field)
    }

    /// Reads UTF-8 text of at most `length_max` bytes.
    ///
    /// # Errors
    /// Fails if the length is malformed or larger than `length_max`, or if the bytes are not UTF-8.
    pub fn text(&mut self, length_max: usize, field: &'static str) -> Result<&'a str, Malformed> {
        let before = *self;
        let bytes = self.bytes(field)?;
        if bytes.len() > length_max {
            return Err(before.malformed(field));
        }
        std::str::from_utf8(bytes).map_err(|_| before.malformed(field))
    }
}

/// Appends `value` as a varint.
#[inline]
pub fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Number of bytes that [`put_varint`] appends.
pub const fn varint_length(value: u64) -> usize {
    let bits = 64 - (value | 1).leading_zeros() as usize;
    bits.div_ceil(7)
}

/// Appends the length of `bytes`, and `bytes`.
pub fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_varint_is_read_back_at_every_width() {
        for shift in 0..64 {
            for value in [(1u64 << shift) - 1, 1 << shift, u64::MAX >> shift] {
                let mut bytes = Vec::new();
                put_varint(&mut bytes, value);
                assert_eq!(bytes.len(), varint_length(value));
                assert_eq!(Reader::new(&bytes).varint("value"), Ok(value));
            }
        }
    }

    #[test]
    fn an_overlong_or_overflowing_varint_is_refused() {
        let mut overflowing = vec![0xFF; 9];
        overflowing.push(0x02);
        for bytes in [&[0x80, 0x00][..], &[0x81, 0x80, 0x00], &[0x80], &[], &overflowing] {
            let error = Reader::new(bytes).varint("value").unwrap_err();
            assert_eq!(error, Malformed { field: "value", offset: 0 });
        }
    }
}
