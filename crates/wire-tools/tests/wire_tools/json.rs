//! JSON that other programs write.

use nowcast_wire::Value;
use nowcast_wire::save::Options;
use nowcast_wire_tools::{Format, convert, read_value};

fn read(json: &str) -> Result<Value, String> {
    let shown = |error: &dyn std::error::Error| error.source().map_or(error.to_string(), ToString::to_string);
    read_value(json.as_bytes(), Format::Json).map_err(|error| shown(&error))
}

#[test]
fn an_object_with_a_key_twice_is_refused_at_any_depth() {
    for json in [r#"{"a":1,"b":2,"a":3}"#, r#"[{"x":{"":1,"":1}}]"#] {
        let refused = read(json).unwrap_err();
        assert!(refused.contains("twice"), "{refused}");
    }
}

#[test]
fn a_byte_order_mark_before_json_is_skipped() {
    let json = "\u{FEFF}{\"gold\":5}";
    assert_eq!(Format::detect(json.as_bytes(), ""), Format::Json);
    assert_eq!(read(json).unwrap(), read("{\"gold\":5}").unwrap());
}

#[test]
fn values_as_deep_as_json_allows_survive_a_save_file() {
    let deep =
        |open: &str, value: &str, close: &str| format!("{}{value}{}", open.repeat(126), close.repeat(126));
    for json in [
        deep("[", "1", "]"),
        deep("[null,", "1", "]"),
        deep("{\"a\":", "1", "}"),
        format!("[{},{}]", deep("{\"a\":", "null", "}"), deep("{\"a\":", "1", "}")),
    ] {
        let saved = converted(json.as_bytes(), Format::Json, Format::Save);
        assert_eq!(converted(&saved, Format::Save, Format::Json).trim_ascii_end(), json.as_bytes());
    }
}

fn converted(input: &[u8], from: Format, to: Format) -> Vec<u8> {
    convert(input, input.len() as u64, from, Vec::new(), to, Options::default(), &mut |_| {})
        .expect("the value has both forms")
}

#[test]
fn keys_of_a_large_object_keep_their_order_through_a_save_file() {
    let pairs: Vec<String> = (0..200_000u32).map(|i| format!("\"k{}\":{i}", i.wrapping_mul(7_919))).collect();
    let json = format!("{{{}}}\n", pairs.join(","));
    let saved = converted(json.as_bytes(), Format::Json, Format::Save);
    assert!(converted(&saved, Format::Save, Format::Json) == json.as_bytes());
}
