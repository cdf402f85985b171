//! Random shapes and values: an attribute that stores its own stored value again does not change it. Coverage-guided:
//! `cargo xtask fuzz attributes`.

use nowcast_wire::{Shape, any};
use nowcast_world::{Attributes, OutOfRange, Random, Value};

fn seeds() -> u64 {
    std::env::var("NOWCAST_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(5_000)
}

fn below(random: &mut Random, bound: u64) -> u64 {
    random.bits() % bound
}

/// Names of fields, and keys of maps. One of them is not a field.
const NAMES: [&str; 4] = ["a", "b", "c", "other"];

fn value(random: &mut Random, depth_left: u64) -> Value {
    match below(random, 8 + 2 * depth_left.min(1)) {
        0 => Value::Nil,
        1 => Value::Bool(below(random, 2) == 0),
        2 => Value::Int(random.bits() as i64 >> below(random, 64)),
        3 => Value::Uint(random.bits() >> below(random, 64)),
        4 => Value::F64(f64::from_bits(random.bits())),
        5 => Value::F64(random.unit() * 3.0 - 1.5),
        6 => Value::Text("text".into()),
        7 => Value::Bytes(vec![1, 2]),
        8 => Value::List((0..below(random, 5)).map(|_| value(random, depth_left - 1)).collect()),
        _ => {
            let names = NAMES.into_iter().take(below(random, 5) as usize);
            Value::Map(names.map(|name| (name.into(), value(random, depth_left - 1))).collect())
        }
    }
}

/// A type in schema notation, or an invalid text.
fn written_type(random: &mut Random, depth_left: u64) -> String {
    const SIMPLE: [&str; 14] = [
        "bool",
        "u8",
        "u64",
        "i64",
        "f32",
        "f64",
        "ivar",
        "text",
        "any",
        "angle(3)",
        "quat(2)",
        "range(0, 1, 0.3)",
        "range(1, 0, 1)",
        "word",
    ];
    const COUNTS: [u64; 5] = [0, 1, 3, 70_000, 4_000_000_000];
    match below(random, 1 + 3 * depth_left.min(1)) {
        0 => SIMPLE[below(random, SIMPLE.len() as u64) as usize].to_owned(),
        1 => format!("{}?", written_type(random, depth_left - 1)),
        2 => format!("[{}]", written_type(random, depth_left - 1)),
        _ => {
            let count = COUNTS[below(random, COUNTS.len() as u64) as usize];
            format!("[{}; {count}]", written_type(random, depth_left - 1))
        }
    }
}

fn written(random: &mut Random) -> Option<Attributes> {
    let names = NAMES.into_iter().take(1 + below(random, 3) as usize);
    let fields: Vec<_> = names.map(|name| format!("{name}: {}", written_type(random, 3))).collect();
    Attributes::parse(&fields.join(", ")).ok()
}

/// The bytes of a valid shape, with some changed or doubled.
fn damaged(random: &mut Random) -> Option<Attributes> {
    let good = Attributes::parse("a: [u8; 3], b: any, c: range(0, 1, 0.1)").expect("the text is a shape");
    let mut bytes = good.shape().to_bytes();
    for _ in 0..1 + below(random, 6) {
        let at = below(random, bytes.len() as u64) as usize;
        bytes[at] = random.bits() as u8;
        if below(random, 3) == 0 {
            bytes.insert(at, random.bits() as u8);
        }
    }
    Attributes::new(Shape::from_bytes(&bytes).ok()?).ok()
}

/// Compares bytes, because a number in an "any" may be NaN, which does not equal itself. A quaternion may be stored as the
/// neighbouring step.
fn are_same(attributes: &Attributes, a: &Value, b: &Value) -> bool {
    any::to_vec(a) == any::to_vec(b) || format!("{attributes:?}").contains("Quat")
}

fn keeps_what_it_kept(seed: u64, attributes: &Attributes, value: &Value) {
    for (index, default) in attributes.defaults().iter().enumerate() {
        let kept = attributes.conform(index, default);
        let kept = kept.unwrap_or_else(|error| panic!("seed {seed}: a default: {error}"));
        assert!(are_same(attributes, &kept, default), "seed {seed}: {kept:?} for the default {default:?}");
        let Ok(kept) = attributes.conform(index, value) else { continue };
        let again = attributes.conform(index, &kept);
        let again = again.unwrap_or_else(|error| panic!("seed {seed}: what was kept: {error}"));
        assert!(are_same(attributes, &kept, &again), "seed {seed}: {kept:?}, then {again:?}");
    }
    if let Ok(kept) = attributes.conform_map(value) {
        let again = attributes.conform_map(&kept);
        let again = again.unwrap_or_else(|error| panic!("seed {seed}: what was kept: {error}"));
        assert!(are_same(attributes, &kept, &again), "seed {seed}: {kept:?}, then {again:?}");
    }
}

#[test]
fn a_value_read_from_an_attribute_is_stored_unchanged() {
    let mut shapes = 0;
    for seed in 0..seeds() {
        let mut random = Random::new(seed);
        let attributes = if seed % 2 == 0 { written(&mut random) } else { damaged(&mut random) };
        let Some(attributes) = attributes else { continue };
        shapes += 1;
        let out_of_range = if below(&mut random, 2) == 0 { OutOfRange::Clamp } else { OutOfRange::Refuse };
        keeps_what_it_kept(seed, &attributes.with_out_of_range(out_of_range), &value(&mut random, 3));
    }
    assert!(shapes > 0, "some of them are shapes");
}
