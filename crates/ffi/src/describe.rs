//! Values and updates of a world as JSON.

use nowcast_wire::Value;
pub(crate) use nowcast_wire_tools::json_text as json;
use nowcast_world_client::Update;
use nowcast_world_protocol::session::{FromWorld, Said};

use crate::failure::Failure;

/// Parses JSON as a value.
pub(crate) fn parse(text: &str) -> Result<Value, Failure> {
    serde_json::from_str(text).map_err(|error| Failure::argument(format!("not JSON: {error}")))
}

fn object<const N: usize>(fields: [(&str, Value); N]) -> Value {
    Value::Map(fields.into_iter().map(|(name, value)| (Value::from(name), value)).collect())
}

/// The content of an update: a rules' event, a refusal, a notice, or a chat line. Nil for all other updates.
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
