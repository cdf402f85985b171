//! Compares the codec with `spec/vectors/plain`, which every implementation of the plain protocol checks.
//!
//! `NOWCAST_WRITE_VECTORS=1 cargo test -p nowcast-world-protocol --test plain_vectors` writes the files again.

use std::path::PathBuf;

use nowcast_wire::Value;
use nowcast_world_protocol::plain::{
    Action, ClientMessage, Declared, DecodeError, Encoding, Entity, Frame, FrameRef, Input, Kind, Moved,
    PROTOCOL, ServerMessage,
};
use nowcast_world_protocol::session::Outcome;
use serde::Serialize;
use serde_json::Value as JsonValue;

#[test]
fn server_messages_match_their_vectors() {
    let vectors: Vec<Vector> = server_messages()
        .into_iter()
        .map(|(name, message)| vector(name, &message, ServerMessage::encode, ServerMessage::decode))
        .collect();
    hold_against(
        "server-messages.json",
        "Messages of a server. A client decodes each encoding to `message`.",
        vectors,
    );
}

#[test]
fn client_messages_match_their_vectors() {
    let vectors: Vec<Vector> = client_messages()
        .into_iter()
        .map(|(name, message)| vector(name, &message, ClientMessage::encode, ClientMessage::decode))
        .collect();
    hold_against(
        "client-messages.json",
        "Messages of a client. A server decodes each encoding to `message`. An encoder may choose other MessagePack \
         number types; the keys of objects are exact.",
        vectors,
    );
}

/// `spec/PLAIN.md`, section 2: values of unknown keys may be nested 16 deep; we refuse more than 30 levels in MessagePack.
#[test]
fn an_unknown_key_is_ignored_with_values_nested_up_to_the_stated_depth() {
    let ping = ClientMessage::Ping { time: 1.0 };
    for depth in [1, 16, 30, 1_000] {
        let text =
            format!(r#"{{"type":"ping","time":1,"later":{}{}}}"#, "[".repeat(depth), "]".repeat(depth));
        assert_eq!(ClientMessage::decode(Encoding::Json, FrameRef::Text(&text)), Ok(ping.clone()), "{depth}");
    }
    for depth in 1..=31 {
        let mut bytes = b"\x83\xa4type\xa4ping\xa4time\x01\xa5later".to_vec();
        bytes.extend(std::iter::repeat_n(0x91, depth - 1).chain([0x90]));
        let read = ClientMessage::decode(Encoding::MsgPack, FrameRef::Binary(&bytes));
        assert_eq!(read.is_ok(), depth <= 30, "{depth} levels: {read:?}");
    }
}

#[test]
fn refused_messages_match_their_vectors() {
    let vectors: Vec<Vector> = refused_messages()
        .into_iter()
        .map(|(name, encoding, frame)| {
            let (code, reason) = match ClientMessage::decode(encoding, frame.as_ref()) {
                Err(error) => (4000, error.to_string()),
                Ok(message) => (4001, message.check().expect_err(name).to_string()),
            };
            vec![
                ("name", json(name)),
                ("encoding", json(encoding.name())),
                ("frame", frame_json(&frame)),
                ("code", json(&code)),
                ("why", json(&reason)),
            ]
        })
        .collect();
    hold_against(
        "refused-messages.json",
        "Frames of a client that a server answers by closing with `code`. `why` is this implementation's wording.",
        vectors,
    );
}

fn server_messages() -> Vec<(&'static str, ServerMessage)> {
    let moved = |id, position: [f64; 3], euler: [f64; 3]| Moved {
        id,
        position_x: position[0],
        position_y: position[1],
        position_z: position[2],
        euler_x: euler[0],
        euler_y: euler[1],
        euler_z: euler[2],
    };
    vec![
        (
            "welcome",
            ServerMessage::Welcome {
                protocol: PROTOCOL,
                player: 12,
                room: "park-2".into(),
                world: "park".into(),
                step_hz: 60,
                network_hz: 10,
                tick: 8123,
                resumed: false,
            },
        ),
        (
            "welcome back",
            ServerMessage::Welcome {
                protocol: PROTOCOL,
                player: 12,
                room: "park-2".into(),
                world: "park".into(),
                step_hz: 60,
                network_hz: 10,
                tick: 9001,
                resumed: true,
            },
        ),
        ("define", definition()),
        (
            "define of nothing",
            ServerMessage::Define {
                version: 1,
                kinds: vec![],
                actions: vec![],
                events: vec![],
                assets: vec![],
            },
        ),
        (
            "spawn",
            ServerMessage::Spawn {
                entities: vec![
                    Entity {
                        id: 1,
                        kind: "ground".into(),
                        scale: Some([60.0, 1.0, 60.0]),
                        parent: None,
                        p: [0.0, -0.5, 0.0],
                        r: [0.0; 3],
                        attributes: map(&[("color", "#7d8a6c".into())]),
                        owner: None,
                    },
                    Entity {
                        id: 7,
                        kind: "lamp".into(),
                        scale: None,
                        parent: Some(301),
                        p: [1.0, 0.25, -3.0],
                        r: [0.0, 3.1, 0.0],
                        attributes: map(&[
                            ("lit", true.into()),
                            ("warmth", 0.75.into()),
                            ("owner", Value::Nil),
                        ]),
                        owner: Some(12),
                    },
                    Entity {
                        id: 301,
                        kind: "person".into(),
                        scale: None,
                        parent: None,
                        p: [0.0, 0.9, 6.0],
                        r: [0.0; 3],
                        attributes: map(&[]),
                        owner: None,
                    },
                ],
            },
        ),
        (
            "attributes",
            ServerMessage::Attributes {
                id: 7,
                set: map(&[("lit", false.into()), ("warmth", 0.5.into()), ("owner", 12.into())]),
            },
        ),
        ("despawn", ServerMessage::Despawn { ids: vec![301, 4_294_967_295] }),
        ("move of nothing", ServerMessage::Move { tick: 8129, entities: vec![] }),
        (
            "move of two",
            ServerMessage::Move {
                tick: 8135,
                entities: vec![
                    moved(7, [1.0, 0.25, -3.0], [0.0; 3]),
                    moved(300, [-12.3456, 0.9, 1234.5678], [-3.0, 1.25, 0.0001]),
                ],
            },
        ),
        (
            "chat with markup",
            ServerMessage::Chat {
                from: 12,
                name: "Ada".into(),
                text: "<b>héllo</b> \"w\\rld\" 日本 🚀".into(),
            },
        ),
        ("player", ServerMessage::Player { id: 12, name: "Ada".into(), avatar: Some(301), program: false }),
        (
            "program without an avatar",
            ServerMessage::Player { id: 13, name: "guest-13".into(), avatar: None, program: true },
        ),
        ("left", ServerMessage::Left { id: 13 }),
        ("screen", ServerMessage::Screen { place: "score".into(), personal: false, value: Value::Int(3) }),
        (
            "screen of one player, cleared",
            ServerMessage::Screen { place: "prompt".into(), personal: true, value: Value::Nil },
        ),
        (
            "event",
            ServerMessage::Event {
                name: "goal".into(),
                payload: map(&[
                    ("team", "red".into()),
                    ("at", Value::List(vec![1.5.into(), 0.0.into(), (-3.25).into()])),
                    ("ball", 7.into()),
                    ("replay", Value::List(vec![Value::Nil, true.into(), (-1).into()])),
                ]),
            },
        ),
        ("event without a payload", ServerMessage::Event { name: "tick_tock".into(), payload: Value::Nil }),
        (
            "refused",
            ServerMessage::Refused {
                action: "fly".into(),
                reason: "this world knows no action \"fly\"".into(),
                number: None,
            },
        ),
        (
            "refused by its number",
            ServerMessage::Refused { action: "buy".into(), reason: "too late".into(), number: Some(8) },
        ),
        ("done", ServerMessage::Done { number: 7 }),
        ("granted", ServerMessage::Granted { entity: 7, number: 1 }),
        (
            "denied",
            ServerMessage::Denied {
                request: "own".into(),
                entity: 7,
                number: 1,
                reason: "player 4 owns it".into(),
            },
        ),
        ("report", ServerMessage::Report { outcome: Outcome::Runs, version: 2, text: String::new() }),
        (
            "report of a rollback",
            ServerMessage::Report {
                outcome: Outcome::RolledBack,
                version: 3,
                text: "world.luau:12: attempt to index nil with 'position'; version 2 runs again".into(),
            },
        ),
        ("pong", ServerMessage::Pong { time: 12345.6 }),
        ("rate", ServerMessage::Rate { hz: 20 }),
        ("notice", ServerMessage::Notice { text: "The server is restarting.".into() }),
        ("missed", ServerMessage::Missed { lines: 12 }),
        (
            "unsaid",
            ServerMessage::Unsaid {
                text: "hello".into(),
                reason: "over the rate (chat: at most 2 lines a second, 5 at once): it had no effect".into(),
            },
        ),
    ]
}

fn definition() -> ServerMessage {
    let fields =
        |fields: &[(&str, &str)]| fields.iter().map(|(name, ty)| ((*name).into(), (*ty).into())).collect();
    ServerMessage::Define {
        version: 2,
        kinds: vec![
            Kind {
                name: "ground".into(),
                body: map(&[
                    ("shape", "box".into()),
                    ("size", Value::List(vec![1.into(), 1.into(), 1.into()])),
                    ("motion", "fixed".into()),
                ]),
                walker: Value::default(),
                look: Value::default(),
                attributes: fields(&[("color", "text")]),
                owner: Value::default(),
            },
            Kind {
                name: "person".into(),
                body: Value::default(),
                walker: map(&[("height", 1.75.into()), ("walk_speed", 3.25.into())]),
                look: map(&[("model", "assets/person.glb".into())]),
                attributes: fields(&[]),
                owner: Value::default(),
            },
            Kind {
                name: "lamp".into(),
                body: Value::default(),
                walker: Value::default(),
                look: map(&[("shape", "sphere".into()), ("radius", 0.25.into()), ("glow", true.into())]),
                attributes: fields(&[("lit", "bool"), ("warmth", "range(0, 1, 0.25)"), ("owner", "u32?")]),
                owner: map(&[("by", "program".into()), ("speed", 5.into())]),
            },
        ],
        actions: vec![
            Action { name: "wave".into(), arguments: fields(&[]), hint: Value::default(), durable: false },
            Action {
                name: "buy".into(),
                arguments: fields(&[("what", "text")]),
                hint: Value::default(),
                durable: true,
            },
            Action {
                name: "kick".into(),
                arguments: fields(&[("power", "range(0, 1, 0.01)"), ("ball", "u32?")]),
                hint: map(&[("key", "left".into()), ("label", "Kick".into()), ("charge", "power".into())]),
                durable: false,
            },
        ],
        events: vec![Declared { name: "goal".into(), payload: fields(&[("team", "text")]) }],
        assets: Vec::new(),
    }
}

fn map(pairs: &[(&str, Value)]) -> Value {
    Value::Map(pairs.iter().map(|(name, value)| (Value::from(*name), value.clone())).collect())
}

fn client_messages() -> Vec<(&'static str, ClientMessage)> {
    vec![
        ("input at rest", ClientMessage::Input(Input::default())),
        (
            "input of everything",
            ClientMessage::Input(Input { forward: 1.0, right: -0.5, yaw: 1.57, run: true, jump: true }),
        ),
        (
            "input facing backward",
            ClientMessage::Input(Input { forward: -1.0, right: 0.25, yaw: -3.0, run: false, jump: true }),
        ),
        ("act", ClientMessage::Act { action: "wave".into(), arguments: Value::Nil, number: None }),
        (
            "act with arguments",
            ClientMessage::Act {
                action: "kick".into(),
                arguments: map(&[
                    ("power", 0.5.into()),
                    ("ball", 7.into()),
                    ("at", Value::List(vec![1.0.into(), 0.5.into(), (-2.25).into()])),
                    ("hard", true.into()),
                    ("word", "left foot".into()),
                ]),
                number: None,
            },
        ),
        (
            "act with a number",
            ClientMessage::Act {
                action: "buy".into(),
                arguments: map(&[("what", "a hat".into())]),
                number: Some(7),
            },
        ),
        ("chat", ClientMessage::Chat { text: "hello, 世界".into() }),
        ("name", ClientMessage::Name { name: "Ada L.".into() }),
        ("rate", ClientMessage::Rate { hz: 20 }),
        ("ping", ClientMessage::Ping { time: 12345.6 }),
        ("own", ClientMessage::Own { entity: 7, number: 1 }),
        ("release", ClientMessage::Release { entity: 7, to: None }),
        ("release to another", ClientMessage::Release { entity: 7, to: Some(4) }),
        (
            "move",
            ClientMessage::Move {
                entity: 7,
                position: [1.0, 1.5, -3.0],
                rotation: [0.0, 0.6, 0.0, 0.8],
                velocity: None,
                spin: None,
            },
        ),
        (
            "move with a velocity",
            ClientMessage::Move {
                entity: 7,
                position: [1.0, 1.5, -3.0],
                rotation: [0.0, 0.0, 0.0, 1.0],
                velocity: Some([0.5, 0.0, -0.25]),
                spin: Some([0.0, 1.0, 0.0]),
            },
        ),
        ("set", ClientMessage::Set { entity: 7, attributes: map(&[("grip", 0.5.into())]) }),
        (
            "spawn",
            ClientMessage::Spawn {
                number: 2,
                kind: "hand".into(),
                position: [0.0, 1.0, 0.0],
                rotation: [0.0, 0.0, 0.0, 1.0],
                attributes: map(&[("grip", 1.into())]),
            },
        ),
        ("despawn", ClientMessage::Despawn { entity: 9 }),
    ]
}

fn refused_messages() -> Vec<(&'static str, Encoding, Frame)> {
    use Encoding::{Json, MsgPack};
    let text = |text: &str| Frame::Text(text.into());
    let binary = |hex: &str| Frame::Binary(unhex(hex));
    vec![
        ("empty text", Json, text("")),
        ("not JSON", Json, text("hello")),
        ("JSON cut short", Json, text(r#"{"type":"chat","text":"hel"#)),
        ("an array", Json, text(r#"["chat","hello"]"#)),
        ("no type", Json, text(r#"{"text":"hello"}"#)),
        ("a type of no message", Json, text(r#"{"type":"teleport"}"#)),
        ("a type of the other direction", Json, text(r#"{"type":"welcome"}"#)),
        ("a missing field", Json, text(r#"{"type":"input","forward":1,"right":0,"run":false,"jump":false}"#)),
        ("a field of the wrong type", Json, text(r#"{"type":"chat","text":7}"#)),
        ("a field twice", Json, text(r#"{"type":"chat","text":"a","text":"b"}"#)),
        ("a number beyond f64", Json, text(r#"{"type":"ping","time":1e999}"#)),
        (
            "a place beyond all worlds",
            Json,
            text(r#"{"type":"move","entity":7,"position":[1e9,0,0],"rotation":[0,0,0,1]}"#),
        ),
        (
            "a rotation of no length",
            Json,
            text(r#"{"type":"move","entity":7,"position":[1,0,0],"rotation":[0,0,0,0]}"#),
        ),
        (
            "a velocity of no world",
            Json,
            text(
                r#"{"type":"move","entity":7,"position":[1,0,0],"rotation":[0,0,0,1],"velocity":[0,1e4,0]}"#,
            ),
        ),
        ("a move of nothing", Json, text(r#"{"type":"move","position":[1,0,0],"rotation":[0,0,0,1]}"#)),
        ("an action without a name", Json, text(r#"{"type":"act","arguments":{}}"#)),
        ("an action whose name is not a text", Json, text(r#"{"type":"act","action":7}"#)),
        (
            "an action with a very long name",
            Json,
            text(&format!(r#"{{"type":"act","action":"{}"}}"#, "x".repeat(65))),
        ),
        ("arguments in too many others", Json, {
            let (open, close) = ("[".repeat(18), "]".repeat(18));
            text(&format!(r#"{{"type":"act","action":"a","arguments":{{"a":{open}{close}}}}}"#))
        }),
        ("an action of version 1", Json, text(r#"{"type":"grab"}"#)),
        (
            "walking too fast",
            Json,
            text(r#"{"type":"input","forward":1.01,"right":0,"yaw":0,"run":false,"jump":false}"#),
        ),
        ("a rate too high", Json, text(r#"{"type":"rate","hz":61}"#)),
        ("a rate too low", Json, text(r#"{"type":"rate","hz":4}"#)),
        ("a binary frame with json", Json, binary("0200000000000000")),
        ("a text frame with msgpack", MsgPack, text(r#"{"type":"ping","time":1}"#)),
        ("no bytes", MsgPack, binary("")),
        ("MessagePack cut short", MsgPack, binary("82a474797065a463686174a474657874a568656c")),
        ("a MessagePack array", MsgPack, binary("92a463686174a568656c6c6f")),
        ("bytes after the map", MsgPack, binary("82a474797065a470696e67a474696d6501c0")),
        ("a map that promises four billion keys", MsgPack, binary("dfffffffffa474797065a470696e67")),
        ("nested a hundred deep", MsgPack, {
            let mut bytes = unhex("83a474797065a470696e67a474696d6501a178");
            bytes.extend([0x91; 100]);
            bytes.push(0xc0);
            Frame::Binary(bytes)
        }),
        ("NaN", MsgPack, binary("82a474797065a470696e67a474696d65cb7ff8000000000000")),
        ("infinity", MsgPack, binary("82a474797065a470696e67a474696d65cb7ff0000000000000")),
        ("a rate too high in MessagePack", MsgPack, binary("82a474797065a472617465a2687a3d")),
        (
            "arguments in too many others, in MessagePack",
            MsgPack,
            binary(&format!(
                "83a474797065a3616374a6616374696f6ea161a9617267756d656e7473{}c0",
                "91".repeat(18)
            )),
        ),
    ]
}

/// The keys of one vector in order, each with its value as JSON text.
type Vector = Vec<(&'static str, String)>;

/// Every encoding of one message, after a check that each of them decodes to the message.
fn vector<M>(
    name: &str,
    message: &M,
    encode: fn(&M, Encoding) -> Frame,
    decode: fn(Encoding, FrameRef<'_>) -> Result<M, DecodeError>,
) -> Vector
where
    M: Serialize + PartialEq + std::fmt::Debug,
{
    let mut vector = vec![("name", json(name)), ("message", json(message))];
    for encoding in Encoding::ALL {
        let frame = encode(message, encoding);
        assert_eq!(
            decode(encoding, frame.as_ref()).as_ref(),
            Ok(message),
            "{name} in {encoding} is not exact"
        );
        vector.push((encoding.name(), frame_json(&frame)));
    }
    vector
}

fn frame_json(frame: &Frame) -> String {
    match frame {
        Frame::Text(text) => format!("{{\"text\":{}}}", json(text)),
        Frame::Binary(bytes) => format!("{{\"hex\":{}}}", json(&hex(bytes))),
    }
}

fn json<T: Serialize + ?Sized>(value: &T) -> String {
    serde_json::to_string(value).expect("the value has a JSON form")
}

/// Compares the vectors with the file, or writes the file if requested.
fn hold_against(file: &str, about: &str, vectors: Vec<Vector>) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../spec/vectors/plain").join(file);
    let fresh = file_text(about, &vectors);
    if std::env::var_os("NOWCAST_WRITE_VECTORS").is_some() {
        std::fs::create_dir_all(path.parent().expect("the file is in a folder"))
            .expect("the folder can be made");
        std::fs::write(&path, &fresh).expect("the file can be written");
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let [kept, fresh] =
        [kept, fresh].map(|text| -> JsonValue { serde_json::from_str(&text).expect("the file is JSON") });
    let kept_vectors = kept["vectors"].as_array().expect("the file has vectors");
    let fresh_vectors = fresh["vectors"].as_array().expect("the file has vectors");
    for (kept, fresh) in kept_vectors.iter().zip(fresh_vectors) {
        assert_eq!(kept, fresh, "{file}: {} differs from the stored one", fresh["name"]);
    }
    assert_eq!(kept_vectors.len(), fresh_vectors.len(), "{file} has another number of vectors");
}

/// Writes one line for each key, so that a person can read the file, and a change gives a small diff.
fn file_text(about: &str, vectors: &[Vector]) -> String {
    let vectors: Vec<String> = vectors
        .iter()
        .map(|vector| {
            let lines: Vec<String> =
                vector.iter().map(|(key, value)| format!("      \"{key}\": {value}")).collect();
            format!("    {{\n{}\n    }}", lines.join(",\n"))
        })
        .collect();
    format!("{{\n  \"about\": {},\n  \"vectors\": [\n{}\n  ]\n}}\n", json(about), vectors.join(",\n"))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&text[at..at + 2], 16).expect("the text is hexadecimal"))
        .collect()
}
