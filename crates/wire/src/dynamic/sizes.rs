//! Determines the sizes of a chunk's parts, by a walk that measures each leaf.

use super::read::{open, open_fields_with};
use crate::column::{read_bools, read_lengths};
use crate::error::Result;
use crate::input::Input;
use crate::limits::Limits;
use crate::plan::Layout;
use crate::shape::{DefinitionKind, Field, Type};
use crate::types::read_indices;

/// The size that a leaf has in a chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeafSize {
    /// Names of fields from the root, joined by dots. `[]` stands for the element of a list or map.
    pub path: String,
    /// The stored part: the type of the leaf, or `presence`, `length`, `variant`.
    pub what: String,
    /// The coding, if the leaf is a column.
    pub coding: &'static str,
    /// Number of rows in all the leaf's blocks.
    pub rows: usize,
    /// The leaf's bytes in the body's head.
    pub bytes: usize,
    /// The leaf's bytes in the text area.
    pub text_bytes: usize,
}

/// Measures every leaf of a chunk, in the order of the shape.
pub(crate) fn sizes(layout: &Layout, rows: usize, raw: &[u8], limits: &Limits) -> Result<Vec<LeafSize>> {
    let mut input = Input::new(raw, 0, limits);
    input.begin_body()?;
    let mut walk = Walk { layout, raw, leaves: Vec::new() };
    walk.block("", &layout.shape.root, rows, &mut input)?;
    input.end()?;
    Ok(walk.leaves)
}

struct Walk<'w> {
    layout: &'w Layout,
    raw: &'w [u8],
    leaves: Vec<LeafSize>,
}

impl Walk<'_> {
    /// Measures the bytes that `read` consumes.
    fn leaf<R>(
        &mut self,
        path: &str,
        what: &str,
        rows: usize,
        input: &mut Input<'_>,
        read: impl FnOnce(&mut Input<'_>) -> Result<R>,
    ) -> Result<R> {
        let (start, text) = (input.position(), input.text_position());
        let coding = if input.is_plain() { "plain" } else { coding_name(what, self.raw.get(start)) };
        let result = read(input)?;
        let (bytes, text_bytes) = (input.position() - start, input.text_position() - text);
        let (path, what) = (path.to_owned(), what.to_owned());
        match self.leaves.iter_mut().find(|leaf| leaf.path == path && leaf.what == what) {
            // If a type contains itself, its leaves occur again at each level.
            Some(leaf) => {
                leaf.rows += rows;
                leaf.bytes += bytes;
                leaf.text_bytes += text_bytes;
            }
            None => self.leaves.push(LeafSize { path, what, coding, rows, bytes, text_bytes }),
        }
        Ok(result)
    }

    fn block(&mut self, path: &str, ty: &Type, rows: usize, input: &mut Input<'_>) -> Result<()> {
        if rows == 0 {
            return Ok(());
        }
        input.block(rows, self.layout.bits(ty), 1, |input| self.ty(path, ty, rows, input))
    }

    fn lengths(&mut self, path: &str, rows: usize, input: &mut Input<'_>) -> Result<usize> {
        let lengths = self.leaf(path, "length", rows, input, |input| read_lengths(rows, input))?;
        Ok(lengths.into_iter().map(|length| length as usize).sum())
    }

    fn ty(&mut self, path: &str, ty: &Type, rows: usize, input: &mut Input<'_>) -> Result<()> {
        let inside = |path: &str| format!("{path}[]");
        match ty {
            Type::Option(inner) => {
                let present = self.leaf(path, "presence", rows, input, |input| read_bools(rows, input))?;
                let count = present.into_iter().filter(|present| *present).count();
                self.block(path, inner, count, input)
            }
            Type::List(inner) => {
                let count = self.lengths(path, rows, input)?;
                self.block(&inside(path), inner, count, input)
            }
            Type::Array(count, inner) => {
                self.block(&inside(path), inner, rows.saturating_mul(*count as usize), input)
            }
            Type::Map(key, value) => {
                let count = self.lengths(path, rows, input)?;
                self.block(&format!("{path}{{key}}"), key, count, input)?;
                self.block(&inside(path), value, count, input)
            }
            Type::Ref(index) => match &self.layout.shape.definition(*index).kind {
                DefinitionKind::Struct(fields) => {
                    input.nested(|input| self.fields(path, fields, rows, input))
                }
                DefinitionKind::Enum(variants) => {
                    let tags = self.leaf(path, "variant", rows, input, |input| {
                        read_indices(variants.len(), rows, input)
                    })?;
                    let mut counts = vec![0usize; variants.len()];
                    for tag in tags {
                        if let Some(count) = counts.get_mut(usize::from(tag)) {
                            *count += 1;
                        }
                    }
                    for (variant, count) in variants.iter().zip(counts) {
                        if count > 0 && !variant.fields.is_empty() {
                            let bits = self.layout.fields_bits(&variant.fields);
                            let path = join(path, &variant.name);
                            input.block(count, bits, 1, |input| {
                                self.fields(&path, &variant.fields, count, input)
                            })?;
                        }
                    }
                    Ok(())
                }
            },
            scalar => {
                let layout = self.layout;
                let what = layout.shape.type_name(scalar);
                self.leaf(path, &what, rows, input, |input| open(layout, scalar, rows, input).map(drop))
            }
        }
    }

    fn fields(&mut self, path: &str, fields: &[Field], rows: usize, input: &mut Input<'_>) -> Result<()> {
        open_fields_with(fields, |field| self.ty(&join(path, &field.name), &field.ty, rows, input))
    }
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

/// Returns the name of a column's coding byte.
fn coding_name(what: &str, byte: Option<&u8>) -> &'static str {
    let Some(byte) = byte else { return "" };
    match (what, byte) {
        ("unit" | "bytes" | "any" | "quat", _) => "",
        ("bool" | "presence", 0 | 1) => "same",
        ("bool" | "presence", _) => "bits",
        ("text", 0) => "direct",
        (_, 0) => "raw",
        (_, 1) => "same",
        (_, 2) => "dictionary",
        (_, 3) => "sparse",
        (_, 4) => "decimal",
        (_, 5) => "single",
        (_, 6) => "planes",
        (_, 7) => "short",
        (_, 0x10..=0x1f) => "packed",
        _ => "delta",
    }
}
