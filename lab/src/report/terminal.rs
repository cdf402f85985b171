//! Renders the report as text.

use std::fmt::Write;

use super::{Align, Report, Table};

pub(super) fn render(report: &Report) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "{}\n", report.title);
    let _ = writeln!(out, "machine  {}", report.machine.describe());
    if let Some(seed) = report.seed {
        let _ = writeln!(out, "seed     {seed}");
    }
    let _ = writeln!(out, "repeat   {}", report.command);
    for note in &report.notes {
        let _ = writeln!(out, "note     {note}");
    }
    for section in &report.sections {
        let _ = writeln!(out, "\n== {}", section.title);
        for text in &section.text {
            let _ = writeln!(out, "{text}");
        }
        for table in &section.tables {
            out.push('\n');
            render_table(&mut out, table);
        }
    }
    out
}

fn render_table(out: &mut String, table: &Table) {
    let heads: Vec<String> = table.columns.iter().map(super::Column::head).collect();
    let rows: Vec<Vec<String>> =
        table.rows.iter().map(|row| row.iter().map(super::Cell::show).collect()).collect();
    let widths: Vec<usize> = (0..heads.len())
        .map(|column| {
            rows.iter().map(|row| width(&row[column])).chain([width(&heads[column])]).max().unwrap_or(0)
        })
        .collect();
    let mut line = |cells: &[String]| {
        let mut text = String::new();
        for ((cell, column), &full) in cells.iter().zip(&table.columns).zip(&widths) {
            let gap = " ".repeat(full - width(cell));
            match column.align {
                Align::Left => text.extend([cell, gap.as_str(), "  "]),
                Align::Right => text.extend([gap.as_str(), cell, "  "]),
            }
        }
        let _ = writeln!(out, "{}", text.trim_end());
    };
    line(&heads);
    line(&widths.iter().map(|&full| "─".repeat(full)).collect::<Vec<_>>());
    for row in &rows {
        line(row);
    }
}

/// Returns the number of columns that a string takes. The few characters beyond ASCII in reports are one column wide.
fn width(text: &str) -> usize {
    text.chars().count()
}
