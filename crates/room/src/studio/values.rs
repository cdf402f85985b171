//! Values of worlds as JSON.

use nowcast_world::Value;
use serde_json::Value as Json;

/// Converts a value of a world to JSON.
pub(super) fn to_json(value: &Value) -> Json {
    serde_json::to_value(value).unwrap_or(Json::Null)
}

/// Converts numbers to a list.
pub(super) fn numbers(numbers: &[f32]) -> Json {
    to_json(&Value::List(numbers.iter().map(|number| Value::F32(*number)).collect()))
}
