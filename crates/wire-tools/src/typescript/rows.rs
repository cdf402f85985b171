//! Generates code for bodies that are one list of flat structs, the usual frame in games. The generated code fills and empties
//! the columns in loops over the rows, without a closure or an object for each value.

use super::access;
use super::fixed::{self, Layout, Leaf, LeafKind};
use nowcast_wire::Shape;
use nowcast_wire::shape::{DefinitionKind, NumberType, Type};

/// Maximum length of an array in a row. Longer arrays are left to the general code, which has loops for them.
const ARRAY_MAX: usize = 16;

/// Appends the functions `write…` and `read…` for such a shape. Returns false for any other shape.
pub(super) fn generate(shape: &Shape, root: &str, body: &mut String) -> bool {
    let Some((field, item)) = list_of(shape) else { return false };
    let Some(mut layout) = Layout::of(shape, item, "row", ARRAY_MAX) else { return false };
    if layout.leaves.is_empty() || layout.leaves.iter().any(|leaf| Kind::of(leaf).is_none()) {
        return false;
    }
    for (column, leaf) in layout.leaves.iter_mut().enumerate() {
        leaf.at = column;
    }
    let rows = access("v", field);
    body.push_str(&writer(&layout, root, &rows));
    let literal = layout.literal_of(item, &mut layout.leaves.iter(), named);
    body.push_str(&reader(&layout, root, field, &literal));
    true
}

/// Returns the only field of the root struct, and the type of its items.
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

/// The column of a leaf.
enum Kind {
    /// Raw values: floats, and bytes, for which a survey of the values saves little. The count is the number of values in a row.
    Raw(NumberType, usize),
    /// Integers, which are surveyed for the smallest coding.
    Integers(NumberType, usize),
    /// The lengths of texts, which are also surveyed.
    Lengths,
}

impl Kind {
    /// Returns `None` for leaves that are left to the general code: quantised numbers, enums, bits and 64-bit integers.
    fn of(leaf: &Leaf) -> Option<Self> {
        use NumberType as N;
        let (number, count) = match leaf.kind {
            LeafKind::Text(_) => return Some(Self::Lengths),
            LeafKind::Number(number) => (number, 1),
            LeafKind::Numbers(number, count) => (number, count as usize),
            _ => return None,
        };
        match number {
            N::U8 | N::I8 | N::F32 | N::F64 => Some(Self::Raw(number, count)),
            N::U16 | N::I16 | N::U32 | N::I32 => Some(Self::Integers(number, count)),
            N::U64 | N::I64 => None,
        }
    }

    /// Number of bytes of a value that waits in memory. Integers wait in 32 bits.
    fn width(&self) -> usize {
        match self {
            Self::Raw(number, _) => number.width(),
            Self::Integers(..) | Self::Lengths => 4,
        }
    }

    /// Number of values in a row.
    fn values(&self) -> usize {
        match self {
            Self::Raw(_, count) | Self::Integers(_, count) => *count,
            Self::Lengths => 1,
        }
    }

    /// Returns the view of the encoder's memory in which the column's values wait.
    fn memory(&self) -> &'static str {
        match self {
            Self::Raw(NumberType::F64, _) => "doubles",
            Self::Raw(NumberType::F32, _) => "singles",
            Self::Raw(..) => "bytes",
            Self::Integers(..) | Self::Lengths => "words",
        }
    }
}

fn kinds(layout: &Layout<'_>) -> Vec<Kind> {
    layout.leaves.iter().filter_map(Kind::of).collect()
}

fn writer(layout: &Layout<'_>, root: &str, rows: &str) -> String {
    let texts = layout.text_leaves();
    let kinds = kinds(layout);
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
    let row_bytes: usize = kinds.iter().map(|kind| kind.width() * kind.values()).sum();
    lines.push(format!("if (!e.rows(count, {row_bytes}, {}, {length})) return false;", kinds.len()));
    for (at, kind) in kinds.iter().enumerate() {
        let values = times("count", kind.values());
        lines.push(format!("const at{at} = e.column({values}, {});", kind.width()));
    }
    let checks: Vec<_> =
        layout.leaves.iter().zip(&kinds).flat_map(|(leaf, kind)| checks(leaf, kind)).collect();
    if !checks.is_empty() {
        lines.push("let isUsual = true;".to_owned());
    }
    lines.push("for (let i = 0; i < count; i++) {".to_owned());
    lines.push("  const row = rows[i]!;".to_owned());
    for (leaf, kind) in layout.leaves.iter().zip(&kinds) {
        lines.extend(stores(leaf, kind).into_iter().map(|line| format!("  {line}")));
    }
    lines.push("}".to_owned());
    if !checks.is_empty() {
        // The call is outside of the loop. Inside, it would make engines discard the type information of the loop, even if the
        // call never ran.
        lines.push("if (!isUsual) {".to_owned());
        lines.push("  for (const row of rows) {".to_owned());
        lines.extend(checks.into_iter().map(|line| format!("    {line}")));
        lines.push("  }".to_owned());
        lines.push("}".to_owned());
    }
    lines.extend(kinds.iter().enumerate().map(|(at, kind)| settled(at, kind)));
    lines.push(if texts.is_empty() { "return true;".to_owned() } else { "return e.ascii7(all);".to_owned() });
    let views = ["bytes", "words", "singles", "doubles"];
    let memory: Vec<_> =
        views.into_iter().filter(|view| kinds.iter().any(|kind| kind.memory() == *view)).collect();
    fixed::writer(root, &memory, "v", &lines)
}

/// Returns the statement that moves a column to its place.
fn settled(at: usize, kind: &Kind) -> String {
    let values = times("count", kind.values());
    match kind {
        Kind::Raw(number, count) => {
            format!(
                "e.raw({}, {});",
                times(&format!("at{at}"), number.width()),
                times("count", number.width() * count)
            )
        }
        Kind::Integers(number, _) => {
            let is_unsigned = matches!(number, NumberType::U16 | NumberType::U32);
            format!("e.integers(at{at}, {values}, {}, {is_unsigned});", number.width())
        }
        Kind::Lengths => format!("e.textLengths(at{at}, count);"),
    }
}

/// Returns the statements that put the values of one row into their columns.
fn stores(leaf: &Leaf, kind: &Kind) -> Vec<String> {
    let column = leaf.at;
    let memory = kind.memory();
    let (number, count) = match kind {
        Kind::Raw(number, count) | Kind::Integers(number, count) => (*number, *count),
        Kind::Lengths => return vec![format!("{memory}[at{column} + i] = {}.length;", leaf.from)],
    };
    let mut lines = Vec::new();
    if let LeafKind::Numbers(..) = leaf.kind {
        lines.push(format!("if ({}.length !== {count}) return false;", leaf.from));
    }
    for part in 0..count {
        let from = part_of(leaf, part);
        let place = place(leaf, 1, count, part);
        let Some(usual) = usual(number) else {
            lines.push(format!("{memory}[{place}] = {from};"));
            continue;
        };
        let value = value(leaf, part);
        lines.push(format!("const {value} = {from};"));
        lines.push(format!("if (({}) !== {value}) isUsual = false;", usual.replace('n', &value)));
        lines.push(format!("{memory}[{place}] = {value};"));
    }
    lines
}

/// Returns the statements that examine the integers of one row.
fn checks(leaf: &Leaf, kind: &Kind) -> Vec<String> {
    match kind {
        Kind::Raw(number, count) | Kind::Integers(number, count) if usual(*number).is_some() => (0..*count)
            .map(|part| {
                let path = super::quoted(&leaf.path);
                format!("{};", super::fixed::whole_number(*number, &part_of(leaf, part), &path))
            })
            .collect(),
        _ => Vec::new(),
    }
}

/// Returns the expression for one of a leaf's values in a row.
fn part_of(leaf: &Leaf, part: usize) -> String {
    match leaf.kind {
        LeafKind::Numbers(..) => format!("{}[{part}]!", leaf.from),
        _ => leaf.from.clone(),
    }
}

/// Returns the expression for a value of a column. Each value has `width` bytes.
fn place(leaf: &Leaf, width: usize, count: usize, part: usize) -> String {
    let row = times("i", width * count);
    match part * width {
        0 => format!("at{} + {row}", leaf.at),
        offset => format!("at{} + {row} + {offset}", leaf.at),
    }
}

fn times(what: &str, factor: usize) -> String {
    if factor == 1 { what.to_owned() } else { format!("{what} * {factor}") }
}

/// Returns an expression that equals `n` for all usual integers of a type. Engines compile it to one instruction. Returns `None`
/// for floats.
fn usual(number: NumberType) -> Option<&'static str> {
    match number {
        NumberType::U8 => Some("n & 0xff"),
        NumberType::I8 => Some("(n << 24) >> 24"),
        NumberType::U16 => Some("n & 0xffff"),
        NumberType::I16 => Some("(n << 16) >> 16"),
        NumberType::U32 => Some("n & 0x3fff_ffff"),
        NumberType::I32 => Some("n | 0"),
        NumberType::U64 | NumberType::I64 | NumberType::F32 | NumberType::F64 => None,
    }
}

fn reader(layout: &Layout<'_>, root: &str, field: &str, literal: &str) -> String {
    let kinds = kinds(layout);
    let mut lines = vec![
        format!("const count = d.rows({});", kinds.iter().map(Kind::values).sum::<usize>()),
        "if (count < 4) return undefined;".to_owned(),
    ];
    for (at, kind) in kinds.iter().enumerate() {
        let count = times("count", kind.values());
        lines.push(match kind {
            Kind::Raw(number, _) => format!("const at{at} = d.place(\"{}\", {count});", tag(*number)),
            Kind::Integers(number, _) => format!("const c{at} = d.integers(\"{}\", {count});", tag(*number)),
            Kind::Lengths => format!("const c{at} = d.textColumn(count);"),
        });
    }
    lines.push("d.end();".to_owned());
    if kinds.iter().any(|kind| !matches!(kind, Kind::Lengths)) {
        lines.push("const { view } = d;".to_owned());
    }
    for (at, _) in kinds.iter().enumerate().filter(|(_, kind)| matches!(kind, Kind::Integers(..))) {
        let parts = ["bits", "mask", "step", "kept"];
        let parts = parts.map(|part| format!("{part}: {part}{at}")).join(", ");
        lines.push(format!("const {{ {parts} }} = c{at};"));
        lines.push(format!("let {{ bit: bit{at}, before: last{at} }} = c{at};"));
    }
    lines.push(format!("const rows: {root}[{}] = new Array(count);", super::quoted(field)));
    // Engines allocate the objects of a row in one piece of memory if no data is read between them.
    lines.push("for (let i = 0; i < count; i++) {".to_owned());
    for leaf in &layout.leaves {
        lines.extend((0..parts(leaf)).flat_map(|part| cell(leaf, part)).map(|line| format!("  {line}")));
    }
    lines.push(format!("  rows[i] = {literal};"));
    lines.push("}".to_owned());
    lines.push(format!("return {{ {}: rows }};", super::key(field)));
    fixed::reader(root, &lines)
}

fn tag(number: NumberType) -> String {
    format!("{number:?}").to_lowercase()
}

/// Number of values of a leaf in a row.
fn parts(leaf: &Leaf) -> usize {
    Kind::of(leaf).map_or(0, |kind| kind.values())
}

/// Returns the name of one of a leaf's values in a row.
fn value(leaf: &Leaf, part: usize) -> String {
    if parts(leaf) == 1 { format!("n{}", leaf.at) } else { format!("n{}_{part}", leaf.at) }
}

/// Returns the expression for the value of a leaf whose values have names.
fn named(leaf: &Leaf) -> String {
    match leaf.kind {
        LeafKind::Numbers(..) => {
            format!("[{}]", (0..parts(leaf)).map(|part| value(leaf, part)).collect::<Vec<_>>().join(", "))
        }
        _ => value(leaf, 0),
    }
}

/// Returns the statements that read one of a leaf's values in row `i`.
fn cell(leaf: &Leaf, part: usize) -> Vec<String> {
    let (value, column) = (value(leaf, part), leaf.at);
    match Kind::of(leaf) {
        Some(Kind::Raw(number, count)) => {
            let place = place(leaf, number.width(), count, part);
            vec![match number {
                NumberType::U8 => format!("const {value} = view.getUint8({place});"),
                NumberType::I8 => format!("const {value} = view.getInt8({place});"),
                NumberType::F32 => format!("const {value} = view.getFloat32({place}, true);"),
                _ => format!("const {value} = view.getFloat64({place}, true);"),
            }]
        }
        // Like `nextInteger` of the SDK.
        Some(Kind::Integers(number, _)) => {
            let last = format!("last{column}");
            let read = format!("view.getInt32(bit{column} >> 3, true) >> (bit{column} & 7)");
            let sum = format!("({last} & kept{column}) + step{column} + (({read}) & mask{column})");
            let typed = match number {
                NumberType::U16 => format!("{last} & 0xffff"),
                NumberType::I16 => format!("({last} << 16) >> 16"),
                NumberType::U32 => format!("{last} >>> 0"),
                _ => last.clone(),
            };
            vec![
                format!("{last} = ({sum}) | 0;"),
                format!("bit{column} = (bit{column} + bits{column}) | 0;"),
                format!("const {value} = {typed};"),
            ]
        }
        _ => vec![format!("const {value} = c{column}[i]!;")],
    }
}
