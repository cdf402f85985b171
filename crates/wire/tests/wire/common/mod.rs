//! Represents values as the JSON of the vectors (section 12 of the specification).

use nowcast_wire::Value;
use serde_json::{Value as Json, json};

/// 2^53 - 1. Larger JSON numbers lose digits in JavaScript.
const SAFE: u64 = (1 << 53) - 1;

/// Converts a value to JSON with tags.
pub(crate) fn to_json(value: &Value) -> Json {
    match value {
        Value::Nil => Json::Null,
        Value::Bool(value) => json!(value),
        Value::Int(value) if value.unsigned_abs() <= SAFE => json!(value),
        Value::Int(value) => json!({ "$i64": value.to_string() }),
        Value::Uint(value) => json!({ "$u64": value.to_string() }),
        // Whole floats get a tag, which distinguishes them from integers.
        Value::F32(value) => json!({ "$f32": format!("{:08x}", value.to_bits()) }),
        Value::F64(value) if value.is_finite() && value.fract() != 0.0 => json!(value),
        Value::F64(value) => json!({ "$f64": format!("{:016x}", value.to_bits()) }),
        Value::Text(text) => json!(text),
        Value::Bytes(bytes) => json!({ "$bytes": to_hex(bytes) }),
        Value::List(items) => items.iter().map(to_json).collect(),
        Value::Map(pairs) => {
            let plain = pairs.iter().all(|(key, _)| key.as_text().is_some_and(|key| !key.starts_with('$')));
            let distinct: std::collections::BTreeSet<_> =
                pairs.iter().map(|(key, _)| key.as_text()).collect();
            if plain && distinct.len() == pairs.len() {
                let object =
                    pairs.iter().map(|(key, value)| (key.as_text().unwrap().to_owned(), to_json(value)));
                return Json::Object(object.collect());
            }
            let pairs: Vec<Json> =
                pairs.iter().map(|(key, value)| json!([to_json(key), to_json(value)])).collect();
            json!({ "$map": pairs })
        }
        Value::Time(seconds, nanoseconds) => json!({ "$time": [seconds, nanoseconds] }),
        Value::Ext(kind, bytes) => json!({ "$ext": [kind, to_hex(bytes)] }),
    }
}

/// The inverse of [`to_json`].
pub(crate) fn from_json(json: &Json) -> Value {
    match json {
        Json::Null => Value::Nil,
        Json::Bool(value) => Value::Bool(*value),
        Json::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(value), _) => Value::Int(value),
            (_, Some(value)) => value.into(),
            _ => Value::F64(number.as_f64().unwrap()),
        },
        Json::String(text) => text.as_str().into(),
        Json::Array(items) => Value::List(items.iter().map(from_json).collect()),
        Json::Object(object) => match object.iter().next() {
            Some((tag, inner)) if object.len() == 1 && tag.starts_with('$') => tagged(tag, inner),
            _ => Value::Map(
                object.iter().map(|(key, value)| (key.as_str().into(), from_json(value))).collect(),
            ),
        },
    }
}

fn tagged(tag: &str, inner: &Json) -> Value {
    let text = || inner.as_str().unwrap();
    match tag {
        "$i64" => Value::Int(text().parse().unwrap()),
        "$u64" => text().parse::<u64>().unwrap().into(),
        "$f32" => Value::F32(f32::from_bits(u32::from_str_radix(text(), 16).unwrap())),
        "$f64" => Value::F64(f64::from_bits(u64::from_str_radix(text(), 16).unwrap())),
        "$bytes" => Value::Bytes(from_hex(text())),
        "$map" => {
            let pair = |pair: &Json| (from_json(&pair[0]), from_json(&pair[1]));
            Value::Map(inner.as_array().unwrap().iter().map(pair).collect())
        }
        "$time" => Value::Time(inner[0].as_i64().unwrap(), inner[1].as_u64().unwrap() as u32),
        "$ext" => Value::Ext(inner[0].as_i64().unwrap() as i8, from_hex(inner[1].as_str().unwrap())),
        other => panic!("unknown tag {other}"),
    }
}

pub(crate) fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn from_hex(hex: &str) -> Vec<u8> {
    let digits: String = hex.chars().filter(|c| !c.is_whitespace()).collect();
    assert!(digits.len().is_multiple_of(2), "odd number of hexadecimal digits");
    (0..digits.len()).step_by(2).map(|i| u8::from_str_radix(&digits[i..i + 2], 16).unwrap()).collect()
}

/// Returns the cases of a vector file.
pub(crate) fn cases(file: &str) -> Vec<Json> {
    let text = std::fs::read_to_string(path(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
    let json: Json = serde_json::from_str(&text).unwrap();
    json["cases"].as_array().unwrap().clone()
}

/// Writes a vector file, with one case in each line. Run it with `NOWCAST_BLESS=1` after a deliberate change of the format.
pub(crate) fn bless(file: &str, about: &str, cases: &[Json]) {
    let lines: Vec<String> = cases.iter().map(|case| format!("    {case}")).collect();
    let text =
        format!("{{\n  \"about\": {},\n  \"cases\": [\n{}\n  ]\n}}\n", json!(about), lines.join(",\n"));
    std::fs::write(path(file), text).unwrap();
}

pub(crate) fn blessing() -> bool {
    std::env::var_os("NOWCAST_BLESS").is_some()
}

fn path(file: &str) -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec/vectors/wire").join(file)
}
