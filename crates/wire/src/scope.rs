//! One direction of a connection. A shape is announced once. Afterwards a message consists of an id and a body.

use std::any::TypeId;
use std::collections::BTreeMap;

use crate::any::{self, Value};
use crate::error::{ErrorKind, Result};
use crate::input::Input;
use crate::limits::{Limits, SHAPE_BYTES_MAX, SHAPE_ID_MAX};
use crate::output::{Effort, put_varint};
use crate::plan::{Layout, Resolution};
use crate::shape::Shape;
use crate::wire::{Read, Wire};

/// The id that introduces an announcement.
const ANNOUNCEMENT: u64 = 0;
/// The id of messages that are one MessagePack value.
const ANY: u64 = 1;
/// The first id of a shape.
const FIRST_SHAPE: u64 = 2;

/// The writing end. It assigns ids to shapes, and announces each shape before its first message.
///
/// ```
/// use nowcast_wire::{Receiver, Sender, Wire};
///
/// #[derive(Wire, Debug, PartialEq)]
/// struct Chat { text: String, num: u8 }
///
/// let (mut sender, mut receiver) = (Sender::default(), Receiver::default());
/// let chat = Chat { text: "Hello World!".into(), num: 123 };
/// for expected_len in [40, 14] {
///     let mut message = Vec::new();
///     sender.encode(&chat, &mut message);
///     assert_eq!(message.len(), expected_len);
///     assert_eq!(receiver.decode::<Chat>(&message)?, chat);
/// }
/// # Ok::<(), nowcast_wire::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Sender {
    /// The ids by the bytes of the shapes, so that equal types share an id.
    ids: BTreeMap<Vec<u8>, u64>,
    /// The ids by the Rust types, so that the shape of a type is described only once.
    known: BTreeMap<TypeId, u64>,
}

impl Sender {
    /// Appends a message. Before the first message of a shape, appends the announcement of the shape.
    pub fn encode<T: Wire>(&mut self, value: &T, out: &mut Vec<u8>) {
        let id = match self.known.get(&typeid::of::<T>()) {
            Some(id) => *id,
            None => {
                let id = self.announce(&Shape::of::<T>(), out);
                self.known.insert(typeid::of::<T>(), id);
                id
            }
        };
        put_varint(out, id);
        crate::encode(value, out);
    }

    /// Appends a value of a shape. Before the first value of the shape, appends its announcement.
    ///
    /// # Errors
    /// Fails if the value does not fit the shape. In this case `out` may hold the announcement and a part of the message. The
    /// announcement is not repeated.
    pub fn encode_value(&mut self, shape: &Shape, value: &Value, out: &mut Vec<u8>) -> Result<()> {
        let id = self.announce(shape, out);
        put_varint(out, id);
        crate::encode_value(shape, value, Effort::Fast, out)
    }

    /// Appends a value without a shape.
    pub fn encode_any(&mut self, value: &Value, out: &mut Vec<u8>) {
        put_varint(out, ANY);
        any::write(value, out);
    }

    /// Appends the announcement of a shape that was not announced before. Returns the id of the shape.
    ///
    /// # Panics
    /// If a program sends more shapes than there are ids (16,382).
    pub fn announce(&mut self, shape: &Shape, out: &mut Vec<u8>) -> u64 {
        let bytes = shape.to_bytes();
        let next = self.ids.len() as u64 + FIRST_SHAPE;
        if let Some(id) = self.ids.get(&bytes) {
            return *id;
        }
        assert!(next <= SHAPE_ID_MAX, "more shapes in one scope than there are ids");
        put_announcement(next, &bytes, out);
        self.ids.insert(bytes, next);
        next
    }

    /// Appends the announcements of all shapes, for a peer that missed them.
    pub fn announce_all(&self, out: &mut Vec<u8>) {
        for (bytes, id) in &self.ids {
            put_announcement(*id, bytes, out);
        }
    }
}

fn put_announcement(id: u64, shape: &[u8], out: &mut Vec<u8>) {
    put_varint(out, ANNOUNCEMENT);
    put_varint(out, id);
    put_varint(out, shape.len() as u64);
    out.extend_from_slice(shape);
}

/// The reading end. It stores the announced shapes, and their plans for the requested types.
#[derive(Debug, Default)]
pub struct Receiver {
    limits: Limits,
    shapes: BTreeMap<u64, Known>,
    shapes_bytes: usize,
}

#[derive(Debug)]
struct Known {
    bytes: Vec<u8>,
    layout: Layout,
    resolutions: BTreeMap<TypeId, Resolution>,
}

/// The body of a message whose announcements were applied.
struct Body<'de> {
    id: u64,
    bytes: &'de [u8],
    origin: usize,
}

impl Receiver {
    /// Makes a receiver with the given limits.
    pub fn with_limits(limits: Limits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// Applies the announcements of a message. Returns false if the message has no value.
    ///
    /// # Errors
    /// Fails if an announcement is malformed, or if the sender announces more shapes than the limits allow.
    pub fn accept(&mut self, message: &[u8]) -> Result<bool> {
        self.open(message).map(|body| body.is_some())
    }

    /// Returns the shape that was announced under an id.
    pub fn shape(&self, id: u64) -> Option<&Shape> {
        self.shapes.get(&id).map(|known| &known.layout.shape)
    }

    /// Decodes a message as a type. The sender may have any version of the type.
    ///
    /// # Errors
    /// Fails if the message is malformed, names a shape that was never announced, or does not fit the type.
    pub fn decode<'de, T: Read<'de>>(&mut self, message: &'de [u8]) -> Result<T> {
        let limits = self.limits;
        let Some(body) = self.open(message)? else {
            return Err(Input::new(message, message.len(), &limits).error(ErrorKind::Truncated { needed: 1 }));
        };
        let Some(known) = self.shapes.get_mut(&body.id) else {
            return Err(Input::new(body.bytes, body.origin, &limits).error(ErrorKind::UnknownShape(body.id)));
        };
        let asked = typeid::of::<T>();
        if !known.resolutions.contains_key(&asked) {
            let resolution = Resolution::new(known.layout.shape.clone(), &Shape::of::<T>())?;
            known.resolutions.insert(asked, resolution);
        }
        crate::decode_resolved(known.resolutions.get(&asked), body.bytes, body.origin, &limits)
    }

    /// Reads a message of any shape, or without a shape. Returns `None` if the message holds only announcements.
    ///
    /// # Errors
    /// Fails if the message is malformed, or names a shape that was never announced.
    pub fn decode_value(&mut self, message: &[u8]) -> Result<Option<Value>> {
        Ok(self.decode_with_shape(message)?.map(|(_, value)| value))
    }

    /// Like [`decode_value`](Self::decode_value), but also returns the shape, if the message has one.
    ///
    /// # Errors
    /// Fails if the message is malformed, or names a shape that was never announced.
    pub fn decode_with_shape(&mut self, message: &[u8]) -> Result<Option<(Option<&Shape>, Value)>> {
        let limits = self.limits;
        let Some(body) = self.open(message)? else { return Ok(None) };
        if body.id == ANY {
            let mut input = Input::new(body.bytes, body.origin, &limits);
            let value = any::next_value(&mut input)?;
            input.end()?;
            return Ok(Some((None, value)));
        }
        match self.shapes.get(&body.id) {
            Some(known) => {
                let value = crate::dynamic::decode_in(&known.layout, body.bytes, body.origin, &limits)?;
                Ok(Some((Some(&known.layout.shape), value)))
            }
            None => Err(Input::new(body.bytes, body.origin, &limits).error(ErrorKind::UnknownShape(body.id))),
        }
    }

    fn open<'de>(&mut self, message: &'de [u8]) -> Result<Option<Body<'de>>> {
        let mut input = Input::new(message, 0, &self.limits.clone());
        while input.position() < message.len() {
            let id = input.varint()?;
            if id != ANNOUNCEMENT {
                let origin = input.position();
                return Ok(Some(Body { id, bytes: &message[origin..], origin }));
            }
            self.announced(&mut input)?;
        }
        Ok(None)
    }

    fn announced(&mut self, input: &mut Input<'_>) -> Result<()> {
        let id = input.varint()?;
        if !(FIRST_SHAPE..=SHAPE_ID_MAX).contains(&id) {
            return Err(input.error(ErrorKind::ShapeId(id)));
        }
        let length = input.count()?;
        if length > SHAPE_BYTES_MAX {
            return Err(input.error(ErrorKind::TooMany { what: "bytes in a shape", max: SHAPE_BYTES_MAX }));
        }
        let bytes = input.take(length)?;
        match self.shapes.get(&id) {
            Some(known) if known.bytes == bytes => return Ok(()),
            Some(_) => return Err(input.error(ErrorKind::ShapeConflict(id))),
            None => {}
        }
        if self.shapes.len() >= self.limits.shapes_max {
            return Err(input.error(ErrorKind::TooMany { what: "shapes", max: self.limits.shapes_max }));
        }
        if self.shapes_bytes + length > self.limits.shapes_bytes_max {
            let max = self.limits.shapes_bytes_max;
            return Err(input.error(ErrorKind::TooMany { what: "bytes of shapes", max }));
        }
        let layout = Layout::new(Shape::from_bytes(bytes)?);
        self.shapes_bytes += length;
        self.shapes.insert(id, Known { bytes: bytes.to_vec(), layout, resolutions: BTreeMap::new() });
        Ok(())
    }
}
