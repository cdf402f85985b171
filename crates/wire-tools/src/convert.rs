//! Converts files of values from one format into another, one chunk at a time.

use std::fmt;
use std::io::{BufRead, BufReader, Read, Write};

use serde::de::{DeserializeSeed, SeqAccess, Visitor};

use nowcast_wire::any::{self, Value};
use nowcast_wire::save::{FileReader, FileWriter, MAGIC, Options};
use nowcast_wire::{Limits, infer};

use crate::ToolError;
use crate::json::write_json;

/// Number of rows in a chunk, if a list is written as a stream of values.
const CHUNK_ROWS: usize = 4_096;
/// If an input has at least this size and is a list, it is written as a stream.
const STREAM_BYTES_MIN: u64 = 16 << 20;

/// A file format for values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// JSON.
    Json,
    /// MessagePack; msgpackr's records are understood.
    MessagePack,
    /// A save file of this crate.
    Save,
}

impl Format {
    /// Determines the format of a file from its first bytes and its extension.
    pub fn detect(start: &[u8], extension: &str) -> Self {
        let start = start.strip_prefix(BYTE_ORDER_MARK).unwrap_or(start);
        let first = start.iter().find(|byte| !byte.is_ascii_whitespace());
        match (extension, first) {
            _ if start.starts_with(&MAGIC[..start.len().clamp(4, 8)]) => Self::Save,
            ("json", _) => Self::Json,
            ("msgpack" | "mpk" | "mp", _) => Self::MessagePack,
            (_, Some(b'{' | b'[' | b'"')) => Self::Json,
            _ => Self::MessagePack,
        }
    }

    /// Returns the format that belongs to a file extension.
    pub fn of_extension(extension: &str) -> Option<Self> {
        match extension {
            "json" => Some(Self::Json),
            "msgpack" | "mpk" | "mp" => Some(Self::MessagePack),
            "ncs" => Some(Self::Save),
            _ => None,
        }
    }
}

/// Editors on Windows write these bytes before a text.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// A callback that is called repeatedly with the number of bytes read so far.
pub type Progress<'p> = dyn FnMut(u64) + 'p;

/// Converts a file. `bytes` is the size of the input. This size determines whether a list is written as a stream.
///
/// # Errors
/// Fails if the input is malformed or has another format, or if the output cannot be written.
pub fn convert<W: Write>(
    input: impl Read,
    bytes: u64,
    from: Format,
    output: W,
    to: Format,
    options: Options,
    progress: &mut Progress<'_>,
) -> Result<W, ToolError> {
    let mut sink = Sink::new(output, to, options)?;
    let stream = bytes >= STREAM_BYTES_MIN;
    each_value(input, from, stream, progress, &mut |value| sink.put(value))?;
    sink.finish()
}

/// Reads the value of a file. The rows of a save file that holds a list are one list.
///
/// # Errors
/// Fails if the file cannot be read, or is malformed.
pub fn read_value(input: impl Read, from: Format) -> Result<Value, ToolError> {
    let mut items = Vec::new();
    let mut whole = None;
    each_value(input, from, false, &mut |_| {}, &mut |part| {
        match part {
            Part::Whole(value) => whole = Some(value),
            Part::Item(value) => items.push(value),
            Part::ListBegins => {}
        }
        Ok(())
    })?;
    Ok(whole.unwrap_or(Value::List(items)))
}

/// A part of an input.
pub(crate) enum Part {
    /// The only value of the input.
    Whole(Value),
    /// The input is a list, whose items follow.
    ListBegins,
    Item(Value),
}

pub(crate) type Each<'e> = dyn FnMut(Part) -> Result<(), ToolError> + 'e;

/// Calls `each` with each part of a file. With `stream`, a list in JSON is passed on item by item.
pub(crate) fn each_value(
    input: impl Read,
    from: Format,
    stream: bool,
    progress: &mut Progress<'_>,
    each: &mut Each<'_>,
) -> Result<(), ToolError> {
    let mut input = BufReader::with_capacity(1 << 16, Counted { input, read: 0, progress });
    if from == Format::Json && input.fill_buf()?.starts_with(BYTE_ORDER_MARK) {
        input.consume(BYTE_ORDER_MARK.len());
    }
    match from {
        Format::Save => {
            let mut reader = FileReader::new(input, Limits::FILE)?;
            let mut first = true;
            while let Some(chunk) = reader.next_chunk()? {
                let values = chunk.decode_values()?;
                if std::mem::take(&mut first) && !is_single(&reader) {
                    each(Part::ListBegins)?;
                }
                let single = is_single(&reader);
                for value in values {
                    each(if single { Part::Whole(value) } else { Part::Item(value) })?;
                }
            }
            if first && !is_single(&reader) {
                each(Part::ListBegins)?;
            }
            Ok(())
        }
        Format::MessagePack => {
            let mut bytes = Vec::new();
            input.read_to_end(&mut bytes)?;
            // A tool may use all of the machine's memory.
            let limits = Limits { memory_bytes_max: usize::MAX, ..Limits::FILE };
            each(Part::Whole(any::from_slice_with_records(&bytes, &limits)?))
        }
        Format::Json if stream && begins_list(&mut input)? => {
            each(Part::ListBegins)?;
            let mut json = serde_json::Deserializer::from_reader(input);
            let mut failed = Ok(());
            let result = Items { each, failed: &mut failed }.deserialize(&mut json);
            failed?;
            result?;
            Ok(json.end()?)
        }
        Format::Json => each(Part::Whole(serde_json::from_reader(input)?)),
    }
}

/// Whether the file states that it holds one value, and not a list of values.
fn is_single<R: Read>(reader: &FileReader<R>) -> bool {
    reader.about().and_then(|about| about.get("list")) != Some(&Value::Bool(true))
}

fn begins_list(input: &mut impl BufRead) -> Result<bool, ToolError> {
    let start = input.fill_buf()?;
    Ok(start.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'['))
}

/// Passes on the items of a JSON list one by one.
struct Items<'e, 'f> {
    each: &'e mut Each<'f>,
    failed: &'e mut Result<(), ToolError>,
}

impl<'de> DeserializeSeed<'de> for Items<'_, '_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Items<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while let Some(item) = items.next_element()? {
            if let Err(error) = (self.each)(Part::Item(item)) {
                *self.failed = Err(error);
                return Err(serde::de::Error::custom("writing failed"));
            }
        }
        Ok(())
    }
}

/// Counts the bytes read.
struct Counted<'p, 'q, R> {
    input: R,
    read: u64,
    progress: &'p mut Progress<'q>,
}

impl<R: Read> Read for Counted<'_, '_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.input.read(buffer)?;
        self.read += count as u64;
        (self.progress)(self.read);
        Ok(count)
    }
}

/// Writes values in a format.
enum Sink<W: Write> {
    Json { output: W, items: Option<usize> },
    MessagePack { output: W, items: Option<Vec<Value>> },
    Save { writer: Box<FileWriter<W>>, rows: Vec<Value> },
}

impl<W: Write> Sink<W> {
    fn new(output: W, to: Format, options: Options) -> Result<Self, ToolError> {
        Ok(match to {
            Format::Json => Self::Json { output, items: None },
            Format::MessagePack => Self::MessagePack { output, items: None },
            Format::Save => {
                Self::Save { writer: Box::new(FileWriter::new(output, options)?), rows: Vec::new() }
            }
        })
    }

    fn put(&mut self, part: Part) -> Result<(), ToolError> {
        match (self, part) {
            (Self::Json { output, items }, Part::ListBegins) => {
                *items = Some(0);
                output.write_all(b"[")?;
            }
            (Self::Json { output, .. }, Part::Whole(value)) => write_json(&value, output)?,
            (Self::Json { output, items }, Part::Item(value)) => {
                let count = items.get_or_insert(0);
                if *count > 0 {
                    output.write_all(b",")?;
                }
                *count += 1;
                write_json(&value, output)?;
            }
            (Self::MessagePack { items, .. }, Part::ListBegins) => *items = Some(Vec::new()),
            (Self::MessagePack { output, .. }, Part::Whole(value)) => {
                output.write_all(&any::to_vec(&value))?
            }
            (Self::MessagePack { items, .. }, Part::Item(value)) => items.get_or_insert_default().push(value),
            (Self::Save { writer, .. }, Part::ListBegins) => writer.about(&about(true))?,
            (Self::Save { writer, .. }, Part::Whole(value)) => {
                writer.about(&about(false))?;
                writer.write_values(&infer([&value]), &[&value])?;
            }
            (Self::Save { writer, rows }, Part::Item(value)) => {
                rows.push(value);
                if rows.len() == CHUNK_ROWS {
                    put_chunk(writer, rows)?;
                }
            }
        }
        Ok(())
    }

    fn finish(self) -> Result<W, ToolError> {
        match self {
            Self::Json { mut output, items } => {
                output.write_all(if items.is_some() { b"]\n" } else { b"\n" })?;
                output.flush()?;
                Ok(output)
            }
            Self::MessagePack { mut output, items } => {
                if let Some(items) = items {
                    output.write_all(&any::to_vec(&Value::List(items)))?;
                }
                output.flush()?;
                Ok(output)
            }
            Self::Save { mut writer, mut rows } => {
                put_chunk(&mut writer, &mut rows)?;
                Ok(writer.finish()?)
            }
        }
    }
}

fn put_chunk<W: Write>(writer: &mut FileWriter<W>, rows: &mut Vec<Value>) -> Result<(), ToolError> {
    let references: Vec<&Value> = rows.iter().collect();
    writer.write_values(&infer(rows.iter()), &references)?;
    rows.clear();
    Ok(())
}

/// The *about* record of a converted file.
fn about(list: bool) -> Value {
    let program = concat!("nowcast ", env!("CARGO_PKG_VERSION"));
    Value::Map(vec![("program".into(), program.into()), ("list".into(), list.into())])
}
