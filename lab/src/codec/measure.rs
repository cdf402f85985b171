//! Compares codecs by their sizes and their times. The codecs take turns while their times are measured.

use std::hint::black_box;
use std::time::{Duration, Instant};

use crate::report::{Cell, Column, Samples, Table};

use super::{CodecError, Result};

/// A codec for values of `T`.
pub(super) struct Subject<T> {
    pub(super) name: &'static str,
    pub(super) encode: fn(&T, &mut Vec<u8>),
    pub(super) decode: fn(&[u8]) -> std::result::Result<T, String>,
}

/// The measurements of one codec.
pub(super) struct Measured {
    pub(super) name: &'static str,
    pub(super) bytes: Vec<u8>,
    pub(super) encode: Samples,
    pub(super) decode: Samples,
}

/// Approximate duration of a sample. It is long enough for the cost of the clock to be negligible.
const SAMPLE: Duration = Duration::from_millis(4);

/// Checks every codec on `value`, then measures the codecs, which take turns. Times are in nanoseconds.
pub(super) fn compare<T: PartialEq>(
    what: &str,
    value: &T,
    subjects: &[Subject<T>],
    samples: usize,
) -> Result<Vec<Measured>> {
    let mut all = Vec::new();
    for subject in subjects {
        let mut bytes = Vec::new();
        (subject.encode)(value, &mut bytes);
        let differs =
            |reason: String| CodecError::Differs { codec: subject.name.into(), what: what.into(), reason };
        if (subject.decode)(&bytes).map_err(differs)? != *value {
            return Err(differs("the value differs".into()));
        }
        all.push(Measured { name: subject.name, bytes, encode: Samples::new(), decode: Samples::new() });
    }
    let mut out = Vec::new();
    let mut repeats = vec![(0u32, 0u32); subjects.len()];
    // The first round warms up, and determines the number of repetitions.
    for round in 0..=samples {
        for (at, subject) in subjects.iter().enumerate() {
            let bytes = all[at].bytes.clone();
            let mut encode = || {
                out.clear();
                (subject.encode)(black_box(value), &mut out);
                black_box(&out);
            };
            if round == 0 {
                repeats[at].0 = repeats_for(&mut encode);
            } else {
                all[at].encode.push(time(repeats[at].0, &mut encode));
            }
            let mut decode = || drop(black_box((subject.decode)(black_box(&bytes))));
            if round == 0 {
                repeats[at].1 = repeats_for(&mut decode);
            } else {
                all[at].decode.push(time(repeats[at].1, &mut decode));
            }
        }
    }
    Ok(all)
}

fn repeats_for(run: &mut impl FnMut()) -> u32 {
    let start = Instant::now();
    let mut count = 0u32;
    while start.elapsed() < SAMPLE {
        run();
        count += 1;
    }
    count.max(1)
}

/// Returns the nanoseconds of one call.
fn time(repeats: u32, run: &mut impl FnMut()) -> f64 {
    let start = Instant::now();
    for _ in 0..repeats {
        run();
    }
    start.elapsed().as_nanos() as f64 / f64::from(repeats)
}

/// Returns a table of sizes and times. The table states the speed of both directions together, relative to the first codec in
/// the table.
pub(super) fn table(measured: &mut [Measured], unit: &str, scale: f64) -> Table {
    let mut table = Table::new(vec![
        Column::text("codec"),
        Column::number("raw", "bytes"),
        Column::number("LZ4", "bytes"),
        Column::number("zstd 3", "bytes"),
        Column::number("encode", unit),
        Column::number("decode", unit),
        Column::number("speed, JSON = 1", ""),
    ]);
    let both = |one: &mut Measured| one.encode.quantile(0.5) + one.decode.quantile(0.5);
    let reference = measured.first_mut().map_or(0.0, both);
    for one in measured.iter_mut() {
        let mut row = vec![Cell::text(one.name), Cell::count(one.bytes.len())];
        row.extend(packed_sizes(&one.bytes).map(Cell::count));
        let total = both(one);
        for samples in [&mut one.encode, &mut one.decode] {
            let mut scaled: Samples = samples.values().iter().map(|value| value * scale).collect();
            row.push(timed(&mut scaled));
        }
        row.push(Cell::number(reference / total, 2));
        table.row(row);
    }
    table
}

/// Shows times with the number of digits that is meaningful.
pub(super) fn timed(samples: &mut Samples) -> Cell {
    let summary = samples.summary();
    let places = if summary.median >= 100.0 {
        0
    } else if summary.median >= 10.0 {
        1
    } else {
        2
    };
    Cell::spread(summary, places)
}

/// Returns the sizes as an LZ4 block and in zstd at level 3. Each is checked by unpacking.
pub(super) fn packed_sizes(bytes: &[u8]) -> [usize; 2] {
    let lz4 = lz4_flex::block::compress(bytes);
    let back = lz4_flex::block::decompress(&lz4, bytes.len()).expect("LZ4 restores its own output");
    assert_eq!(back, bytes, "LZ4 returns its input");
    let zstd = zstd::bulk::compress(bytes, 3).expect("memory is enough");
    let back = zstd::bulk::decompress(&zstd, bytes.len()).expect("zstd restores its own output");
    assert_eq!(back, bytes, "zstd returns its input");
    [lz4.len(), zstd.len()]
}
