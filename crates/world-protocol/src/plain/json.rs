//! Messages as JSON objects.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::DecodeError;
use super::object::ReadFields;

pub(super) fn encode<T: Serialize>(message: &T) -> String {
    // All keys are strings, and every part of a message can be serialised, so this cannot fail.
    serde_json::to_string(message).expect("every message has a JSON form")
}

/// A message in JSON.
pub(super) struct Text<'t>(&'t str);

impl<'t> Text<'t> {
    pub(super) fn new(text: &'t str) -> Result<Self, DecodeError> {
        // Serde would also accept an array as a struct, field by field in order. The protocol allows only objects.
        if !text.trim_start().starts_with('{') {
            return Err(DecodeError::Syntax("an object is expected".into()));
        }
        Ok(Self(text))
    }
}

impl ReadFields for Text<'_> {
    fn fields<T: DeserializeOwned>(&self) -> Result<T, DecodeError> {
        serde_json::from_str(self.0).map_err(|error| DecodeError::Syntax(error.to_string()))
    }
}
