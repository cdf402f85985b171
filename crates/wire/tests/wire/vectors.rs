//! Checks the vectors that bind every implementation. With `NOWCAST_BLESS=1`, writes those that this crate can generate.

use crate::common::{bless, blessing, cases, from_hex, from_json, to_hex, to_json};
use nowcast_wire::{Effort, Receiver, Shape, decode_value, encode_value};
use serde_json::{Value as Json, json};

fn text<'j>(case: &'j Json, key: &str) -> &'j str {
    case[key].as_str().unwrap_or_else(|| panic!("{key} is missing in {case}"))
}

fn shape(case: &Json, key: &str) -> Shape {
    Shape::from_bytes(&from_hex(text(case, key)))
        .unwrap_or_else(|error| panic!("{}: {error}", text(case, "name")))
}

#[test]
fn values_are_read_and_written() {
    if blessing() {
        bless(
            "values.json",
            "Values of shapes and their bodies, without shape ids.",
            &crate::samples::values(),
        );
    }
    for case in cases("values.json") {
        let name = text(&case, "name");
        let (shape, body, value) =
            (shape(&case, "shape"), from_hex(text(&case, "body")), from_json(&case["value"]));
        assert_eq!(format!("{:016x}", shape.hash()), text(&case, "hash"), "{name}");
        assert_eq!(shape.to_bytes(), from_hex(text(&case, "shape")), "{name}");
        let read = decode_value(&shape, &body).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(read, value, "{name}");
        for effort in [Effort::Fast, Effort::Small] {
            let mut written = Vec::new();
            encode_value(&shape, &value, effort, &mut written)
                .unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(decode_value(&shape, &written).unwrap(), value, "{name}");
            if case["canonical"] == json!(true) {
                assert_eq!(to_hex(&written), to_hex(&body), "{name}");
            }
        }
    }
}

#[test]
fn invalid_bodies_are_refused() {
    if blessing() {
        bless(
            "invalid.json",
            "Bodies that every reader must refuse. `error` is a description and is not compared.",
            &crate::samples::invalid(),
        );
    }
    for case in cases("invalid.json") {
        let name = text(&case, "name");
        let result = Shape::from_bytes(&from_hex(text(&case, "shape")))
            .and_then(|shape| decode_value(&shape, &from_hex(text(&case, "body"))));
        assert!(result.is_err(), "{name}: read as {result:?}");
    }
}

#[test]
fn messages_of_a_scope_are_read_in_order() {
    if blessing() {
        bless(
            "messages.json",
            "Successive messages of one scope; null where a message holds announcements alone.",
            &crate::samples::messages(),
        );
    }
    for case in cases("messages.json") {
        let name = text(&case, "name");
        let mut receiver = Receiver::default();
        let messages = case["messages"].as_array().unwrap();
        for (message, expected) in messages.iter().zip(case["values"].as_array().unwrap()) {
            let read = receiver.decode_value(&from_hex(message.as_str().unwrap()));
            let read = read.unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(read.as_ref().map_or(Json::Null, to_json), to_json(&from_json(expected)), "{name}");
        }
    }
}

#[test]
fn save_files_are_read() {
    if blessing() {
        bless("saves.json", "Whole save files and the values in them.", &crate::samples::saves());
    }
    // The TypeScript implementation also writes some of the files.
    for case in cases("saves.json").into_iter().chain(cases("saves-typescript.json")) {
        let name = text(&case, "name");
        let file = from_hex(text(&case, "file"));
        let mut reader = nowcast_wire::save::FileReader::new(&file[..], nowcast_wire::Limits::FILE).unwrap();
        let mut values = Vec::new();
        while let Some(chunk) = reader.next_chunk().unwrap_or_else(|error| panic!("{name}: {error}")) {
            values.extend(chunk.decode_values().unwrap());
        }
        let expected: Vec<_> = case["values"].as_array().unwrap().iter().map(from_json).collect();
        assert_eq!(values, expected, "{name}");
    }
}

#[test]
fn msgpack_is_read_in_every_form_and_written_in_the_shortest() {
    for case in cases("msgpack-suite.json") {
        let value = from_json(&case["value"]);
        let forms = case["forms"].as_array().unwrap();
        for form in forms {
            let bytes = from_hex(form.as_str().unwrap());
            let read =
                nowcast_wire::any::from_slice(&bytes).unwrap_or_else(|error| panic!("{case}: {error}"));
            assert_eq!(read, value, "{case}");
        }
        assert_eq!(
            to_hex(&nowcast_wire::any::to_vec(&value)),
            forms[0].as_str().unwrap().replace(' ', ""),
            "{case}"
        );
    }
}
