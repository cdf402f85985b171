//! The samples for the vectors, one for every rule of the specification.

use std::collections::BTreeMap;

use nowcast_wire::shape::{NumberType, Range, Type};
use nowcast_wire::{Effort, Sender, Shape, Value, Wire, decode_value, encode_to_vec, encode_value};
use serde_json::{Value as Json, json};

use crate::common::{from_hex, to_hex, to_json};

#[derive(Wire)]
struct Small<'a> {
    text: &'a str,
    num: u8,
}

#[derive(Wire)]
struct Medium<'a> {
    text: &'a str,
    text2: &'a str,
    num: u16,
    decimal: f32,
}

#[derive(Wire)]
struct Big<'a> {
    text: &'a str,
    text2: &'a str,
    text3: &'a str,
    text4: &'a str,
    num: i32,
    decimal: f64,
    num2: i32,
    decimal2: f64,
}

#[derive(Wire, Clone)]
struct Move {
    id: u32,
    position: (f64, f64, f64),
    euler: (u8, u8, u8),
}

#[derive(Wire, Clone)]
enum Action {
    Idle,
    Say(String),
    Walk { to: (f32, f32), run: bool },
    Both(u8, u8),
}

#[derive(Wire, Clone)]
struct Node {
    name: String,
    tag: Option<u16>,
    alive: bool,
    children: Vec<Node>,
}

#[derive(Wire, Clone)]
struct Pose {
    #[wire(range(-512.0, 512.0, 0.001))]
    x: f64,
    #[wire(range(0, 100, 1))]
    health: f32,
    #[wire(quat(10))]
    rotation: [f64; 4],
    #[wire(angle(8))]
    euler: [f32; 3],
    #[wire(angle(16))]
    heading: f64,
    #[wire(var)]
    seq: u64,
    #[wire(var)]
    delta: i32,
}

#[derive(Wire)]
struct Defaults {
    #[wire(default = -3)]
    level: i16,
    #[wire(default = "none")]
    guild: String,
    #[wire(default = 0.5)]
    weight: f32,
    #[wire(default = true)]
    alive: bool,
}

const HELLO: &str = "Hello World!";

fn big() -> Big<'static> {
    Big {
        text: HELLO,
        text2: "Lorem ipsum dolor sit amet, consectetur adipiscing elit. Maecenas rutrum odio dolor, a egestas dui \
                bibendum at.",
        text3: "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
        text4: "The quick brown fox jumps over the lazy dog.",
        num: 123_456_789,
        decimal: std::f64::consts::PI,
        num2: -123_456_789,
        decimal2: -std::f64::consts::PI,
    }
}

#[allow(clippy::approx_constant, reason = "the published message has these digits")]
fn medium() -> Medium<'static> {
    let text2 = "Lorem ipsum dolor sit amet, consectetur adipiscing.";
    Medium { text: HELLO, text2, num: 12345, decimal: 3.141_592_6 }
}

fn tree(depth: usize) -> Node {
    let children = (0..depth).map(tree).collect();
    Node {
        name: format!("node {depth}"),
        tag: (depth % 2 == 1).then_some(depth as u16),
        alive: depth > 1,
        children,
    }
}

fn pose(i: usize) -> Pose {
    let i = i as f64;
    Pose {
        x: i * 1.25 - 3.0,
        health: (100.0 - i) as f32,
        rotation: [0.1 * i, -0.7, 0.3, 0.64],
        euler: [i as f32, 1.0, 3.0],
        heading: i / 2.0,
        seq: 300 * i as u64,
        delta: 3 - i as i32,
    }
}

fn moves(count: u32) -> Vec<Move> {
    let one = |i: u32| Move {
        id: 100_000 + 3 * i + i % 2,
        position: (f64::from(i) * 0.75, f64::from(i).sqrt(), -f64::from(i)),
        euler: (i as u8, (i * 7) as u8, (i * 13) as u8),
    };
    (0..count).map(one).collect()
}

/// Cases of `values.json`.
pub(crate) fn values() -> Vec<Json> {
    let mut cases = Vec::new();
    typed("source 004, small", &Small { text: HELLO, num: 123 }, &mut cases);
    typed("source 004, medium", &medium(), &mut cases);
    typed("source 004, big", &big(), &mut cases);
    typed("text that is not ASCII", &Small { text: "größer 🎈", num: 0 }, &mut cases);
    for count in [0, 1, 3, 4, 20] {
        typed(&format!("{count} movements"), &moves(count), &mut cases);
        typed(&format!("{count} poses"), &(0..count as usize).map(pose).collect::<Vec<_>>(), &mut cases);
    }
    typed("one pose, flat", &pose(2), &mut cases);
    for depth in [0, 1, 3, 5] {
        typed(&format!("a tree {depth} deep"), &tree(depth), &mut cases);
    }
    let actions = [
        Action::Idle,
        Action::Say("hi".into()),
        Action::Walk { to: (1.5, -2.0), run: true },
        Action::Both(1, 2),
        Action::Say("there".into()),
        Action::Idle,
    ];
    for (index, action) in actions.iter().enumerate() {
        typed(&format!("action {index}"), action, &mut cases);
    }
    typed("all actions", &actions.to_vec(), &mut cases);
    let map: BTreeMap<String, Vec<u16>> =
        (0..6).map(|i| (format!("key {i}"), (0..i * 300).step_by(100).collect())).collect();
    typed("a map of lists", &map, &mut cases);
    typed("an empty map", &BTreeMap::<String, u8>::new(), &mut cases);
    let defaults = Defaults { level: 1, guild: "Foxes".into(), weight: 2.0, alive: false };
    typed("stated defaults", &defaults, &mut cases);
    scalars(&mut cases);
    columns(&mut cases);
    cases
}

/// Adds a value of a Rust type, written with both efforts.
fn typed<T: Wire>(name: &str, value: &T, cases: &mut Vec<Json>) {
    let shape = Shape::of::<T>();
    let (fast, mut small) = (encode_to_vec(value), Vec::new());
    nowcast_wire::encode_with(value, Effort::Small, &mut small);
    let canonical = fast == small;
    cases.push(case(name, &shape, &fast, canonical));
    if !canonical {
        cases.push(case(&format!("{name}, small"), &shape, &small, false));
    }
}

fn case(name: &str, shape: &Shape, body: &[u8], canonical: bool) -> Json {
    let value = decode_value(shape, body).unwrap_or_else(|error| panic!("{name}: {error}"));
    json!({
        "name": name,
        "type": shape.to_string(),
        "shape": to_hex(&shape.to_bytes()),
        "hash": format!("{:016x}", shape.hash()),
        "value": to_json(&value),
        "body": to_hex(body),
        "canonical": canonical,
    })
}

fn root(ty: Type) -> Shape {
    Shape { root: ty, definitions: Vec::new() }
}

fn list(ty: Type) -> Shape {
    root(Type::List(Box::new(ty)))
}

/// Adds every scalar alone, three times and five times.
fn scalars(cases: &mut Vec<Json>) {
    use NumberType as N;
    let ints: [(N, i64, u64); 8] = [
        (N::U8, 0, u64::from(u8::MAX)),
        (N::U16, 0, u64::from(u16::MAX)),
        (N::U32, 0, u64::from(u32::MAX)),
        (N::U64, 0, u64::MAX),
        (N::I8, i64::from(i8::MIN), i8::MAX as u64),
        (N::I16, i64::from(i16::MIN), i16::MAX as u64),
        (N::I32, i64::from(i32::MIN), i32::MAX as u64),
        (N::I64, i64::MIN, i64::MAX as u64),
    ];
    let mut samples: Vec<(Type, Vec<Value>)> = Vec::new();
    for (number, low, high) in ints {
        samples.push((
            Type::Number(number),
            vec![low.into(), high.into(), 1u8.into(), 100u8.into(), high.into()],
        ));
    }
    samples.push((Type::Uvar, [0, 127, 128, u64::MAX, 1 << 53].map(Value::from).to_vec()));
    samples.push((Type::Ivar, [0, -1, 64, i64::MIN, i64::MAX].map(Value::from).to_vec()));
    samples.push((Type::Number(N::F32), [0.5f32, -0.0, f32::INFINITY, 1e-40, 3.0].map(Value::from).to_vec()));
    samples.push((
        Type::Number(N::F64),
        [0.1, -0.0, f64::NEG_INFINITY, 5e-324, f64::MAX].map(Value::from).to_vec(),
    ));
    samples.push((Type::Bool, [true, false, true, true, false].map(Value::from).to_vec()));
    samples.push((Type::Text, ["", "ä", "nul \0", "__proto__", "🎈"].map(Value::from).to_vec()));
    let bytes = |bytes: &[u8]| Value::Bytes(bytes.to_vec());
    samples
        .push((Type::Bytes, vec![bytes(&[]), bytes(&[0, 255]), bytes(&[1; 130]), bytes(b"a"), bytes(&[])]));
    samples.push((
        Type::Any,
        vec![Value::Nil, 1.into(), "x".into(), vec![Value::F32(0.5), (-1).into()].into(), u64::MAX.into()],
    ));
    let optional = Type::Option(Box::new(Type::Number(N::U8)));
    samples.push((optional, vec![Value::Nil, 7.into(), 8.into(), Value::Nil, 9.into()]));
    samples.push((Type::Unit, vec![Value::Nil; 5]));
    let triple = Type::Array(3, Box::new(Type::Number(N::U8)));
    samples.push((triple, (0..5u8).map(|i| Value::List(vec![i.into(), 2.into(), 3.into()])).collect()));
    for (ty, values) in samples {
        let shape = root(ty.clone());
        for (index, value) in values.iter().enumerate().take(2) {
            dynamic(&format!("{shape} number {index}"), &shape, value, cases);
        }
        let shape = list(ty);
        for count in [2, 5] {
            dynamic(&format!("{count} of {shape}"), &shape, &Value::List(values[..count].to_vec()), cases);
        }
    }
}

fn dynamic(name: &str, shape: &Shape, value: &Value, cases: &mut Vec<Json>) {
    let (mut fast, mut small) = (Vec::new(), Vec::new());
    encode_value(shape, value, Effort::Fast, &mut fast).unwrap();
    encode_value(shape, value, Effort::Small, &mut small).unwrap();
    cases.push(case(name, shape, &fast, fast == small));
    if fast != small {
        cases.push(case(&format!("{name}, small"), shape, &small, false));
    }
}

/// Adds every coding of columns, assembled by hand.
fn columns(cases: &mut Vec<Json>) {
    use NumberType as N;
    let number = |number| list(Type::Number(number));
    let mut by_hand =
        |name: &str, shape: Shape, body: &str| cases.push(case(name, &shape, &from_hex(body), false));
    by_hand("raw u16", number(N::U16), "00 04 00 0100 0200 0300 ffff");
    by_hand("same u16", number(N::U16), "00 09 01 2a00");
    by_hand("dictionary of i32, 1 bit", number(N::I32), "00 09 02 02 ffffffff 01000000 aa 01");
    by_hand("dictionary of u8, 2 bits", number(N::U8), "00 05 02 03 0a 14 1e 24 01");
    by_hand("sparse u32, none differs", number(N::U32), "00 05 03 07000000 00");
    by_hand("sparse u32, two differ", number(N::U32), "00 05 03 07000000 12 01000000 02000000");
    by_hand("sparse u32, four differ", number(N::U32), "00 05 03 07000000 1e 14 04 01 02 03 04");
    by_hand("decimal f64", number(N::F64), "00 04 04 02 14 00 64 32 c8 fa");
    by_hand("decimal f32 of sparse", number(N::F32), "00 05 04 01 03 0500000000000000 01 ffffffffffffffff");
    by_hand("short f64", number(N::F64), "00 04 07 00 52a9bdc200487642cdcccc3d00000080");
    by_hand("single f64", number(N::F64), "00 04 05 01 0000c03f");
    by_hand("planes u16", number(N::U16), "00 04 06 01020304 000000ff");
    by_hand(
        "planes f64",
        number(N::F64),
        "00 04 06 00000000 00000000 00000000 00000000 00000000 00000000 f0000000 3f404040",
    );
    for (index, packed) in ["", "05", "e4", "1032", "0a141e28", "0100020003000400"].iter().enumerate() {
        by_hand(
            &format!("packed i16, width {index}"),
            number(N::I16),
            &format!("00 04 1{index} c701 {packed}"),
        );
    }
    by_hand("packed u32, 24 bits", number(N::U32), "00 04 16 02 000000 010000 000100 ffffff");
    by_hand("packed i64, 32 bits", number(N::I64), "00 04 17 01 00000000 01000000 00000001 ffffffff");
    by_hand(
        "packed u64, 48 bits",
        number(N::U64),
        "00 04 18 00 000000000000 010000000000 000000000001 ffffffffffff",
    );
    by_hand("delta u32, no bits", number(N::U32), "00 05 20 c8d00f 06");
    by_hand("delta u32, 2 bits", number(N::U32), "00 05 22 c8d00f 02 1b");
    by_hand("delta i8, falling", number(N::I8), "00 05 20 0a 05");
    by_hand("all false", list(Type::Bool), "00 09 00");
    by_hand("all true", list(Type::Bool), "00 09 01");
    by_hand("bits", list(Type::Bool), "00 09 02 55 01");
    by_hand("text, direct", list(Type::Text), "06 04 00 11 02 0c 61 62 6162 c3a4");
    by_hand("text, dictionary of one", list(Type::Text), "02 06 02 01 02 6869");
    by_hand("text, dictionary of three", list(Type::Text), "06 05 02 03 01 02 03 24 02 616262636363");
    by_hand("lengths as a column", list(Type::Bytes), "00 04 14 00 00 01 02 00 ff 0102");
    let range = Type::Range(Range { low: -1.0, high: 1.0, step: 0.5 });
    by_hand("range, plain", list(range.clone()), "00 03 00 02 04");
    by_hand("range, column", list(range), "00 05 13 00 1032 04");
    by_hand("quat, plain", list(Type::Quat(9)), "00 01 fffbf70f");
    by_hand("angle, plain", list(Type::Angle(8)), "00 02 40 80");
}

/// Cases of `invalid.json`: name, shape, body and reason.
pub(crate) fn invalid() -> Vec<Json> {
    use NumberType as N;
    let number = |number| list(Type::Number(number));
    let mut cases = Vec::new();
    let mut body = |name: &str, shape: Shape, body: &str, error: &str| {
        let case = json!({
            "name": name, "type": shape.to_string(), "shape": to_hex(&shape.to_bytes()),
            "body": to_hex(&from_hex(body)), "error": error,
        });
        cases.push(case);
    };
    body("nothing at all", root(Type::Number(N::U32)), "", "truncated");
    body("one byte short", root(Type::Number(N::U32)), "010203", "truncated");
    body("one byte too many", root(Type::Number(N::U32)), "0102030405", "trailing bytes");
    body("text area beyond the end", list(Type::Text), "05 00", "truncated");
    body("text area with bytes that no text uses", list(Type::Text), "02 01 01 6162", "trailing bytes");
    body("text is not UTF-8", root(Type::Text), "ff", "UTF-8");
    body("text is a surrogate", root(Type::Text), "eda080", "UTF-8");
    body("text begins inside of a character", list(Type::Text), "02 02 01 01 c3a4", "character boundary");
    body("a varint without end", root(Type::Uvar), "ffffffffffffffffffff01", "varint");
    body("a varint with a needless zero", root(Type::Uvar), "8000", "varint");
    body("a varint of 65 bits", root(Type::Uvar), "ffffffffffffffffff02", "varint");
    body("a count of 2^32", number(N::U8), "00 8080808010", "count");
    body("a length bomb", number(N::U64), "00 ffffffff0f 01 0000000000000000", "memory limit");
    body("a unit bomb", list(Type::List(Box::new(Type::Unit))), "00 04 01 ffffffff", "memory limit or count");
    body("bits that are not used", list(Type::Bool), "00 03 08", "padding bits");
    body("bits that are not used in a column", list(Type::Bool), "00 04 02 10", "padding bits");
    body("an unknown number coding", number(N::U16), "00 04 07 00000000", "coding");
    body("an unknown bool coding", list(Type::Bool), "00 04 03", "coding");
    body("an unknown text coding", list(Type::Text), "00 04 01", "coding");
    body("a width that does not exist", number(N::U16), "00 04 19 00", "coding");
    body("packed floats", number(N::F32), "00 04 10 00", "coding");
    body("short singles", number(N::F32), "00 04 07 01 00000000", "coding");
    body("short in single", number(N::F64), "00 04 05 07 01 00000000", "coding");
    body("decimal integers", number(N::I32), "00 04 04 00 10 00", "coding");
    body("single in f32", number(N::F32), "00 04 05 01 00000000", "coding");
    body("planes of one byte", number(N::U8), "00 04 06 00000000", "coding");
    body("decimal inside of decimal", number(N::F64), "00 04 04 00 04 00 10 00", "coding");
    body("sparse inside of sparse", number(N::U8), "00 04 03 00 0f 03 01 00", "coding");
    body("decimal beyond 10^22", number(N::F64), "00 04 04 17 10 00", "exponent");
    body("packed beyond u8", number(N::U8), "00 04 14 fe03 00000001", "range");
    body("packed below zero", number(N::U8), "00 04 10 01", "range");
    body("packed beyond 2^52", number(N::U64), "00 04 10 8280808080808010", "range");
    body("delta below zero", number(N::U8), "00 04 20 02 01", "range");
    body("a dictionary of one number", number(N::U8), "00 04 02 01 07", "dictionary size");
    body("a dictionary code out of range", number(N::U8), "00 04 02 03 070809 ff", "dictionary code");
    body("a text dictionary without entries", list(Type::Text), "00 04 02 00", "dictionary size");
    body(
        "a value beyond the end of its range",
        root(Type::Range(Range { low: 0.0, high: 4.0, step: 1.0 })),
        "05",
        "range",
    );
    body("a quat out of range", root(Type::Quat(4)), "3c00", "range");
    body("a quat with padding bits that are set", root(Type::Quat(4)), "0040", "padding bits");
    body(
        "an array that is cut off",
        root(Type::Array(9, Box::new(Type::Number(N::U8)))),
        "00 01",
        "truncated",
    );
    body("any with c1", root(Type::Any), "00 01 c1", "MessagePack");
    body("any with bytes left over", root(Type::Any), "00 02 c0c0", "trailing bytes");
    body("any that is cut off", root(Type::Any), "00 02 92c0", "truncated");
    let action = Shape::of::<Action>();
    body("a variant that does not exist", action.clone(), "00 04", "variant index");
    body("a payload that is cut off", action, "00 03 01", "truncated");
    let mut shape = |name: &str, shape: &str, error: &str| {
        cases.push(json!({ "name": name, "shape": to_hex(&from_hex(shape)), "body": "", "error": error }));
    };
    shape("shape: nothing", "", "truncated");
    shape("shape: an unknown type", "7f 00", "type");
    shape("shape: bytes left over", "00 00 00", "trailing bytes");
    shape("shape: a reference out of range", "1c01 00", "reference");
    shape("shape: a definition without a reference", "00 01 30 00 00", "unused definition");
    shape("shape: definitions out of order", "1c01 02 30 00 00 30 00 00", "order");
    shape("shape: two fields of one name", "1c00 01 30 0141 02 0161 01 00 0161 01 00", "names");
    shape("shape: a struct without a name, but with field names", "1c00 01 30 00 01 0161 02 00", "names");
    shape("shape: a struct without end", "1c00 01 30 0141 01 0161 1c00 00", "contains itself");
    shape("shape: an enum without variants", "1c00 01 31 0141 00", "variants");
    shape("shape: an array of length 0", "1a 00 01 00", "array");
    shape("shape: an angle of 9 bits", "22 09 00", "angle");
    shape("shape: a quat of 3 bits", "21 03 00", "quat");
    shape(
        "shape: a range with its bounds exchanged",
        "20 000000000000f03f 0000000000000000 000000000000f03f 00",
        "range",
    );
    shape("shape: a name that is not UTF-8", "1c00 01 30 01ff 00", "UTF-8");
    shape("shape: too many definitions", "00 8108", "limit");
    shape("shape: options a thousand deep", &format!("{} 00 00", "18".repeat(1000)), "depth");
    cases
}

/// Cases of `messages.json`.
pub(crate) fn messages() -> Vec<Json> {
    let mut sender = Sender::default();
    let mut message = |write: &dyn Fn(&mut Sender, &mut Vec<u8>)| {
        let mut bytes = Vec::new();
        write(&mut sender, &mut bytes);
        bytes
    };
    let small = Small { text: HELLO, num: 123 };
    let messages = [
        message(&|sender, out| sender.encode(&small, out)),
        message(&|sender, out| sender.encode(&small, out)),
        message(&|sender, out| sender.encode(&medium(), out)),
        message(&|sender, out| sender.encode(&big(), out)),
        message(&|sender, out| sender.encode_any(&vec![Value::Nil, "any".into()].into(), out)),
        message(&|sender, out| {
            sender.announce(&Shape::of::<Action>(), out);
        }),
        message(&|sender, out| sender.encode(&Action::Idle, out)),
        message(&|sender, out| sender.announce_all(out)),
        message(&|sender, out| sender.encode(&medium(), out)),
        message(&|sender, out| sender.encode(&big(), out)),
    ];
    let mut receiver = nowcast_wire::Receiver::default();
    let values: Vec<Json> = messages
        .iter()
        .map(|message| receiver.decode_value(message).unwrap().as_ref().map_or(Json::Null, to_json))
        .collect();
    let messages: Vec<String> = messages.iter().map(|message| to_hex(message)).collect();
    vec![json!({ "name": "a conversation", "messages": messages, "values": values })]
}

/// Cases of `saves.json`.
pub(crate) fn saves() -> Vec<Json> {
    use nowcast_wire::save::{Compression, FileWriter, Options};
    let mut cases = Vec::new();
    for (name, compression) in [("not compressed", Compression::None), ("LZ4", Compression::Lz4)] {
        let options = Options { compression, effort: Effort::Small };
        let mut writer = FileWriter::new(Vec::new(), options).unwrap();
        writer.about(&Value::Map(vec![("program".into(), "vectors".into())])).unwrap();
        writer.write(&moves(30)).unwrap();
        writer.write(&[tree(4)]).unwrap();
        writer.write(&moves(2)).unwrap();
        let file = writer.finish().unwrap();
        let mut values = Vec::new();
        let mut reader = nowcast_wire::save::FileReader::new(&file[..], nowcast_wire::Limits::FILE).unwrap();
        while let Some(chunk) = reader.next_chunk().unwrap() {
            values.extend(chunk.decode_values().unwrap().iter().map(to_json));
        }
        cases.push(json!({ "name": name, "file": to_hex(&file), "values": values }));
    }
    cases
}
