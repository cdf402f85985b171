//! The record extension of msgpackr: names of keys once, then values by position.
//!
//! `d4 72 id` (or `d5 72 id high`) and a list of names define a record and are followed by its first values; after that the
//! bytes 40 to 7f, which would be small integers, stand for a record by its id.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::{Reader, Value};
use crate::error::{ErrorKind, Result};
use crate::input::Input;
use crate::limits::Limits;

/// The extension type of a definition: the letter r.
const DEFINITION: u8 = 0x72;

/// How many bytes the repeated names may take for each byte of the input, and besides: a reference of a few bytes stands for
/// all names of its record, which without a limit of its own would let a small input fill all memory that is allowed.
const NAMES_PER_BYTE_MAX: usize = 64;
const NAMES_BESIDES_MAX: usize = 64 * 1024;

/// Definitions met so far.
#[derive(Debug)]
pub(crate) struct Records {
    known: BTreeMap<i32, Record>,
    /// What repeated names may still take.
    names_left: usize,
    names_max: usize,
}

#[derive(Clone, Debug)]
struct Record {
    names: Rc<[Value]>,
    /// Whether references to this id carry a second byte.
    two_bytes: bool,
}

/// Reads one value that takes all of `bytes`, in which msgpackr's records may occur.
pub fn from_slice_with_records(bytes: &[u8], limits: &Limits) -> Result<Value> {
    let mut input = Input::new(bytes, 0, limits);
    let names_max = bytes.len().saturating_mul(NAMES_PER_BYTE_MAX).saturating_add(NAMES_BESIDES_MAX);
    let records = Records { known: BTreeMap::new(), names_left: names_max, names_max };
    let value = Reader { input: &mut input, records: Some(records) }.value(0)?;
    input.end()?;
    Ok(value)
}

impl Reader<'_, '_> {
    /// The record that a byte stands for, if it does.
    pub(super) fn record_reference(&mut self, byte: u8, depth: usize) -> Result<Option<Value>> {
        let first = i32::from(byte & 0x3f);
        let Some(record) = self.records.as_ref().and_then(|records| records.known.get(&first)).cloned()
        else {
            return Ok(None);
        };
        if !record.two_bytes {
            return self.record(&record.names, depth).map(Some);
        }
        let high = self.input.byte()?;
        let id = wide_id(first, high);
        match self.records.as_ref().and_then(|records| records.known.get(&id)).cloned() {
            Some(record) => self.record(&record.names, depth).map(Some),
            None => Err(self.input.error(ErrorKind::UnknownShape(id.unsigned_abs().into()))),
        }
    }

    /// A definition, if the extension that begins here is one: its first record.
    pub(super) fn record_definition(&mut self, size: usize, depth: usize) -> Result<Option<Value>> {
        if self.records.is_none() || size > 2 || self.input.peek() != Some(DEFINITION) {
            return Ok(None);
        }
        self.input.byte()?;
        let first = i32::from(self.input.byte()? & 0x3f);
        let (id, two_bytes) = match size {
            1 => (first, false),
            _ => {
                let high = self.input.byte()?;
                (wide_id(first, high), high == 0)
            }
        };
        let Value::List(names) = self.value(depth)? else {
            return Err(self.input.error(ErrorKind::Shape("a record whose names are not a list")));
        };
        if names.iter().any(|name| name.as_text().is_none()) {
            return Err(self.input.error(ErrorKind::Shape("a record with a name that is not text")));
        }
        let names: Rc<[Value]> = names.into();
        if let Some(records) = &mut self.records {
            records.known.insert(id, Record { names: names.clone(), two_bytes });
        }
        self.record(&names, depth).map(Some)
    }

    fn record(&mut self, names: &[Value], depth: usize) -> Result<Value> {
        let depth = self.deeper(depth)?;
        let mut pairs = Vec::new();
        for name in names {
            let length = name.as_text().map_or(0, str::len);
            self.input.charge(1, length)?;
            self.repeat(size_of::<Value>() + length)?;
            pairs.push((name.clone(), self.value(depth)?));
        }
        Ok(Value::Map(pairs))
    }
}

impl Reader<'_, '_> {
    /// Accounts for a repeated name.
    fn repeat(&mut self, bytes: usize) -> Result<()> {
        let Some(records) = &mut self.records else { return Ok(()) };
        let max = records.names_max;
        match records.names_left.checked_sub(bytes) {
            Some(left) => records.names_left = left,
            None => {
                return Err(self
                    .input
                    .error(ErrorKind::TooMany { what: "bytes of repeated record names", max }));
            }
        }
        Ok(())
    }
}

fn wide_id(first: i32, high: u8) -> i32 {
    let id = first + (i32::from(high) << 5);
    if high == 0 || first >= 32 { id } else { -id }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_defined_once_and_referred_to_after() {
        // What msgpackr writes for [{a: 1, b: 100}, {a: 2, b: null}].
        let bytes = [0x92, 0xd4, 0x72, 0x40, 0x92, 0xa1, b'a', 0xa1, b'b', 1, 0xcc, 100, 0x40, 2, 0xc0];
        let value = from_slice_with_records(&bytes, &Limits::FILE).unwrap();
        let record =
            |b| Value::Map(vec![("a".into(), if b == Value::Nil { 2 } else { 1 }.into()), ("b".into(), b)]);
        assert_eq!(value, Value::List(vec![record(100.into()), record(Value::Nil)]));
    }

    #[test]
    fn repeated_names_end_at_their_limit() {
        // A name of 400 bytes, and references to it.
        let mut bytes = vec![0xdc, 1, 144, 0xd4, 0x72, 0x40, 0x91, 0xda, 1, 144];
        bytes.extend([b'n'; 400]);
        bytes.push(0xc0);
        bytes.extend([0x40, 0xc0].repeat(399));
        let value = from_slice_with_records(&bytes, &Limits::MESSAGE).unwrap_err();
        assert!(matches!(value.kind(), ErrorKind::TooMany { .. }), "{value}");
    }

    #[test]
    fn names_are_text() {
        let error =
            from_slice_with_records(&[0xd4, 0x72, 0x40, 0x91, 0x90, 0], &Limits::MESSAGE).unwrap_err();
        assert_eq!(error.kind(), &ErrorKind::Shape("a record with a name that is not text"));
    }

    #[test]
    fn small_integers_stay_integers_without_a_definition() {
        assert_eq!(from_slice_with_records(&[0x7f], &Limits::FILE).unwrap(), 127.into());
    }

    #[test]
    fn records_of_records_end_at_the_limit() {
        let mut bytes = vec![0xd4, 0x72, 0x40, 0x91, 0xa1, b'a'];
        bytes.extend([0x40; 100_000]);
        let error = from_slice_with_records(&bytes, &Limits::FILE).unwrap_err();
        assert_eq!(error.kind(), &ErrorKind::Depth { max: 128 });
    }
}
