//! Renders the report as one page that needs no other file: styles are inline, charts are SVG, and there is no script.

use std::fmt::Write;

use super::drawing::SERIES_MAX;
use super::escape::escape;
use super::{Align, Machine, Report, Section, Table, svg};

/// Ten hues that colour-blind readers can distinguish. Each has a light and a dark variant.
const STYLE: &str = "
:root{color-scheme:light dark;--page:#fbfbf9;--ink:#1c1d1f;--soft:#5d6166;--line:#dcdcd6;--band:#f1f1ec;
--s0:#2563b0;--s1:#c2571a;--s2:#2f8556;--s3:#8a4fb5;--s4:#a87400;--s5:#c23a6b;--s6:#1f8a94;--s7:#6d6f73;--s8:#7a5c3e;--s9:#5a7d1f}
@media(prefers-color-scheme:dark){:root{--page:#17181b;--ink:#e8e8e4;--soft:#a2a6ab;--line:#34373c;--band:#1f2125;
--s0:#6fa8ec;--s1:#ef9057;--s2:#66c08d;--s3:#bf8fe3;--s4:#dcae4a;--s5:#f07fa6;--s6:#5cc4cd;--s7:#a9abae;--s8:#c9a27e;--s9:#a5c95f}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:1080px;padding:2.5rem 1.25rem 5rem;background:var(--page);color:var(--ink);
font:16px/1.55 system-ui,sans-serif}
h1{font-size:1.9rem;line-height:1.2;margin:0 0 1rem}
h2{font-size:1.25rem;margin:3rem 0 .5rem;padding-top:1rem;border-top:1px solid var(--line)}
p{margin:.4rem 0;max-width:75ch}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.2rem 1rem;margin:0;font-size:.92rem}
dt{color:var(--soft)}dd{margin:0}
code{font:.9em ui-monospace,monospace;background:var(--band);padding:.1em .35em;border-radius:4px;overflow-wrap:anywhere}
section>h1{margin-top:4rem;padding-top:1.5rem;border-top:3px solid var(--line)}
nav a{color:var(--s0)}nav ol{padding-left:1.3rem}
.scroll{overflow-x:auto;margin:1rem 0}
table{border-collapse:collapse;font-size:.88rem;font-variant-numeric:tabular-nums}
th,td{padding:.3rem .8rem .3rem 0;text-align:left;white-space:nowrap;border-bottom:1px solid var(--line)}
th{font-weight:600;vertical-align:bottom}th small{display:block;color:var(--soft);font-weight:400}
.r{text-align:right}
td small{color:var(--soft)}
figure{margin:1.5rem 0}
figcaption{font-weight:600;margin-bottom:.3rem}
svg{display:block;width:100%;height:auto;font:12px system-ui,sans-serif}
svg text{fill:var(--ink)}svg .soft{fill:var(--soft)}svg .grid{stroke:var(--line);stroke-width:1}svg .mark{stroke:var(--ink);stroke-width:1.5;stroke-dasharray:5 4}
.legend{display:flex;flex-wrap:wrap;gap:.2rem 1.2rem;font-size:.85rem;color:var(--soft);margin:.3rem 0}
.legend i{display:inline-block;width:.8em;height:.8em;border-radius:2px;margin-right:.4em}
";

pub(super) fn render(report: &Report) -> String {
    let mut out = head(&report.title);
    let _ = write!(out, "<h1>{}</h1>", escape(&report.title));
    body(&mut out, report, Some(&report.machine));
    out.push_str("</body></html>\n");
    out
}

/// Writes everything up to the first heading.
pub(super) fn head(title: &str) -> String {
    let mut out = String::from("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">");
    out.push_str("<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">");
    let _ = write!(out, "<title>{}</title><style>{STYLE}", escape(title));
    for series in 0..SERIES_MAX {
        let _ = write!(out, ".f{series}{{fill:var(--s{series});background:var(--s{series})}}");
        let _ = write!(out, ".l{series}{{stroke:var(--s{series});fill:none;stroke-width:2}}");
    }
    out.push_str("</style></head><body>");
    out
}

/// Writes the seed, command, notes and sections. Also writes the machine, unless it is stated elsewhere.
pub(super) fn body(out: &mut String, report: &Report, machine: Option<&Machine>) {
    out.push_str("<dl>");
    if let Some(machine) = machine {
        let _ = write!(out, "<dt>Machine</dt><dd>{}</dd>", escape(&machine.describe()));
    }
    if let Some(seed) = report.seed {
        let _ = write!(out, "<dt>Seed</dt><dd>{seed}</dd>");
    }
    let _ = write!(out, "<dt>Repeat</dt><dd><code>{}</code></dd></dl>", escape(&report.command));
    for note in &report.notes {
        let _ = write!(out, "<p>{}</p>", escape(note));
    }
    for section in &report.sections {
        render_section(out, section);
    }
}

fn render_section(out: &mut String, section: &Section) {
    let _ = write!(out, "\n<h2>{}</h2>", escape(&section.title));
    for text in &section.text {
        let _ = write!(out, "<p>{}</p>", escape(text));
    }
    for chart in &section.charts {
        svg::render(out, chart);
    }
    for table in &section.tables {
        render_table(out, table);
    }
}

fn render_table(out: &mut String, table: &Table) {
    out.push_str("<div class=\"scroll\"><table><thead><tr>");
    let class = |align: Align| if align == Align::Right { " class=\"r\"" } else { "" };
    for column in &table.columns {
        let _ = write!(out, "<th{}>{}", class(column.align), escape(&column.name));
        if !column.unit.is_empty() {
            let _ = write!(out, "<small>{}</small>", escape(&column.unit));
        }
        out.push_str("</th>");
    }
    out.push_str("</tr></thead><tbody>");
    for row in &table.rows {
        out.push_str("<tr>");
        for (cell, column) in row.iter().zip(&table.columns) {
            let shown = escape(&cell.show());
            // The spread is shown in smaller type than the median.
            let shown = match (shown.split_once(" ("), cell) {
                (
                    Some((median, spread)),
                    super::Cell::Spread { samples, .. } | super::Cell::Range { runs: samples, .. },
                ) => {
                    format!("<span title=\"{samples} samples\">{median} <small>({spread}</small></span>")
                }
                _ => shown,
            };
            let _ = write!(out, "<td{}>{shown}</td>", class(column.align));
        }
        out.push_str("</tr>");
    }
    out.push_str("</tbody></table></div>");
}
