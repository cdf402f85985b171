//! Save files. A file has a header, which names the format and the shapes, and compressed chunks of columns with checksums.
//!
//! ```
//! use nowcast_wire::{Wire, save};
//!
//! #[derive(Wire, Debug, PartialEq)]
//! struct Game { level: u32, hero: String }
//!
//! # let folder = std::env::temp_dir().join(format!("nowcast-save-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder)?;
//! let path = folder.join("game.ncs");
//! let game = Game { level: 23, hero: "Aveline".into() };
//! save::to_file(&path, &game, save::Options::default())?;
//! assert_eq!(save::from_file::<Game>(&path)?, game);
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Use [`to_file`] and [`from_file`] for one value that fits in memory. Use [`FileWriter`] and [`FileReader`] for streams of
//! values; they hold one chunk at a time in memory.

mod file;
mod read;
mod write;

use std::io;

pub use file::{AtomicFile, from_file, from_slice, to_file, to_vec};
pub use read::{Chunk, FileReader};
pub use write::FileWriter;

use crate::error::Error;
use crate::output::Effort;

/// The first bytes of every save file. A transfer in text mode changes some of them, so readers detect it.
pub const MAGIC: [u8; 8] = *b"\x89NCS\r\n\x1a\n";
/// The version of the container.
pub const VERSION: u16 = 1;

/// Kinds of records.
mod kind {
    pub(super) const SHAPE: u8 = b'S';
    pub(super) const CHUNK: u8 = b'C';
    pub(super) const ABOUT: u8 = b'M';
    pub(super) const END: u8 = b'E';
    /// This bit is set in kinds that a reader may skip.
    pub(super) const ANCILLARY: u8 = 0x20;
}

/// Compression for a file's chunks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    /// No compression.
    None,
    /// LZ4: the fastest to read.
    #[default]
    Lz4,
}

/// Options for a file writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Compression of chunks.
    pub compression: Compression,
    /// The effort of writing columns, before compression.
    pub effort: Effort,
}

impl Default for Options {
    fn default() -> Self {
        Self { compression: Compression::Lz4, effort: Effort::Small }
    }
}

/// Errors of save files.
#[derive(Debug, thiserror::Error)]
pub enum SaveError {
    /// The file system failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The contents are damaged, have another format, or are too large.
    #[error(transparent)]
    Format(#[from] Error),
    /// The number of values in the file is not one.
    #[error("the file holds {found} values where one was expected")]
    NotOne {
        /// The number of values in the file.
        found: u64,
    },
}
