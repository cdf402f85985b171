//! Output into the caller's buffer, and into a separate text area that is appended at the end.

use crate::limits::{DEPTH_MAX, PLAIN_ROWS_MAX};

/// The trade-off between size and time of a writer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Effort {
    /// One pass over each column. For messages.
    #[default]
    Fast,
    /// The smallest of all codings for every column. For files.
    Small,
}

/// Writes blocks into a caller's buffer.
pub struct Writer<'o> {
    pub(crate) out: &'o mut Vec<u8>,
    pub(crate) effort: Effort,
    text: Vec<u8>,
    plain: bool,
    bit: usize,
    depth: usize,
    flat_left: usize,
}

impl<'o> Writer<'o> {
    pub(crate) fn new(out: &'o mut Vec<u8>, effort: Effort) -> Self {
        Self { out, effort, text: Vec::new(), plain: true, bit: 0, depth: 0, flat_left: 0 }
    }

    /// Writes one body. `flat_texts` is the number of text leaves of a flat root; `None` if the root is not flat.
    pub(crate) fn body(
        &mut self,
        flat_texts: Option<usize>,
        rows: usize,
        bits: usize,
        write: impl FnOnce(&mut Self),
    ) {
        let start = self.out.len();
        match flat_texts {
            Some(texts) => self.flat_left = texts,
            None => self.out.push(0),
        }
        self.block(rows, bits, write);
        if flat_texts.is_none() {
            let length = self.text.len();
            if length < 0x80 {
                self.out[start] = length as u8;
            } else {
                // The length is known only now. The length rarely takes more than the one reserved byte.
                let mut prefix = Vec::with_capacity(10);
                put_varint(&mut prefix, length as u64);
                self.out.splice(start..=start, prefix);
            }
        }
        self.out.append(&mut self.text);
    }

    /// Writes `rows` rows that have their own bits.
    ///
    /// # Panics
    /// If the depth of the blocks exceeds the limit of every reader (128), for instance in a list that contains itself.
    pub fn block(&mut self, rows: usize, bits: usize, write: impl FnOnce(&mut Self)) {
        if rows == 0 {
            return;
        }
        assert!(self.depth < DEPTH_MAX, "a value nested more than {DEPTH_MAX} deep cannot be encoded");
        let outer = (self.plain, self.bit);
        self.plain = rows <= PLAIN_ROWS_MAX;
        if self.plain {
            self.bit = self.out.len() * 8;
            self.out.resize(self.out.len() + (rows * bits).div_ceil(8), 0);
        }
        self.depth += 1;
        write(self);
        self.depth -= 1;
        (self.plain, self.bit) = outer;
    }

    /// Writes the fields of a struct, one level deeper in the same block.
    ///
    /// # Panics
    /// Like [`block`](Self::block).
    #[inline]
    pub fn nested(&mut self, write: impl FnOnce(&mut Self)) {
        assert!(self.depth < DEPTH_MAX, "a value nested more than {DEPTH_MAX} deep cannot be encoded");
        self.depth += 1;
        write(self);
        self.depth -= 1;
    }

    /// Whether the current block is plain.
    pub fn is_plain(&self) -> bool {
        self.plain
    }

    pub(crate) fn put_bit(&mut self, value: bool) {
        self.out[self.bit / 8] |= u8::from(value) << (self.bit % 8);
        self.bit += 1;
    }

    #[inline]
    pub(crate) fn put_varint(&mut self, value: u64) {
        put_varint(self.out, value);
    }

    pub(crate) fn put_zigzag(&mut self, value: i64) {
        put_varint(self.out, zigzag(value));
    }

    pub(crate) fn put_text(&mut self, text: &str) {
        self.text.extend_from_slice(text.as_bytes());
    }

    /// Whether the next text leaf is the last one of a flat root. This last leaf has no length.
    pub(crate) fn is_last_flat_text(&mut self) -> bool {
        if self.flat_left == 0 {
            return false;
        }
        self.flat_left -= 1;
        self.flat_left == 0
    }
}

/// Appends a variable-length number.
#[inline]
pub(crate) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Moves the sign of a number into its lowest bit.
pub(crate) fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

/// The length of a varint in bytes.
pub(crate) fn varint_len(value: u64) -> usize {
    (64 - (value | 1).leading_zeros() as usize).div_ceil(7)
}
