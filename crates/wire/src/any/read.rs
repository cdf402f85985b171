//! Reads untrusted MessagePack. `rmp` decodes single items, and this module enforces the limits.
//!
//! The readers in `rmp` limit neither depth nor memory, and their errors name no position. A reader of hostile bytes needs all
//! three.

use std::rc::Rc;

use rmp::Marker;

use super::Value;
use super::records::{DEFINITION, Record, Records, wide_id};
use crate::error::{Error, ErrorKind, Result};
use crate::input::Input;
use crate::limits::Limits;

/// Reads one MessagePack value, which must take all of `bytes`.
///
/// # Errors
/// Fails if the bytes are not a MessagePack value, if bytes follow it, or if the value exceeds the default limits.
pub fn from_slice(bytes: &[u8]) -> Result<Value> {
    from_slice_with(bytes, &Limits::MESSAGE)
}

/// Reads one MessagePack value, which must take all of `bytes`, within the given limits.
///
/// # Errors
/// Fails if the bytes are not a MessagePack value, if bytes follow it, or if it exceeds the limits.
pub fn from_slice_with(bytes: &[u8], limits: &Limits) -> Result<Value> {
    let mut input = Input::new(bytes, 0, limits);
    let value = next_value(&mut input)?;
    input.end()?;
    Ok(value)
}

/// Reads one value, which must take all of `bytes` and may contain msgpackr's records.
///
/// # Errors
/// Fails if the bytes are not such a value, if bytes follow it, or if it exceeds the limits.
pub fn from_slice_with_records(bytes: &[u8], limits: &Limits) -> Result<Value> {
    let mut input = Input::new(bytes, 0, limits);
    let value = Reader { input: &mut input, records: Some(Records::new(bytes.len())) }.value(0)?;
    input.end()?;
    Ok(value)
}

/// Reads one value that is a part of a message. The memory of the value counts towards the message's limit.
pub(crate) fn from_input(bytes: &[u8], origin: usize, outer: &mut Input<'_>) -> Result<Value> {
    let mut input = Input::new(bytes, origin, outer.limits());
    input.share_memory(outer);
    let value = next_value(&mut input)?;
    input.end()?;
    outer.share_memory(&input);
    Ok(value)
}

/// Reads one value at the current position of an input. The memory of the value counts towards the input's limit.
pub(crate) fn next_value(input: &mut Input<'_>) -> Result<Value> {
    Reader { input, records: None }.value(0)
}

/// Reads values from an input.
struct Reader<'i, 'de> {
    input: &'i mut Input<'de>,
    /// The definitions of msgpackr's records read so far; `None` if the reader does not accept records.
    records: Option<Records>,
}

impl Reader<'_, '_> {
    /// Reads one value at a depth of nesting.
    fn value(&mut self, depth: usize) -> Result<Value> {
        self.input.charge(1, size_of::<Value>())?;
        Ok(match Marker::from_u8(self.input.byte()?) {
            Marker::FixPos(byte) => match self.record_reference(byte, depth)? {
                Some(record) => record,
                None => Value::Int(byte.into()),
            },
            Marker::FixNeg(value) => Value::Int(value.into()),
            Marker::Null => Value::Nil,
            Marker::Reserved => return Err(self.input.error(ErrorKind::MessagePackReserved)),
            Marker::False => Value::Bool(false),
            Marker::True => Value::Bool(true),
            Marker::F32 => Value::F32(f32::from_be_bytes(self.input.array()?)),
            Marker::F64 => Value::F64(f64::from_be_bytes(self.input.array()?)),
            Marker::U8 => Value::Int(self.input.byte()?.into()),
            Marker::U16 => Value::Int(u16::from_be_bytes(self.input.array()?).into()),
            Marker::U32 => Value::Int(u32::from_be_bytes(self.input.array()?).into()),
            Marker::U64 => u64::from_be_bytes(self.input.array()?).into(),
            Marker::I8 => Value::Int(i8::from_be_bytes(self.input.array()?).into()),
            Marker::I16 => Value::Int(i16::from_be_bytes(self.input.array()?).into()),
            Marker::I32 => Value::Int(i32::from_be_bytes(self.input.array()?).into()),
            Marker::I64 => Value::Int(i64::from_be_bytes(self.input.array()?)),
            marker => return self.with_length(marker, depth),
        })
    }

    /// Reads a value that begins with a length.
    fn with_length(&mut self, marker: Marker, depth: usize) -> Result<Value> {
        let length = match marker {
            Marker::FixMap(length) | Marker::FixArray(length) | Marker::FixStr(length) => length.into(),
            Marker::FixExt1 => 1,
            Marker::FixExt2 => 2,
            Marker::FixExt4 => 4,
            Marker::FixExt8 => 8,
            Marker::FixExt16 => 16,
            Marker::Bin8 | Marker::Ext8 | Marker::Str8 => self.input.byte()?.into(),
            Marker::Bin16 | Marker::Ext16 | Marker::Str16 | Marker::Array16 | Marker::Map16 => {
                u16::from_be_bytes(self.input.array()?).into()
            }
            _ => u32::from_be_bytes(self.input.array()?) as usize,
        };
        match marker {
            Marker::FixMap(_) | Marker::Map16 | Marker::Map32 => self.map(length, depth),
            Marker::FixArray(_) | Marker::Array16 | Marker::Array32 => self.list(length, depth),
            Marker::FixStr(_) | Marker::Str8 | Marker::Str16 | Marker::Str32 => self.text(length),
            Marker::Bin8 | Marker::Bin16 | Marker::Bin32 => self.bytes(length).map(Value::Bytes),
            Marker::FixExt1 | Marker::FixExt2 => match self.record_definition(length, depth)? {
                Some(record) => Ok(record),
                None => self.ext(length),
            },
            _ => self.ext(length),
        }
    }

    fn bytes(&mut self, length: usize) -> Result<Vec<u8>> {
        let bytes = self.input.take(length)?;
        self.input.charge(1, length)?;
        Ok(bytes.to_vec())
    }

    fn text(&mut self, length: usize) -> Result<Value> {
        let position = self.input.position();
        String::from_utf8(self.bytes(length)?)
            .map(Value::Text)
            .map_err(|error| Error::at(ErrorKind::Utf8, position + error.utf8_error().valid_up_to()))
    }

    fn deeper(&mut self, depth: usize) -> Result<usize> {
        let max = self.input.limits().depth_max;
        if depth == max { Err(self.input.error(ErrorKind::Depth { max })) } else { Ok(depth + 1) }
    }

    fn list(&mut self, length: usize, depth: usize) -> Result<Value> {
        let depth = self.deeper(depth)?;
        // No capacity is reserved, because a length can be false until the items have arrived.
        let mut items = Vec::new();
        for _ in 0..length {
            items.push(self.value(depth)?);
        }
        Ok(Value::List(items))
    }

    fn map(&mut self, length: usize, depth: usize) -> Result<Value> {
        let depth = self.deeper(depth)?;
        let mut pairs = Vec::new();
        for _ in 0..length {
            pairs.push((self.value(depth)?, self.value(depth)?));
        }
        Ok(Value::Map(pairs))
    }

    fn ext(&mut self, length: usize) -> Result<Value> {
        let kind = self.input.byte()? as i8;
        if kind != -1 {
            return Ok(Value::Ext(kind, self.bytes(length)?));
        }
        let (seconds, nanoseconds) = match length {
            4 => (u32::from_be_bytes(self.input.array()?).into(), 0),
            8 => {
                let packed = u64::from_be_bytes(self.input.array()?);
                ((packed & ((1 << 34) - 1)) as i64, (packed >> 34) as u32)
            }
            12 => {
                let nanoseconds = u32::from_be_bytes(self.input.array()?);
                (i64::from_be_bytes(self.input.array()?), nanoseconds)
            }
            _ => return Err(self.input.error(ErrorKind::Timestamp)),
        };
        if nanoseconds > 999_999_999 {
            return Err(self.input.error(ErrorKind::Timestamp));
        }
        Ok(Value::Time(seconds, nanoseconds))
    }
}

impl Reader<'_, '_> {
    /// Returns the record that a byte refers to, if the byte refers to one.
    fn record_reference(&mut self, byte: u8, depth: usize) -> Result<Option<Value>> {
        let first = i32::from(byte & 0x3f);
        let known = |reader: &Self, id| reader.records.as_ref().and_then(|records| records.get(id));
        let Some(record) = (if byte < 0x40 { None } else { known(self, first) }) else { return Ok(None) };
        if !record.two_bytes {
            return self.record(&record.names, depth).map(Some);
        }
        let high = self.input.byte()?;
        let id = wide_id(first, high);
        match known(self, id) {
            Some(record) => self.record(&record.names, depth).map(Some),
            None => Err(self.input.error(ErrorKind::UnknownShape(id.unsigned_abs().into()))),
        }
    }

    /// Reads a definition and its first record, if the extension at this position is a definition.
    fn record_definition(&mut self, size: usize, depth: usize) -> Result<Option<Value>> {
        if self.records.is_none() || self.input.peek() != Some(DEFINITION) {
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
            records.define(id, Record { names: names.clone(), two_bytes });
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

    /// Charges the limit for a repeated name.
    fn repeat(&mut self, bytes: usize) -> Result<()> {
        let Some(records) = &mut self.records else { return Ok(()) };
        records.repeat(bytes).map_err(|max| {
            self.input.error(ErrorKind::TooMany { what: "bytes of repeated record names", max })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_defined_once_and_referred_to_after() {
        // msgpackr writes this for [{a: 1, b: 100}, {a: 2, b: null}].
        let bytes = [0x92, 0xd4, 0x72, 0x40, 0x92, 0xa1, b'a', 0xa1, b'b', 1, 0xcc, 100, 0x40, 2, 0xc0];
        let value = from_slice_with_records(&bytes, &Limits::FILE).unwrap();
        let record =
            |b| Value::Map(vec![("a".into(), if b == Value::Nil { 2 } else { 1 }.into()), ("b".into(), b)]);
        assert_eq!(value, Value::List(vec![record(100.into()), record(Value::Nil)]));
    }

    #[test]
    fn repeated_names_end_at_their_limit() {
        // The input defines a name of 400 bytes, and refers to it repeatedly.
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
