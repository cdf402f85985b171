//! Writes save files, one chunk at a time.

use std::io::Write;

use super::{Compression, MAGIC, Options, SaveError, VERSION, kind};
use crate::any::{self, Value};
use crate::output::{Writer, put_varint};
use crate::plan::Layout;
use crate::shape::Shape;
use crate::wire::Wire;

/// Writes a save file into any writer. If [`finish`](Self::finish) is not called, readers report that the file was cut off.
pub struct FileWriter<W> {
    output: W,
    options: Options,
    /// The shapes that were already written, by their bytes.
    shapes: Vec<(Vec<u8>, Layout)>,
    chunks: u64,
    rows: u64,
}

impl<W: Write> FileWriter<W> {
    /// Begins a file.
    ///
    /// # Errors
    /// Fails if the header cannot be written.
    pub fn new(mut output: W, options: Options) -> Result<Self, SaveError> {
        output.write_all(&MAGIC)?;
        output.write_all(&VERSION.to_le_bytes())?;
        output.write_all(&0u16.to_le_bytes())?;
        Ok(Self { output, options, shapes: Vec::new(), chunks: 0, rows: 0 })
    }

    /// Sets information about the file: program, title, time.
    ///
    /// # Errors
    /// Fails if the entry cannot be written.
    pub fn about(&mut self, about: &Value) -> Result<(), SaveError> {
        self.record(kind::ABOUT, &any::to_vec(about))
    }

    /// Writes values of one type as one chunk. A chunk of a few thousand rows compresses well and needs little memory.
    ///
    /// # Errors
    /// Fails if the chunk cannot be written, or if this build does not have the compression.
    pub fn write<T: Wire>(&mut self, rows: &[T]) -> Result<(), SaveError> {
        if rows.is_empty() {
            return Ok(());
        }
        let shape = self.shape(&Shape::of::<T>())?;
        let mut raw = Vec::new();
        Writer::new(&mut raw, self.options.effort)
            .body(None, rows.len(), T::BITS, |writer| T::write(rows.iter(), writer));
        self.chunk(shape, rows.len(), &raw)
    }

    /// Writes dynamic values of one shape as one chunk.
    ///
    /// # Errors
    /// Fails if a value does not fit the shape, if the chunk cannot be written, or if this build does not have the compression.
    pub fn write_values(&mut self, shape: &Shape, rows: &[&Value]) -> Result<(), SaveError> {
        if rows.is_empty() {
            return Ok(());
        }
        let index = self.shape(shape)?;
        let mut raw = Vec::new();
        crate::dynamic::write_rows(&self.shapes[index].1, rows, self.options.effort, &mut raw)?;
        self.chunk(index, rows.len(), &raw)
    }

    /// Ends the file and returns the underlying writer.
    ///
    /// # Errors
    /// Fails if the end of the file cannot be written.
    pub fn finish(mut self) -> Result<W, SaveError> {
        let mut payload = Vec::new();
        put_varint(&mut payload, self.chunks);
        put_varint(&mut payload, self.rows);
        self.record(kind::END, &payload)?;
        self.output.flush()?;
        Ok(self.output)
    }

    /// Returns the index of a shape. A shape is written before its first use.
    fn shape(&mut self, shape: &Shape) -> Result<usize, SaveError> {
        let bytes = shape.to_bytes();
        if let Some(index) = self.shapes.iter().position(|(known, _)| *known == bytes) {
            return Ok(index);
        }
        self.record(kind::SHAPE, &bytes)?;
        self.shapes.push((bytes, Layout::new(shape.clone())));
        Ok(self.shapes.len() - 1)
    }

    fn chunk(&mut self, shape: usize, rows: usize, raw: &[u8]) -> Result<(), SaveError> {
        let compressed = compress(raw, self.options.compression);
        // A chunk that does not shrink is stored uncompressed.
        let (code, stored) = match &compressed {
            Some((code, bytes)) if bytes.len() < raw.len() => (*code, bytes.as_slice()),
            _ => (0, raw),
        };
        let mut payload = Vec::with_capacity(stored.len() + 16);
        put_varint(&mut payload, shape as u64);
        put_varint(&mut payload, rows as u64);
        payload.push(code);
        put_varint(&mut payload, raw.len() as u64);
        payload.extend_from_slice(stored);
        self.chunks += 1;
        self.rows += rows as u64;
        self.record(kind::CHUNK, &payload)
    }

    fn record(&mut self, kind: u8, payload: &[u8]) -> Result<(), SaveError> {
        let mut head = vec![kind];
        put_varint(&mut head, payload.len() as u64);
        let mut crc = crc32fast::Hasher::new();
        crc.update(&head);
        crc.update(payload);
        self.output.write_all(&head)?;
        self.output.write_all(payload)?;
        self.output.write_all(&crc.finalize().to_le_bytes())?;
        Ok(())
    }
}

/// Returns the code of the compression and the compressed bytes; `None` without compression.
fn compress(raw: &[u8], compression: Compression) -> Option<(u8, Vec<u8>)> {
    match compression {
        Compression::None => None,
        Compression::Lz4 => Some((1, lz4_flex::block::compress(raw))),
    }
}
