//! The three messages of the WebSocket formats article.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use wincode::config::DefaultConfig;
use wincode::{SchemaRead, SchemaWrite};

use nowcast_wire::{ReadOwned, Wire};

use crate::report::{BarChart, Chart, Section, Table};

use super::measure::{Subject, compare, table};
use super::{Options, Result};

macro_rules! message {
    ($(#[$about:meta])* $name:ident, $mirror:ident { $($field:ident: $type:ty as $wide:ty = $kind:ident $tag:literal),* $(,)? }) => {
        $(#[$about])*
        #[derive(
            Debug, Clone, PartialEq, Serialize, Deserialize, Wire, bitcode::Encode, bitcode::Decode,
            SchemaRead, SchemaWrite,
        )]
        struct $name { $($field: $type),* }

        /// The same message for Protocol Buffers, which has no small number types.
        #[derive(Clone, PartialEq, prost::Message)]
        struct $mirror { $(#[prost($kind, tag = $tag)] $field: $wide),* }

        impl $name {
            fn to_protobuf(&self, out: &mut Vec<u8>) {
                let mirror = $mirror { $($field: self.$field.clone().into()),* };
                prost::Message::encode(&mirror, out).expect("a vector grows");
            }

            fn from_protobuf(bytes: &[u8]) -> std::result::Result<Self, String> {
                let mirror = <$mirror as prost::Message>::decode(bytes).map_err(|error| error.to_string())?;
                Ok(Self { $($field: mirror.$field.try_into().map_err(|_| "a number is too large")?),* })
            }
        }
    };
}

message! {
    /// In the article this message has 33 bytes of JSON, because the number is written as text.
    Small, SmallMirror { text: String as String = string "1", num: u8 as u32 = uint32 "2" }
}
message! {
    Medium, MediumMirror {
        text: String as String = string "1",
        text2: String as String = string "2",
        num: u16 as u32 = uint32 "3",
        decimal: f32 as f32 = float "4",
    }
}
message! {
    Big, BigMirror {
        text: String as String = string "1",
        text2: String as String = string "2",
        text3: String as String = string "3",
        text4: String as String = string "4",
        num: u32 as u32 = uint32 "5",
        decimal: f64 as f64 = double "6",
        num2: i32 as i32 = sint32 "7",
        decimal2: f64 as f64 = double "8",
    }
}

pub(super) fn run(options: &Options) -> Result<Section> {
    let small = Small { text: "Hello World!".into(), num: 123 };
    #[expect(clippy::approx_constant, reason = "the article sends these digits")]
    let medium = Medium {
        text: "Hello World!".into(),
        text2: "Lorem ipsum dolor sit amet, consectetur adipiscing.".into(),
        num: 12_345,
        decimal: 3.141_592_6,
    };
    let big = Big {
        text: "Hello World!".into(),
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
    let mut section = Section::new("Three messages in Rust");
    section.text(
        "The messages of the WebSocket formats article, one at a time. Ours is only the body, as on a channel that implies the type; otherwise one byte with the shape id precedes it.",
    );
    let tables = [
        (
            "Small message",
            measure("the small message", &small, Small::to_protobuf, Small::from_protobuf, options)?,
        ),
        (
            "Medium message",
            measure("the medium message", &medium, Medium::to_protobuf, Medium::from_protobuf, options)?,
        ),
        ("Big message", measure("the big message", &big, Big::to_protobuf, Big::from_protobuf, options)?),
    ];
    for (title, table) in tables {
        section.chart(Chart::Bars(BarChart::from_table(format!("{title}: time"), "ns", &table, 0, &[4, 5])));
        section.table(table);
    }
    Ok(section)
}

fn measure<T>(
    what: &str,
    value: &T,
    to_protobuf: fn(&T, &mut Vec<u8>),
    from_protobuf: fn(&[u8]) -> std::result::Result<T, String>,
    options: &Options,
) -> Result<Table>
where
    T: PartialEq
        + Serialize
        + DeserializeOwned
        + Wire
        + ReadOwned
        + bitcode::Encode
        + bitcode::DecodeOwned
        + Positional,
{
    let subjects = [
        json(),
        ours(),
        Subject { name: "protobuf (prost)", encode: to_protobuf, decode: from_protobuf },
        messagepack(),
        bitcode_subject(),
        wincode_subject(),
    ];
    Ok(table(&mut compare(what, value, &subjects, options.samples)?, "ns", 1.0))
}

pub(super) fn json<T: Serialize + DeserializeOwned>() -> Subject<T> {
    Subject {
        name: "JSON (serde_json)",
        encode: |value, out| serde_json::to_writer(out, value).expect("a vector grows"),
        decode: |bytes| serde_json::from_slice(bytes).map_err(|error| error.to_string()),
    }
}

pub(super) fn ours<T: Wire + ReadOwned>() -> Subject<T> {
    Subject {
        name: "nowcast",
        encode: |value, out| nowcast_wire::encode(value, out),
        decode: |bytes| nowcast_wire::decode(bytes).map_err(|error| error.to_string()),
    }
}

pub(super) fn messagepack<T: Serialize + DeserializeOwned>() -> Subject<T> {
    Subject {
        name: "MessagePack, named (rmp-serde)",
        encode: |value, out| rmp_serde::encode::write_named(out, value).expect("a vector grows"),
        decode: |bytes| rmp_serde::from_slice(bytes).map_err(|error| error.to_string()),
    }
}

pub(super) fn bitcode_subject<T: bitcode::Encode + bitcode::DecodeOwned>() -> Subject<T> {
    Subject {
        name: "bitcode (positional)",
        encode: |value, out| out.extend_from_slice(&bitcode::encode(value)),
        decode: |bytes| bitcode::decode(bytes).map_err(|error| error.to_string()),
    }
}

/// Types that wincode can encode and decode. wincode is a successor of bincode.
pub(super) trait Positional:
    SchemaWrite<DefaultConfig, Src = Self> + for<'de> SchemaRead<'de, DefaultConfig, Dst = Self>
{
}

impl<T> Positional for T where
    T: SchemaWrite<DefaultConfig, Src = T> + for<'de> SchemaRead<'de, DefaultConfig, Dst = T>
{
}

pub(super) fn wincode_subject<T: Positional>() -> Subject<T> {
    Subject {
        name: "wincode (positional)",
        encode: |value, out| wincode::serialize_into(out, value).expect("a vector grows"),
        decode: |bytes| wincode::deserialize(bytes).map_err(|error| error.to_string()),
    }
}
