//! Code for bodies that are one list of flat structs, the usual frame of a game: columns are filled and emptied by
//! loops over the rows, without a closure or an object for each value.

use super::access;
use super::fixed::{Layout, Leaf, LeafKind, function};
use crate::Shape;
use crate::shape::{DefinitionKind, NumberType, Type};

/// Appends `write…` and `read…` functions for such a shape; false for any other.
pub(super) fn generate(shape: &Shape, root: &str, body: &mut String) -> bool {
    let Some((field, item)) = list_of(shape) else { return false };
    let Some(mut layout) = Layout::of(shape, item, "row") else { return false };
    // Quantised numbers, enums, bits and 64-bit integers stay with the general code.
    if layout.leaves.is_empty() || !layout.leaves.iter().all(|leaf| is_column(&leaf.kind)) {
        return false;
    }
    for (column, leaf) in layout.leaves.iter_mut().enumerate() {
        leaf.at = column;
    }
    let rows = access("v", field);
    body.push_str(&function(
        &format!("write{root}(e: MessageEncoder, v: {root}): boolean"),
        &writer(&layout, &rows),
    ));
    let cells = layout.literal_of(item, &mut layout.leaves.iter(), |leaf| format!("c{}[i]!", leaf.at));
    body.push_str(&function(
        &format!("read{root}(d: MessageDecoder): {root} | undefined"),
        &reader(&layout, root, field, &cells),
    ));
    true
}

/// The only field of the root struct and the type of its items.
fn list_of(shape: &Shape) -> Option<(&str, &Type)> {
    let Type::Ref(index) = shape.root else { return None };
    let definition = shape.definition(index);
    match &definition.kind {
        DefinitionKind::Struct(fields) if !definition.name.is_empty() => match &fields[..] {
            [field] => match &field.ty {
                Type::List(item) if matches!(**item, Type::Ref(_)) => Some((&field.name, item)),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    }
}

fn is_column(kind: &LeafKind) -> bool {
    matches!(kind, LeafKind::Text(_))
        || matches!(kind, LeafKind::Number(number) if !matches!(number, NumberType::U64 | NumberType::I64))
}

/// Whether a column is written as it stands: floats, and bytes, of which a survey saves little.
fn raw_number(leaf: &Leaf) -> Option<NumberType> {
    match leaf.kind {
        LeafKind::Number(number) if number.width() == 1 => Some(number),
        LeafKind::Number(number @ (NumberType::F32 | NumberType::F64)) => Some(number),
        _ => None,
    }
}

fn writer(layout: &Layout<'_>, rows: &str) -> Vec<String> {
    let texts = layout.text_leaves();
    let mut lines = vec![
        format!("const rows = {rows};"),
        "const count = rows.length;".to_owned(),
        "if (count < 4) return false;".to_owned(),
    ];
    let mut length = "0";
    if !texts.is_empty() {
        lines.push("let all = \"\";".to_owned());
        for leaf in &texts {
            lines.push(format!("for (const row of rows) all += {};", leaf.from));
        }
        length = "all.length";
    }
    let width: usize = layout.leaves.iter().map(width_of).sum();
    lines.push(format!("e.rows(count, {width}, {}, {length});", layout.leaves.len()));
    if layout.leaves.iter().any(|leaf| raw_number(leaf).is_some_and(|number| number != NumberType::U8)) {
        lines.push("const { view } = e;".to_owned());
    }
    if layout.leaves.iter().any(|leaf| raw_number(leaf) == Some(NumberType::U8)) {
        lines.push("const { bytes } = e;".to_owned());
    }
    if layout.leaves.iter().any(|leaf| raw_number(leaf).is_none()) {
        lines.push("const column = e.scratch(count);".to_owned());
    }
    // Neighbours that are written as they stand share one loop.
    let neighbours = |a: &Leaf, b: &Leaf| raw_number(a).is_some() && raw_number(b).is_some();
    for run in layout.leaves.chunk_by(neighbours) {
        lines.extend(if raw_number(&run[0]).is_some() { raw_columns(run) } else { surveyed_column(&run[0]) });
    }
    lines.push(if texts.is_empty() { "return true;".to_owned() } else { "return e.ascii7(all);".to_owned() });
    lines
}

fn width_of(leaf: &Leaf) -> usize {
    match leaf.kind {
        LeafKind::Number(number) => number.width(),
        _ => 4,
    }
}

fn raw_columns(run: &[Leaf]) -> Vec<String> {
    let mut lines: Vec<_> = run
        .iter()
        .map(|leaf| format!("const at{} = e.rawColumn(count * {});", leaf.at, width_of(leaf)))
        .collect();
    lines.push("for (let i = 0; i < count; i++) {".to_owned());
    lines.push("  const row = rows[i]!;".to_owned());
    for leaf in run {
        let step = match width_of(leaf) {
            1 => "i".to_owned(),
            width => format!("i * {width}"),
        };
        let at = format!("at{} + {step}", leaf.at);
        let path = super::quoted(&leaf.path);
        if let Some(number) = raw_number(leaf) {
            lines.push(format!("  {}", super::fixed::store_number(number, &leaf.from, &at, &path)));
        }
    }
    lines.push("}".to_owned());
    lines
}

fn surveyed_column(leaf: &Leaf) -> Vec<String> {
    let (value, finish) = match leaf.kind {
        LeafKind::Number(number) => (
            super::fixed::whole_number(number, &leaf.from, &super::quoted(&leaf.path)),
            format!("e.integers(count, {}, {});", number.width(), is_unsigned(number)),
        ),
        _ => (format!("{}.length", leaf.from), "e.textLengths(count);".to_owned()),
    };
    vec![
        "for (let i = 0; i < count; i++) {".to_owned(),
        "  const row = rows[i]!;".to_owned(),
        format!("  column[i] = {value};"),
        "}".to_owned(),
        finish,
    ]
}

fn is_unsigned(number: NumberType) -> bool {
    matches!(number, NumberType::U8 | NumberType::U16 | NumberType::U32)
}

fn reader(layout: &Layout<'_>, root: &str, field: &str, cells: &str) -> Vec<String> {
    let mut lines = vec![
        format!("const count = d.rows({});", layout.leaves.len()),
        "if (count < 4) return undefined;".to_owned(),
    ];
    for leaf in &layout.leaves {
        let read = match leaf.kind {
            LeafKind::Number(number) => {
                format!("d.column(\"{}\", count)", format!("{number:?}").to_lowercase())
            }
            _ => "d.textColumn(count)".to_owned(),
        };
        lines.push(format!("const c{} = {read};", leaf.at));
    }
    lines.push("d.end();".to_owned());
    lines.push(format!("const rows: {root}[{}] = new Array(count);", super::quoted(field)));
    lines.push(format!("for (let i = 0; i < count; i++) rows[i] = {cells};"));
    lines.push(format!("return {{ {}: rows }};", super::key(field)));
    lines
}
