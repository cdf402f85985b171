//! Bounds of a reader for untrusted bytes.

/// The limits that a reader enforces before it allocates or recurses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Memory that one body may make the reader allocate, in bytes. An estimate that counts every row and every copied
    /// text at its full, repeated size.
    pub memory_bytes_max: usize,
    /// Depth of nested blocks, and of nested MessagePack values.
    pub depth_max: usize,
    /// Shapes in one scope (one direction of a connection, or one file).
    pub shapes_max: usize,
    /// Bytes of all shapes in one scope.
    pub shapes_bytes_max: usize,
    /// Decompressed length of one chunk of a file, in bytes.
    pub chunk_bytes_max: usize,
}

impl Limits {
    /// For messages from a peer: 64 MiB a message.
    pub const MESSAGE: Self = Self {
        memory_bytes_max: 64 << 20,
        depth_max: DEPTH_MAX,
        shapes_max: 1_024,
        shapes_bytes_max: 1 << 20,
        chunk_bytes_max: 0,
    };

    /// For save files: 1 GiB a chunk in memory, 256 MiB a chunk decompressed.
    pub const FILE: Self = Self {
        memory_bytes_max: 1 << 30,
        depth_max: DEPTH_MAX,
        shapes_max: 1_024,
        shapes_bytes_max: 16 << 20,
        chunk_bytes_max: 256 << 20,
    };
}

impl Default for Limits {
    fn default() -> Self {
        Self::MESSAGE
    }
}

/// Depth of nested blocks that every reader accepts and no writer exceeds.
pub const DEPTH_MAX: usize = 128;
/// Bytes of one shape.
pub const SHAPE_BYTES_MAX: usize = 64 << 10;
/// Definitions of one shape.
pub const DEFINITIONS_MAX: usize = 1_024;
/// Fields of one struct or variant, and leaves of one struct after flattening.
pub const FIELDS_MAX: usize = 4_096;
/// Variants of one enum.
pub const VARIANTS_MAX: usize = 65_536;
/// Bytes of one name.
pub const NAME_BYTES_MAX: usize = 255;
/// The greatest shape id: two bytes as a varint.
pub const SHAPE_ID_MAX: u64 = 16_383;
/// Entries of one dictionary.
pub(crate) const DICTIONARY_MAX: usize = 65_536;
/// Rows of a plain block, at most: it has neither dictionaries nor packed columns.
pub const PLAIN_ROWS_MAX: usize = 3;
/// Packed, delta and decimal coding of 64-bit columns stay within this, so that f64 arithmetic is exact.
pub(crate) const EXACT_MAX: i64 = 1 << 52;

const _: () =
    assert!(NAME_BYTES_MAX < SHAPE_BYTES_MAX && SHAPE_BYTES_MAX <= Limits::MESSAGE.shapes_bytes_max);
