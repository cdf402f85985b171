//! Converts between JSON and values.

use std::fmt;
use std::io::Write;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use nowcast_wire::Value;

use crate::ToolError;

/// A value as JSON gives it. Keys of an object keep their order, and an object with the same key twice is refused.
///
/// ```
/// use nowcast_wire_tools::FromJson;
///
/// let FromJson(value) = serde_json::from_str(r#"{"gold": 5}"#)?;
/// assert_eq!(value.get("gold"), Some(&5.into()));
/// # Ok::<(), serde_json::Error>(())
/// ```
pub struct FromJson(pub Value);

impl<'de> Deserialize<'de> for FromJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Values).map(FromJson)
    }
}

struct Values;

impl<'de> Visitor<'de> for Values {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value of JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Nil)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Int(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::F64(value))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(FromJson(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Value, A::Error> {
        let mut pairs = Vec::new();
        while let Some((key, FromJson(value))) = object.next_entry::<String, FromJson>()? {
            pairs.push((Value::Text(key), value));
        }
        let mut keys: Vec<_> = pairs.iter().filter_map(|(key, _)| key.as_text()).collect();
        keys.sort_unstable();
        match keys.windows(2).find(|two| two[0] == two[1]) {
            Some(two) => Err(A::Error::custom(format_args!("an object has the key {:?} twice", two[0]))),
            None => Ok(Value::Map(pairs)),
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
