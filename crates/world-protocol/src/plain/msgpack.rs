//! Messages as MessagePack maps.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::DecodeError;
use super::object::{Object, ReadFields, Tag};

/// Maximum depth. Messages have at most four levels, and values of unknown keys at most 16. The bound prevents hostile
/// nesting from overflowing the stack.
const DEPTH_MAX: usize = 32;

pub(super) fn encode<T: Serialize>(message: &T) -> Vec<u8> {
    // Writing to memory cannot fail, and every part of a message can be serialised.
    rmp_serde::to_vec_named(message).expect("every message has a MessagePack form")
}

pub(super) fn decode<T: Object>(bytes: &[u8]) -> Result<T, DecodeError> {
    // Serde would also accept an array as a struct, field by field in order. The protocol allows only maps.
    if !matches!(bytes.first(), Some(0x80..=0x8f | 0xde | 0xdf)) {
        return Err(DecodeError::Syntax("a map is expected".into()));
    }
    let tag: Tag = read(bytes).map_err(syntax)?;
    T::read(&tag.name, &Bytes(bytes)).map_err(syntax)?.ok_or(DecodeError::UnknownType(tag.name))
}

struct Bytes<'b>(&'b [u8]);

impl ReadFields for Bytes<'_> {
    type Error = rmp_serde::decode::Error;

    fn fields<T: DeserializeOwned>(&self) -> Result<T, Self::Error> {
        read(self.0)
    }
}

/// Reads one value that must fill the whole payload.
fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, rmp_serde::decode::Error> {
    let mut deserializer = rmp_serde::Deserializer::new(bytes);
    deserializer.set_max_depth(DEPTH_MAX);
    let value = T::deserialize(&mut deserializer)?;
    let rest = deserializer.get_ref().len();
    if rest > 0 {
        return Err(serde::de::Error::custom(format!("{rest} bytes follow the message")));
    }
    Ok(value)
}

fn syntax(error: rmp_serde::decode::Error) -> DecodeError {
    DecodeError::Syntax(error.to_string())
}
