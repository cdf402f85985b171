//! Reads untrusted save files, one chunk at a time.

use std::io::{ErrorKind as IoKind, Read as IoRead};

use super::{MAGIC, SaveError, VERSION, kind};
use crate::any::{self, Value};
use crate::error::{Error, ErrorKind};
use crate::input::Input;
use crate::limits::{Limits, SHAPE_BYTES_MAX};
use crate::plan::{Layout, Resolution};
use crate::shape::Shape;
use crate::wire::{Column, Read, Wire};

/// Maximum factor by which LZ4 data grows. The last literals add a few bytes.
const LZ4_GROWTH_MAX: usize = 255;

/// Reads a save file from any reader.
pub struct FileReader<R> {
    input: R,
    limits: Limits,
    position: usize,
    shapes: Vec<Layout>,
    shapes_bytes: usize,
    about: Option<Value>,
    chunks: u64,
    rows: u64,
    ended: bool,
}

/// One chunk: rows of one shape, decompressed but not yet decoded.
pub struct Chunk<'r> {
    layout: &'r Layout,
    limits: &'r Limits,
    /// The number of values.
    pub rows: usize,
    /// The length of the chunk in the file.
    pub stored_bytes: usize,
    raw: Vec<u8>,
}

struct Record {
    kind: u8,
    payload: Vec<u8>,
    /// The offset of the payload in the file.
    origin: usize,
}

impl<R: IoRead> FileReader<R> {
    /// Opens a file and reads its header.
    ///
    /// # Errors
    /// Fails if the header cannot be read, or does not belong to a save file of a supported version.
    pub fn new(input: R, limits: Limits) -> Result<Self, SaveError> {
        let mut this = Self {
            input,
            limits,
            position: 0,
            shapes: Vec::new(),
            shapes_bytes: 0,
            about: None,
            chunks: 0,
            rows: 0,
            ended: false,
        };
        let mut header = [0; 12];
        if !this.fill(&mut header)? || header[..8] != MAGIC {
            return Err(Error::at(ErrorKind::Magic, 0).into());
        }
        let version = u16::from_le_bytes([header[8], header[9]]);
        let flags = u16::from_le_bytes([header[10], header[11]]);
        if version != VERSION || flags != 0 {
            let newer = format!("version {version}, flags {flags:#x}");
            return Err(Error::at(ErrorKind::Newer(newer), 8).into());
        }
        Ok(this)
    }

    /// The shapes read so far.
    pub fn shapes(&self) -> impl ExactSizeIterator<Item = &Shape> {
        self.shapes.iter().map(|layout| &layout.shape)
    }

    /// The *about* record, if it has been read.
    pub fn about(&self) -> Option<&Value> {
        self.about.as_ref()
    }

    /// Returns the next chunk; `None` after the last one.
    ///
    /// # Errors
    /// Fails if the file cannot be read, if it ends early, or if a checksum does not match.
    pub fn next_chunk(&mut self) -> Result<Option<Chunk<'_>>, SaveError> {
        while !self.ended {
            let record = self.record()?;
            match record.kind {
                kind::SHAPE => self.add_shape(&record)?,
                kind::ABOUT => self.about = Some(any::from_slice_with(&record.payload, &self.limits)?),
                kind::CHUNK => return self.chunk(record).map(Some),
                kind::END => self.end(&record)?,
                kind if kind & kind::ANCILLARY != 0 => {}
                other => {
                    let newer = format!("record {:?}", char::from(other));
                    return Err(Error::at(ErrorKind::Newer(newer), record.origin).into());
                }
            }
        }
        Ok(None)
    }

    fn add_shape(&mut self, record: &Record) -> Result<(), SaveError> {
        self.shapes_bytes += record.payload.len();
        if self.shapes.len() >= self.limits.shapes_max || self.shapes_bytes > self.limits.shapes_bytes_max {
            let kind = ErrorKind::TooMany { what: "shapes", max: self.limits.shapes_max };
            return Err(Error::at(kind, record.origin).into());
        }
        self.shapes.push(Layout::new(Shape::from_bytes(&record.payload)?));
        Ok(())
    }

    fn chunk(&mut self, record: Record) -> Result<Chunk<'_>, SaveError> {
        let mut input = Input::new(&record.payload, record.origin, &self.limits);
        let shape = input.varint()?;
        let rows = input.count()?;
        let compression = input.byte()?;
        let raw_len = input.varint()?;
        let Some(layout) = usize::try_from(shape).ok().and_then(|index| self.shapes.get(index)) else {
            return Err(input.error(ErrorKind::UnknownShape(shape)).into());
        };
        if rows == 0 {
            return Err(input.error(ErrorKind::Record("a chunk without rows")).into());
        }
        if raw_len > self.limits.chunk_bytes_max as u64 {
            let max = self.limits.chunk_bytes_max;
            return Err(input.error(ErrorKind::TooMany { what: "bytes in a chunk", max }).into());
        }
        let stored = &record.payload[input.position() - record.origin..];
        let raw = decompress(stored, compression, raw_len as usize, &input)?;
        self.chunks += 1;
        self.rows += rows as u64;
        Ok(Chunk { layout, limits: &self.limits, rows, stored_bytes: record.payload.len(), raw })
    }

    fn end(&mut self, record: &Record) -> Result<(), SaveError> {
        let mut input = Input::new(&record.payload, record.origin, &self.limits);
        for found in [self.chunks, self.rows] {
            let expected = input.varint()?;
            if expected != found {
                return Err(input.error(ErrorKind::EndCount { expected, found }).into());
            }
        }
        input.end()?;
        if self.fill(&mut [0])? {
            return Err(Error::at(ErrorKind::Trailing { count: 1 }, self.position - 1).into());
        }
        self.ended = true;
        Ok(())
    }

    /// Reads a record and checks its checksum.
    fn record(&mut self) -> Result<Record, SaveError> {
        let start = self.position;
        let mut head = vec![self.byte(start)?];
        let mut length = 0u64;
        for shift in (0..35).step_by(7) {
            let byte = self.byte(start)?;
            head.push(byte);
            length |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                break;
            }
        }
        let max = match head[0] {
            kind::SHAPE => SHAPE_BYTES_MAX,
            // A chunk that does not shrink is stored uncompressed. So no chunk is longer than its contents and a few counts.
            _ => self.limits.chunk_bytes_max.saturating_add(64),
        };
        if head.last().is_some_and(|byte| *byte >= 0x80) || length > max as u64 {
            return Err(Error::at(ErrorKind::TooMany { what: "bytes in a record", max }, start).into());
        }
        let origin = self.position;
        // The buffer grows as bytes arrive, because the stated length may be false.
        let mut payload = Vec::new();
        self.input.by_ref().take(length).read_to_end(&mut payload)?;
        self.position += payload.len();
        let mut sum = [0; 4];
        if (payload.len() as u64) < length || !self.fill(&mut sum)? {
            return Err(Error::at(ErrorKind::CutOff, start).into());
        }
        let mut crc = crc32fast::Hasher::new();
        crc.update(&head);
        crc.update(&payload);
        if crc.finalize().to_le_bytes() != sum {
            return Err(Error::at(ErrorKind::Checksum, start).into());
        }
        Ok(Record { kind: head[0], payload, origin })
    }

    fn byte(&mut self, start: usize) -> Result<u8, SaveError> {
        let mut byte = [0];
        if self.fill(&mut byte)? { Ok(byte[0]) } else { Err(Error::at(ErrorKind::CutOff, start).into()) }
    }

    /// Fills a buffer. Returns false if the file ends before.
    fn fill(&mut self, buffer: &mut [u8]) -> Result<bool, SaveError> {
        match self.input.read_exact(buffer) {
            Ok(()) => {
                self.position += buffer.len();
                Ok(true)
            }
            Err(error) if error.kind() == IoKind::UnexpectedEof => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

fn decompress(
    stored: &[u8],
    compression: u8,
    raw_len: usize,
    input: &Input<'_>,
) -> Result<Vec<u8>, SaveError> {
    let failed = |why: String| SaveError::from(input.error(ErrorKind::Compression(why)));
    match compression {
        0 if stored.len() == raw_len => Ok(stored.to_vec()),
        0 => Err(failed(format!("{} bytes where {raw_len} were promised", stored.len()))),
        1 => {
            if raw_len > stored.len() * LZ4_GROWTH_MAX + 64 {
                return Err(failed("LZ4 cannot grow that much".into()));
            }
            let mut raw = vec![0; raw_len];
            let written = lz4_flex::block::decompress_into(stored, &mut raw)
                .map_err(|error| failed(error.to_string()))?;
            if written != raw_len {
                return Err(failed(format!("{written} bytes where {raw_len} were promised")));
            }
            Ok(raw)
        }
        other => Err(input.error(ErrorKind::Newer(format!("compression {other}"))).into()),
    }
}

impl Chunk<'_> {
    /// The shape of the rows.
    pub fn shape(&self) -> &Shape {
        &self.layout.shape
    }

    /// The decompressed contents.
    pub fn raw(&self) -> &[u8] {
        &self.raw
    }

    /// Decodes the rows as a type. Any version of the type may have written them. The values may borrow from the chunk.
    ///
    /// # Errors
    /// Fails if the rows do not fit the type, or exceed the limits.
    pub fn decode<'c, T: Read<'c>>(&'c self) -> Result<Vec<T>, SaveError> {
        let own = Shape::of::<T>();
        let resolution = if own == self.layout.shape {
            None
        } else {
            Some(Resolution::new(self.layout.shape.clone(), &own)?)
        };
        let plan = resolution.as_ref().and_then(Resolution::plan);
        let bits = plan.map_or(<T as Wire>::BITS, |plan| plan.bits());
        let mut input = Input::new(&self.raw, 0, self.limits);
        let text = input.begin_body()?;
        let column =
            input.block(self.rows, bits, size_of::<T>(), |input| T::Column::open(plan, self.rows, input))?;
        input.end()?;
        Ok(column.values(0..self.rows, text).collect())
    }

    /// Decodes the rows as dynamic values.
    ///
    /// # Errors
    /// Fails if the rows are malformed, or exceed the limits.
    pub fn decode_values(&self) -> Result<Vec<Value>, SaveError> {
        Ok(crate::dynamic::open_rows(self.layout, self.rows, &self.raw, self.limits)?)
    }

    /// Returns each leaf's size, in the shape's order: path, type, coding, bytes.
    ///
    /// # Errors
    /// Fails if the rows are malformed, or exceed the limits.
    pub fn sizes(&self) -> Result<Vec<crate::LeafSize>, SaveError> {
        Ok(crate::dynamic::sizes(self.layout, self.rows, &self.raw, self.limits)?)
    }
}

impl<R> FileReader<R> {
    /// Number of values read so far.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// How many bytes of the file were read so far.
    pub fn position(&self) -> usize {
        self.position
    }
}
