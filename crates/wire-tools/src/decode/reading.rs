//! Shows a decoded value as lines of text.

use nowcast_wire::Value;

use super::fields::{Fault, Fields};
use crate::json::write_json;

/// A value that was decoded by a shape.
pub(super) struct Reading {
    head: String,
    /// The parts of the value, one line each.
    parts: Vec<String>,
}

impl Reading {
    pub(super) fn new(name: &str, value: &Value) -> Reading {
        Reading::with_parts(name, value, Vec::new())
    }

    pub(super) fn with_parts(name: &str, value: &Value, parts: Vec<String>) -> Reading {
        Reading { head: format!("as {name}: {}", json(value)), parts }
    }

    /// Returns the value in one line.
    pub(super) fn head(&self) -> &str {
        &self.head
    }

    /// Returns the whole value in one line.
    pub(super) fn into_line(self) -> String {
        let head = self.head.trim_start_matches("as ").to_owned();
        self.parts.into_iter().fold(head, |line, part| line + "; " + &part)
    }

    pub(super) fn note(self, fields: &mut Fields<'_>) -> Result<(), Fault> {
        fields.title(self.head);
        fields.inside(|fields| {
            self.parts.into_iter().for_each(|part| fields.title(part));
            Ok(())
        })
    }
}

/// Returns a value as JSON, with raw bytes in hexadecimal.
pub(super) fn json(value: &Value) -> String {
    let mut out = Vec::new();
    match write_json(&legible(value), &mut out) {
        Ok(()) => String::from_utf8_lossy(&out).into_owned(),
        Err(_) => format!("{value:?}"),
    }
}

fn legible(value: &Value) -> Value {
    match value {
        Value::Bytes(bytes) => Value::Text(bytes.iter().map(|byte| format!("{byte:02x}")).collect()),
        Value::List(items) => Value::List(items.iter().map(legible).collect()),
        Value::Map(pairs) => {
            Value::Map(pairs.iter().map(|(key, value)| (key.clone(), legible(value))).collect())
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raw_bytes_are_shown_in_hexadecimal() {
        let value = Value::Map(vec![("raw".into(), Value::List(vec![Value::Bytes(vec![1, 0xff])]))]);
        assert_eq!(json(&value), "{\"raw\":[\"01ff\"]}");
    }
}
