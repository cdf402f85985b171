//! Values of any type in messages: attributes, arguments, payloads.

use std::fmt;

use nowcast_wire::Value;
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Maximum nesting of values that are read. A world accepts no deeper values.
const DEPTH_MAX: usize = nowcast_world::limits::VALUE_DEPTH_MAX;

/// A value of any type, in JSON and MessagePack.
///
/// JSON has neither bytes nor NaN and infinities: bytes become a list of numbers there, NaN and the infinities `null`.
/// Keys of maps are text in both; a key of another type becomes its text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Any(pub Value);

impl From<Value> for Any {
    fn from(value: Value) -> Self {
        Self(value)
    }
}

impl Serialize for Any {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serialize(&self.0, serializer)
    }
}

/// A borrowed value.
struct Borrowed<'v>(&'v Value);

impl Serialize for Borrowed<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serialize(self.0, serializer)
    }
}

fn serialize<S: Serializer>(value: &Value, serializer: S) -> Result<S::Ok, S::Error> {
    match value {
        Value::Nil | Value::Ext(..) => serializer.serialize_unit(),
        Value::Bool(value) => serializer.serialize_bool(*value),
        Value::Int(value) => serializer.serialize_i64(*value),
        Value::Uint(value) => serializer.serialize_u64(*value),
        // Converts a 32-bit float to the double with the fewest decimal digits that identify the float: 0.1, not
        // 0.10000000149011612.
        Value::F32(value) => serializer.serialize_f64(value.to_string().parse().unwrap_or(f64::NAN)),
        Value::F64(value) => serializer.serialize_f64(*value),
        Value::Text(text) => serializer.serialize_str(text),
        Value::Bytes(bytes) => serializer.serialize_bytes(bytes),
        Value::List(items) => {
            let mut list = serializer.serialize_seq(Some(items.len()))?;
            items.iter().try_for_each(|item| list.serialize_element(&Borrowed(item)))?;
            list.end()
        }
        Value::Map(pairs) => {
            let mut map = serializer.serialize_map(Some(pairs.len()))?;
            for (key, value) in pairs {
                match key {
                    Value::Text(key) => map.serialize_entry(key, &Borrowed(value))?,
                    Value::Int(key) => map.serialize_entry(&key.to_string(), &Borrowed(value))?,
                    other => map.serialize_entry(&format!("{other:?}"), &Borrowed(value))?,
                }
            }
            map.end()
        }
        Value::Time(seconds, _) => serializer.serialize_i64(*seconds),
    }
}

impl<'de> Deserialize<'de> for Any {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyVisitor { depth: 0 }).map(Self)
    }
}

#[derive(Clone, Copy)]
struct AnyVisitor {
    depth: usize,
}

impl<'de> serde::de::DeserializeSeed<'de> for AnyVisitor {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        if self.depth > DEPTH_MAX {
            return Err(serde::de::Error::custom(format!("a value is more than {DEPTH_MAX} deep")));
        }
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for AnyVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Nil)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
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

    fn visit_f32<E>(self, value: f32) -> Result<Value, E> {
        Ok(Value::F32(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::F64(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::Text(value.to_owned()))
    }

    fn visit_bytes<E>(self, value: &[u8]) -> Result<Value, E> {
        Ok(Value::Bytes(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element_seed(Self { depth: self.depth + 1 })? {
            items.push(item);
        }
        Ok(Value::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut pairs = Vec::new();
        while let Some(key) = map.next_key::<String>()? {
            pairs.push((Value::Text(key), map.next_value_seed(Self { depth: self.depth + 1 })?));
        }
        Ok(Value::Map(pairs))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_they_were_written() {
        let value = Any(Value::Map(vec![
            ("power".into(), Value::F64(0.5)),
            ("parts".into(), Value::List(vec![1.into(), Value::Nil, "x".into(), true.into()])),
        ]));
        let json = serde_json::to_string(&value).unwrap();
        assert_eq!(json, r#"{"power":0.5,"parts":[1,null,"x",true]}"#);
        assert_eq!(serde_json::from_str::<Any>(&json).unwrap(), value);
        let msgpack = rmp_serde::to_vec_named(&value).unwrap();
        assert_eq!(rmp_serde::from_slice::<Any>(&msgpack).unwrap(), value);
    }

    #[test]
    fn values_beyond_json_become_the_nearest_json_value() {
        let said = |value| serde_json::to_string(&Any(value)).unwrap();
        assert_eq!(said(Value::F32(0.1)), "0.1");
        assert_eq!(said(Value::F64(f64::NAN)), "null");
        assert_eq!(said(Value::Bytes(vec![1, 2])), "[1,2]");
        assert_eq!(said(Value::Map(vec![(7.into(), Value::Nil)])), r#"{"7":null}"#);
    }

    #[test]
    fn a_value_nested_too_deeply_is_refused() {
        let deep = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        assert!(serde_json::from_str::<Any>(&deep(DEPTH_MAX)).is_ok());
        assert!(serde_json::from_str::<Any>(&deep(DEPTH_MAX + 2)).is_err());
    }
}
