//! Describes messages of a world on a session (`spec/WORLD.md`), one line for each message.

use nowcast_server::replication;
use nowcast_wire::{Shape, Value, Wire, decode_value};
use nowcast_wire_tools::json_text;
use nowcast_world_protocol::session::{
    Controls, Entity, EntityState, FromWorld, Line, Missed, Player, Said, Screen, StateKey, Steps, ToWorld,
    WORLD_LANE,
};

use crate::output::printable;

/// Describes messages of a world. Entities are decoded by the preceding definition.
#[derive(Default)]
pub(crate) struct WorldReader {
    /// Names of kinds, and the shapes of their attributes.
    kinds: Vec<(String, Option<Shape>)>,
}

impl WorldReader {
    /// Describes an event, or a state of this key, as printable text; `None` if it is not a message of a world.
    pub(crate) fn message(&mut self, lane: u8, key: Option<u64>, bytes: &[u8]) -> Option<String> {
        if key.is_some() && bytes.is_empty() {
            return Some("gone".into());
        }
        let is_entity = key.and_then(StateKey::of).is_some_and(|key| matches!(key, StateKey::Entity(_)));
        if lane == WORLD_LANE
            && is_entity
            && let Ok(EntityState::OutOfSight(tick)) = EntityState::read(bytes)
        {
            return Some(format!("out of sight since step {tick}"));
        }
        // Both directions of a lane have messages, and their bytes may fit both. Almost any bytes fit a text, so a message with
        // control characters is taken only if there is no other.
        let fitting = expected(lane, key).into_iter().filter_map(|(name, shape)| {
            let value = decode_value(&shape, bytes).ok()?;
            let line = self.describe(name, value);
            Some((line.contains(CONTROL), line))
        });
        let (_, line) = fitting.min_by_key(|(is_odd, _)| *is_odd)?;
        Some(printable(&line))
    }

    /// Describes movement; `None` if the bytes are not movement.
    pub(crate) fn movement(payload: &[u8]) -> Option<String> {
        let (tick, controls, groups) = replication::summary(payload).ok()?;
        Some(format!("movement at step {tick}, controls {controls}, {groups} groups"))
    }

    fn describe(&mut self, name: &str, value: Value) -> String {
        if let Some(definition) = value.get("Define").and_then(|define| define.get("definition")) {
            return format!("{name}: {}", self.define(definition));
        }
        let value = if name == "Entity" { self.entity(value) } else { value };
        format!("{name}: {}", json_text(value))
    }

    /// Remembers the kinds of a definition, and describes it.
    fn define(&mut self, definition: &Value) -> String {
        let list = |field: &str| match definition.get(field) {
            Some(Value::List(items)) => items.as_slice(),
            _ => &[],
        };
        let named = |kind| (text(kind, "name").to_owned(), shape(kind, "attributes"));
        self.kinds = list("kinds").iter().map(named).collect();
        let version = ("version".into(), definition.get("version").cloned().unwrap_or_default());
        let head = Value::Map(vec![("Define".into(), Value::Map(vec![version]))]);
        let mut parts = vec![json_text(head)];
        for (index, kind) in list("kinds").iter().enumerate() {
            let more = given(kind, &["body", "walker", "look"]);
            parts.push(format!(
                "kind {index}, {}{more}, attributes {}",
                text(kind, "name"),
                types(kind, "attributes")
            ));
        }
        for action in list("actions") {
            let durable = if action.get("durable") == Some(&Value::Bool(true)) { ", durable" } else { "" };
            let (name, arguments) = (text(action, "name"), types(action, "arguments"));
            parts.push(format!("action {name}, arguments {arguments}{}{durable}", given(action, &["hint"])));
        }
        for event in list("events") {
            parts.push(format!("event {}, payload {}", text(event, "name"), types(event, "payload")));
        }
        parts.join("; ")
    }

    /// Adds the name of the kind and the attributes to an entity, if the definition of its kind is known.
    fn entity(&self, value: Value) -> Value {
        let index = value.get("kind").and_then(Value::as_f64).map(|index| index as usize);
        let Some((name, shape)) = index.and_then(|index| self.kinds.get(index)) else { return value };
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
}

/// The JSON escape of control characters.
const CONTROL: &str = "\\u00";

/// Returns the messages that a world receives or sends as an event of a lane, or as a state under a key (`spec/WORLD.md`, section
/// 2).
fn expected(lane: u8, key: Option<u64>) -> Vec<(&'static str, Shape)> {
    fn of<T: Wire>(name: &'static str) -> (&'static str, Shape) {
        (name, Shape::of::<T>())
    }
    match (lane, key.map(|key| (key >> 32, key))) {
        (0, None) => vec![of::<ToWorld>("ToWorld"), of::<FromWorld>("FromWorld")],
        (1, None) => vec![of::<Line>("Line"), of::<Said>("Said")],
        (0, Some((_, 1))) => vec![of::<Controls>("Controls"), of::<Entity>("Entity")],
        (0, Some((_, 2))) => vec![of::<Steps>("Steps"), of::<Entity>("Entity")],
        (0, Some((0, _))) => vec![of::<Entity>("Entity")],
        (0, Some((1, _))) => vec![of::<Player>("Player")],
        (0, Some((2, _))) => vec![of::<Screen>("Screen")],
        (1, Some((_, 1))) => vec![of::<Missed>("Missed")],
        _ => Vec::new(),
    }
}

/// Returns the named fields of a map that have a value.
fn given(map: &Value, fields: &[&str]) -> String {
    let named = fields.iter().filter_map(|field| Some((field, map.get(field)?)));
    let given = named.filter(|(_, value)| **value != Value::Nil);
    given.map(|(field, value)| format!(", {field} {}", json_text(value.clone()))).collect()
}

fn text<'v>(map: &'v Value, field: &str) -> &'v str {
    map.get(field).and_then(Value::as_text).unwrap_or_default()
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
    use nowcast_wire::{encode_to_vec, schema};
    use nowcast_world_protocol::session::{Action, Definition, Kind};

    use super::*;

    fn attributes(text: &str) -> Vec<u8> {
        schema::parse(&format!("struct Fields {{ {text} }}")).unwrap()[0].to_bytes()
    }

    #[test]
    fn an_entity_is_decoded_by_the_preceding_definition() {
        let kind = Kind {
            name: "lamp".into(),
            body: Default::default(),
            walker: Default::default(),
            look: Default::default(),
            attributes: attributes("lit: bool, power: range(0, 1, 0.5)"),
            owner: Default::default(),
        };
        let arguments = attributes("lamp: u32?");
        let action = Action { name: "switch".into(), arguments, hint: Default::default(), durable: true };
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
        let (entity, define) = (encode_to_vec(&entity), encode_to_vec(&FromWorld::Define { definition }));

        let mut reader = WorldReader::default();
        let said = reader.message(0, Some(5), &entity).unwrap();
        assert!(said.contains("\"kind\":0"), "the kind was never described: {said}");
        let said = reader.message(0, None, &define).unwrap();
        for part in [
            "FromWorld: {\"Define\":{\"version\":7}}; ",
            "kind 0, lamp, attributes (lit: bool, power: range(0, 1, 0.5))",
            "action switch, arguments (lamp: u32?), durable",
            "action break, arguments with an invalid shape",
        ] {
            assert!(said.contains(part), "{said}");
        }
        let said = reader.message(0, Some(5), &entity).unwrap();
        assert!(said.contains("\"kind\":\"lamp\""), "{said}");
        assert!(said.contains("\"attributes\":{\"lit\":true,\"power\":0.5}"), "{said}");
    }
}
