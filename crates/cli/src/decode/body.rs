//! Values without a shape id (`spec/WIRE.md`, section 4.1).

use nowcast_wire::shape::Type;
use nowcast_wire::{Shape, Value, decode_value};
use nowcast_wire_tools::{schema, write_json};

use super::fields::{Fault, Fields};

/// The messages of a world (`spec/WORLD.md`, section 3).
const WORLD: &str = include_str!("../../../../packages/nowcast/src/world/session/messages.schema");
/// Parts of other messages, which never stand alone.
const PARTS: [&str; 2] = ["Kind", "Place"];

/// The shapes of a world's messages.
pub(super) fn of_a_world() -> Vec<Shape> {
    let mut shapes = schema::parse(WORLD).expect("a test of this module reads it");
    shapes.retain(|shape| !PARTS.contains(&name(shape).as_str()));
    shapes
}

/// The shapes of a schema.
pub(super) fn of_schema(text: &str) -> Result<Vec<Shape>, schema::SchemaError> {
    schema::parse(text)
}

fn name(shape: &Shape) -> String {
    match shape.root {
        Type::Ref(index) => shape.definitions.get(index as usize).map(|found| found.name.clone()),
        _ => None,
    }
    .unwrap_or_else(|| "a value".into())
}

/// Whether one of the shapes reads all of it.
pub(super) fn reads(bytes: &[u8], shapes: &[Shape]) -> bool {
    !bytes.is_empty() && !readings(bytes, shapes).is_empty()
}

/// What each shape that fits makes of it. Almost any bytes fit a text, so a reading with control characters in it counts only
/// where there is none without.
pub(super) fn readings(bytes: &[u8], shapes: &[Shape]) -> Vec<String> {
    /// How JSON writes them.
    const CONTROL: &str = "\\u00";
    let read = |shape: &Shape| {
        let value = decode_value(shape, bytes).ok()?;
        Some(format!("as {}: {}", name(shape), json(&value)))
    };
    let (odd, likely): (Vec<_>, Vec<_>) =
        shapes.iter().filter_map(read).partition(|reading| reading.contains(CONTROL));
    if likely.is_empty() { odd } else { likely }
}

/// The same where a world would say one of the `expected` messages; types of one's own schema may stand everywhere.
pub(super) fn readings_on_a_lane(bytes: &[u8], shapes: &[Shape], expected: &[&str]) -> Vec<String> {
    let is_of_a_world = shapes == of_a_world();
    let may = |shape: &&Shape| !is_of_a_world || expected.contains(&name(shape).as_str());
    let shapes: Vec<Shape> = shapes.iter().filter(may).cloned().collect();
    readings(bytes, &shapes)
}

/// Bytes as the text that they are, if they are one.
pub(super) fn text_or_nothing(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.is_empty() && !text.chars().any(char::is_control) => format!("\"{text}\""),
        _ => format!("{} bytes", bytes.len()),
    }
}

pub(super) fn explain(fields: &mut Fields<'_>, shapes: &[Shape]) -> Result<(), Fault> {
    let bytes = fields.rest();
    let readings = readings(bytes, shapes);
    if readings.is_empty() {
        // The shape that came furthest says most.
        let errors = shapes.iter().filter_map(|shape| Some((shape, decode_value(shape, bytes).err()?)));
        let furthest = errors.max_by_key(|(_, error)| error.offset().unwrap_or(0));
        return match furthest {
            None => fields.fault("body", "there is no shape to read it by: give --schema"),
            Some((shape, error)) => Err(Fault {
                field: format!("{} {}", name(shape), error.path()).trim_end().to_owned(),
                offset: error.offset().unwrap_or(0),
                cause: error.to_string(),
            }),
        };
    }
    fields.take(bytes.len(), "body", |_| format!("{} bytes", bytes.len()))?;
    fields.inside(|fields| {
        readings.into_iter().for_each(|reading| fields.title(reading));
        Ok(())
    })
}

pub(super) fn json(value: &Value) -> String {
    let mut out = Vec::new();
    match write_json(value, &mut out) {
        Ok(()) => String::from_utf8_lossy(&out).into_owned(),
        Err(_) => format!("{value:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_read_by_every_shape_that_fits() {
        let shapes = of_a_world();
        let join = [3, 0, 1, 0, 0, 0, 3, 20, 0, 0, 0, b'A', b'd', b'a'];
        let [reading] = &readings(&join, &shapes)[..] else { panic!("{:?}", readings(&join, &shapes)) };
        assert_eq!(reading, "as ToWorld: {\"Join\":{\"protocol\":1,\"name\":\"Ada\",\"network_hz\":20}}");
        assert!(!reads(&[0xff; 3], &shapes), "neither a message nor text");
    }
}
