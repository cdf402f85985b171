//! Values and updates of a world as JSON.

use nowcast_wire::Value;
use nowcast_wire_tools::{FromJson, write_json};
use nowcast_world_client::Update;
use nowcast_world_protocol::session::{FromWorld, Said};

use crate::failure::Failure;

/// Converts a value to JSON. Bytes become hexadecimal text, times become seconds, numbers that are not finite become null,
/// and keys become text.
pub(crate) fn json(value: Value) -> String {
    let mut out = Vec::new();
    // Every value that JSON lacks was replaced, and writing to memory cannot fail.
    let _ = write_json(&representable(value), &mut out);
    String::from_utf8(out).unwrap_or_default()
}

/// Parses JSON as a value.
pub(crate) fn parse(text: &str) -> Result<Value, Failure> {
    let read = serde_json::from_str(text).map_err(|error| Failure::argument(format!("not JSON: {error}")));
    read.map(|FromJson(value)| value)
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
                other => Value::Text(json(other)),
            };
            Value::Map(pairs.into_iter().map(|(key, value)| (text(key), representable(value))).collect())
        }
        other => other,
    }
}

fn object<const N: usize>(fields: [(&str, Value); N]) -> Value {
    Value::Map(fields.into_iter().map(|(name, value)| (Value::from(name), value)).collect())
}

/// The content of an update: of an event of the rules, a refusal, a notice, or a line of chat. Nil for all other updates.
pub(crate) fn content(update: &Update) -> Value {
    match update {
        Update::Line(Said { from, name, text }) => {
            object([("from", (*from).into()), ("name", name.clone().into()), ("text", text.clone().into())])
        }
        Update::Event(event) => of_event(event.clone()),
        _ => Value::Nil,
    }
}

fn of_event(event: FromWorld) -> Value {
    let number_or_nil = |number: Option<u32>| number.map_or(Value::Nil, Value::from);
    match event {
        FromWorld::Happened { event, payload } => object([("event", event.into()), ("payload", payload)]),
        FromWorld::Refused { action, reason, number } => {
            object([("action", action.into()), ("reason", reason.into()), ("number", number_or_nil(number))])
        }
        FromWorld::Notice { text } => object([("text", text.into())]),
        FromWorld::Report { version, text, .. } => {
            object([("version", version.into()), ("text", text.into())])
        }
        FromWorld::Granted { entity, number } => {
            object([("entity", entity.into()), ("number", number.into())])
        }
        FromWorld::Denied { request, entity, number, reason } => object([
            ("request", request.into()),
            ("entity", entity.into()),
            ("number", number.into()),
            ("reason", reason.into()),
        ]),
        FromWorld::Done { number } => object([("number", number.into())]),
        FromWorld::Unsaid { text, reason } => object([("text", text.into()), ("reason", reason.into())]),
        FromWorld::Rate { network_hz } => object([("network_hz", network_hz.into())]),
        FromWorld::Welcome { .. } | FromWorld::Define { .. } => Value::Nil,
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
        assert_eq!(json(value), r#"{"1":null,"bytes":"00ff","time":3.5}"#);
    }
}
