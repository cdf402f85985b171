//! Columns of text: lengths, or a dictionary. The text itself is in the text area.

use std::collections::BTreeMap;

use super::read::read_codes;
use super::write::put_codes;
use super::{coding, read_lengths, write_lengths};
use crate::error::{ErrorKind, Result};
use crate::input::Input;
use crate::limits::DICTIONARY_MAX;
use crate::output::{Effort, Writer};

/// The ranges of the texts in the text area.
pub(crate) type Spans = Vec<(u32, u32)>;

/// Writes texts of the current block.
pub(crate) fn write_texts<'a>(
    texts: impl ExactSizeIterator<Item = &'a str> + Clone,
    writer: &mut Writer<'_>,
) {
    if writer.is_plain() {
        for text in texts {
            if !writer.is_last_flat_text() {
                writer.put_varint(text.len() as u64);
            }
            writer.put_text(text);
        }
        return;
    }
    if writer.effort == Effort::Small
        && let Some((entries, codes)) = dictionary(texts.clone())
    {
        writer.out.push(coding::DICTIONARY);
        writer.put_varint(entries.len() as u64);
        put_direct(entries.iter().copied(), writer);
        put_codes(&codes, entries.len(), writer.out);
        return;
    }
    writer.out.push(coding::RAW);
    put_direct(texts, writer);
}

fn put_direct<'a>(texts: impl Iterator<Item = &'a str> + Clone, writer: &mut Writer<'_>) {
    let lengths: Vec<u32> = texts.clone().map(|text| text.len() as u32).collect();
    write_lengths(&lengths, writer);
    texts.for_each(|text| writer.put_text(text));
}

/// Returns the distinct texts and a code for each row, if a dictionary saves bytes.
fn dictionary<'a>(texts: impl ExactSizeIterator<Item = &'a str>) -> Option<(Vec<&'a str>, Vec<u16>)> {
    let rows = texts.len();
    let mut known = BTreeMap::new();
    let mut entries = Vec::new();
    let mut codes = Vec::with_capacity(rows);
    let mut repeated = 0;
    for text in texts {
        let code = *known.entry(text).or_insert(entries.len());
        if code == entries.len() {
            if entries.len() == DICTIONARY_MAX {
                return None;
            }
            entries.push(text);
        } else {
            // A repetition saves its text and its length.
            repeated += text.len() + 1;
        }
        codes.push(code as u16);
    }
    let code_bytes =
        if entries.len() <= 16 { rows / 2 } else { rows * (1 + usize::from(entries.len() > 256)) };
    (repeated > code_bytes + 4).then_some((entries, codes))
}

/// Reads texts of the current block.
pub(crate) fn read_texts(rows: usize, input: &mut Input<'_>) -> Result<Spans> {
    input.charge(rows, 8)?;
    if input.is_plain() {
        let mut spans = Vec::with_capacity(rows);
        for _ in 0..rows {
            spans.push(read_plain(input)?);
        }
        return Ok(spans);
    }
    match input.byte()? {
        coding::RAW => read_direct(rows, input),
        coding::DICTIONARY => read_dictionary(rows, input),
        other => Err(input.error(ErrorKind::Coding { column: "text", coding: other })),
    }
}

/// Reads one text of a plain block.
pub(crate) fn read_plain(input: &mut Input<'_>) -> Result<(u32, u32)> {
    if input.is_last_flat_text() {
        return Ok(input.last_flat_span());
    }
    let length = input.count()?;
    input.text_span(length)
}

fn read_direct(rows: usize, input: &mut Input<'_>) -> Result<Spans> {
    let lengths = read_lengths(rows, input)?;
    lengths.into_iter().map(|length| input.text_span(length as usize)).collect()
}

fn read_dictionary(rows: usize, input: &mut Input<'_>) -> Result<Spans> {
    let entries = input.varint()?;
    if !(1..=DICTIONARY_MAX as u64).contains(&entries) {
        return Err(input.error(ErrorKind::DictionarySize { entries, rows }));
    }
    let entries = entries as usize;
    input.charge(entries, 8)?;
    let dictionary = read_direct(entries, input)?;
    let mut spans = vec![(0, 0); rows];
    let mut slots = spans.iter_mut();
    let mut repeated = 0usize;
    read_codes(rows, entries, input, |code| {
        let (start, end) = dictionary[code];
        repeated += (end - start) as usize;
        if let Some(slot) = slots.next() {
            *slot = (start, end);
        }
    })?;
    // Every repetition becomes a copy. So all copies of a long text must be charged, even if a million codes refer to the text.
    input.charge(1, repeated)?;
    Ok(spans)
}
