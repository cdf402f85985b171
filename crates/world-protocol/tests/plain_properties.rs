//! Properties of every message and every byte string. A failure prints the seed and the smallest case.

use std::f64::consts::TAU;

use nowcast_wire::Value;
use nowcast_world_protocol::plain::{ClientMessage, Encoding, Frame, FrameRef, Input, Moved, ServerMessage};
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
            .prop_map(|(action, arguments)| ClientMessage::Act { action, arguments, number: None }),
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
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::List),
            prop::collection::btree_map(".{0,4}", inner, 0..4).prop_map(|map| {
                Value::Map(map.into_iter().map(|(key, value)| (Value::Text(key), value)).collect())
            }),
        ]
    })
}

proptest! {
    #[test]
    fn a_move_survives_each_encoding(
        tick in any::<u64>(), entities in prop::collection::vec(moved(), 0..50), encoding in encodings(),
    ) {
        let message = ServerMessage::Move { tick, entities };
        let frame = message.encode(encoding);
        prop_assert_eq!(ServerMessage::decode(encoding, frame.as_ref()), Ok(message));
    }

    #[test]
    fn a_client_message_survives_each_encoding(message in client_messages(), encoding in encodings()) {
        prop_assert_eq!(message.check(), Ok(()));
        let frame = message.encode(encoding);
        prop_assert_eq!(ClientMessage::decode(encoding, frame.as_ref()), Ok(message));
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
