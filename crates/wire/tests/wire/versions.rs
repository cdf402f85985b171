//! Version N of a type is read by versions N-1 and N+1.

use crate::common::{bless, blessing, cases, from_hex, from_json, to_hex, to_json};
use nowcast_wire::{
    Error, ErrorKind, Party, ReadOwned, Reader, Receiver, Sender, Shape, Wire, decode_value, encode_to_vec,
    save,
};
use serde_json::{Value as Json, json};

mod v1 {
    use nowcast_wire::Wire;

    #[derive(Wire, Debug, PartialEq, Clone)]
    pub(crate) struct Player {
        pub(crate) name: String,
        pub(crate) level: u8,
        pub(crate) score: i16,
        pub(crate) mood: Mood,
        pub(crate) guild: String,
        pub(crate) items: Vec<Item>,
    }

    #[derive(Wire, Debug, PartialEq, Clone)]
    pub(crate) struct Item {
        pub(crate) def: String,
        pub(crate) count: u16,
    }

    #[derive(Wire, Debug, PartialEq, Clone)]
    pub(crate) enum Mood {
        Calm,
        Angry(u8),
        #[wire(other)]
        Unknown,
    }
}

mod v2 {
    use nowcast_wire::Wire;

    /// Compared with the previous version, fields moved, were widened, became optional, were added and were removed. An enum has
    /// one more variant.
    #[derive(Wire, Debug, PartialEq, Clone)]
    pub(crate) struct Player {
        pub(crate) level: u32,
        pub(crate) items: Vec<Item>,
        pub(crate) name: String,
        pub(crate) score: Option<i64>,
        #[wire(default = 100)]
        pub(crate) health: u8,
        pub(crate) mood: Mood,
    }

    #[derive(Wire, Debug, PartialEq, Clone)]
    pub(crate) struct Item {
        pub(crate) count: u32,
        pub(crate) def: String,
        pub(crate) enchants: Vec<(String, u8)>,
    }

    #[derive(Wire, Debug, PartialEq, Clone)]
    pub(crate) enum Mood {
        Calm,
        Happy { because: String, since: f64 },
        Angry(u16),
    }
}

mod v3 {
    use nowcast_wire::Wire;

    #[derive(Wire, Debug, PartialEq, Clone)]
    pub(crate) struct Player {
        pub(crate) name: String,
        pub(crate) level: u64,
        pub(crate) score: i64,
        pub(crate) health: f32,
        pub(crate) items: Vec<Item>,
        pub(crate) mood: Mood,
        pub(crate) home: Option<(f32, f32)>,
    }

    #[derive(Wire, Debug, PartialEq, Clone)]
    pub(crate) struct Item {
        pub(crate) def: String,
        #[wire(var)]
        pub(crate) count: u64,
        #[wire(default)]
        pub(crate) quality: Quality,
    }

    #[derive(Wire, Debug, Default, PartialEq, Clone, Copy)]
    pub(crate) enum Quality {
        #[default]
        Fine,
        Poor,
    }

    #[derive(Wire, Debug, PartialEq, Clone)]
    pub(crate) enum Mood {
        Calm,
        Angry(u32),
        Happy { because: String },
        Sleepy,
    }
}

fn old() -> v1::Player {
    let item = |def: &str, count| v1::Item { def: def.into(), count };
    v1::Player {
        name: "Aveline".into(),
        level: 23,
        score: -7,
        mood: v1::Mood::Angry(3),
        guild: "Foxes".into(),
        items: (0..6).map(|i| item(if i % 2 == 0 { "sword" } else { "rope" }, i * 100)).collect(),
    }
}

fn middle() -> v2::Player {
    let item = |i: u32| v2::Item {
        count: i * 1000,
        def: format!("item {i}"),
        enchants: (0..i).map(|level| ("fire".to_owned(), level as u8)).collect(),
    };
    v2::Player {
        level: 42,
        items: (0..5).map(item).collect(),
        name: "Bertrand".into(),
        score: Some(12),
        health: 55,
        mood: v2::Mood::Happy { because: "spring".into(), since: 1.5 },
    }
}

fn read<V: Wire, R: ReadOwned>(value: &V) -> Result<R, Error> {
    Reader::<R>::new(Shape::of::<V>())?.decode(&encode_to_vec(value))
}

#[test]
fn the_next_version_reads_the_old_one() {
    let player: v2::Player = read(&old()).unwrap();
    assert_eq!(
        (player.level, player.name.as_str(), player.score, player.health),
        (23, "Aveline", Some(-7), 100)
    );
    assert_eq!(player.mood, v2::Mood::Angry(3));
    assert_eq!(player.items[5], v2::Item { count: 500, def: "rope".into(), enchants: vec![] });
}

#[test]
fn the_old_version_reads_the_next_one() {
    let mut player = middle();
    let seen: v1::Player = read(&player).unwrap();
    assert_eq!((seen.level, seen.score, seen.guild.as_str()), (42, 12, ""));
    assert_eq!(seen.mood, v1::Mood::Unknown, "a variant of the future");
    assert_eq!(seen.items[4], v1::Item { def: "item 4".into(), count: 4000 });
    player.score = None;
    assert_eq!(read::<_, v1::Player>(&player).unwrap().score, 0, "an absent option of a number is 0");
}

#[test]
fn the_third_version_reads_the_first_and_the_second() {
    let from_old: v3::Player = read(&old()).unwrap();
    assert_eq!((from_old.level, from_old.health, from_old.home), (23, 0.0, None));
    assert_eq!(from_old.items[1], v3::Item { def: "rope".into(), count: 100, quality: v3::Quality::Fine });
    let from_middle: v3::Player = read(&middle()).unwrap();
    assert_eq!((from_middle.score, from_middle.health), (12, 55.0));
    assert_eq!(from_middle.mood, v3::Mood::Happy { because: "spring".into() });
}

fn newest() -> v3::Player {
    let item = |i: u64| v3::Item { def: format!("thing {i}"), count: i * i, quality: v3::Quality::Poor };
    v3::Player {
        name: "Clémence".into(),
        level: 200,
        score: -5,
        health: 12.5,
        items: (0..4).map(item).collect(),
        mood: v3::Mood::Angry(9),
        home: Some((1.5, -2.0)),
    }
}

/// Reads a value of one version as another version, for `versions.json`. This file binds every implementation.
fn seen<V: Wire, R: Wire + ReadOwned>(name: &str, value: &V) -> Json {
    let mut case = json!({
        "name": name, "writer": to_hex(&Shape::of::<V>().to_bytes()), "body": to_hex(&encode_to_vec(value)),
        "reader": to_hex(&Shape::of::<R>().to_bytes()),
    });
    match read::<V, R>(value) {
        Ok(read) => case["value"] = to_json(&decode_value(&Shape::of::<R>(), &encode_to_vec(&read)).unwrap()),
        Err(error) => case["error"] = error.path().into(),
    }
    case
}

#[test]
fn the_vectors_of_versions_hold() {
    let absent = v2::Player { score: None, mood: v2::Mood::Calm, ..middle() };
    let calm = v2::Player { mood: v2::Mood::Angry(7), ..middle() };
    let great = v2::Player { level: 300, ..calm.clone() };
    let full = v3::Player { home: None, ..newest() };
    let sleepy = v3::Player { mood: v3::Mood::Sleepy, ..newest() };
    let made = [
        seen::<_, v1::Player>("1 as 1", &old()),
        seen::<_, v2::Player>("1 as 2", &old()),
        seen::<_, v3::Player>("1 as 3", &old()),
        seen::<_, v1::Player>("2 as 1", &calm),
        seen::<_, v1::Player>("2 as 1, an option that is absent", &absent),
        seen::<_, v1::Player>("2 as 1, a level beyond u8", &great),
        seen::<_, v2::Player>("2 as 2", &middle()),
        seen::<_, v3::Player>("2 as 3", &middle()),
        seen::<_, v3::Player>("3 as 3", &newest()),
        seen::<_, v3::Player>("3 as 3, an option that is absent", &full),
        // The field is a float now and was an integer in the earlier version. A float is not read as an integer.
        seen::<_, v2::Player>("3 as 2, a type that changed", &newest()),
        seen::<_, v2::Mood>("the mood of 3 as 2", &newest().mood),
        seen::<_, v2::Mood>("the mood of 3 as 2, a variant of the future", &sleepy.mood),
        seen::<_, Vec<v2::Item>>("items of 3 as 2", &newest().items),
        seen::<_, Vec<v3::Item>>("items of 2 as 3", &middle().items),
    ];
    if blessing() {
        bless(
            "versions.json",
            "Bytes written by one version of a type, and the value that a reader of another version gets.",
            &made,
        );
    }
    let kept = cases("versions.json");
    assert_eq!(kept, made);
    // The results of generic readers for the same bodies are added.
    for case in &kept {
        let shape = |key: &str| Shape::from_bytes(&from_hex(case[key].as_str().unwrap())).unwrap();
        let body = from_hex(case["body"].as_str().unwrap());
        assert!(decode_value(&shape("writer"), &body).is_ok());
        assert_eq!(case["value"].is_null(), case["error"].is_string());
        if !case["value"].is_null() {
            let mut again = Vec::new();
            let value = from_json(&case["value"]);
            nowcast_wire::encode_value(&shape("reader"), &value, Default::default(), &mut again).unwrap();
        }
    }
}

#[test]
fn a_value_that_does_not_fit_is_named_with_its_field() {
    let mut player = middle();
    player.level = 300;
    let error = read::<_, v1::Player>(&player).unwrap_err();
    assert_eq!((error.path().as_str(), error.party()), ("level", Party::InvalidData));
    assert!(error.to_string().starts_with("level: value 300 does not fit u8"), "{error}");
    let mut player = middle();
    player.items[3].count = 70_000;
    assert_eq!(read::<_, v1::Player>(&player).unwrap_err().path(), "items.count");
}

#[test]
fn an_unknown_variant_without_a_catch_all_is_an_error_that_names_it() {
    #[derive(Wire, Debug)]
    #[allow(dead_code)]
    struct Player {
        mood: Mood,
    }
    #[derive(Wire, Debug)]
    #[allow(dead_code)]
    enum Mood {
        Calm,
    }
    let error = read::<_, Player>(&middle()).unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::UnknownVariant { name: "Happy".into() });
    assert_eq!((error.path().as_str(), error.party()), ("mood", Party::Incompatible));
}

#[test]
fn types_that_have_nothing_in_common_are_refused_before_any_message() {
    #[derive(Wire)]
    #[allow(dead_code)]
    struct Player {
        items: Vec<Item>,
    }
    #[derive(Wire)]
    #[allow(dead_code)]
    struct Item {
        def: bool,
    }
    let error = Reader::<Player>::new(Shape::of::<v1::Player>()).unwrap_err();
    assert_eq!(error.to_string(), "items.def: a text cannot be read as a bool");
}

#[test]
fn a_missing_field_with_an_infinite_default_is_refused() {
    #[derive(Wire)]
    #[allow(dead_code)]
    enum Endless {
        Add(Box<Endless>, Box<Endless>),
        Value(u8),
    }
    #[derive(Wire)]
    #[allow(dead_code)]
    struct Player {
        formula: Endless,
    }
    let error = Reader::<Player>::new(Shape::of::<v1::Player>()).unwrap_err();
    assert_eq!((error.path().as_str(), error.kind()), ("formula", &ErrorKind::NoDefault));
}

#[test]
fn many_versions_share_one_connection() {
    let (mut sender, mut receiver) = (Sender::default(), Receiver::default());
    for _ in 0..2 {
        let mut message = Vec::new();
        sender.encode(&old(), &mut message);
        assert_eq!(receiver.decode::<v1::Player>(&message).unwrap(), old());
        let mut message = Vec::new();
        sender.encode(&middle(), &mut message);
        assert_eq!(receiver.decode::<v1::Player>(&message).unwrap().level, 42);
        assert_eq!(receiver.decode::<v2::Player>(&message).unwrap(), middle());
        assert_eq!(receiver.decode::<v3::Player>(&message).unwrap().level, 42);
    }
}

#[test]
fn lists_become_arrays_and_arrays_lists_where_lengths_allow() {
    assert_eq!(
        read::<_, [u16; 3]>(&vec![1u8, 2, 3].into_iter().map(u32::from).collect::<Vec<_>>()).unwrap(),
        [1, 2, 3]
    );
    assert_eq!(read::<_, Vec<u64>>(&[1u32, 2, 3, 4]).unwrap(), [1, 2, 3, 4]);
    let error = read::<_, [u16; 2]>(&vec![1u32, 2, 3]).unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::ArrayLength { expected: 2, found: 3 });
}

#[test]
fn a_renamed_field_is_read_by_its_former_names() {
    #[derive(Wire)]
    struct Before {
        gold: u32,
        title: String,
    }
    #[derive(Wire, Debug, PartialEq)]
    struct Now {
        #[wire(default = 3)]
        lives: u8,
        #[wire(was = "money", was = "gold")]
        coins: u64,
        // A field that the writer has under its present name is not looked for under a former one.
        #[wire(was = "gold")]
        title: String,
    }
    let options = save::Options::default();
    let bytes = save::to_vec(&Before { gold: 7, title: "Sir".into() }, options).unwrap();
    let read: Now = save::from_slice(&bytes).unwrap();
    assert_eq!(read, Now { lives: 3, coins: 7, title: "Sir".into() });
    assert_eq!(save::from_slice::<Now>(&save::to_vec(&read, options).unwrap()).unwrap(), read);
}
