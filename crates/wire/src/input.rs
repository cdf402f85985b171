//! A bounded cursor over one body. All bytes are read through it.

use crate::error::{Error, ErrorKind, Result};
use crate::limits::{Limits, PLAIN_ROWS_MAX};

/// A cursor over one body. Every read is checked against the end, and every row is charged to the memory limit.
pub struct Input<'de> {
    data: &'de [u8],
    position: usize,
    /// The offset of `data` in the message. Errors state offsets in the message.
    origin: usize,
    limits: Limits,
    memory_left: usize,
    depth: usize,
    /// Whether the current block is plain, and the position of its next bit.
    plain: bool,
    bit: usize,
    text: TextArea<'de>,
}

/// The state of the text area while blocks are read.
struct TextArea<'de> {
    /// The area, if its length came first. In a flat body the area is known only at the end.
    area: Option<&'de str>,
    next: usize,
    /// Number of text leaves of a flat root that are still to be read. The last one has no length.
    flat_left: usize,
    /// The ends of texts that were read before the area was known.
    unchecked: Vec<usize>,
}

/// Marks the end of a text whose length is implied: it extends to the end of the area.
pub(crate) const TO_THE_END: u32 = u32::MAX;

impl<'de> Input<'de> {
    pub(crate) fn new(data: &'de [u8], origin: usize, limits: &Limits) -> Self {
        let text = TextArea { area: None, next: 0, flat_left: 0, unchecked: Vec::new() };
        Self {
            data,
            position: 0,
            origin,
            limits: *limits,
            memory_left: limits.memory_bytes_max,
            depth: 0,
            plain: true,
            bit: 0,
            text,
        }
    }

    /// Begins a body that is not flat. Reads the length of the text area, and takes the area from the end.
    pub(crate) fn begin_body(&mut self) -> Result<&'de str> {
        let length = self.varint()?;
        let rest = self.data.len() - self.position;
        if length > rest as u64 {
            return Err(self.error(ErrorKind::Truncated { needed: length - rest as u64 }));
        }
        let (head, text) = self.data.split_at(self.data.len() - length as usize);
        self.data = head;
        let text = self.check_utf8(text, head.len())?;
        self.text.area = Some(text);
        Ok(text)
    }

    /// Begins a flat body with this number of text leaves.
    pub(crate) fn begin_flat(&mut self, texts: usize) {
        self.text.flat_left = texts;
    }

    /// Takes the rest of a flat body as its text area.
    pub(crate) fn end_flat(&mut self, texts: usize) -> Result<&'de str> {
        if texts == 0 {
            self.end()?;
            return Ok("");
        }
        let start = self.position;
        let text = self.check_utf8(&self.data[start..], start)?;
        if self.text.next > text.len() {
            return Err(self.error(ErrorKind::Truncated { needed: (self.text.next - text.len()) as u64 }));
        }
        if let Some(&end) = self.text.unchecked.iter().find(|end| !text.is_char_boundary(**end)) {
            return Err(Error::at(ErrorKind::CharBoundary, self.origin + start + end));
        }
        Ok(text)
    }

    /// Checks that no bytes are left.
    pub(crate) fn end(&self) -> Result<()> {
        match self.data.len() - self.position {
            0 => {}
            count => return Err(self.error(ErrorKind::Trailing { count })),
        }
        match self.text.area {
            Some(area) if area.len() > self.text.next => {
                Err(self.error(ErrorKind::Trailing { count: area.len() - self.text.next }))
            }
            _ => Ok(()),
        }
    }

    fn check_utf8(&self, bytes: &'de [u8], offset: usize) -> Result<&'de str> {
        std::str::from_utf8(bytes)
            .map_err(|error| Error::at(ErrorKind::Utf8, self.origin + offset + error.valid_up_to()))
    }

    /// Reads `rows` rows that have their own bits. `row_bytes` is the memory of one row.
    ///
    /// # Errors
    /// Fails if the rows exceed the limits of the input, if their bits are missing, or if `read` fails.
    pub fn block<R>(
        &mut self,
        rows: usize,
        bits: usize,
        row_bytes: usize,
        read: impl FnOnce(&mut Self) -> Result<R>,
    ) -> Result<R> {
        if self.depth == self.limits.depth_max {
            return Err(self.error(ErrorKind::Depth { max: self.limits.depth_max }));
        }
        self.charge(rows, row_bytes)?;
        let outer = (self.plain, self.bit);
        self.plain = rows <= PLAIN_ROWS_MAX;
        if self.plain {
            let used = rows * bits;
            self.bit = self.position * 8;
            let taken = self.take(used.div_ceil(8))?;
            if !used.is_multiple_of(8) && taken[used / 8] >> (used % 8) != 0 {
                return Err(self.error(ErrorKind::PaddingBits));
            }
        }
        self.depth += 1;
        let result = read(self)?;
        self.depth -= 1;
        (self.plain, self.bit) = outer;
        Ok(result)
    }

    /// Reads the fields of a struct, one level deeper in the same block.
    ///
    /// # Errors
    /// Fails if the structs are nested too deeply, or if `read` fails.
    pub fn nested<R>(&mut self, read: impl FnOnce(&mut Self) -> Result<R>) -> Result<R> {
        if self.depth == self.limits.depth_max {
            return Err(self.error(ErrorKind::Depth { max: self.limits.depth_max }));
        }
        self.depth += 1;
        let result = read(self)?;
        self.depth -= 1;
        Ok(result)
    }

    /// Whether the current block is plain.
    pub fn is_plain(&self) -> bool {
        self.plain
    }

    /// Takes the next bit of the current plain block.
    pub(crate) fn next_bit(&mut self) -> bool {
        let bit = self.bit;
        self.bit += 1;
        self.data.get(bit / 8).is_some_and(|byte| byte >> (bit % 8) & 1 == 1)
    }

    /// Charges `count` items of `bytes` bytes to the memory limit, at least one byte for each.
    ///
    /// # Errors
    /// Fails if the memory limit is exceeded.
    pub fn charge(&mut self, count: usize, bytes: usize) -> Result<()> {
        let cost = count.checked_mul(bytes.max(1));
        match cost.and_then(|cost| self.memory_left.checked_sub(cost)) {
            Some(left) => {
                self.memory_left = left;
                Ok(())
            }
            None => Err(self.error(ErrorKind::Memory { max: self.limits.memory_bytes_max })),
        }
    }

    /// Takes over the remaining memory of another input.
    pub(crate) fn share_memory(&mut self, other: &Input<'_>) {
        self.memory_left = other.memory_left;
    }

    /// The limits of this input.
    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Makes an error at the current byte.
    #[cold]
    pub fn error(&self, kind: ErrorKind) -> Error {
        Error::at(kind, self.origin + self.position)
    }

    /// Takes `count` bytes.
    ///
    /// # Errors
    /// Fails if fewer bytes are left.
    #[inline]
    pub fn take(&mut self, count: usize) -> Result<&'de [u8]> {
        let rest = &self.data[self.position..];
        if count > rest.len() {
            return Err(self.error(ErrorKind::Truncated { needed: (count - rest.len()) as u64 }));
        }
        self.position += count;
        Ok(&rest[..count])
    }

    /// Takes a fixed number of bytes.
    #[inline]
    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        match self.data[self.position..].first_chunk::<N>() {
            Some(bytes) => {
                self.position += N;
                Ok(*bytes)
            }
            None => {
                Err(self
                    .error(ErrorKind::Truncated { needed: (N - (self.data.len() - self.position)) as u64 }))
            }
        }
    }

    /// Takes one byte.
    ///
    /// # Errors
    /// Fails if no byte is left.
    #[inline]
    pub fn byte(&mut self) -> Result<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    /// Returns the next byte without taking it.
    pub(crate) fn peek(&self) -> Option<u8> {
        self.data.get(self.position).copied()
    }

    /// Takes a variable-length number.
    ///
    /// # Errors
    /// Fails if the bytes end inside the number, or if it has more than 64 bits.
    #[inline]
    pub fn varint(&mut self) -> Result<u64> {
        match self.data.get(self.position) {
            Some(&byte) if byte < 0x80 => {
                self.position += 1;
                Ok(u64::from(byte))
            }
            _ => self.long_varint(),
        }
    }

    fn long_varint(&mut self) -> Result<u64> {
        let start = self.position;
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let group = u64::from(byte & 0x7f);
            if shift == 63 && group > 1 {
                break;
            }
            value |= group << shift;
            if byte < 0x80 {
                if byte == 0 && shift > 0 {
                    break;
                }
                return Ok(value);
            }
        }
        Err(Error::at(ErrorKind::Varint, self.origin + start))
    }

    /// Takes a signed variable-length number.
    pub(crate) fn zigzag(&mut self) -> Result<i64> {
        self.varint().map(|value| (value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// Takes a length or count.
    #[inline]
    pub(crate) fn count(&mut self) -> Result<usize> {
        let count = self.varint()?;
        match u32::try_from(count) {
            Ok(count) => Ok(count as usize),
            Err(_) => Err(self.error(ErrorKind::Count { count })),
        }
    }

    /// Takes the next `length` bytes of the text area and returns their position in it.
    pub(crate) fn text_span(&mut self, length: usize) -> Result<(u32, u32)> {
        let start = self.text.next;
        let end = start + length;
        if end >= TO_THE_END as usize {
            return Err(self.error(ErrorKind::Count { count: end as u64 }));
        }
        match self.text.area {
            Some(area) if end > area.len() => {
                return Err(self.error(ErrorKind::Truncated { needed: (end - area.len()) as u64 }));
            }
            Some(area) if !area.is_char_boundary(end) => return Err(self.error(ErrorKind::CharBoundary)),
            Some(_) => {}
            None => self.text.unchecked.push(end),
        }
        self.text.next = end;
        Ok((start as u32, end as u32))
    }

    /// Whether the next text leaf is the last one of a flat root. This last leaf has no length.
    pub(crate) fn is_last_flat_text(&mut self) -> bool {
        if self.text.flat_left == 0 {
            return false;
        }
        self.text.flat_left -= 1;
        self.text.flat_left == 0
    }

    /// Returns the span of the text whose length is implied.
    pub(crate) fn last_flat_span(&self) -> (u32, u32) {
        (self.text.next as u32, TO_THE_END)
    }

    /// The number of bytes taken from the text area.
    pub(crate) fn text_position(&self) -> usize {
        self.text.next
    }

    /// The position in the message, for errors and reports.
    pub fn position(&self) -> usize {
        self.origin + self.position
    }
}
