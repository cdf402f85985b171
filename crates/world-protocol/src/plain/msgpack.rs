//! Messages as MessagePack maps.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::DecodeError;
use super::object::ReadFields;

/// Maximum depth. Messages have at most four levels, and values of unknown keys at most 16. The bound prevents hostile
/// nesting from overflowing the stack.
const DEPTH_MAX: usize = 32;

pub(super) fn encode<T: Serialize>(message: &T) -> Vec<u8> {
    // Writing to memory cannot fail, and every part of a message can be serialised.
    rmp_serde::to_vec_named(message).expect("every message has a MessagePack form")
}

/// A message in MessagePack.
pub(super) struct Bytes<'b>(&'b [u8]);

impl<'b> Bytes<'b> {
    pub(super) fn new(bytes: &'b [u8]) -> Result<Self, DecodeError> {
        // Serde would also accept an array as a struct, field by field in order. The protocol allows only maps.
        if !matches!(bytes.first(), Some(0x80..=0x8f | 0xde | 0xdf)) {
            return Err(DecodeError::Syntax("a map is expected".into()));
        }
        Ok(Self(bytes))
    }
}

impl ReadFields for Bytes<'_> {
    /// Reads one value that must fill the whole payload.
    fn fields<T: DeserializeOwned>(&self) -> Result<T, DecodeError> {
        let mut deserializer = rmp_serde::Deserializer::new(self.0);
        deserializer.set_max_depth(DEPTH_MAX);
        let value =
            T::deserialize(&mut deserializer).map_err(|error| DecodeError::Syntax(error.to_string()))?;
        let rest = deserializer.get_ref().len();
        if rest > 0 {
            return Err(DecodeError::Syntax(format!("{rest} bytes follow the message")));
        }
        Ok(value)
    }
}
