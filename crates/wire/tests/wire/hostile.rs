//! Hostile and damaged bytes cause named errors, in bounded time and memory.

use std::panic::catch_unwind;

use crate::common::{cases, from_hex};
use nowcast_wire::{
    ErrorKind, Limits, Party, Receiver, Sender, Shape, Wire, any, decode, decode_value, encode_to_vec, save,
};
use proptest::prelude::*;

#[derive(Wire, Debug, PartialEq, Clone)]
struct World {
    name: String,
    entities: Vec<Entity>,
    notes: std::collections::BTreeMap<String, Option<f32>>,
    any: nowcast_wire::Value,
}

#[derive(Wire, Debug, PartialEq, Clone)]
struct Entity {
    id: u32,
    x: f64,
    alive: bool,
    kind: Kind,
    raw: Vec<u8>,
    parts: Vec<Entity>,
}

#[derive(Wire, Debug, PartialEq, Clone)]
enum Kind {
    Rock,
    Npc { mood: i8, says: Vec<String> },
}

fn world() -> World {
    let entity = |i: u32, parts: Vec<Entity>| Entity {
        id: i * 7,
        x: f64::from(i) / 8.0,
        alive: !i.is_multiple_of(3),
        kind: if i.is_multiple_of(2) {
            Kind::Rock
        } else {
            Kind::Npc { mood: -3, says: vec![format!("hü {i}"), "ho".into()] }
        },
        raw: vec![i as u8; i as usize % 5],
        parts,
    };
    World {
        name: "Wörld".into(),
        entities: (0..9).map(|i| entity(i, (0..i % 4).map(|j| entity(j, vec![])).collect())).collect(),
        notes: (0..5).map(|i| (format!("note {i}"), (i % 2 == 0).then_some(i as f32 * 0.3))).collect(),
        any: vec![nowcast_wire::Value::Nil, 1.into()].into(),
    }
}

#[test]
fn a_message_cut_at_any_byte_is_refused() {
    let mut message = Vec::new();
    Sender::default().encode(&world(), &mut message);
    let body = encode_to_vec(&world());
    for length in 0..message.len() {
        assert!(Receiver::default().decode::<World>(&message[..length]).is_err(), "{length} bytes");
    }
    for length in 0..body.len() {
        assert!(decode::<World>(&body[..length]).is_err(), "{length} bytes");
        assert!(decode_value(&Shape::of::<World>(), &body[..length]).is_err(), "{length} bytes");
    }
}

#[test]
fn after_a_bit_flip_both_readers_return_the_same_and_never_panic() {
    let body = encode_to_vec(&world());
    let shape = Shape::of::<World>();
    for bit in 0..body.len() * 8 {
        let mut damaged = body.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        let (typed, dynamic) = (decode::<World>(&damaged), decode_value(&shape, &damaged));
        assert_eq!(typed.is_ok(), dynamic.is_ok(), "bit {bit}: {typed:?} {dynamic:?}");
    }
}

#[test]
fn a_save_file_with_a_flipped_bit_or_cut_short_is_refused() {
    let file = save::to_vec(&world(), save::Options::default()).unwrap();
    for bit in 0..file.len() * 8 {
        let mut damaged = file.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        assert!(save::from_slice::<World>(&damaged).is_err(), "bit {bit}");
    }
    for length in 0..file.len() {
        assert!(save::from_slice::<World>(&file[..length]).is_err(), "{length} bytes");
    }
}

#[test]
fn a_length_bomb_is_refused_before_memory_is_taken() {
    // The body announces 2^32-1 equal numbers in ten bytes.
    let bomb = from_hex("00 ffffffff0f 01 0000000000000000");
    let error = decode::<Vec<u64>>(&bomb).unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::Memory { max: Limits::MESSAGE.memory_bytes_max });
    assert_eq!(error.party(), Party::Limit);
    // A list of units takes no bytes for its items.
    assert!(decode::<Vec<()>>(&from_hex("00 ffffffff0f")).is_err());
    // The body announces lists of lists of lists. Each level is a thousand times as long as the previous one.
    let shape = Shape::of::<Vec<Vec<Vec<Vec<()>>>>>();
    let body = from_hex("00 e807 01 e8030000 01 e8030000 01 e8030000");
    let error = decode_value(&shape, &body).unwrap_err();
    assert_eq!(error.party(), Party::Limit);
}

#[test]
fn a_long_text_repeated_by_a_dictionary_is_charged_in_full() {
    // A million codes refer to one text of a thousand bytes. Copies of this text would take a gigabyte.
    let mut body = from_hex("e807 c0843d 02 01 e807");
    body.extend([b'x'; 1000]);
    let error = decode::<Vec<String>>(&body).unwrap_err();
    assert_eq!(error.party(), Party::Limit);
}

#[test]
fn nesting_a_hundred_thousand_deep_is_refused() {
    let deep = [vec![0x91; 100_000], vec![0xc0]].concat();
    assert_eq!(any::from_slice(&deep).unwrap_err().kind(), &ErrorKind::Depth { max: 128 });
    let maps = [0x81, 0x01].repeat(100_000);
    assert_eq!(any::from_slice(&maps).unwrap_err().kind(), &ErrorKind::Depth { max: 128 });
    // A list that contains itself. Every level costs only one byte.
    #[derive(Wire, Debug)]
    #[allow(dead_code)]
    struct Nest(Vec<Nest>);
    let body = [vec![0], vec![1; 100_000], vec![0]].concat();
    assert_eq!(decode::<Nest>(&body).unwrap_err().kind(), &ErrorKind::Depth { max: 128 });
    assert_eq!(decode_value(&Shape::of::<Nest>(), &body).unwrap_err().kind(), &ErrorKind::Depth { max: 128 });
    // Nested types.
    let shape = [vec![0x18; 60_000], vec![0, 0]].concat();
    assert!(matches!(Shape::from_bytes(&shape).unwrap_err().kind(), ErrorKind::Depth { .. }));
}

#[test]
fn a_small_shape_with_exponentially_many_leaves_is_refused() {
    // Each definition contains the next one twice, thirty levels deep.
    let mut shape = from_hex("1c00 1f");
    for index in 0..30u8 {
        shape.extend([
            0x30,
            1,
            b'a' + index % 26,
            2,
            1,
            b'l',
            0x1c,
            index + 1,
            0,
            1,
            b'r',
            0x1c,
            index + 1,
            0,
        ]);
    }
    shape.extend([0x30, 1, b'z', 1, 1, b'v', 0x02, 0]);
    let error = Shape::from_bytes(&shape).unwrap_err();
    assert_eq!(error.party(), Party::Limit, "{error}");
}

#[test]
fn a_flood_of_shapes_ends_at_the_limit() {
    let mut receiver = Receiver::default();
    let mut refused = 0;
    for id in 2..3000u64 {
        let mut message = vec![0];
        let mut varint = id;
        while varint >= 0x80 {
            message.push(varint as u8 | 0x80);
            varint >>= 7;
        }
        message.push(varint as u8);
        let shape = Shape::from_bytes(&from_hex("02 00")).unwrap().to_bytes();
        message.push(shape.len() as u8);
        message.extend(&shape);
        refused += usize::from(receiver.accept(&message).is_err());
    }
    assert_eq!(refused, 2998 - Limits::MESSAGE.shapes_max);
}

#[test]
fn an_id_cannot_be_announced_twice_differently() {
    let mut receiver = Receiver::default();
    receiver.accept(&from_hex("00 02 02 02 00")).unwrap();
    receiver.accept(&from_hex("00 02 02 02 00")).unwrap();
    let error = receiver.accept(&from_hex("00 02 02 03 00")).unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::ShapeConflict(2));
    assert_eq!(receiver.decode_value(&[7]).unwrap_err().kind(), &ErrorKind::UnknownShape(7));
}

#[test]
fn a_chunk_that_promises_more_than_lz4_can_hold_is_refused() {
    let mut file = save::to_vec(&vec![0u8; 4000], save::Options::default()).unwrap();
    // The chunk's record claims a raw length of 100 MB and has a correct checksum.
    let position = 12 + file[12..].iter().position(|byte| *byte == b'C').unwrap();
    file.truncate(position);
    let mut record = vec![b'C', 12, 0, 1, 1, 0x80, 0xe1, 0xeb, 0x17, 0x1f, 0, 1, 0, 0xff];
    let sum = crc32fast::hash(&record);
    record.extend(sum.to_le_bytes());
    file.extend(record);
    let error = save::from_slice::<Vec<u8>>(&file).unwrap_err();
    assert!(error.to_string().contains("LZ4"), "{error}");
}

#[test]
fn names_of_javascript_are_only_names() {
    let value = any::from_slice(&from_hex("81 a95f5f70726f746f5f5f 01")).unwrap();
    assert_eq!(value.get("__proto__"), Some(&1.into()));
}

/// Returns the bodies of the vectors, as starting points for mutations.
fn corpus() -> Vec<(Shape, Vec<u8>)> {
    let case = |case: &serde_json::Value| {
        let hex = |key: &str| from_hex(case[key].as_str().unwrap());
        (Shape::from_bytes(&hex("shape")).unwrap(), hex("body"))
    };
    cases("values.json").iter().map(case).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn mutated_vectors_never_panic(
        index in any::<prop::sample::Index>(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..4u8), 1..6),
    ) {
        let corpus = corpus();
        let (shape, mut body) = corpus[index.index(corpus.len())].clone();
        for (place, byte, edit) in edits {
            if body.is_empty() {
                body.push(byte);
            }
            let place = place.index(body.len());
            match edit {
                0 => body[place] = byte,
                1 => body.insert(place, byte),
                2 => drop(body.remove(place)),
                _ => body.truncate(place),
            }
        }
        if let Ok(value) = decode_value(&shape, &body) {
            // Every value that was read can be written and read again.
            let mut again = Vec::new();
            nowcast_wire::encode_value(&shape, &value, nowcast_wire::Effort::Small, &mut again).unwrap();
            let back = decode_value(&shape, &again).unwrap();
            // A damaged quaternion may leave out a component that is not the largest. A writer always leaves out the largest
            // one.
            let has_quat = format!("{shape:?}").contains("Quat");
            prop_assert!(has_quat || back == value);
        }
    }

    #[test]
    fn mutated_shapes_never_panic(index in any::<prop::sample::Index>(), place in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let corpus = corpus();
        let (shape, body) = &corpus[index.index(corpus.len())];
        let mut bytes = shape.to_bytes();
        let place = place.index(bytes.len());
        bytes[place] = byte;
        if let Ok(shape) = Shape::from_bytes(&bytes) {
            prop_assert_eq!(shape.to_bytes(), bytes);
            let _ = decode_value(&shape, body);
        }
    }

    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = any::from_slice(&bytes);
        let _ = any::from_slice_with_records(&bytes, &Limits::FILE);
        let _ = Shape::from_bytes(&bytes);
        let _ = decode::<World>(&bytes);
        let _ = Receiver::default().decode_value(&bytes);
        let _ = save::from_slice::<World>(&bytes);
    }
}

#[test]
fn writing_an_endless_value_panics() {
    #[derive(Wire)]
    struct Nest(Vec<Nest>);
    let deep = (0..200).fold(Nest(vec![]), |inner, _| Nest(vec![inner]));
    assert!(catch_unwind(|| encode_to_vec(&deep)).is_err());
}
