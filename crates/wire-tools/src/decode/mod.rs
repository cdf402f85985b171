//! Explains bytes field by field: packets of sessions (`spec/SESSION.md`), movement in them (`spec/WORLD.md`,
//! `spec/DELTA.md`), values (`spec/WIRE.md`) of a world's messages or of a schema, save files, and messages of the plain
//! protocol (`spec/PLAIN.md`).
//!
//! The walk through the fields is for people. The reader of each format decides whether the bytes are valid, because
//! it knows every limit.

mod body;
mod definition;
mod fields;
mod plain;
mod reading;
mod replication;
mod save;
mod session;
mod world;

pub use body::Shapes;
pub use fields::Fault;
pub use world::WorldReader;

use fields::Fields;

/// The kinds of bytes that can be explained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A packet of a session.
    Packet,
    /// A packet of a session that ends with a checksum, because its carrier does not check it.
    CheckedPacket,
    /// A value without a shape id.
    Body,
    /// A payload of REPLICATION.
    Replication,
    /// A delta against frames.
    Delta,
    /// A save file.
    Save,
    /// A message of the plain protocol.
    Plain,
}

/// The meaning of some bytes.
#[derive(Debug)]
pub struct Explanation {
    /// A line for each field: its offset, its bytes, its name and its meaning. Safe for a terminal.
    pub text: String,
    /// The place where the bytes are invalid. The text ends there.
    pub fault: Option<Fault>,
}

/// Explains bytes of a kind. `shapes` decode its values.
///
/// ```
/// use nowcast_wire_tools::decode::{Kind, Shapes, bytes_of, explain};
///
/// let bytes = bytes_of("00 0000 000000 01")?;
/// let explanation = explain(&bytes, Kind::Packet, &mut Shapes::of_a_world());
/// assert!(explanation.fault.is_none());
/// assert!(explanation.text.contains("PING: asks for an acknowledgement"));
/// # Ok::<_, nowcast_wire_tools::decode::NotBytes>(())
/// ```
#[must_use]
pub fn explain(bytes: &[u8], kind: Kind, shapes: &mut Shapes) -> Explanation {
    let mut fields = Fields::new(bytes);
    let outcome = match kind {
        Kind::Packet => session::packet(&mut fields, false, shapes),
        Kind::CheckedPacket => session::packet(&mut fields, true, shapes),
        Kind::Body => body::explain(&mut fields, shapes),
        Kind::Replication => replication::payload(&mut fields),
        Kind::Delta => replication::delta(&mut fields, None),
        Kind::Save => save::file(&mut fields),
        Kind::Plain => plain::message(&mut fields),
    };
    Explanation { text: fields.to_text(), fault: outcome.err() }
}

/// Recognises the kind of the bytes: by their magic number, or else by the kind that can be decoded to the end.
#[must_use]
pub fn recognise(bytes: &[u8], shapes: &Shapes) -> Kind {
    let reads = |read: fn(&mut Fields<'_>) -> Result<(), Fault>| read(&mut Fields::new(bytes)).is_ok();
    if bytes.starts_with(b"\x89NCS") {
        Kind::Save
    } else if bytes.first().is_some_and(|&byte| (0x80..=0x82).contains(&byte)) && bytes.len() > 4 {
        Kind::Packet
    } else if reads(plain::message) {
        Kind::Plain
    } else if session::is_packet(bytes) {
        Kind::Packet
    } else if shapes.read(bytes) {
        Kind::Body
    } else if reads(replication::payload) {
        Kind::Replication
    } else {
        // The fault of a packet is the most informative one.
        Kind::Packet
    }
}

/// The reason why a text is not bytes in hexadecimal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotBytes {
    /// A character is not a digit.
    #[error("'{0}' is not a hexadecimal digit: write bytes as 01 ff, or give a file with --file")]
    Digit(char),
    /// The number of digits is odd.
    #[error("{0} hexadecimal digits are not a whole number of bytes: write two digits for each byte")]
    Odd(usize),
}

/// Parses bytes in hexadecimal, with or without 0x and white space. A message of the plain protocol is already text.
///
/// # Errors
/// [`NotBytes`].
pub fn bytes_of(text: &str) -> Result<Vec<u8>, NotBytes> {
    if text.trim_start().starts_with('{') {
        return Ok(text.as_bytes().to_vec());
    }
    let digits = text.split_whitespace().flat_map(|word| word.strip_prefix("0x").unwrap_or(word).chars());
    let digit = |digit: char| {
        let value = digit.to_digit(16).and_then(|value| u8::try_from(value).ok());
        value.ok_or(NotBytes::Digit(digit))
    };
    let digits = digits.map(digit).collect::<Result<Vec<_>, _>>()?;
    if !digits.len().is_multiple_of(2) {
        return Err(NotBytes::Odd(digits.len()));
    }
    Ok(digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_parsed_in_the_usual_copied_forms() {
        assert_eq!(bytes_of("0x01ff 02\n0xAB").unwrap(), [1, 255, 2, 0xab]);
        assert!(bytes_of("01f").unwrap_err().to_string().contains("3 hexadecimal digits"));
        assert!(bytes_of("01 é0").unwrap_err().to_string().contains('é'));
        assert_eq!(bytes_of("{\"type\":\"ping\"}").unwrap(), b"{\"type\":\"ping\"}");
    }

    #[test]
    fn the_kind_shows_in_the_bytes() {
        let shapes = Shapes::of_a_world();
        let kind = |hex: &str| recognise(&bytes_of(hex).unwrap(), &shapes);
        assert_eq!(kind("894e43530d0a1a0a01000000"), Kind::Save);
        assert_eq!(kind("00 0000 000000 01"), Kind::Packet);
        assert_eq!(kind("0200 7f00 0000 00"), Kind::Plain);
        assert_eq!(kind("03 00 02000000 03 14000000 416461"), Kind::Body);
        assert_eq!(kind("{\"type\":\"ping\",\"time\":1}"), Kind::Plain);
    }
}
