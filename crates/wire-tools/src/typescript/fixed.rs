//! Generates straight-line code for flat types whose fixed part has a constant size. In such types all parts except text are at
//! known offsets.

use super::{access, key, quoted};
use nowcast_wire::Shape;
use nowcast_wire::limits::PLAIN_ROWS_MAX;
use nowcast_wire::shape::{DefinitionKind, Field, NumberType, Type};

/// A leaf and its offset.
pub(super) struct Leaf {
    /// The expression that reads the leaf from the value to write.
    pub(super) from: String,
    /// Field names from the root, for errors.
    pub(super) path: String,
    pub(super) at: usize,
    pub(super) kind: LeafKind,
}

pub(super) enum LeafKind {
    /// The bit with this number.
    Bool(usize),
    Number(NumberType),
    /// An array of a fixed number of numbers.
    Numbers(NumberType, u32),
    /// The text with this number. The last text has no length.
    Text(usize),
    /// An enum whose variants all lack a payload.
    Names(Vec<String>),
}

/// The offsets of all parts.
pub(super) struct Layout<'s> {
    shape: &'s Shape,
    array_max: usize,
    pub(super) leaves: Vec<Leaf>,
    bits: usize,
    texts: usize,
    at: usize,
}

/// Appends the functions `write…` and `read…` for a shape of fixed layout. Returns false for any other shape.
pub(super) fn generate(shape: &Shape, root: &str, body: &mut String) -> bool {
    let Some(layout) = Layout::of(shape, &shape.root, "v", PLAIN_ROWS_MAX) else { return false };
    let literal = layout.literal_of(&shape.root, &mut layout.leaves.iter(), read_leaf);
    body.push_str(&layout.writer(root));
    body.push_str(&layout.reader(root, &literal));
    true
}

impl<'s> Layout<'s> {
    /// Returns the layout of a type, with arrays of at most `array_max` numbers. `name` is the name of the value in the generated
    /// code.
    pub(super) fn of(shape: &'s Shape, ty: &Type, name: &str, array_max: usize) -> Option<Self> {
        let mut layout = Self { shape, array_max, leaves: Vec::new(), bits: 0, texts: 0, at: 0 };
        layout.place(ty, name.to_owned(), "")?;
        // The bits precede all other data, and the last text has no length.
        let bit_bytes = layout.bits.div_ceil(8);
        let last = layout.texts.checked_sub(1);
        let last_at =
            layout.leaves.iter().find(|leaf| matches!(leaf.kind, LeafKind::Text(n) if Some(n) == last));
        let last_at = last_at.map(|leaf| leaf.at);
        for leaf in &mut layout.leaves {
            let behind = last_at.is_some_and(|last_at| leaf.at > last_at);
            leaf.at = leaf.at + bit_bytes - usize::from(behind);
        }
        layout.at = layout.at + bit_bytes - usize::from(last_at.is_some());
        Some(layout)
    }

    fn place(&mut self, ty: &Type, from: String, path: &str) -> Option<()> {
        let (kind, width) = match ty {
            Type::Unit => return Some(()),
            Type::Bool => {
                self.bits += 1;
                (LeafKind::Bool(self.bits - 1), 0)
            }
            Type::Number(number) => (LeafKind::Number(*number), number.width()),
            Type::Text => {
                self.texts += 1;
                (LeafKind::Text(self.texts - 1), 1)
            }
            Type::Array(count, item) if *count as usize <= self.array_max => match **item {
                Type::Number(number) => (LeafKind::Numbers(number, *count), number.width() * *count as usize),
                _ => return None,
            },
            Type::Ref(index) => match &self.shape.definition(*index).kind {
                DefinitionKind::Struct(fields) => return self.place_fields(*index, fields, &from, path),
                DefinitionKind::Enum(variants) => {
                    let bare =
                        variants.len() <= 256 && variants.iter().all(|variant| variant.fields.is_empty());
                    let names = variants.iter().map(|variant| variant.name.clone()).collect();
                    bare.then_some((LeafKind::Names(names), 1))?
                }
            },
            _ => return None,
        };
        self.leaves.push(Leaf { from, path: path.to_owned(), at: self.at, kind });
        self.at += width;
        Some(())
    }

    fn place_fields(&mut self, index: u32, fields: &[Field], from: &str, path: &str) -> Option<()> {
        let tuple = self.shape.definition(index).name.is_empty();
        for (i, field) in fields.iter().enumerate() {
            let from = if tuple { format!("{from}[{i}]") } else { access(from, &field.name) };
            let path = if path.is_empty() { field.name.clone() } else { format!("{path}.{}", field.name) };
            self.place(&field.ty, from, &path)?;
        }
        Some(())
    }

    pub(super) fn text_leaves(&self) -> Vec<&Leaf> {
        self.leaves.iter().filter(|leaf| matches!(leaf.kind, LeafKind::Text(_))).collect()
    }

    fn writer(&self, root: &str) -> String {
        let texts = self.text_leaves();
        let mut lines: Vec<_> =
            texts.iter().map(|leaf| format!("const {} = {};", text_name(leaf), leaf.from)).collect();
        if texts.is_empty() {
            lines.push(format!("if (!e.room({})) return false;", self.at));
        } else {
            let units: Vec<_> = texts.iter().map(|leaf| format!("{}.length", text_name(leaf))).collect();
            lines.push(format!("const units = {};", units.join(" + ")));
            lines.push(format!("if (!e.room({} + units * 3)) return false;", self.at));
        }
        let bit_bytes = self.bits.div_ceil(8);
        let mut memory = Vec::new();
        if bit_bytes > 0 || texts.len() > 1 || self.leaves.iter().any(|leaf| uses_bytes(&leaf.kind)) {
            memory.push("bytes");
        }
        if self.leaves.iter().any(|leaf| uses_view(&leaf.kind)) {
            memory.push("view");
        }
        for byte in 0..bit_bytes {
            let bits = self.leaves.iter().filter_map(|leaf| match leaf.kind {
                LeafKind::Bool(bit) if bit / 8 == byte => {
                    Some(format!("({} ? {} : 0)", leaf.from, 1 << (bit % 8)))
                }
                _ => None,
            });
            lines.push(format!("bytes[{byte}] = {};", bits.collect::<Vec<_>>().join(" | ")));
        }
        for leaf in &self.leaves {
            lines.extend(write_leaf(leaf));
        }
        lines.extend(write_texts(&texts, self.at));
        lines.push("return true;".to_owned());
        let value = if self.leaves.is_empty() { "_v" } else { "v" };
        writer(root, &memory, value, &lines)
    }

    fn reader(&self, root: &str, literal: &str) -> String {
        let texts = self.text_leaves();
        let mut lines = vec!["const { bytes } = d;".to_owned()];
        let compare = if texts.is_empty() { "!==" } else { "<" };
        lines.push(format!("if (bytes.length {compare} {}) return undefined;", self.at));
        if !self.bits.is_multiple_of(8) {
            lines.push(format!(
                "if (bytes[{}]! >> {} !== 0) return undefined;",
                self.bits / 8,
                self.bits % 8
            ));
        }
        if let Some((last, others)) = texts.split_last() {
            let lengths: Vec<_> = others.iter().map(|leaf| format!("bytes[{}]!", leaf.at)).collect();
            if !lengths.is_empty() {
                lines.push(format!("if (({}) > 127) return undefined;", lengths.join(" | ")));
            }
            lines.push(format!("if (!d.texts({})) return undefined;", self.at));
            for (leaf, length) in others.iter().zip(&lengths) {
                lines.push(format!("const {} = d.text({length});", text_name(leaf)));
            }
            lines.push(format!("const {} = d.rest();", text_name(last)));
            let missing: Vec<_> =
                texts.iter().map(|leaf| format!("{} === undefined", text_name(leaf))).collect();
            lines.push(format!("if ({}) return undefined;", missing.join(" || ")));
        }
        for leaf in &self.leaves {
            if let LeafKind::Names(names) = &leaf.kind {
                let names: Vec<_> = names.iter().map(|name| quoted(name)).collect();
                lines.push(format!(
                    "const name{} = ([{}] as const)[bytes[{}]!];",
                    leaf.at,
                    names.join(", "),
                    leaf.at
                ));
                lines.push(format!("if (name{} === undefined) return undefined;", leaf.at));
            }
        }
        lines.push(format!("return {literal};"));
        reader(root, &lines)
    }

    /// Returns the expression for the value, made from the leaves in the order of their placement.
    pub(super) fn literal_of<'l>(
        &self,
        ty: &Type,
        leaves: &mut impl Iterator<Item = &'l Leaf>,
        read: fn(&Leaf) -> String,
    ) -> String {
        if let Type::Unit = ty {
            return "null".to_owned();
        }
        if let Type::Ref(index) = ty {
            let definition = self.shape.definition(*index);
            if let DefinitionKind::Struct(fields) = &definition.kind {
                let values = fields.iter().map(|field| (field, self.literal_of(&field.ty, leaves, read)));
                return if definition.name.is_empty() {
                    format!("[{}]", values.map(|(_, value)| value).collect::<Vec<_>>().join(", "))
                } else {
                    let fields: Vec<_> =
                        values.map(|(field, value)| format!("{}: {value}", key(&field.name))).collect();
                    format!("{{ {} }}", fields.join(", "))
                };
            }
        }
        leaves.next().map_or_else(String::new, read)
    }
}

fn number_of(kind: &LeafKind) -> Option<NumberType> {
    match kind {
        LeafKind::Number(number) | LeafKind::Numbers(number, _) => Some(*number),
        _ => None,
    }
}

fn uses_bytes(kind: &LeafKind) -> bool {
    matches!(kind, LeafKind::Names(_)) || number_of(kind) == Some(NumberType::U8)
}

fn uses_view(kind: &LeafKind) -> bool {
    let other = [NumberType::U8, NumberType::U64, NumberType::I64];
    number_of(kind).is_some_and(|number| !other.contains(&number))
}

fn text_name(leaf: &Leaf) -> String {
    match leaf.kind {
        LeafKind::Text(number) => format!("text{number}"),
        _ => String::new(),
    }
}

/// Short texts are written by loops. If the texts are longer, a single call of the engine's encoder writes all of them. For
/// ASCII, the lengths in UTF-16 units equal the lengths in bytes. If other characters occur, each text is encoded again
/// separately. If a text's length takes more bytes, all later data moves, and the general writer is used.
fn write_texts(texts: &[&Leaf], at: usize) -> Vec<String> {
    let Some((last, others)) = texts.split_last() else { return vec![format!("e.at = {at};")] };
    let mut lines = vec![format!("let end = {at} + units;")];
    let last = text_name(last);
    if others.is_empty() {
        lines.push(format!(
            "if (!e.isShort(units) || e.ascii({last}, {at}) > 127) end = e.utf8({last}, {at});"
        ));
        lines.push("e.at = end;".to_owned());
        return lines;
    }
    let names: Vec<_> = others.iter().map(|leaf| text_name(leaf)).collect();
    let mut from = at.to_string();
    let mut loops = Vec::new();
    let mut encoded = Vec::new();
    for (i, name) in names.iter().enumerate() {
        lines.push(format!("let length{i} = {name}.length;"));
        loops.push(format!("e.ascii({name}, {from})"));
        from = format!("{from} + length{i}");
        let start = if i == 0 { at.to_string() } else { format!("end{}", i - 1) };
        encoded.push(format!("  const end{i} = e.utf8({name}, {start});"));
        encoded.push(format!("  length{i} = end{i} - {start};"));
    }
    loops.push(format!("e.ascii({last}, {from})"));
    encoded.push(format!("  end = e.utf8({last}, end{});", names.len() - 1));
    let all = format!("{} + {last}", names.join(" + "));
    let loops = loops.join(" | ");
    lines.push(format!("if (e.isShort(units) ? ({loops}) > 127 : e.utf8({all}, {at}) !== end) {{"));
    lines.extend(encoded);
    lines.push("}".to_owned());
    let lengths: Vec<_> = (0..names.len()).map(|i| format!("length{i}")).collect();
    lines.push(format!("if (({}) > 127) return false;", lengths.join(" | ")));
    for (leaf, length) in others.iter().zip(lengths) {
        lines.push(format!("bytes[{}] = {length};", leaf.at));
    }
    lines.push("e.at = end;".to_owned());
    lines
}

fn write_leaf(leaf: &Leaf) -> Vec<String> {
    let path = quoted(&leaf.path);
    match &leaf.kind {
        LeafKind::Bool(_) | LeafKind::Text(_) => Vec::new(),
        LeafKind::Number(number) => vec![write_number(*number, &leaf.from, leaf.at, &path)],
        LeafKind::Numbers(number, count) => (0..*count)
            .map(|i| {
                write_number(
                    *number,
                    &format!("{}[{i}]", leaf.from),
                    leaf.at + i as usize * number.width(),
                    &path,
                )
            })
            .collect(),
        LeafKind::Names(names) => {
            let names: Vec<_> = names.iter().map(|name| quoted(name)).collect();
            vec![format!("bytes[{}] = e.variant([{}], {}, {path});", leaf.at, names.join(", "), leaf.from)]
        }
    }
}

fn write_number(number: NumberType, from: &str, at: usize, path: &str) -> String {
    store_number(number, from, &at.to_string(), path)
}

/// Returns the statement that stores a number at an offset. Both are given as expressions.
pub(super) fn store_number(number: NumberType, from: &str, at: &str, path: &str) -> String {
    let value = whole_number(number, from, path);
    match number {
        NumberType::U8 => format!("bytes[{at}] = {value};"),
        NumberType::I8 => format!("view.setInt8({at}, {value});"),
        NumberType::U16 => format!("view.setUint16({at}, {value}, true);"),
        NumberType::I16 => format!("view.setInt16({at}, {value}, true);"),
        NumberType::U32 => format!("view.setUint32({at}, {value}, true);"),
        NumberType::I32 => format!("view.setInt32({at}, {value}, true);"),
        NumberType::U64 => format!("e.u64({at}, {from}, {path});"),
        NumberType::I64 => format!("e.i64({at}, {from}, {path});"),
        NumberType::F32 => format!("view.setFloat32({at}, {from}, true);"),
        NumberType::F64 => format!("view.setFloat64({at}, {from}, true);"),
    }
}

/// Adds a check to the expression of an integer of at most 32 bits. Returns any other number unchanged.
pub(super) fn whole_number(number: NumberType, from: &str, path: &str) -> String {
    let (min, max) = match number {
        NumberType::U8 => (0, 0xff),
        NumberType::I8 => (-0x80, 0x7f),
        NumberType::U16 => (0, 0xffff),
        NumberType::I16 => (-0x8000, 0x7fff),
        NumberType::U32 => (0, 0xffff_ffff_i64),
        NumberType::I32 => (-0x8000_0000, 0x7fff_ffff),
        NumberType::U64 | NumberType::I64 | NumberType::F32 | NumberType::F64 => return from.to_owned(),
    };
    format!("e.whole({from}, {min}, {max}, {path})")
}

fn read_leaf(leaf: &Leaf) -> String {
    match &leaf.kind {
        LeafKind::Bool(bit) => format!("(bytes[{}]! & {}) !== 0", bit / 8, 1 << (bit % 8)),
        LeafKind::Number(number) => read_number(*number, leaf.at),
        LeafKind::Numbers(number, count) => {
            let items: Vec<_> =
                (0..*count).map(|i| read_number(*number, leaf.at + i as usize * number.width())).collect();
            format!("[{}]", items.join(", "))
        }
        LeafKind::Text(_) => text_name(leaf),
        LeafKind::Names(_) => format!("name{}", leaf.at),
    }
}

fn read_number(number: NumberType, at: usize) -> String {
    match number {
        NumberType::U8 => format!("bytes[{at}]!"),
        NumberType::I8 => format!("(bytes[{at}]! << 24) >> 24"),
        NumberType::U16 => format!("d.u16({at})"),
        NumberType::I16 => format!("(d.u16({at}) << 16) >> 16"),
        NumberType::U32 => format!("d.i32({at}) >>> 0"),
        NumberType::I32 => format!("d.i32({at})"),
        NumberType::U64 => format!("d.u64({at})"),
        NumberType::I64 => format!("d.i64({at})"),
        NumberType::F32 => format!("d.f32({at})"),
        NumberType::F64 => format!("d.f64({at})"),
    }
}

/// Returns the function that creates a writer. In the writer, the parts of the encoder that it uses are constants. Engines
/// optimise such constants well.
pub(super) fn writer(root: &str, memory: &[&str], value: &str, lines: &[String]) -> String {
    let signature = format!("write{root}(e: MessageEncoder): (v: {root}) => boolean");
    maker(&signature, "e.memory", memory, value, lines)
}

/// Returns the function that creates a reader.
pub(super) fn reader(root: &str, lines: &[String]) -> String {
    let signature = format!("read{root}(d: MessageDecoder): () => {root} | undefined");
    maker(&signature, "d", &[], "", lines)
}

fn maker(signature: &str, from: &str, parts: &[&str], parameter: &str, lines: &[String]) -> String {
    let constants = match parts {
        [] => String::new(),
        parts => format!("  const {{ {} }} = {from};\n", parts.join(", ")),
    };
    let body: String = lines.iter().map(|line| format!("    {line}\n")).collect();
    format!("function {signature} {{\n{constants}  return ({parameter}) => {{\n{body}  }};\n}}\n\n")
}
