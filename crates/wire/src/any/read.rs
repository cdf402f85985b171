//! Reading MessagePack that may be anybody's.

use super::Value;
use super::records::Records;
use crate::error::{Error, ErrorKind, Result};
use crate::input::Input;
use crate::limits::Limits;

/// Reads one MessagePack value that takes all of `bytes`.
pub fn from_slice(bytes: &[u8]) -> Result<Value> {
    from_slice_with(bytes, &Limits::MESSAGE)
}

/// Reads one MessagePack value that takes all of `bytes`, within given limits.
pub fn from_slice_with(bytes: &[u8], limits: &Limits) -> Result<Value> {
    let mut input = Input::new(bytes, 0, limits);
    let value = Reader { input: &mut input, records: None }.value(0)?;
    input.end()?;
    Ok(value)
}

/// Reads one value that is a part of a message, out of the message's memory limit.
pub(crate) fn from_input(bytes: &[u8], origin: usize, outer: &mut Input<'_>) -> Result<Value> {
    let mut input = Input::new(bytes, origin, outer.limits());
    input.share_memory(outer);
    let value = Reader { input: &mut input, records: None }.value(0)?;
    input.end()?;
    outer.share_memory(&input);
    Ok(value)
}

/// Reads values out of an input.
pub(crate) struct Reader<'i, 'de> {
    pub(crate) input: &'i mut Input<'de>,
    /// Where msgpackr's records are understood: those defined so far.
    pub(crate) records: Option<Records>,
}

impl Reader<'_, '_> {
    /// Reads one value at a depth of nesting.
    pub(crate) fn value(&mut self, depth: usize) -> Result<Value> {
        self.input.charge(1, size_of::<Value>())?;
        let byte = self.input.byte()?;
        Ok(match byte {
            0x40..=0x7f if self.records.is_some() => match self.record_reference(byte, depth)? {
                Some(record) => record,
                None => Value::Int(byte.into()),
            },
            0x00..=0x7f => Value::Int(byte.into()),
            0xe0..=0xff => Value::Int((byte as i8).into()),
            0x80..=0x8f => self.map(usize::from(byte & 0x0f), depth)?,
            0x90..=0x9f => self.list(usize::from(byte & 0x0f), depth)?,
            0xa0..=0xbf => self.text(usize::from(byte & 0x1f))?,
            0xc0 => Value::Nil,
            0xc1 => return Err(self.input.error(ErrorKind::MessagePackReserved)),
            0xc2 | 0xc3 => Value::Bool(byte == 0xc3),
            0xc4..=0xc6 => {
                let length = self.length(byte - 0xc4)?;
                Value::Bytes(self.bytes(length)?)
            }
            0xc7..=0xc9 => {
                let length = self.length(byte - 0xc7)?;
                self.ext(length)?
            }
            0xca => Value::F32(f32::from_be_bytes(self.input.array()?)),
            0xcb => Value::F64(f64::from_be_bytes(self.input.array()?)),
            0xcc => Value::Int(self.input.byte()?.into()),
            0xcd => Value::Int(u16::from_be_bytes(self.input.array()?).into()),
            0xce => Value::Int(u32::from_be_bytes(self.input.array()?).into()),
            0xcf => u64::from_be_bytes(self.input.array()?).into(),
            0xd0 => Value::Int(i8::from_be_bytes(self.input.array()?).into()),
            0xd1 => Value::Int(i16::from_be_bytes(self.input.array()?).into()),
            0xd2 => Value::Int(i32::from_be_bytes(self.input.array()?).into()),
            0xd3 => Value::Int(i64::from_be_bytes(self.input.array()?)),
            0xd4..=0xd8 => {
                let size = 1 << (byte - 0xd4);
                match self.record_definition(size, depth)? {
                    Some(record) => record,
                    None => self.ext(size)?,
                }
            }
            0xd9..=0xdb => {
                let length = self.length(byte - 0xd9)?;
                self.text(length)?
            }
            0xdc | 0xdd => {
                let length = self.length(byte - 0xdc + 1)?;
                self.list(length, depth)?
            }
            0xde | 0xdf => {
                let length = self.length(byte - 0xde + 1)?;
                self.map(length, depth)?
            }
        })
    }

    /// A length of 1, 2 or 4 bytes.
    fn length(&mut self, size: u8) -> Result<usize> {
        Ok(match size {
            0 => self.input.byte()?.into(),
            1 => u16::from_be_bytes(self.input.array()?).into(),
            _ => u32::from_be_bytes(self.input.array()?) as usize,
        })
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

    pub(super) fn deeper(&mut self, depth: usize) -> Result<usize> {
        let max = self.input.limits().depth_max;
        if depth == max { Err(self.input.error(ErrorKind::Depth { max })) } else { Ok(depth + 1) }
    }

    fn list(&mut self, length: usize, depth: usize) -> Result<Value> {
        let depth = self.deeper(depth)?;
        // No capacity is reserved: a length says nothing until its items are there.
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
