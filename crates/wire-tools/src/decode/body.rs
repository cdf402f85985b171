//! Decodes values without a shape id (`spec/WIRE.md`, section 4.1).

use nowcast_wire::schema;
use nowcast_wire::shape::Type;
use nowcast_wire::{Shape, decode_value};

use super::definition::{self, Kinds};
use super::fields::{Fault, Fields};
use super::reading::Reading;

/// The messages of a world (`spec/WORLD.md`, section 3).
const WORLD: &str = include_str!("../../../../packages/nowcast/src/world/session/messages.schema");
/// Types that are only parts of other messages.
const PARTS: [&str; 6] = ["Definition", "Kind", "Action", "Declared", "Outcome", "Place"];

/// The shapes by which values are decoded.
#[derive(Debug)]
pub struct Shapes {
    shapes: Vec<Shape>,
    is_world: bool,
    /// The kinds of the most recent definition.
    kinds: Kinds,
}

impl Shapes {
    /// Returns the shapes of a world's messages.
    #[must_use]
    pub fn of_a_world() -> Shapes {
        let mut shapes = schema::parse(WORLD).expect("a test of this module reads it");
        shapes.retain(|shape| !PARTS.contains(&name(shape).as_str()));
        Shapes { shapes, is_world: true, kinds: Kinds::default() }
    }

    /// Returns the shapes of a schema.
    ///
    /// # Errors
    /// If the text is not a schema.
    pub fn of_schema(text: &str) -> Result<Shapes, schema::SchemaError> {
        Ok(Shapes { shapes: schema::parse(text)?, is_world: false, kinds: Kinds::default() })
    }

    /// Whether one of the shapes decodes all bytes.
    pub(super) fn read(&self, bytes: &[u8]) -> bool {
        !bytes.is_empty() && self.shapes.iter().any(|shape| decode_value(shape, bytes).is_ok())
    }

    /// Decodes the bytes by each shape that fits. Almost any bytes fit a text, so a reading with control characters is returned
    /// only if there is no other.
    pub(super) fn readings(&mut self, bytes: &[u8]) -> Vec<Reading> {
        self.readings_of(bytes, |_| true)
    }

    /// Like [`readings`](Self::readings), for a lane on which a world sends one of the `expected` messages. The types of a given
    /// schema are tried on every lane.
    pub(super) fn readings_on_a_lane(&mut self, bytes: &[u8], expected: &[&str]) -> Vec<Reading> {
        let is_world = self.is_world;
        self.readings_of(bytes, |name| !is_world || expected.contains(&name))
    }

    fn readings_of(&mut self, bytes: &[u8], may: impl Fn(&str) -> bool) -> Vec<Reading> {
        /// The JSON escape of control characters.
        const CONTROL: &str = "\\u00";
        let Shapes { shapes, is_world, kinds } = self;
        let mut read = |shape: &Shape| {
            let name = name(shape);
            let value = may(&name).then(|| decode_value(shape, bytes).ok()).flatten()?;
            if *is_world {
                return Some(definition::reading(&name, value, kinds));
            }
            Some(Reading::new(&name, &value))
        };
        let (odd, likely): (Vec<_>, Vec<_>) =
            shapes.iter().filter_map(&mut read).partition(|reading| reading.head().contains(CONTROL));
        if likely.is_empty() { odd } else { likely }
    }
}

fn name(shape: &Shape) -> String {
    match shape.root {
        Type::Ref(index) => shape.definitions.get(index as usize).map(|found| found.name.clone()),
        _ => None,
    }
    .unwrap_or_else(|| "a value".into())
}

/// Returns the bytes as text, or no text if they are not text.
pub(super) fn text_or_nothing(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.is_empty() && !text.chars().any(char::is_control) => format!("\"{text}\""),
        _ => format!("{} bytes", bytes.len()),
    }
}

pub(super) fn explain(fields: &mut Fields<'_>, shapes: &mut Shapes) -> Result<(), Fault> {
    let bytes = fields.rest();
    let readings = shapes.readings(bytes);
    if readings.is_empty() {
        // If no shape fits, the shape that decoded the most bytes gives the most useful error.
        let failed = |shape| Some((shape, decode_value(shape, bytes).err()?));
        let errors = shapes.shapes.iter().filter_map(failed);
        let furthest = errors.max_by_key(|(_, error)| error.offset().unwrap_or(0));
        return match furthest {
            None => fields.fault("body", "no shape is known for it: give --schema"),
            Some((shape, error)) => Err(Fault {
                field: format!("{} {}", name(shape), error.path()).trim_end().to_owned(),
                offset: error.offset().unwrap_or(0),
                cause: error.to_string(),
            }),
        };
    }
    fields.take(bytes.len(), "body", |_| format!("{} bytes", bytes.len()))?;
    fields.inside(|fields| readings.into_iter().try_for_each(|reading| reading.note(fields)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_decoded_by_every_shape_that_fits() {
        let mut shapes = Shapes::of_a_world();
        let join = [5, 0, 2, 0, 0, 0, 5, 20, 0, 0, 0, 0, b'C', b'l', b'a', b'r', b'a'];
        let [reading] = &shapes.readings(&join)[..] else { panic!("one shape fits") };
        assert_eq!(
            reading.head(),
            "as ToWorld: {\"Join\":{\"protocol\":2,\"name\":\"Clara\",\"network_hz\":20,\"key\":\"\"}}"
        );
        assert!(!shapes.read(&[0xff; 3]), "neither a message nor text");
    }
}
