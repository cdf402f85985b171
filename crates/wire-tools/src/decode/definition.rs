//! Messages of a world that define kinds, or that need these definitions to be decoded (`spec/WORLD.md`, section 3).

use nowcast_wire::{Shape, Value, decode_value};

use super::reading::{Reading, json};

/// Names of kinds, and the shapes of their attributes. Entities can be decoded only with these.
#[derive(Debug, Default)]
pub(super) struct Kinds(Vec<(String, Option<Shape>)>);

/// Describes a message of this name. A definition applies to all later messages.
pub(super) fn reading(name: &str, value: Value, kinds: &mut Kinds) -> Reading {
    let definition = value.get("Define").and_then(|define| define.get("definition"));
    match (name, definition) {
        ("FromWorld", Some(definition)) => define(name, definition, kinds),
        ("Entity", _) => Reading::new(name, &entity(value, kinds)),
        _ => Reading::new(name, &value),
    }
}

fn define(name: &str, definition: &Value, kinds: &mut Kinds) -> Reading {
    let list = |field: &str| match definition.get(field) {
        Some(Value::List(items)) => items.as_slice(),
        _ => &[],
    };
    kinds.0 = list("kinds").iter().map(|kind| (text(kind, "name"), shape(kind, "attributes"))).collect();
    let mut parts = Vec::new();
    for (index, kind) in list("kinds").iter().enumerate() {
        let mut line = format!("kind {index}, {}", text(kind, "name"));
        for field in ["body", "walker", "look"] {
            let value = kind.get(field).filter(|value| **value != Value::Nil);
            line.extend(value.map(|value| format!(", {field} {}", json(value))));
        }
        parts.push(format!("{line}, attributes {}", types(kind, "attributes")));
    }
    for action in list("actions") {
        let hint = action.get("hint").filter(|hint| **hint != Value::Nil);
        let hint = hint.map(|hint| format!(", hint {}", json(hint))).unwrap_or_default();
        let durable = if action.get("durable") == Some(&Value::Bool(true)) { ", durable" } else { "" };
        parts.push(format!(
            "action {}, arguments {}{hint}{durable}",
            text(action, "name"),
            types(action, "arguments")
        ));
    }
    for event in list("events") {
        parts.push(format!("event {}, payload {}", text(event, "name"), types(event, "payload")));
    }
    let version = ("version".into(), definition.get("version").cloned().unwrap_or_default());
    let head = Value::Map(vec![("Define".into(), Value::Map(vec![version]))]);
    Reading::with_parts(name, &head, parts)
}

/// Adds the name of the kind and the attributes to an entity, if the definition of its kind is known.
fn entity(value: Value, kinds: &Kinds) -> Value {
    let index = value.get("kind").and_then(Value::as_f64).map(|index| index as usize);
    let Some((name, shape)) = index.and_then(|index| kinds.0.get(index)) else { return value };
    let Value::Map(mut pairs) = value else { return value };
    for (key, value) in &mut pairs {
        match (key.as_text(), &*value) {
            (Some("kind"), _) => *value = name.as_str().into(),
            (Some("attributes"), Value::Bytes(bytes)) => {
                let read = shape.as_ref().and_then(|shape| decode_value(shape, bytes).ok());
                *value = read.unwrap_or_else(|| value.clone());
            }
            _ => {}
        }
    }
    Value::Map(pairs)
}

fn text(map: &Value, field: &str) -> String {
    map.get(field).and_then(Value::as_text).unwrap_or_default().to_owned()
}

fn shape(map: &Value, field: &str) -> Option<Shape> {
    match map.get(field) {
        Some(Value::Bytes(bytes)) => Shape::from_bytes(bytes).ok(),
        _ => None,
    }
}

/// Returns the fields of a shape with their types, in the notation of schemas.
fn types(map: &Value, field: &str) -> String {
    let Some(shape) = shape(map, field) else { return "with an invalid shape".into() };
    let fields = shape.fields().unwrap_or_default();
    let fields: Vec<_> =
        fields.iter().map(|field| format!("{}: {}", field.name, shape.type_name(&field.ty))).collect();
    format!("({})", fields.join(", "))
}

#[cfg(test)]
mod tests {
    use nowcast_wire::encode_to_vec;
    use nowcast_world::Attributes;
    use nowcast_world_protocol::session::{Action, Definition, Entity, FromWorld, Kind};

    use super::super::body::Shapes;
    use super::super::fields::Fields;

    fn lines(shapes: &mut Shapes, bytes: &[u8]) -> String {
        let mut fields = Fields::new(bytes);
        for reading in shapes.readings(bytes) {
            reading.note(&mut fields).unwrap();
        }
        fields.to_text()
    }

    #[test]
    fn an_entity_is_decoded_by_the_preceding_definition() {
        let lamp = Attributes::parse("lit: bool, power: range(0, 1, 0.5)").unwrap();
        let kind = Kind {
            name: "lamp".into(),
            body: Default::default(),
            walker: Default::default(),
            look: Default::default(),
            attributes: lamp.shape().to_bytes(),
            owner: Default::default(),
        };
        let action = Action {
            name: "switch".into(),
            arguments: Attributes::parse("lamp: u32?").unwrap().shape().to_bytes(),
            hint: Default::default(),
            durable: true,
        };
        let broken =
            Action { name: "break".into(), arguments: vec![0xff], hint: Default::default(), durable: false };
        let definition = Definition {
            version: 7,
            kinds: vec![kind],
            actions: vec![action, broken],
            events: Vec::new(),
            assets: Vec::new(),
        };
        // One entity is lit, with half its power.
        let attributes = vec![1, 1];
        let entity =
            Entity { kind: 0, scale: [1.0; 3], parent: Some(3), place: None, attributes, owner: None };
        let entity = encode_to_vec(&entity);

        let mut shapes = Shapes::of_a_world();
        assert!(lines(&mut shapes, &entity).contains("\"kind\":0"), "the kind was never described");
        let said = lines(&mut shapes, &encode_to_vec(&FromWorld::Define { definition }));
        assert!(said.contains("{\"Define\":{\"version\":7}}"), "{said}");
        assert!(said.contains("kind 0, lamp, attributes (lit: bool, power: range(0, 1, 0.5))"), "{said}");
        assert!(said.contains("action switch, arguments (lamp: u32?), durable"), "{said}");
        assert!(said.contains("action break, arguments with an invalid shape"), "{said}");
        let said = lines(&mut shapes, &entity);
        assert!(said.contains("\"kind\":\"lamp\""), "{said}");
        assert!(said.contains("\"attributes\":{\"lit\":true,\"power\":0.5}"), "{said}");
    }
}
