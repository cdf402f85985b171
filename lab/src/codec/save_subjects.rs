//! The codecs that write and read the game save.

use super::measure::Subject;
use super::messages;
use super::save_types::Save;

/// Returns the codecs in the order of the table. A cold start identifies a codec by its index.
pub(super) fn subjects() -> Vec<Subject<Save>> {
    vec![
        messages::json(),
        Subject {
            name: "nowcast, with its shape",
            encode: write_ours,
            decode: |bytes| {
                nowcast_wire::Receiver::with_limits(nowcast_wire::Limits::FILE)
                    .decode(bytes)
                    .map_err(|error| error.to_string())
            },
        },
        Subject {
            name: "XML (quick-xml)",
            encode: |save, out| {
                let text = quick_xml::se::to_string(save).expect("the types have an XML form");
                write_without_empty(&text, out);
            },
            decode: |bytes| {
                let text = std::str::from_utf8(bytes).map_err(|error| error.to_string())?;
                quick_xml::de::from_str(text).map_err(|error| error.to_string())
            },
        },
        Subject {
            name: "protobuf (prost)",
            encode: |save, out| prost::Message::encode(save, out).expect("a vector grows"),
            decode: |bytes| prost::Message::decode(bytes).map_err(|error| error.to_string()),
        },
        messages::messagepack(),
        messages::bitcode_subject(),
        messages::wincode_subject(),
    ]
}

/// Writes the save as in a file: first the shape, then the value, with the compression level of files.
fn write_ours(save: &Save, out: &mut Vec<u8>) {
    let id = nowcast_wire::Sender::default().announce(&nowcast_wire::Shape::of::<Save>(), out);
    out.push(u8::try_from(id).expect("the first id is small"));
    nowcast_wire::encode_with(save, nowcast_wire::Effort::Small, out);
}

/// This serialiser writes an absent field as an empty element, and its deserialiser reads such an element as a wrong number.
/// Therefore empty elements are removed. No text of the save is empty.
fn write_without_empty(text: &str, out: &mut Vec<u8>) {
    let mut rest = text;
    while let Some(at) = rest.find("/>") {
        let open = rest[..at].rfind('<').unwrap_or(at);
        out.extend_from_slice(&rest.as_bytes()[..open]);
        rest = &rest[at + 2..];
    }
    out.extend_from_slice(rest.as_bytes());
}
