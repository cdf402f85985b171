//! The number types that columns hold.

use crate::limits::EXACT_MAX;

/// A number of fixed width that a column can hold.
pub trait Number: Copy + PartialOrd + Default + Send + Sync + 'static {
    /// The bytes of one value, the lowest byte first.
    type Bytes: Copy + Send + Sync + AsRef<[u8]>;
    /// How many bytes a value takes.
    const WIDTH: usize = size_of::<Self::Bytes>();
    /// The name used in errors.
    const NAME: &'static str;
    /// The least and the greatest value that packed and delta coding may yield; `None` for floats.
    const EXACT: Option<(i64, i64)>;
    /// Whether the number can be scaled by a power of ten.
    const DECIMAL: bool = Self::EXACT.is_none();

    /// The value as bytes.
    fn to_bytes(self) -> Self::Bytes;
    /// The inverse of [`to_bytes`](Self::to_bytes).
    fn from_bytes(bytes: Self::Bytes) -> Self;
    /// Returns bytes as adjacent values.
    fn cells(bytes: &[u8]) -> &[Self::Bytes];
    /// Bytes as adjacent values, to be written.
    fn cells_mut(bytes: &mut [u8]) -> &mut [Self::Bytes];
    /// All bits, extended by zeros. Two values have equal bits exactly if their bytes are equal.
    fn bits(self) -> u64;
    /// The inverse of [`bits`](Self::bits).
    fn from_bits(bits: u64) -> Self;
    /// The value as an exact integer within `EXACT`; `None` outside of this range, and for floats.
    fn exact(self) -> Option<i64>;
    /// Makes the value of an integer within `EXACT`.
    fn from_exact(value: i64) -> Self;
    /// For floats: the value as `f64`.
    fn to_f64(self) -> f64 {
        0.0
    }
    /// For floats: the value of a rounded `f64`.
    fn from_f64(_: f64) -> Self {
        Self::default()
    }

    /// Appends the value.
    #[inline]
    fn put(self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.to_bytes().as_ref());
    }

    /// Reads exactly `WIDTH` bytes.
    #[inline]
    fn from_slice(bytes: &[u8]) -> Self {
        Self::cells(bytes).first().map_or_else(Self::default, |bytes| Self::from_bytes(*bytes))
    }

    /// Appends all values: fills a tail with zeros, and then overwrites the tail. This method compiles to a simple loop or to
    /// one copy, while single appends do not.
    #[inline]
    fn put_all(values: impl ExactSizeIterator<Item = Self>, out: &mut Vec<u8>) {
        let start = out.len();
        out.resize(start + values.len() * Self::WIDTH, 0);
        for (cell, value) in Self::cells_mut(&mut out[start..]).iter_mut().zip(values) {
            *cell = value.to_bytes();
        }
    }
}

/// Methods of all numbers whose bytes are in the order of the machine, the lowest byte first.
macro_rules! little_endian {
    ($type:ident) => {
        type Bytes = [u8; size_of::<$type>()];
        const NAME: &'static str = stringify!($type);

        #[inline]
        fn to_bytes(self) -> Self::Bytes {
            self.to_le_bytes()
        }

        #[inline]
        fn from_bytes(bytes: Self::Bytes) -> Self {
            Self::from_le_bytes(bytes)
        }

        #[inline]
        fn cells(bytes: &[u8]) -> &[Self::Bytes] {
            bytes.as_chunks().0
        }

        #[inline]
        fn cells_mut(bytes: &mut [u8]) -> &mut [Self::Bytes] {
            bytes.as_chunks_mut().0
        }
    };
}

macro_rules! integer {
    ($($type:ident $unsigned:ident $low:expr, $high:expr;)*) => {$(
        impl Number for $type {
            const EXACT: Option<(i64, i64)> = Some(($low, $high));

            little_endian! { $type }

            #[inline]
            fn bits(self) -> u64 {
                u64::from(self as $unsigned)
            }

            #[inline]
            fn from_bits(bits: u64) -> Self {
                bits as Self
            }

            #[inline]
            fn exact(self) -> Option<i64> {
                // Only 64-bit numbers can be out of range.
                if size_of::<$type>() < 8 || (self >= $low as $type && self <= $high as $type) {
                    Some(self as i64)
                } else {
                    None
                }
            }

            #[inline]
            fn from_exact(value: i64) -> Self {
                value as Self
            }
        }
    )*};
}

integer! {
    u8 u8 0, u8::MAX as i64;
    u16 u16 0, u16::MAX as i64;
    u32 u32 0, u32::MAX as i64;
    u64 u64 0, EXACT_MAX;
    i8 u8 i8::MIN as i64, i8::MAX as i64;
    i16 u16 i16::MIN as i64, i16::MAX as i64;
    i32 u32 i32::MIN as i64, i32::MAX as i64;
    i64 u64 -EXACT_MAX, EXACT_MAX;
}

macro_rules! float {
    ($($type:ident)*) => {$(
        impl Number for $type {
            const EXACT: Option<(i64, i64)> = None;

            little_endian! { $type }

            #[inline]
            fn bits(self) -> u64 {
                self.to_bits().into()
            }

            #[inline]
            fn from_bits(bits: u64) -> Self {
                Self::from_bits(bits as _)
            }

            fn exact(self) -> Option<i64> {
                None
            }

            fn from_exact(_: i64) -> Self {
                0.0
            }

            #[inline]
            fn to_f64(self) -> f64 {
                self.into()
            }

            #[inline]
            fn from_f64(value: f64) -> Self {
                value as Self
            }
        }
    )*};
}

float! { f32 f64 }

/// An unsigned number of three bytes: a quantised range of 17 to 24 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct U24(pub(crate) u32);

impl Number for U24 {
    type Bytes = [u8; 3];
    const NAME: &'static str = "u24";
    const EXACT: Option<(i64, i64)> = Some((0, 0xff_ffff));

    fn to_bytes(self) -> [u8; 3] {
        let [a, b, c, _] = self.0.to_le_bytes();
        [a, b, c]
    }

    fn from_bytes([a, b, c]: [u8; 3]) -> Self {
        Self(u32::from_le_bytes([a, b, c, 0]))
    }

    fn cells(bytes: &[u8]) -> &[[u8; 3]] {
        bytes.as_chunks().0
    }

    fn cells_mut(bytes: &mut [u8]) -> &mut [[u8; 3]] {
        bytes.as_chunks_mut().0
    }

    fn bits(self) -> u64 {
        self.0.into()
    }

    fn from_bits(bits: u64) -> Self {
        Self(bits as u32)
    }

    fn exact(self) -> Option<i64> {
        Some(self.0.into())
    }

    fn from_exact(value: i64) -> Self {
        Self(value as u32)
    }
}
