//! Packing numbers, arrays and strings into messages, and unpacking them with bounds.
//!
//! For messages between programs that are built together: fields in order, little-endian, nothing else. For data that must
//! survive a change of its type use the codec of `nowcast-wire`, which describes itself.
//!
//! ```
//! use nowcast::pack::{Pack, Packer, UnpackError, Unpacker};
//!
//! #[derive(Debug, PartialEq)]
//! struct Pose { time: f64, position: [f32; 3], name: String }
//!
//! impl Pack for Pose {
//!     fn pack(&self, to: &mut Packer) {
//!         to.put(&self.time).put(&self.position).put(&self.name);
//!     }
//!     fn unpack(from: &mut Unpacker<'_>) -> Result<Self, UnpackError> {
//!         Ok(Pose { time: from.take("time")?, position: from.take("position")?, name: from.take_text("name", 40)? })
//!     }
//! }
//!
//! let pose = Pose { time: 1.5, position: [0.0, 1.0, 2.0], name: "head".to_owned() };
//! let bytes = Packer::message(&pose);
//! assert_eq!(Unpacker::message::<Pose>(&bytes)?, pose);
//! assert_eq!(Unpacker::message::<Pose>(&bytes[..9]).unwrap_err().to_string(), "position: 1 byte left where 4 are needed");
//! # Ok::<_, UnpackError>(())
//! ```

/// A type that can be a message, or a part of one.
pub trait Pack: Sized {
    /// Appends the value.
    fn pack(&self, to: &mut Packer);

    /// Takes a value off the front.
    ///
    /// # Errors
    /// When the bytes are not a value of this type: the sender is another program, or another version.
    fn unpack(from: &mut Unpacker<'_>) -> Result<Self, UnpackError>;
}

/// Bytes being written.
#[derive(Debug, Default)]
pub struct Packer {
    bytes: Vec<u8>,
}

impl Packer {
    /// The bytes of one value.
    #[must_use]
    pub fn message(value: &impl Pack) -> Vec<u8> {
        let mut packer = Packer::default();
        value.pack(&mut packer);
        packer.bytes
    }

    /// Appends a value.
    pub fn put(&mut self, value: &impl Pack) -> &mut Self {
        value.pack(self);
        self
    }

    /// The bytes so far.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Forgets the bytes but keeps their memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
    }

    fn put_length(&mut self, length: usize) {
        // A message of more than 4 GiB can't be sent, so a longer length is refused by the queue in any case.
        self.bytes.extend_from_slice(&u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes());
    }
}

/// Bytes being read.
#[derive(Debug)]
pub struct Unpacker<'a> {
    bytes: &'a [u8],
    field: &'static str,
}

impl<'a> Unpacker<'a> {
    /// The value that these bytes are, all of them.
    ///
    /// # Errors
    /// When they are not, or when bytes are left over.
    pub fn message<T: Pack>(bytes: &'a [u8]) -> Result<T, UnpackError> {
        let mut unpacker = Unpacker { bytes, field: "message" };
        let value = T::unpack(&mut unpacker)?;
        match unpacker.bytes.len() {
            0 => Ok(value),
            bytes => Err(UnpackError::TooLong { bytes }),
        }
    }

    /// Takes a value; `field` is what an error calls it.
    ///
    /// # Errors
    /// When the bytes are too few or not such a value.
    pub fn take<T: Pack>(&mut self, field: &'static str) -> Result<T, UnpackError> {
        self.field = field;
        T::unpack(self)
    }

    /// Takes a text of at most `bytes_max` bytes.
    ///
    /// # Errors
    /// When it is longer, cut short, or not UTF-8.
    pub fn take_text(&mut self, field: &'static str, bytes_max: usize) -> Result<String, UnpackError> {
        self.field = field;
        let bytes = self.length(bytes_max)?;
        let text = std::str::from_utf8(self.split(bytes)?);
        Ok(text.map_err(|_| UnpackError::Invalid { field, what: "not UTF-8" })?.to_owned())
    }

    /// Takes a list of at most `count_max` values.
    ///
    /// # Errors
    /// When there are more, or one of them is wrong.
    pub fn take_list<T: Pack>(
        &mut self,
        field: &'static str,
        count_max: usize,
    ) -> Result<Vec<T>, UnpackError> {
        self.field = field;
        let count = self.length(count_max)?;
        // Memory grows with the values that are really there, not with the number that the sender claims.
        let mut list = Vec::new();
        for _ in 0..count {
            list.push(T::unpack(self)?);
        }
        Ok(list)
    }

    fn length(&mut self, max: usize) -> Result<usize, UnpackError> {
        let field = self.field;
        let length = u32::unpack(self)? as usize;
        if length > max { Err(UnpackError::TooMany { field, length, max }) } else { Ok(length) }
    }

    fn split(&mut self, needed: usize) -> Result<&'a [u8], UnpackError> {
        let Some((front, rest)) = self.bytes.split_at_checked(needed) else {
            return Err(UnpackError::TooShort { field: self.field, left: self.bytes.len(), needed });
        };
        self.bytes = rest;
        Ok(front)
    }

    fn split_array<const N: usize>(&mut self) -> Result<[u8; N], UnpackError> {
        let (field, left) = (self.field, self.bytes.len());
        let Some((front, rest)) = self.bytes.split_first_chunk() else {
            return Err(UnpackError::TooShort { field, left, needed: N });
        };
        self.bytes = rest;
        Ok(*front)
    }
}

/// Why bytes are not a value: the sender is another program, or another version of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UnpackError {
    /// The message ends within a field.
    #[error("{field}: {left} byte{} left where {needed} are needed", if *left == 1 { "" } else { "s" })]
    TooShort {
        /// The field.
        field: &'static str,
        /// Bytes that are left.
        left: usize,
        /// Bytes that it needs.
        needed: usize,
    },
    /// Bytes follow the last field.
    #[error("{bytes} bytes too many")]
    TooLong {
        /// How many.
        bytes: usize,
    },
    /// A text or a list is longer than the receiver takes.
    #[error("{field}: {length} where at most {max} are taken")]
    TooMany {
        /// The field.
        field: &'static str,
        /// Its length as the sender claims it.
        length: usize,
        /// The bound.
        max: usize,
    },
    /// The bytes of a field mean nothing.
    #[error("{field}: {what}")]
    Invalid {
        /// The field.
        field: &'static str,
        /// What is wrong with it.
        what: &'static str,
    },
}

macro_rules! numbers {
    ($($number:ty)*) => {$(
        impl Pack for $number {
            fn pack(&self, to: &mut Packer) {
                to.bytes.extend_from_slice(&self.to_le_bytes());
            }

            fn unpack(from: &mut Unpacker<'_>) -> Result<Self, UnpackError> {
                from.split_array().map(<$number>::from_le_bytes)
            }
        }
    )*};
}

numbers!(u8 u16 u32 u64 u128 i8 i16 i32 i64 i128 f32 f64);

impl Pack for bool {
    fn pack(&self, to: &mut Packer) {
        to.bytes.push(u8::from(*self));
    }

    fn unpack(from: &mut Unpacker<'_>) -> Result<Self, UnpackError> {
        let field = from.field;
        match u8::unpack(from)? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(UnpackError::Invalid { field, what: "neither true nor false" }),
        }
    }
}

impl Pack for () {
    fn pack(&self, _: &mut Packer) {}

    fn unpack(_: &mut Unpacker<'_>) -> Result<Self, UnpackError> {
        Ok(())
    }
}

impl<T: Pack, const N: usize> Pack for [T; N] {
    fn pack(&self, to: &mut Packer) {
        self.iter().for_each(|value| value.pack(to));
    }

    fn unpack(from: &mut Unpacker<'_>) -> Result<Self, UnpackError> {
        let mut values = Vec::new();
        for _ in 0..N {
            values.push(T::unpack(from)?);
        }
        values.try_into().map_err(|_| UnpackError::Invalid { field: from.field, what: "not as many as N" })
    }
}

/// Any text that fits into the message; [`Unpacker::take_text`] bounds it.
impl Pack for String {
    fn pack(&self, to: &mut Packer) {
        to.put_length(self.len());
        to.bytes.extend_from_slice(self.as_bytes());
    }

    fn unpack(from: &mut Unpacker<'_>) -> Result<Self, UnpackError> {
        from.take_text(from.field, usize::MAX)
    }
}

/// Any list that fits into the message; [`Unpacker::take_list`] bounds it.
impl<T: Pack> Pack for Vec<T> {
    fn pack(&self, to: &mut Packer) {
        to.put_length(self.len());
        self.iter().for_each(|value| value.pack(to));
    }

    fn unpack(from: &mut Unpacker<'_>) -> Result<Self, UnpackError> {
        // Values of no bytes could be claimed without end, so a list is never longer than the message.
        let left = from.bytes.len();
        from.take_list(from.field, left)
    }
}

macro_rules! tuples {
    ($($name:ident)*) => {
        impl<$($name: Pack),*> Pack for ($($name,)*) {
            #[allow(non_snake_case)]
            fn pack(&self, to: &mut Packer) {
                let ($($name,)*) = self;
                $($name.pack(to);)*
            }

            fn unpack(from: &mut Unpacker<'_>) -> Result<Self, UnpackError> {
                Ok(($($name::unpack(from)?,)*))
            }
        }
    };
}

tuples!(A);
tuples!(A B);
tuples!(A B C);
tuples!(A B C D);
tuples!(A B C D E);
tuples!(A B C D E F);
