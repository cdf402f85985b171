//! Measures replication deltas on two recorded worlds.

use std::path::Path;
use std::time::Instant;

use nowcast_wire::delta::{Codec, Frame, Layout};

use crate::report::{BarChart, Chart};
use crate::report::{Cell, Column, Samples, Section, Table};

use super::{CodecError, Options, Result, data};

pub(super) fn run(options: &Options) -> Result<Section> {
    let mut section = Section::new("Replication deltas in Rust");
    section.text(
        "A separate receiver decodes every frame, and the frames of both ends are compared. Averages are over the frames with a baseline.",
    );
    let file = options.input.as_deref();
    let is = |ending: &str| file.is_some_and(|file| file.extension().is_some_and(|found| found == ending));
    if file.is_none() || is("f64") {
        section.text(
            "moves: 1,000 entities at 10 frames a second, positions in millimetres, angles in 16 bits. Deltas are encoded against the last three frames, which are acknowledged.",
        );
        let table = moves(options, file.filter(|_| is("f64")))?;
        section.chart(Chart::Bars(BarChart::from_table(
            "moves: size",
            "bits per entity and frame",
            &table,
            0,
            &[2],
        )));
        section.table(table);
    }
    if file.is_none() || is("i32") {
        section.text(
            "cubes: 901 bodies at 60 frames a second. Deltas are encoded against the frames 6, 7 and 8 back.",
        );
        let table = cubes(options, file.filter(|_| is("i32")))?;
        section.chart(Chart::Bars(BarChart::from_table("cubes: size", "bytes a frame", &table, 0, &[1])));
        section.table(table);
    }
    if section.tables.is_empty() {
        return Err(CodecError::Data {
            name: file.map(|file| file.display().to_string()).unwrap_or_default(),
            reason: "deltas are measured on files that end in .f64 or .i32".into(),
        });
    }
    Ok(section)
}

fn moves(options: &Options, file: Option<&Path>) -> Result<Table> {
    let frames = data::moves(file)?.quantised();
    table("moves", &data::Moves::layout(), &frames, &[1, 2, 3], options.samples)
}

fn cubes(options: &Options, file: Option<&Path>) -> Result<Table> {
    table("cubes", &data::cubes_layout(), &data::cubes(file)?, &[6, 7, 8], options.samples)
}

fn table(name: &str, layout: &Layout, frames: &[Frame], ages: &[usize], samples: usize) -> Result<Table> {
    let mut table = Table::new(columns());
    table.row(row(name, frames, converse(name, layout, frames, ages, samples)?));
    Ok(table)
}

fn columns() -> Vec<Column> {
    vec![
        Column::text("codec"),
        Column::number("size", "bytes a frame"),
        Column::number("size", "bits per entity and frame"),
        Column::number("encode", "µs a frame"),
        Column::number("decode", "µs a frame"),
    ]
}

fn row(name: &str, frames: &[Frame], mut found: Found) -> Vec<Cell> {
    let entities = frames.first().map_or(1, Frame::len) as f64;
    vec![
        Cell::text(name),
        Cell::number(found.bytes, 1),
        Cell::number(found.bytes * 8.0 / entities, 2),
        Cell::spread(found.encode.summary(), 1),
        Cell::spread(found.decode.summary(), 1),
    ]
}

/// The measured cost of a conversation.
struct Found {
    /// Mean bytes of a frame.
    bytes: f64,
    /// Mean time of a frame in microseconds. Each repetition of the whole conversation adds one sample.
    encode: Samples,
    decode: Samples,
}

/// Sends all frames. Each is encoded against the frames of `ages` steps earlier. The conversation is repeated to measure the
/// times.
fn converse(name: &str, layout: &Layout, frames: &[Frame], ages: &[usize], samples: usize) -> Result<Found> {
    let entities_max = frames.iter().map(Frame::len).max().unwrap_or(0);
    let codec = || Codec::new(layout.clone(), entities_max);
    let mut found = Found { bytes: 0.0, encode: Samples::new(), decode: Samples::new() };
    // The first repetition only warms up.
    for repetition in 0..=samples.div_ceil(2) {
        let (mut sender, mut receiver) = (codec(), codec());
        let (mut bytes, mut encode, mut decode, mut counted) = (0usize, 0u128, 0u128, 0u32);
        let mut packet = Vec::new();
        for (at, frame) in frames.iter().enumerate() {
            packet.clear();
            let past: Vec<&Frame> =
                ages.iter().filter(|&&age| age <= at).map(|&age| &frames[at - age]).collect();
            let start = Instant::now();
            sender.encode(frame, &past, &mut packet).map_err(|error| differs(name, &error.to_string()))?;
            let encoded = start.elapsed();
            let start = Instant::now();
            let read = receiver
                .decode(frame.tick(), &packet, &past)
                .map_err(|error| differs(name, &error.to_string()))?;
            let decoded = start.elapsed();
            if read != *frame {
                return Err(differs(name, "the frame differs"));
            }
            if at >= ages[0] {
                bytes += packet.len();
                encode += encoded.as_nanos();
                decode += decoded.as_nanos();
                counted += 1;
            }
        }
        let mean = |total: u128| total as f64 / 1e3 / f64::from(counted.max(1));
        found.bytes = bytes as f64 / f64::from(counted.max(1));
        if repetition > 0 {
            found.encode.push(mean(encode));
            found.decode.push(mean(decode));
        }
    }
    Ok(found)
}

fn differs(codec: &str, reason: &str) -> CodecError {
    CodecError::Differs { codec: codec.into(), what: "a frame".into(), reason: reason.into() }
}
