//! Messages as JSON objects.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::DecodeError;
use super::object::{Object, ReadFields, Tag};

pub(super) fn encode<T: Serialize>(message: &T) -> String {
    // All keys are strings, and every part of a message can be serialised, so this cannot fail.
    serde_json::to_string(message).expect("every message has a JSON form")
}

pub(super) fn decode<T: Object>(text: &str) -> Result<T, DecodeError> {
    // Serde would also accept an array as a struct, field by field in order. The protocol allows only objects.
    if !text.trim_start().starts_with('{') {
        return Err(DecodeError::Syntax("an object is expected".into()));
    }
    let tag: Tag = serde_json::from_str(text).map_err(syntax)?;
    T::read(&tag.name, &Text(text)).map_err(syntax)?.ok_or(DecodeError::UnknownType(tag.name))
}

struct Text<'t>(&'t str);

impl ReadFields for Text<'_> {
    type Error = serde_json::Error;

    fn fields<T: DeserializeOwned>(&self) -> Result<T, Self::Error> {
        serde_json::from_str(self.0)
    }
}

fn syntax(error: serde_json::Error) -> DecodeError {
    DecodeError::Syntax(error.to_string())
}
