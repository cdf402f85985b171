//! A reader that records each field: its offset, its bytes and its meaning.

use std::fmt::{Display, Write as _};

use crate::printable::printable;

/// Maximum number of bytes of a field that are shown.
const SHOWN_BYTES_MAX: usize = 12;
/// Maximum number of characters of a meaning that are shown.
const SHOWN_CHARS_MAX: usize = 160;
const VARINT_BYTES_MAX: usize = 10;

/// A fault and its place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("malformed {field} at byte {offset}: {cause}")]
pub struct Fault {
    /// The name of the field in its specification.
    pub field: String,
    /// The offset of the fault, in bytes.
    pub offset: usize,
    /// The cause.
    pub cause: String,
}

/// The fields read so far.
pub(super) struct Fields<'a> {
    bytes: &'a [u8],
    at: usize,
    end: usize,
    depth: usize,
    lines: Vec<Line>,
}

struct Line {
    at: usize,
    length: usize,
    depth: usize,
    name: String,
    meaning: String,
}

impl<'a> Fields<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, end: bytes.len(), depth: 0, lines: Vec::new() }
    }

    pub(super) fn at(&self) -> usize {
        self.at
    }

    pub(super) fn rest(&self) -> &'a [u8] {
        &self.bytes[self.at..self.end]
    }

    pub(super) fn is_empty(&self) -> bool {
        self.at == self.end
    }

    pub(super) fn fault<T>(&self, field: &str, cause: impl Display) -> Result<T, Fault> {
        Err(Fault { field: field.to_owned(), offset: self.at, cause: cause.to_string() })
    }

    /// Adds a headline, which stands for no bytes.
    pub(super) fn title(&mut self, text: impl Display) {
        self.note(self.at, 0, &printable(&text.to_string()), "");
    }

    /// Decodes fields that are indented below the previous one.
    pub(super) fn inside<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T, Fault>) -> Result<T, Fault> {
        self.depth += 1;
        let done = read(self);
        self.depth -= 1;
        done
    }

    /// Decodes fields within exactly the next `length` bytes.
    pub(super) fn within<T>(
        &mut self,
        length: usize,
        read: impl FnOnce(&mut Self) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let end = std::mem::replace(&mut self.end, self.at + length);
        let done = self.inside(read);
        self.end = end;
        done
    }

    fn note(&mut self, at: usize, length: usize, name: &str, meaning: &str) {
        let (name, meaning) = (name.to_owned(), printable(meaning));
        self.lines.push(Line { at, length, depth: self.depth, name, meaning });
    }

    /// Decodes a field of `length` bytes.
    pub(super) fn take(
        &mut self,
        length: usize,
        name: &str,
        meaning: impl FnOnce(&'a [u8]) -> String,
    ) -> Result<&'a [u8], Fault> {
        let Some(bytes) = self.rest().get(..length) else {
            let left = self.rest().len();
            return self.fault(name, format_args!("{length} bytes were expected, {left} are left"));
        };
        let meaning = meaning(bytes);
        self.note(self.at, length, name, &meaning);
        self.at += length;
        Ok(bytes)
    }

    /// Decodes a little-endian number of this many bytes.
    pub(super) fn number(
        &mut self,
        length: usize,
        name: &str,
        meaning: impl FnOnce(u64) -> String,
    ) -> Result<u64, Fault> {
        let value = |bytes: &[u8]| bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte));
        self.take(length, name, |bytes| meaning(value(bytes))).map(value)
    }

    pub(super) fn varint(&mut self, name: &str, meaning: impl FnOnce(u64) -> String) -> Result<u64, Fault> {
        let (value, length) = self.peek_varint(name)?;
        self.take(length, name, |_| meaning(value))?;
        Ok(value)
    }

    fn peek_varint(&self, name: &str) -> Result<(u64, usize), Fault> {
        let mut value = 0_u64;
        for (index, &byte) in self.rest().iter().take(VARINT_BYTES_MAX).enumerate() {
            let part = u64::from(byte & 0x7f);
            if index + 1 == VARINT_BYTES_MAX && part > 1 {
                return self.fault(name, "a varint of 2^64 or more");
            }
            value |= part << (7 * index);
            if byte & 0x80 == 0 {
                if byte == 0 && index > 0 {
                    return self.fault(name, "a varint that is longer than needed");
                }
                return Ok((value, index + 1));
            }
        }
        self.fault(name, "a varint that does not end")
    }

    /// Decodes a varint length, and checks that at least this number of bytes follows.
    pub(super) fn length(&mut self, name: &str) -> Result<usize, Fault> {
        let left = self.rest().len();
        let (length, width) = self.peek_varint(name)?;
        if length > left.saturating_sub(width) as u64 {
            return self
                .fault(name, format_args!("{length} bytes were announced, {} are left", left - width));
        }
        self.varint(name, |length| format!("{length} bytes follow"))?;
        Ok(length as usize)
    }

    /// Checks that no bytes are left.
    pub(super) fn end(&self, what: &str) -> Result<(), Fault> {
        if self.is_empty() {
            return Ok(());
        }
        self.fault("end", format_args!("{} bytes follow the end of {what}", self.rest().len()))
    }

    /// Returns one line for each field, with its offset, bytes, name and meaning.
    pub(super) fn to_text(&self) -> String {
        let mut text = String::new();
        for line in &self.lines {
            let bytes = &self.bytes[line.at..line.at + line.length];
            let mut hex: String =
                bytes.iter().take(SHOWN_BYTES_MAX).map(|byte| format!("{byte:02x}")).collect();
            if line.length > SHOWN_BYTES_MAX {
                hex.push('…');
            }
            let width = 2 * SHOWN_BYTES_MAX + 1;
            let indent = 2 * line.depth;
            let _ = write!(text, "{:>6}  {hex:width$}  {:indent$}{}", line.at, "", line.name);
            if !line.meaning.is_empty() {
                let shown: String = line.meaning.chars().take(SHOWN_CHARS_MAX).collect();
                let more = if line.meaning.chars().count() > SHOWN_CHARS_MAX { "…" } else { "" };
                let _ = write!(text, ": {shown}{more}");
            }
            text.push('\n');
        }
        text
    }
}

/// A number without conversion.
pub(super) fn as_is(value: u64) -> String {
    value.to_string()
}

/// Shows nothing, because the bytes have no meaning.
pub(super) fn nothing(_: &[u8]) -> String {
    String::new()
}

/// Converts units of 16 µs to milliseconds.
pub(super) fn units(value: u64) -> String {
    format!("{:.3} ms", value as f64 * 0.016)
}
