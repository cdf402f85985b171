//! Properties of every message and every byte string. A failure prints the seed and the smallest case.

use std::f64::consts::TAU;

use nowcast_wire::Value;
use nowcast_world_protocol::plain::{
    Any, ClientMessage, Encoding, Frame, FrameRef, Input, Moved, ServerMessage, angle_from_bits,
    angle_to_bits,
};
use proptest::prelude::*;

fn encodings() -> impl Strategy<Value = Encoding> {
    prop::sample::select(Encoding::ALL.to_vec())
}

fn moved() -> impl Strategy<Value = Moved> {
    let number = -1e4..1e4;
    (any::<u32>(), [number.clone(), number.clone(), number], [-TAU..TAU, -TAU..TAU, -TAU..TAU]).prop_map(
        |(id, [position_x, position_y, position_z], [euler_x, euler_y, euler_z])| Moved {
            id,
            position_x,
            position_y,
            position_z,
            euler_x,
            euler_y,
            euler_z,
        },
    )
}

fn client_messages() -> impl Strategy<Value = ClientMessage> {
    let unit = -1.0..=1.0;
    prop_oneof![
        (unit.clone(), unit, -1e6..1e6, any::<bool>(), any::<bool>()).prop_map(
            |(forward, right, yaw, run, jump)| {
                ClientMessage::Input(Input { forward, right, yaw, run, jump })
            }
        ),
        (
            ".{0,16}",
            prop_oneof![Just(Value::Nil), values().prop_map(|value| Value::Map(vec![("a".into(), value)]))]
        )
            .prop_map(|(action, arguments)| ClientMessage::Act {
                action,
                arguments: Any(arguments),
                number: None
            }),
        ".*".prop_map(|text| ClientMessage::Chat { text }),
        ".*".prop_map(|name| ClientMessage::Name { name }),
        (5..=60u32).prop_map(|hz| ClientMessage::Rate { hz }),
        prop::num::f64::NORMAL.prop_map(|time| ClientMessage::Ping { time }),
    ]
}

/// Values that both JSON and MessagePack can represent.
fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Nil),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        prop::num::f64::NORMAL.prop_map(Value::F64),
        ".{0,8}".prop_map(Value::Text),
    ];
    leaf.prop_recursive(4, 16, 4, |inner| {
        let pair = (".{0,4}".prop_map(Value::Text), inner.clone());
        prop_oneof![
            prop::collection::vec(inner, 0..4).prop_map(Value::List),
            prop::collection::vec(pair, 0..4).prop_map(Value::Map),
        ]
    })
}

/// The smallest difference of two angles.
fn apart(a: f64, b: f64) -> f64 {
    let difference = (a - b).rem_euclid(TAU);
    difference.min(TAU - difference)
}

proptest! {
    #[test]
    fn a_move_survives_each_encoding_to_its_precision(
        tick in any::<u32>(), entities in prop::collection::vec(moved(), 0..50), encoding in encodings(),
    ) {
        let message = ServerMessage::Move { tick: tick.into(), entities: entities.clone() };
        let frame = message.encode(encoding);
        let ServerMessage::Move { tick: decoded_tick, entities: decoded } =
            ServerMessage::decode(encoding, frame.as_ref()).unwrap() else { panic!("another message") };
        prop_assert_eq!(decoded_tick, u64::from(tick));
        prop_assert_eq!(decoded.len(), entities.len());
        let (metres, radians) = match encoding {
            Encoding::Json | Encoding::MsgPack => (0.0, 0.0),
            Encoding::Custom => (0.0, TAU / 512.0 + 1e-12),
            Encoding::Custom16 => (1e4 * f64::from(f32::EPSILON), TAU / 131_072.0 + 1e-12),
        };
        for (a, b) in entities.iter().zip(&decoded) {
            prop_assert_eq!(a.id, b.id);
            for (a, b) in [(a.position_x, b.position_x), (a.position_y, b.position_y), (a.position_z, b.position_z)] {
                prop_assert!((a - b).abs() <= metres, "{} {}", a, b);
            }
            for (a, b) in [(a.euler_x, b.euler_x), (a.euler_y, b.euler_y), (a.euler_z, b.euler_z)] {
                prop_assert!(apart(a, b) <= radians, "{} {}", a, b);
            }
        }
    }

    #[test]
    fn packing_unpacked_values_changes_nothing(
        bytes in prop::collection::vec(any::<u8>(), 0..40), narrow in any::<bool>(),
    ) {
        let encoding = if narrow { Encoding::Custom16 } else { Encoding::Custom };
        let record = if narrow { 22 } else { 31 };
        let mut frame = vec![1, 0, 9, 0, 0, 0];
        frame.extend(bytes.iter().cycle().take(if bytes.is_empty() { 0 } else { record * 3 }));
        let message = ServerMessage::decode(encoding, FrameRef::Binary(&frame)).unwrap();
        let Frame::Binary(again) = message.encode(encoding) else { panic!("a move is binary") };
        // A NaN stays a NaN, but its bits may change.
        let ServerMessage::Move { entities, .. } = &message else { panic!("another message") };
        let finite = entities.iter().all(|e| [e.position_x, e.position_y, e.position_z].iter().all(|p| !p.is_nan()));
        if finite {
            prop_assert_eq!(again, frame);
        }
    }

    #[test]
    fn a_client_message_survives_each_encoding(message in client_messages(), encoding in encodings()) {
        prop_assert_eq!(message.check(), Ok(()));
        let frame = message.encode(encoding);
        let decoded = ClientMessage::decode(encoding, frame.as_ref()).unwrap();
        match (&message, &decoded, encoding) {
            (ClientMessage::Input(a), ClientMessage::Input(b), Encoding::Custom | Encoding::Custom16) => {
                prop_assert!((a.forward - b.forward).abs() <= 0.5 / 127.0 + 1e-12);
                prop_assert!((a.right - b.right).abs() <= 0.5 / 127.0 + 1e-12);
                prop_assert!(apart(a.yaw, b.yaw) <= TAU / 131_072.0 + 1e-9);
                prop_assert_eq!((a.run, a.jump), (b.run, b.jump));
                prop_assert_eq!(decoded.check(), Ok(()));
            }
            _ => prop_assert_eq!(message, decoded),
        }
    }

    #[test]
    fn packed_angles_keep_their_bits(bits in 1..=16u32, packed in any::<u32>()) {
        let packed = packed % (1 << bits);
        prop_assert_eq!(angle_to_bits(angle_from_bits(packed, bits), bits), packed);
        prop_assert_eq!(angle_to_bits(angle_from_bits(packed, bits) - TAU, bits), packed);
    }

    #[test]
    fn no_bytes_make_a_decoder_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), encoding in encodings()) {
        let _ = ClientMessage::decode(encoding, FrameRef::Binary(&bytes)).map(|message| message.check());
        let _ = ServerMessage::decode(encoding, FrameRef::Binary(&bytes));
        let text = String::from_utf8_lossy(&bytes);
        let _ = ClientMessage::decode(encoding, FrameRef::Text(&text)).map(|message| message.check());
        let _ = ServerMessage::decode(encoding, FrameRef::Text(&text));
    }

    #[test]
    fn no_damaged_message_makes_a_decoder_panic(
        message in client_messages(), encoding in encodings(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in any::<prop::sample::Index>(),
    ) {
        let (mut bytes, is_text) = match message.encode(encoding) {
            Frame::Text(text) => (text.into_bytes(), true),
            Frame::Binary(bytes) => (bytes, false),
        };
        for (at, value) in damage {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        bytes.truncate(cut.index(bytes.len()) + 1);
        let text = String::from_utf8_lossy(&bytes);
        let frame = if is_text { FrameRef::Text(&text) } else { FrameRef::Binary(&bytes) };
        let _ = ClientMessage::decode(encoding, frame).map(|message| message.check());
    }
}
