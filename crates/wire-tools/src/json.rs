//! Converts between JSON and values.

use std::io::Write;

use serde_json::Value as Json;

use nowcast_wire::Value;

use crate::ToolError;

/// Converts a JSON value. Object keys keep their order.
pub fn from_json(json: Json) -> Value {
    match json {
        Json::Null => Value::Nil,
        Json::Bool(value) => Value::Bool(value),
        Json::Number(number) => match (number.as_i64(), number.as_u64(), number.as_f64()) {
            (Some(value), ..) => Value::Int(value),
            (_, Some(value), _) => value.into(),
            (_, _, value) => Value::F64(value.unwrap_or(f64::NAN)),
        },
        Json::String(text) => Value::Text(text),
        Json::Array(items) => Value::List(items.into_iter().map(from_json).collect()),
        Json::Object(object) => {
            Value::Map(object.into_iter().map(|(key, value)| (Value::Text(key), from_json(value))).collect())
        }
    }
}

/// Writes a value as JSON.
///
/// # Errors
/// If the value has content that JSON lacks: bytes, extensions, numbers that are not finite, keys that are not text.
pub fn write_json(value: &Value, out: &mut impl Write) -> Result<(), ToolError> {
    match value {
        Value::Nil => out.write_all(b"null")?,
        Value::Bool(value) => write!(out, "{value}")?,
        Value::Int(value) => write!(out, "{value}")?,
        Value::Uint(value) => write!(out, "{value}")?,
        // Writes the shortest digits that are read back as the same `f32`.
        Value::F32(value) if value.is_finite() => serde_json::to_writer(out, value)?,
        Value::F64(value) if value.is_finite() => serde_json::to_writer(out, value)?,
        Value::F32(_) | Value::F64(_) => return Err(ToolError::NotJson("numbers that are not finite")),
        Value::Text(text) => serde_json::to_writer(out, text)?,
        Value::List(items) => {
            out.write_all(b"[")?;
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.write_all(b",")?;
                }
                write_json(item, out)?;
            }
            out.write_all(b"]")?;
        }
        Value::Map(pairs) => {
            out.write_all(b"{")?;
            for (index, (key, value)) in pairs.iter().enumerate() {
                if index > 0 {
                    out.write_all(b",")?;
                }
                let Value::Text(key) = key else { return Err(ToolError::NotJson("keys that are not text")) };
                serde_json::to_writer(&mut *out, key)?;
                out.write_all(b":")?;
                write_json(value, out)?;
            }
            out.write_all(b"}")?;
        }
        Value::Bytes(_) => return Err(ToolError::NotJson("raw bytes")),
        Value::Time(..) => return Err(ToolError::NotJson("times")),
        Value::Ext(..) => return Err(ToolError::NotJson("extension types")),
    }
    Ok(())
}
