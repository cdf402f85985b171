//! Errors of reading. Each names the party at fault.

use std::fmt;

/// An error of reading. It names the problem, the field and the byte.
///
/// ```
/// let error = nowcast_wire::decode::<u32>(&[1, 2]).unwrap_err();
/// assert_eq!(error.to_string(), "the data ends where 2 more bytes were expected (byte 0)");
/// ```
#[derive(Clone, PartialEq)]
pub struct Error(Box<Inner>);

/// The result of reading.
pub type Result<T> = std::result::Result<T, Error>;

#[derive(Clone, PartialEq)]
struct Inner {
    kind: ErrorKind,
    offset: Option<usize>,
    /// The names of the fields, the innermost first, because outer fields are added on the way out.
    path: Vec<String>,
}

/// The party that must change something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Party {
    /// The producer of the bytes broke the format, or something damaged them in transit.
    InvalidData,
    /// The bytes are valid, but writer and reader disagree about the type.
    Incompatible,
    /// The bytes may be valid, but exceed the reader's limits.
    Limit,
}

/// The problem.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)] // The messages explain the fields.
pub enum ErrorKind {
    #[error("the data ends where {needed} more bytes were expected")]
    Truncated { needed: u64 },
    #[error("{count} bytes are left over at the end")]
    Trailing { count: usize },
    #[error("a variable-length number is too long or not in its shortest form")]
    Varint,
    #[error("a count of {count} is beyond 2^32-1")]
    Count { count: u64 },
    #[error("text is not valid UTF-8")]
    Utf8,
    #[error("text begins or ends inside of a character")]
    CharBoundary,
    #[error("unused bits are not zero")]
    PaddingBits,
    #[error("{coding:#04x} is not a coding of a {column} column")]
    Coding { column: &'static str, coding: u8 },
    #[error("the dictionary has {entries} entries, but entry {code} is used")]
    DictionaryCode { entries: usize, code: u64 },
    #[error("a dictionary of {entries} entries for {rows} values is not allowed")]
    DictionarySize { entries: u64, rows: usize },
    #[error("value {value} does not fit {into}")]
    Range { value: String, into: &'static str },
    #[error("variant {index} of an enum with {count} variants")]
    VariantIndex { index: u64, count: usize },
    #[error("the reader does not know the variant {name:?}")]
    UnknownVariant { name: String },
    #[error("an array of {expected} got {found} elements")]
    ArrayLength { expected: usize, found: u64 },
    #[error("{0} is not the scalar value of a character")]
    Char(u32),
    #[error("a {writer} cannot be read as a {reader}")]
    TypeMismatch { writer: String, reader: String },
    #[error("the shape is invalid: {0}")]
    Shape(&'static str),
    #[error("{0:#04x} is not a type")]
    ShapeType(u8),
    #[error("the writer lacks this field, and its type has no finite default")]
    NoDefault,
    #[error("shape id {0} was never announced")]
    UnknownShape(u64),
    #[error("shape id {0} was announced twice, differently")]
    ShapeConflict(u64),
    #[error("shape id {0} is out of range")]
    ShapeId(u64),
    #[error("byte 0xc1 is not MessagePack")]
    MessagePackReserved,
    #[error("a MessagePack timestamp is malformed")]
    Timestamp,
    #[error("nested more than {max} deep")]
    Depth { max: usize },
    #[error("would take more than {max} bytes of memory")]
    Memory { max: usize },
    #[error("more than {max} {what}")]
    TooMany { what: &'static str, max: usize },
    #[error("not a nowcast save file")]
    Magic,
    #[error("the file was written by a newer release ({0})")]
    Newer(String),
    #[error("the file was cut off: its end record is missing")]
    CutOff,
    #[error("a record's checksum is wrong: the file is damaged")]
    Checksum,
    #[error("a chunk does not decompress: {0}")]
    Compression(String),
    #[error("the end record counts {expected}, the file has {found}")]
    EndCount { expected: u64, found: u64 },
    #[error("{0}")]
    Record(&'static str),
}

impl Error {
    pub(crate) fn new(kind: ErrorKind) -> Self {
        Self(Box::new(Inner { kind, offset: None, path: Vec::new() }))
    }

    pub(crate) fn at(kind: ErrorKind, offset: usize) -> Self {
        Self(Box::new(Inner { kind, offset: Some(offset), path: Vec::new() }))
    }

    /// Adds the field `name` to the path of the error.
    #[must_use]
    #[cold]
    pub fn inside(mut self, name: &str) -> Self {
        self.0.path.push(name.to_owned());
        self
    }

    /// The problem.
    pub fn kind(&self) -> &ErrorKind {
        &self.0.kind
    }

    /// The offset in the message or file at which the problem was found, if there is one.
    pub fn offset(&self) -> Option<usize> {
        self.0.offset
    }

    /// The names of the fields that lead to the error, outermost first, joined by dots. Empty for the root.
    pub fn path(&self) -> String {
        let names: Vec<&str> = self.0.path.iter().rev().map(String::as_str).collect();
        names.join(".")
    }

    /// The party at fault.
    pub fn party(&self) -> Party {
        use ErrorKind as K;
        match &self.0.kind {
            K::Depth { .. } | K::Memory { .. } | K::TooMany { .. } => Party::Limit,
            K::TypeMismatch { .. }
            | K::NoDefault
            | K::UnknownVariant { .. }
            | K::ArrayLength { .. }
            | K::Newer(_) => Party::Incompatible,
            _ => Party::InvalidData,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path();
        if !path.is_empty() {
            write!(f, "{path}: ")?;
        }
        write!(f, "{}", self.0.kind)?;
        match self.0.offset {
            Some(offset) => write!(f, " (byte {offset})"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl std::error::Error for Error {}
