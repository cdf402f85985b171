//! Tests writing and reading with `#[derive(Wire)]`.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::fmt::Debug;

use nowcast_wire::{Effort, Shape, Wire, decode, decode_value, encode_to_vec, encode_value, encode_with};

/// Writes with both efforts, reads with both readers, and returns the fast body.
fn round_trip<T: nowcast_wire::ReadOwned + PartialEq + Debug>(value: &T) -> Vec<u8> {
    let shape = Shape::of::<T>();
    assert_eq!(Shape::from_bytes(&shape.to_bytes()).unwrap(), shape);
    for effort in [Effort::Fast, Effort::Small] {
        let mut body = Vec::new();
        encode_with(value, effort, &mut body);
        assert_eq!(&decode::<T>(&body).unwrap(), value);
        let dynamic = decode_value(&shape, &body).unwrap();
        let mut again = Vec::new();
        encode_value(&shape, &dynamic, effort, &mut again).unwrap();
        assert_eq!(body, again, "the dynamic writer agrees with the derived one about {dynamic:?}");
    }
    encode_to_vec(value)
}

#[derive(Wire, Debug, PartialEq)]
struct Small {
    text: String,
    num: u8,
}

#[derive(Wire, Debug, PartialEq)]
struct Medium {
    text: String,
    text2: String,
    num: u16,
    decimal: f32,
}

#[derive(Wire, Debug, PartialEq)]
struct Big {
    text: String,
    text2: String,
    text3: String,
    text4: String,
    num: i32,
    decimal: f64,
    num2: i32,
    decimal2: f64,
}

#[test]
fn the_three_messages_of_the_websocket_article_have_the_minimum_size() {
    let text = "Hello World!".to_owned();
    let small = Small { text: text.clone(), num: 123 };
    let medium = Medium {
        text: text.clone(),
        text2: "Lorem ipsum dolor sit amet, consectetur adipiscing.".into(),
        num: 12345,
        decimal: -3.0415926,
    };
    let big = Big {
        text,
        text2: "Lorem ipsum dolor sit amet, consectetur adipiscing elit. Maecenas rutrum odio dolor, a egestas dui \
                bibendum at."
            .into(),
        text3: "ABCDEFGHIJKLMNOPQRSTUVWXYZ".into(),
        text4: "The quick brown fox jumps over the lazy dog.".into(),
        num: 123_456_789,
        decimal: std::f64::consts::PI,
        num2: -123_456_789,
        decimal2: -std::f64::consts::PI,
    };
    assert_eq!([round_trip(&small).len(), round_trip(&medium).len(), round_trip(&big).len()], [13, 70, 220]);
}

#[derive(Wire, Debug, PartialEq)]
struct Move {
    id: u32,
    x: f64,
    y: f64,
    z: f64,
    euler: (u8, u8, u8),
}

#[test]
fn a_thousand_movements_become_columns() {
    let moves: Vec<Move> = (0..1000)
        .map(|i| Move {
            id: 100_000 + i * 3 + i % 2,
            x: f64::from(i).sqrt(),
            y: f64::from(i).sin(),
            z: f64::from(i).cos(),
            euler: (i as u8, (i * 7) as u8, (i * 13) as u8),
        })
        .collect();
    let body = round_trip(&moves);
    assert!(body.len() <= 28_100, "{} bytes", body.len());
}

#[derive(Wire, Debug, PartialEq, Clone)]
enum Shape3 {
    Point,
    Sphere(f32),
    Box { size: [f32; 3], label: Option<String> },
    Group(Vec<Shape3>),
}

#[derive(Wire, Debug, PartialEq, Clone)]
struct Tree<T> {
    value: T,
    left: Option<Box<Tree<T>>>,
    children: Vec<Tree<T>>,
}

fn leaf<T>(value: T) -> Tree<T> {
    Tree { value, left: None, children: Vec::new() }
}

#[derive(Wire, Debug, PartialEq, Default)]
struct Everything {
    unit: (),
    flag: bool,
    numbers: (u8, u16, u32, u64, i8, i16, i32, i64),
    floats: (f32, f64),
    character: char,
    size: usize,
    text: String,
    boxed: Box<str>,
    bytes: Vec<u8>,
    list: Vec<Option<i16>>,
    array: [bool; 9],
    nested: Vec<Vec<String>>,
    set: BTreeSet<u16>,
    queue: VecDeque<String>,
    map: BTreeMap<String, Vec<u32>>,
    #[wire(rename = "odd name")]
    renamed: i8,
    r#type: u8,
}

#[test]
fn every_kind_of_type_is_restored() {
    round_trip(&Everything::default());
    round_trip(&Everything {
        flag: true,
        numbers: (255, 65_535, u32::MAX, u64::MAX, -128, i16::MIN, i32::MIN, i64::MIN),
        floats: (f32::MIN_POSITIVE, f64::MAX),
        character: 'ü',
        size: 1 << 40,
        text: "größe".into(),
        boxed: "b".into(),
        bytes: (0..=255).collect(),
        list: (0..50).map(|i| (i % 3 != 0).then_some(i * 100)).collect(),
        array: [true, false, true, true, false, false, true, false, true],
        nested: (0..20).map(|i| (0..i % 5).map(|j| format!("{i}/{j}")).collect()).collect(),
        set: (0..1000).collect(),
        queue: ["a".into(), String::new(), "c".into()].into(),
        map: (0..12).map(|i| (format!("key {i}"), (0..i).collect())).collect(),
        renamed: -1,
        r#type: 9,
        unit: (),
    });
}

#[test]
fn enums_with_payloads_come_back_alone_and_in_lists() {
    let all = vec![
        Shape3::Point,
        Shape3::Sphere(1.5),
        Shape3::Box { size: [1.0, 2.0, 3.0], label: Some("crate".into()) },
        Shape3::Group(vec![Shape3::Point, Shape3::Group(vec![Shape3::Sphere(0.0)])]),
        Shape3::Box { size: [0.5; 3], label: None },
    ];
    all.iter().for_each(|shape| drop(round_trip(shape)));
    round_trip(&all);
}

#[test]
fn types_that_contain_themselves_come_back() {
    let mut tree = leaf(1u32);
    for value in 2..40 {
        let mut parent = leaf(value);
        parent.left = (value % 3 == 0).then(|| Box::new(leaf(value * 100)));
        parent.children = vec![leaf(value * 10), tree, leaf(value * 11)];
        tree = parent;
    }
    round_trip(&tree);
    round_trip(&Tree { value: "text".to_owned(), left: None, children: vec![leaf("deeper".to_owned())] });
}

#[derive(Wire, Debug, PartialEq)]
struct Borrowed<'a> {
    name: &'a str,
    note: Cow<'a, str>,
    raw: &'a [u8],
    tags: Vec<&'a str>,
}

#[test]
fn text_and_bytes_can_be_borrowed_from_the_message() {
    let value =
        Borrowed { name: "n", note: "noté".into(), raw: &[1, 2, 3], tags: vec!["a", "b", "c", "d", "e"] };
    let body = encode_to_vec(&value);
    let back: Borrowed<'_> = decode(&body).unwrap();
    assert_eq!(back, value);
    assert!(body.as_ptr_range().contains(&back.name.as_ptr()));
    assert!(matches!(back.note, Cow::Owned(_) | Cow::Borrowed(_)));
}

#[derive(Wire, Debug, PartialEq)]
struct Unit;

#[derive(Wire, Debug, PartialEq)]
struct Wrapper<A, B>(A, B);

#[test]
fn units_tuples_and_generics_come_back() {
    assert_eq!(round_trip(&Unit), [0u8; 0]);
    assert_eq!(round_trip(&Wrapper(Unit, 7u8)), [7]);
    round_trip(&Wrapper(vec![(1u8, "a".to_owned()); 6], HashMap::<u8, bool>::from([(1, true)])));
}

#[derive(Wire, Debug, PartialEq, Clone, Copy)]
struct Pose {
    #[wire(range(-512.0, 512.0, 0.001))]
    x: f64,
    #[wire(range(0, 100, 1))]
    health: f32,
    #[wire(quat(10))]
    rotation: [f32; 4],
    #[wire(angle(8))]
    euler: [f32; 3],
    #[wire(angle(16))]
    heading: f64,
    #[wire(var)]
    seq: u64,
    #[wire(var)]
    delta: i32,
}

#[test]
fn quantised_fields_come_back_within_half_a_step() {
    let pose = Pose {
        x: 1.2347,
        health: 87.4,
        rotation: [0.0, 0.6, 0.0, 0.8],
        euler: [0.1, 1.0, 3.0],
        heading: 2.5,
        seq: 300,
        delta: -3,
    };
    let body = encode_to_vec(&pose);
    assert_eq!(body.len(), 3 + 1 + 4 + 3 + 2 + 2 + 1);
    let back: Pose = decode(&body).unwrap();
    assert!((back.x - pose.x).abs() <= 0.0005);
    assert_eq!(back.health, 87.0);
    assert!(back.rotation.iter().zip(pose.rotation).all(|(a, b)| (a - b).abs() < 0.002));
    assert!(back.euler.iter().zip(pose.euler).all(|(a, b)| (a - b).abs() < 0.013));
    assert!((back.heading - pose.heading).abs() < 0.00005);
    assert_eq!((back.seq, back.delta), (300, -3));
    // A rounded value does not change again.
    assert_eq!(round_trip(&back), body);
    round_trip(&vec![back; 9]);
}

#[derive(Wire, Debug, PartialEq)]
struct Skipping {
    kept: u8,
    #[wire(skip)]
    cache: Vec<u8>,
    #[wire(skip, default = 5)]
    seed: u32,
}

#[test]
fn skipped_fields_are_not_written_and_read_as_their_default() {
    let body = encode_to_vec(&Skipping { kept: 1, cache: vec![1, 2], seed: 9 });
    assert_eq!(body, [1]);
    assert_eq!(decode::<Skipping>(&body).unwrap(), Skipping { kept: 1, cache: vec![], seed: 5 });
}

#[test]
fn special_floats_keep_their_bits() {
    let floats = [f64::NAN, -0.0, f64::INFINITY, f64::from_bits(0x7ff0_0000_0000_0001), 5e-324];
    for count in [1, 3, 5, 40] {
        let value: Vec<f64> = floats.iter().copied().cycle().take(count).collect();
        for effort in [Effort::Fast, Effort::Small] {
            let mut body = Vec::new();
            encode_with(&value, effort, &mut body);
            let back: Vec<f64> = decode(&body).unwrap();
            assert!(value.iter().zip(&back).all(|(a, b)| a.to_bits() == b.to_bits()));
        }
    }
}

#[test]
fn types_with_equal_names_are_distinguished() {
    macro_rules! read_as {
        ($receiver:expr, $message:expr, $field:ty) => {{
            #[derive(Wire, Debug, PartialEq)]
            struct Pose {
                at: $field,
            }
            $receiver.decode::<(Pose,)>($message).map(|(pose,)| pose.at)
        }};
    }
    macro_rules! write_as {
        ($sender:expr, $at:expr, $field:ty) => {{
            #[derive(Wire, Debug, PartialEq)]
            struct Pose {
                at: $field,
            }
            let mut message = Vec::new();
            $sender.encode(&(Pose { at: $at },), &mut message);
            message
        }};
    }
    // All of these types are called `types_with_equal_names_are_distinguished::Pose`.
    let (mut sender, mut receiver) = (nowcast_wire::Sender::default(), nowcast_wire::Receiver::default());
    let number = write_as!(sender, 7, u32);
    let text = write_as!(sender, "north".to_owned(), String);
    assert_eq!(read_as!(receiver, &number, u32).unwrap(), 7);
    assert_eq!(read_as!(receiver, &number, u64).unwrap(), 7);
    assert_eq!(read_as!(receiver, &text, String).unwrap(), "north");
    assert!(read_as!(receiver, &text, u32).is_err());

    #[derive(Wire)]
    struct Both<A, B>(A, B);
    let one = {
        #[derive(Wire)]
        struct Part(u8);
        Part(1)
    };
    let other = {
        #[derive(Wire)]
        struct Part(String);
        Part("north".to_owned())
    };
    let both = Both((one,), (other,));
    let read = decode_value(&shape_of(&both), &encode_to_vec(&both)).expect("the shape describes the bytes");
    assert!(format!("{read:?}").contains("north"), "{read:?}");
}

fn shape_of<T: Wire>(_: &T) -> nowcast_wire::Shape {
    nowcast_wire::Shape::of::<T>()
}
