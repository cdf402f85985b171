//! Values ↔ the bytes of a message.

use std::cell::Cell;

use nowcast_wire::{Read, Wire};

use super::Error;

/// What a lane can carry: bytes as they are (`[u8]`), or values of any type that derives [`Wire`], in the format of
/// `spec/WIRE.md`.
///
/// The bytes of a typed message are the body that [`nowcast_wire::encode`] writes: both tasks must have the same type. Where
/// they may have different versions of it, put what `nowcast_wire::Sender` writes as bytes.
pub trait Payload {
    /// Calls `use_bytes` with the bytes of this value, without a new allocation for each.
    fn with_bytes<R>(&self, use_bytes: impl FnOnce(&[u8]) -> R) -> R;
}

impl Payload for [u8] {
    #[inline]
    fn with_bytes<R>(&self, use_bytes: impl FnOnce(&[u8]) -> R) -> R {
        use_bytes(self)
    }
}

thread_local! {
    /// Where values are encoded.
    static SCRATCH: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// A thread does not keep more than this because of one large value.
const SCRATCH_BYTES_MAX: usize = 256 * 1_024;

impl<T: Wire> Payload for T {
    fn with_bytes<R>(&self, use_bytes: impl FnOnce(&[u8]) -> R) -> R {
        // A value whose encoding puts another one finds an empty buffer, and works all the same.
        let mut bytes = SCRATCH.take();
        bytes.clear();
        nowcast_wire::encode(self, &mut bytes);
        let result = use_bytes(&bytes);
        if bytes.capacity() <= SCRATCH_BYTES_MAX {
            SCRATCH.set(bytes);
        }
        result
    }
}

/// The value that the bytes of a message are. Text and bytes may be borrowed from them.
///
/// # Errors
/// [`Error::Invalid`] where they are not a value of that type; it names the field.
pub fn decode<'de, T: Read<'de>>(bytes: &'de [u8]) -> Result<T, Error> {
    nowcast_wire::decode(bytes).map_err(|error| Error::Invalid(error.to_string()))
}
