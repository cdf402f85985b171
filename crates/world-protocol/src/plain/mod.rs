//! The plain protocol of `spec/PLAIN.md`: its messages and their encodings.
//!
//! Both directions are here, so that servers, bots and measurements share one codec. This module uses no socket, no
//! clock and no world.
//!
//! ```
//! use nowcast_world_protocol::plain::{ClientMessage, Encoding, Frame};
//!
//! let frame = ClientMessage::Chat { text: "hello".into() }.encode(Encoding::Json);
//! assert_eq!(frame, Frame::Text(r#"{"type":"chat","text":"hello"}"#.into()));
//! let message = ClientMessage::decode(Encoding::Json, frame.as_ref()).unwrap();
//! assert_eq!(message, ClientMessage::Chat { text: "hello".into() });
//! ```

mod json;
mod message;
mod msgpack;
mod object;

pub use message::{Action, ClientMessage, Declared, Entity, Fields, Input, Kind, Moved, ServerMessage};

use std::fmt;
use std::str::FromStr;

use self::object::ReadFields as _;

/// The version of the plain protocol that `welcome` announces.
pub const PROTOCOL: u32 = 2;

/// Snapshot rates that a client may request, per second.
pub const NETWORK_HZ: std::ops::RangeInclusive<u32> = 5..=60;

/// The encoding of messages (section 2 of the specification).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Encoding {
    /// JSON objects in text frames.
    #[default]
    Json,
    /// MessagePack maps in binary frames.
    MsgPack,
}

impl Encoding {
    /// Every encoding, in the order of the specification.
    pub const ALL: [Self; 2] = [Self::Json, Self::MsgPack];

    /// The name used in the `encoding` parameter of the address.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::MsgPack => "msgpack",
        }
    }
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Encoding {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|encoding| encoding.name() == name)
            .ok_or_else(|| format!("encoding '{name}' is unknown, choose json or msgpack"))
    }
}

/// The payload of one WebSocket message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    /// A text frame.
    Text(String),
    /// A binary frame.
    Binary(Vec<u8>),
}

impl Frame {
    /// Borrows the payload, for decoding.
    pub fn as_ref(&self) -> FrameRef<'_> {
        match self {
            Self::Text(text) => FrameRef::Text(text),
            Self::Binary(bytes) => FrameRef::Binary(bytes),
        }
    }

    /// Length of the payload in bytes.
    pub fn len(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Binary(bytes) => bytes.len(),
        }
    }

    /// Whether the payload has no bytes at all.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The borrowed payload of one WebSocket message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameRef<'a> {
    /// A text frame.
    Text(&'a str),
    /// A binary frame.
    Binary(&'a [u8]),
}

/// Reason why a frame is not a message of the specification. It is always the sender's fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The frame has a type that this encoding does not use.
    #[error("a {found} frame is not expected with encoding {encoding}")]
    WrongFrame {
        /// `text` or `binary`.
        found: &'static str,
        /// The encoding in force.
        encoding: Encoding,
    },
    /// The payload is not JSON or MessagePack, or a field is missing or has the wrong type.
    #[error("{0}")]
    Syntax(String),
    /// The `type` does not exist in this direction.
    #[error("unknown type '{0}'")]
    UnknownType(String),
}

/// A field outside the bounds of section 4. It is always the sender's fault.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum OutOfBounds {
    /// The value is not within the bounds of the field.
    #[error("{field} is {value:?}, not within {low} to {high}")]
    Range {
        /// The name of the field.
        field: &'static str,
        /// The value; may be NaN or infinite.
        value: f64,
        /// The smallest value allowed.
        low: f64,
        /// The largest value allowed.
        high: f64,
    },
    /// The field accepts any finite number.
    #[error("{field} is {value:?}, not a finite number")]
    NotFinite {
        /// The name of the field.
        field: &'static str,
        /// The value: NaN or an infinity.
        value: f64,
    },
}

impl OutOfBounds {
    /// Checks that a field is within bounds. NaN is within no bounds.
    ///
    /// # Errors
    /// Fails if the value is below `low` or above `high`.
    pub fn check(field: &'static str, value: f64, low: f64, high: f64) -> Result<(), Self> {
        if (low..=high).contains(&value) { Ok(()) } else { Err(Self::Range { field, value, low, high }) }
    }

    /// Checks a rate of rounds that a client requests ([`NETWORK_HZ`]).
    ///
    /// # Errors
    /// Fails if the rate is out of bounds.
    pub fn check_network_hz(field: &'static str, hz: u32) -> Result<(), Self> {
        Self::check(field, hz.into(), (*NETWORK_HZ.start()).into(), (*NETWORK_HZ.end()).into())
    }
}

impl From<nowcast_world::InputError> for OutOfBounds {
    fn from(error: nowcast_world::InputError) -> Self {
        match error {
            nowcast_world::InputError::NotFinite { field } => Self::NotFinite { field, value: f64::NAN },
            nowcast_world::InputError::OutOfBounds { field, value, min, max } => {
                Self::Range { field, value: value.into(), low: min.into(), high: max.into() }
            }
        }
    }
}

impl ServerMessage {
    /// Encodes the message for a client with this encoding.
    pub fn encode(&self, encoding: Encoding) -> Frame {
        encode(self, encoding)
    }

    /// Decodes a message as a client with this encoding.
    ///
    /// # Errors
    /// Fails if the frame is of another type than the encoding, is malformed, or holds an unknown message.
    pub fn decode(encoding: Encoding, frame: FrameRef<'_>) -> Result<Self, DecodeError> {
        match payload(encoding, frame)? {
            Payload::Text(text) => text.fields(),
            Payload::Bytes(bytes) => bytes.fields(),
        }
    }
}

impl ClientMessage {
    /// Encodes the message for a server that was joined with this encoding.
    pub fn encode(&self, encoding: Encoding) -> Frame {
        encode(self, encoding)
    }

    /// Decodes a message from a client that joined with this encoding. The fields may still be out of bounds:
    /// see [`ClientMessage::check`].
    ///
    /// # Errors
    /// Fails if the frame is of another type than the encoding, is malformed, or holds an unknown message.
    pub fn decode(encoding: Encoding, frame: FrameRef<'_>) -> Result<Self, DecodeError> {
        match payload(encoding, frame)? {
            Payload::Text(text) => Self::read(&text),
            Payload::Bytes(bytes) => Self::read(&bytes),
        }
    }
}

fn encode<T: serde::Serialize>(message: &T, encoding: Encoding) -> Frame {
    match encoding {
        Encoding::Json => Frame::Text(json::encode(message)),
        Encoding::MsgPack => Frame::Binary(msgpack::encode(message)),
    }
}

/// A payload in the encoding of its client.
enum Payload<'a> {
    Text(json::Text<'a>),
    Bytes(msgpack::Bytes<'a>),
}

fn payload(encoding: Encoding, frame: FrameRef<'_>) -> Result<Payload<'_>, DecodeError> {
    match (encoding, frame) {
        (Encoding::Json, FrameRef::Text(text)) => json::Text::new(text).map(Payload::Text),
        (Encoding::MsgPack, FrameRef::Binary(bytes)) => msgpack::Bytes::new(bytes).map(Payload::Bytes),
        (Encoding::Json, FrameRef::Binary(_)) => Err(DecodeError::WrongFrame { found: "binary", encoding }),
        (Encoding::MsgPack, FrameRef::Text(_)) => Err(DecodeError::WrongFrame { found: "text", encoding }),
    }
}
