//! Measures the game save of the MessagePack article: its size, its speed, and the cold start of a program that has just been
//! launched.

use crate::report::{BarChart, Cell, Chart, Column, Section, Table};

use super::measure::{Subject, compare, table};
use super::save_subjects::subjects;
use super::save_types::Save;
use super::{CodecError, Options, Result, cold, data};

pub(super) fn run(options: &Options) -> Result<Section> {
    let save = load()?;
    let all = subjects();
    let mut measured = compare("the game save", &save, &all, options.samples)?;
    let sizes = table(&mut measured, "ms", 1e-6);
    let mut section = Section::new("A game save in Rust");
    section.text(
        "40 scenes with 5,371 entities, inventories and quests. Ours contains its shape with names, so other versions of the types can read it. bitcode and wincode are positional and cannot do that.",
    );
    section.chart(Chart::Bars(BarChart::from_table("Size", "bytes", &sizes, 0, &[1, 2, 3])));
    section.chart(Chart::Bars(BarChart::from_table("Time", "ms", &sizes, 0, &[4, 5]).log()));
    section.table(sizes);
    let cold = cold_table(&all, &save, options)?;
    section.text(format!(
        "Cold start: a fresh process for every sample ({} each) reads a file of LZ4, unpacks and decodes it once.",
        options.samples
    ));
    section.chart(Chart::Bars(BarChart::from_table("Cold start", "ms", &cold, 0, &[2])));
    section.table(cold);
    Ok(section)
}

/// Returns the save. The save is checked against the text from which it was read.
pub(super) fn load() -> Result<Save> {
    let text = data::save()?;
    let wrong = |reason: String| CodecError::Data { name: "game-save.json".into(), reason };
    let save: Save = serde_json::from_slice(&text).map_err(|error| wrong(error.to_string()))?;
    if serde_json::to_vec(&save).ok().as_deref() != Some(&text) {
        return Err(wrong("the types lose part of the save".into()));
    }
    Ok(save)
}

fn cold_table(subjects: &[Subject<Save>], save: &Save, options: &Options) -> Result<Table> {
    let mut table = Table::new(vec![
        Column::text("codec"),
        Column::number("file", "bytes"),
        Column::number("read + decode", "ms"),
    ]);
    let measured = cold::measure(subjects, save, options.samples)?;
    for (subject, (bytes, mut samples)) in subjects.iter().zip(measured) {
        table.row(vec![Cell::text(subject.name), Cell::count(bytes), Cell::spread(samples.summary(), 2)]);
    }
    Ok(table)
}
