//! Save files (`spec/WIRE.md`, section 9).

use nowcast_wire::save::FileReader;
use nowcast_wire::{Limits, Shape};

use super::fields::{Fault, Fields, as_is, nothing};
use super::reading::json;

/// Maximum number of rows of a chunk that are shown.
const ROWS_SHOWN_MAX: usize = 3;

pub(super) fn file(fields: &mut Fields<'_>) -> Result<(), Fault> {
    let whole = fields.rest();
    fields.take(8, "magic", |magic| {
        if magic == b"\x89NCS\r\n\x1a\n" {
            "a save file".into()
        } else {
            "damaged, perhaps by a transfer as text".into()
        }
    })?;
    fields.number(2, "version", as_is)?;
    fields.number(2, "flags", as_is)?;
    while !fields.is_empty() {
        record(fields)?;
    }
    // The file reader decides whether the file is valid, because it checks checksums, counts and values.
    let values = values(whole).or_else(|error| fields.fault("save", error))?;
    fields.title(format_args!("{} values; the first:", values.len()));
    fields.inside(|fields| {
        values.iter().take(ROWS_SHOWN_MAX).for_each(|value| fields.title(value));
        Ok(())
    })
}

fn record(fields: &mut Fields<'_>) -> Result<(), Fault> {
    let start = fields.at();
    let kind = fields.number(1, "record", |kind| match kind as u8 {
        b'S' => "shape".into(),
        b'C' => "chunk".into(),
        b'M' => "about".into(),
        b'E' => "end".into(),
        other => format!("of an unknown kind 0x{other:02x}"),
    })?;
    let length = fields.length("length")?;
    fields.within(length, |fields| match kind as u8 {
        b'S' => shape(fields),
        b'C' => chunk(fields),
        b'E' => {
            fields.varint("chunks", as_is)?;
            fields.varint("rows", as_is)?;
            fields.end("the last record")
        }
        _ => {
            let length = fields.rest().len();
            fields.take(length, "payload", nothing).map(drop)
        }
    })?;
    fields.number(4, "crc", |_| format!("CRC-32 of the record from byte {start} on")).map(drop)
}

fn shape(fields: &mut Fields<'_>) -> Result<(), Fault> {
    let bytes = fields.rest();
    match Shape::from_bytes(bytes) {
        Ok(shape) => fields.take(bytes.len(), "shape", |_| shape.to_string()).map(drop),
        Err(error) => fields.fault("shape", error),
    }
}

fn chunk(fields: &mut Fields<'_>) -> Result<(), Fault> {
    fields.varint("shape", |shape| format!("number {shape} of the file"))?;
    fields.varint("rows", as_is)?;
    fields.number(1, "compression", |compression| match compression {
        0 => "none".into(),
        1 => "LZ4 block".into(),
        2 => "Zstandard frame".into(),
        _ => "unknown".into(),
    })?;
    fields.varint("raw length", |length| format!("{length} bytes when unpacked"))?;
    let length = fields.rest().len();
    fields.take(length, "stored", |_| format!("{length} bytes")).map(drop)
}

fn values(whole: &[u8]) -> Result<Vec<String>, String> {
    let mut reader = FileReader::new(whole, Limits::FILE).map_err(|error| error.to_string())?;
    let mut values = Vec::new();
    while let Some(chunk) = reader.next_chunk().map_err(|error| error.to_string())? {
        let rows = chunk.decode_values().map_err(|error| error.to_string())?;
        values.extend(rows.iter().map(json));
    }
    Ok(values)
}
