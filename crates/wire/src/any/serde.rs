//! Values in every format that serde has, such as JSON.
//!
//! JSON has neither bytes nor NaN and infinities: bytes become a list of numbers there, NaN and the infinities `null`. Keys of maps
//! are text in both directions: a key of another type becomes its text.

use std::fmt;

use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Value;

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Value::Nil | Value::Ext(..) => serializer.serialize_unit(),
            Value::Bool(value) => serializer.serialize_bool(*value),
            Value::Int(value) | Value::Time(value, _) => serializer.serialize_i64(*value),
            Value::Uint(value) => serializer.serialize_u64(*value),
            // Converts a 32-bit float to the double with the fewest decimal digits that identify the float: 0.1, not
            // 0.10000000149011612.
            Value::F32(value) => serializer.serialize_f64(value.to_string().parse().unwrap_or(f64::NAN)),
            Value::F64(value) => serializer.serialize_f64(*value),
            Value::Text(text) => serializer.serialize_str(text),
            Value::Bytes(bytes) => serializer.serialize_bytes(bytes),
            Value::List(items) => serializer.collect_seq(items),
            Value::Map(pairs) => serializer.collect_map(pairs.iter().map(|(key, value)| {
                let key = match key {
                    Value::Text(key) => key.clone(),
                    Value::Int(key) => key.to_string(),
                    other => format!("{other:?}"),
                };
                (key, value)
            })),
        }
    }
}

/// Objects keep the order of their keys, and an object with the same key twice is refused.
impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Values)
    }
}

struct Values;

impl<'de> Visitor<'de> for Values {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Nil)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f32<E>(self, value: f32) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Value, E> {
        Ok(bytes.to_vec().into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Value, A::Error> {
        let mut pairs = Vec::new();
        while let Some((key, value)) = object.next_entry::<String, Value>()? {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_they_were_written() {
        let value = Value::Map(vec![
            ("power".into(), Value::F64(0.5)),
            ("parts".into(), Value::List(vec![1.into(), Value::Nil, "x".into(), true.into()])),
        ]);
        let json = serde_json::to_string(&value).unwrap();
        assert_eq!(json, r#"{"power":0.5,"parts":[1,null,"x",true]}"#);
        assert_eq!(serde_json::from_str::<Value>(&json).unwrap(), value);
        let msgpack = rmp_serde::to_vec_named(&value).unwrap();
        assert_eq!(rmp_serde::from_slice::<Value>(&msgpack).unwrap(), value);
        assert!(serde_json::from_str::<Value>(r#"{"a":1,"a":2}"#).is_err());
    }

    #[test]
    fn values_beyond_json_become_the_nearest_json_value() {
        let said = |value: Value| serde_json::to_string(&value).unwrap();
        assert_eq!(said(Value::F32(0.1)), "0.1");
        assert_eq!(said(Value::F64(f64::NAN)), "null");
        assert_eq!(said(Value::Bytes(vec![1, 2])), "[1,2]");
        assert_eq!(said(Value::Map(vec![(7.into(), Value::Nil)])), r#"{"7":null}"#);
    }
}
