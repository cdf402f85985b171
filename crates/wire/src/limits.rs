//! Limits of a reader for untrusted bytes.

/// The limits that a reader enforces before it allocates or recurses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum memory that one body may make the reader allocate, in bytes. It is an estimate, which counts every row and every
    /// copy of a repeated text in full.
    pub memory_bytes_max: usize,
    /// Maximum depth of nested blocks, and of nested MessagePack values.
    pub depth_max: usize,
    /// Maximum number of shapes in one scope (one direction of a connection, or one file).
    pub shapes_max: usize,
    /// Maximum bytes of all shapes in one scope.
    pub shapes_bytes_max: usize,
    /// Maximum decompressed length of a chunk in a file, in bytes.
    pub chunk_bytes_max: usize,
}

impl Limits {
    /// Limits for messages from a peer: 64 MiB for each message.
    pub const MESSAGE: Self = Self {
        memory_bytes_max: 64 << 20,
        depth_max: DEPTH_MAX,
        shapes_max: 1_024,
        shapes_bytes_max: 1 << 20,
        chunk_bytes_max: 0,
    };

    /// Limits for save files: 1 GiB of memory for each chunk, and 256 MiB for a decompressed chunk.
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

/// Maximum depth of nested blocks. Every reader accepts this depth, and no writer exceeds it.
pub const DEPTH_MAX: usize = 128;
/// Maximum bytes of a shape.
pub const SHAPE_BYTES_MAX: usize = 64 << 10;
/// Maximum number of definitions in one shape.
pub const DEFINITIONS_MAX: usize = 1_024;
/// Maximum number of fields in a struct or variant, and of leaves in a struct after flattening.
pub const FIELDS_MAX: usize = 4_096;
/// Maximum number of variants in an enum.
pub const VARIANTS_MAX: usize = 65_536;
/// Maximum bytes of a name.
pub const NAME_BYTES_MAX: usize = 255;
/// The greatest shape id. It takes two bytes as a varint.
pub const SHAPE_ID_MAX: u64 = 16_383;
/// Maximum number of entries of one dictionary.
pub(crate) const DICTIONARY_MAX: usize = 65_536;
/// Maximum number of rows in a plain block. A plain block has neither dictionaries nor packed columns.
pub const PLAIN_ROWS_MAX: usize = 3;
/// Values in packed, delta and decimal coding of 64-bit columns stay within this limit, so that `f64` arithmetic is exact.
pub(crate) const EXACT_MAX: i64 = 1 << 52;

const _: () =
    assert!(NAME_BYTES_MAX < SHAPE_BYTES_MAX && SHAPE_BYTES_MAX <= Limits::MESSAGE.shapes_bytes_max);
