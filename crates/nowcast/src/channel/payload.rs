//! Converts between values and the bytes of a message.

use std::cell::Cell;

use nowcast_wire::{Read, Shape, Wire};

use super::Error;
use super::shapes::{ShapeId, TypeShape};

/// A payload of a lane: raw bytes (`[u8]`), or values of any type that derives [`Wire`], in the format of
/// `spec/WIRE.md`.
///
/// The two ends of a typed lane may have different versions of a type. The shape of the type is announced before the first
/// value, and the reader matches fields by name (`spec/WIRE.md`, section 7).
pub trait Payload {
    /// Returns the shape of the type, to be announced to the peer. `None` for bytes, which have no shape.
    fn type_shape() -> Option<TypeShape>;

    /// Calls `use_bytes` with the number of the shape, followed by the bytes of this value. Does not allocate for each value.
    fn with_bytes<R>(&self, shape: Option<ShapeId>, use_bytes: impl FnOnce(&[u8]) -> R) -> R;
}

impl Payload for [u8] {
    #[inline]
    fn type_shape() -> Option<TypeShape> {
        None
    }

    #[inline]
    fn with_bytes<R>(&self, _shape: Option<ShapeId>, use_bytes: impl FnOnce(&[u8]) -> R) -> R {
        use_bytes(self)
    }
}

thread_local! {
    /// The reused buffer for encoding.
    static SCRATCH: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Maximum buffer that a thread keeps after a large value.
const SCRATCH_BYTES_MAX: usize = 256 * 1_024;

impl<T: Wire> Payload for T {
    #[inline]
    fn type_shape() -> Option<TypeShape> {
        Some(TypeShape { kind: typeid::of::<T>(), shape: Shape::of::<T> })
    }

    fn with_bytes<R>(&self, shape: Option<ShapeId>, use_bytes: impl FnOnce(&[u8]) -> R) -> R {
        // If the encoding of a value puts another value, the inner call finds an empty buffer and allocates its own.
        let mut bytes = SCRATCH.take();
        bytes.clear();
        shape.into_iter().for_each(|shape| shape.write(&mut bytes));
        nowcast_wire::encode(self, &mut bytes);
        let result = use_bytes(&bytes);
        if bytes.capacity() <= SCRATCH_BYTES_MAX {
            SCRATCH.set(bytes);
        }
        result
    }
}

/// Decodes a value from bytes in the form of a [`nowcast_wire::encode`] body, for messages that were put as bytes. Text and bytes
/// may be borrowed from the message. For messages of a typed lane, use [`Message::decode`](super::Message::decode) or
/// [`Channel::decode`](super::Channel::decode).
///
/// # Errors
/// [`Error::Invalid`] if the bytes are not a value of that type. The error names the field.
pub fn decode<'de, T: Read<'de>>(bytes: &'de [u8]) -> Result<T, Error> {
    nowcast_wire::decode(bytes).map_err(|error| Error::Invalid(error.to_string()))
}
