//! Writes values as JSON.

use std::io::Write;

use nowcast_wire::Value;

use crate::ToolError;

/// Writes a value as JSON.
///
/// # Errors
/// If the value has content that JSON lacks: bytes, extensions, numbers that are not finite, keys that are not text.
pub fn write_json(value: &Value, out: &mut impl Write) -> Result<(), ToolError> {
    match not_in_json(value) {
        Some(what) => Err(ToolError::NotJson(what)),
        None => Ok(serde_json::to_writer(out, value)?),
    }
}

/// Names content that JSON lacks.
fn not_in_json(value: &Value) -> Option<&'static str> {
    match value {
        Value::F32(number) if !number.is_finite() => Some("numbers that are not finite"),
        Value::F64(number) if !number.is_finite() => Some("numbers that are not finite"),
        Value::Bytes(_) => Some("raw bytes"),
        Value::Time(..) => Some("times"),
        Value::Ext(..) => Some("extension types"),
        Value::List(items) => items.iter().find_map(not_in_json),
        Value::Map(pairs) => pairs.iter().find_map(|(key, value)| match key {
            Value::Text(_) => not_in_json(value),
            _ => Some("keys that are not text"),
        }),
        _ => None,
    }
}

/// Returns a value as JSON. Bytes become hexadecimal text, times become seconds, numbers that are not finite become null, and
/// keys become text.
pub fn json_text(value: Value) -> String {
    let mut out = Vec::new();
    // Every value that JSON lacks was replaced, and writing to memory cannot fail.
    let _ = write_json(&representable(value), &mut out);
    String::from_utf8(out).unwrap_or_default()
}

fn representable(value: Value) -> Value {
    match value {
        Value::F32(number) if !number.is_finite() => Value::Nil,
        Value::F64(number) if !number.is_finite() => Value::Nil,
        Value::Bytes(bytes) | Value::Ext(_, bytes) => {
            Value::Text(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
        }
        Value::Time(seconds, nanoseconds) => Value::F64(seconds as f64 + f64::from(nanoseconds) / 1e9),
        Value::List(items) => Value::List(items.into_iter().map(representable).collect()),
        Value::Map(pairs) => {
            let text = |key| match key {
                Value::Text(_) => key,
                other => Value::Text(json_text(other)),
            };
            Value::Map(pairs.into_iter().map(|(key, value)| (text(key), representable(value))).collect())
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_json_lacks_are_replaced() {
        let value = Value::Map(vec![
            (Value::Int(1), Value::F64(f64::NAN)),
            ("bytes".into(), Value::Bytes(vec![0, 255])),
            ("time".into(), Value::Time(3, 500_000_000)),
        ]);
        assert_eq!(json_text(value), r#"{"1":null,"bytes":"00ff","time":3.5}"#);
    }
}
