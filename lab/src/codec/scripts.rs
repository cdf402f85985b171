//! Runs the same tests in JavaScript: in Node, and in a browser under a strict content security policy.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};

use crate::report::{BarChart, Cell, Chart, Column, Samples, Section, Table};

use super::measure::{packed_sizes, timed};
use super::movement::{self, Move};
use super::save;
use super::save_types::Save;
use super::{CodecError, Options, Result};

/// The output of the script: one JSON object.
#[derive(Deserialize)]
struct Printed {
    engine: String,
    notes: Vec<String>,
    tests: Vec<Test>,
}

#[derive(Deserialize)]
struct Test {
    title: String,
    unit: String,
    rows: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    codec: String,
    /// The written bytes, in hexadecimal.
    body: String,
    encode: Vec<f64>,
    decode: Vec<f64>,
}

pub(super) fn run(options: &Options) -> Result<Vec<Section>> {
    let mut sections = Vec::new();
    if options.only.iter().any(|only| only == "deltas") && options.only.len() == 1 {
        return Ok(sections);
    }
    if options.node {
        sections.push(section(&script(options, false)?)?);
    }
    if options.browser {
        sections.push(section(&script(options, true)?)?);
    }
    Ok(sections)
}

/// The input of the script, as a file.
#[derive(Serialize)]
struct Task<'a> {
    samples: usize,
    only: &'a [String],
    moves: &'a [Move],
    save: &'a Save,
}

fn script(options: &Options, browser: bool) -> Result<Printed> {
    let failed = |reason: String| CodecError::Program { program: "node".into(), reason };
    let bench = bench().ok_or_else(|| {
        failed("lab/javascript is not here; run this inside a checkout of the repository".into())
    })?;
    let task = Task {
        samples: options.samples,
        only: &options.only,
        moves: &movement::frame()?,
        save: &save::load()?,
    };
    let task = serde_json::to_vec(&task).map_err(|error| failed(error.to_string()))?;
    let file = std::env::temp_dir().join(format!("nowcast-codec-task-{}.json", std::process::id()));
    fs::write(&file, task).map_err(|error| failed(error.to_string()))?;
    let mut command = Command::new("node");
    command.arg(&bench).arg("--task").arg(&file);
    if browser {
        command.arg("--browser");
        if let Some(path) = &options.browser_path {
            command.arg("--browser-path").arg(path);
        }
    }
    let output = command.stderr(Stdio::inherit()).output().map_err(|error| failed(error.to_string()));
    // If the file cannot be removed, it stays among the system's temporary files.
    let _ = fs::remove_file(&file);
    let output = output?;
    if !output.status.success() {
        return Err(failed(format!("the bench ended with {}", output.status)));
    }
    serde_json::from_slice(&output.stdout)
        .map_err(|error| failed(format!("the output of the bench cannot be parsed: {error}")))
}

/// Returns the script, if this program runs in a checkout.
fn bench() -> Option<PathBuf> {
    let here = std::env::current_dir().ok()?;
    here.ancestors().map(|folder| folder.join("lab/javascript/run.mjs")).find(|path| path.is_file())
}

fn section(printed: &Printed) -> Result<Section> {
    let mut section = Section::new(format!("JavaScript: {}", printed.engine));
    for note in &printed.notes {
        section.text(note);
    }
    for test in &printed.tests {
        let table = table(test)?;
        let title = format!("{}: time", test.title);
        section.chart(Chart::Bars(BarChart::from_table(title, &test.unit, &table, 0, &[4, 5]).log()));
        section.table(table);
    }
    Ok(section)
}

fn table(test: &Test) -> Result<Table> {
    let mut table = Table::new(vec![
        Column::text(&test.title),
        Column::number("raw", "bytes"),
        Column::number("LZ4", "bytes"),
        Column::number("zstd 3", "bytes"),
        Column::number("encode", &test.unit),
        Column::number("decode", &test.unit),
        Column::number("speed, JSON = 1", ""),
    ]);
    let both = |row: &Row| {
        [&row.encode, &row.decode]
            .map(|values| values.iter().copied().collect::<Samples>().quantile(0.5))
            .iter()
            .sum()
    };
    let reference: f64 = test.rows.first().map_or(0.0, both);
    for row in &test.rows {
        let total: f64 = both(row);
        let [encode, decode] = [&row.encode, &row.decode].map(|values| {
            let mut samples: Samples = values.iter().copied().collect();
            timed(&mut samples)
        });
        let speed = if total > 0.0 { Cell::number(reference / total, 2) } else { Cell::Missing };
        let body = from_hex(&row.body).ok_or_else(|| CodecError::Program {
            program: "node".into(),
            reason: format!("{}: its output is not hexadecimal", row.codec),
        })?;
        let [lz4, zstd] = packed_sizes(&body).map(Cell::count);
        table.row(vec![Cell::text(&row.codec), Cell::count(body.len()), lz4, zstd, encode, decode, speed]);
    }
    Ok(table)
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let (pairs, []) = text.as_bytes().as_chunks::<2>() else { return None };
    let digit = |digit: u8| char::from(digit).to_digit(16);
    pairs.iter().map(|&[high, low]| Some((digit(high)? * 16 + digit(low)?) as u8)).collect()
}
